// Package native is the CPU device: it compiles the C text of a plan's kernels with the
// system's compiler, keeps the machine code in a cache folder, loads it into the process
// without cgo and plays the plan's steps on a pool of threads.
//
// It knows plans, bytes and function addresses. It refuses to know graphs, ops and what a
// kernel computes; it never writes C of its own except for its threads (c/crew.c) and to measure the machine (Limits), and
// it never reads the environment: every setting is a field of Options.
//
//	dev, err := native.Open(native.Options{Prelude: c.Prelude})
//	loaded, err := dev.Load(ctx, p)
//	err = dev.Play(loaded, []runtime.Mem{in, out}, nil)
package native

import (
	"fmt"
	"strings"
	"time"

	"github.com/weft-ml/weft/plan"
)

// MostThreads is the greatest Options.Threads: Go ends a process of 10,000, and the crew counts in 16 bits.
const MostThreads = 4096

// Options are the settings of the device; the zero value works.
type Options struct {
	Prelude     string // C text before the kernels of a module: includes, types
	CC          string // compiler, perhaps with arguments; "" looks in PATH for clang, gcc, cc, clang-99 … clang-5, gcc-99 … gcc-5
	CacheDir    string // folder for compiled kernels; "" is weft in the user's cache folder
	Threads     int    // at most MostThreads; 0 is one for each processor
	MemoryLimit int64  // bytes that may be live at once; 0 is no limit

	// Poison fills fresh memory and, before each play, the arena with 0xA7, and makes Play
	// fail when a kernel wrote behind a buffer or into a gap of the arena. For tests.
	Poison bool

	// Fence runs each kernel on copies of its arrays that lie against pages which cannot be touched, and
	// its scratch likewise: an access outside ends the process, and the kernel's text is in
	// weft-fence-PID.c in the folder for temporary files. For tests; every launch takes twice its
	// time and more.
	Fence bool

	// Log, when set, hears of what goes on otherwise than was asked for: kernels that cannot be kept.
	Log func(line string)

	// Trace, when set, is called after each step with the kernel's name and time; k is nil
	// for a copy.
	Trace func(name string, d time.Duration, k *plan.Kernel)
}

// Stats are counts since Open, for tests and for a look at memory.
type Stats struct {
	Live, Peak int64         // bytes handed out now and at most
	Cached     int64         // bytes kept for reuse
	Compiled   int           // kernels that went through the compiler
	FromDisk   int           // kernels found in the cache folder
	Compiling  time.Duration // time that Load waited for the compiler
	Launches   int64         // kernels run
}

// NoCompiler is returned by Open when no C compiler is found, or not the one that was named.
type NoCompiler struct {
	Looked []string
	Named  string
	Err    error // why what was named cannot be started
}

func (e *NoCompiler) Error() string {
	if e.Named != "" {
		return fmt.Sprintf("CPU: there is no C compiler %s, which CC names (%v): set CC to one that is there, or leave it out to have clang or gcc found", e.Named, e.Err)
	}
	return fmt.Sprintf("CPU: no C compiler (looked for %s in PATH): install clang or gcc, or set CC",
		strings.Join(e.Looked, ", "))
}

func (e *NoCompiler) Unwrap() error { return e.Err }

// CompileError says that the compiler refused to work or refused a kernel.
type CompileError struct {
	Kernels []string // names of the kernels in the module; none when the compiler itself fails
	Command string
	Output  string // what it printed, shortened
	Err     error
}

func (e *CompileError) Error() string {
	what := "the C compiler does not work (set CC to one that does)"
	if n := len(e.Kernels); n > 3 {
		what = fmt.Sprintf("compile %s and %d more kernels", strings.Join(e.Kernels[:3], ", "), n-3)
	} else if n > 0 {
		what = "compile " + strings.Join(e.Kernels, ", ")
	}
	output := e.Output
	if output == "" {
		output = "(it printed nothing)"
	}
	return fmt.Sprintf("CPU: %s: %v\n$ %s\n%s", what, e.Err, e.Command, output)
}

func (e *CompileError) Unwrap() error { return e.Err }

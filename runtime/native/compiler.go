//go:build !wasm

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/codecache"
)

// Multiply-add is an op of the compiler, so -ffp-contract=off keeps a·b+c as written and no
// result depends on the C compiler's taste. No flag here changes a value.
var flags = []string{"-O2", "-fPIC", "-shared", "-fwrapv", "-fno-strict-aliasing",
	"-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off", "-w"}

// machineFlags are tried in order: compilers for some machines know only one of them. Kernels say which loops are vectors.
// Where gcc 12 makes more of them, it is wrong now and then: of a loop over (i < n ? p[i] : 0) it makes a blend that reads all
// lanes, those behind n too, and of a sum over pairs in the other order one that takes some elements twice.
//
// Clang finds out that registers do not suffice when it can no longer align the stack, unless that is asked for before: numbers that it keeps
// there then lie in two lines of the cache each, in some runs of a program and not in others.
//
// Nor does clang make vectors of neighbouring statements: it gathers what running sums read that go along a row each, and stores lane by lane. It
// heeds that behind -O2 only.
var machineFlags = [][]string{{"-march=native", alignedStack, noLoopVectors}, {"-march=native", alignedStack, noJoinedVectors}, {"-march=native", alignedStack},
	{"-march=native", noLoopVectors}, {"-march=native", noJoinedVectors}, {"-march=native"}, {"-mcpu=native", noLoopVectors}, {"-mcpu=native", noJoinedVectors}, {"-mcpu=native"}, {}}

const ( // compilers that refuse one are asked again without
	noLoopVectors   = "-fno-tree-loop-vectorize" // of gcc
	noJoinedVectors = "-fno-slp-vectorize"       // of clang
	alignedStack    = "-mstackrealign"           // of x86
)

// leanLink leaves out of a library what kernels do not need: the linker takes two thirds of its time for the symbols of the C library, of which kernels
// call memset and few others, and Linux finds these in what the process has loaded. What the compiler calls itself comes from its own library.
// Compilers that refuse it are asked again without.
var leanLink = []string{"-nostartfiles", "-nolibc", "-static-libgcc"}

// linkFlags are tried in order.
func linkFlags() [][]string {
	if goruntime.GOOS == "linux" {
		return [][]string{leanLink, nil}
	}
	return [][]string{nil}
}

// compilerNames are looked for first, in this order: what the machine's owner calls the compiler. Then come versions by
// number, the newest first, clang before gcc: some systems install compilers under such names only.
var compilerNames = []string{"clang", "gcc", "cc"}

const newestVersion, oldestVersion = 99, 5

// lookForCompiler gives the path of the compiler to take where none was named, and "" with what was looked for if there
// is none.
func lookForCompiler() (path string, looked []string) {
	for _, name := range compilerNames {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	looked = slices.Clone(compilerNames)
	for _, name := range compilerNames[:2] {
		for v := newestVersion; v >= oldestVersion; v-- {
			if path, err := exec.LookPath(fmt.Sprintf("%s-%d", name, v)); err == nil {
				return path, nil
			}
		}
		looked = append(looked, fmt.Sprintf("%s-%d to %s-%d", name, newestVersion, name, oldestVersion))
	}
	return "", looked
}

// compiler is a C compiler and everything that decides what its code looks like.
type compiler struct {
	command  []string // path and the user's own arguments
	flags    []string
	name     string // for people: "gcc 12.2.0"
	identity string // part of every cache key: path, flags, version, features of this processor
}

// probeTime is how long a compiler may take to say what it is.
var probeTime = time.Minute

// findCompiler looks for the compiler. One that does not work is not replaced by another; where it was named the
// error is a *runtime.Misconfigured.
func findCompiler(ctx context.Context, cc string) (*compiler, error) {
	command := strings.Fields(cc)
	named := len(command) > 0
	if !named {
		path, looked := lookForCompiler()
		if path == "" {
			return nil, &NoCompiler{Looked: looked}
		}
		command = []string{path}
	}
	c := &compiler{command: command, name: filepath.Base(command[0])}
	path, err := exec.LookPath(command[0])
	if err == nil {
		c.command = append([]string{path}, command[1:]...)
		err = c.settle(ctx)
	} else {
		err = &NoCompiler{Named: command[0], Err: err}
	}
	switch why := ctx.Err(); {
	case why != nil:
		return nil, fmt.Errorf("CPU: ask the C compiler %s what it is: %w", c.name, why)
	case err != nil && named:
		return nil, &runtime.Misconfigured{Err: err}
	case err != nil:
		return nil, err
	}
	return c, nil
}

// settle finds the flags that the compiler takes, and what it is.
func (c *compiler) settle(ctx context.Context) (err error) {
	for _, machine := range machineFlags {
		for _, link := range linkFlags() {
			c.flags = slices.Concat(flags, machine, link)
			if err = c.probe(ctx); err == nil || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
				return err
			}
		}
	}
	return err
}

// probe asks the compiler for the macros it predefines under the flags. They tell whether it
// accepts the flags, its version, and exactly which features of the processor it will use: a
// cache folder shared by two machine types must not end in an illegal instruction.
func (c *compiler) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	macros, err := c.run(ctx, "", append(append([]string{}, c.flags...), "-E", "-dM", "-x", "c", os.DevNull), nil)
	if err != nil {
		return err
	}
	version, err := c.run(ctx, "", []string{"--version"}, nil)
	if err != nil {
		return err
	}
	c.identity = strings.Join([]string{strings.Join(c.command, " "), strings.Join(c.flags, " "), version, macros}, "\n")
	c.name = compilerName(c.command[0], macros)
	return nil
}

var macroNumber = regexp.MustCompile(`(?m)^#define (__clang_major__|__clang_minor__|__clang_patchlevel__|__GNUC__|__GNUC_MINOR__|__GNUC_PATCHLEVEL__) (\d+)\s*$`)

func compilerName(path, macros string) string {
	is := map[string]string{}
	for _, m := range macroNumber.FindAllStringSubmatch(macros, -1) {
		is[m[1]] = m[2]
	}
	switch {
	case is["__clang_major__"] != "":
		return fmt.Sprintf("clang %s.%s.%s", is["__clang_major__"], is["__clang_minor__"], is["__clang_patchlevel__"])
	case is["__GNUC__"] != "":
		return fmt.Sprintf("gcc %s.%s.%s", is["__GNUC__"], is["__GNUC_MINOR__"], is["__GNUC_PATCHLEVEL__"])
	}
	return filepath.Base(path)
}

// compile turns C text into a library file in dir, which is empty, and returns its name.
// File names are relative and constant, so the same text gives the same bytes in any folder. Other programs know dir as
// outside.
func (c *compiler) compile(ctx context.Context, dir, outside, source string, kernels []string) (string, error) {
	if err := os.WriteFile(filepath.Join(dir, "kernels.c"), []byte(source), 0o600); err != nil {
		return "", err
	}
	out := "kernels" + libraryExt
	args := append(append([]string{}, c.flags...), "-o", out, "kernels.c")
	said, err := c.run(ctx, outside, args, kernels)
	if err != nil {
		return "", err
	}
	built := filepath.Join(dir, out)
	text, err := os.ReadFile(built)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0:
		err = errors.New("it ended without an error but wrote no library")
	case err == nil:
		if err = whole(text); err != nil {
			err = fmt.Errorf("it ended without an error, but what it wrote is no library (%w)", err)
		}
	}
	if err != nil {
		return "", c.failed(args, kernels, said, err)
	}
	return built, nil
}

func (c *compiler) failed(args, kernels []string, said string, err error) error {
	return &CompileError{Kernels: kernels, Command: strings.Join(append(append([]string{}, c.command...), args...), " "),
		Output: shorten(strings.TrimSpace(said), 4000), Err: err}
}

// mostOutput is how much of what a compiler prints is kept: the macros of a probe are 20 kB.
const mostOutput = 1 << 20

// run starts the compiler and returns what it printed to standard output. Its own temporary files go to dir too, so
// that a killed process leaves nothing elsewhere. What it starts itself dies with it when ctx ends.
func (c *compiler) run(ctx context.Context, dir string, args, kernels []string) (string, error) {
	cmd := exec.CommandContext(ctx, c.command[0], append(append([]string{}, c.command[1:]...), args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	if dir != "" {
		cmd.Env = append(cmd.Env, "TMPDIR="+dir)
	}
	var stdout, stderr start
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	// The thread that starts a program must outlive it where the system ends the program with it.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	err := runGroup(cmd)
	if err == nil || errors.Is(err, exec.ErrWaitDelay) { // it is done; what it left running has its output
		return stdout.String(), nil
	}
	if why := ctx.Err(); errors.Is(why, context.DeadlineExceeded) {
		err = why // how the compiler ended says nothing
	} else if why != nil {
		return "", why
	}
	return "", c.failed(args, kernels, stderr.String()+"\n"+stdout.String(), err)
}

// start keeps the beginning of what is written to it.
type start struct {
	bytes.Buffer
}

func (s *start) Write(b []byte) (int, error) {
	s.Buffer.Write(b[:min(len(b), max(mostOutput-s.Len(), 0))])
	return len(b), nil
}

// shorten keeps the beginning, where compilers put the first and true error.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n… (%d more bytes)", len(text)-most)
}

// full reports whether compiling failed because nothing more fits on a disk.
func full(err error) bool {
	var said *CompileError
	if !errors.As(err, &said) {
		return codecache.Full(err)
	}
	for _, words := range []string{"No space left on device", "Disk quota exceeded", "File too large"} { // LC_ALL is C
		if strings.Contains(said.Output, words) {
			return true
		}
	}
	return false
}

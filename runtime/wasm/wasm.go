// Package wasm is the WASM device: it plays plans whose kernels are WebAssembly functions (package wasmmod).
// Natively the engine wazero, which is plain Go, compiles them to machine code; no compiler is needed.
//
// It knows plans, bytes and the engine. It refuses to know graphs, ops and instructions. All memory of a device
// lies in one WebAssembly memory of at most 4 GiB. Threads are instances of the modules that share it.
//
//	dev, err := wasm.Open(wasm.Options{})
//	loaded, err := dev.Load(ctx, p)
//	err = dev.Play(loaded, []runtime.Mem{in, out}, nil)
package wasm

import (
	"time"

	"github.com/weft-ml/weft/plan"
)

// Name is the device's, and the target's of its plans.
const (
	Name   = "WASM"
	target = "wasm"
)

// Options are the settings of the device; the zero value works.
type Options struct {
	CacheDir    string // folder for compiled modules; "" is weft/wasm in the user's cache folder
	Threads     int    // 0 is one for each processor
	MemoryLimit int64  // bytes that may be live at once; 0 is what fits the memory

	// Poison fills fresh memory and, before each play, the arena with 0xA7, and makes Play fail when a
	// kernel wrote behind a buffer or into a gap of the arena. For tests.
	Poison bool

	// Log, when set, hears of what goes on otherwise than was asked for: kernels that cannot be kept.
	Log func(line string)

	// Trace, when set, is called after each step with the kernel's name and time; k is nil for a copy.
	Trace func(name string, d time.Duration, k *plan.Kernel)
}

// Stats are counts since Open.
type Stats struct {
	Live, Peak int64         // bytes handed out now and at most
	Memory     int64         // bytes of the WebAssembly memory
	Compiled   int           // kernels compiled
	FromDisk   int           // kernels found in the cache folder
	Compiling  time.Duration // time that Load waited for that
	Launches   int64         // kernels run
}

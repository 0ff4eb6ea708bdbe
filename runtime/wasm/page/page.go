// Package page is the WASM device in a browser: plans are packed into bytes and handed to a player, JavaScript
// modules beside this file, which has the browser compile the kernels and calls them. One call plays a plan, however
// many steps it has. All buffers of a device lie in one WebAssembly memory of its own; where the page is cross-origin
// isolated, worker threads share it.
//
// It knows plans, bytes and the player. It refuses to know graphs, ops and instructions. Outside browsers Open is an
// error; package wasm with its embedded engine is the same device there.
package page

// Name is the device's, Target its kernels'.
const (
	Name   = "WASM"
	target = "wasm"
)

// Options are the settings of the device; the zero value works.
type Options struct {
	Threads     int   // at most so many; 0 is one for each processor, but at most 8
	MemoryLimit int64 // bytes that may be live at once; 0 is what fits the memory
	Poison      bool  // fill fresh memory with 0xA7, for tests
}

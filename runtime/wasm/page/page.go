// Package page is the WASM device in a browser: kernels are WebAssembly functions that the browser compiles and that
// work in the memory of the Go program itself, so that nothing is copied. A small JavaScript module beside this file
// compiles and calls them. One thread: the memory is not shared.
//
// It knows plans, bytes and that module. It refuses to know graphs, ops and instructions. Outside browsers Open is an
// error; package wasm with its embedded engine is the same device there.
package page

// Name is the device's, Target its kernels'.
const (
	Name   = "WASM"
	target = "wasm"
)

// Options are the settings of the device; the zero value works.
type Options struct {
	MemoryLimit int64 // bytes that may be live at once; 0 is no limit
	Poison      bool  // fill fresh memory with 0xA7, for tests
}

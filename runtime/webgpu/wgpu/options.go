// Package wgpu is the native transport of the WebGPU device: wgpu, which speaks Vulkan, Metal and Direct3D 12. It
// is linked only by programs that import it (package backends/webgpu does), and needs cgo; without cgo Open
// says so.
//
// It knows buffers and commands. It refuses to know plans.
package wgpu

// Options are the settings of Open.
type Options struct {
	Adapter string // part of the name of the adapter to take; "": the fastest kind there is
	Number  int    // which of the adapters of that kind, see webgpu.Choose
	// Headless says that there is no desktop, so that drivers do not look for one, see webgpu.WithoutDesktop.
	Headless bool
}

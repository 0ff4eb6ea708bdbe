// Package cogentcore is another native transport of the WebGPU device: an older wgpu through another Go binding. It
// is built with the tag cogentcore, and programs built so use it instead of package wgpu: one program cannot
// link both libraries. It shows that nothing but a transport depends on a binding.
//
// The older wgpu has neither 16-bit floats nor subgroups, and reports a lost device only through the errors of what
// is asked next. It knows buffers and commands. It refuses to know plans.
package cogentcore

// Options are the settings of Open.
type Options struct {
	Adapter string // part of the name of the adapter to take; "": the fastest kind there is
	Number  int    // which of the adapters of that kind, see webgpu.Choose
	// Headless says that there is no desktop, so that drivers do not look for one, see webgpu.WithoutDesktop.
	Headless bool
}

// Package page makes the devices of a web page available by name: the few that a browser can run, so that a page
// links no more than it needs.
//
//	import "github.com/weft-ml/weft/backends/page"
//
// Like package backends it pairs languages with machines and refuses to do anything else. Outside browsers its
// devices are errors that say so.
package page

import (
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	machine "github.com/weft-ml/weft/runtime/wasm/page"
	gpu "github.com/weft-ml/weft/runtime/webgpu/page"
)

// Names are the devices. Which one is faster depends on the machine and the plan: the engine measures, unless one is named.
var Names = []string{"WEBGPU", machine.Name}

func init() {
	engine.Register(engine.Backend{Name: "WEBGPU", Compare: true, Several: true, Open: openWebGPU})
	engine.Register(engine.Backend{Name: machine.Name, Rank: 1, Several: true, Open: openWASM})
}

// AllowForeign has WEBGPU take kernels that are given as text (tensor.CustomUnsafe).
func AllowForeign() {
	engine.AllowForeign()
	wgsl.AllowForeign()
}

// openWebGPU is WGSL on the browser's adapter.
func openWebGPU(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
	dev, a, err := gpu.Open(o.Opening(), gpu.Options{MemoryLimit: o.MemoryLimit, Poison: o.Poison})
	if err != nil {
		return nil, err
	}
	return &engine.Machine{
		Device: dev, Render: wgsl.Render, Finish: wgsl.Finisher(a.Limits), MayBeLost: true, Key: a.Name + ", " + gpu.Browser(),
		Target: wgsl.Target(wgsl.Machine{Limits: a.Limits, CPUBacked: a.CPUBacked, Features: a.Features, NoOpt: o.NoOpt}),
	}, nil
}

// openWASM is WebAssembly on the processor: what works in every browser.
func openWASM(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
	dev, err := machine.Open(machine.Options{Threads: o.Threads, MemoryLimit: o.MemoryLimit, Poison: o.Poison})
	if err != nil {
		return nil, err
	}
	m := wasm.Machine{Relaxed: machine.Relaxed(), Fused: machine.Fused(), NoOpt: o.NoOpt}
	return &engine.Machine{Device: dev, Target: wasm.Target(m), Render: wasm.Renderer(m), Key: gpu.Browser()}, nil
}

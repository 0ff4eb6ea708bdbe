package page

import (
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	machine "github.com/weft-ml/weft/runtime/webgpu/page"
)

// openWebGPU is WGSL on the browser's adapter.
func openWebGPU(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
	dev, a, err := machine.Open(machine.Options{MemoryLimit: o.MemoryLimit, Poison: o.Poison})
	if err != nil {
		return nil, err
	}
	return &engine.Machine{
		Device: dev, Render: wgsl.Render, Finish: wgsl.Finish,
		Target: wgsl.Target(wgsl.Machine{Limits: a.Limits, Software: a.Software, NoOpt: o.NoOpt}),
	}, nil
}

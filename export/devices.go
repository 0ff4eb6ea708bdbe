package export

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/null"
	wasmpage "github.com/weft-ml/weft/runtime/wasm/page"
	"github.com/weft-ml/weft/runtime/webgpu"
	gpupage "github.com/weft-ml/weft/runtime/webgpu/page"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/uop"
)

// device is a kind of device of pages: what writes its kernels and packs its plans.
type device struct {
	key, file string // in the manifest, and of its plans
	machine   func() engine.Machine
	pack      func(p *plan.Plan, apart bool) []byte // apart: without the code of kernels
	module    func(kernels []plan.Kernel) []byte    // that code; nil: it is never apart
	player    func(files map[string][]byte) error
}

// devices are those of pages. Kernels are written for what every browser has: SIMD without relaxed operations, and the least limits that
// WebGPU promises.
var devices = map[string]device{
	"WASM": {"wasm", "wasm.plan", func() engine.Machine {
		m := wasm.Machine{}
		return engine.Machine{Target: wasm.Target(m), Render: wasm.Renderer(m)}
	}, func(p *plan.Plan, apart bool) []byte {
		if apart {
			return wasmpage.Pack(p, nil)
		}
		return wasmpage.Pack(p, p.Kernels)
	}, wasmpage.Module, wasmPlayer},
	"WEBGPU": {"webgpu", "webgpu.plan", func() engine.Machine {
		var a webgpu.Adapter // of a graphics processor of which nothing is known
		a.Limits.Align = 256
		a.Known()
		return engine.Machine{Target: wgsl.Target(wgsl.Machine{Limits: a.Limits}), Render: wgsl.Render, Finish: wgsl.Finisher(a.Limits)}
	}, func(p *plan.Plan, _ bool) []byte { return gpupage.Pack(p) }, nil, gpuPlayer},
}

// Devices lists what Options.Devices may have.
func Devices() []string { return []string{"WASM", "WEBGPU"} }

// open gives an engine that writes the device's kernels and runs nothing.
func (d device) open() (*engine.Engine, error) {
	m := d.machine()
	m.Device = null.Open(null.Options{})
	return engine.New(engine.Backend{Name: d.key, Open: func(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) { return &m, nil }}, engine.Options{})
}

// plans compiles all functions, adds to the manifest what their plays are, and gives the file of the packed plans, and that of their kernels where
// those are to be apart.
func (d device) plans(ctx context.Context, p *saved.Program, m *manifest, apart bool) (file, module []byte, err error) {
	apart = apart && d.module != nil
	var kernels []plan.Kernel
	add := func(play *engine.Play, f *function) *playOf {
		if play == nil {
			return nil
		}
		packed := d.pack(play.Plan, apart)
		kernels = append(kernels, play.Plan.Kernels...)
		out := &playOf{At: len(file), Bytes: len(packed), Args: [][2]int{}, Vars: []int{}}
		for _, a := range play.Args {
			out.Args = append(out.Args, [2]int{int(a.Kind), a.N})
		}
		for _, v := range play.Vars {
			out.Vars = append(out.Vars, f.variable(v))
		}
		file = append(file, packed...)
		for _, c := range play.Plan.Constants {
			m.Version = Version
			words := append(slices.Clip(c.Data), make([]byte, -len(c.Data)&3)...)
			out.Constants = append(out.Constants, [2]int{len(file), len(words)})
			file = append(file, words...)
		}
		return out
	}
	for i := range p.Functions {
		f := &p.Functions[i]
		run, once, kept, err := d.compile(ctx, p, f)
		if err != nil {
			return nil, nil, fmt.Errorf("function %q: %w", f.Name, err)
		}
		of := m.function(f.Name)
		if kept == nil {
			kept = []int64{}
		}
		of.devices[d.key] = playsOf{Kept: kept, Run: add(run, of), Once: add(once, of)}
	}
	of := deviceOf{fileOf: fileOf{d.file, len(file), saved.Sum(file)}}
	if apart {
		module = d.module(kernels)
		of.Kernels = &fileOf{kernelsFile, len(module), saved.Sum(module)}
	}
	m.Devices[d.key] = of
	return file, module, nil
}

// compile makes the plans of a function, on an engine of its own: plans do not depend on what was compiled before.
func (d device) compile(ctx context.Context, p *saved.Program, f *saved.Function) (run, once *engine.Play, kept []int64, err error) {
	e, err := d.open()
	if err != nil {
		return nil, nil, nil, err
	}
	defer e.Close()
	var arrays []*uop.UOp
	for _, a := range f.Arrays {
		u, err := e.Empty(p.Arrays[a].DType, []int{p.Arrays[a].N})
		if err != nil {
			return nil, nil, nil, err
		}
		arrays = append(arrays, u)
	}
	var renewals []engine.Renewal
	for _, r := range f.Draws {
		renewals = append(renewals, engine.Renewal{Buffer: arrays[r.Slot-len(f.Inputs)]})
	}
	c, err := e.Restore(ctx, f, arrays, renewals)
	if err != nil {
		return nil, nil, nil, err
	}
	return c.Plays(arrays)
}

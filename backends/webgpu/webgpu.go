// Package webgpu adds the device WEBGPU to a program, in the manner of database drivers: it is a package of its
// own because the GPU library is large, and is linked only by programs that ask for it.
//
//	import _ "github.com/weft-ml/weft/backends/webgpu"
//
// Programs built with the tag cogentcore go through another GPU library. The package pairs the language with the
// machine and refuses to do anything else.
package webgpu

import (
	"fmt"
	"os"
	"time"

	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
)

func init() {
	engine.Register(engine.Backend{Name: webgpu.Name, Compare: true, Several: true, Open: open})
	wgsl.AllowForeign()
}

// open is WGSL on the adapter named by WEFT_ADAPTER (part of its name), else on the fastest kind there is; of several of that kind on the one
// of the device's number.
func open(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
	t, err := connect(os.Getenv("WEFT_ADAPTER"), o.Number, headless(os.LookupEnv))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", webgpu.Name, err)
	}
	opts := webgpu.Options{MemoryLimit: o.MemoryLimit, Poison: o.Poison}
	if o.Traces() {
		opts.Trace = func(_ string, d time.Duration, k *plan.Kernel) { trace(k, d.Seconds()) }
	}
	dev, err := webgpu.Open(t, opts)
	if err != nil {
		t.Close()
		return nil, err
	}
	a := dev.Adapter()
	return &engine.Machine{
		Device: dev, Render: wgsl.Render, Finish: wgsl.Finisher(a.Limits), MayBeLost: true, Key: a.Name + ", " + a.Backend,
		Target: wgsl.Target(wgsl.Machine{Limits: a.Limits, CPUBacked: a.CPUBacked, Tile: a.Tile, Features: a.Features, NoOpt: o.NoOpt}),
	}, nil
}

// Package page makes the devices of a web page available by name: the few that a browser can run, so that a page
// links no more than it needs.
//
//	import "github.com/weft-ml/weft/backends/page"
//
// Like package backends it pairs languages with machines and refuses to do anything else. Without a browser it
// has what does not need one, for tests.
package page

import (
	"time"

	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	machine "github.com/weft-ml/weft/runtime/interp"
)

// Names are the devices, best first.
var Names = []string{"WEBGPU", machine.Name}

func init() {
	engine.Register(engine.Backend{Name: "WEBGPU", Rank: 1, Open: openWebGPU})
	engine.Register(engine.Backend{Name: machine.Name, Rank: 3, Open: openInterp})
}

// openInterp is byte code in Go: what is left where there is nothing better.
func openInterp(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
	opts := machine.Options{Threads: o.Threads, MemoryLimit: o.MemoryLimit, Poison: o.Poison}
	if o.Debug >= 2 {
		opts.Trace = func(_ string, d time.Duration, k *plan.Kernel) { trace(k, d.Seconds()) }
	}
	dev, err := machine.Open(opts)
	if err != nil {
		return nil, err
	}
	return &engine.Machine{Device: dev, Target: interp.Target(o.NoOpt), Render: interp.Render}, nil
}

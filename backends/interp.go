package backends

import (
	"time"

	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	machine "github.com/weft-ml/weft/runtime/interp"
	"github.com/weft-ml/weft/runtime/native"
	"github.com/weft-ml/weft/runtime/null"
)

func init() {
	engine.Register(engine.Backend{Name: machine.Name, Rank: 3, Several: true, Open: openInterp})
	engine.Register(engine.Backend{Name: null.Name, Several: true, Open: openNull})
}

// openInterp is byte code in Go: what is left where no compiler is.
func openInterp(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
	opts := machine.Options{Threads: o.Threads, MemoryLimit: o.MemoryLimit, Poison: o.Poison}
	if o.Traces() {
		opts.Trace = func(_ string, d time.Duration, k *plan.Kernel) { trace(k, d.Seconds()) }
	}
	dev, err := machine.Open(opts)
	if err != nil {
		return nil, err
	}
	return &engine.Machine{Device: dev, Target: interp.Target(o.NoOpt), Render: interp.Render, Key: native.ProcessorName() + ", byte code"}, nil
}

// openNull writes C for this processor and never compiles it.
func openNull(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
	return &engine.Machine{Device: null.Open(null.Options{MemoryLimit: o.MemoryLimit}), Target: cTarget(o.NoOpt, nil), Render: c.Render}, nil
}

package backends

import (
	"time"

	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/native"
	machine "github.com/weft-ml/weft/runtime/wasm"
)

func init() {
	engine.Register(engine.Backend{Name: machine.Name, Rank: 2, Several: true, Open: openWASM})
}

// openWASM is generated WebAssembly, run by an engine in Go: for machines without a C compiler.
func openWASM(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
	opts := machine.Options{CacheDir: o.CacheDir, Threads: o.Threads, MemoryLimit: o.MemoryLimit, Poison: o.Poison, Log: says(o)}
	if o.Traces() {
		opts.Trace = func(_ string, d time.Duration, k *plan.Kernel) { trace(k, d.Seconds()) }
	}
	dev, err := machine.Open(opts)
	if err != nil {
		return nil, err
	}
	m := wasm.Machine{Wazero: true, NoOpt: o.NoOpt}
	return &engine.Machine{Device: dev, Target: wasm.Target(m), Render: wasm.Renderer(m), Key: native.ProcessorName() + ", wazero"}, nil
}

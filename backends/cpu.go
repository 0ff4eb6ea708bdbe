package backends

import (
	"fmt"
	"time"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/native"
)

func init() {
	engine.Register(engine.Backend{Name: "CPU", Rank: 1, Several: true, Open: openCPU})
}

// openCPU is generated C on the processor of this machine.
func openCPU(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
	opts := native.Options{
		Prelude: c.Prelude, CC: o.CC, CacheDir: o.CacheDir, Threads: o.Threads, MemoryLimit: o.MemoryLimit, Poison: o.Poison, Fence: o.Fence,
		Log: says(o),
	}
	if o.Traces() {
		opts.Trace = func(_ string, d time.Duration, k *plan.Kernel) { trace(k, d.Seconds()) }
	}
	dev, err := native.OpenContext(o.Opening(), opts)
	if err != nil {
		return nil, err
	}
	return &engine.Machine{
		Device: dev, Expect: native.Expect(dev), Plans: plansOf(o, native.CompilerName(dev)), Target: cTarget(o.NoOpt, dev), Key: native.ProcessorName() + ", " + native.CompilerName(dev),
		Render: func(p *codegen.Program) (plan.Kernel, error) { return c.Render(p) },
	}, nil
}

// says gives a device the log of its engine.
func says(o engine.Options) func(line string) {
	if o.Log == nil {
		return nil
	}
	return func(line string) { fmt.Fprintf(o.Log, "weft: %s\n", line) }
}

// cTarget is C for this processor and the compiler of a device. Of matrices the processor multiplies nothing where the compiler does not know
// the instructions.
func cTarget(noOpt bool, dev runtime.Device) *codegen.Target {
	p := native.Describe()
	known := native.CompilerHas(dev, "__AMX_INT8__") && native.CompilerHas(dev, "__AMX_BF16__")
	unit := codegen.NewMatrixUnit(p.MatrixBytes && known, p.MatrixBF16 && known)
	return c.Target(c.Machine{NoOpt: noOpt, VectorBytes: p.VectorBytes, NoFMA: p.NoFMA, Dot4: p.Dot4, Tables: p.Tables && native.CompilerHas(dev, "__AVX512VBMI__"), DotBF16: p.DotBF16 && native.CompilerHas(dev, "__AVX512BF16__"), Matrix: unit, L1: p.L1, L2: p.L2})
}

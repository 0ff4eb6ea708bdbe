package backends

import (
	"fmt"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/native"
)

func init() {
	engine.Register(engine.Backend{Name: "CPU", Rank: 1, Open: openCPU})
}

// openCPU is generated C on the processor of this machine.
func openCPU(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
	opts := native.Options{
		Prelude: c.Prelude, CC: o.CC, CacheDir: o.CacheDir, Threads: o.Threads, MemoryLimit: o.MemoryLimit, Poison: o.Poison,
	}
	if o.Debug >= 2 {
		opts.Trace = func(_ string, d time.Duration, k *plan.Kernel) { trace(k, d.Seconds()) }
	}
	dev, err := native.Open(opts)
	if err != nil {
		return nil, fmt.Errorf("open CPU: %w", err)
	}
	return &engine.Machine{
		Device: dev, Target: cTarget(o.NoOpt),
		Render: func(p *codegen.Program) (plan.Kernel, error) { return c.Render(p) },
	}, nil
}

// cTarget is C for this processor.
func cTarget(noOpt bool) *codegen.Target {
	m := c.Machine{NoOpt: noOpt}
	switch {
	case cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL:
		m.VectorBytes, m.L1, m.L2 = 64, 48<<10, 1<<20
	case cpu.X86.HasAVX2:
		m.VectorBytes, m.L1, m.L2 = 32, 32<<10, 512<<10
	}
	return c.Target(m)
}

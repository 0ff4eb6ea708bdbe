package codegen_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/native"
	machine "github.com/weft-ml/weft/runtime/wasm"
)

// The nine kernels as WebAssembly, from the same Specs and compared with C. Directives are those of Choose where none are
// given by hand.
var nineWASM = map[string]string{"attention": attentionDirectives}

func openWASM(t testing.TB, threads int) runtime.Device {
	t.Helper()
	dev, err := machine.Open(machine.Options{Threads: threads})
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	return dev
}

func lowerWASM(t testing.TB, name string, s *codegen.Spec) plan.Kernel {
	m := wasm.Machine{Wazero: true}
	target := wasm.Target(m)
	text, given := nineWASM[name]
	if v := os.Getenv("NINE_DIRECTIVES"); v != "" {
		text, given = v, true
	}
	directives := model.Choose(s, target)
	if given {
		var err error
		directives, err = codegen.ParseDirectives(text)
		require.NoError(t, err)
	}
	p, err := lower.Lower(s, directives, target)
	require.NoError(t, err)
	k, err := wasm.Renderer(m)(p)
	require.NoError(t, err)
	if os.Getenv("NINE_SHOW") != "" {
		t.Log(codegen.Dump(p), k.Source)
	}
	return k
}

func prepareWASM(t testing.TB, dev runtime.Device, k plan.Kernel, s *codegen.Spec, data [][]byte) *bench {
	b := &bench{dev: dev, k: k}
	p := &plan.Plan{Version: plan.Version, Target: "wasm", Kernels: []plan.Kernel{k}, Steps: []plan.Step{{Kind: plan.Launch}}}
	for i, d := range data {
		m, err := dev.Alloc(int64(len(d)))
		require.NoError(t, err)
		require.NoError(t, dev.Write(m, 0, d))
		p.Memory = append(p.Memory, plan.Memory{Kind: plan.State, Arg: i, Bytes: int64(len(d))})
		p.Slots = append(p.Slots, plan.Slot{Memory: i, Bytes: int64(len(d)), DType: s.Params[i].DType, Dims: s.Params[i].Dims})
		p.Steps[0].Slots = append(p.Steps[0].Slots, i)
		b.args = append(b.args, m)
	}
	var err error
	b.l, err = dev.Load(context.Background(), p)
	require.NoError(t, err, k.Source)
	return b
}

func TestNineWASM(t *testing.T) {
	dev, truth := openWASM(t, 2), nineDevice(t, 2)
	for i, n := range nine {
		t.Run(n.name, func(t *testing.T) {
			k := n.spec()
			kernel := lowerWASM(t, n.name, k.s)
			data := nineData(k.s)
			b := prepareWASM(t, dev, kernel, k.s, data)
			b.play(t)
			_, c := lowered(t, k.s, nineDirectives(t, i, k.s))
			ref := prepare(t, truth, c, k.s, data)
			ref.play(t)
			got, want := unpack(k.s.Params[0].DType, b.read(t, 0)), unpack(k.s.Params[0].DType, ref.read(t, 0))
			require.Empty(t, differ(k.s.Params[0].DType, got, want, 2e-4), "directives %s", kernel.Directives)
		})
	}
}

func BenchmarkNineWASM(b *testing.B) {
	dev, cpu := openWASM(b, 1), nineDevice(b, 1)
	peak, _, _, err := native.Limits(cpu)
	require.NoError(b, err)
	for _, n := range nine {
		b.Run(n.name, func(b *testing.B) {
			k := n.spec()
			kernel := lowerWASM(b, n.name, k.s)
			start := time.Now()
			run := prepareWASM(b, dev, kernel, k.s, nineData(k.s))
			compile := time.Since(start)
			best := time.Hour
			for b.Loop() {
				best = min(best, run.play(b))
			}
			rate := float64(kernel.Flops) / best.Seconds() / 1e9
			b.ReportMetric(rate, "GFLOP/s")
			b.ReportMetric(peak, "peak-GFLOP/s")
			b.ReportMetric(rate/peak, "of_peak")
			b.ReportMetric(float64(compile.Microseconds())/1e3, "compile-ms")
			b.Log(kernel.Directives)
		})
	}
}

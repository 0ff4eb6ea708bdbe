//go:build linux

package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tensor"
)

// loop is what a programmer would write: one pass over 16 Mi numbers, 4096 an iteration, left to the compiler's vectors.
const loop = `#include <stdint.h>
#if !defined(__clang__) && defined(__GNUC__)
__attribute__((optimize("O3", "tree-loop-vectorize", "no-math-errno", "no-trapping-math")))
#endif
void weft_loop_16m(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi) {
	const float *restrict x = (const float *)buf[0];
	float *restrict y = (float *)buf[1];
#ifdef __clang__
#pragma clang loop vectorize(enable)
#endif
	for (int64_t i = (int64_t)lo * 4096; i < (int64_t)hi * 4096; i++) {
		float v = x[i] * 2.0f + 1.0f;
		v = (v > 0.0f ? v : 0.0f) * x[i] - 3.0f;
		y[i] = -__builtin_sqrtf(__builtin_fabsf(v) + 0.5f);
	}
}
`

// BenchmarkElementwise16M runs nine elementwise operations on 2²⁴ numbers, in turns with the loop over memory that was touched
// before: each time a new result, which is dropped, and into one tensor, alone and beside 2 GB of other arrays. It reports the ratios
// of the least times, and by how much resident memory grew.
func BenchmarkElementwise16M(b *testing.B) {
	for _, others := range []int{0, 32} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) { elementwise(b, others) })
	}
}

func elementwise(b *testing.B, others int) {
	t := open(b, "CPU", engine.Options{})
	x := t.floats(3).Expand(elements).Contiguous()
	require.NoError(b, x.Realize(ctx))
	c := t.capture(func(in ...*T) []*T {
		return []*T{in[0].Mul(2).Add(1).ReLU().Mul(in[0]).Sub(3).Abs().Add(0.5).Sqrt().Neg()}
	}, x)
	touched := t.floats(0).Expand(elements).Contiguous()
	require.NoError(b, touched.Realize(ctx))
	play := t.loop(t.where(x), t.where(touched))

	kept := make([]*T, others)
	for i := range kept {
		kept[i] = x.Add(t.floats(float32(i)))
		require.NoError(b, kept[i].Realize(ctx))
	}
	before := status(b, "VmRSS")
	outs := make([]*tensor.Tensor, 1)
	ways := []func() error{
		play,
		func() (err error) { outs, err = c.RunInto(ctx, outs, x); return err },
		func() (err error) { _, err = c.Run(ctx, x); return err },
	}
	least := make([]time.Duration, len(ways))
	for b.Loop() {
		for i, f := range ways {
			start := time.Now()
			require.NoError(b, f())
			if took := time.Since(start); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	grown := status(b, "VmRSS") - before
	require.InDelta(b, t.values(touched)[5], t.values(outs[0])[5], 1e-5)
	for _, k := range kept {
		require.True(b, k.IsRealized())
	}
	b.ReportMetric(float64(grown), "MB-grown")
	b.ReportMetric(float64(least[0].Microseconds())/1e3, "loop-ms")
	b.ReportMetric(float64(least[1])/float64(least[0]), "RunInto/loop")
	b.ReportMetric(float64(least[2])/float64(least[0]), "Run/loop")
}

// loop gives a play of the loop from one memory to another.
func (b *bench) loop(x, y runtime.Mem) func() error {
	const bytes = 4 * elements
	p := &plan.Plan{Version: plan.Version, Target: "CPU",
		Kernels: []plan.Kernel{{Name: "loop", Entry: "weft_loop_16m", Source: loop, Threads: elements / 4096,
			Binds: []plan.Bind{{Bytes: bytes}, {Write: true, Bytes: bytes}}, Bytes: 2 * bytes}},
		Memory: []plan.Memory{{Kind: plan.Input, Arg: 0, Bytes: bytes}, {Kind: plan.Output, Arg: 1, Bytes: bytes}},
		Slots: []plan.Slot{{Memory: 0, Bytes: bytes, DType: dtype.F32, Dims: []int{elements}},
			{Memory: 1, Bytes: bytes, DType: dtype.F32, Dims: []int{elements}}},
		Steps: []plan.Step{{Kind: plan.Launch, Slots: []int{0, 1}}}}
	l, err := b.Device().Load(ctx, p)
	require.NoError(b.t, err)
	b.t.Cleanup(l.Free)
	return func() error { return b.Device().Play(l, []runtime.Mem{x, y}, nil) }
}

//go:build !wasm

package native

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// BenchmarkPlay is what a play with one tiny kernel costs, and each further kernel.
func BenchmarkPlay(b *testing.B) {
	for _, steps := range []int{1, 100} {
		b.Run(fmt.Sprintf("kernels=%d", steps), func(b *testing.B) {
			d := open(b, Options{})
			p := addPlan("add_test", 1, 3)
			for len(p.Steps) < steps {
				p.Steps = append(p.Steps, p.Steps[0])
			}
			l, args := load(b, d, p), []runtime.Mem{alloc(b, d, 12), alloc(b, d, 12), alloc(b, d, 12)}
			b.ReportAllocs()
			for b.Loop() {
				require.NoError(b, d.Play(l, args, nil))
			}
		})
	}
}

// BenchmarkForkJoin is what spreading a kernel over the threads costs, when the workers are
// still awake and when they sleep.
func BenchmarkForkJoin(b *testing.B) {
	for _, pause := range []time.Duration{0, 200 * time.Microsecond} {
		b.Run(fmt.Sprintf("pause=%v", pause), func(b *testing.B) {
			d := open(b, Options{})
			k := kernel("nothing_test", "", 64)
			l := load(b, d, &plan.Plan{Version: plan.Version, Target: "CPU", Kernels: []plan.Kernel{k},
				Steps: []plan.Step{{Kind: plan.Launch}}})
			var took time.Duration
			for b.Loop() {
				for start := time.Now(); time.Since(start) < pause; {
				}
				start := time.Now()
				require.NoError(b, d.Play(l, nil, nil))
				took += time.Since(start)
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/forkjoin")
		})
	}
}

func BenchmarkAllocFree(b *testing.B) {
	d := open(b, Options{})
	for b.Loop() {
		m, err := d.Alloc(1 << 20)
		require.NoError(b, err)
		m.Free()
	}
}

package variables

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// A jitted function is captured once for each combination of shapes and types, and forgets the oldest.
func TestJit(t *testing.T) {
	on(t, "INTERP", engine.Options{}, func(b *bench) {
		calls := 0
		count := b.floats([]float32{0}, 1).Own()
		require.NoError(b.t, count.Realize(ctx))
		f := tensor.Jit(func(in ...*T) []*T {
			calls++
			count.AddAssign(1)
			return []*T{in[0].Sum(0).Add(count)}
		})
		for round := range 3 {
			for n := 1; n <= 5; n++ {
				outs, err := f.Run(ctx, b.floats(make([]float32, 2*n), n, 2))
				require.NoError(b.t, err)
				runs := float32(5*round + n)
				require.Equal(b.t, []float32{runs, runs}, b.values(outs[0]))
			}
		}
		require.Equal(b.t, 5, calls)
		require.Equal(b.t, 5, f.Shapes())
		for n := 1; n <= 40; n++ {
			_, err := f.Run(ctx, b.floats(make([]float32, n), n, 1))
			require.NoError(b.t, err)
		}
		require.Equal(b.t, 45, calls)
		require.Equal(b.t, 32, f.Shapes())
		_, err := f.Run(ctx, b.floats(make([]float32, 40), 40, 1))
		require.NoError(b.t, err)
		require.Equal(b.t, 45, calls, "the newest is kept")
		_, err = f.Run(ctx, b.floats(make([]float32, 2), 1, 2))
		require.NoError(b.t, err)
		require.Equal(b.t, 46, calls, "the oldest is not")

		_, err = f.Run(ctx, b.floats([]float32{1}))
		require.Error(b.t, err, "no axis to sum over")
		require.Equal(b.t, 31, f.Shapes(), "what cannot be captured is not kept")
	})
}

// Goroutines may run one at once, with any shapes, and it may be part of a captured function.
func TestJitConcurrently(t *testing.T) {
	on(t, "INTERP", engine.Options{}, func(b *bench) {
		f := tensor.Jit(func(in ...*T) []*T { return []*T{in[0].Mul(2)} })
		var wait sync.WaitGroup
		for i := range 8 {
			wait.Go(func() {
				for n := range 50 {
					size := 1 + (n*7+i)%45
					x := b.floats(make([]float32, size), size)
					outs, err := f.Run(ctx, x)
					if assert.NoError(b.t, err) {
						_, err = outs[0].Bytes(ctx)
						assert.NoError(b.t, err)
					}
				}
			})
		}
		wait.Wait()
		c := b.capture(func(in ...*T) []*T {
			outs, err := f.Run(ctx, in[0].Add(1))
			require.NoError(b.t, err)
			return outs
		}, b.floats([]float32{1, 2}, 2))
		outs, err := c.Run(ctx, b.floats([]float32{3, 4}, 2))
		require.NoError(b.t, err)
		require.Equal(b.t, []float32{8, 10}, b.values(outs[0]))
	})
}

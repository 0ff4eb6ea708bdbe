package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// What was computed from numbers of a graph comes back after a loss, though the arrays of the numbers are gone; and a captured
// function keeps its numbers.
func TestNumbersComeBack(t *testing.T) {
	ctx := context.Background()
	s := &slot{}
	e, err := engine.New(s.backend(), engine.Options{})
	require.NoError(t, err)
	defer e.Close()
	x := floats(t, e, []float32{1, 2, 3}, 3)
	var ys []*uop.UOp
	var fs []*engine.Captured
	for i := range 6 {
		y := x.Mul(x.Int(10 * i))
		require.NoError(t, e.Realize(ctx, y))
		f, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) { return []*uop.UOp{x.Add(x.Int(i))}, nil })
		require.NoError(t, err)
		ys, fs = append(ys, y), append(fs, f)
	}
	assert.LessOrEqual(t, e.Stats().Compiled, 4)
	s.lose = func(int) bool { return s.opened == 1 }
	for i, y := range ys {
		n := float32(10 * i)
		assert.Equal(t, []float32{n, 2 * n, 3 * n}, read(t, e, y))
		out, err := fs[i].Run(ctx, x)
		require.NoError(t, err)
		assert.Equal(t, []float32{1 + n/10, 2 + n/10, 3 + n/10}, read(t, e, out[0]))
	}
	assert.Equal(t, 1, e.Stats().Losses)
}

// layers are computations that differ in constants only.
func layers(x *uop.UOp, n int) *uop.UOp {
	for i := range n {
		scale := x.Float(0.15 + 0.3*float64(i))
		for range 4 {
			x = x.Div(scale).RoundEven().Add(x.Float(float64(2*i - 5))).Mul(scale).Add(x.Sin()).Mul(x.Float(0.3 + 0.1*float64(i)))
		}
		x = x.Sub(x.Reduce(uop.Sum, 0, 1).Reshape(1, 1).Expand(x.Shape()...)).Contiguous()
	}
	return x
}

// Such layers are few kernels, which give the same bits as kernels of their own; the constants come back after a loss, go where the engine goes, and
// are there in another process that finds the plan.
func TestLayersAlikeButForConstants(t *testing.T) {
	ctx := context.Background()
	data := make([]float32, 64*300)
	for i := range data {
		data[i] = float32(i%37)/8 - 2
	}
	var want []float32
	for _, own := range []bool{true, false} {
		s := &slot{}
		e, err := engine.New(s.backend(), engine.Options{OwnConstants: own})
		require.NoError(t, err)
		defer e.Close()
		x := floats(t, e, data, 64, 300)
		f, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) { return []*uop.UOp{layers(x, 8)}, nil })
		require.NoError(t, err)
		for range 3 { // the device is lost before the second
			out, err := f.Run(ctx, x)
			require.NoError(t, err)
			y := layers(x, 8)
			require.NoError(t, e.Realize(ctx, y))
			if got := read(t, e, out[0]); want == nil {
				want = got
			} else {
				assert.Equal(t, want, got)
			}
			assert.Equal(t, want, read(t, e, y))
			opened := s.opened
			s.lose = func(int) bool { return s.opened == opened && opened == 1 }
		}
		assert.Equal(t, 1, e.Stats().Losses)
		if own {
			assert.GreaterOrEqual(t, e.Stats().Kernels, 8)
		} else {
			assert.LessOrEqual(t, e.Stats().Kernels, 6)
		}
	}
}

// A few short layers are one kernel too: each would be written out for all elements of a tile, however few nodes it has.
func TestFewLayersAlikeButForConstants(t *testing.T) {
	e, err := engine.New((&slot{}).backend(), engine.Options{})
	require.NoError(t, err)
	defer e.Close()
	const n = 96
	x, w := floats(t, e, make([]float32, n*n), n, n), floats(t, e, make([]float32, n*n), 1, n, n).Expand(n, n, n)
	for i := range 5 {
		product := x.Reshape(n, 1, n).Expand(n, n, n).Mul(w).Reduce(uop.Sum, 2).Reshape(n, n)
		x = product.Mul(x.Float(0.15 + float64(i))).RoundEven().Add(x.Float(2 + float64(i))).Max(x.Float(-30 - float64(i))).Contiguous()
	}
	require.NoError(t, e.Realize(context.Background(), x))
	require.LessOrEqual(t, e.Stats().Kernels, 2)
}

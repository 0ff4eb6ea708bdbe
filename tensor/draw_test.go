package tensor_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Draws have the frequencies that they are told.
func TestDraws(t *testing.T) {
	tensor.Seed(3)
	p := tensor.Of([]float32{0, .25, .9, 1}, 4, 1).Expand(4, 4000)
	b := p.Bernoulli()
	require.Equal(t, dtype.F32, b.DType())
	require.InDeltaSlice(t, []float64{0, .25, .9, 1}, floats(t, b.Mean(1)), .03)
	_, err := tensor.Data[float32](t.Context(), tensor.Of([]float32{.5, 1.5}, 2).Bernoulli())
	require.ErrorContains(t, err, "element 1 is no probability")
	_, err = tensor.Data[float32](t.Context(), tensor.Of([]float32{float32(math.NaN()), .5}, 2).Bernoulli())
	require.ErrorContains(t, err, "element 0 is no probability")

	logits := tensor.Of([]float32{0, 1, -1}, 3)
	want := floats(t, logits.Softmax(0))
	many := logits.Expand(4000, 3)
	hard := many.GumbelSoftmax(-1, tensor.Gumbel{Hard: true, Temperature: .7})
	require.InDeltaSlice(t, want, floats(t, hard.Mean(0)), .03)
	require.InDeltaSlice(t, []float64{1, 1}, floats(t, tensor.Stack(0, hard.Sum(1).Min(), hard.Max(1).Min())), 1e-6)
	soft := many.GumbelSoftmax(-1, tensor.Gumbel{})
	require.InDelta(t, 0, floats(t, soft.Sum(1).Sub(1).Abs().Max().Reshape(1))[0], 1e-5)

	// The hard result has the gradient of the soft one.
	w := tensor.Of([]float32{1, 2, 4}, 3)
	x := tensor.Of([]float32{.5, -.5, 0}, 3)
	tensor.Seed(7)
	a := x.GumbelSoftmax(0, tensor.Gumbel{})
	tensor.Seed(7)
	h := x.GumbelSoftmax(0, tensor.Gumbel{Hard: true})
	require.InDeltaSlice(t, slopes(t, a.Mul(w), x), slopes(t, h.Mul(w), x), 1e-6)

	y := tensor.Randn(20000).AlphaDropout(.3)
	require.InDeltaSlice(t, []float64{0, 1}, floats(t, tensor.Stack(0, y.Mean(), y.Var(1))), .05)
}

// Of many categories, most of which have no weight, those that have are drawn in proportion.
func TestDrawsOfManyCategories(t *testing.T) {
	tensor.Seed(11)
	const n, draws = 5000, 100_000
	at := tensor.Arange(n)
	w := at.Mod(7).Eq(3).Where(at.Mod(21).Eq(3).Where(2, 1), 0).To(dtype.F32)
	one := w.Multinomial(draws, tensor.Sampling{Replace: true})
	two := tensor.Stack(0, w, w.Flip(0)).Multinomial(draws, tensor.Sampling{Replace: true})
	none := w.Eq(0).To(dtype.F32)
	require.Equal(t, []float64{0, 0, 0}, floats(t, tensor.Stack(0, none.Gather(0, one).Sum(), none.Gather(0, two.Select(0, 0)).Sum(), none.Flip(0).Gather(0, two.Select(0, 1)).Sum())))
	heavy := w.Eq(2).To(dtype.F32)
	require.InDeltaSlice(t, []float64{.5, .5, .5}, floats(t, tensor.Stack(0, heavy.Gather(0, one).Mean(), heavy.Gather(0, two.Select(0, 0)).Mean(), heavy.Flip(0).Gather(0, two.Select(0, 1)).Mean())), .01)
	require.Greater(t, floats(t, one.To(dtype.F32).Std(1))[0], 1300.) // evenly over 5000: 1443
}

// A captured function that was saved draws what the one draws that it was made of, run by run, also where it has several draws and nothing reads one.
func TestSavedFunctionsDrawAlike(t *testing.T) {
	ctx := context.Background()
	tensor.Seed(3)
	drop := func(x *tensor.Tensor) *tensor.Tensor { return x.Dropout(0.3) }
	w := draw(6, 6).On("INTERP")
	for name, f := range map[string]func(x *tensor.Tensor) *tensor.Tensor{
		"one":   drop,
		"chain": func(x *tensor.Tensor) *tensor.Tensor { return drop(drop(drop(x).MatMul(w)).MatMul(w)) },
		"sizes": func(x *tensor.Tensor) *tensor.Tensor {
			return drop(x.Sum(0)).Sum().Add(drop(x)).Add(drop(x.Sum(1)).Sum())
		},
		"not read":          func(x *tensor.Tensor) *tensor.Tensor { drop(x); return drop(x) },
		"not read, behind":  func(x *tensor.Tensor) *tensor.Tensor { y := drop(x); drop(x.Sum(0)); return y },
		"not read, another": func(x *tensor.Tensor) *tensor.Tensor { drop(x.Sum().Expand(5)); return drop(x) },
	} {
		x := draw(4, 6).On("INTERP")
		require.NoError(t, tensor.Realize(ctx, x, w))
		c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(in[0])} }, x)
		require.NoError(t, err, name)
		var file bytes.Buffer
		require.NoError(t, c.Save(ctx, &file), name)
		run := func(c *tensor.Captured) (out [][]float32) {
			for range 4 {
				y, err := c.Run(ctx, x)
				require.NoError(t, err, name)
				v, err := tensor.Data[float32](ctx, y[0])
				require.NoError(t, err, name)
				out = append(out, v)
			}
			return out
		}
		loaded, err := tensor.LoadCaptured(ctx, &file, "INTERP")
		require.NoError(t, err, name)
		require.Equal(t, run(c), run(loaded), name) // its generator began where g was when it was saved
	}
}

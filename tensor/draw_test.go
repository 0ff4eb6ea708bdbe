package tensor_test

import (
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

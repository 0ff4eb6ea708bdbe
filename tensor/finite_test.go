package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Samples that no window sees have no gradient, instead of NaN.
func TestGradientOfISTFTIsFinite(t *testing.T) {
	x := tensor.Arange(40).To(dtype.F32).Mul(0.3).Sin().Reshape(1, 40)
	o := tensor.Frames{Hop: 2, Window: tensor.HannWindow(8, true, dtype.F32)}
	g := x.STFT(8, o).ISTFT(8, o).Square().Sum().Grad(x)[0]
	for i, v := range floats(t, g.Sub(x.Mul(2))) {
		assert.InDelta(t, 0, v, 1e-5, i)
	}
}

// The root of a variance that float16 does not hold may be one that it holds, and a layer that normalises has it from there.
func TestMomentsOfFloat16(t *testing.T) {
	x := tensor.Of([]float32{300, -300, 600}).To(dtype.F16)
	assert.InDelta(t, 458.258, floats(t, x.Std(1))[0], 0.2)
	small := tensor.Of([]float32{1e-4, 2e-4, 3.5e-4}).To(dtype.F16)
	g := small.Std(1).Grad(small)[0]
	assert.InDelta(t, 1.258e-4, floats(t, small.Std(1))[0], 1e-6)
	assert.InDeltaSlice(t, []float64{-0.464, -0.066, 0.530}, floats(t, g), 2e-3)
	_, variance := x.Reshape(3, 1).ChannelMoments(1)
	assert.InDelta(t, 210000, floats(t, variance)[0], 1)
	assert.Equal(t, dtype.F32, variance.DType())
	assert.Equal(t, dtype.F16, x.Var(1).DType())
}

// Where both operands of a logarithm of sums are −∞, its second derivative is 0.
func TestSecondDerivativeOfLogAddExp(t *testing.T) {
	inf := float32(math.Inf(-1))
	x, y := tensor.Of([]float32{inf, 0, inf, 1}), tensor.Of([]float32{inf, 1, 0, inf})
	first := x.LogAddExp(y).Sum().Grad(x)[0]
	assert.InDeltaSlice(t, []float64{0.5, 0.26894143, 0, 1}, floats(t, first), 1e-6)
	assert.InDeltaSlice(t, []float64{0, 0.19661193, 0, 0}, floats(t, first.Sum().Grad(x)[0]), 1e-6)
}

package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// A signal comes back from its windows, whatever they are, and a tone stands at its frequency.
func TestSTFT(t *testing.T) {
	x := tensor.Arange(64).To(dtype.F64).Mul(.7).Sin().Reshape(2, 32)
	for _, o := range []tensor.Frames{
		{}, {Hop: 3}, {TwoSided: true}, {Normalized: true}, {ZeroPadded: true},
		{Window: tensor.HannWindow(8, true, dtype.F64)}, {Window: tensor.HannWindow(5, false, dtype.F64).Add(.1), Hop: 1},
	} {
		y := x.STFT(8, o)
		bins := 5
		if o.TwoSided {
			bins = 8
		}
		require.Equal(t, bins, y.Dim(1))
		o.Length = 30
		back := y.ISTFT(8, o)
		require.Equal(t, []int{2, 30}, back.Shape())
		require.InDeltaSlice(t, floats(t, x.Narrow(1, 0, 30)), floats(t, back), 1e-9, "%+v", o)
	}
	tone := tensor.Arange(64).To(dtype.F32).Mul(2 * 3.14159265 / 16 * 3).Cos() // 3 turns in 16 samples
	power := tone.STFT(16, tensor.Frames{Uncentred: true}).Square().Sum(-1).Sum(-1)
	require.Equal(t, []float64{3}, floats(t, power.ArgMax(0)))

	for text, f := range map[string]func(){
		"windows of 0 samples":           func() { x.STFT(0, tensor.Frames{}) },
		"samples every -1":               func() { x.STFT(8, tensor.Frames{Hop: -1}) },
		"less than a window of 40":       func() { x.STFT(40, tensor.Frames{Uncentred: true}) },
		"at most 8 samples":              func() { x.STFT(8, tensor.Frames{Window: tensor.Ones(9)}) },
		"needs [5, windows, 2]":          func() { x.ISTFT(8, tensor.Frames{}) },
		"[samples] or [rows, samples]":   func() { tensor.Ones(2, 2, 9).STFT(4, tensor.Frames{}) },
		"as many class indices":          func() { x.MultiLabelMargin(tensor.Zeros(2, 3).To(dtype.I32)) },
		"temperature -1 must be above 0": func() { x.GumbelSoftmax(0, tensor.Gumbel{Temperature: -1}) },
	} {
		require.ErrorContains(t, tensor.Try(f), text)
	}
}

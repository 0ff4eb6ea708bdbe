package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Options that have no meaning are refused where they are given. They used to give numbers: infinities, the negative of a loss, or those of
// other elements.
func TestOptionsWithoutMeaning(t *testing.T) {
	x, y, i := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3), tensor.Zeros(2, 3), tensor.Of([]int32{0, 1}, 2)
	for want, f := range map[string]func(){
		"CELU: alpha is 0":                        func() { x.CELU(0) },
		"Huber: delta is 0":                       func() { x.Huber(y, 0) },
		"Huber: delta is -1":                      func() { x.Huber(y, -1) },
		"SmoothL1: beta is -1":                    func() { x.SmoothL1(y, -1) },
		"CrossEntropy: Smoothing is 1.5":          func() { x.CrossEntropy(i, tensor.Loss{Smoothing: 1.5}) },
		"CrossEntropy: Smoothing is -0.1":         func() { x.CrossEntropy(y, tensor.Loss{Smoothing: -0.1}) },
		"needs a weight for each class":           func() { x.MultiMargin(i, 1, 1, tensor.Loss{Weight: tensor.Ones(2)}) },
		"needs a position for each sample":        func() { tensor.Ones(3).TrapezoidAt(tensor.Ones(2), 0) },
		"BinCount: at least -1 elements":          func() { _, _ = i.BinCount(t.Context(), nil, -1) },
		"AffineGrid int32: needs floats":          func() { tensor.AffineGrid(tensor.Ones(1, 2, 3).To(dtype.I32), []int{1, 1, 2, 2}, false) },
		"HannWindow int32: a window is of floats": func() { tensor.HannWindow(3, true, dtype.I32) },
	} {
		require.ErrorContains(t, tensor.Try(f), want)
	}
}

// What takes elements as they are keeps their type.
func TestTypesThatStay(t *testing.T) {
	x := tensor.Of([]uint8{200, 3, 1, 0}, 1, 4)
	for _, mode := range []tensor.ResizeMode{tensor.ResizeNearest, tensor.ResizeNearestExact} {
		y := x.Resize([]int{6}, tensor.Resize{Mode: mode})
		require.Equal(t, dtype.U8, y.DType())
		require.Len(t, values(t, y), 6)
	}
	require.Equal(t, dtype.F32, x.Resize([]int{6}, tensor.Resize{Mode: tensor.ResizeLinear}).DType())
	require.Equal(t, dtype.Bool, x.Ne(0).Resize([]int{6}, tensor.Resize{}).DType())

	y := tensor.Of([]int32{-9, -1, 0, 5}, 4).HardTanh(-1, 2)
	require.Equal(t, dtype.I32, y.DType())
	require.Equal(t, []float64{-1, -1, 0, 2}, values(t, y))
	require.Equal(t, dtype.F32, tensor.Of([]int32{1}, 1).HardTanh(-0.5, 2).DType())
}

// Nothing has no ends, and the edges of a histogram are 1 apart then.
func TestHistogramOfNothing(t *testing.T) {
	x := tensor.Zeros(0)
	edges := x.HistogramEdges(4, 0, 0, false)
	require.Equal(t, []float64{0, 0.25, 0.5, 0.75, 1}, values(t, edges))
	require.Equal(t, []float64{0, 0, 0, 0}, values(t, x.Histogram(edges, nil)))
}

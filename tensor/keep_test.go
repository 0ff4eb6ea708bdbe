package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// Keep forms have the values and the shapes of PyTorch 2.15 with keepdim=True.
func TestKeep(t *testing.T) {
	x := f32(1.5, -2, 0.25, 7, 3, 0, -1, 2.5, -4, 5, 6, 0.5).Reshape(3, 4)
	y := x.WithAt(nan, 0, 1).WithAt(nan, 2, 3)
	first := func(a, _ *tensor.Tensor) *tensor.Tensor { return a }
	second := func(_, b *tensor.Tensor) *tensor.Tensor { return b }
	for _, c := range []struct {
		name  string
		got   *tensor.Tensor
		shape []int
		want  []float64
	}{
		{"Any", x.Gt(4).AnyKeep(1), []int{3, 1}, []float64{1, 0, 1}},
		{"All", x.Lt(6.5).AllKeep(0), []int{1, 4}, []float64{1, 1, 1, 0}},
		{"ArgMax", x.ArgMaxKeep(1), []int{3, 1}, []float64{3, 0, 2}},
		{"ArgMax of all", x.ArgMaxKeep(), []int{1, 1}, []float64{3}},
		{"ArgMin", x.ArgMinKeep(-2), []int{1, 4}, []float64{2, 0, 1, 2}},
		{"LogSumExp", x.LogSumExpKeep(0), []int{1, 4}, []float64{3.2021584510803223, 5.007620811462402, 6.004086494445801, 7.012533664703369}},
		{"LogSumExp of all", x.LogSumExpKeep(), []int{1, 1}, []float64{7.432293891906738}},
		{"Var", first(x.VarMeanKeep(1, 1)), []int{3, 1}, []float64{14.640625, 3.7291667461395264, 21.0625}},
		{"Mean", second(x.VarMeanKeep(1, 1)), []int{3, 1}, []float64{1.6875, 1.125, 1.875}},
		{"Std", first(x.StdMeanKeep(0, 0)), []int{1, 4}, []float64{3.009244918823242, 2.943920373916626, 3.0482234954833984, 2.7182509899139404}},
		{"Std without", first(x.StdMean(0, 0)), []int{4}, []float64{3.009244918823242, 2.943920373916626, 3.0482234954833984, 2.7182509899139404}},
		{"mean without", second(x.StdMean(0, 0)), []int{4}, []float64{0.1666666716337204, 1, 1.75, 3.3333332538604736}},
		{"variance of all", first(x.VarMean(1)), nil, []float64{10.865056991577148}},
		{"Norm", x.NormKeep(3, 1), []int{3, 1}, []float64{7.076645374298096, 3.5202903747558594, 7.399397850036621}},
		{"MatrixNorm", x.MatrixNormKeep(tensor.Frobenius, 0, 1), []int{1, 1}, []float64{12.198872566223145}},
		{"NanSum", y.NanSumKeep(1), []int{3, 1}, []float64{8.75, 4.5, 7}},
		{"NanMean", y.NanMeanKeep(1), []int{3, 1}, []float64{2.9166667461395264, 1.125, 2.3333332538604736}},
		{"NanMedian", first(y.NanMedianKeep(1)), []int{3, 1}, []float64{1.5, 0, 5}},
		{"NanMedian index", second(y.NanMedianKeep(1)), []int{3, 1}, []float64{0, 1, 1}},
		{"CountNonZero", x.CountNonZeroKeep(1), []int{3, 1}, []float64{4, 3, 4}},
		{"MaxIndex", first(x.MaxIndexKeep(1)), []int{3, 1}, []float64{7, 3, 6}},
		{"MaxIndex index", second(x.MaxIndexKeep(1)), []int{3, 1}, []float64{3, 0, 2}},
		{"MinIndex", first(x.MinIndexKeep(0)), []int{1, 4}, []float64{-4, -2, -1, 0.5}},
		{"Median", first(x.MedianKeep(1)), []int{3, 1}, []float64{0.25, 0, 0.5}},
		{"Median index", second(x.MedianKeep(1)), []int{3, 1}, []float64{2, 1, 3}},
		{"KthValue", first(x.KthValueKeep(2, 0)), []int{1, 4}, []float64{1.5, 0, 0.25, 2.5}},
		{"KthValue index", second(x.KthValueKeep(2, 0)), []int{1, 4}, []float64{0, 1, 0, 1}},
		{"Mode", first(f32(1, 2, 2, 3, 4, 4, 1, 1).Reshape(2, 4).ModeKeep(1)), []int{2, 1}, []float64{2, 1}},
		{"Mode index", second(f32(1, 2, 2, 3, 4, 4, 1, 1).Reshape(2, 4).ModeKeep(1)), []int{2, 1}, []float64{2, 3}},
		{"Quantile", x.QuantileKeep([]float64{0.25, 0.5}, 1, tensor.BetweenLinear, false), []int{2, 3, 1}, []float64{-0.3125, -0.25, -0.625, 0.875, 1.25, 2.75}},
		{"scalar", first(tensor.Scalar(3.5).MedianKeep(0)), nil, []float64{3.5}},
	} {
		assert.Equal(t, append([]int{}, c.shape...), append([]int{}, c.got.Shape()...), c.name)
		near(t, c.want, c.got, 1e-6, c.name)
	}
}

// The index of the greatest of nothing is the least int32, as in the reference system; there is none to pick.
func TestArgMaxOfNothing(t *testing.T) {
	x := tensor.Zeros(2, 0)
	same(t, []float64{math.MinInt32, math.MinInt32}, x.ArgMax(1))
	same(t, []float64{math.MinInt32}, x.ArgMin())
	require.Equal(t, []int{2, 1}, x.ArgMinKeep(1).Shape())
	require.Equal(t, []int{0}, x.ArgMax(0).Shape())
	require.Error(t, tensor.Try(func() { x.MaxIndex(1) }))
	require.Error(t, tensor.Try(func() { x.MinIndexKeep(1) }))
}

func TestAllClose(t *testing.T) {
	x := f32(1.5, -2, 0.25, 7, 3, 0)
	for _, c := range []struct {
		y        *tensor.Tensor
		equalNaN bool
		want     float64
	}{ // torch.allclose with its tolerances
		{x.Add(1e-6), false, 0}, {x.Mul(1 + 1e-6), false, 1}, {x.Add(1e-2), false, 0}, {x.WithAt(nan, 0), true, 0}, {x, false, 1},
	} {
		same(t, []float64{c.want}, x.AllClose(c.y, 1e-5, 1e-8, c.equalNaN))
	}
	n := x.WithAt(nan, 0)
	same(t, []float64{1}, n.AllClose(n, 1e-5, 1e-8, true))
	same(t, []float64{0}, n.AllClose(n, 1e-5, 1e-8, false))
	same(t, []float64{1}, tensor.Zeros(0).AllClose(1, 0, 0, false))
}

func TestListsOfOperands(t *testing.T) {
	x, y := f32(1, 2, 3), tensor.Of([]int32{10, 20, 30})
	same(t, []float64{16, 27, 38}, tensor.USum(x, y, 5))
	same(t, []float64{16, 27, 38}, tensor.USum(5, y, x))
	same(t, []float64{20, 80, 180}, tensor.UProd(2, x, y))
	same(t, []float64{7}, tensor.USum(3, 4))
	same(t, []float64{12}, tensor.UProd(3, 4))
	same(t, []float64{1, 2, 3}, tensor.USum(x))
	require.Equal(t, "int32", tensor.USum(y, 1).DType().String())
	var argument *tensor.ArgumentError
	require.ErrorAs(t, tensor.Try(func() { tensor.USum() }), &argument)
	var wrong *tensor.TypeError
	require.ErrorAs(t, tensor.Try(func() { tensor.UProd(x, "y") }), &wrong)
	require.ErrorAs(t, tensor.Try(func() { tensor.UProd("y") }), &wrong)
}

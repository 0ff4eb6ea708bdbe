package tensor_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// opOf is the operation that an error of building a graph, or of a value, names.
func opOf(t *testing.T, err error) string {
	t.Helper()
	var shape *tensor.ShapeError
	var kind *tensor.TypeError
	var argument *tensor.ArgumentError
	var value *tensor.ValueError
	switch {
	case errors.As(err, &shape):
		return shape.Op
	case errors.As(err, &kind):
		return kind.Op
	case errors.As(err, &argument):
		return argument.Op
	case errors.As(err, &value):
		return value.Op
	}
	t.Errorf("an error of another kind: %v", err)
	return ""
}

// Errors name the operation that was called, not one that it is made of.
func TestErrorsNameWhatWasCalled(t *testing.T) {
	t.Parallel()
	list, grid := tensor.Ones(3), tensor.Ones(3, 4)
	far := tensor.Of([]int32{5})
	for op, f := range map[string]func() *tensor.Tensor{
		"AdaptiveAvgPool": func() *tensor.Tensor { return tensor.Zeros(1, 0).AdaptiveAvgPool(2) },
		"STFT":            func() *tensor.Tensor { return list.STFT(16, tensor.Frames{}) },
		"Quantile":        func() *tensor.Tensor { return list.Quantile(nil, 0, tensor.BetweenLinear, false) },
		"OneHot":          func() *tensor.Tensor { return far.OneHot(1 << 62) },
		"HistogramEdges":  func() *tensor.Tensor { return list.HistogramEdges(1<<62, 0, 1, false) },
		"KaiserWindow":    func() *tensor.Tensor { return tensor.KaiserWindow(1<<62, true, 12, dtype.F32) },
		"IndexAdd":        func() *tensor.Tensor { return grid.IndexAdd(0, far, tensor.Ones(2, 2), 1) },
		"IndexCopy":       func() *tensor.Tensor { return grid.IndexCopy(0, far, tensor.Ones(2, 2)) },
		"ScatterAdd":      func() *tensor.Tensor { return grid.ScatterAdd(0, tensor.Zeros(1, 1), 1) },
		"Scatter":         func() *tensor.Tensor { return grid.Scatter(0, far.Reshape(1, 1), tensor.Ones(1)) },
		"IndexReduce":     func() *tensor.Tensor { return grid.IndexReduce(9, far, tensor.Ones(1, 4), tensor.MergeSum, true) },
		"SumKeep":         func() *tensor.Tensor { return grid.SumKeep(5) },
		"ArgMaxKeep":      func() *tensor.Tensor { return grid.ArgMaxKeep(5) },
		"QuantileKeep":    func() *tensor.Tensor { return grid.QuantileKeep([]float64{0.5}, 7, tensor.BetweenLinear, false) },
		"Arange":          func() *tensor.Tensor { return tensor.Arange(1 << 62) },
		"ArangeOf":        func() *tensor.Tensor { return tensor.ArangeOf(dtype.F32, 0, 1, 0) },
		"MatMul":          func() *tensor.Tensor { return grid.MatMul(list) },
	} {
		err := tensor.Try(func() { f() })
		if assert.Error(t, err, op) {
			assert.Equal(t, op, opOf(t, err), "%v", err)
		}
	}
	for op, f := range map[string]func() *tensor.Tensor{
		"IndexAdd":     func() *tensor.Tensor { return grid.IndexAdd(0, far, tensor.Ones(1, 4), 1) },
		"IndexCopy":    func() *tensor.Tensor { return grid.IndexCopy(0, far, tensor.Ones(1, 4)) },
		"IndexFill":    func() *tensor.Tensor { return grid.IndexFill(0, far, 1) },
		"TakeAlong":    func() *tensor.Tensor { return list.TakeAlong(0, far) },
		"EmbeddingBag": nil,
	} {
		if f == nil {
			continue
		}
		_, err := f().ToList(context.Background())
		if assert.Error(t, err, op) {
			assert.Equal(t, op, opOf(t, err), "%v", err)
		}
	}
}

// The documents list what an axis whose size varies is refused by, and what takes it.
func TestWhatRefusesSizesThatVary(t *testing.T) {
	t.Parallel()
	n := tensor.NewVariable("n", 1, 8)
	x, whole := tensor.Ones(8, 8).Narrow(0, 0, n), tensor.Ones(8, 8)
	heads, image := tensor.Ones(1, 2, 8, 4).Narrow(2, 0, n), tensor.Ones(1, 2, 8, 8).Narrow(2, 0, n)
	for op, f := range map[string]func(){
		"Sort":             func() { x.Sort(0, false) },
		"TopK":             func() { x.TopK(1, 0, true) },
		"Median":           func() { x.Median(0) },
		"Flip":             func() { x.Flip(0) },
		"Cat":              func() { tensor.Cat(0, x, whole) },
		"Pad":              func() { x.Pad([]int{1, 0}, []int{0, 0}) },
		"Tril":             func() { x.Tril(0) },
		"CumMax":           func() { x.CumMax(0) },
		"Conv2D":           func() { image.Conv2D(tensor.Ones(2, 2, 3, 3), nil, tensor.Conv{}) },
		"MaxPool":          func() { image.MaxPool(tensor.Pool{Size: []int{2, 2}}) },
		"At":               func() { x.At(tensor.Of([]int32{0})) },
		"Einsum":           func() { tensor.Einsum("ij,jk->ik", x, whole) },
		"CrossEntropy":     func() { x.CrossEntropy(tensor.Full(0, dtype.I32, 8).Narrow(0, 0, n)) },
		"MultiMargin":      func() { x.MultiMargin(tensor.Full(0, dtype.I32, 8).Narrow(0, 0, n), 1, 1) },
		"ScaledDotProduct": func() { tensor.ScaledDotProduct(heads, heads, heads, tensor.Attention{Causal: true}) },
	} {
		err := tensor.Try(f)
		if assert.ErrorContains(t, err, "n(1…8) elements", op) {
			assert.Equal(t, op, opOf(t, err))
		}
	}
	require.NoError(t, tensor.Try(func() {
		x.Sin().Add(x).Sum(0)
		x.Mean(0)
		x.Max(0)
		x.Softmax(0)
		x.CumSum(0)
		x.MatMul(whole)
		x.T().MatMul(x)
		x.Linear(whole, whole.At(0))
		x.Dropout(0.5)
		tensor.Cat(1, x, x)
		tensor.Stack(0, x, x)
		whole.At(x.At(tensor.All, 0).To(dtype.I32))
		whole.Embedding(x.At(tensor.All, 0).To(dtype.I32), tensor.EmbeddingOptions{})
		x.BCEWithLogits(x)
		x.KLDiv(x, false)
		x.GaussianNLL(x, x, false, 1e-6)
		x.CosineSimilarity(x, 1, 1e-8)
		tensor.ScaledDotProduct(tensor.Ones(1, 2, 1, 4), heads, heads, tensor.Attention{})
	}))
}

// A missing function is an error that says so.
func TestMissingFunctions(t *testing.T) {
	_, err := tensor.Capture(context.Background(), nil)
	require.Equal(t, "Capture", opOf(t, err))
	require.ErrorContains(t, err, "function is nil")
	require.ErrorContains(t, err, "said_test.go:")
}

// A missing tensor is an error, not a panic, of what returns errors.
func TestMissingInputs(t *testing.T) {
	ctx, x := context.Background(), tensor.Ones(2).On("INTERP")
	double := func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[len(in)-1].Mul(2)} }
	c, err := tensor.Capture(ctx, double, x, x)
	require.NoError(t, err)
	for op, f := range map[string]func() error{
		"Run: input 1 is nil":      func() error { _, err := c.Run(ctx, x, nil); return err },
		"RunInto: input 0 is nil":  func() error { _, err := c.RunInto(ctx, []*tensor.Tensor{nil}, nil, x); return err },
		"Capture: input 1 is nil":  func() error { _, err := tensor.Capture(ctx, double, x, nil); return err },
		"Realize: tensor 0 is nil": func() error { return tensor.Realize(ctx, nil, x) },
		"Data: the tensor is nil":  func() error { _, err := tensor.Data[float32](ctx, nil); return err },
	} {
		require.ErrorContains(t, f(), "tensor: "+op+" (said_test.go:")
	}
}

// Numbers of elements that do not fit the type that they are told in are refused, not wrapped.
func TestCountsThatDoNotFit(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt32
	long := func(n int) *tensor.Tensor { return tensor.Full(1, dtype.U8, 1).Expand(n) }
	for op, f := range map[string]func(n int){
		"ArgMax":       func(n int) { long(n + 1).ArgMax() },
		"ArgMin":       func(n int) { long(n+1).Unflatten(0, 1, -1).ArgMin(1) },
		"MaxIndex":     func(n int) { long(n + 1).MaxIndex(0) },
		"ArgSort":      func(n int) { long(n+1).ArgSort(0, false) },
		"TopK":         func(n int) { long(n+1).TopK(1, 0, true) },
		"Median":       func(n int) { long(n + 1).Median(0) },
		"CumMax":       func(n int) { long(n + 1).CumMax(0) },
		"CountNonZero": func(n int) { long(n).CountNonZero() },
		"Sum":          func(n int) { long(n).Ne(0).Sum() },
		"NanMean":      func(n int) { long(n).To(dtype.F32).NanMean() },
		"Arange":       func(n int) { tensor.Arange(n + 1) },
		"ArangeOf":     func(n int) { tensor.ArangeOf(dtype.U8, 0, 256+n-most, 1) },
		"SearchSorted": func(n int) { long(n).SearchSorted(long(2), false) },
	} {
		require.NoError(t, tensor.Try(func() { f(most) }), op)
		err := tensor.Try(func() { f(most + 1) })
		if assert.Error(t, err, op) {
			assert.Equal(t, op, opOf(t, err), "%v", err)
			t.Log(err)
		}
	}
	require.NoError(t, tensor.Try(func() { long(1 << 33).Ne(0).SumOf(dtype.I64); long(1<<33).Unflatten(0, 4, -1).ArgMax(0) }))
	require.NoError(t, tensor.Try(func() { tensor.ArangeOf(dtype.I8, 127, -129, -1); tensor.ArangeOf(dtype.I64, 0, 1<<33, 1) }))
	require.Error(t, tensor.Try(func() { tensor.ArangeOf(dtype.I8, 127, -130, -1) }))
}

package tensor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

func TestCrossEntropy(t *testing.T) {
	x := f32(1, 2, 3, 0, 5, -1).Reshape(2, 3)
	y := tensor.From([]int{2, 0})
	lse := func(v ...float64) float64 {
		s := 0.0
		for _, x := range v {
			s += math.Exp(x)
		}
		return math.Log(s)
	}
	a, b := lse(1, 2, 3)-3, lse(0, 5, -1)-0
	near(t, []float64{(a + b) / 2}, x.CrossEntropy(y), 1e-6)
	near(t, []float64{a, b}, x.CrossEntropy(y, tensor.Loss{Reduction: tensor.NoneLoss}), 1e-6)
	near(t, []float64{b}, x.CrossEntropy(y, tensor.Loss{Ignore: []int{2}}), 1e-6)
	near(t, []float64{(3*a + b) / 4}, x.CrossEntropy(y, tensor.Loss{Weight: f32(1, 2, 3)}), 1e-6)
	near(t, values(t, x.CrossEntropy(y)), x.LogSoftmax(1).NLL(y), 1e-6)
	near(t, values(t, x.CrossEntropy(y)), x.CrossEntropy(f32(0, 0, 1, 1, 0, 0).Reshape(2, 3)), 1e-6)
	hard := f32(0, 0, 1, 1, 0, 0).Reshape(2, 3)
	near(t, values(t, x.CrossEntropy(hard, tensor.Loss{Smoothing: 0.1})), x.CrossEntropy(y, tensor.Loss{Smoothing: 0.1}), 1e-6)
	g := x.CrossEntropy(y).Grad(x)[0]
	near(t, values(t, x.Softmax(1).Sub(hard).Div(2)), g, 1e-6)
	require.Error(t, tensor.Try(func() { x.CrossEntropy(tensor.From([]int{1})) }))
}

// Where all targets are ignored the mean is that of nothing, and the gradient 0. Ignored logits need not be finite.
func TestCrossEntropyOfIgnored(t *testing.T) {
	x, y := f32(1, 2, 3, 4).Reshape(2, 2), tensor.From([]int{-100, -100})
	for _, o := range []tensor.Loss{{}, {Weight: f32(1, 2)}, {Smoothing: 0.1}, {Smoothing: 0.1, Weight: f32(1, 2)}} {
		l := x.CrossEntropy(y, o)
		require.True(t, math.IsNaN(values(t, l)[0]), "%v", o)
		near(t, []float64{0, 0, 0, 0}, l.Grad(x)[0], 0)
		o.Reduction = tensor.SumLoss
		near(t, []float64{0}, x.CrossEntropy(y, o), 0)
	}
	x = f32(1, 2, float32(math.Inf(-1)), 4).Reshape(2, 2)
	o := tensor.Loss{Smoothing: 0.1}
	near(t, values(t, x.Narrow(0, 0, 1).CrossEntropy(tensor.From([]int{1}), o)), x.CrossEntropy(tensor.From([]int{1, -100}), o), 1e-6)
}

func TestOtherLosses(t *testing.T) {
	x, y := f32(0.2, 0.9), f32(0, 1)
	near(t, []float64{-(math.Log(0.8) + math.Log(0.9)) / 2}, x.BCE(y), 1e-6)
	near(t, values(t, x.Sigmoid().BCE(y)), x.BCEWithLogits(y), 1e-6)
	sure, class := f32(0, 1, 0, 1, 0.25), f32(0, 1, 1, 0, 1) // as PyTorch has it
	g := sure.BCE(class, tensor.Loss{Reduction: tensor.SumLoss}).Grad(sure, class)
	near(t, []float64{0, 0, -1e12, 1e12, -4}, g[0], 1e-6)
	near(t, []float64{100, -100, 100, -100, math.Log(3)}, g[1], 1e-6)
	near(t, []float64{(0.04 + 0.01) / 2}, x.MSE(y), 1e-6)
	near(t, []float64{0.3}, x.L1(y, tensor.Loss{Reduction: tensor.SumLoss}), 1e-6)
	near(t, []float64{0.02, 0.005}, x.Huber(y, 1, tensor.Loss{Reduction: tensor.NoneLoss}), 1e-6)
}

// Options that are not given are PyTorch's: without a norm distances would count differences, which have no gradient.
func TestTripletMarginWithoutOptions(t *testing.T) {
	a, p, n := f32(1, 2, 3, 4).Reshape(2, 2), f32(1, 3, 3, 5).Reshape(2, 2), f32(4, 6, 0, 0).Reshape(2, 2)
	for _, k := range []tensor.Triplet{{Margin: 5}, {Margin: 5, Swap: true}} {
		given := k
		given.P, given.Eps = 2, 1e-6
		want, got := a.TripletMargin(p, n, given), a.TripletMargin(p, n, k)
		same(t, values(t, want), got)
		same(t, values(t, want.Grad(a)[0]), got.Grad(a)[0])
	}
	near(t, []float64{(1 + 5 - 5 + 1 + 5 - 5) / 2.}, a.TripletMargin(p, n, tensor.Triplet{Margin: 5}), 1e-5)
}

// Where residuals are 0 losses bend as elsewhere within the bound, and there is a derivative where they are infinite.
func TestDerivativesOfRobustLosses(t *testing.T) {
	inf := math.Inf(1)
	sum := tensor.Loss{Reduction: tensor.SumLoss}
	for name, f := range map[string]func(x *tensor.Tensor) *tensor.Tensor{
		"Huber":    func(x *tensor.Tensor) *tensor.Tensor { return x.Huber(tensor.ZerosLike(x), 1, sum) },
		"SmoothL1": func(x *tensor.Tensor) *tensor.Tensor { return x.SmoothL1(tensor.ZerosLike(x), 1, sum) },
	} {
		x := tensor.Of([]float64{0, 0.5, 2, -0.5, -2})
		require.Equal(t, []float64{1, 1, 0, 1, 0}, bent(t, f, x, tensor.OnesLike(x)), name)
		x = tensor.Of([]float64{inf, -inf, 0.5, 2, -2, 1, -1, math.NaN()})
		near(t, []float64{1, -1, 0.5, 1, -1, 1, -1, math.NaN()}, f(x).Grad(x)[0], 0, name)
	}
	x := tensor.Of([]float64{3, 0.5, -0.25, 9})
	near(t, []float64{2, 0.5, -0.25, 2}, x.Huber(tensor.ZerosLike(x), 2, sum).Grad(x)[0], 0)
	near(t, []float64{1, 0.25, -0.125, 1}, x.SmoothL1(tensor.ZerosLike(x), 2, sum).Grad(x)[0], 0)
}

// The distances of TripletMargin may be taken without anything added to the differences.
func TestTripletsWithoutEps(t *testing.T) {
	a, n := f32(1, 2).Reshape(1, 2), f32(1, 2.25).Reshape(1, 2)
	same(t, []float64{0.25}, a.TripletMargin(a, n, tensor.Triplet{Margin: 0.5, Eps: -1}))
}

// The graph of CTC holds one step, however long the sequence: of hundreds of steps each would be built and compiled.
func TestCTCHoldsOneStep(t *testing.T) {
	nodes := func(time int) int {
		x := tensor.Linspace(0, 3, time*2*5).Sin().Reshape(time, 2, 5)
		l, err := x.LogSoftmax(-1).CTC(ctx, tensor.From([][]int{{1, 2, 2}, {3, 4, 0}}), tensor.From([]int{time, time - 1}), tensor.From([]int{3, 2}), tensor.CTCOptions{})
		require.NoError(t, err)
		return len(uop.Topo(l.Node())) + len(uop.Topo(l.Grad(x)[0].Node()))
	}
	require.Equal(t, nodes(10), nodes(200))
}

// Sequences of any number of steps, one and those too few for a loop among them, have the sum over all alignments.
func TestCTCOfFewSteps(t *testing.T) {
	target := []int{1, 1}
	for time := 1; time <= 6; time++ {
		x := tensor.Linspace(0, 3, time*3).Sin().Reshape(time, 3)
		p := values(t, x.Softmax(-1))
		sum := 0.0 // over all paths: labels, of which runs become one and blanks go
		for path := range int(math.Pow(3, float64(time))) {
			var said []int
			q, last, n := 1.0, 0, path
			for i := range time {
				class := n % 3
				if n /= 3; class != 0 && class != last {
					said = append(said, class)
				}
				q, last = q*p[i*3+class], class
			}
			if slices.Equal(said, target) {
				sum += q
			}
		}
		l, err := x.LogSoftmax(-1).CTC(ctx, tensor.From(target), tensor.Scalar(time), tensor.Scalar(2), tensor.CTCOptions{Reduction: tensor.SumLoss})
		require.NoError(t, err)
		near(t, []float64{-math.Log(sum)}, l, 1e-5)
	}
}

// Class indices that are floats, as numbers of a page or of a list of float32 are, are told as such.
func TestClassIndicesThatAreNoIntegers(t *testing.T) {
	logits := tensor.Ones(2, 3)
	err := tensor.Try(func() { logits.CrossEntropy(tensor.From([]float32{0, 1})) })
	require.ErrorContains(t, err, "CrossEntropy float32: class indices are integers; use To")
	err = tensor.Try(func() { logits.CrossEntropy(tensor.Ones(3, 3)) })
	require.ErrorContains(t, err, "probabilities must have the shape of the logits")
}

package variables

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// follows are operations on x[n, 6], whose n may vary, and y[6].
var follows = []struct {
	name string
	f    func(x, y *T) *T
}{
	{"Neg", func(x, y *T) *T { return x.Neg() }},
	{"Exp", func(x, y *T) *T { return x.Exp() }},
	{"GELU", func(x, y *T) *T { return x.GELU() }},
	{"SiLU", func(x, y *T) *T { return x.SiLU() }},
	{"ReLU", func(x, y *T) *T { return x.ReLU() }},
	{"Sigmoid", func(x, y *T) *T { return x.Sigmoid() }},
	{"Clamp", func(x, y *T) *T { return x.Clamp(-1, 1) }},
	{"Add", func(x, y *T) *T { return x.Add(y).Mul(2).Sub(x) }},
	{"Pow", func(x, y *T) *T { return x.Abs().Pow(0.5).Add(x.Square()) }},
	{"Maximum", func(x, y *T) *T { return x.Maximum(y).Minimum(1) }},
	{"Where", func(x, y *T) *T { return x.Gt(0).Where(x, y) }},
	{"MaskedFill", func(x, y *T) *T { return x.MaskedFill(y.Gt(0), 3) }},
	{"To", func(x, y *T) *T { return x.Mul(3).To(dtype.I32).Add(1).To(dtype.F32) }},
	{"Sum", func(x, y *T) *T { return x.Sum(0) }},
	{"Sum of all", func(x, y *T) *T { return x.Sum() }},
	{"Sum of rows", func(x, y *T) *T { return x.SumKeep(1) }},
	{"Mean", func(x, y *T) *T { return x.Mean(0) }},
	{"Mean of all", func(x, y *T) *T { return x.Mean() }},
	{"MeanKeep", func(x, y *T) *T { return x.Sub(x.MeanKeep(0)) }},
	{"Prod", func(x, y *T) *T { return x.Prod(0) }},
	{"Max", func(x, y *T) *T { return x.Max(0) }},
	{"Max of all", func(x, y *T) *T { return x.Max() }},
	{"Min", func(x, y *T) *T { return x.MinKeep(0) }},
	{"Var", func(x, y *T) *T { return x.Var(0, 0).Add(x.Std(0, 0)) }},
	{"Var of samples", func(x, y *T) *T { return x.Var(1) }},
	{"Any", func(x, y *T) *T { return x.Gt(0.5).Any(0).Add(x.Gt(-1).All(0)).To(dtype.F32) }},
	{"ArgMax", func(x, y *T) *T { return x.ArgMax(0).Mul(10).Add(x.ArgMin(0)).To(dtype.F32) }},
	{"ArgMax of all", func(x, y *T) *T { return x.ArgMax().To(dtype.F32) }},
	{"Softmax", func(x, y *T) *T { return x.Softmax(0) }},
	{"Softmax of rows", func(x, y *T) *T { return x.Softmax(1).LogSoftmax(-1) }},
	{"LogSoftmax", func(x, y *T) *T { return x.LogSoftmax(0) }},
	{"LogSumExp", func(x, y *T) *T { return x.LogSumExp(0).Add(x.LogSumExp()) }},
	{"MatMul, outer", func(x, y *T) *T { return x.MatMul(y.Unsqueeze(1).Expand(6, 3)) }},
	{"MatMul, inner", func(x, y *T) *T { return x.T().MatMul(x) }},
	{"MatMul, both", func(x, y *T) *T { return x.MatMul(x.T()) }},
	{"MatMul by a vector", func(x, y *T) *T { return x.MatMul(y).MatMul(x) }},
	{"Linear", func(x, y *T) *T { return x.Linear(y.Unsqueeze(0).Expand(2, 6), nil) }},
	{"Attention", func(x, y *T) *T {
		return tensor.ScaledDotProduct(y.Unsqueeze(0), x, x.Mul(2), tensor.Attention{})
	}},
	{"Attention of all", func(x, y *T) *T { return tensor.ScaledDotProduct(x, x, x, tensor.Attention{}) }},
	{"RMSNorm", func(x, y *T) *T { return x.RMSNorm(y, 1e-5, 6) }},
	{"LayerNorm", func(x, y *T) *T { return x.LayerNorm(y, y, 1e-5, 6) }},
	{"CumSum", func(x, y *T) *T { return x.CumSum(0) }},
	{"CumSum of rows", func(x, y *T) *T { return x.CumSum(1) }},
	{"T", func(x, y *T) *T { return x.T().Contiguous().Detach() }},
	{"Permute", func(x, y *T) *T { return x.Unsqueeze(1).Permute(2, 0, 1).Squeeze(2) }},
	{"Flatten", func(x, y *T) *T { return x.Flatten().Mul(2) }},
	{"Flatten, Sum", func(x, y *T) *T { return x.Flatten().Sum() }},
	{"Reshape", func(x, y *T) *T { return x.Reshape(-1, 2, 3).Sum(0, 2) }},
	{"Reshape, longer", func(x, y *T) *T { return x.Reshape(-1, 3).Mean(0) }},
	{"Unflatten", func(x, y *T) *T { return x.Unflatten(1, 3, 2).Max(2) }},
	{"Expand", func(x, y *T) *T { return x.Unsqueeze(0).Expand(2, -1, -1).Sum(1) }},
	{"Flip of rows", func(x, y *T) *T { return x.Flip(1) }},
	{"At the end", func(x, y *T) *T { return x.At(-1).Add(x.At(0)) }},
	{"At ranges", func(x, y *T) *T { return x.At(tensor.R(1, tensor.End), tensor.R(2, 5)).Sum(0) }},
	{"At a range that ends early", func(x, y *T) *T { return x.At(tensor.R(tensor.Begin, -1)).Mean(0) }},
	{"Narrow", func(x, y *T) *T { return x.Narrow(1, 1, 3).Narrow(0, 0, 2) }},
	{"Narrow from the end", func(x, y *T) *T { return x.Narrow(0, -2, 2) }},
	{"Shrink", func(x, y *T) *T { return x.Shrink([]int{0, 1}, []int{2, 4}) }},
	{"Gather rows", func(x, y *T) *T { return x.Gather(1, x.Mul(0).IsNaN().To(dtype.I32).Neg().Add(4)) }},
	{"Embedding", func(x, y *T) *T {
		i := x.At(tensor.All, 0).Gt(0).To(dtype.I32).Mul(5)
		return y.At(i)
	}},
	{"Embedding of a table", func(x, y *T) *T { return y.Reshape(3, 2).Embedding(ids(x, 3), tensor.EmbeddingOptions{}) }},
	{"Embedding, padded", func(x, y *T) *T {
		return y.Reshape(3, 2).Embedding(ids(x, 3), tensor.EmbeddingOptions{Padding: []int{1}, MaxNorm: 1})
	}},
	{"Embedding of pairs", func(x, y *T) *T {
		i := ids(x, 3)
		return y.Reshape(3, 2).Embedding(tensor.Stack(1, i, i), tensor.EmbeddingOptions{})
	}},
	{"OneHot", func(x, y *T) *T { return ids(x, 3).OneHot(3).Sum(0).To(dtype.F32) }},
	{"Linear with a bias", func(x, y *T) *T { return x.Linear(y.Unsqueeze(0).Expand(2, 6), y.Narrow(0, 0, 2)) }},
	{"Cat of rows", func(x, y *T) *T { return tensor.Cat(1, x, x.Mul(2), x.Exp()) }},
	{"Cat of many rows", func(x, y *T) *T {
		list := make([]*T, 30)
		for i := range list {
			list[i] = x.Add(i)
		}
		return tensor.Cat(-1, list...)
	}},
	{"Stack", func(x, y *T) *T { return tensor.Stack(0, x, x.Mul(2)).Sum(1) }},
	{"Stack of rows", func(x, y *T) *T { return tensor.Stack(-1, x, x.Mul(2)) }},
	{"Broadcast", func(x, y *T) *T { return tensor.Broadcast(y, x)[0] }},
	{"Select", func(x, y *T) *T { return x.Select(1, -2) }},
	{"Dropout of all", func(x, y *T) *T { return x.Dropout(1) }},
	{"CosineSimilarity", func(x, y *T) *T { return x.CosineSimilarity(y, 1, 1e-8) }},
	{"BCE", func(x, y *T) *T { return x.Sigmoid().BCE(x.Square().Sigmoid()) }},
	{"BCEWithLogits", func(x, y *T) *T { return x.BCEWithLogits(x.Square().Sigmoid()) }},
	{"KLDiv", func(x, y *T) *T {
		return x.LogSoftmax(1).KLDiv(x.Square().Softmax(1), false, tensor.Loss{Reduction: tensor.BatchMean})
	}},
	{"GaussianNLL", func(x, y *T) *T { return x.GaussianNLL(x.Mul(2), x.Square().Sum(1), true, 1e-6) }},
	{"CosineEmbedding", func(x, y *T) *T { return x.CosineEmbedding(x.Mul(y), x.At(tensor.All, 0).Sign(), 0.1) }},
	{"other losses", func(x, y *T) *T {
		o := x.Mul(y)
		return x.MSE(o).Add(x.L1(o)).Add(x.Huber(o, 1)).Add(x.SmoothL1(o, 1)).Add(x.SoftMargin(o.Sign())).Add(x.HingeEmbedding(o.Sign(), 1))
	}},
	{"WithAt", func(x, y *T) *T { return x.WithAt(y, 1).Sum(0) }},
	{"a loop of all", func(x, y *T) *T {
		for range 3 {
			x = x.Softmax(0).Add(x.Mean(0)).Mul(y)
		}
		return x
	}},
}

// ids are a list of indices below most, and no index where elements do not count.
func ids(x *T, most int) *T {
	first := x.At(tensor.All, 0)
	return first.Abs().Lt(100).Where(first.Abs().Mul(10).Mod(most).Floor(), 99).To(dtype.I32)
}

// rooms makes x[n, 6] of an array with room for more, whose other elements are as bad as can be.
func (b *bench) rooms(n int, size any, most int) (array *T, view func(*T) *T) {
	r := b.values(b.numbers(5, most, 6))
	for i := n * 6; i < len(r); i++ {
		r[i] = []float32{float32(math.NaN()), float32(math.Inf(1)), -1e30}[i%3]
	}
	return b.floats(r, most, 6), func(x *T) *T { return x.Narrow(0, 0, size) }
}

// Operations on sizes that vary give what they give on fixed ones, with one plan.
func TestOperationsFollow(t *testing.T) {
	const most = 9
	sizes := []int{most, 2, 3, 7, 8}
	type result struct {
		shape  []int
		values []float32
	}
	var want [][]result
	n := tensor.NewVariable("n", 2, most)
	on(t, "REF", engine.Options{}, func(b *bench) { // which captures nothing
		y := b.numbers(6, 6)
		for _, c := range follows {
			var list []result
			for _, k := range sizes {
				array, fixed := b.rooms(k, k, most)
				r := c.f(fixed(array), y)
				list = append(list, result{r.Shape(), b.values(r)})
				_, bound := b.rooms(k, n.Bind(k), most)
				b.equal(list[len(list)-1].shape, list[len(list)-1].values, c.f(bound(array), y), "%s, n = %d", c.name, k)
			}
			want = append(want, list)
		}
	})
	onAll(t, func(b *bench) {
		y := b.numbers(6, 6)
		for i, c := range follows {
			array, view := b.rooms(most, n, most)
			f, err := tensor.Capture(ctx, func(in ...*T) []*T { return []*T{c.f(view(in[0]), y)} }, array)
			if !assert.NoError(b.t, err, c.name) {
				continue
			}
			before := b.Stats().Compiled
			for j, k := range sizes {
				array, _ := b.rooms(k, k, most)
				outs, err := f.With(tensor.Values{n: k}).Run(ctx, array)
				if !assert.NoError(b.t, err, c.name) {
					break
				}
				b.equal(want[i][j].shape, want[i][j].values, outs[0], "%s, captured, n = %d", c.name, k)
				_, bound := b.rooms(k, n.Bind(k), most)
				b.equal(want[i][j].shape, want[i][j].values, c.f(bound(array), y), "%s, n = %d", c.name, k)
			}
			assert.LessOrEqual(b.t, b.Stats().Compiled-before, 2, "%s: one plan for all", c.name)
		}
	})
}

// equal compares elements and shapes.
func (b *bench) equal(shape []int, w []float32, got *T, why string, a ...any) {
	b.t.Helper()
	why = fmt.Sprintf(why, a...)
	if !assert.Equal(b.t, append([]int{}, shape...), append([]int{}, got.Shape()...), why) {
		return
	}
	g := b.values(got)
	require.Len(b.t, g, len(w), why)
	for i := range w {
		if d := math.Abs(float64(w[i] - g[i])); !(d <= 1e-5*math.Max(1, math.Abs(float64(w[i])))) {
			assert.Failf(b.t, why, "element %d: %v, not %v", i, g[i], w[i])
			return
		}
	}
}

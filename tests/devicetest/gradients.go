package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// differentiable is a function of arrays of some shapes. Its gradient is its derivative, unless it is held back.
type differentiable struct {
	name   string
	shapes [][]int
	fill   Fill
	f      func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor
}

const heldBack = "Detach"

// loss is Σ f(x)·w with random weights w, on leaves of type d, and the leaves.
func (c differentiable) loss(in *Inputs, d dtype.DType) (*tensor.Tensor, []*tensor.Tensor) {
	xs := make([]*tensor.Tensor, len(c.shapes))
	for i, s := range c.shapes {
		xs[i] = in.Tensor(d, c.fill, s...)
	}
	return c.value(in, xs), xs
}

// value is the loss at other points: in must have drawn the leaves.
func (c differentiable) value(in *Inputs, xs []*tensor.Tensor) *tensor.Tensor {
	y := c.f(in, xs)
	return y.Mul(in.Tensor(y.DType(), Smooth, y.Shape()...)).Sum()
}

func of1(f fn1) func(*Inputs, []*tensor.Tensor) *tensor.Tensor {
	return func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor { return f(x[0]) }
}

func of2(f fn2) func(*Inputs, []*tensor.Tensor) *tensor.Tensor {
	return func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor { return f(x[0], x[1]) }
}

// differentiables lists everything that has a gradient.
func differentiables() []differentiable {
	one := [][]int{{7, 9}}
	var out []differentiable
	for _, f := range floatFunctions {
		out = append(out, differentiable{f.name, one, Smooth, of1(f.f)})
	}
	out = append(out, arithmetic()...)
	out = append(out, reductionsOfFloats()...)
	out = append(out, movements()...)
	out = append(out, lookupsOfFloats()...)
	return append(out, layers()...)
}

func arithmetic() []differentiable {
	two, spread := [][]int{{7, 9}, {7, 9}}, [][]int{{3, 1, 5}, {17, 1}}
	var out []differentiable
	for _, f := range []namedBinary{
		{"Add", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Add(y) }}, {"Sub", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sub(y) }},
		{"Mul", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Mul(y) }}, {"Div", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Div(y) }},
		{"Maximum", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Maximum(y) }}, {"Minimum", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Minimum(y) }},
		{"Pow", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Pow(y) }}, {"Where", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Lt(1).Where(x.Mul(y), y) }},
		{"Atan2", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Atan2(y) }}, {"Lerp", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Lerp(y, 0.3) }},
	} {
		out = append(out, differentiable{f.name, two, Positive, of2(f.f)}, differentiable{f.name + " spread", spread, Positive, of2(f.f)})
	}
	for _, f := range []namedUnary{{"Log", (*tensor.Tensor).Log}, {"Sqrt", (*tensor.Tensor).Sqrt}, {"Rsqrt", (*tensor.Tensor).Rsqrt}, {"Reciprocal", (*tensor.Tensor).Reciprocal},
		{"Log2", (*tensor.Tensor).Log2}, {"Exp2", (*tensor.Tensor).Exp2}, {"Sin", (*tensor.Tensor).Sin}, {"Tan", func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(0.5).Tan() }},
		{"to float64 and back", func(x *tensor.Tensor) *tensor.Tensor { return x.To(dtype.F64).Mul(x).To(x.DType()) }}} {
		out = append(out, differentiable{f.name, [][]int{{33}}, Positive, of1(f.f)})
	}
	return out
}

func reductionsOfFloats() []differentiable {
	var out []differentiable
	for _, shape := range [][]int{{7, 33}, {17, 3}, {1, 9}} {
		for _, f := range []namedUnary{
			{"Sum", func(x *tensor.Tensor) *tensor.Tensor { return x.Sum(0) }}, {"Mean", func(x *tensor.Tensor) *tensor.Tensor { return x.Mean(1) }},
			{"Max", func(x *tensor.Tensor) *tensor.Tensor { return x.Max(1) }}, {"Min of all", func(x *tensor.Tensor) *tensor.Tensor { return x.Min() }},
			{"Prod", func(x *tensor.Tensor) *tensor.Tensor { return x.Prod(0) }}, {"Var", func(x *tensor.Tensor) *tensor.Tensor { return x.Var(0, 1) }},
			{"Std", func(x *tensor.Tensor) *tensor.Tensor { return x.Add(1).Mul(x).Std(0) }}, {"LogSumExp", func(x *tensor.Tensor) *tensor.Tensor { return x.LogSumExp(1) }},
			{"Softmax", func(x *tensor.Tensor) *tensor.Tensor { return x.Softmax(1) }}, {"LogSoftmax", func(x *tensor.Tensor) *tensor.Tensor { return x.LogSoftmax(0) }},
			{"CumSum", func(x *tensor.Tensor) *tensor.Tensor { return x.CumSum(1) }}, {"CumProd", func(x *tensor.Tensor) *tensor.Tensor { return x.CumProd(0) }},
			{"Norm", func(x *tensor.Tensor) *tensor.Tensor { return x.Norm(2, 1) }},
			{"MaxIndex", func(x *tensor.Tensor) *tensor.Tensor { v, _ := x.MaxIndex(0); return v }},
		} {
			out = append(out, differentiable{fmt.Sprintf("%s %v", f.name, shape), [][]int{shape}, Positive, of1(f.f)})
		}
	}
	return out
}

func movements() []differentiable {
	shape := [][]int{{6, 10}}
	var out []differentiable
	for _, f := range []namedUnary{
		{"Reshape", func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x).Reshape(4, 15) }}, {"Permute", func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x).T() }},
		{"Expand", func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(6, 1, 10).Expand(6, 4, 10) }}, {"Flip", func(x *tensor.Tensor) *tensor.Tensor { return x.Flip(0, 1) }},
		{"Pad", func(x *tensor.Tensor) *tensor.Tensor { return x.Pad([]int{1, 2}, []int{0, 3}).Exp() }},
		{"Shrink", func(x *tensor.Tensor) *tensor.Tensor { return x.Shrink([]int{1, 0}, []int{5, 7}) }},
		{"Unfold", func(x *tensor.Tensor) *tensor.Tensor { return x.Unfold(1, 4, 2).Mul(x.Unfold(1, 4, 2)) }},
		{"Cat", func(x *tensor.Tensor) *tensor.Tensor { return tensor.Cat(1, x, x.Mul(x)) }}, {"Roll", func(x *tensor.Tensor) *tensor.Tensor { return x.Roll([]int{2}, []int{1}) }},
		{"At", func(x *tensor.Tensor) *tensor.Tensor { return x.At(tensor.RS(0, -1, 2), 3) }}, {"WithAt", func(x *tensor.Tensor) *tensor.Tensor { return x.WithAt(x.Mul(2).At(0), 1) }},
		{"Tril", func(x *tensor.Tensor) *tensor.Tensor { return x.Tril(1) }}, {"Contiguous", func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x).Contiguous().Mul(x) }},
		{"Sort", func(x *tensor.Tensor) *tensor.Tensor { v, _ := x.Sort(1, false); return v }}, {heldBack, func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x.Detach()).Add(x) }},
	} {
		out = append(out, differentiable{f.name, shape, Smooth, of1(f.f)})
	}
	return out
}

func lookupsOfFloats() []differentiable {
	index := func(in *Inputs, n int, shape ...int) *tensor.Tensor {
		return tensor.FromNode(in.Index(dtype.I32, n, false, shape...), in.engine)
	}
	table, two := [][]int{{17, 5}}, [][]int{{7, 9}, {3, 9}}
	return []differentiable{
		{"Embedding", table, Smooth, func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			return x[0].Embedding(index(in, 17, 4, 3), tensor.EmbeddingOptions{})
		}},
		{"Gather", table, Smooth, func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor { return x[0].Gather(0, index(in, 17, 33, 5)) }},
		{"IndexSelect", table, Smooth, func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor { return x[0].IndexSelect(1, index(in, 5, 9)) }},
		{"ScatterAdd", two, Smooth, func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			return x[0].ScatterAdd(0, index(in, 7, 3, 9), x[1].Mul(x[1]))
		}},
		{"Scatter", two, Smooth, func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor { return x[0].Scatter(0, index(in, 7, 3, 9), x[1]) }},
		{"ScatterReduce max", two, Smooth, func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			return x[0].ScatterReduce(0, index(in, 7, 3, 9), x[1], tensor.MergeMax, true)
		}},
		{"ScatterReduce prod", two, Positive, func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			return x[0].ScatterReduce(0, index(in, 7, 3, 9), x[1], tensor.MergeProd, true)
		}},
		{"At by tensors", table, Smooth, func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			return x[0].At(index(in, 17, 4), index(in, 5, 4))
		}},
		{"CrossEntropy", [][]int{{9, 17}}, Smooth, func(in *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			return x[0].CrossEntropy(index(in, 17, 9))
		}},
	}
}

func layers() []differentiable {
	out := []differentiable{
		{"MatMul", [][]int{{7, 33}, {33, 17}}, Smooth, of2((*tensor.Tensor).MatMul)},
		{"MatMul batch", [][]int{{3, 5, 8}, {8, 9}}, Smooth, of2((*tensor.Tensor).MatMul)},
		{"Linear", [][]int{{9, 16}, {5, 16}, {5}}, Smooth, func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor { return x[0].Linear(x[1], x[2]).ReLU() }},
		{"two layers", [][]int{{9, 16}, {33, 16}, {7, 33}}, Smooth, func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			return x[0].Linear(x[1], nil).Tanh().Linear(x[2], nil)
		}},
		{"LayerNorm", [][]int{{7, 33}, {33}, {33}}, Smooth, func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor { return x[0].LayerNorm(x[1], x[2], 1e-5, 33) }},
		{"RMSNorm", [][]int{{7, 33}, {33}}, Smooth, func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor { return x[0].RMSNorm(x[1], 1e-5, 33) }},
		{"GroupNorm", [][]int{{2, 4, 5}, {4}, {4}}, Smooth, func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor { return x[0].GroupNorm(2, x[1], x[2], 1e-5) }},
		{"BatchNorm", [][]int{{5, 3, 4, 4}, {3}, {3}}, Smooth, func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			mean, variance := x[0].ChannelMoments(0)
			return x[0].BatchNorm(mean, variance, x[1], x[2], 1e-5)
		}},
		{"attention", [][]int{{2, 9, 8}, {2, 17, 8}, {2, 17, 8}}, Smooth, func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			return tensor.ScaledDotProduct(x[0], x[1], x[2], tensor.Attention{})
		}},
		{"causal attention", [][]int{{1, 2, 16, 4}, {1, 2, 16, 4}, {1, 2, 16, 4}}, Smooth, func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			return tensor.ScaledDotProduct(x[0], x[1], x[2], tensor.Attention{Causal: true})
		}},
		{"attention to nothing", [][]int{{2, 9, 8}, {2, 17, 8}, {2, 17, 8}}, Smooth, func(_ *Inputs, x []*tensor.Tensor) *tensor.Tensor {
			seen := tensor.Arange(17).Lt(tensor.Arange(9).Mul(2).Reshape(9, 1))
			return tensor.ScaledDotProduct(x[0], x[1], x[2], tensor.Attention{Mask: seen})
		}},
		{"MSE", [][]int{{7, 5}, {7, 5}}, Smooth, of2(func(x, y *tensor.Tensor) *tensor.Tensor { return x.MSE(y) })},
		{"BCEWithLogits", [][]int{{7, 5}, {7, 5}}, Positive, of2(func(x, y *tensor.Tensor) *tensor.Tensor { return x.BCEWithLogits(y) })},
	}
	for _, c := range windowCases {
		if uop.Shape(c.in).Numel() > 2000 {
			continue
		}
		out = append(out, differentiable{fmt.Sprintf("conv %v %v %+v", c.in, c.w, c.o), [][]int{c.in, c.w}, Smooth, of2(func(x, w *tensor.Tensor) *tensor.Tensor {
			return x.Conv2D(w, nil, c.o)
		})})
	}
	for _, c := range poolCases {
		out = append(out, differentiable{fmt.Sprintf("max pool %v %+v", c.in, c.p), [][]int{c.in}, Smooth, of1(func(x *tensor.Tensor) *tensor.Tensor { return x.MaxPool(c.p) })},
			differentiable{fmt.Sprintf("average pool %v %+v", c.in, c.p), [][]int{c.in}, Smooth, of1(func(x *tensor.Tensor) *tensor.Tensor { return x.AvgPool(c.p) })})
	}
	return out
}

// gradients computes values and gradients on the device and by the reference evaluator.
func gradients(s *suite) {
	for i, c := range differentiables() {
		types := []dtype.DType{dtype.F32}
		if i%4 == 0 {
			types = append(types, dtype.F64)
		}
		for _, d := range types {
			s.add(fmt.Sprintf("gradient of %s %v", c.name, d.Short()), tolerance["grad"], func(in *Inputs) []*uop.UOp {
				loss, xs := c.loss(in, d)
				return nodes(append(loss.Grad(xs...), loss)...)
			})
		}
	}
}

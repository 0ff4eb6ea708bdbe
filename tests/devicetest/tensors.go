package devicetest

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

type (
	fn1 = func(x *tensor.Tensor) *tensor.Tensor
	fn2 = func(x, y *tensor.Tensor) *tensor.Tensor
)

type namedUnary struct {
	name string
	f    fn1
}

type namedBinary struct {
	name string
	f    fn2
}

// floatFunctions are compositions of elementwise ops. They are well conditioned nearly everywhere on the Finite numbers.
var floatFunctions = []namedUnary{
	{"Exp", (*tensor.Tensor).Exp}, {"Expm1", (*tensor.Tensor).Expm1}, {"Sigmoid", (*tensor.Tensor).Sigmoid},
	{"Tanh", (*tensor.Tensor).Tanh}, {"SiLU", (*tensor.Tensor).SiLU}, {"GELU", (*tensor.Tensor).GELU}, {"GELUTanh", (*tensor.Tensor).GELUTanh},
	{"Erf", (*tensor.Tensor).Erf}, {"Atan", (*tensor.Tensor).Atan}, {"Asinh", (*tensor.Tensor).Asinh}, {"Cos", (*tensor.Tensor).Cos},
	{"LogSigmoid", (*tensor.Tensor).LogSigmoid}, {"Mish", (*tensor.Tensor).Mish}, {"ELU", func(x *tensor.Tensor) *tensor.Tensor { return x.ELU(1) }},
	{"Softplus", func(x *tensor.Tensor) *tensor.Tensor { return x.Softplus(1) }},
	{"Log1p of square", func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x).Log1p() }},
	{"Log of square + 1", func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x).Add(1).Log() }},
	{"Sqrt of Abs", func(x *tensor.Tensor) *tensor.Tensor { return x.Abs().Sqrt() }},
	{"Pow 3", func(x *tensor.Tensor) *tensor.Tensor { return x.Pow(3) }},
	{"ReLU", (*tensor.Tensor).ReLU}, {"LeakyReLU", func(x *tensor.Tensor) *tensor.Tensor { return x.LeakyReLU(0.01) }},
	{"HardSwish", (*tensor.Tensor).HardSwish}, {"Softsign", (*tensor.Tensor).Softsign},
	{"Clamp", func(x *tensor.Tensor) *tensor.Tensor { return x.Clamp(-1, 2.5) }},
}

// exactFunctions have one right result.
var exactFunctions = []namedUnary{
	{"Abs", (*tensor.Tensor).Abs}, {"Sign", (*tensor.Tensor).Sign}, {"Floor", (*tensor.Tensor).Floor}, {"Ceil", (*tensor.Tensor).Ceil},
	{"Round", (*tensor.Tensor).Round}, {"Trunc", (*tensor.Tensor).Trunc}, {"IsNaN", (*tensor.Tensor).IsNaN}, {"IsInf", (*tensor.Tensor).IsInf},
	{"IsFinite", (*tensor.Tensor).IsFinite}, {"LogicalNot", (*tensor.Tensor).LogicalNot}, {"NanToNum", func(x *tensor.Tensor) *tensor.Tensor { return x.NanToNum(1, 2, 3) }},
	{"Relu of -x", func(x *tensor.Tensor) *tensor.Tensor { return x.RSub(0).ReLU() }},
	{"x·0", func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(0) }}, {"x−x", func(x *tensor.Tensor) *tensor.Tensor { return x.Sub(x) }},
	{"x=x", func(x *tensor.Tensor) *tensor.Tensor { return x.Eq(x) }}, {"Clamp", func(x *tensor.Tensor) *tensor.Tensor { return x.Clamp(-1, 2) }},
}

var exactBinaries = []namedBinary{
	{"FloorDiv", func(x, y *tensor.Tensor) *tensor.Tensor { return x.FloorDiv(y) }}, {"TruncDiv", func(x, y *tensor.Tensor) *tensor.Tensor { return x.TruncDiv(y) }},
	{"Mod", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Mod(y) }}, {"Fmod", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Fmod(y) }},
	{"Maximum", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Maximum(y) }}, {"Minimum", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Minimum(y) }},
	{"Lt", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Lt(y) }}, {"Ge", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Ge(y) }},
	{"Ne", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Ne(y) }}, {"Sub", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sub(y) }},
	{"Div", func(x, y *tensor.Tensor) *tensor.Tensor { return x.Div(y) }}, {"CopySign", func(x, y *tensor.Tensor) *tensor.Tensor { return x.CopySign(y) }},
}

// tensors tries the elementwise functions of the tensor layer with broadcasting and promotion, and what rearranges.
func tensors(s *suite) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F64, dtype.F16, dtype.BF16} {
		for _, f := range floatFunctions {
			shape := s.shape(2, 300)
			s.one(fmt.Sprintf("%s %v %v", f.name, d.Short(), shape), tolerance["smooth"], func(in *Inputs) *uop.UOp {
				return f.f(in.view(d, Finite, shape...)).Node()
			})
		}
	}
	for _, d := range []dtype.DType{dtype.F32, dtype.F16, dtype.F64, dtype.I8, dtype.I32, dtype.U8, dtype.I64} {
		for _, f := range exactFunctions {
			s.one(fmt.Sprintf("%s %v", f.name, d.Short()), tolerance["max"], func(in *Inputs) *uop.UOp {
				return f.f(in.view(d, Special, 100)).Node()
			})
		}
		for _, f := range exactBinaries {
			s.one(fmt.Sprintf("%s %v", f.name, d.Short()), tolerance["max"], func(in *Inputs) *uop.UOp {
				return f.f(in.view(d, Special, 33, 1), in.view(d, Special, 41)).Node()
			})
		}
	}
	for i, a := range dtype.All {
		b := dtype.All[(i*5+3)%len(dtype.All)]
		s.add(fmt.Sprintf("promote %v %v", a.Short(), b.Short()), tolerance["max"], func(in *Inputs) []*uop.UOp {
			x, y := in.view(a, Exact, 7, 1, 5), in.view(b, Exact, 3, 1)
			return nodes(x.Add(y), x.Mul(y), x.Maximum(y), x.Lt(y), x.Eq(1))
		})
	}
	s.arrangements()
}

func nodes(ts ...*tensor.Tensor) []*uop.UOp {
	out := make([]*uop.UOp, len(ts))
	for i, t := range ts {
		out[i] = t.Node()
	}
	return out
}

// view is a view as a tensor.
func (in *Inputs) view(d dtype.DType, fill Fill, shape ...int) *tensor.Tensor {
	return tensor.FromNode(in.View(d, fill, shape...), in.engine)
}

// pieces are different values of the same elements, side by side.
func pieces(x *tensor.Tensor, axis int) *tensor.Tensor {
	var parts []*tensor.Tensor
	for i := range 9 {
		parts = append(parts, x.Mul(i%3).Add(x.Flip(0).Mul(i/3)))
	}
	return tensor.Stack(axis, parts...)
}

// arrangements are functions of a matrix that only move, choose or order numbers.
func (s *suite) arrangements() {
	first := func(v, _ *tensor.Tensor) *tensor.Tensor { return v }
	second := func(_, i *tensor.Tensor) *tensor.Tensor { return i }
	functions := []namedUnary{
		{"Cat", func(x *tensor.Tensor) *tensor.Tensor { return tensor.Cat(0, x, x.Flip(0), x.Add(1)) }},
		{"Cat of columns", func(x *tensor.Tensor) *tensor.Tensor { return tensor.Cat(1, x, x.Mul(2)) }},
		{"Stack", func(x *tensor.Tensor) *tensor.Tensor { return tensor.Stack(-1, x, x.Neg()) }},
		{"Stack of nine", func(x *tensor.Tensor) *tensor.Tensor { return pieces(x, -1) }},
		{"Stack of nine in front", func(x *tensor.Tensor) *tensor.Tensor { return pieces(x, 0) }},
		{"Repeat", func(x *tensor.Tensor) *tensor.Tensor { return x.Repeat(2, 3) }},
		{"RepeatInterleave", func(x *tensor.Tensor) *tensor.Tensor { return x.RepeatInterleave(3, 1) }},
		{"Roll", func(x *tensor.Tensor) *tensor.Tensor { return x.Roll([]int{2, -1}, []int{0, 1}) }},
		{"Tril", func(x *tensor.Tensor) *tensor.Tensor { return x.Tril(-1) }}, {"Triu", func(x *tensor.Tensor) *tensor.Tensor { return x.Triu(1) }},
		{"Diagonal", func(x *tensor.Tensor) *tensor.Tensor { return x.Diagonal(0) }},
		{"Flatten", func(x *tensor.Tensor) *tensor.Tensor { return x.T().Flatten() }},
		{"reflected", func(x *tensor.Tensor) *tensor.Tensor {
			return x.PadMode(tensor.Reflect, []int{0, 2}, []int{0, 1})
		}},
		{"circular", func(x *tensor.Tensor) *tensor.Tensor { return x.PadMode(tensor.Circular, []int{1, 2}, []int{2, 1}) }},
		{"padded with 7", func(x *tensor.Tensor) *tensor.Tensor { return x.PadWith(7, []int{1, 2}, []int{2, 1}) }},
		{"every third", func(x *tensor.Tensor) *tensor.Tensor { return x.At(tensor.RS(1, -1, 3), tensor.RS(0, -1, 2)) }},
		{"Unfold", func(x *tensor.Tensor) *tensor.Tensor { return x.Unfold(1, 3, 2) }},
		{"CumSum", func(x *tensor.Tensor) *tensor.Tensor { return x.CumSum(0) }},
		{"CumSum of rows", func(x *tensor.Tensor) *tensor.Tensor { return x.CumSum(1) }},
		{"CumMax", func(x *tensor.Tensor) *tensor.Tensor { return first(x.CumMax(1)) }},
		{"CumMax indices", func(x *tensor.Tensor) *tensor.Tensor { return second(x.CumMax(1)) }},
		{"Sort", func(x *tensor.Tensor) *tensor.Tensor { return first(x.Sort(1, false)) }},
		{"ArgSort", func(x *tensor.Tensor) *tensor.Tensor { return x.ArgSort(0, true) }},
		{"TopK", func(x *tensor.Tensor) *tensor.Tensor { return second(x.TopK(2, 1, true)) }},
		{"ArgMax", func(x *tensor.Tensor) *tensor.Tensor { return x.ArgMax(1) }}, {"ArgMin", func(x *tensor.Tensor) *tensor.Tensor { return x.ArgMin(0) }},
		{"ArgMax of all", func(x *tensor.Tensor) *tensor.Tensor { return x.ArgMax() }},
		{"Max by index", func(x *tensor.Tensor) *tensor.Tensor { return first(x.MaxIndex(1)) }},
		{"Any", func(x *tensor.Tensor) *tensor.Tensor { return x.Gt(3).Any(1) }}, {"All", func(x *tensor.Tensor) *tensor.Tensor { return x.Lt(3).All(0) }},
		{"Median", func(x *tensor.Tensor) *tensor.Tensor { return first(x.Median(1)) }},
		{"SetAt", func(x *tensor.Tensor) *tensor.Tensor { return x.WithAt(9, tensor.R(0, 2), 1) }},
		{"MeshgridXY", func(x *tensor.Tensor) *tensor.Tensor {
			g := tensor.MeshgridXY(x.At(0), x.At(tensor.R(0, -1), 0))
			return g[0].Sub(g[1])
		}},
		{"Rearrange", func(x *tensor.Tensor) *tensor.Tensor {
			return x.PadTo(66, 34).Rearrange("(h p) (w q) -> h w (q p)", map[string]int{"p": 6, "q": 2})
		}},
		{"EinRepeat", func(x *tensor.Tensor) *tensor.Tensor { return x.EinRepeat("h w -> (w 2) h (3 1)", nil) }},
		{"EinReduce", func(x *tensor.Tensor) *tensor.Tensor {
			return x.PadTo(-1, 36).EinReduce("h (w p q) -> q w", (*tensor.Tensor).Max, map[string]int{"p": 2, "q": 3})
		}},
		{"ShrinkTo", func(x *tensor.Tensor) *tensor.Tensor { return x.ShrinkTo(-1, 3) }},
		{"USum", func(x *tensor.Tensor) *tensor.Tensor { return tensor.USum(x, x.At(0), 3) }},
		{"AnyKeep", func(x *tensor.Tensor) *tensor.Tensor { return x.Gt(3).AnyKeep(1) }},
		{"ArgMaxKeep", func(x *tensor.Tensor) *tensor.Tensor { return x.ArgMaxKeep(0) }},
		{"NonZeroSized", func(x *tensor.Tensor) *tensor.Tensor { return x.Maximum(0).NonZeroSized(40, -1) }},
		{"MaskedSelectSized", func(x *tensor.Tensor) *tensor.Tensor { return x.MaskedSelectSized(x.Gt(1), 40, -9) }},
		{"Unpack4", func(x *tensor.Tensor) *tensor.Tensor { return x.To(dtype.I32).To(dtype.U8).Unpack4(dtype.I8) }},
		{"Pack4", func(x *tensor.Tensor) *tensor.Tensor { return x.To(dtype.I32).PadTo(-1, 34).Pack4() }},
		{"uneven MaxPool", func(x *tensor.Tensor) *tensor.Tensor {
			return x.MaxPool(tensor.Pool{Size: []int{3, 2}, Stride: []int{2, 1}, Padding: []int{2, 0, 1, 1}})
		}},
		{"same SumPool", func(x *tensor.Tensor) *tensor.Tensor {
			return x.SumPool(tensor.Pool{Size: []int{2, 4}, Stride: []int{2, 3}, Same: true})
		}},
		{"same Conv2D", func(x *tensor.Tensor) *tensor.Tensor {
			w := tensor.Arange(8).Sub(3).To(x.DType()).Reshape(1, 1, 2, 4)
			return x.Unsqueeze(0).Unsqueeze(0).Conv2D(w, nil, tensor.Conv{Same: true, Dilations: []int{1, 2}})
		}},
		{"Meshgrid", func(x *tensor.Tensor) *tensor.Tensor {
			g := tensor.Meshgrid(x.At(0), x.At(tensor.R(0, -1), 0))
			return g[0].Add(g[1])
		}},
	}
	for _, f := range functions {
		for _, shape := range [][]int{{7, 5}, {3, 33}, {17, 16}, {65, 9}} {
			for _, d := range []dtype.DType{dtype.F32, dtype.I32} {
				s.one(fmt.Sprintf("%s %v %v", strings.ReplaceAll(f.name, " ", "-"), d.Short(), shape), tolerance["reduce"], func(in *Inputs) *uop.UOp {
					return f.f(in.view(d, Exact, shape...)).Node()
				})
			}
		}
	}
}

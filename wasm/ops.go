package main

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/wasm/wire"
)

type (
	one  = *tensor.Tensor
	some = []*tensor.Tensor
)

// operations are what a page can do with tensors, by their name in JavaScript. The first argument is the tensor that
// the method was called on.
var operations = map[string]func(c *call) some{}

func init() {
	for _, o := range unary {
		operations[o.name] = func(c *call) some { return some{o.f(c.tensor())} }
	}
	for _, o := range pairwise {
		operations[o.name] = func(c *call) some { x := c.tensor(); return some{o.f(x, c.operand())} }
	}
	for _, o := range reductions {
		operations[o.name] = func(c *call) some {
			x := c.tensor()
			axes, keep, _ := c.axes()
			if keep {
				return some{o.keep(x, axes...)}
			}
			return some{o.f(x, axes...)}
		}
	}
	for _, o := range others {
		operations[o.name] = o.f
	}
}

// unary take the tensor and nothing else.
var unary = []struct {
	name string
	f    func(one) one
}{
	{"neg", one.Neg}, {"abs", one.Abs}, {"sign", one.Sign}, {"square", one.Square}, {"reciprocal", one.Reciprocal},
	{"sqrt", one.Sqrt}, {"rsqrt", one.Rsqrt}, {"exp", one.Exp}, {"exp2", one.Exp2}, {"expm1", one.Expm1},
	{"log", one.Log}, {"log2", one.Log2}, {"log10", one.Log10}, {"log1p", one.Log1p},
	{"sin", one.Sin}, {"cos", one.Cos}, {"tan", one.Tan}, {"asin", one.Asin}, {"acos", one.Acos}, {"atan", one.Atan},
	{"sinh", one.Sinh}, {"cosh", one.Cosh}, {"tanh", one.Tanh}, {"asinh", one.Asinh}, {"acosh", one.Acosh},
	{"relu", one.ReLU}, {"relu6", one.ReLU6}, {"sigmoid", one.Sigmoid}, {"logSigmoid", one.LogSigmoid},
	{"silu", one.SiLU}, {"gelu", one.GELU}, {"geluTanh", one.GELUTanh}, {"selu", one.SELU}, {"mish", one.Mish},
	{"softsign", one.Softsign}, {"hardSigmoid", one.HardSigmoid}, {"hardSwish", one.HardSwish},
	{"floor", one.Floor}, {"ceil", one.Ceil}, {"round", one.Round}, {"trunc", one.Trunc},
	{"isNaN", one.IsNaN}, {"isInf", one.IsInf}, {"isFinite", one.IsFinite}, {"not", one.LogicalNot},
	{"contiguous", one.Contiguous}, {"detach", one.Detach}, {"clone", one.Clone}, {"t", one.T},
}

// pairwise take a tensor or a number besides.
var pairwise = []struct {
	name string
	f    func(one, any) one
}{
	{"add", one.Add}, {"sub", one.Sub}, {"mul", one.Mul}, {"div", one.Div}, {"floorDiv", one.FloorDiv}, {"mod", one.Mod},
	{"pow", one.Pow}, {"maximum", one.Maximum}, {"minimum", one.Minimum}, {"atan2", one.Atan2},
	{"eq", one.Eq}, {"ne", one.Ne}, {"lt", one.Lt}, {"gt", one.Gt}, {"le", one.Le}, {"ge", one.Ge},
	{"and", one.And}, {"or", one.Or}, {"xor", one.Xor},
	{"logicalAnd", one.LogicalAnd}, {"logicalOr", one.LogicalOr},
}

// reductions take axes.
var reductions = []struct {
	name    string
	f, keep func(one, ...int) one
}{
	{"sum", one.Sum, one.SumKeep}, {"prod", one.Prod, one.ProdKeep}, {"mean", one.Mean, one.MeanKeep},
	{"max", one.Max, one.MaxKeep}, {"min", one.Min, one.MinKeep},
}

// axes takes what a reduction goes over: nothing (all axes), an axis, several, or {axis, keep, correction}.
func (c *call) axes() (axes []int, keep bool, correction float64) {
	if c.taken < len(c.args) {
		if _, ok := c.args[c.taken].(wire.Record); ok {
			o := c.options().only("axis", "keep", "correction")
			return o.at("axis").integers(), o.at("keep").truth(false), o.at("correction").number(1)
		}
	}
	return c.integers(), false, 1
}

type operation struct {
	name string
	f    func(c *call) some
}

// others is everything else, in parts.
var others = join(making, movement, picking, layers, losses, more)

func join(lists ...[]operation) (all []operation) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// making makes tensors of nothing.
var making = []operation{
	{"tensor", func(c *call) some { return some{c.data()} }},
	{"full", func(c *call) some {
		shape, v := c.integers(), c.operand()
		return some{tensor.Full(v, c.options().only("dtype").at("dtype").dtype(dtype.F32), shape...)}
	}},
	{"arange", func(c *call) some {
		lo, hi, step := c.operand(), c.operand(), c.operand()
		return some{tensor.ArangeOf(c.options().only("dtype").at("dtype").dtype(dtype.I32), lo, hi, step)}
	}},
	{"linspace", func(c *call) some { return some{tensor.Linspace(c.number(0), c.number(1), c.integer(0))} }},
	{"eye", func(c *call) some { n := c.integer(0); return some{tensor.Eye(n, c.integer(n))} }},
	{"rand", func(c *call) some { return some{c.drawn(tensor.Rand)} }},
	{"randn", func(c *call) some { return some{c.drawn(tensor.Randn)} }},
	{"uniform", func(c *call) some {
		shape, lo, hi := c.integers(), c.number(0), c.number(1)
		return some{tensor.Uniform(lo, hi, shape...)}
	}},
	{"randint", func(c *call) some {
		shape, lo, hi := c.integers(), c.integer(0), c.integer(0)
		return some{tensor.RandInt(lo, hi, shape...)}
	}},
	{"kaimingUniform", func(c *call) some { shape := c.integers(); return some{tensor.KaimingUniform(c.number(0), shape...)} }},
	{"cat", func(c *call) some { ts := c.tensors(); return some{tensor.Cat(c.integer(0), ts...)} }},
	{"stack", func(c *call) some { ts := c.tensors(); return some{tensor.Stack(c.integer(0), ts...)} }},
	{"einsum", func(c *call) some { f := c.text(); return some{tensor.Einsum(f, c.tensors()...)} }},
}

func (c *call) drawn(f func(shape ...int) one) one {
	x := f(c.integers()...)
	return x.To(c.options().only("dtype").at("dtype").dtype(x.DType()))
}

// data takes a typed array, its shape and a type to convert to.
func (c *call) data() one {
	a, ok := c.next().(wire.Array)
	if !ok {
		c.fail("the elements are not a typed array")
	}
	shape := c.integers()
	from, ok := dtype.Parse(a.Type)
	if !ok {
		c.fail("there is no element type %q", a.Type)
	}
	x := tensor.FromBytes(from, shape, a.Data)
	if to := c.options().only("dtype").at("dtype").dtype(from); to != from {
		return x.To(to)
	}
	return x
}

// movement moves elements.
var movement = []operation{
	{"reshape", func(c *call) some { return some{c.tensor().Reshape(c.integers()...)} }},
	{"permute", func(c *call) some { return some{c.tensor().Permute(c.integers()...)} }},
	{"transpose", func(c *call) some { return some{c.tensor().Transpose(c.integer(-2), c.integer(-1))} }},
	{"moveAxis", func(c *call) some { return some{c.tensor().MoveAxis(c.integer(0), c.integer(0))} }},
	{"expand", func(c *call) some { return some{c.tensor().Expand(c.integers()...)} }},
	{"flip", func(c *call) some { return some{c.tensor().Flip(c.integers()...)} }},
	{"squeeze", func(c *call) some { return some{c.tensor().Squeeze(c.integers()...)} }},
	{"unsqueeze", func(c *call) some { return some{c.tensor().Unsqueeze(c.integer(0))} }},
	{"flatten", func(c *call) some { return some{c.tensor().Flatten(c.integers()...)} }},
	{"shrink", func(c *call) some { x, lo := c.tensor(), c.integers(); return some{x.Shrink(lo, c.integers())} }},
	{"pad", func(c *call) some {
		x, lo, hi := c.tensor(), c.integers(), c.integers()
		if c.given() {
			return some{x.PadWith(c.operand(), lo, hi)}
		}
		return some{x.Pad(lo, hi)}
	}},
	{"roll", func(c *call) some { x, by := c.tensor(), c.integers(); return some{x.Roll(by, c.integers())} }},
	{"repeat", func(c *call) some { return some{c.tensor().Repeat(c.integers()...)} }},
	{"tril", func(c *call) some { return some{c.tensor().Tril(c.integer(0))} }},
	{"triu", func(c *call) some { return some{c.tensor().Triu(c.integer(0))} }},
	{"diagonal", func(c *call) some { return some{c.tensor().Diagonal(c.integer(0))} }},
	{"split", func(c *call) some { x := c.tensor(); axis := c.integer(0); return x.Split(axis, c.integers()...) }},
	{"chunk", func(c *call) some { x := c.tensor(); axis := c.integer(0); return x.Chunk(axis, c.integer(1)) }},
}

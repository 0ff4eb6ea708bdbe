package lawtest

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// kind is a way to use an op that has a gradient.
type kind struct {
	name string
	op   uop.Op
	make func(g *tensors, x *uop.UOp) *uop.UOp
}

// contexts are what may stand below and above.
var contexts = []func(g *tensors, x *uop.UOp) *uop.UOp{
	(*tensors).pad, (*tensors).shrink, (*tensors).slide, (*tensors).expand, (*tensors).reshape, (*tensors).gather,
	func(g *tensors, x *uop.UOp) *uop.UOp { return x.Flip(g.axis(x)) },
	func(g *tensors, x *uop.UOp) *uop.UOp { return x.Permute(g.Perm(len(x.Shape()))...) },
	func(g *tensors, x *uop.UOp) *uop.UOp { return g.mask(x).Where(x, x.Int(0)) },
	func(g *tensors, x *uop.UOp) *uop.UOp { return g.mask(x).Where(g.other(x.Shape()), x) },
	func(g *tensors, x *uop.UOp) *uop.UOp { return x.Mul(g.other(x.Shape())) },
	func(g *tensors, x *uop.UOp) *uop.UOp { return x.Add(g.other(x.Shape())) },
	func(g *tensors, x *uop.UOp) *uop.UOp { return x.Max(g.other(x.Shape())) },
	func(g *tensors, x *uop.UOp) *uop.UOp { return g.reduce(x, uop.Sum) },
	func(g *tensors, x *uop.UOp) *uop.UOp { return g.scatter(x, uop.Sum) },
	func(g *tensors, x *uop.UOp) *uop.UOp { return x.Sin() },
	func(g *tensors, x *uop.UOp) *uop.UOp { return x.Pad(make([]int, len(x.Shape())), ones(x)).Sin() },
}

func ones(x *uop.UOp) []int {
	out := make([]int, len(x.Shape()))
	for i := range out {
		out[i] = 1
	}
	return out
}

// differentiable are the ops with gradients, each in the ways that its law tells apart.
var differentiable = []kind{
	{"reshape", uop.Reshape, with((*tensors).reshape)},
	{"permute", uop.Permute, with(func(g *tensors, x *uop.UOp) *uop.UOp { return x.Permute(g.Perm(len(x.Shape()))...) })},
	{"expand", uop.Expand, with((*tensors).expand)},
	{"flip", uop.Flip, with(func(g *tensors, x *uop.UOp) *uop.UOp { return x.Flip(g.axis(x)) })},
	{"pad", uop.Pad, with((*tensors).pad)},
	{"shrink", uop.Shrink, with((*tensors).shrink)},
	{"slide", uop.Slide, with((*tensors).slide)},
	{"neg", uop.Neg, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Neg() }},
	{"sqrt", uop.Sqrt, func(g *tensors, x *uop.UOp) *uop.UOp { return g.positive(x).Sqrt() }},
	{"exp2", uop.Exp2, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Sin().Exp2() }},
	{"log2", uop.Log2, func(g *tensors, x *uop.UOp) *uop.UOp { return g.positive(x).Log2() }},
	{"sin", uop.Sin, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Sin() }},
	{"cast", uop.Cast, func(g *tensors, x *uop.UOp) *uop.UOp {
		if g.plain {
			return x
		}
		return x.Cast(dtype.F32).Cast(dtype.F64)
	}},
	{"add", uop.Add, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Add(g.other(x.Shape())) }},
	{"add a scalar", uop.Add, func(g *tensors, x *uop.UOp) *uop.UOp { return g.leaf().Add(x) }},
	{"mul", uop.Mul, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Mul(g.other(x.Shape())) }},
	{"mul with itself", uop.Mul, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Mul(x) }},
	{"mul with a scalar", uop.Mul, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Mul(g.leaf()) }},
	{"div", uop.Div, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Div(g.positive(g.other(x.Shape()))) }},
	{"div by a scalar", uop.Div, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Div(g.positive(g.leaf())) }},
	{"max", uop.Max, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Max(g.other(x.Shape())) }},
	{"max with a constant", uop.Max, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Max(x.Float(0.25)) }},
	{"where", uop.Where, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.mask(x).Where(x, g.other(x.Shape())) })},
	{"muladd", uop.MulAdd, func(g *tensors, x *uop.UOp) *uop.UOp { return x.MulAdd(g.other(x.Shape()), g.other(x.Shape())) }},
	{"sum", uop.Reduce, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.reduce(x, uop.Sum) })},
	{"maximum", uop.Reduce, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.reduce(x, uop.MaxOf) })},
	{"product", uop.Reduce, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.reduce(x, uop.Prod) })},
	{"the maximum with its place", uop.Part, with(func(g *tensors, x *uop.UOp) *uop.UOp {
		return g.part(x, uop.ArgMax, 0, func(x *uop.UOp, axis int) []*uop.UOp { return []*uop.UOp{x, places(x, axis)} })
	})},
	{"the maximum of a sum of powers", uop.Part, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.powers(x, 0) })},
	{"a sum of powers", uop.Part, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.powers(x.Sin(), 1) })},
	{"mean", uop.Part, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.moment(x, 1) })},
	{"squared deviations", uop.Part, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.moment(x, 2) })},
	{"running sum", uop.Scan, with(func(g *tensors, x *uop.UOp) *uop.UOp { return x.Scan(uop.Sum, g.axis(x)) })},
	{"running product", uop.Scan, with(func(g *tensors, x *uop.UOp) *uop.UOp { return x.Scan(uop.Prod, g.axis(x)) })},
	{"running maximum", uop.Scan, with(func(g *tensors, x *uop.UOp) *uop.UOp { return x.Scan(uop.MaxOf, g.axis(x)) })},
	{"the product of a linear recurrence", uop.Part, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.recurrence(x, g.other(x.Shape()), 0) })},
	{"a linear recurrence of factors", uop.Part, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.recurrence(x, g.other(x.Shape()), 1) })},
	{"a linear recurrence of terms", uop.Part, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.recurrence(g.other(x.Shape()), x, 1) })},
	{"gather", uop.Gather, with((*tensors).gather)},
	{"scatter sum", uop.Scatter, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.scatter(x, uop.Sum) })},
	{"scatter last", uop.Scatter, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.scatter(x, uop.Last) })},
	{"scatter maximum", uop.Scatter, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.scatter(x, uop.MaxOf) })},
	{"scatter product", uop.Scatter, with(func(g *tensors, x *uop.UOp) *uop.UOp { return g.scatter(x, uop.Prod) })},
	{"contiguous", uop.Contiguous, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Contiguous() }},
	{"a stated derivative", uop.Detach, func(g *tensors, x *uop.UOp) *uop.UOp { return x.Mul(x).Derive(x, x.Mul(x.Int(2))) }},
}

// with gives a scalar axes first.
func with(f func(g *tensors, x *uop.UOp) *uop.UOp) func(g *tensors, x *uop.UOp) *uop.UOp {
	return func(g *tensors, x *uop.UOp) *uop.UOp { return f(g, g.axes(x)) }
}

// places numbers the elements along an axis.
func places(x *uop.UOp, axis int) *uop.UOp {
	at := ones(x)
	at[axis] = x.Shape()[axis]
	return uop.NewIota(at[axis]).Cast(dtype.I32).Reshape(at...).Expand(x.Shape()...)
}

func (g *tensors) powers(x *uop.UOp, part int) *uop.UOp {
	return g.part(x, uop.SumExp, part, func(x *uop.UOp, _ int) []*uop.UOp { return []*uop.UOp{x, g.other(x.Shape())} })
}

func (g *tensors) moment(x *uop.UOp, part int) *uop.UOp {
	return g.part(x, uop.Moments, part, func(x *uop.UOp, _ int) []*uop.UOp {
		return []*uop.UOp{x.Int(1).Reshape(ones(x)...).Expand(x.Shape()...), x, x.Int(0)}
	})
}

func (g *tensors) recurrence(a, b *uop.UOp, part int) *uop.UOp {
	return a.Home().ScanParts(uop.Linear, g.axis(a), a, b).Part(part)
}

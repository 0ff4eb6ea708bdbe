package grad

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// law gives the gradient of each operand of u from that of u; nil where there is none.
type law func(u, g *uop.UOp) []*uop.UOp

// none marks ops without a gradient: leaves, integers, comparisons, and what only kernels contain.
func none(*uop.UOp, *uop.UOp) []*uop.UOp { return nil }

type grads = []*uop.UOp

// laws is keyed by op; a test reports missing rows. What works on each element and has no law here has no derivative, or the derivative 0.
var laws = [uop.NumOps]law{
	uop.Const: none, uop.Buffer: none, uop.Param: none, uop.Var: none, uop.Range: none, uop.Reg: none,

	uop.Reshape: func(u, g *uop.UOp) grads { return grads{g.Reshape(u.At(0).Shape()...)} },
	uop.Permute: func(u, g *uop.UOp) grads { return grads{g.Permute(inverse(ints(u))...)} },
	uop.Expand:  func(u, g *uop.UOp) grads { return grads{shrinkTo(g, u.At(0).Shape())} },
	uop.Flip:    func(u, g *uop.UOp) grads { return grads{g.Flip(ints(u)...)} },
	uop.Pad: func(u, g *uop.UOp) grads {
		lo := u.Arg().(uop.PadArg).Lo.Slice()
		hi := slices.Clone(u.At(0).Shape())
		for i := range hi {
			hi[i] += lo[i]
		}
		return grads{g.Shrink(lo, hi)}
	},
	uop.Shrink: func(u, g *uop.UOp) grads {
		a := u.Arg().(uop.PadArg)
		hi := slices.Clone(u.At(0).Shape())
		for i := range hi {
			hi[i] -= a.Hi.At(i)
		}
		return grads{g.Pad(a.Lo.Slice(), hi)}
	},
	uop.Slide: func(u, g *uop.UOp) grads {
		a := u.Arg().(uop.SlideArg)
		return grads{g.Slide(a.Axis, a.By, -a.Step, -a.Lo, u.At(0).Shape()[a.Axis])}
	},

	uop.Neg:  func(u, g *uop.UOp) grads { return grads{g.Neg()} },
	uop.Sqrt: func(u, g *uop.UOp) grads { return grads{g.Mul(g.Float(0.5)).Div(u)} },
	uop.Exp2: func(u, g *uop.UOp) grads { return grads{g.Mul(u).Mul(g.Float(math.Ln2))} },
	uop.Log2: func(u, g *uop.UOp) grads { return grads{g.Div(u.At(0)).Mul(g.Float(math.Log2E))} },
	uop.Sin: func(u, g *uop.UOp) grads { // cos x = 1 − 2 sin²(x/2)
		s := u.At(0).Mul(g.Float(0.5)).Sin()
		return grads{g.Mul(g.Int(1).Sub(s.Mul(s).Mul(g.Int(2))))}
	},
	uop.Cast: func(u, g *uop.UOp) grads { return grads{g.Cast(u.At(0).DType())} },

	uop.Add: func(u, g *uop.UOp) grads { return grads{g, g} },
	uop.Mul: func(u, g *uop.UOp) grads { return grads{times(g, u.At(1)), times(g, u.At(0))} },
	uop.Div: func(u, g *uop.UOp) grads { return grads{g.Div(u.At(1)), g.Mul(u).Div(u.At(1)).Neg()} },
	uop.Max: func(u, g *uop.UOp) grads { // a tie shares; with a NaN no operand is less, and both have all
		x, y := u.At(0), u.At(1)
		zero, half := g.Int(0), g.Mul(g.Float(0.5))
		tie := x.Equal(y)
		return grads{tie.Where(half, x.Less(y).Where(zero, g)), tie.Where(half, y.Less(x).Where(zero, g))}
	},
	uop.Where: func(u, g *uop.UOp) grads {
		return grads{nil, u.At(0).Where(g, g.Int(0)), u.At(0).Where(g.Int(0), g)}
	},
	uop.MulAdd: func(u, g *uop.UOp) grads { return grads{times(g, u.At(1)), times(g, u.At(0)), g} },

	uop.Reduce: reduce,
	uop.Part:   part,
	uop.Scan:   scan,

	uop.ArgSort: none,

	uop.Gather: func(u, g *uop.UOp) grads {
		x, index := u.At(0), u.At(1)
		if x.Sizes() == nil { // what does not count adds 0 to the first element
			for axis := range index.Shape() {
				index, g = index.Only(0, axis), g.Only(0, axis)
			}
		}
		return grads{zeros(g, x.Shape()).Scatter(index, g, u.Arg().(uop.AxisArg).Axis, uop.Sum), nil}
	},
	uop.Scatter:    scatter,
	uop.Load:       none,
	uop.Store:      none,
	uop.After:      after,
	uop.Contiguous: func(u, g *uop.UOp) grads { return grads{g} },
	uop.Copy: func(u, g *uop.UOp) grads {
		from := deviceOf(u.At(0))
		if from == "" || from == u.Arg().(uop.DeviceArg).Device { // nothing comes from elsewhere: it is only cut
			return grads{g}
		}
		return grads{g.Copy(from)}
	},
	uop.Check: func(u, g *uop.UOp) grads { // the gradient is no better than the value
		return grads{g.Check(u.At(1), u.Arg().(uop.CheckArg)), nil}
	},
	uop.Extent: func(u, g *uop.UOp) grads { // what does not count has no share, whatever it is
		a := u.Arg().(uop.ExtentArg)
		if a.Size.Varies() && !g.Varies(a.Axis) {
			g = uop.Within(a.Axis, u.Shape(), a.Size).Where(g, g.Int(0))
		}
		return grads{g.Only(0, a.Axis)}
	},
	uop.Detach:  detach,
	uop.Foreign: foreign,
}

// lawOf is the law of an op.
func lawOf(o uop.Op) law {
	switch o { // not in the table, which these ask
	case uop.Call:
		return called
	case uop.Loop:
		return func(u, g *uop.UOp) []*uop.UOp { return looped([]*uop.UOp{u}, []*uop.UOp{g}) }
	}
	if laws[o] == nil && o.Elementwise() {
		return none
	}
	return laws[o]
}

func ints(u *uop.UOp) []int { return u.Arg().(uop.Ints).Slice() }

func inverse(order []int) []int {
	out := make([]int, len(order))
	for i, a := range order {
		out[a] = i
	}
	return out
}

// expand spreads a scalar.
func expand(u *uop.UOp, shape uop.Shape) *uop.UOp {
	s := make([]int, len(shape))
	for i := range s {
		s[i] = 1
	}
	return u.Reshape(s...).Expand(shape...)
}

func zeros(like *uop.UOp, shape uop.Shape) *uop.UOp { return expand(like.Int(0), shape) }

// sum adds over axes, 16-bit floats in 32 bits.
func sum(u *uop.UOp, axes []int) *uop.UOp {
	if len(axes) == 0 {
		return u
	}
	d := u.DType()
	return u.Only(0, axes...).Cast(dtype.Accumulator(d)).Reduce(uop.Sum, axes...).Cast(d)
}

// shrinkTo sums the axes that an expansion made, and keeps them with size 1. A scalar gradient stands for
// the whole.
func shrinkTo(g *uop.UOp, shape uop.Shape) *uop.UOp {
	var axes []int
	for i, n := range g.Shape() {
		if shape[i] == 1 && n != 1 {
			axes = append(axes, i)
		}
	}
	return sum(g, axes).Reshape(shape...)
}

// deviceOf is where a value lies: on the device of a buffer below it, or where it was brought last.
func deviceOf(u *uop.UOp) string {
	seen := map[*uop.UOp]bool{}
	stack := []*uop.UOp{u}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch a := u.Arg().(type) {
		case uop.BufferArg:
			return a.Device
		case uop.DeviceArg:
			return a.Device
		}
		if !seen[u] {
			seen[u] = true
			stack = append(stack, u.Src()...)
		}
	}
	return ""
}

// unreduce spreads a reduced value over the axes again.
func unreduce(v, u *uop.UOp) *uop.UOp {
	in := u.At(0).Shape()
	s := slices.Clone(in)
	for _, a := range u.Arg().(uop.ReduceArg).Axes.Slice() {
		s[a] = 1
	}
	return v.Reshape(s...).Expand(in...)
}

// reduce differentiates reductions of one part.
func reduce(u, g *uop.UOp) []*uop.UOp {
	x := u.At(0)
	arg := u.Arg().(uop.ReduceArg)
	switch arg.Monoid {
	case uop.Sum:
		return grads{unreduce(g, u)}
	case uop.MaxOf: // ties share
		share := tied(x, unreduce(u, u))
		return grads{share.Mul(unreduce(g.Div(sum(share, arg.Axes.Slice())), u))}
	case uop.Prod:
		return grads{product(u, g)}
	}
	panic("BUG: no gradient for a reduction with " + arg.Monoid.String())
}

// tied is 1 where x is the maximum of those that top is taken of, and 0 elsewhere; NaN is the maximum wherever it stands.
func tied(x, top *uop.UOp) *uop.UOp { return x.Equal(top).Or(x.Equal(x).Not()).Cast(x.DType()) }

// part differentiates a part of a reduction of several.
func part(u, g *uop.UOp) []*uop.UOp {
	r, i := u.At(0), u.Arg().(uop.PartArg).I
	if r.Op() == uop.Scan {
		return scanPart(u, g)
	}
	out := make([]*uop.UOp, len(r.Src()))
	wide := unreduce(g, r)
	value := func(i int) *uop.UOp { return unreduce(r.Part(i), r) }
	arg := r.Arg().(uop.ReduceArg)
	switch arg.Monoid {
	case uop.ArgMax: // the element that was chosen
		if i == 0 {
			out[0] = r.At(1).Equal(value(1)).Where(wide, wide.Int(0))
		}
	case uop.SumExp: // m = max s, Σ f·2^(s−m): s counts in the exponent and, where it is the maximum, in m; ties share
		s := r.At(0)
		top := tied(s, value(0))
		top = top.Div(unreduce(sum(top, arg.Axes.Slice()), r))
		if i == 0 {
			out[0] = wide.Mul(top)
			break
		}
		e := s.Sub(value(0)).Exp2()
		out[0] = wide.Mul(r.At(i).Mul(e).Sub(top.Mul(value(i)))).Mul(wide.Float(math.Ln2))
		out[i] = wide.Mul(e)
	case uop.Moments: // of elements (n, x, 0): Σ n, the mean, Σ n·(x − mean)²
		w := r.At(0)
		switch i {
		case 1:
			out[1] = wide.Mul(w.Div(value(0)))
		case 2:
			out[1] = wide.Mul(w).Mul(r.At(1).Sub(value(1))).Mul(wide.Int(2))
		}
	}
	return out
}

func scatter(u, g *uop.UOp) []*uop.UOp {
	arg := u.Arg().(uop.ScatterArg)
	base, index, value := u.At(0), u.At(1), u.At(2)
	back := func(g *uop.UOp) *uop.UOp { return g.Gather(index, arg.Axis) }
	switch arg.Monoid {
	case uop.Sum:
		return grads{g, nil, back(g)}
	case uop.Last:
		return lastWins(u, g)
	case uop.MaxOf: // whoever equals the result shares
		inBase := base.Equal(u).Cast(g.DType())
		inValue := value.Equal(back(u)).Cast(g.DType())
		n := inBase.Scatter(index, inValue, arg.Axis, uop.Sum)
		share := g.Div(n)
		return grads{inBase.Mul(share), nil, inValue.Mul(back(share))}
	case uop.Prod:
		return scatterProduct(u, g)
	}
	panic("BUG: no gradient for a scatter with " + arg.Monoid.String())
}

// lastWins finds which value was written last at each place by scattering the positions of the
// values: the gradient goes to it, and to the base where nothing was written.
func lastWins(u, g *uop.UOp) []*uop.UOp {
	axis := u.Arg().(uop.ScatterArg).Axis
	index := u.At(1)
	s := index.Shape()
	n := make([]int, len(s))
	for i := range n {
		n[i] = 1
	}
	n[axis] = s[axis]
	pos := uop.NewIota(s[axis]).Cast(dtype.I32).Reshape(n...).Expand(s...)
	untouched := expand(pos.Int(-1), u.Shape())
	winner := untouched.Scatter(index, pos, axis, uop.Last)
	wins := winner.Gather(index, axis).Equal(pos)
	return grads{winner.Less(winner.Int(0)).Where(g, g.Int(0)), nil, wins.Where(g.Gather(index, axis), g.Int(0))}
}

// after differentiates an assignment of a whole buffer: only the value counts.
func after(u, g *uop.UOp) []*uop.UOp {
	store := u.At(1)
	if store.At(0).Shape().Numel() != u.Shape().Numel() {
		panic("BUG: no gradient for an assignment to a part of a buffer")
	}
	return grads{nil, g.Reshape(store.At(1).Shape()...)}
}

// times is g·x. The gradient of a sum is 1 for each element, and 1·x is x, which is there already, while a product is computed and stored. A factor
// that is repeated, as in a product of matrices, stays one of a product.
func times(g, x *uop.UOp) *uop.UOp {
	one := g
	for one.Op() == uop.Expand || one.Op() == uop.Reshape {
		one = one.At(0)
	}
	if one != g.Int(1) {
		return g.Mul(x)
	}
	for u := x; u.Op().IsMovement(); u = u.At(0) {
		if u.Op() == uop.Expand || u.Op() == uop.Slide {
			return g.Mul(x)
		}
	}
	return x
}

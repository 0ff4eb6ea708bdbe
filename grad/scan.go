package grad

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// scan differentiates running reductions of one part.
func scan(u, g *uop.UOp) []*uop.UOp {
	x, a := u.At(0), u.Arg().(uop.ScanArg)
	switch a.Monoid {
	case uop.Sum:
		return grads{g.Flip(a.Axis).Scan(uop.Sum, a.Axis).Flip(a.Axis)}
	case uop.Prod: // what comes before an element times what comes after it, without a division
		return grads{previous(u, a.Axis, 1).Mul(backwards(x, g, a.Axis))}
	case uop.MaxOf:
		return grads{toLast(x, u, g, a.Axis)}
	}
	panic("BUG: no gradient for a scan with " + a.Monoid.String())
}

// scanPart differentiates a part of a scan of several: with Linear y = a·y′ + b, y′ being the y before.
func scanPart(u, g *uop.UOp) []*uop.UOp {
	s, i := u.At(0), u.Arg().(uop.PartArg).I
	arg := s.Arg().(uop.ScanArg)
	if arg.Monoid != uop.Linear {
		panic("BUG: no gradient for a scan with " + arg.Monoid.String())
	}
	first := 1 - i // the product begins with 1, the sum with 0
	back := backwards(s.At(0), g, arg.Axis)
	out := grads{previous(u, arg.Axis, first).Mul(back), nil}
	if i == 1 {
		out[1] = back
	}
	return out
}

// backwards is what elements count for all that comes after them, t = g + a″·t″, a″ and t″ being those of the next one.
func backwards(a, g *uop.UOp, axis int) *uop.UOp {
	n := a.Shape()[axis]
	lo, hi := make([]int, len(a.Shape())), make([]int, len(a.Shape()))
	next := a
	if n > 0 {
		lo[axis], hi[axis] = 1, 1
		next = a.Shrink(lo, a.Shape()).Pad(make([]int, len(lo)), hi)
	}
	return g.Home().ScanParts(uop.Linear, axis, next.Flip(axis), g.Flip(axis)).Part(1).Flip(axis)
}

// previous is u moved on by one along an axis, with a number in the first place.
func previous(u *uop.UOp, axis, first int) *uop.UOp {
	shape := u.Shape()
	if shape[axis] == 0 {
		return u
	}
	lo, hi := make([]int, len(shape)), slices.Clone(shape)
	hi[axis]--
	last := u.Shrink(lo, hi)
	none := make([]int, len(shape))
	lo[axis] = 1
	moved := last.Pad(lo, none)
	if first == 0 {
		return moved
	}
	return places(shape, axis).Equal(uop.NewInt(dtype.I32, 0)).Where(u.Int(first), moved)
}

// places counts along an axis.
func places(shape uop.Shape, axis int) *uop.UOp {
	ones := slices.Repeat([]int{1}, len(shape))
	ones[axis] = shape[axis]
	return uop.NewIota(shape[axis]).Cast(dtype.I32).Reshape(ones...).Expand(shape...)
}

// toLast gives the gradient of a running maximum to the last element that it was up to each place.
func toLast(x, top, g *uop.UOp, axis int) *uop.UOp {
	return zeros(g, x.Shape()).Scatter(lastTop(x, top, axis), g, axis, uop.Sum)
}

package tensor

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// ValueError says that a value makes no sense: an index outside its axis, a class that does not exist, a singular matrix.
// Such values are found on the device, while it computes; the error comes to who reads a value that depends on them (Data,
// Item, ToList …). engine.Options.Unchecked turns that off: then an index outside reads 0 and writes nothing, no class is
// found, and the inverse of a singular matrix is not finite.
type ValueError = engine.ValueError

// within is an index that is checked to be from lo to n−1. what names it, as "index" or "class", and where says of what it is one.
// An index that is inside by the way it is made needs no check; one that is outside in any case fails now.
func within(op, what string, index *uop.UOp, lo, n int, where string) *uop.UOp {
	code := outside(op, what, index, lo, n, where, nil)
	if code == nil {
		return index
	}
	return index.Check(code, checkOf(op, what, lo, n, where))
}

func checkOf(op, what string, lo, n int, where string) uop.CheckArg {
	return uop.CheckArg{Op: asCalled(op), Reason: what + " %d is out of range for " + where, At: caller(), Lo: lo, N: n}
}

// outside is the code of an index that should be from lo to n−1 where counts (nil: everywhere) is true, or nil if it surely is.
func outside(op, what string, index *uop.UOp, lo, n int, where string, counts *uop.UOp) *uop.UOp {
	if index.Shape().Numel() == 0 {
		return nil
	}
	if n == 0 && counts == nil {
		fail(op, shapes(index.Shape()), "no %s is in range for %s", what, where)
	}
	least, most := interval(index)
	if least >= lo && most < n {
		return nil
	}
	if counts == nil && (most < lo || least >= n) {
		bad := least
		if most < lo {
			bad = most
		}
		fail(op, shapes(index.Shape()), "%s %d is out of range for %s", what, bad, where)
	}
	if counts == nil {
		return repeated(index).OutsideCode(uop.CheckArg{Lo: lo, N: n})
	}
	code := index.OutsideCode(uop.CheckArg{Lo: lo, N: n})
	return counts.Where(code, code.Int(0))
}

// repeated is what u repeats the elements of, in some order; u itself where it does not, or the number of times varies.
func repeated(u *uop.UOp) *uop.UOp {
	x := u
	for x.Op() == uop.Reshape || x.Op() == uop.Permute || x.Op() == uop.Expand {
		x = x.At(0)
	}
	if u.Sizes() != nil || x.Shape().Numel() == u.Shape().Numel() {
		return u
	}
	return x
}

// indexWithin is an index of an axis of n that is checked; with wrap, −n … −1 count from its end.
func indexWithin(op string, index *uop.UOp, axis, n int, wrap bool) *uop.UOp {
	lo := 0
	if wrap {
		lo = -n
	}
	index = within(op, "index", index, lo, n, fmt.Sprintf("axis %d of size %d", axis, n))
	if wrap {
		return wrapped(index, n)
	}
	return index
}

// unlessBad is t, a result for matrices of, which is right where none of bad, whose last axis counts from 1, is true. Matrices
// that are not finite are never bad: nothing is known of them, and they give what arithmetic gives.
func (t *Tensor) unlessBad(op, reason string, of, bad *Tensor) *Tensor {
	if bad.Numel() == 0 {
		return t
	}
	n := bad.Dim(-1)
	first := bad.Where(arange(n).RSub(n), 0).To(dtype.I32).Max(-1) // n for the first, 1 for the last
	found := first.Gt(0).And(of.Detach().IsFinite().All(-2, -1))
	code := found.Where(first.RSub(n+1), 0).To(dtype.I32)
	return t.like(t.node().Check(code.node(), uop.CheckArg{Op: asCalled(op), Reason: reason, At: caller(), N: 1}))
}

// intervalSteps bounds how much of a graph interval looks at.
const intervalSteps = 64

// interval is one that holds all elements of an integer node: the numbers of its type, or fewer where its graph
// says so.
func interval(u *uop.UOp) (lo, hi int) {
	steps := intervalSteps
	return intervalOf(u, &steps)
}

func intervalOf(u *uop.UOp, steps *int) (lo, hi int) {
	lo, hi = typeInterval(u.DType())
	if *steps--; *steps < 0 {
		return lo, hi
	}
	a, b := lo, hi
	switch u.Op() {
	case uop.Const:
		v := int(u.Arg().(uop.ConstArg).Value.Int())
		a, b = v, v
	case uop.Range:
		a, b = 0, u.Arg().(uop.RangeArg).N-1
	case uop.Reshape, uop.Permute, uop.Expand, uop.Shrink, uop.Flip, uop.Contiguous, uop.Check:
		a, b = intervalOf(u.At(0), steps)
	case uop.Pad, uop.Gather: // zeros outside
		a, b = intervalOf(u.At(0), steps)
		a, b = min(a, 0), max(b, 0)
	case uop.Cast:
		if u.At(0).DType().IsInt() || u.At(0).DType() == dtype.Index {
			a, b = intervalOf(u.At(0), steps)
		}
	case uop.Max:
		a, b = intervalOf(u.At(0), steps)
		c, d := intervalOf(u.At(1), steps)
		a, b = max(a, c), max(b, d)
	case uop.Xor: // the complement of all bits, of which a minimum is made
		if u.At(1).Op() == uop.Const && u.At(1).IsConst(-1) {
			a, b = intervalOf(u.At(0), steps)
			a, b = -1-b, -1-a
		}
	case uop.Mod: // has the sign of the divisor
		if n, ok := u.At(1).ConstInt(); ok && n > 0 {
			a, b = 0, n-1
		}
	case uop.And:
		if n, ok := u.At(1).ConstInt(); ok && n >= 0 {
			a, b = 0, n
		}
	case uop.Add:
		a, b = intervalOf(u.At(0), steps)
		c, d := intervalOf(u.At(1), steps)
		a, b = addBounds(a, c), addBounds(b, d)
	case uop.Mul:
		if n, ok := u.At(1).ConstInt(); ok && n >= 0 && n < 1<<31 {
			a, b = intervalOf(u.At(0), steps)
			if a < -1<<31 || b > 1<<31 { // may wrap
				return lo, hi
			}
			a, b = a*n, b*n
		}
	case uop.Where:
		a, b = intervalOf(u.At(1), steps)
		c, d := intervalOf(u.At(2), steps)
		switch x, y := u.At(1), u.At(2); {
		case u.At(0).Op() == uop.Less && u.At(0).At(0) == y && u.At(0).At(1) == x: // the larger one
			a, b = max(a, c), max(b, d)
		case u.At(0).Op() == uop.Less && u.At(0).At(0) == x && u.At(0).At(1) == y: // the smaller one
			a, b = min(a, c), min(b, d)
		default:
			a, b = min(a, c), max(b, d)
		}
	case uop.Part:
		if r := u.At(0); r.Op() == uop.Reduce && r.Arg().(uop.ReduceArg).Monoid == uop.ArgMax {
			a, b = intervalOf(r.At(u.Arg().(uop.PartArg).I), steps)
		}
	}
	if a < lo || b > hi { // it may wrap
		return lo, hi
	}
	return a, b
}

// addBounds adds without wrapping.
func addBounds(a, b int) int {
	if a > 0 && b > math.MaxInt-a {
		return math.MaxInt
	}
	if a < 0 && b < math.MinInt-a {
		return math.MinInt
	}
	return a + b
}

func typeInterval(d dtype.DType) (lo, hi int) {
	switch {
	case d.Bits() >= 64 || d == dtype.Index || !d.IsInt():
		return math.MinInt, math.MaxInt
	case d.IsUnsigned():
		return 0, 1<<d.Bits() - 1
	}
	return -1 << (d.Bits() - 1), 1<<(d.Bits()-1) - 1
}

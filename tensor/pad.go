package tensor

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// PadMode says what stands outside a padded tensor.
type PadMode uint8

// The modes of PadMode.
const (
	Zero      PadMode = 0 // zeros
	Reflect   PadMode = 1 // mirrored at the edge, which is not repeated
	Replicate PadMode = 2 // the edge repeated
	Circular  PadMode = 3 // the other end
)

// Pad puts zeros before (lo) and after (hi) each axis; negative numbers take away. Short lists are for
// the last axes.
func (t *Tensor) Pad(lo, hi []int) *Tensor { return t.PadWith(0, lo, hi) }

// PadWith is Pad with a number instead of zero.
func (t *Tensor) PadWith(v any, lo, hi []int) *Tensor {
	lo, hi = t.pads("Pad", lo, hi)
	c := toOperand("Pad", v)
	if c.t != nil {
		failType("Pad", nil, "the value must be a number")
	}
	value, _ := c.as(t.DType()).ConstValue()
	u := t.node()
	for a, n := range t.shape() {
		if uop.Plus(uop.Plus(n, lo[a]), hi[a]) < 0 {
			fail("Pad", shapes(t.shape()), "axis %d of size %d is taken away %d and %d", a, n, -lo[a], -hi[a])
		}
		u = padAxis(u, a, lo[a], hi[a], value)
	}
	return t.like(u)
}

// padAxis crops where a number is negative.
func padAxis(u *uop.UOp, a, lo, hi int, v uop.Value) *uop.UOp {
	n := u.Shape()[a]
	u = fill(u, a, max(lo, 0), max(hi, 0), v)
	if lo < 0 || hi < 0 {
		from := max(-lo, 0)
		u = cut(u, a, from, from+n+lo+hi)
	}
	return u
}

// pads makes lists as long as the rank.
func (t *Tensor) pads(op string, lo, hi []int) (l, h []int) {
	if len(lo) != len(hi) || len(lo) > t.Rank() {
		fail(op, shapes(t.shape()), "%d and %d paddings", len(lo), len(hi))
	}
	zeros := make([]int, t.Rank()-len(lo))
	return slices.Concat(zeros, lo), slices.Concat(zeros, hi)
}

// PadMode is Pad with elements of the tensor itself.
func (t *Tensor) PadMode(m PadMode, lo, hi []int) *Tensor {
	if m == Zero {
		return t.Pad(lo, hi)
	}
	lo, hi = t.pads("PadMode", lo, hi)
	u := t.node()
	for a := range lo {
		if lo[a] == 0 && hi[a] == 0 {
			continue
		}
		l, h, n := max(lo[a], 0), max(hi[a], 0), u.Shape()[a]
		crop := func(n int) {
			if uop.Plus(uop.Plus(n, lo[a]-l), hi[a]-h) < 0 {
				fail("PadMode", shapes(t.shape()), "axis %d of size %d is taken away %d and %d", a, t.Dim(a), l-lo[a], h-hi[a])
			}
			u = cut(u, a, l-lo[a], n+hi[a]-h)
		}
		if m == Circular { // what is left goes round
			crop(n)
			n = u.Shape()[a]
		}
		limit := n
		if m == Reflect {
			limit = n - 1
		}
		if m != Replicate && max(l, h) > limit || n == 0 {
			fail("PadMode", shapes(t.shape()), "axis %d of size %d cannot be padded by %d and %d of itself", a, n, l, h)
		}
		u = around(u, m, a, l, h)
		if m != Circular {
			crop(u.Shape()[a])
		}
	}
	return t.like(u)
}

func around(u *uop.UOp, m PadMode, a, lo, hi int) *uop.UOp {
	n := u.Shape()[a]
	edge := func(at, k int) *uop.UOp {
		s := slices.Clone(u.Shape())
		s[a] = k
		return cut(u, a, at, at+1).Expand(s...)
	}
	var before, after *uop.UOp
	switch m {
	case Reflect:
		before, after = cut(u, a, min(1, n), min(1, n)+lo).Flip(a), cut(u, a, n-1-hi, n-1).Flip(a)
	case Replicate:
		before, after = edge(0, lo), edge(n-1, hi)
	default:
		before, after = cut(u, a, n-lo, n), cut(u, a, 0, hi)
	}
	return join([]*uop.UOp{before, u, after}, a, n+lo+hi)
}

// fill puts lo values before and hi after an axis.
func fill(u *uop.UOp, axis, lo, hi int, v uop.Value) *uop.UOp {
	return fillAll(u, []int{axis}, []int{lo}, []int{hi}, v)
}

// fillAll puts lo values before and hi after each of some axes. The array is extended at once, so that it is read under one condition,
// and what is chosen outside is chosen by the first axis first.
func fillAll(u *uop.UOp, axes, lo, hi []int, v uop.Value) *uop.UOp {
	in := u.Shape()
	for i, a := range axes {
		if lo[i] > 0 || hi[i] > 0 {
			u = extend(u, a, lo[i], hi[i])
		}
	}
	if v == u.Int(0).Arg().(uop.ConstArg).Value {
		return u
	}
	for i, a := range slices.Backward(axes) {
		if n := in[a]; lo[i] > 0 || hi[i] > 0 {
			at := alongAxis(uop.NewIota(lo[i]+n+hi[i]), a, u.Shape())
			u = at.Less(at.Int(lo[i])).Or(at.Less(at.Int(lo[i]+n)).Not()).Where(u.Const(v), u)
		}
	}
	return u
}

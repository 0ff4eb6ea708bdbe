package schedule

import (
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

var movedLaw = rewrite.Named("an element of what was moved is one of what it was moved from")

// through pushes an index of a movement node down to its operand: the operand's index, and the
// condition under which that element exists (nil: always; elsewhere the value is zero).
func through(t *uop.Table, u *uop.UOp, idx []*uop.UOp) (src []*uop.UOp, valid *uop.UOp) {
	in := u.At(0).Shape()
	src = make([]*uop.UOp, len(in))
	simple := func(e *uop.UOp) *uop.UOp { return symbolic.Simplify(t, e) }
	switch a := u.Arg().(type) {
	case uop.Ints:
		switch u.Op() {
		case uop.Reshape:
			return reshape(t, in, u.Shape(), idx), nil
		case uop.Permute:
			for i := range idx {
				src[a.At(i)] = idx[i]
			}
		case uop.Expand:
			copy(src, idx)
			for i, n := range in {
				if n == 1 {
					src[i] = t.Index(0)
				}
			}
		case uop.Flip:
			copy(src, idx)
			for _, ax := range a.Slice() {
				src[ax] = simple(t.Index(in[ax] - 1).Sub(idx[ax]))
			}
		}
	case uop.PadArg:
		copy(src, idx)
		for i := range in {
			lo, hi := a.Lo.At(i), a.Hi.At(i)
			if u.Op() == uop.Shrink {
				if lo != 0 {
					src[i] = simple(idx[i].Add(t.Index(lo)))
				}
				continue
			}
			if lo == 0 && hi == 0 {
				continue
			}
			src[i] = simple(idx[i].Sub(t.Index(lo)))
			valid = and(t, valid, within(t, src[i], in[i]))
		}
	case uop.SlideArg:
		copy(src, idx)
		src[a.Axis] = simple(idx[a.Axis].Add(idx[a.By].Mul(t.Index(a.Step))).Add(t.Index(a.Lo)))
		valid = within(t, src[a.Axis], in[a.Axis])
	}
	return src, valid
}

// within is 0 ≤ e < n, nil where that always holds.
func within(t *uop.Table, e *uop.UOp, n int) *uop.UOp {
	var g *uop.UOp
	lo, hi, ok := symbolic.Bounds(e)
	if !ok || lo < 0 {
		g = t.Index(-1).Less(e)
	}
	if !ok || hi >= n {
		g = and(t, g, e.Less(t.Index(n)))
	}
	return g
}

// and joins guards, of which nil is true.
func and(t *uop.Table, a, b *uop.UOp) *uop.UOp {
	switch {
	case a == nil:
		return b
	case b == nil || a == b:
		return a
	}
	return symbolic.Simplify(t, a.And(b))
}

// reshape turns an index over shape out into one over shape in. Axes are grouped where both shapes have
// equal products, so that only what is really regrouped is divided.
func reshape(t *uop.Table, in, out uop.Shape, idx []*uop.UOp) []*uop.UOp {
	src := make([]*uop.UOp, len(in))
	if in.Numel() == 0 { // never evaluated
		for i := range src {
			src[i] = t.Index(0)
		}
		return src
	}
	uop.Regrouped(in, out, func(i0, i, o0, o int) { regroup(t, in[i0:i], out[o0:o], idx[o0:o], src[i0:i]) })
	return src
}

// regroup fills src, an index over sizes in, from idx over sizes out of the same product. Where a value matters its
// index is inside, so divisions may rely on that: windows over padding stay free of them.
func regroup(t *uop.Table, in, out []int, idx, src []*uop.UOp) {
	flat := t.Index(0)
	stride := 1
	var inside *uop.UOp
	for k := len(out) - 1; k >= 0; k-- {
		if out[k] != 1 {
			inside = and(t, inside, within(t, idx[k], out[k]))
			flat = flat.Add(idx[k].Mul(t.Index(stride)))
			stride *= out[k]
		}
	}
	stride = 1
	total := uop.Shape(in).Numel()
	for k := len(in) - 1; k >= 0; k-- {
		if in[k] <= 1 {
			src[k] = t.Index(0)
			continue
		}
		e := flat.IDiv(t.Index(stride))
		if stride*in[k] < total {
			e = e.Mod(t.Index(in[k]))
		}
		if inside == nil {
			src[k] = symbolic.Simplify(t, e)
		} else {
			src[k] = symbolic.SimplifyUnder(t, inside, e)[0]
		}
		stride *= in[k]
	}
}

// linear is the row-major offset of an index.
func linear(t *uop.Table, dims []int, idx []*uop.UOp) *uop.UOp {
	flat := t.Index(0)
	stride := 1
	for k := len(dims) - 1; k >= 0; k-- {
		flat = flat.Add(idx[k].Mul(t.Index(stride)))
		stride *= dims[k]
	}
	return symbolic.Simplify(t, flat)
}

package engine

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// shift writes a Shrink or Pad: its shape is structure, where it begins on each axis is a number. With an argument for
// that it becomes a Gather at a grid that is moved by the argument, which is clamped to where the node would be in order: so
// no bound has to be tested for an element that a Shrink reads.
func (o *outliner) shift(u *uop.UOp, src []*uop.UOp) {
	a := u.Arg().(uop.PadArg)
	in, out := u.At(0).Shape(), u.Shape()
	o.w.arg(uop.MakeInts(out...))
	lo, hi := a.Lo.Slice(), a.Hi.Slice()
	moved := make([]*uop.UOp, len(in))
	for i := range in {
		if !moves(in, out, i) {
			o.fix(of(a.ID, i))
			o.w.int(lo[i])
			continue
		}
		moved[i] = o.place(place{dtype.I32, uop.Value(lo[i])}, of(a.ID, i))
		if moved[i] == nil {
			continue
		}
		lo[i], hi[i] = 0, 0
		if u.Op() == uop.Shrink {
			hi[i] = in[i]
		}
	}
	if o.table == nil {
		return
	}
	v := src[0]
	if u.Op() == uop.Shrink {
		v = v.Shrink(lo, hi)
	} else {
		v = v.Pad(lo, hi)
	}
	for i, by := range moved {
		if by == nil {
			continue
		}
		by = within(by, 0, max(in[i], out[i])-min(in[i], out[i]))
		if u.Op() == uop.Pad {
			by = by.Neg()
		}
		v = movedBy(v, i, out[i], by)
	}
	o.done[u] = v
}

// moves says whether where a Shrink or Pad begins on an axis is a number.
func moves(in, out uop.Shape, axis int) bool {
	return in[axis] != out[axis] && in[axis] != 0 && max(in[axis], out[axis]) <= math.MaxInt32
}

// within is an integer as an index from lo to hi.
func within(u *uop.UOp, lo, hi int) *uop.UOp {
	u = u.Cast(dtype.Index)
	return u.Max(u.Int(lo)).Min(u.Int(hi))
}

// movedBy is out[… i …] = v[… i + by …] on an axis of new size n, zero outside.
func movedBy(v *uop.UOp, axis, n int, by *uop.UOp) *uop.UOp {
	shape := append([]int{}, v.Shape()...)
	shape[axis] = n
	ones := make([]int, len(shape))
	for i := range ones {
		ones[i] = 1
	}
	ones[axis] = n
	return v.Gather(v.Home().Iota(n).Add(by).Reshape(ones...).Expand(shape...), axis)
}

package shard

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// gather looks up. Indices that are cut look up in a table that is whole or cut alike. A table that is cut along the axis of the lookup
// is one where each device has some rows: it finds zeros for the others, and the results of all are merged.
func (s *Spreader) gather(u *uop.UOp) (Value, error) {
	axis := u.Arg().(uop.AxisArg).Axis
	x, index := u.At(0), u.At(1)
	table, at := s.of(x), s.of(index)
	switch {
	case table.Cut == axis && at.Cut != Whole:
		return Value{}, s.fail(u, x.Shape(), axis, "where it is looked up, and the indices are cut too, along axis %d", at.Cut)
	case table.Cut == axis:
		found := make([]*uop.UOp, len(s.names))
		for i := range found {
			found[i] = bits(table.Parts[i].Gather(s.shifted(at.Parts[i], x, axis, i), axis))
		}
		merged := s.allReduce(uop.MaxOf, found)
		for i := range merged {
			merged[i] = unbits(merged[i], u.DType())
		}
		return Value{Cut: Whole, Parts: merged}, nil
	case at.Cut == axis: // each looks its own up
		if table.Cut != Whole {
			return Value{}, s.fail(u, x.Shape(), table.Cut, "and the indices along axis %d", axis)
		}
		return s.pairs(u, at.Cut, func(i int) *uop.UOp { return table.Parts[i].Gather(at.Parts[i], axis) }), nil
	}
	cut, _, by, err := s.together(u, u.Src())
	if err != nil {
		return Value{}, err
	}
	return s.pairs(u, cut, func(i int) *uop.UOp { return by[i][0].Gather(by[i][1], axis) }), nil
}

// pairs is a Value of f on each device, free if all operands of u are.
func (s *Spreader) pairs(u *uop.UOp, cut int, f func(i int) *uop.UOp) Value {
	out := Value{Cut: cut, Free: true, Parts: make([]*uop.UOp, len(s.names))}
	for _, x := range u.Src() {
		out.Free = out.Free && s.of(x).Free
	}
	for i := range out.Parts {
		out.Parts[i] = f(i)
	}
	return out
}

// shifted are indices into the rows that device i has: those of others lie outside.
func (s *Spreader) shifted(index, x *uop.UOp, axis, i int) *uop.UOp {
	if index.DType().Bits() < 32 {
		index = index.Cast(dtype.I32)
	}
	return index.Sub(index.Int(i * (x.Shape()[axis] / len(s.names))))
}

// bits are those of an element, as a number of which one device has the right one and the others 0: the maximum is the right one.
func bits(u *uop.UOp) *uop.UOp {
	if u.DType() == dtype.Bool {
		return u
	}
	word := dtype.U64
	switch u.DType().Size() {
	case 1:
		word = dtype.U8
	case 2:
		word = dtype.U16
	case 4:
		word = dtype.U32
	}
	return u.Bitcast(word)
}

func unbits(u *uop.UOp, d dtype.DType) *uop.UOp { return u.Bitcast(d) }

// scatter merges values into an array at indices. If these are cut along the axis that they run on, each device merges what it has, the
// first into the array and the others into nothing, and the results are merged.
func (s *Spreader) scatter(u *uop.UOp) (Value, error) {
	a := u.Arg().(uop.ScatterArg)
	base, index := u.At(0), u.At(1)
	b := s.of(base)
	from, _, by, err := s.together(u, u.Src()[1:])
	if err != nil {
		return Value{}, err
	}
	switch {
	case b.Cut == a.Axis && from != Whole:
		return Value{}, s.fail(u, base.Shape(), a.Axis, "where it is written, and what is written is cut too, along axis %d", from)
	case b.Cut == a.Axis:
		return s.pairs(u, b.Cut, func(i int) *uop.UOp {
			return b.Parts[i].Scatter(s.shifted(by[i][0], base, a.Axis, i), by[i][1], a.Axis, a.Monoid)
		}), nil
	case from == a.Axis && b.Cut != Whole:
		return Value{}, s.fail(u, base.Shape(), b.Cut, "and what is written along axis %d", from)
	case from == a.Axis && a.Monoid == uop.Last:
		return Value{}, s.fail(u, index.Shape(), from, "and of what is written twice the last counts")
	case from == a.Axis:
		none := spread(uop.NewConst(base.DType(), a.Monoid.Info().Identity(base.DType(), 0)), base.Shape())
		out := s.pairs(u, Whole, func(i int) *uop.UOp {
			into := none
			if i == 0 {
				into = b.Parts[0]
			}
			return into.Scatter(by[i][0], by[i][1], a.Axis, a.Monoid)
		})
		out.Parts = s.allReduce(a.Monoid, out.Parts)
		return out, nil
	}
	cut, _, by, err := s.together(u, u.Src())
	if err != nil {
		return Value{}, err
	}
	return s.pairs(u, cut, func(i int) *uop.UOp { return by[i][0].Scatter(by[i][1], by[i][2], a.Axis, a.Monoid) }), nil
}

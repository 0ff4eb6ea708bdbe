package legal

import (
	"math"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// viaF32 computes an op of narrow floats in F32 and rounds. For + − × ÷ √ that is the correctly rounded result,
// because F32 has more than twice the digits. What is one of the operands, but for its sign or its fraction, needs no rounding.
func (l *Legalizer) viaF32(v *uop.UOp) *uop.UOp {
	t, narrow := v.Home(), Asked(v)
	src := make([]*uop.UOp, len(v.Src()))
	for i, s := range v.Src() {
		src[i] = s
		if s.DType() == narrow {
			src[i] = s.Cast(dtype.F32)
		}
	}
	if v.DType() != narrow {
		return t.Make(v.Op(), v.DType(), v.Arg(), src...)
	}
	w := t.Make(v.Op(), dtype.F32, v.Arg(), src...)
	if exact := v.Op() == uop.Max || v.Op() == uop.Neg || v.Op() == uop.Trunc || v.Op() == uop.RoundEven; exact && narrow == dtype.BF16 && !l.has(uop.Cast, narrow) {
		b := w.Bitcast(dtype.U32)
		return b.Shr(b.Int(16)).Cast(narrow.Word()).Bitcast(narrow)
	}
	return w.Cast(narrow)
}

// cast takes a conversion apart into those that the target has.
func (l *Legalizer) cast(v *uop.UOp) *uop.UOp {
	x := v.At(0)
	from, to := x.DType(), v.DType()
	switch {
	case x.Op() == uop.Cast && l.within[x.At(0)] == from && to != dtype.Index: // narrowed, which took nothing away; of an index bounds are known by its type
		return x.At(0).Cast(to)
	case to == dtype.F32 && from == dtype.I32 && l.whole(x) != nil:
		return l.whole(x)
	case from.IsNarrow() && to != dtype.F32:
		return x.Cast(dtype.F32).Cast(to)
	case from.IsNarrow() && !l.has(uop.Cast, from):
		return decode(x)
	case to.IsNarrow() && from == dtype.F64:
		return roundToOdd(x).Cast(to)
	case to.IsNarrow() && from.IsInt() && from.Bits() > 16 && to.Size() == 2 && l.has(uop.Cast, dtype.F64): // float8 has no number beyond 2²⁴
		return x.Cast(dtype.F64).Cast(to)
	case to.IsNarrow() && from != dtype.F32:
		return x.Cast(dtype.F32).Cast(to)
	case to.IsNarrow() && !l.has(uop.Cast, to):
		return encode(x, to)
	case from == dtype.Bool && !l.has(uop.Cast, from):
		one := l.t.Int(to, 1)
		return x.Where(one, one.Int(0))
	case to == dtype.Bool && !l.has(uop.Cast, to):
		return x.Equal(x.Int(0)).Not()
	case !l.has(uop.Cast, from):
		panic(&Unsupported{l.target.Name, uop.Cast, from})
	case !l.has(uop.Cast, to):
		panic(&Unsupported{l.target.Name, uop.Cast, to})
	case from.IsFloat() && to.IsInt() && !l.target.Total:
		return l.clampCast(x, to)
	}
	return v
}

// clampCast clamps a float before its cast to an integer type. Where the greatest integer is no float, what
// reaches 2^bits is replaced afterwards.
func (l *Legalizer) clampCast(x *uop.UOp, to dtype.DType) *uop.UOp {
	lo, hi := uop.IntLimits(to)
	least, greatest := float64(lo.Int()), float64(hi.Int())
	if to.IsUnsigned() {
		least, greatest = 0, float64(uint64(hi))
	}
	top := x.Float(greatest) // rounds up to a power of two where it is not exact
	exact := x.DType() == dtype.F64 && to.Bits() <= 32 && to != dtype.Index || to.Bits() <= 16 && to != dtype.Index
	limit := top
	if !exact {
		v, _ := top.ConstValue()
		limit = x.Float(below(x.DType(), v.Float()))
	}
	y := x
	if least != 0 { // NaN is not above 0
		y = x.Equal(x).Where(x, x.Int(0))
	}
	bottom := x.Float(least)
	y = bottom.Less(y).Where(y, bottom)
	y = y.Less(limit).Where(y, limit)
	if to.Bits() < 32 {
		z := l.asPlain(y.Cast(dtype.I32))
		l.within[z] = to
		return l.asPlain(z.Cast(to))
	}
	r := l.asPlain(y.Cast(to))
	if !exact {
		r = x.Less(top).Or(x.Equal(x).Not()).Where(r, l.t.ConstOf(to, hi))
	}
	return r
}

// whole is the float32 of an int32 that is a float without a fraction, or that and a constant: then nothing is converted. nil: it is something else.
func (l *Legalizer) whole(n *uop.UOp) *uop.UOp {
	const exact = 1 << 22
	by := 0
	if n.Op() == uop.Add {
		c, ok := n.At(1).ConstValue()
		if !ok || codegen.Abs(int(c.Int())) > exact {
			return nil
		}
		by, n = int(c.Int()), n.At(0)
	}
	if n.Op() != uop.Cast || l.within[n] == dtype.Void {
		return nil
	}
	y := n.At(0)
	if y.DType() != dtype.F32 || !integral(y, 8) {
		return nil
	}
	return y.Add(y.Float(float64(by))) // of 0 too, which makes +0 of −0
}

// integral says that a float has no fraction, if it is finite: so many ops are looked at, one behind the other.
func integral(y *uop.UOp, most int) bool {
	if most == 0 {
		return false
	}
	switch y.Op() {
	case uop.Trunc, uop.RoundEven:
		return true
	case uop.Const:
		v, _ := y.ConstValue()
		return v.Float() == math.Trunc(v.Float())
	case uop.Cast:
		return y.At(0).DType().IsInt()
	case uop.Add, uop.Max, uop.Mul:
		return integral(y.At(0), most-1) && integral(y.At(1), most-1)
	case uop.Where:
		return integral(y.At(1), most-1) && integral(y.At(2), most-1)
	}
	return false
}

// below is the next smaller number of type d.
func below(d dtype.DType, f float64) float64 {
	if d == dtype.F32 {
		return float64(math.Nextafter32(float32(f), 0))
	}
	return math.Nextafter(f, 0)
}

// roundToOdd narrows F64 to F32 so that a second rounding, to a narrower type, is right: where digits were
// cut off, the last one that stays is made odd.
func roundToOdd(x *uop.UOp) *uop.UOp {
	s := x.Cast(dtype.F32)
	before, after := magnitude(x), magnitude(s.Cast(dtype.F64))
	b := s.Bitcast(dtype.U32)
	b = before.Less(after).Where(b.Add(b.Int(-1)).Or(b.Int(1)), b)
	b = after.Less(before).Where(b.Or(b.Int(1)), b)
	return b.Bitcast(dtype.F32)
}

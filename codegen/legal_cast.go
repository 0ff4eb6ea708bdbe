package codegen

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func isHalf(d dtype.DType) bool { return d == dtype.F16 || d == dtype.BF16 }

// viaF32 computes an op of F16 or BF16 in F32 and rounds. For + − × ÷ √ that is the correctly rounded result,
// because F32 has more than twice the digits.
func viaF32(v *uop.UOp) *uop.UOp {
	t, half := v.Home(), asked(v)
	src := make([]*uop.UOp, len(v.Src()))
	for i, s := range v.Src() {
		src[i] = s
		if s.DType() == half {
			src[i] = s.Cast(dtype.F32)
		}
	}
	if v.DType() != half {
		return t.Make(v.Op(), v.DType(), v.Arg(), src...)
	}
	return t.Make(v.Op(), dtype.F32, v.Arg(), src...).Cast(half)
}

// cast takes a conversion apart into those that the target has.
func (l *Legalizer) cast(v *uop.UOp) *uop.UOp {
	x := v.At(0)
	from, to := x.DType(), v.DType()
	switch {
	case isHalf(from) && to != dtype.F32:
		return x.Cast(dtype.F32).Cast(to)
	case isHalf(from) && !l.has(uop.Cast, from):
		return decodeHalf(x)
	case isHalf(to) && from == dtype.F64:
		return roundToOdd(x).Cast(to)
	case isHalf(to) && from.IsInt() && from.Bits() > 16 && l.has(uop.Cast, dtype.F64):
		return x.Cast(dtype.F64).Cast(to)
	case isHalf(to) && from != dtype.F32:
		return x.Cast(dtype.F32).Cast(to)
	case isHalf(to) && !l.has(uop.Cast, to):
		return encodeHalf(x, to)
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
	y := x.Equal(x).Where(x, x.Int(0))
	bottom := x.Float(least)
	y = bottom.Less(y).Where(y, bottom)
	y = y.Less(limit).Where(y, limit)
	r := l.asPlain(y.Cast(to))
	if !exact {
		r = x.Less(top).Or(x.Equal(x).Not()).Where(r, l.t.ConstOf(to, hi))
	}
	return r
}

// below is the next smaller number of type d.
func below(d dtype.DType, f float64) float64 {
	if d == dtype.F32 {
		return float64(math.Nextafter32(float32(f), 0))
	}
	return math.Nextafter(f, 0)
}

// roundToOdd narrows F64 to F32 so that a second rounding, to F16 or BF16, is right: where digits were
// cut off, the last one that stays is made odd.
func roundToOdd(x *uop.UOp) *uop.UOp {
	s := x.Cast(dtype.F32)
	before, after := magnitude(x), magnitude(s.Cast(dtype.F64))
	b := s.Bitcast(dtype.U32)
	b = before.Less(after).Where(b.Add(b.Int(-1)).Or(b.Int(1)), b)
	b = after.Less(before).Where(b.Or(b.Int(1)), b)
	return b.Bitcast(dtype.F32)
}

// encodeHalf rounds F32 to F16 or BF16 by arithmetic on bits, ties to even.
func encodeHalf(x *uop.UOp, to dtype.DType) *uop.UOp {
	b := x.Bitcast(dtype.U32)
	c := func(n int) *uop.UOp { return b.Int(n) }
	abs := b.And(c(0x7fffffff))
	isNaN := c(0x7f800000).Less(abs)
	var h *uop.UOp
	if to == dtype.BF16 {
		even := b.Shr(c(16)).And(c(1))
		h = isNaN.Where(b.Shr(c(16)).Or(c(0x40)), b.Add(even).Add(c(0x7fff)).Shr(c(16)))
	} else {
		even := abs.Shr(c(13)).And(c(1))
		normal := abs.Add(even).Add(c(0xfff - 0x38000000)).Shr(c(13))
		// Below 2^-14 the result is a multiple of 2^-24, the last place of 0.5 in F32.
		half := abs.Bitcast(dtype.F32).Add(x.Float(0.5)).Bitcast(dtype.U32).Add(c(-0x3f000000))
		h = abs.Less(c(0x38800000)).Where(half, normal)
		h = abs.Less(c(0x477ff000)).Where(h, isNaN.Where(c(0x7e00), c(0x7c00)))
		h = h.Or(b.Shr(c(16)).And(c(0x8000)))
	}
	return h.Cast(dtype.U16).Bitcast(to)
}

// decodeHalf is the exact F32 value of F16 or BF16 bits; it needs no denormal F32 numbers.
func decodeHalf(x *uop.UOp) *uop.UOp {
	h := x.Bitcast(dtype.U16).Cast(dtype.U32)
	c := func(n int) *uop.UOp { return h.Int(n) }
	if x.DType() == dtype.BF16 {
		return h.Shl(c(16)).Bitcast(dtype.F32)
	}
	abs := h.And(c(0x7fff))
	wide := abs.Shl(c(13))
	small := abs.Cast(dtype.F32)
	small = small.Mul(small.Float(1.0 / (1 << 24))).Bitcast(dtype.U32)
	large := abs.Less(c(0x7c00)).Where(wide.Add(c(112<<23)), wide.Or(c(0x7f800000)))
	r := abs.Less(c(0x400)).Where(small, large)
	return r.Or(h.And(c(0x8000)).Shl(c(16))).Bitcast(dtype.F32)
}

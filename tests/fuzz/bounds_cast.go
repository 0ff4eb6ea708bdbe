package fuzz

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func compare(op uop.Op, d dtype.DType, same bool, a, b bound) bound {
	var yes, no bool
	if d.IsFloat() {
		nan := a.nan || b.nan
		none := a.never() || b.never()
		switch {
		case op == uop.Less:
			yes, no = !nan && a.fhi() < b.flo(), none || same || a.flo() >= b.fhi()
		case same:
			yes, no = !nan, none
		default:
			yes, no = a.fixed() && b.fixed() && a.flo() == b.flo(), none || a.fhi() < b.flo() || b.fhi() < a.flo()
		}
	} else {
		if op == uop.Less {
			yes, no = less(d, a.hi, b.lo), same || !less(d, a.lo, b.hi)
		} else {
			yes = same || a.lo == a.hi && b.lo == b.hi && a.lo == b.lo
			no = !same && (less(d, a.hi, b.lo) || less(d, b.hi, a.lo))
		}
	}
	switch {
	case yes:
		return point(1)
	case no:
		return point(0)
	}
	return bound{0, 1, false}
}

func cast(from, to dtype.DType, b bound) bound {
	conv := func(v uop.Value) uop.Value { return uop.Eval(uop.Cast, from, to, v) }
	switch {
	case from == to:
		return b
	case from.IsFloat() && to == dtype.Bool:
		switch {
		case b.never() || b.flo() > 0 || b.fhi() < 0:
			return point(1)
		case !b.nan && b.flo() == 0 && b.fhi() == 0:
			return point(0)
		}
		return bound{0, 1, false}
	case from.IsFloat() && to.IsFloat():
		if b.never() {
			return b
		}
		if b.fixed() {
			if math.IsInf(b.flo(), 0) && to == dtype.F8E4M3 { // which has no infinity
				return number(conv(b.lo).Float())
			}
			if b.flo() == 0 || math.IsInf(b.flo(), 0) {
				return b
			}
			if p, ok := fits(to, b.flo()); ok {
				return p
			}
		}
		ulps := 1.0
		if to.Size() > from.Size() {
			ulps = 0
		}
		return widen(to, b.flo(), b.fhi(), b.nan, ulps, 0)
	case from.IsFloat():
		if b.never() {
			return point(0)
		}
		out := bound{conv(b.lo), conv(b.hi), false}
		if b.nan {
			out = hull(to, out, point(0))
		}
		return out
	case to.IsFloat():
		out := floats(conv(b.lo).Float(), conv(b.hi).Float(), false)
		if _, frac, _ := format(to); b.lo == b.hi && uop.Eval(uop.Cast, to, from, conv(b.lo)) == b.lo && from.Bits() <= 63 || from.Bits() <= frac {
			return out
		}
		return widen(to, out.flo(), out.fhi(), false, 1, 0)
	}
	return castInt(from, to, b)
}

// bitcast knows that the bits of floats of one sign rise or fall with them, as keys for sorting need it.
func bitcast(from, to dtype.DType, b bound) bound {
	if !b.exact(from) && from.IsFloat() && !to.IsFloat() && !b.nan && !b.never() {
		bits := func(f float64) uop.Value {
			return uop.Eval(uop.Bitcast, from, to, uop.FloatValue(from, f))
		}
		lo, hi := b.flo(), b.fhi()
		switch {
		case lo > 0:
			return bound{bits(down(from, lo)), bits(up(from, hi)), false}
		case hi < 0:
			return bound{bits(up(from, hi)), bits(down(from, lo)), false}
		}
		return unknown(to)
	}
	if !b.exact(from) || from.IsFloat() && b.never() {
		return unknown(to)
	}
	v := uop.Eval(uop.Bitcast, from, to, b.lo)
	if to.IsFloat() {
		if f := v.Float(); f == f {
			return widen(to, f, f, false, 0, 0)
		}
		return onlyNaN
	}
	return point(v)
}

// down and up are the next numbers of a type outside an interval.
func down(d dtype.DType, f float64) float64 {
	if g := uop.FloatValue(d, f).Float(); g > f {
		return g - unit(d, g)
	}
	return f
}

func up(d dtype.DType, f float64) float64 { return -down(d, -f) }

package fuzz

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// intMeaning is that of ops on integers and bools. Where all operands are known it is the table's; else it is an interval
// for the ops that indices are made of, and unknown for the rest.
func intMeaning(op uop.Op, d dtype.DType, n int) func(x [3]bound) bound {
	return func(x [3]bound) bound {
		if x[0].lo == x[0].hi && (n < 2 || x[1].lo == x[1].hi) && (n < 3 || x[2].lo == x[2].hi) {
			switch n {
			case 1:
				return point(uop.Eval(op, d, d, x[0].lo))
			case 2:
				return point(uop.Eval(op, d, d, x[0].lo, x[1].lo))
			}
			return point(uop.Eval(op, d, d, x[0].lo, x[1].lo, x[2].lo))
		}
		if d == dtype.Bool {
			return boolOp(op, x)
		}
		return intRange(op, d, x)
	}
}

// boolOp tries all values.
func boolOp(op uop.Op, x [3]bound) bound {
	seen := [2]bool{}
	for a := x[0].lo; a <= x[0].hi; a++ {
		for b := x[1].lo; b <= x[1].hi; b++ {
			seen[uop.Eval(op, dtype.Bool, dtype.Bool, a, b)&1] = true
		}
	}
	switch {
	case seen[0] && seen[1]:
		return bound{0, 1, false}
	case seen[1]:
		return point(1)
	}
	return point(0)
}

// intRange is for numbers that do not come near the limits of 32 bits.
func intRange(op uop.Op, d dtype.DType, x [3]bound) bound {
	a, b := x[0], x[1]
	minus := ^uop.Value(0)
	if d.IsUnsigned() {
		_, minus = uop.IntLimits(d)
	}
	flip := func(y bound) bound {
		return bound{uop.Eval(uop.Xor, d, d, y.hi, minus), uop.Eval(uop.Xor, d, d, y.lo, minus), false}
	}
	switch op {
	case uop.Max:
		return bound{uop.Eval(op, d, d, a.lo, b.lo), uop.Eval(op, d, d, a.hi, b.hi), false}
	case uop.Xor:
		switch {
		case b == point(minus):
			return flip(a)
		case a == point(minus):
			return flip(b)
		case !d.IsUnsigned() && b.lo == b.hi && b.lo == greatest(d) && (a.lo.Int() >= 0 || a.hi.Int() < 0):
			return bound{uop.Eval(op, d, d, a.hi, b.lo), uop.Eval(op, d, d, a.lo, b.lo), false}
		}
		return unknown(d)
	case uop.Shr:
		if b.lo == b.hi {
			return bound{uop.Eval(op, d, d, a.lo, b.lo), uop.Eval(op, d, d, a.hi, b.lo), false}
		}
		return unknown(d)
	}
	if !modest(a) || op != uop.Neg && !modest(b) || op == uop.MulAdd && !modest(x[2]) {
		if op == uop.Mod && modest(b) && b.lo == b.hi && b.lo.Int() > 0 {
			return bound{0, b.lo - 1, false}
		}
		return unknown(d)
	}
	al, ah, bl, bh := a.lo.Int(), a.hi.Int(), b.lo.Int(), b.hi.Int()
	switch op {
	case uop.Neg:
		return within(d, -ah, -al)
	case uop.Add:
		return within(d, al+bl, ah+bh)
	case uop.Mul, uop.MulAdd:
		lo, hi := min(al*bl, al*bh, ah*bl, ah*bh), max(al*bl, al*bh, ah*bl, ah*bh)
		if op == uop.MulAdd {
			lo, hi = lo+x[2].lo.Int(), hi+x[2].hi.Int()
		}
		return within(d, lo, hi)
	case uop.IDiv:
		if bl == bh && bl > 0 {
			return bound{uop.Eval(op, d, d, a.lo, b.lo), uop.Eval(op, d, d, a.hi, b.lo), false}
		}
	case uop.Mod:
		if bl == bh && bl > 0 {
			if uop.Eval(uop.IDiv, d, d, a.lo, b.lo) == uop.Eval(uop.IDiv, d, d, a.hi, b.lo) {
				return bound{uop.Eval(op, d, d, a.lo, b.lo), uop.Eval(op, d, d, a.hi, b.lo), false}
			}
			return bound{0, b.lo - 1, false}
		}
	case uop.And:
		switch {
		case al >= 0 && bl >= 0:
			return bound{0, uop.Value(min(ah, bh)), false}
		}
	case uop.Shl:
		if bl == bh && bl >= 0 && bl < 24 {
			return within(d, al<<bl, ah<<bl)
		}
	}
	return unknown(d)
}

// modest says that products of such numbers do not overflow 64 bits.
func modest(b bound) bool {
	const most = 1 << 31
	return b.lo.Int() >= -most && b.hi.Int() <= most && b.lo.Int() <= b.hi.Int()
}

// within is an interval that a type holds, or everything, since it wraps.
func within(d dtype.DType, lo, hi int64) bound {
	if least, most := uop.IntLimits(d); d != dtype.U64 && (lo < least.Int() || hi > most.Int()) || d == dtype.U64 && lo < 0 {
		return unknown(d)
	}
	return bound{uop.Value(lo), uop.Value(hi), false}
}

func castInt(from, to dtype.DType, b bound) bound {
	conv := func(v uop.Value) uop.Value { return uop.Eval(uop.Cast, from, to, v) }
	switch {
	case b.lo == b.hi:
		return point(conv(b.lo))
	case to == dtype.Bool:
		if from == dtype.U64 && b.lo > 0 || from != dtype.U64 && (b.lo.Int() > 0 || b.hi.Int() < 0) {
			return point(1)
		}
		return bound{0, 1, false}
	case from == dtype.U64 && b.hi > math.MaxInt64:
		return unknown(to)
	}
	return within(to, b.lo.Int(), b.hi.Int())
}

func greatest(d dtype.DType) uop.Value {
	_, hi := uop.IntLimits(d)
	return hi
}

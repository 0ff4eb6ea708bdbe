package codegen

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// typeBounds is what every value of an integer type or bool obeys.
func typeBounds(d dtype.DType) span {
	if d == dtype.Bool {
		return span{0, 1}
	}
	if !d.IsInt() || d == dtype.Index || d == dtype.U64 {
		return anyInt
	}
	lo, hi := uop.IntLimits(d)
	return span{int(lo.Int()), int(hi.Int())}
}

func (f *facts) boundStep(u *uop.UOp) span {
	d := u.DType()
	all := typeBounds(d)
	if d != dtype.Bool && !d.IsInt() {
		return anyInt
	}
	b := f.boundOp(u, all)
	if b.lo < all.lo || b.hi > all.hi { // it may wrap
		return all
	}
	return b
}

func (f *facts) boundOp(u *uop.UOp, all span) span {
	var s [3]span
	for i, x := range u.Src() {
		if i < 3 {
			s[i], _ = f.bounds.Get(x)
		}
	}
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		if u.DType() == dtype.U64 && v.Int() < 0 { // beyond the integers of Go
			return all
		}
		return span{int(v), int(v)}
	case uop.Range:
		return span{0, extent(u) - 1}
	case uop.Var:
		if a := u.Arg().(uop.VarArg); a.Lo != a.Hi {
			return span{a.Lo, a.Hi}
		}
	case uop.Neg:
		return span{negate(s[0].hi), negate(s[0].lo)}
	case uop.Cast:
		if from := u.At(0).DType(); from.IsInt() || from == dtype.Bool {
			return s[0]
		}
	case uop.Add:
		return span{saturate(s[0].lo, s[1].lo, plus), saturate(s[0].hi, s[1].hi, plus)}
	case uop.Mul:
		return product(s[0], s[1])
	case uop.MulAdd:
		p := product(s[0], s[1])
		return span{saturate(p.lo, s[2].lo, plus), saturate(p.hi, s[2].hi, plus)}
	case uop.IDiv:
		if c, ok := u.At(1).ConstInt(); ok && c > 0 {
			return span{floorDiv(s[0].lo, c), floorDiv(s[0].hi, c)}
		}
	case uop.Mod:
		if c, ok := u.At(1).ConstInt(); ok && c > 0 {
			if s[0].lo >= 0 && s[0].hi < c {
				return s[0]
			}
			return span{0, c - 1}
		}
	case uop.Max:
		return span{max(s[0].lo, s[1].lo), max(s[0].hi, s[1].hi)}
	case uop.And:
		if s[0].lo >= 0 && s[1].lo >= 0 {
			return span{0, min(s[0].hi, s[1].hi)}
		}
	case uop.Where:
		return span{min(s[1].lo, s[2].lo), max(s[1].hi, s[2].hi)}
	case uop.Less:
		switch {
		case s[0].hi < s[1].lo && u.At(0).DType().IsInt():
			return span{1, 1}
		case s[0].lo >= s[1].hi && u.At(0).DType().IsInt():
			return span{0, 0}
		}
	case uop.Load:
		if g, _ := f.bounds.Get(u.At(1)); g.lo == 0 { // the gate may be false
			return span{min(all.lo, 0), max(all.hi, 0)}
		}
	}
	return all
}

func plus(a, b int) int  { return a + b }
func times(a, b int) int { return a * b }

// saturate applies an operation to numbers that may be infinite (beyond bigInt).
func saturate(a, b int, op func(a, b int) int) int {
	if x := op(a, b); abs(a) < 1<<30 && abs(b) < 1<<30 {
		return x
	}
	var exact float64
	if op(2, 3) == 5 {
		exact = float64(a) + float64(b)
	} else {
		exact = float64(a) * float64(b)
	}
	switch {
	case exact >= bigInt:
		return math.MaxInt
	case exact <= -bigInt:
		return math.MinInt
	}
	return op(a, b)
}

func product(a, b span) span {
	p := [4]int{saturate(a.lo, b.lo, times), saturate(a.lo, b.hi, times), saturate(a.hi, b.lo, times), saturate(a.hi, b.hi, times)}
	return span{min(p[0], p[1], p[2], p[3]), max(p[0], p[1], p[2], p[3])}
}

func negate(a int) int {
	if a == math.MinInt {
		return math.MaxInt
	}
	return -a
}

func abs(a int) int {
	if a < 0 {
		return negate(a)
	}
	return a
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func ceilDiv(a, b int) int { return -floorDiv(-a, b) }

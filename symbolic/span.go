package symbolic

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// inf stands for "no bound"; finite bounds are smaller in magnitude.
const inf = 1 << 62

// span is an interval of integers, ends included.
type span struct{ lo, hi int }

func clamp(v int) int { return max(-inf, min(inf, v)) }

func (s span) finite() bool        { return s.lo > -inf && s.hi < inf }
func (s span) within(o span) bool  { return s.lo >= o.lo && s.hi <= o.hi }
func (s span) contains(v int) bool { return s.lo <= v && v <= s.hi }
func (s span) union(o span) span   { return span{min(s.lo, o.lo), max(s.hi, o.hi)} }
func (s span) neg() span           { return span{-s.hi, -s.lo} }
func (s span) add(o span) span     { return span{plus(s.lo, o.lo, -inf), plus(s.hi, o.hi, inf)} }
func (s span) shift(k int) span    { return s.add(span{k, k}) }
func (s span) corners(o span, f func(a, b int) int) span {
	a, b, c, d := f(s.lo, o.lo), f(s.lo, o.hi), f(s.hi, o.lo), f(s.hi, o.hi)
	return span{min(a, b, c, d), max(a, b, c, d)}
}

// plus adds two bounds of one end; unbounded is what an infinite operand gives.
func plus(a, b, unbounded int) int {
	if a <= -inf || a >= inf || b <= -inf || b >= inf {
		return unbounded
	}
	return clamp(a + b)
}

// times multiplies and saturates; 0·inf is 0.
func times(a, b int) int {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	if p/b != a || p >= inf || p <= -inf || abs(a) >= inf || abs(b) >= inf {
		if (a < 0) != (b < 0) {
			return -inf
		}
		return inf
	}
	return p
}

func abs(a int) int { return max(a, -a) }

func floorDiv(a, n int) int {
	q := a / n
	if a%n != 0 && (a < 0) != (n < 0) {
		q--
	}
	return q
}

func floorMod(a, n int) int { return a - n*floorDiv(a, n) }

// typeSpan is all values of a type; bool is 0 and 1.
func typeSpan(d dtype.DType) span {
	if d == dtype.U64 {
		return span{0, inf}
	}
	if !d.IsInt() && d != dtype.Bool {
		return span{-inf, inf}
	}
	lo, hi := uop.IntLimits(d)
	return span{clamp(int(lo.Int())), clamp(int(hi.Int()))}
}

// Bounds gives the least and greatest value that an integer or bool expression can have, as far as can be told from the
// sizes of ranges, bounds of variables and types; ok is false when one end is open. Index arithmetic is exact, other
// types wrap.
func Bounds(e *uop.UOp) (lo, hi int, ok bool) {
	s := of(e.Home()).span(e)
	return s.lo, s.hi, s.finite()
}

func (x *index) span(u *uop.UOp) span {
	return fill(&x.spans, u, hasSpan, x.spanOf)
}

func hasSpan(u *uop.UOp) bool {
	return (u.DType().IsInt() || u.DType() == dtype.Bool) && (u.Op().Elementwise() || u.Op().IsMovement())
}

func (x *index) spanOf(u *uop.UOp) span {
	all := typeSpan(u.DType())
	s := x.rawSpan(u, all)
	if u.DType() != dtype.Index && (!s.within(all) || !s.finite() && wraps[u.Op()]) {
		return all
	}
	return s
}

// wraps are the ops whose result, when it has an open end, may have wrapped around 64 bits.
var wraps = [uop.NumOps]bool{uop.Add: true, uop.Mul: true, uop.Neg: true, uop.MulAdd: true, uop.Shl: true}

func (x *index) at(u *uop.UOp, i int) span {
	v, _ := x.spans.Get(u.At(i))
	return v
}

func (x *index) rawSpan(u *uop.UOp, all span) span {
	d := u.DType()
	if !d.IsInt() && d != dtype.Bool {
		return span{-inf, inf}
	}
	if u.Op().IsMovement() {
		s := x.at(u, 0)
		if u.Op() == uop.Pad || u.Op() == uop.Slide {
			s = s.union(span{})
		}
		return s
	}
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		if d == dtype.U64 && v.Int() < 0 {
			return all
		}
		return span{clamp(int(v.Int())), clamp(int(v.Int()))}
	case uop.Range:
		return span{0, max(0, u.Arg().(uop.RangeArg).N-1)}
	case uop.Var:
		if a := u.Arg().(uop.VarArg); a.Lo != 0 || a.Hi != 0 {
			return span{a.Lo, a.Hi}
		}
	case uop.Cast:
		if from := u.At(0).DType(); from.IsInt() || from == dtype.Bool {
			if d == dtype.Bool {
				return truth(x.at(u, 0))
			}
			if s := x.at(u, 0); from != dtype.U64 || s.finite() {
				return s
			}
			return all
		}
	case uop.Neg:
		if d == dtype.Bool {
			return x.at(u, 0)
		}
		return x.at(u, 0).neg()
	case uop.Where:
		return x.at(u, 1).union(x.at(u, 2))
	}
	if d == dtype.Bool {
		return x.boolSpan(u)
	}
	if uop.Info(u.Op()).Group == uop.Binary || u.Op() == uop.MulAdd {
		return x.arithSpan(u, all)
	}
	return all
}

// truth is the span of "is not zero".
func truth(s span) span {
	switch {
	case s == span{}:
		return span{0, 0}
	case !s.contains(0):
		return span{1, 1}
	}
	return span{0, 1}
}

func (x *index) arithSpan(u *uop.UOp, all span) span {
	a, b := x.at(u, 0), x.at(u, 1)
	switch u.Op() {
	case uop.Add:
		return a.add(b)
	case uop.Mul:
		return a.corners(b, times)
	case uop.MulAdd:
		p := a.corners(b, times)
		if d := u.DType(); d != dtype.Index && !p.within(typeSpan(d)) {
			return all
		}
		return p.add(x.at(u, 2))
	case uop.IDiv:
		return divSpan(a, b)
	case uop.Mod:
		return modSpan(a, b)
	case uop.Max:
		return span{max(a.lo, b.lo), max(a.hi, b.hi)}
	case uop.And:
		switch {
		case a.lo >= 0 && b.lo >= 0:
			return span{0, min(a.hi, b.hi)}
		case a.lo >= 0:
			return span{0, a.hi}
		case b.lo >= 0:
			return span{0, b.hi}
		}
	case uop.Xor:
		if b == (span{-1, -1}) { // the complement −a−1
			return a.neg().shift(-1)
		}
	case uop.Shl:
		if b.lo == b.hi && b.lo >= 0 && b.lo < 32 && u.DType() == dtype.Index {
			return a.corners(span{1 << b.lo, 1 << b.lo}, times)
		}
	case uop.Shr:
		if b.lo == b.hi && b.lo >= 0 && b.lo < min(62, typeBits(u.DType())) {
			return divSpan(a, span{1 << b.lo, 1 << b.lo})
		}
		if a.lo >= 0 {
			return span{0, a.hi}
		}
	}
	return all
}

func typeBits(d dtype.DType) int {
	if d == dtype.Index {
		return 64
	}
	return d.Bits()
}

func divSpan(a, b span) span {
	if b.lo > 0 {
		if b.hi < inf && a.finite() {
			return a.corners(b, floorDiv)
		}
		if b.lo == b.hi {
			s := span{-inf, inf}
			if a.lo > -inf {
				s.lo = floorDiv(a.lo, b.lo)
			}
			if a.hi < inf {
				s.hi = floorDiv(a.hi, b.lo)
			}
			return s
		}
		return span{min(a.lo, 0), max(a.hi, 0)}
	}
	m := max(abs(a.lo), abs(a.hi))
	return span{-m, m}
}

func modSpan(a, b span) span {
	if b.lo == b.hi && b.lo > 0 && a.finite() && floorDiv(a.lo, b.lo) == floorDiv(a.hi, b.lo) {
		return span{floorMod(a.lo, b.lo), floorMod(a.hi, b.lo)}
	}
	s := span{min(plus(b.lo, 1, -inf), 0), max(plus(b.hi, -1, inf), 0)}
	if a.lo >= 0 && b.lo >= 0 {
		s.hi = min(s.hi, a.hi)
	}
	return s
}

func (x *index) boolSpan(u *uop.UOp) span {
	var a, b span
	if uop.Info(u.Op()).Group == uop.Binary {
		a, b = x.at(u, 0), x.at(u, 1)
	}
	switch u.Op() {
	case uop.And, uop.Mul:
		return span{min(a.lo, b.lo), min(a.hi, b.hi)}
	case uop.Or, uop.Add, uop.Max:
		return span{max(a.lo, b.lo), max(a.hi, b.hi)}
	case uop.Xor:
		if a.lo == a.hi && b.lo == b.hi {
			return span{a.lo ^ b.lo, a.lo ^ b.lo}
		}
	case uop.Less, uop.Equal:
		if d := u.At(0).DType(); d.IsInt() || d == dtype.Bool {
			return comparison(u.Op(), a, b)
		}
	}
	return span{0, 1}
}

// comparison is what bounds tell about a < b or a = b.
func comparison(o uop.Op, a, b span) span {
	if o == uop.Less {
		switch {
		case a.hi < b.lo:
			return span{1, 1}
		case a.lo >= b.hi && a.lo > -inf && b.hi < inf:
			return span{0, 0}
		}
		return span{0, 1}
	}
	switch {
	case a.lo == a.hi && a == b && a.finite():
		return span{1, 1}
	case a.hi < b.lo || b.hi < a.lo:
		return span{0, 0}
	}
	return span{0, 1}
}

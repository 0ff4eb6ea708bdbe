package fuzz

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// slack is how many units in the last place an op that rounds may be off.
const slack = 4

// format gives the exponent of the least normal number, the bits of the fraction, and the greatest number.
func format(d dtype.DType) (least, frac int, greatest float64) {
	f, _ := dtype.Finfo(d)
	return math.Ilogb(f.Normal), f.Digits - 1, f.Max
}

// unit is the unit in the last place of x.
func unit(d dtype.DType, x float64) float64 {
	least, frac, _ := format(d)
	if x == 0 || math.IsInf(x, 0) {
		return math.Ldexp(1, least-frac)
	}
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e-1, least)-frac)
}

// widen spreads an interval by so many units in the last place and an absolute error. Numbers too small to be normal may
// count as zero, numbers too large as infinite.
func widen(d dtype.DType, lo, hi float64, nan bool, ulps, more float64) bound {
	if lo > hi || lo != lo || hi != hi {
		if lo != lo || hi != hi {
			return anyNum
		}
		return onlyNaN
	}
	if !math.IsInf(lo, 0) {
		lo -= ulps*unit(d, lo) + more
	}
	if !math.IsInf(hi, 0) {
		hi += ulps*unit(d, hi) + more
	}
	return settle(d, lo, hi, nan)
}

// settle lets tiny numbers be zero and huge ones infinite.
func settle(d dtype.DType, lo, hi float64, nan bool) bound {
	least, _, top := format(d)
	tiny := math.Ldexp(1, least)
	if lo > 0 && lo < tiny || lo == 0 {
		lo = math.Copysign(0, -1)
	}
	if hi < 0 && hi > -tiny || hi == 0 {
		hi = 0
	}
	near := top * (1 - 1e-2)
	if hi > near {
		hi = inf
	}
	if lo < -near {
		lo = -inf
	}
	if lo > near {
		lo = near
	}
	if hi < -near {
		hi = -near
	}
	return floats(lo, hi, nan)
}

// fits gives the number as a point where it is one of d's that no device rounds.
func fits(d dtype.DType, f float64) (bound, bool) {
	least, _, _ := format(d)
	switch {
	case f == 0:
		return zeros, true
	case f != f, math.IsInf(f, 0), math.Abs(f) < math.Ldexp(1, least), uop.FloatValue(d, f).Float() != f:
		return bound{}, false
	}
	return number(f), true
}

func floatMeaning(op uop.Op, d dtype.DType, twice bool) func(x [3]bound) bound {
	switch op {
	case uop.Neg:
		return func(x [3]bound) bound { return negated(x[0]) }
	case uop.Sqrt:
		return func(x [3]bound) bound { return rootOf(d, x[0]) }
	case uop.Exp2:
		return func(x [3]bound) bound {
			return monotone(d, x[0], math.Exp2, -inf, 2*slack)
		}
	case uop.Log2:
		return func(x [3]bound) bound { return monotone(d, x[0], uop.BinaryLog, 0, 16) }
	case uop.Sin:
		return func(x [3]bound) bound { return sine(d, x[0]) }
	case uop.Trunc:
		return func(x [3]bound) bound {
			if x[0].never() {
				return x[0]
			}
			return settle(d, math.Trunc(x[0].flo()), math.Trunc(x[0].fhi()), x[0].nan)
		}
	case uop.RoundEven:
		return func(x [3]bound) bound {
			if x[0].never() {
				return x[0]
			}
			return settle(d, math.RoundToEven(x[0].flo()), math.RoundToEven(x[0].fhi()), x[0].nan)
		}
	case uop.Add:
		return func(x [3]bound) bound { return add(d, x[0], x[1]) }
	case uop.Mul:
		return func(x [3]bound) bound {
			p := mul(d, x[0], x[1])
			if twice && !p.never() {
				p = floats(max(p.flo(), 0), p.fhi(), x[0].nan)
			}
			return p
		}
	case uop.Div:
		return func(x [3]bound) bound { return div(d, x[0], x[1]) }
	case uop.Max:
		return func(x [3]bound) bound { return maximum(x[0], x[1]) }
	case uop.MulAdd:
		return func(x [3]bound) bound { return mulAdd(d, x[0], x[1], x[2]) }
	}
	panic("BUG: no bounds for " + op.String())
}

func negated(b bound) bound {
	if b.never() {
		return b
	}
	return floats(-b.fhi(), -b.flo(), b.nan)
}

// monotone is a rising function, NaN below least.
func monotone(d dtype.DType, b bound, f func(float64) float64, least, ulps float64) bound {
	lo, hi, nan := b.flo(), b.fhi(), b.nan
	if lo < least {
		lo, nan = least, true
	}
	if b.never() || hi < least {
		return onlyNaN
	}
	return widen(d, f(lo), f(hi), nan, ulps, 0)
}

func rootOf(d dtype.DType, b bound) bound {
	if b.fixed() {
		x := b.flo()
		if r := math.Sqrt(x); r*r == x && math.FMA(r, r, -x) == 0 {
			if p, ok := fits(d, r); ok {
				return p
			}
		}
	}
	return monotone(d, b, math.Sqrt, 0, slack)
}

func sine(d dtype.DType, b bound) bound {
	lo, hi := b.flo(), b.fhi()
	switch {
	case b.never() || lo == hi && math.IsInf(lo, 0):
		return onlyNaN
	case math.IsInf(lo, 0) || math.IsInf(hi, 0) || hi-lo > 3 || max(hi, -lo) > 1<<20:
		return floats(-1, 1, b.nan || math.IsInf(lo, 0) || math.IsInf(hi, 0))
	}
	m, r := math.Sin(lo+(hi-lo)/2), (hi-lo)/2
	s := widen(d, max(m-r, -1), min(m+r, 1), b.nan, slack, unit(d, 1)*max(1, math.Abs(hi), math.Abs(lo))/8)
	return floats(max(s.flo(), -1), min(s.fhi(), 1), s.nan)
}

// sum adds limits of intervals; what opposite infinities give is the outer one.
func sum(a, b, outer float64) float64 {
	if s := a + b; s == s {
		return s
	}
	return outer
}

// opposed says that infinities of both signs may meet.
func opposed(a, b bound) bool {
	return a.fhi() == inf && b.flo() == -inf || a.flo() == -inf && b.fhi() == inf
}

func add(d dtype.DType, a, b bound) bound {
	if a.never() || b.never() {
		return onlyNaN
	}
	if a.fixed() && b.fixed() {
		x, y := a.flo(), b.flo()
		s := x + y
		if exactSum(x, y, s) {
			if p, ok := fits(d, s); ok {
				return p
			}
		}
		if opposed(a, b) {
			return onlyNaN
		}
	}
	return widen(d, sum(a.flo(), b.flo(), -inf), sum(a.fhi(), b.fhi(), inf), a.nan || b.nan || opposed(a, b), slack, 0)
}

func exactSum(x, y, s float64) bool {
	back := s - x
	return (x-(s-back))+(y-back) == 0
}

// corner is a product of limits; 0·inf counts as 0 here, its NaN is counted elsewhere.
func corner(x, y float64) float64 {
	if p := x * y; p == p {
		return p
	}
	return 0
}

func (b bound) hasZero() bool { return b.flo() <= 0 && b.fhi() >= 0 }
func (b bound) hasInf() bool  { return b.flo() == -inf || b.fhi() == inf }

// product is the interval of exact products, and whether NaN may come of 0·inf.
func product(a, b bound) (lo, hi float64, nan bool) {
	lo, hi = inf, -inf
	for _, x := range [2]float64{a.flo(), a.fhi()} {
		for _, y := range [2]float64{b.flo(), b.fhi()} {
			p := corner(x, y)
			lo, hi = min(lo, p), max(hi, p)
		}
	}
	return lo, hi, a.hasZero() && b.hasInf() || a.hasInf() && b.hasZero()
}

func mul(d dtype.DType, a, b bound) bound {
	if a.never() || b.never() {
		return onlyNaN
	}
	lo, hi, nan := product(a, b)
	if a.fixed() && b.fixed() {
		x, y := a.flo(), b.flo()
		if nan {
			return onlyNaN
		}
		if p := x * y; !math.IsInf(p, 0) && math.FMA(x, y, -p) == 0 && (p != 0 || x == 0 || y == 0) {
			if p == 0 && a.lo == a.hi && b.lo == b.hi {
				return number(p) // the sign is known
			}
			if p, ok := fits(d, p); ok {
				return p
			}
		}
	}
	if lo == 0 && hi == 0 { // a factor is zero
		return floats(zeros.flo(), 0, a.nan || b.nan || nan)
	}
	return widen(d, lo, hi, a.nan || b.nan || nan, slack, 0)
}

func div(d dtype.DType, a, b bound) bound {
	if a.never() || b.never() {
		return onlyNaN
	}
	nan := a.nan || b.nan || a.hasZero() && b.hasZero() || a.hasInf() && b.hasInf()
	if b.hasZero() {
		if a.fixed() && b.fixed() && a.flo() == 0 {
			return onlyNaN
		}
		return floats(-inf, inf, nan)
	}
	if a.fixed() && b.fixed() {
		x, y := a.flo(), b.flo()
		if q := x / y; !math.IsInf(q, 0) && math.FMA(q, y, -x) == 0 {
			if p, ok := fits(d, q); ok {
				return p
			}
		}
	}
	lo, hi := inf, -inf
	for _, x := range [2]float64{a.flo(), a.fhi()} {
		for _, y := range [2]float64{b.flo(), b.fhi()} {
			q := x / y
			if q != q {
				return floats(-inf, inf, true)
			}
			lo, hi = min(lo, q), max(hi, q)
		}
	}
	return widen(d, lo, hi, nan, slack, 0)
}

func maximum(a, b bound) bound {
	if a.never() || b.never() {
		return onlyNaN
	}
	m := floats(max(a.flo(), b.flo()), max(a.fhi(), b.fhi()), a.nan || b.nan)
	if m.flo() == 0 && m.fhi() == 0 {
		return floats(zeros.flo(), 0, m.nan)
	}
	return m
}

// mulAdd rounds once or twice.
func mulAdd(d dtype.DType, a, b, c bound) bound {
	if a.never() || b.never() || c.never() {
		return onlyNaN
	}
	p := mul(d, a, b)
	return add(d, p, c)
}

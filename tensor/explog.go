package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Exp is e to the t.
func (t *Tensor) Exp() *Tensor { return t.float(exp) }

// exp is exp2(x·log2 e), mended: the product is rounded, which for large x costs many digits, and
// what was cut off is known exactly by a multiply-add. It is the exponent's error, so the result is
// multiplied by 1 + err·ln 2. Where the result leaves the range of the type there is nothing to mend.
func exp(x *uop.UOp) *uop.UOp {
	p, q := log2e(x)
	t := x.Mul(p)
	e := x.MulAdd(p, t.Neg()).Add(x.Mul(q))
	inside := absolute(x).Less(x.Float(expRange(x)))
	mend := inside.Where(x.Int(1).Add(e.Mul(x.Float(math.Ln2))), x.Int(1))
	v := t.Exp2().Mul(mend)
	return v.Derive(x, v)
}

// log2e is log2 e as a number of x's type and what that leaves out.
func log2e(x *uop.UOp) (hi, lo *uop.UOp) {
	hi = x.Float(math.Log2E)
	v, _ := hi.ConstValue()
	if rest := math.Log2E - v.Float(); rest != 0 {
		return hi, x.Float(rest)
	}
	return hi, x.Float(2.0355273740931033e-17) // beyond float64
}

// expRange is where e to the x neither overflows nor becomes zero.
func expRange(x *uop.UOp) float64 {
	if x.DType().Size() == 8 {
		return 700
	}
	return 87
}

// softExp is e to the x for x ≤ 0 where the absolute error counts, not the relative one.
func softExp(x *uop.UOp) *uop.UOp {
	v := x.Mul(x.Float(math.Log2E)).Exp2()
	return v.Derive(x, v)
}

// Exp2 is 2 to the t.
func (t *Tensor) Exp2() *Tensor { return t.float((*uop.UOp).Exp2) }

// Expm1 is e to the t, minus 1, without loss near 0.
func (t *Tensor) Expm1() *Tensor { return t.float(expm1) }

// expm1 is the Taylor series near 0.
func expm1(x *uop.UOp) *uop.UOp {
	terms := 11
	if x.DType().Size() == 8 {
		terms = 18
	}
	c := make([]float64, terms) // 1/(i+1)!
	f := 1.
	for i := range c {
		f /= float64(i + 1)
		c[i] = f
	}
	near := x.Mul(polynomial(x, c...))
	e := exp(x)
	v := absolute(x).Less(x.Float(0.5)).Where(near, e.Sub(x.Int(1)))
	return v.Derive(x, e)
}

// polynomial is c[0] + c[1]·x + … by pairs of neighbours, then pairs of these (Estrin, 1960): as many products and sums as Horner's rule has
// and a few more, but few that wait for each other, which is what the rule is slow by. High powers of small x would be too small for normal numbers, for
// which processors take a hundred times as long: so in 32 bits 2⁻³⁰ is added to x², a thirtieth of what rounding changes.
func polynomial(x *uop.UOp, c ...float64) *uop.UOp {
	terms := make([]*uop.UOp, len(c))
	for i, k := range c {
		terms[i] = x.Float(k)
	}
	for power := 1; len(terms) > 1; power *= 2 {
		n := (len(terms) + 1) / 2
		for i := range n {
			terms[i] = terms[2*i]
			if 2*i+1 < len(terms) {
				terms[i] = terms[2*i+1].LooseMulAdd(x, terms[i])
			}
		}
		terms = terms[:n]
		if power == 1 && len(c) > 4 && x.DType() == dtype.F32 {
			x = x.LooseMulAdd(x, x.Float(math.Ldexp(1, -30)))
		} else {
			x = x.Mul(x)
		}
	}
	return terms[0]
}

// Log is the natural logarithm; −inf for 0, NaN below.
func (t *Tensor) Log() *Tensor { return t.float(log) }

func log(x *uop.UOp) *uop.UOp {
	return x.Log2().Mul(x.Float(math.Ln2)).Derive(x, x.Int(1).Div(x))
}

// Log2 is the logarithm to base 2.
func (t *Tensor) Log2() *Tensor { return t.float((*uop.UOp).Log2) }

// Log10 is the logarithm to base 10.
func (t *Tensor) Log10() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp { return x.Log2().Mul(x.Float(math.Ln2 / math.Ln10)) })
}

// Log1p is log(1 + t) without loss near 0.
func (t *Tensor) Log1p() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp { return zeroStays(x, log1p(x)).Derive(x, x.Int(1).Div(x.Add(x.Int(1)))) })
}

// log1p adds to log(1+x) what the rounding of 1+x left out.
func log1p(x *uop.UOp) *uop.UOp {
	one := x.Int(1)
	u := x.Add(one)
	lost := x.Sub(u.Sub(one)).Div(u)
	ok := u.Less(x.Const(infinity(x.DType()))).And(u.Equal(u.Int(0)).Not())
	v := u.Log2().Mul(x.Float(math.Ln2)).Add(ok.Where(lost, u.Int(0)))
	return v.Derive(x, one.Div(u))
}

// LogAddExp is log(eᵗ + eᵛ) without overflow.
func (t *Tensor) LogAddExp(v any) *Tensor { return float2("LogAddExp", logAddExp, t, v) }

// logAddExp of equal infinities is that infinity.
func logAddExp(x, y *uop.UOp) *uop.UOp {
	m := x.Max(y)
	d := absolute(x.Sub(y))
	out := finite(m).Where(m.Add(log1p(exp(d.Neg()))), m)
	apart := finite(x.Sub(y)) // else neither is what is not chosen, nor its derivative
	s := apart.Where(sigmoid(apart.Where(x.Sub(y), x.Int(0))), y.Less(x).Where(x.Int(1), x.Equal(y).Where(x.Float(0.5), x.Int(0))))
	return out.Derive(x, s, y, s.Int(1).Sub(s))
}

// Pow is t to the v. Integers stay integers (negative exponents in a tensor give 0 but for ±1, a negative number is refused); a negative
// base with an exponent that is no integer gives NaN; anything to the 0 is 1. Bools to the power of bools are bools.
func (t *Tensor) Pow(v any) *Tensor { return power("Pow", t, v) }

// RPow is v to the t.
func (t *Tensor) RPow(v any) *Tensor { return power("RPow", v, t) }

func power(op string, x, y any) *Tensor {
	return elementwise(op, nil, func(u []*uop.UOp) *uop.UOp {
		if u[0].DType() == dtype.Bool { // false to the power of true alone is false
			return u[0].Or(u[1].Not())
		}
		if c, ok := u[1].ConstValue(); ok && u[1].DType().IsFloat() {
			if out := smallPower(u[0].Cast(dtype.Accumulator(u[0].DType())), c.Float()); out != nil {
				return out.Cast(u[0].DType())
			}
		}
		if n, ok := u[1].ConstInt(); ok && n < 0 {
			failArg(op, "an integer to the power %d is no integer; make the base a float", n)
		}
		return widely(u, powInt, pow)
	}, x, y)
}

// smallPower spells powers with a few multiplications, or gives nil.
func smallPower(x *uop.UOp, p float64) *uop.UOp {
	one := x.Int(1)
	switch p {
	case 0:
		return x.Equal(x).Where(one, one).Derive(x, x.Int(0))
	case 1:
		return x
	case 2:
		return x.Mul(x)
	case 3:
		return x.Mul(x).Mul(x)
	case 4:
		return x.Mul(x).Mul(x.Mul(x))
	case -1:
		return one.Div(x)
	case -2:
		v := one.Div(x.Mul(x))
		return v.Derive(x, v.Mul(x.Int(-2)).Div(x)) // of 0 and of what has no finite square too
	}
	return nil
}

// pow goes through logarithms of |x| and mends what they cannot say: the exponent 0, the base ±1,
// and the sign of a negative base.
func pow(x, y *uop.UOp) *uop.UOp { return powLess(x, y, 0) }

// powLess is x to the y − n. Derivatives by x are lower powers; from some order on they are quotients by x, which say the same but where
// x is 0.
func powLess(x, y *uop.UOp, n int) *uop.UOp {
	const last = 3
	zero, one := x.Int(0), x.Int(1)
	p := y
	if n > 0 {
		p = y.Sub(y.Int(n))
	}
	v, origin := powValue(x, p), x.Equal(zero)
	var lower *uop.UOp
	if n < last {
		lower = powLess(x, y, n+1)
	} else {
		lower = origin.Where(powValue(x, p.Sub(one)), v.Div(origin.Where(one, x)))
	}
	none := p.Equal(zero).And(origin.Or(x.Equal(x).Not())) // 0 of what is infinite or NaN
	dx := p.Mul(none.Where(one, lower))
	dy := origin.Where(zero, v.Mul(log(origin.Where(one, x))))
	return v.Derive(x, dx, y, dy)
}

func powValue(x, y *uop.UOp) *uop.UOp {
	zero, one := x.Int(0), x.Int(1)
	a := absolute(x)
	m := a.Equal(one).Where(one, exp2Product(y, a))
	half := y.Mul(y.Float(0.5))
	whole, odd := y.Trunc().Equal(y), half.Trunc().Equal(half).Not()
	neg := whole.Where(odd.Where(m.Neg(), m), absolute(y).Equal(y.Const(infinity(y.DType()))).Where(m, m.Float(math.NaN())))
	neg = x.Equal(x.Const(infinity(x.DType())).Neg()).And(whole.Not()).Where(m, neg)
	v := x.Less(zero).Where(neg, m)
	v = x.Equal(zero).And(signBit(x)).And(odd).And(whole).Where(m.Neg(), v) // −0 to an odd power
	return y.Equal(zero).Or(x.Equal(one)).Where(one, v)
}

// exp2Product is 2 to the y·log2 a. What the logarithm and the product leave out is put back into what the power's whole part n leaves of the exponent:
// 2ⁿ⁺ʳ is 2ⁿ·(1 + r·ln 2 + …), whose sum is rounded once.
func exp2Product(y, a *uop.UOp) *uop.UOp {
	l, rest := log2Parts(a)
	t := y.Mul(l)
	e := y.MulAdd(l, t.Neg()).Add(y.Mul(rest))
	mantissa, bias := layout(t)
	inside := absolute(t).Less(t.Float(float64(bias + mantissa + 10)))
	n := inside.Where(t.Add(t.Less(t.Int(0)).Where(t.Float(-0.5), t.Float(0.5))), t.Int(0)).Trunc()
	r := t.Sub(n).Add(e)
	series := make([]float64, 7)
	if t.DType().Size() == 8 {
		series = make([]float64, 14)
	}
	c := 1.
	for i := range series {
		c *= math.Ln2 / float64(i+1)
		series[i] = c
	}
	half := n.Mul(n.Float(0.5)).Trunc() // both factors are in the range of the type, though the power may not be
	v := r.MulAdd(polynomial(r, series...), r.Int(1)).Mul(twoTo(half)).Mul(twoTo(n.Sub(half)))
	beyond := t.Less(t.Int(0)).Where(t.Int(0), t.Mul(t.Const(infinity(t.DType())))) // NaN stays
	return inside.Where(v, beyond)
}

// layout is how numbers of x's type lie in memory: bits of a mantissa, and what is added to exponents.
func layout(x *uop.UOp) (mantissa, bias int) {
	if x.DType().Size() == 8 {
		return 52, 1023
	}
	return 23, 127
}

// twoTo is 2 to the n, a whole number.
func twoTo(n *uop.UOp) *uop.UOp {
	bits := pattern(n)
	mantissa, bias := layout(n)
	return n.Cast(bits.DType()).Add(bits.Int(bias)).Shl(bits.Int(mantissa)).Bitcast(n.DType())
}

// log2Parts is log2 a, of a ≥ 0, as the sum of two numbers, of which the second is smaller than half a unit in the last place of the first: times a
// large exponent it counts. With a = 2ᵉ·m, √½ ≤ m < √2, and s = (m − 1)/(m + 1), which is divided with what is left,
// log2 a = e + 2/ln 2·(s + s³/3 + s⁵/5 + …).
// (Dekker, "A floating-point technique for extending the available precision", 1971.)
func log2Parts(a *uop.UOp) (hi, lo *uop.UOp) {
	n, _ := layout(a)
	root, terms := int64(math.Float32bits(math.Sqrt2/2)), 5
	if a.DType().Size() == 8 {
		root, terms = int64(math.Float64bits(math.Sqrt2/2)), 11
	}
	one := a.Int(1)
	limits, _ := dtype.Finfo(a.DType())
	tiny := a.Less(a.Float(limits.Normal))
	bits := pattern(tiny.Where(a.Mul(a.Float(math.Ldexp(1, n+1))), a))
	k := bits.Sub(bits.Const(uop.IntValue(bits.DType(), root))).Shr(bits.Int(n))
	m := bits.Sub(k.Shl(bits.Int(n))).Bitcast(a.DType())
	e := tiny.Where(k.Sub(k.Int(n+1)), k).Cast(a.DType())

	f, d := m.Sub(one), m.Add(one)
	inverse := one.Div(d)
	s := f.Mul(inverse)
	left := s.Neg().MulAdd(d, f).Sub(s.Mul(m.Sub(d.Sub(one)))).Mul(inverse)
	c, rest := log2e(a)
	c, rest = c.Mul(a.Int(2)), rest.Mul(a.Int(2))
	series := make([]float64, terms)
	for i := range series {
		series[i] = 2 * math.Log2E / float64(2*i+3)
	}
	z := s.Mul(s)
	p := s.Mul(c)
	q := s.MulAdd(c, p.Neg()).Add(s.Mul(rest)).Add(left.Mul(c)).Add(s.Mul(z).Mul(polynomial(z, series...)))
	t := e.Add(p)
	q = e.Sub(t).Add(p).Add(q)
	hi = t.Add(q)
	lo = t.Sub(hi).Add(q)
	inf, none := a.Const(infinity(a.DType())), a.Equal(a.Int(0))
	known := none.Not().And(a.Less(inf))
	return known.Where(hi, none.Where(inf.Neg(), a)), known.Where(lo, a.Int(0))
}

// powInt multiplies the squarings that the bits of y name.
func powInt(x, y *uop.UOp) *uop.UOp {
	n := y.DType().Bits()
	if c, ok := y.ConstInt(); ok {
		for n = 1; n < 63 && c>>n != 0; n++ {
		}
	}
	one := x.Int(1)
	out, square := one, x
	for i := range n {
		if i > 0 {
			square = square.Mul(square)
		}
		bit := y.And(y.Const(uop.IntValue(y.DType(), 1<<i))).Equal(y.Int(0)).Not()
		out = bit.Where(out.Mul(square), out)
	}
	if y.DType().IsUnsigned() {
		return out
	}
	odd := y.And(one).Equal(one)
	inverse := x.Equal(one).Where(one, x.Equal(x.Int(-1)).Where(odd.Where(x.Int(-1), one), x.Int(0)))
	return y.Less(y.Int(0)).Where(inverse, out)
}

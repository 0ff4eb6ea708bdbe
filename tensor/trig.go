package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sin is the sine of t, in radians. Of every finite float32 it is right to 3 units in the last place.
func (t *Tensor) Sin() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp { return x.Sin().Derive(x, cos(x)) })
}

// Cos is the cosine of t, in radians. Of float32 below 4e6 in magnitude it is right to 2 units in the last place, beyond to 4e-7, so that small results
// have fewer digits.
func (t *Tensor) Cos() *Tensor { return t.float(cos) }

// cos is ±sin(|x| − mπ/2) with the odd m beside |x|, so that even near its zeros no digits are lost.
func cos(x *uop.UOp) *uop.UOp {
	a := absolute(x)
	j := a.Mul(x.Float(1 / math.Pi)).Trunc()
	near := a.Less(x.Float(quarters(x)))
	half := j.Mul(x.Float(0.5))
	odd := half.Trunc().Equal(half).Not()
	s := near.Where(lessQuarters(a, j.Add(j).Add(x.Int(1))), x.Mul(x.Float(0.5))).Sin()
	return near.Where(odd.Where(s, s.Neg()), oneLessTwice(s)).Derive(x, x.Sin().Neg())
}

// oneLessTwice is the cosine of the angle whose half has the sine s. It is exact to a few units in the last place of 1.
func oneLessTwice(s *uop.UOp) *uop.UOp { return s.Int(1).Sub(s.Mul(s).Mul(s.Int(2))) }

// Tan is the tangent of t, in radians. Of float32 below 4e6 in magnitude it is right to 4 units in the last place; beyond, Sin and Cos of t are in it as they
// are.
func (t *Tensor) Tan() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		r, odd := quadrant(x)
		s, c := r.Sin(), oneLessTwice(r.Mul(r.Float(0.5)).Sin())
		v := zeroStays(x, odd.Where(c.Neg(), s).Div(odd.Where(s, c)))
		return v.Derive(x, x.Int(1).Add(v.Mul(v)))
	})
}

// quadrant is x without whole quarters of a turn, and whether these are an odd number: beside a pole, the cosine of x itself
// has few digits. Far from 0 it takes nothing away.
func quadrant(x *uop.UOp) (r, odd *uop.UOp) {
	k := x.Mul(x.Float(2 / math.Pi)).RoundEven()
	k = absolute(x).Less(x.Float(quarters(x))).Where(k, x.Int(0))
	half := k.Mul(k.Float(0.5))
	return lessQuarters(x, k), half.Trunc().Equal(half).Not()
}

// quarters bounds the |x| for which lessQuarters has the digits: the number of quarters is exact, and so is π/2.
func quarters(x *uop.UOp) float64 {
	if x.DType().Size() < 8 {
		return 4e6
	}
	return 1e9
}

// lessQuarters is x − kπ/2 for an integer k near 2x/π, with π/2 in three parts (after Cody and Waite).
func lessQuarters(x, k *uop.UOp) *uop.UOp {
	const short = 1.57079637050628662109375 // π/2 as float32
	parts := [3]float64{math.Pi / 2, 6.123233995736766e-17, -1.4973849048591833e-33}
	if x.DType().Size() < 8 {
		rest := math.Pi/2 - short
		mid := float64(float32(rest))
		parts = [3]float64{short, mid, rest - mid}
	}
	for _, q := range parts {
		x = k.MulAdd(x.Float(-q), x)
	}
	return x
}

// Asin is the inverse sine, −π/2 … π/2; NaN outside −1 … 1.
func (t *Tensor) Asin() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		one := x.Int(1)
		r := one.Sub(x).Mul(one.Add(x)).Sqrt()
		return zeroStays(x, atan(x.Div(one.Add(r))).Mul(x.Int(2))).Derive(x, one.Div(r))
	})
}

// Acos is the inverse cosine, 0 … π; NaN outside −1 … 1.
func (t *Tensor) Acos() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		one := x.Int(1)
		v := atan(one.Sub(x).Div(one.Add(x)).Sqrt()).Mul(x.Int(2))
		return v.Derive(x, x.Int(-1).Div(one.Sub(x).Mul(one.Add(x)).Sqrt()))
	})
}

// Atan is the inverse tangent, −π/2 … π/2.
func (t *Tensor) Atan() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp { return zeroStays(x, atan(x)).Derive(x, atanSlope(x)) })
}

func atanSlope(x *uop.UOp) *uop.UOp { return x.Int(1).Div(x.Int(1).Add(x.Mul(x))) }

// Coefficients of atan(x)/x in x², |x| ≤ tan(π/8): interpolated at Chebyshev nodes, relative error
// 2e-8 and 4e-17.
var (
	atan32 = []float64{0.9999999812646111, -0.33332785771924844, 0.19974082415507666, -0.13848490212269207, 0.07976291806794558}
	atan64 = []float64{1, -0.3333333333332844, 0.1999999999885511, -0.14285714180976467, 0.11111106180455946, -0.09090773074808414,
		0.07689953496306857, -0.06640233930429408, 0.056883492268090106, -0.04348052215716462, 0.021135373157693246}
)

// atan reduces to |x| ≤ tan(π/8) by atan x = π/4 + atan((x−1)/(x+1)) = π/2 − atan(1/x).
func atan(x *uop.UOp) *uop.UOp {
	one := x.Int(1)
	a := absolute(x)
	far, mid := x.Float(math.Tan(3*math.Pi/8)).Less(a), x.Float(math.Tan(math.Pi/8)).Less(a)
	r := far.Where(x.Int(-1).Div(a), mid.Where(a.Sub(one).Div(a.Add(one)), a))
	start := far.Where(x.Float(math.Pi/2), mid.Where(x.Float(math.Pi/4), x.Int(0)))
	c := atan32
	if x.DType().Size() == 8 {
		c = atan64
	}
	v := start.Add(r.Mul(polynomial(r.Mul(r), c...)))
	v = withSign(v, x)
	return v.Derive(x, atanSlope(x))
}

// zeroStays is v, and x where that is 0 or −0: an odd function keeps the sign of a zero.
func zeroStays(x, v *uop.UOp) *uop.UOp { return x.Equal(x.Int(0)).Where(x, v) }

// Sinh is the hyperbolic sine.
func (t *Tensor) Sinh() *Tensor { return t.float(sinh) }

// Cosh is the hyperbolic cosine.
func (t *Tensor) Cosh() *Tensor { return t.float(cosh) }

// halfExp is e to the |x|, halved before it can overflow.
func halfExp(x *uop.UOp) *uop.UOp { return exp(absolute(x).Sub(x.Float(math.Ln2))) }

func coshValue(x *uop.UOp) *uop.UOp {
	h := halfExp(x)
	return h.Add(x.Float(0.25).Div(h))
}

func sinhValue(x *uop.UOp) *uop.UOp {
	h := halfExp(x)
	big := h.Sub(x.Float(0.25).Div(h))
	big = x.Less(x.Int(0)).Where(big.Neg(), big)
	e := expm1(x)
	small := e.Add(e.Div(e.Add(x.Int(1)))).Mul(x.Float(0.5))
	return absolute(x).Less(x.Int(1)).Where(small, big)
}

func cosh(x *uop.UOp) *uop.UOp { return turns(x, coshValue(x), sinhValue(x)) }
func sinh(x *uop.UOp) *uop.UOp { return turns(x, sinhValue(x), coshValue(x)) }

// turns is a function of x and its derivative, whose derivative is the function.
func turns(x, v, d *uop.UOp) *uop.UOp { return v.Derive(x, d.Derive(x, v)) }

// Tanh is the hyperbolic tangent.
func (t *Tensor) Tanh() *Tensor { return t.float(tanh) }

// tanh32 and tanh64 are numerator and denominator of (tanh(x)/x − 1)/x² in x² for |x| ≤ 0.55 and |x| ≤ 0.6: interpolated at Chebyshev nodes, relative
// error of tanh 2⁻²⁷ and 2⁻⁵⁹.
var (
	tanh32 = [2][]float64{{-0.3333333134651184, 0.13333113491535187, -0.05390942841768265, 0.021309388801455498, -0.00661022774875164}, {1}}
	tanh64 = [2][]float64{{-0.3333333333333333, -0.02049989983360444, -0.00019922678855114945},
		{1, 0.461499699500811, 0.023292798261291752, 0.0002065859452632101}}
)

// tanh is a quotient of polynomials near 0, and 1 − 2/(e^(2|x|) + 1) beyond; both share the division. The end is flat long before the exponential is
// so large that processors of graphics divide by it wrongly.
func tanh(x *uop.UOp) *uop.UOp {
	c, edge := tanh32, 0.55
	if x.DType().Size() == 8 {
		c, edge = tanh64, 0.6
	}
	one, below := x.Int(1), x.Less(x.Int(0))
	a := below.Where(x.Neg(), x)
	sq, near := a.Mul(a), a.Less(x.Float(edge))
	e := x.Float(20).Less(a).Where(x.Float(20), a).Mul(x.Float(2 * math.Log2E)).Exp2()
	over := near.Where(sq.Mul(polynomial(sq, c[0]...)), x.Int(-2))
	r := over.Div(near.Where(polynomial(sq, c[1]...), e.Add(one)))
	m := near.Where(x, below.Where(one.Neg(), one))
	v := m.Mul(one.Add(r)) // of −0 it is −0
	return v.Derive(x, one.Sub(v.Mul(v)))
}

// Asinh is the inverse hyperbolic sine.
func (t *Tensor) Asinh() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		one := x.Int(1)
		a := absolute(x)
		sq := x.Mul(x)
		v := log1p(a.Add(sq.Div(one.Add(sq.Add(one).Sqrt()))))
		v = x.Float(squareLimit(x)).Less(a).Where(log(a).Add(x.Float(math.Ln2)), v)
		return zeroStays(x, withSign(v, x)).Derive(x, one.Div(sq.Add(one).Sqrt()))
	})
}

// squareLimit is beyond which 1 + x² is x².
func squareLimit(x *uop.UOp) float64 {
	if x.DType().Size() == 8 {
		return 1e9
	}
	return 1e5
}

// Acosh is the inverse hyperbolic cosine; NaN below 1.
func (t *Tensor) Acosh() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		one := x.Int(1)
		d := x.Sub(one)
		v := log1p(d.Add(d.Mul(d.Add(x.Int(2))).Sqrt()))
		v = x.Float(squareLimit(x)).Less(x).Where(log(x).Add(x.Float(math.Ln2)), v)
		v = x.Less(one).Where(x.Float(math.NaN()), v)
		return v.Derive(x, one.Div(d.Mul(x.Add(one)).Sqrt()))
	})
}

// Atanh is the inverse hyperbolic tangent; NaN outside −1 … 1.
func (t *Tensor) Atanh() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		one := x.Int(1)
		a := absolute(x)
		v := log1p(a.Mul(x.Int(2)).Div(one.Sub(a))).Mul(x.Float(0.5))
		return zeroStays(x, withSign(v, x)).Derive(x, one.Div(one.Sub(x).Mul(one.Add(x))))
	})
}

// Erf is the error function.
func (t *Tensor) Erf() *Tensor { return t.float(erf) }

// Erfc is 1 − Erf without loss for large t.
func (t *Tensor) Erfc() *Tensor { return t.float(erfc) }

func erfc(x *uop.UOp) *uop.UOp {
	tail := erfcTail(absolute(x))
	v := x.Less(x.Int(0)).Where(x.Int(2).Sub(tail), tail)
	v = absolute(x).Less(x.Int(1)).Where(x.Int(1).Sub(erfSeries(x)), v)
	return v.Derive(x, gauss(x).Neg())
}

func erf(x *uop.UOp) *uop.UOp {
	if x.DType().Size() == 8 {
		return erf64(x).Derive(x, gauss(x))
	}
	s := x.Cast(dtype.F32)
	below := s.Less(s.Int(0))
	a := below.Where(s.Neg(), s)
	v := s.Int(1).Sub(polynomial(s.Float(4).Less(a).Where(s.Float(4), a).Sub(s.Float(2.5)), erfFar...).Exp2())
	v = a.Less(s.Int(1)).Where(s.LooseMulAdd(polynomial(a.Mul(a), erfNear...), s), below.Where(v.Neg(), v))
	return v.Cast(x.DType()).Derive(x, gauss(x))
}

// Numerators and denominators of (erf(t)/t − 2/√π)/t² in t² for t ≤ 1, of relative error of erf 2⁻⁵⁸, and of erfc(t)·e^(t²) in t, of which e^(−t²)
// leaves an error of 2⁻⁵⁶ from 1 on: interpolated at Chebyshev nodes, these of 1 … 2.4.
var erfNear64, erfFar64 = [2][]float64{
	{-0.37612638903183754, -0.060100373118738074, -0.010143396134162421, -0.0005780263124892225, -2.3104752405461514e-05},
	{1, 0.4597877066627508, 0.09347579287906137, 0.010626435151518919, 0.0006857294488275291, 2.0503440054596546e-05},
}, [2][]float64{
	{0.9999998810948614, 1.387226466422584, 0.9455516056502863, 0.37132480399052376, 0.08366081025871142, 0.008835755929136569},
	{1, 2.5156043989431005, 2.784113326751572, 1.7494892597701546, 0.6660493838382666, 0.14828073541062217, 0.015661103691422384},
}

// erf64 shares the division of its two parts.
func erf64(x *uop.UOp) *uop.UOp {
	one, a := x.Int(1), absolute(x)
	a = x.Float(6).Less(a).Where(x.Float(6), a) // erf is 1 there
	sq, near := a.Mul(a), a.Less(one)
	over := near.Where(sq.Mul(polynomial(sq, erfNear64[0]...)), polynomial(a, erfFar64[0]...))
	r := over.Div(near.Where(polynomial(sq, erfNear64[1]...), polynomial(a, erfFar64[1]...)))
	m := near.Where(a, softExp(sq.Neg()).Neg())
	return zeroStays(x, withSign(near.Where(a.Mul(x.Float(2/math.SqrtPi)), one).Add(m.Mul(r)), x))
}

// Coefficients of erf(t)/t − 1 in t² for t ≤ 1, and of log₂(1 − erf(t)) in t − 5/2 for 1 ≤ t ≤ 4, where erf is 1 in float32:
// interpolated at Chebyshev nodes, relative error of erf 1.4e-9 and 6e-10; rounded to float32, as those below.
var (
	erfNear = []float64{0.12837916709551256, -0.3761262595653534, 0.11283594369888306, -0.02685421146452427, 0.005189087241888046,
		-0.000801686430349946, 7.875874871388078e-05}
	erfFar = []float64{-11.262853622436523, -7.722285747528076, -1.3617507219314575, -0.015665564686059952, 0.0031238726805895567,
		-0.0006061086896806955, 0.00011150788486702368, -1.920950489875395e-05, 2.361910219406127e-06}
)

// gauss is the derivative of erf.
func gauss(x *uop.UOp) *uop.UOp { return exp(x.Mul(x).Neg()).Mul(x.Float(2 / math.SqrtPi)) }

// erfSeries is the Taylor series of erf, for |x| ≤ 1.
func erfSeries(x *uop.UOp) *uop.UOp {
	terms := 11
	if x.DType().Size() == 8 {
		terms = 20
	}
	c := make([]float64, terms)
	f := 2 / math.SqrtPi
	for i := range c {
		c[i] = f / float64(2*i+1)
		f /= -float64(i + 1)
	}
	return x.Mul(polynomial(x.Mul(x), c...))
}

// Coefficients of erfc(t)·e^(t²)·(t+3) in (t−3)/(t+3) for 1/2 ≤ t ≤ 11 and 1/2 ≤ t ≤ 28, the argument
// scaled to −1 … 1: interpolated at Chebyshev nodes, relative error 3e-9 and 4e-18.
var (
	erfc32 = []float64{1.1402342319488525, -0.6252701878547668, 0.272967129945755, -0.09191543608903885, 0.022028300911188126,
		-0.0028513388242572546, -0.00019934559531975538, 0.00014873628970235586, -8.007094947970472e-06, -5.691550995834405e-06}
	erfc64 = []float64{1.0345210668277636, -0.6318110831484361, 0.31729639004175136, -0.127051458223823, 0.03787874633125793,
		-0.006870243503581008, -5.188318529374687e-05, 0.0004132329420537683, -7.289361148583765e-05, -1.9035445930889857e-05,
		7.778152443465544e-06, 9.851044418996805e-07, -7.373074021157912e-07, -7.859117121063629e-08, 7.206220564360363e-08,
		1.0428886298598009e-08, -7.128619736062387e-09, -1.6725189419240628e-09, 6.382036689486466e-10, 2.384413278321168e-10,
		-3.788259424431447e-11, -2.0661100280244867e-11}
)

// erfcTail is erfc for t ≥ 1/2.
func erfcTail(t *uop.UOp) *uop.UOp {
	c, lo, hi, end := erfc32, -2.5/3.5, 8./14, 11.
	if t.DType().Size() == 8 {
		c, lo, hi, end = erfc64, -2.5/3.5, 25./31, 28.
	}
	near := t.Less(t.Float(end)).Where(t, t.Float(end)) // e^(−t²) is 0 there
	near = t.Equal(t).Where(near, t)
	q := near.Add(t.Int(3))
	u := near.Sub(t.Int(3)).Div(q)
	u = u.Sub(u.Float((lo + hi) / 2)).Mul(u.Float(2 / (hi - lo)))
	sq := near.Mul(near)
	lost := near.MulAdd(near, sq.Neg())
	return exp(sq.Neg()).Mul(t.Int(1).Sub(lost)).Mul(polynomial(u, c...)).Div(q)
}

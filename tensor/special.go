package tensor

import (
	"math"

	"github.com/weft-ml/weft/uop"
)

// Special functions. Precision follows the type: a few units in the last place of float32, about 1e-15 for
// float64. The polynomials were fitted for this file; coefficients rise in power.

// byPrecision picks the coefficients for x's type.
func byPrecision(x *uop.UOp, tables [2][]float64) []float64 {
	if x.DType().Size() == 8 {
		return tables[1]
	}
	return tables[0]
}

// withSign is x with the sign of s, for x ≥ 0; NaN stays.
func withSign(x, s *uop.UOp) *uop.UOp { return s.Less(s.Int(0)).Where(x.Neg(), x) }

var (
	// erfInvNear are of erfinv(x)/x in w − 5/2, w = −log(1 − x²) < 5, to 4e-9.
	erfInvNear = []float64{
		1.5014093511107919, 0.24664028942745514, -0.004177320040540122, -0.0012527485028416627,
		0.00021825772396383333, -4.9596917942159361e-6, -3.4234142742220455e-6, 4.6541741050231658e-7,
		1.598430613390006e-8, -8.7390107028301227e-9, 4.6719325090386651e-10,
	}
	// erfInvFar are of erfinv(|x|) in √w − 4, w ≥ 5, to 1e-8.
	erfInvFar = []float64{
		3.839783583868609, 1.009494986226968, 0.0012535764642328153, -0.00085444846791146684, 0.00029533924005221238,
		-8.3539223169106951e-5, 2.1225021526299212e-5, -5.2701614479924815e-6, 7.3997757550415328e-7,
		4.3767133297638196e-7, -2.7067632964658355e-7, 4.3229517875663217e-8,
	}
)

// ErfInv is the inverse of Erf: ±inf at ±1, NaN outside.
func (t *Tensor) ErfInv() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		a, one := absolute(x), x.Int(1)
		rest := one.Sub(a) // exact from 1/2 on
		w := log(rest.Mul(one.Add(a))).Neg()
		near := polynomial(w.Sub(w.Float(2.5)), erfInvNear...).Mul(a)
		far := polynomial(w.Sqrt().Sub(w.Int(4)), erfInvFar...)
		y := w.Less(w.Int(5)).Where(near, far)
		if x.DType().Size() == 8 { // a step of Newton's method doubles the digits
			off := y.Less(y.Int(1)).Where(erfSeries(y).Sub(a), rest.Sub(erfcTail(y)))
			y = y.Sub(off.Div(gauss(y)))
		}
		y = a.Equal(one).Where(y.Const(infinity(y.DType())), y)
		y = zeroStays(x, withSign(y, x))
		return y.Derive(x, exp(y.Mul(y)).Mul(y.Float(math.Sqrt(math.Pi)/2)))
	})
}

// lgammaNear are of lgamma(2 + u)/(u·(1 + u)), |u| ≤ 1, to 1e-9 and 1e-15.
var lgammaNear = [2][]float64{
	{
		0.42278433562134901, -0.10031730192234673, 0.032964949496677486, -0.012384167946309749,
		0.0049994495117184712, -0.0021085141886259957, 0.00091063996041330944, -0.00040346119798873475,
		0.00019553960620774956, -8.9252008752152613e-5, 2.0481894971659788e-5, -9.2799128160337385e-6,
		1.9230823684436323e-5, -9.059812984739259e-6,
	},
	{
		0.42278433509846714, -0.10031730167435392, 0.032965000621156909, -0.012384192193371804,
		0.0049986411646271282, -0.0021081308339216707, 0.00091537692403869071, -0.00040570739837751511,
		0.00018255261539826382, -8.3095114777095616e-5, 3.8169076582760812e-5, -1.7661767658452519e-5,
		8.2212344759429059e-6, -3.8468580915330143e-6, 1.8113906873056684e-6, -8.5456090897588299e-7,
		3.9589404593674681e-7, -1.878442644643758e-7, 1.042041826608264e-7, -4.9827532071170235e-8,
		5.9105658535078692e-9, -2.7296358592514826e-9, 1.6194359237484173e-8, -7.8425577205383554e-9,
		-4.3124957703508174e-9, 2.0986002157033105e-9, 1.5746606982777302e-9, -7.6392923458362009e-10,
	},
}

// bernoulli are B₂ₖ/(2k), k = 1 … 7, of the asymptotic series of the gamma functions.
var bernoulli = []float64{1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12}

// Lgamma is log|Γ(t)|: inf at 0 and the negative integers.
func (t *Tensor) Lgamma() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		one := x.Int(1)
		low := x.Less(x.Float(0.5))
		y := upperLgamma(low.Where(one.Sub(x), x))
		mirrored := x.Float(math.Log(math.Pi)).Sub(log(absolute(sinPi(x)))).Sub(y)
		inf := x.Const(infinity(x.DType()))
		y = pole(x).Or(x.Equal(inf.Neg())).Where(inf, low.Where(mirrored, y))
		return y.Derive(x, digamma(x))
	})
}

// pole is true at 0 and the negative integers.
func pole(x *uop.UOp) *uop.UOp { return atMost(x, x.Int(0)).And(x.Trunc().Equal(x)) }

// upperLgamma is lgamma(x) for x ≥ 1/2: a polynomial around the zeros 1 and 2, Stirling's series above 3, climbing
// five steps below 8.
func upperLgamma(x *uop.UOp) *uop.UOp {
	one := x.Int(1)
	low := x.Less(one)
	u := low.Where(x.Sub(one), x.Sub(x.Int(2)))
	near := u.Mul(u.Add(one)).Mul(polynomial(u, byPrecision(x, lgammaNear)...))
	near = low.Where(near.Sub(log(x)), near)

	climb := x.Less(x.Int(8))
	product := x
	for i := 1; i < 5; i++ {
		product = product.Mul(x.Add(x.Int(i)))
	}
	z := climb.Where(x.Add(x.Int(5)), x)
	c := make([]float64, 6) // B₂ₖ/(2k·(2k−1))
	for k := range c {
		c[k] = bernoulli[k] / float64(2*k+1)
	}
	r := one.Div(z)
	far := z.Sub(z.Float(0.5)).Mul(log(z).Sub(one)).Add(r.Mul(polynomial(r.Mul(r), c...)))
	far = far.Add(x.Float((math.Log(2*math.Pi) - 1) / 2))
	far = climb.Where(far.Sub(log(product)), far)
	inf := x.Const(infinity(x.DType()))
	return x.Less(x.Int(3)).Where(near, x.Equal(inf).Where(inf, far))
}

// sinPi is sin(πx), exact where x is an integer.
func sinPi(x *uop.UOp) *uop.UOp {
	half := x.Float(0.5)
	r := x.Sub(x.Mul(half).RoundEven().Mul(x.Int(2)).Detach()) // in −1 … 1
	r = half.Less(absolute(r)).Where(withSign(x.Int(1), r).Sub(r), r)
	return r.Mul(x.Float(math.Pi)).Sin()
}

// Digamma is the derivative of Lgamma: NaN at the negative integers, −inf at 0 and inf at −0.
func (t *Tensor) Digamma() *Tensor {
	return t.float(digamma)
}

// climbed mirrors x below 1/2 and climbs eight steps where it is below 8, for the asymptotic series; steps gives what each
// step adds.
func climbed(x *uop.UOp, step func(r *uop.UOp) *uop.UOp) (low, z, sum *uop.UOp) {
	one := x.Int(1)
	low = x.Less(x.Float(0.5))
	z = low.Where(one.Sub(x), x)
	climb := z.Less(z.Int(8))
	sum = step(one.Div(z))
	for i := 1; i < 8; i++ {
		sum = sum.Add(step(one.Div(z.Add(z.Int(i)))))
	}
	return low, climb.Where(z.Add(z.Int(8)), z), climb.Where(sum, sum.Int(0))
}

func digamma(x *uop.UOp) *uop.UOp {
	low, z, sum := climbed(x, func(r *uop.UOp) *uop.UOp { return r })
	r := z.Int(1).Div(z)
	r2 := r.Mul(r)
	y := log(z).Sub(r.Mul(r.Float(0.5))).Sub(r2.Mul(polynomial(r2, bernoulli...))).Sub(sum)
	cot := sinPi(x.Add(x.Float(0.5))).Div(sinPi(x)).Mul(x.Float(math.Pi))
	y = low.Where(y.Sub(cot), y)
	y = pole(x).Where(x.Float(math.NaN()), y)
	return x.Equal(x.Int(0)).Where(x.Int(-1).Div(x), y).Derive(x, trigamma(x))
}

// trigamma is the derivative of digamma. Its own derivatives are found by its formula.
func trigamma(x *uop.UOp) *uop.UOp {
	low, z, sum := climbed(x, func(r *uop.UOp) *uop.UOp { return r.Mul(r) })
	c := make([]float64, len(bernoulli)) // B₂ₖ
	for k := range c {
		c[k] = bernoulli[k] * float64(2*k+2)
	}
	r := z.Int(1).Div(z)
	r2 := r.Mul(r)
	y := r.Add(r2.Mul(r.Float(0.5))).Add(r.Mul(r2).Mul(polynomial(r2, c...))).Add(sum)
	p := x.Float(math.Pi).Div(sinPi(low.Where(x, x.Float(0.5))))
	return low.Where(p.Mul(p).Sub(y), y)
}

// Sinc is sin(πt)/(πt), 1 at 0.
func (t *Tensor) Sinc() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		zero := x.Equal(x.Int(0))
		p := x.Mul(x.Float(math.Pi))
		v := zero.Where(x.Int(1), p.Sin().Div(p))
		cos := sinPi(x.Add(x.Float(0.5)))
		near := absolute(x).Less(x.Float(0.5))
		far := cos.Sub(v).Div(near.Where(x.Int(1), x))
		return v.Derive(x, near.Where(sincSlope(near.Where(x, x.Int(0))), far))
	})
}

// sincSlope is the derivative of sinc near 0, its series: the closed form would be a small difference there.
func sincSlope(x *uop.UOp) *uop.UOp {
	c := make([]float64, 12)
	f := 1.
	for i := range c { // (−π²)ᵏ·2k/(2k + 1)!
		k := float64(i + 1)
		f *= -math.Pi * math.Pi / (2 * k * (2*k + 1))
		c[i] = f * 2 * k
	}
	return x.Mul(polynomial(x.Mul(x), c...))
}

// Logit is log(t/(1−t)), of t limited to eps … 1−eps where eps is not negative.
func (t *Tensor) Logit(eps float64) *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		zero, one := x.Int(0), x.Int(1)
		at, lo, hi, beyond := x, zero, one, x.Float(math.NaN())
		if eps >= 0 {
			lo, hi, beyond = x.Float(eps), x.Float(1-eps), zero
			at = x.Less(lo).Where(lo, hi.Less(x).Where(hi, x))
		}
		rest := one.Sub(at)
		return log(at.Div(rest)).Derive(x, x.Less(lo).Or(hi.Less(x)).Where(beyond, one.Div(at.Mul(rest))))
	})
}

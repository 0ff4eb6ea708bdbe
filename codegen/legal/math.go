package legal

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// layout is how a float type lies in an integer word.
type layout struct {
	i, u       dtype.DType
	word, frac int // bits of the word and of the fraction
	bias       int
}

func layoutOf(d dtype.DType) layout {
	if d == dtype.F64 {
		return layout{dtype.I64, dtype.U64, 64, 52, 1023}
	}
	return layout{dtype.I32, dtype.U32, 32, 23, 127}
}

// bitsOf are the bits of the constant f in type d.
func bitsOf(d dtype.DType, f float64) int { return int(uop.ToBits(d, uop.FloatValue(d, f))) }

// magnitude is |x|, NaN included.
func magnitude(x *uop.UOp) *uop.UOp {
	y := layoutOf(x.DType())
	b := x.Bitcast(y.u)
	return b.And(b.Int(int(uint64(1)<<(y.word-1) - 1))).Bitcast(x.DType())
}

// polynomial evaluates Σ c[i]·xⁱ by Horner's rule.
func polynomial(x *uop.UOp, c []float64) *uop.UOp {
	p := x.Float(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		p = p.MulAdd(x, x.Float(c[i]))
	}
	return p
}

// The polynomials are minimax in the relative error of the whole function, found by the Remez algorithm in
// 60 digits: for F32 below 2^-25, for F64 below 2^-58.
var (
	// (2^f − 1) / f for |f| ≤ 1/2.
	exp2F32 = []float64{0.693147202854, 0.240226479138, 0.0555033247223, 0.00961843737168, 0.00133988741455,
		0.000153533545223}
	exp2F64 = []float64{0.69314718055994530855, 0.24022650695910071507, 0.055504108664821687114,
		0.0096181291076283295774, 0.0013333558146392690358, 0.0001540353039364068784, 0.000015252733854318800576,
		1.3215486594941975935e-6, 1.0178051941734150958e-7, 7.0549744667375947927e-9, 4.456570545123288261e-10,
		2.5625436903018908674e-11}
	// log2(1 + t) / t for √½ ≤ 1 + t ≤ √2.
	log2F32 = []float64{1.44269504083, -0.721347351506, 0.480898241002, -0.360696649222, 0.288567411957,
		-0.239617408407, 0.20460055142, -0.191062657031, 0.186175356492, -0.10995024529}
	// log2((1 + s) / (1 − s)) / s as a polynomial in s².
	log2F64 = []float64{2.8853900817779268147, 0.96179669392597547452, 0.57707801635570204667,
		0.41219858307095249311, 0.32059890490052333946, 0.26230751966181759614, 0.22199102492052619102,
		0.19111220625460709408, 0.19157476607458200649}
)

// exp2 is 2^x = 2^k · 2^f with an integer k and |f| ≤ 1/2. Adding 1.5·2^frac + 2·bias leaves k + 2·bias in the low bits of
// the sum; it is read from there and not by subtracting again, which a compiler might cancel. The power is multiplied
// in two steps, so that denormal results are rounded once. The halves of k + 2·bias are the exponents of these steps; the
// bits above them are shifted out. Where the result is 0 these exponents are 0, so that both steps multiply by 0: a
// product that underflows takes a processor a hundred times as long, and masked scores are all exponentials of −∞.
func exp2(x *uop.UOp) *uop.UOp {
	y := layoutOf(x.DType())
	hi, lo := x.Float(float64(y.bias+2)), x.Float(float64(-y.bias-y.frac))
	c := hi.Less(x).Where(hi, x) // NaN stays
	c = c.Less(lo).Where(x.Int(-2*y.bias), c)
	shifter := 1.5*math.Ldexp(1, y.frac) + float64(2*y.bias)
	b := c.Add(c.Float(shifter)).Bitcast(y.u)
	k := b.Bitcast(y.i)
	k = k.Add(k.Int(-bitsOf(x.DType(), shifter)))
	f := c.Sub(k.Cast(x.DType()))
	coeffs := exp2F32
	if x.DType() == dtype.F64 {
		coeffs = exp2F64
	}
	p := polynomial(f, coeffs).MulAdd(f, f.Int(1))
	half := b.Shr(b.Int(1))
	power := func(e *uop.UOp) *uop.UOp { return e.Shl(e.Int(y.frac)).Bitcast(x.DType()) }
	return p.Mul(power(half)).Mul(power(b.Sub(half)))
}

// log2 splits x = m·2^e with √½ ≤ m < √2; denormals are scaled up first.
func log2(x *uop.UOp) *uop.UOp {
	d := x.DType()
	y := layoutOf(d)
	tiny := x.Less(x.Float(math.Ldexp(1, 1-y.bias)))
	n := tiny.Where(x.Mul(x.Float(math.Ldexp(1, y.frac))), x).Bitcast(y.i)
	e := n.Add(n.Int(-bitsOf(d, math.Sqrt2/2))).Shr(n.Int(y.frac))
	t := n.Sub(e.Shl(n.Int(y.frac))).Bitcast(d).Add(x.Int(-1))
	ef := e.Cast(d).Add(tiny.Where(x.Int(-y.frac), x.Int(0)))
	var r *uop.UOp
	if d == dtype.F64 {
		s := t.Div(t.Add(t.Int(2)))
		r = polynomial(s.Mul(s), log2F64).MulAdd(s, ef)
	} else {
		r = polynomial(t, log2F32).MulAdd(t, ef)
	}
	inf := x.Float(math.Inf(1))
	special := x.Int(0).Less(x).Where(inf, x.Equal(x.Int(0)).Where(x.Float(math.Inf(-1)), x.Float(math.NaN())))
	return x.Int(0).Less(x).And(x.Less(inf)).Where(r, special)
}

// trunc clears the bits of the fraction that stand for less than 1.
func trunc(x *uop.UOp) *uop.UOp {
	y := layoutOf(x.DType())
	b := x.Bitcast(y.u)
	e := b.Shr(b.Int(y.frac)).And(b.Int(2*y.bias + 1)).Cast(y.i)
	e = e.Add(e.Int(-y.bias))
	small := e.Less(e.Int(0))
	places := small.Where(e.Int(0), e.Less(e.Int(y.frac)).Where(e, e.Int(y.frac))).Cast(y.u)
	below := b.Int(int(uint64(1)<<y.frac - 1)).Shr(places)
	sign := b.And(b.Int(math.MinInt >> (64 - y.word)))
	return small.Where(sign, b.And(below.Not())).Bitcast(x.DType())
}

// roundEven adds what is cut off, rounded: its double, of which the float below keeps a half from becoming 1 beside an even number.
func roundEven(x *uop.UOp) *uop.UOp {
	r := x.Trunc()
	half := r.Mul(r.Float(0.5))
	info, _ := dtype.Finfo(x.DType())
	double := half.Trunc().Equal(half).Where(x.Float(2-info.Eps), x.Int(2))
	return r.Equal(x).Where(x, r.Add(x.Sub(r).Mul(double).Trunc()))
}

// maximum is the larger one, NaN if one is, and +0 of two different zeros. Against a constant that is cheaper.
func maximum(a, b *uop.UOp) *uop.UOp {
	if !a.DType().IsFloat() {
		return a.Less(b).Where(b, a)
	}
	if a.Op() == uop.Const {
		a, b = b, a
	}
	if v, ok := b.ConstValue(); ok {
		switch {
		case v.Float() != v.Float():
			return b
		case v == 0: // −0 + 0 = 0
			return a.Less(b).Where(b, a).Add(b)
		}
		return a.Less(b).Where(b, a)
	}
	y := layoutOf(a.DType())
	both := a.Bitcast(y.u).And(b.Bitcast(y.u)).Bitcast(a.DType())
	return a.Less(b).Where(b, b.Equal(b).Where(a.Equal(b).Where(both, a), b))
}

// mulAdd is a MulAdd of the graph on a target that has none: exact where there is F64, else the product is rounded.
func (l *Legalizer) mulAdd(v *uop.UOp) *uop.UOp {
	a, b, c := v.At(0), v.At(1), v.At(2)
	wide := l.has(uop.Cast, dtype.F64) && l.has(uop.Add, dtype.F64)
	switch {
	case v.DType() == dtype.F32 && wide:
		return fusedF32(a, b, c)
	case v.DType() == dtype.F64 && wide:
		return fusedF64(a, b, c)
	}
	return a.Mul(b).Add(c)
}

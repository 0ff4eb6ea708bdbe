package tensor

import (
	"math"

	"github.com/weft-ml/weft/uop"
)

// Modified Bessel functions of the first kind, of order 0 and 1, by e^−|x|. Up to 8 they are the power series, whose terms have one sign;
// beyond, polynomials in 8/x are of the function times √x, interpolated at Chebyshev nodes.

// besselFar are, by order and precision, of e^−x·√x·I(x) in 16/x − 1, x ≥ 8, to 2e-9 and 2e-16.
var besselFar = [2][2][]float64{
	{{
		0.4021765094450081, 0.0033605558519253539, 0.00013621684311530046, 1.1111525456650673e-05, 1.4767921099426897e-06, 3.6317103052772849e-07,
		1.0829898259260847e-07,
	}, {
		0.40217650944500816, 0.0033605519836678761, 0.00013621607437737268, 1.1143033791893046e-05, 1.483848150861771e-06, 2.9735978852902738e-07,
		8.8712931936046776e-08, 3.9327123085832934e-08, 2.162446034312458e-08, 7.5437752382507331e-09, -7.1167444997579874e-09, -1.3356327717432141e-08,
		-4.2706497213638251e-09, 7.396966587219158e-09, 5.1432089858622845e-09, -3.21251295103573e-09, -2.8927333669603943e-09, 1.1661396927314527e-09,
		9.5445985964082166e-10, -3.0719032844097364e-10, -1.4445666241808038e-10, 4.1358703369040369e-11,
	}},
	{{
		0.38939845902587233, -0.0097495815265479149, -0.00021923666942859845, -1.500332306614829e-05, -1.8267145046635388e-06, -4.2155543729815765e-07,
		-1.2212498465941114e-07,
	}, {
		0.38939845902587228, -0.0097495771932357509, -0.00021923576381873669, -1.5038547201402334e-05, -1.8349107416211804e-06, -3.4838551252734809e-07,
		-1.0000323944983054e-07, -4.3130341641824356e-08, -2.3453111618217135e-08, -8.4178108815568922e-09, 7.1185732100000242e-09, 1.3986230294575344e-08,
		4.7942444927275885e-09, -7.500258824785232e-09, -5.5084094089580883e-09, 3.158127700170617e-09, 3.0582654028044287e-09, -1.1153074851895528e-09,
		-1.0032283190965858e-09, 2.8795297002473246e-10, 1.5138585494356061e-10, -3.8283098239014647e-11,
	}},
}

// bessel is e^−a·I(a) of an order for a ≥ 0.
func bessel(a *uop.UOp, order int) *uop.UOp {
	terms := 18
	if a.DType().Size() == 8 {
		terms = 30
	}
	c := make([]float64, terms)
	for k, v := 0, 1.; k < terms; k++ { // 1/(k!·(k + order)!)
		c[k] = v
		v /= float64((k + 1) * (k + 1 + order))
	}
	near := a.Less(a.Int(8)).Where(a, a.Int(8))
	sum := polynomial(near.Mul(near).Mul(a.Float(0.25)), c...).Mul(exp(near.Neg()))
	if order == 1 {
		sum = sum.Mul(near).Mul(a.Float(0.5))
	}
	v := a.Less(a.Int(8)).Where(a.Int(8), a)
	far := polynomial(a.Int(16).Div(v).Sub(a.Int(1)), byPrecision(a, besselFar[order])...).Div(v.Sqrt())
	return a.Less(a.Int(8)).Where(sum, far)
}

// scaled are e^−|x|·I(x) of orders 0 and 1, and the latter over x.
func scaled(x *uop.UOp) (v0, v1, ratio *uop.UOp) {
	a := absolute(x)
	v0, v1 = bessel(a, 0), withSign(bessel(a, 1), x)
	origin := x.Equal(x.Int(0))
	return v0, v1, origin.Where(x.Float(0.5), v1.Div(origin.Where(x.Int(1), x)))
}

// scaledBessel are the scaled functions of orders 0 and 1, each with its derivative in the other one; at 0, where they have a kink, with
// that of the middle.
func scaledBessel(x *uop.UOp) (i0, i1 *uop.UOp) {
	v0, v1, ratio := scaled(x)
	s := sign(x)
	d0 := func(i1 *uop.UOp) *uop.UOp { return i1.Sub(s.Mul(v0)) }
	d1 := func(i0 *uop.UOp) *uop.UOp { return i0.Sub(ratio).Sub(s.Mul(v1)) }
	return v0.Derive(x, d0(v1.Derive(x, d1(v0)))), v1.Derive(x, d1(v0.Derive(x, d0(v1))))
}

// besselOf are I(x) of orders 0 and 1. I₀′ is I₁, I₁′ is I₀ − I₁/x, and (I₁/x)′ is (I₀ − 2·I₁/x)/x, near 0 its series.
func besselOf(x *uop.UOp) (i0, i1 *uop.UOp) {
	v0, v1, ratio := scaled(x)
	g0, g1, bend := grown(v0, x), grown(v1, x), grown(v0.Sub(ratio), x)
	i0 = g0.Derive(x, g1)
	c := make([]float64, 12) // of 4·(I₁/x)′/x in x²/4: k/(k!·(k + 1)!)
	for i, f := 0, 0.5; i < len(c); i++ {
		c[i] = f
		f /= float64((i + 1) * (i + 3))
	}
	near := absolute(x).Less(x.Int(1))
	in, out := near.Where(x, x.Int(0)), near.Where(x.Int(1), x)
	series := polynomial(in.Mul(in).Mul(x.Float(0.25)), c...).Mul(in).Mul(x.Float(0.25))
	slope := near.Where(series, i0.Sub(g1.Mul(x.Int(2)).Div(out)).Div(out))
	i1 = g1.Derive(x, bend.Derive(x, g1.Sub(slope)))
	return g0.Derive(x, i1), i1
}

// grown is a scaled function times e^|x|, in two factors so that neither overflows before the product does.
func grown(v, x *uop.UOp) *uop.UOp {
	half := exp(absolute(x).Mul(x.Float(0.5)))
	return v.Mul(half).Mul(half)
}

// I0 is the modified Bessel function of the first kind and of order 0.
func (t *Tensor) I0() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		i0, _ := besselOf(x)
		return i0
	})
}

// I0e is I0 times e^−|t|.
func (t *Tensor) I0e() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		i0, _ := scaledBessel(x)
		return i0
	})
}

// I1 is the modified Bessel function of the first kind and of order 1.
func (t *Tensor) I1() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		_, i1 := besselOf(x)
		return i1
	})
}

// I1e is I1 times e^−|t|.
func (t *Tensor) I1e() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		_, i1 := scaledBessel(x)
		return i1
	})
}

// Ndtr is the distribution function of the normal distribution: the chance of less than t.
func (t *Tensor) Ndtr() *Tensor { return t.Mul(-math.Sqrt2 / 2).Erfc().Div(2) }

// LogNdtr is log(Ndtr(t)), also where that is too small a number.
func (t *Tensor) LogNdtr() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		one, half, root := x.Int(1), x.Float(0.5), x.Float(math.Sqrt2/2)
		low, far := x.Less(x.Int(-1)), x.Less(x.Int(-10))
		near := low.And(far.Not()).Where(x.Neg(), one)
		tail := erfcTail(near.Mul(root)).Mul(half) // of −10 … −1
		beyond := far.Where(x.Neg(), x.Int(10))    // the asymptotic series of √2π·e^(t²/2)·Ndtr(t)·|t|
		series := polynomial(one.Div(beyond.Mul(beyond)), 1, -1, 3, -15, 105, -945, 10395)
		above := erfc(low.Where(one, x).Mul(root)).Mul(half) // 1 − Ndtr(t)
		scale := x.Float(math.Sqrt(2 * math.Pi))
		v := far.Where(log(series.Div(beyond.Mul(scale))).Sub(beyond.Mul(beyond).Mul(half)), low.Where(log(tail), log1p(above.Neg())))
		density := exp(x.Mul(x).Mul(half).Neg()).Div(scale)
		slope := density.Div(low.Where(tail, one.Sub(above)))
		slope = slope.Derive(x, slope.Mul(x.Add(slope)).Neg())
		return v.Derive(x, far.Where(beyond.Div(series), slope))
	})
}

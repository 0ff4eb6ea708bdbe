package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// ReLU is t where positive and 0 elsewhere; NaN stays. Its derivative at 0 is 0, and of NaN it is 1.
func (t *Tensor) ReLU() *Tensor {
	u := t.node()
	zero := u.Int(0)
	if t.DType() == dtype.Bool || t.DType().IsUnsigned() {
		return t.same()
	}
	v := u.Max(zero)
	if t.IsFloat() {
		v = v.Derive(u, v.Equal(zero).Where(zero, u.Int(1))) // of v, so that u need not be kept
	}
	return t.like(v)
}

// ReLU6 is ReLU limited to 6; its derivative at 6 is 0 as well.
func (t *Tensor) ReLU6() *Tensor {
	if t.DType() == dtype.Bool {
		return t.same()
	}
	return t.HardTanh(0, 6)
}

// HardTanh limits to lo … hi as Clamp does; its derivative at and outside the limits is 0, and of NaN it is 1. Integers stay integers where the
// limits are.
func (t *Tensor) HardTanh(lo, hi float64) *Tensor {
	if t.DType().IsInt() && lo == math.Trunc(lo) && hi == math.Trunc(hi) && max(math.Abs(lo), math.Abs(hi)) < 1<<31 {
		return t.Clamp(int(lo), int(hi))
	}
	return t.float(func(x *uop.UOp) *uop.UOp {
		v, l, h := clipped(x, lo, hi)
		return v.Derive(x, v.Equal(l).Or(v.Equal(h)).Where(x.Int(0), x.Int(1)))
	})
}

// clipped is x within lo … hi, which it gives as well.
func clipped(x *uop.UOp, lo, hi float64) (v, l, h *uop.UOp) {
	if lo != lo || hi != hi {
		lo, hi = math.NaN(), math.NaN()
	}
	l, h = x.Float(min(lo, hi)), x.Float(hi)
	return orNaN(x.Less(l), l).Where(l, h.Less(x).Where(h, x)), l, h
}

// hardClip is clipped, with the derivative 0 at and outside the limits and of NaN.
func hardClip(x *uop.UOp, lo, hi float64) *uop.UOp {
	v, l, h := clipped(x, lo, hi)
	return v.Derive(x, l.Less(x).And(x.Less(h)).Where(x.Int(1), x.Int(0)))
}

// LeakyReLU is t where positive and slope·t elsewhere.
func (t *Tensor) LeakyReLU(slope float64) *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		pos := x.Int(0).Less(x)
		return pos.Where(x, x.Mul(x.Float(slope)))
	})
}

// ELU is t where positive and alpha·(eᵗ − 1) elsewhere.
func (t *Tensor) ELU(alpha float64) *Tensor { return t.elu(1, alpha, 1) }

// CELU is t where positive and alpha·(e^(t/alpha) − 1) elsewhere.
func (t *Tensor) CELU(alpha float64) *Tensor {
	if alpha == 0 {
		failArg("CELU", "alpha is 0, by which elements are divided")
	}
	return t.elu(1, alpha, 1/alpha)
}

// SELU is ELU scaled so that it keeps mean 0 and variance 1.
func (t *Tensor) SELU() *Tensor { return t.SELUWith(1.6732632423543772, 1.0507009873554805) }

// SELUWith is scale·t where positive and scale·alpha·(eᵗ − 1) elsewhere.
func (t *Tensor) SELUWith(alpha, scale float64) *Tensor { return t.elu(scale, alpha, 1) }

func (t *Tensor) elu(scale, alpha, rate float64) *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		pos := x.Int(0).Less(x)
		in := x.Mul(x.Float(rate))
		v := pos.Where(x.Mul(x.Float(scale)), expm1(in).Mul(x.Float(scale*alpha)))
		neg := x.Max(x.Int(0)).Equal(x.Int(0)) // NaN is not
		slope := neg.Where(exp(in).Mul(x.Float(scale*alpha*rate)), x.Float(scale))
		return v.Derive(x, slope.Derive(x, neg.Where(slope.Mul(x.Float(rate)), x.Int(0))))
	})
}

// Sigmoid is 1/(1 + e⁻ᵗ).
func (t *Tensor) Sigmoid() *Tensor { return t.float(sigmoid) }

func sigmoid(x *uop.UOp) *uop.UOp {
	one := x.Int(1)
	v := one.Div(one.Add(exp(x.Neg())))
	return v.Derive(x, slopeOfSigmoid(v))
}

// LogSigmoid is log(Sigmoid(t)) without overflow.
func (t *Tensor) LogSigmoid() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp { return softplus(x.Neg()).Neg() })
}

// Softplus is log(1 + e^(beta·t))/beta; where beta·t is above 20 it is t.
func (t *Tensor) Softplus(beta float64) *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		in := x.Mul(x.Float(beta))
		flat := x.Float(20).Less(in)
		return flat.Where(x, softplus(in).Div(x.Float(beta)))
	})
}

func softplus(x *uop.UOp) *uop.UOp {
	v := x.Max(x.Int(0)).Add(log1p(exp(absolute(x).Neg())))
	return v.Derive(x, sigmoid(x))
}

// SiLU is t·Sigmoid(t), also called swish.
func (t *Tensor) SiLU() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		s := sigmoid(x)
		return gated(x, s, slopeOfSigmoid(s))
	})
}

// gated is x·f(x), f having the slope d. A gradient times x may be too large for the type where x·d is not.
func gated(x, f, d *uop.UOp) *uop.UOp { return x.Mul(f).Derive(x, f.Add(x.Mul(d))) }

// slopeOfSigmoid is the derivative of sigmoid where that is s.
func slopeOfSigmoid(s *uop.UOp) *uop.UOp { return s.Mul(s.Int(1).Sub(s)) }

// QuickGELU is t·Sigmoid(1.702·t).
func (t *Tensor) QuickGELU() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		s := sigmoid(x.Mul(x.Float(1.702)))
		return gated(x, s, slopeOfSigmoid(s).Mul(x.Float(1.702)))
	})
}

// GELU is t·Φ(t) with the normal distribution function Φ.
func (t *Tensor) GELU() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		if x.DType().Size() == 8 {
			return x.Mul(erf(x.Mul(x.Float(math.Sqrt2 / 2))).Add(x.Int(1)).Mul(x.Float(0.5)))
		}
		s := x.Cast(dtype.F32)
		a := absolute(s)
		tail := s.Float(6).Less(a).Where(s.Int(0), polynomial(a, normalTail...).Exp2())
		phi := s.Less(s.Int(0)).Where(tail, s.Int(1).Sub(tail))
		density := exp(s.Mul(s).Mul(s.Float(-0.5))).Mul(s.Float(1 / math.Sqrt(2*math.Pi)))
		return s.Mul(phi).Derive(s, phi.Derive(s, density).Add(s.Mul(density))).Cast(x.DType())
	})
}

// Coefficients of log₂ Φ(−t) in t for t ≤ 6, where Φ is 1e-9: interpolated at Chebyshev nodes, relative error
// of Φ 5e-8; rounded to float32.
var normalTail = []float64{-0.9999999403953552, -1.1511071920394897, -0.4592001140117645, -0.052492186427116394, 0.007002426311373711,
	-2.581307307991665e-05, -0.00027966336347162724, 8.163977327058092e-05, -1.3290108654473443e-05, 1.3364928008741117e-06,
	-7.757566322652565e-08, 1.993345044581929e-09}

// GELUTanh is the approximation of GELU by Tanh.
func (t *Tensor) GELUTanh() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		in := x.Mul(x).LooseMulAdd(x.Float(0.044715*2*math.Sqrt(2/math.Pi)), x.Float(2*math.Sqrt(2/math.Pi))).Mul(x)
		return x.Mul(sigmoid(in)) // (1 + tanh(v/2))/2 is sigmoid(v)
	})
}

// Mish is t·Tanh(Softplus(t)).
func (t *Tensor) Mish() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		f := tanh(softplus(x))
		return gated(x, f, f.Int(1).Sub(f.Mul(f)).Mul(sigmoid(x)))
	})
}

// Softsign is t/(1 + |t|).
func (t *Tensor) Softsign() *Tensor { return t.Div(t.Abs().Add(1)) }

// HardSigmoid is t/6 + 1/2 limited to 0 … 1.
func (t *Tensor) HardSigmoid() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp { return hardClip(x, -3, 3).Add(x.Int(3)).Div(x.Int(6)) })
}

// HardSigmoidWith is alpha·t + beta limited to 0 … 1; its derivative at and outside the limits is 0. NaN stays.
func (t *Tensor) HardSigmoidWith(alpha, beta float64) *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp { return hardClip(x.Mul(x.Float(alpha)).Add(x.Float(beta)), 0, 1) })
}

// HardSwish is t·HardSigmoid(t). Its derivative is 0 up to −3 and 1 from 3 on, of infinities and NaN too.
func (t *Tensor) HardSwish() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp {
		low, high := x.Int(-3), x.Int(3)
		slope := x.Less(high).Where(x.Div(high).Add(x.Float(0.5)), x.Int(1))
		slope = atMost(x, low).Where(x.Int(0), slope)
		return x.Mul(hardClip(x, -3, 3).Add(high).Div(x.Int(6))).Derive(x, slope)
	})
}

package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Atan2 is the angle of the point (v, t) in −π … π, right in all quadrants and for signed zeros.
func (t *Tensor) Atan2(v any) *Tensor {
	return float2("Atan2", func(y, x *uop.UOp) *uop.UOp {
		ay, ax := absolute(y), absolute(x)
		steep := ax.Less(ay)
		hi, lo := steep.Where(ay, ax), steep.Where(ax, ay)
		r := hi.Equal(lo).Where(hi.Equal(hi.Int(0)).Where(hi.Int(0), hi.Int(1)), lo.Div(hi)) // 0/0 and inf/inf
		a := atan(r)
		a = steep.Where(a.Float(math.Pi/2).Sub(a), a)
		a = signBit(x).Where(a.Float(math.Pi).Sub(a), a)
		a = signBit(y).Where(a.Neg(), a)
		a = y.Equal(y).And(x.Equal(x)).Where(a, a.Float(math.NaN()))
		d := x.Mul(x).Add(y.Mul(y))
		none := d.Equal(d.Int(0)) // there the angle has no derivative, and counts as fixed
		by := none.Where(d.Int(1), d)
		return a.Derive(y, none.Where(d, x.Div(by)), x, none.Where(d, y.Neg().Div(by)))
	}, t, v)
}

// Hypot is √(t² + v²) without overflow.
func (t *Tensor) Hypot(v any) *Tensor {
	return float2("Hypot", func(x, y *uop.UOp) *uop.UOp {
		ax, ay := absolute(x), absolute(y)
		hi, lo := ax.Max(ay), ax.Min(ay)
		r := lo.Div(hi)
		h := hi.Mul(r.Mul(r).Add(r.Int(1)).Sqrt())
		inf := x.Const(infinity(x.DType()))
		h = hi.Equal(hi.Int(0)).Where(hi, h)
		h = ax.Equal(inf).Or(ay.Equal(inf)).Where(inf, h)
		none := h.Equal(h.Int(0))
		by := none.Where(h.Int(1), h)
		return h.Derive(x, none.Where(h, x.Div(by)), y, none.Where(h, y.Div(by)))
	}, t, v)
}

// LogAddExp2 is log2(2ᵗ + 2ᵛ) without overflow.
func (t *Tensor) LogAddExp2(v any) *Tensor {
	return float2("LogAddExp2", func(x, y *uop.UOp) *uop.UOp {
		ln2 := x.Float(math.Ln2)
		m := x.Max(y)
		d := absolute(x.Sub(y)).Neg().Exp2()
		out := finite(m).Where(m.Add(log1p(d).Div(ln2)), m)
		p := sigmoid(x.Sub(y).Mul(ln2))
		p = finite(x.Sub(y)).Where(p, y.Less(x).Where(x.Int(1), x.Equal(y).Where(x.Float(0.5), x.Int(0))))
		return out.Derive(x, p, y, p.Int(1).Sub(p))
	}, t, v)
}

// Xlogy is t·log(v), 0 where t is 0 and v is a number.
func (t *Tensor) Xlogy(v any) *Tensor {
	return float2("Xlogy", func(x, y *uop.UOp) *uop.UOp {
		l := log(y)
		zero := x.Int(0)
		none := x.Equal(zero).And(y.Equal(y))
		skipped := none.And(atMost(y, zero))
		by := skipped.Where(y.Int(1), y)
		dx := skipped.Where(zero, log(by))
		return none.Where(zero, x.Mul(l)).Derive(x, dx, y, none.Where(zero, x.Div(by)))
	}, t, v)
}

// FMax is the larger of both; of a NaN and a number the number. Equal ones share the gradient.
func (t *Tensor) FMax(v any) *Tensor {
	return elementwise("FMax", nil, func(u []*uop.UOp) *uop.UOp { return prefer(u[0], u[1], u[1].Less(u[0]), u[0].Less(u[1])) }, t, t.limit("FMax", v))
}

// FMin is the smaller of both; of a NaN and a number the number. Equal ones share the gradient.
func (t *Tensor) FMin(v any) *Tensor {
	return elementwise("FMin", nil, func(u []*uop.UOp) *uop.UOp { return prefer(u[0], u[1], u[0].Less(u[1]), u[1].Less(u[0])) }, t, t.limit("FMin", v))
}

// prefer is x where first holds, y where second holds, and otherwise the one that is a number.
func prefer(x, y, first, second *uop.UOp) *uop.UOp {
	if !x.DType().IsFloat() {
		return second.Where(y, x)
	}
	second = second.Or(x.Equal(x).Not())
	zero, one := x.Int(0), x.Int(1)
	share := func(mine, others *uop.UOp) *uop.UOp {
		return mine.Where(one, others.Where(zero, x.Equal(y).Where(x.Float(0.5), zero)))
	}
	first = first.Or(y.Equal(y).Not().And(second.Not()))
	return second.Where(y, x).Derive(x, share(first, second), y, share(second, first))
}

// Heaviside is 0 below 0, v at 0, and 1 above.
func (t *Tensor) Heaviside(v any) *Tensor {
	return elementwise("Heaviside", nil, func(u []*uop.UOp) *uop.UOp {
		x, zero := u[0], u[0].Int(0)
		return x.Equal(zero).Where(u[1], zero.Less(x).Where(x.Int(1), zero)).Detach()
	}, t, v)
}

// IsPosInf is true where t is +inf.
func (t *Tensor) IsPosInf() *Tensor {
	return t.predicate(func(x *uop.UOp) *uop.UOp { return x.Equal(x.Const(infinity(x.DType()))) }, false)
}

// IsNegInf is true where t is −inf.
func (t *Tensor) IsNegInf() *Tensor {
	return t.predicate(func(x *uop.UOp) *uop.UOp { return x.Equal(x.Const(infinity(x.DType())).Neg()) }, false)
}

// SignBit is true where the sign is set: below 0, at −0, and for NaNs by their bits.
func (t *Tensor) SignBit() *Tensor {
	if t.IsFloat() {
		return t.like(signBit(t.node()))
	}
	return t.Lt(0)
}

// NanToNum replaces NaN, inf and −inf.
func (t *Tensor) NanToNum(nan, inf, negInf float64) *Tensor {
	if !t.IsFloat() {
		return t.same()
	}
	x := widened(t.node())
	top := x.Const(infinity(x.DType()))
	y := x.Equal(top).Where(x.Float(inf), x.Equal(top.Neg()).Where(x.Float(negInf), x))
	return t.like(x.Equal(x).Where(y, x.Float(nan)).Cast(t.DType()))
}

// Greatest is the largest finite number of t's float type.
func (t *Tensor) Greatest() float64 {
	if f, ok := dtype.Finfo(t.DType()); ok {
		return f.Max
	}
	return math.MaxFloat32
}

// Deg2Rad turns degrees into radians.
func (t *Tensor) Deg2Rad() *Tensor { return t.Mul(math.Pi / 180) }

// Rad2Deg turns radians into degrees.
func (t *Tensor) Rad2Deg() *Tensor { return t.Mul(180 / math.Pi) }

// Frac is t less its integer part, with the sign of t.
func (t *Tensor) Frac() *Tensor { return t.Sub(t.Trunc()) }

// RoundTo rounds to so many decimals, halves to the even digit; negative ones round to tens, hundreds, ….
func (t *Tensor) RoundTo(decimals int) *Tensor {
	if !t.IsFloat() {
		return t.same()
	}
	x, d := t.wide()
	p := math.Pow(10, math.Abs(float64(decimals)))
	if decimals < 0 {
		q := x.Div(p).Round()
		return q.Eq(0).Where(q, q.Mul(p)).To(d) // p may be beyond the type
	}
	y := x.Mul(p)
	return y.IsFinite().Where(y.Round().Div(p), x.Detach()).To(d) // so large a number has no decimals
}

// SoftplusUpTo is log(1 + e^(beta·t))/beta where beta·t is at most threshold, and t above.
func (t *Tensor) SoftplusUpTo(beta, threshold float64) *Tensor {
	return t.Mul(beta).Gt(threshold).Where(t, t.Softplus(beta))
}

// HardShrink is t, but 0 within −limit … limit.
func (t *Tensor) HardShrink(limit float64) *Tensor {
	return t.Abs().Le(limit).Where(0, t)
}

// SoftShrink moves t by limit towards 0, and to 0 within −limit … limit.
func (t *Tensor) SoftShrink(limit float64) *Tensor {
	return t.Abs().Le(limit).Where(0, t.Sub(t.Sign().Mul(limit)))
}

// TanhShrink is t − tanh(t).
func (t *Tensor) TanhShrink() *Tensor { return t.Sub(t.Tanh()) }

// Threshold is t where it is above limit, and v elsewhere.
func (t *Tensor) Threshold(limit, v float64) *Tensor { return t.Le(limit).Where(v, t).To(t.DType()) }

// PReLU is t where positive and w·t elsewhere, with a slope for each channel (axis 1), or a single one.
func (t *Tensor) PReLU(w *Tensor) *Tensor {
	if w.Numel() != 1 {
		if t.Rank() < 2 || w.Rank() != 1 || w.Numel() != t.Dim(1) {
			fail("PReLU", shapesOf(t, w), "needs a slope for each channel, axis 1")
		}
		w = w.Reshape(append([]int{w.Numel()}, slices.Repeat([]int{1}, t.Rank()-2)...)...)
	} else {
		w = w.Reshape(slices.Repeat([]int{1}, t.Rank())...)
	}
	return t.Gt(0).Where(t, t.Mul(w))
}

// GLU is the first half of an axis times the sigmoid of the second.
func (t *Tensor) GLU(axis int) *Tensor {
	axis = t.axis("GLU", axis)
	if t.Dim(axis)%2 != 0 {
		fail("GLU", shapes(t.shape()), "axis %d of size %d has no halves", axis, t.Dim(axis))
	}
	n := t.Dim(axis) / 2
	return t.Narrow(axis, 0, n).Mul(t.Narrow(axis, n, n).Sigmoid())
}

// AddCMul is t + value·a·b.
func (t *Tensor) AddCMul(a, b *Tensor, value any) *Tensor { return t.Add(a.Mul(b).Mul(value)) }

// AddCDiv is t + value·a/b.
func (t *Tensor) AddCDiv(a, b *Tensor, value any) *Tensor { return t.Add(a.Div(b).Mul(value)) }

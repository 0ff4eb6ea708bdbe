package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func infinity(d dtype.DType) uop.Value { return uop.FloatValue(d, math.Inf(1)) }

// widened is x in a type that has infinities.
func widened(x *uop.UOp) *uop.UOp {
	if f, ok := dtype.Finfo(x.DType()); ok && !f.Infinite {
		return x.Cast(dtype.F32)
	}
	return x
}

// bits is the rule of bitwise operations: no floats.
func bits(op string) func(dtype.DType) dtype.DType {
	return func(d dtype.DType) dtype.DType {
		if d.IsFloat() {
			failType(op, []dtype.DType{d}, "needs integers or bools")
		}
		return d
	}
}

// ints is the rule of shifts: no floats and no bools.
func ints(op string) func(dtype.DType) dtype.DType {
	return func(d dtype.DType) dtype.DType {
		if !d.IsInt() {
			failType(op, []dtype.DType{d}, "needs integers")
		}
		return d
	}
}

// And is the bitwise and.
func (t *Tensor) And(v any) *Tensor {
	return elementwise("And", bits("And"), func(u []*uop.UOp) *uop.UOp { return u[0].And(u[1]) }, t, v)
}

// Or is the bitwise or.
func (t *Tensor) Or(v any) *Tensor {
	return elementwise("Or", bits("Or"), func(u []*uop.UOp) *uop.UOp { return u[0].Or(u[1]) }, t, v)
}

// Xor is the bitwise exclusive or.
func (t *Tensor) Xor(v any) *Tensor {
	return elementwise("Xor", bits("Xor"), func(u []*uop.UOp) *uop.UOp { return u[0].Xor(u[1]) }, t, v)
}

// Not is the bitwise complement.
func (t *Tensor) Not() *Tensor {
	bits("Not")(t.DType())
	return t.like(t.node().Not())
}

// Shl shifts left; the count is taken modulo the width.
func (t *Tensor) Shl(v any) *Tensor {
	return elementwise("Shl", ints("Shl"), func(u []*uop.UOp) *uop.UOp { return u[0].Shl(u[1]) }, t, v)
}

// Shr shifts right; signed types keep the sign, the count is taken modulo the width.
func (t *Tensor) Shr(v any) *Tensor {
	return elementwise("Shr", ints("Shr"), func(u []*uop.UOp) *uop.UOp { return u[0].Shr(u[1]) }, t, v)
}

// truth is "not zero".
func (t *Tensor) truth() *uop.UOp { return t.node().Cast(dtype.Bool) }

// LogicalNot is true where t is zero.
func (t *Tensor) LogicalNot() *Tensor { return t.like(t.truth().Not()) }

// LogicalAnd is true where both are not zero.
func (t *Tensor) LogicalAnd(v any) *Tensor {
	return t.logical("LogicalAnd", v, (*uop.UOp).And)
}

// LogicalOr is true where one is not zero.
func (t *Tensor) LogicalOr(v any) *Tensor {
	return t.logical("LogicalOr", v, (*uop.UOp).Or)
}

// LogicalXor is true where exactly one is not zero.
func (t *Tensor) LogicalXor(v any) *Tensor {
	return t.logical("LogicalXor", v, (*uop.UOp).Xor)
}

func (t *Tensor) logical(op string, v any, f func(x, y *uop.UOp) *uop.UOp) *Tensor {
	return elementwise(op, nil, func(u []*uop.UOp) *uop.UOp { return f(u[0].Cast(dtype.Bool), u[1].Cast(dtype.Bool)) }, t, v)
}

// Eq is t = v as a bool tensor; NaN equals nothing. A number beyond what an integer type holds is compared, here and below, as what it is.
func (t *Tensor) Eq(v any) *Tensor { return compare("Eq", t, v, (*uop.UOp).Equal) }

// Ne is t ≠ v; true where one is NaN.
func (t *Tensor) Ne(v any) *Tensor {
	return compare("Ne", t, v, func(x, y *uop.UOp) *uop.UOp { return x.Equal(y).Not() })
}

// Lt is t < v.
func (t *Tensor) Lt(v any) *Tensor { return compare("Lt", t, v, (*uop.UOp).Less) }

// Gt is t > v.
func (t *Tensor) Gt(v any) *Tensor {
	return compare("Gt", t, v, func(x, y *uop.UOp) *uop.UOp { return y.Less(x) })
}

// Le is t ≤ v; false where one is NaN.
func (t *Tensor) Le(v any) *Tensor { return compare("Le", t, v, atMost) }

// Ge is t ≥ v; false where one is NaN.
func (t *Tensor) Ge(v any) *Tensor {
	return compare("Ge", t, v, func(x, y *uop.UOp) *uop.UOp { return atMost(y, x) })
}

// atMost is x ≤ y, which for floats is not the negation of y < x.
func atMost(x, y *uop.UOp) *uop.UOp {
	if x.DType().IsFloat() {
		return x.Less(y).Or(x.Equal(y))
	}
	return y.Less(x).Not()
}

// compare is f of elements and v. A number beyond what t's type, an integer one, holds compares like any that is greater, or less, than all elements.
func compare(op string, t *Tensor, v any, f func(x, y *uop.UOp) *uop.UOp) *Tensor {
	beyond := toOperand(op, v).beyond(t.DType())
	return elementwise(op, nil, func(u []*uop.UOp) *uop.UOp {
		if beyond != 0 {
			x := u[0].Cast(dtype.I32)
			return f(x.Mul(x.Int(0)), x.Int(beyond))
		}
		return f(u[0], u[1])
	}, t, v)
}

// Where is x where t, a bool tensor, is true, and y elsewhere.
func (t *Tensor) Where(x, y any) *Tensor {
	if t.DType() != dtype.Bool {
		failType("Where", []dtype.DType{t.DType()}, "the condition must be bool")
	}
	a, b := toOperand("Where", x), toOperand("Where", y)
	d := commonType(a, b)
	agree("Where", t, a.t, b.t)
	s := broadcastShape("Where", t.room(), a.shape(), b.shape())
	out := fit(t.node(), s).Where(fit(a.as(d), s), fit(b.as(d), s))
	return newTensor(spread(out, s), commonEngine("Where", t, a.t, b.t))
}

// MaskedFill is v where the mask is true and t elsewhere; it keeps t's type.
func (t *Tensor) MaskedFill(mask *Tensor, v any) *Tensor {
	if mask.DType() != dtype.Bool {
		failType("MaskedFill", []dtype.DType{mask.DType()}, "the mask must be bool")
	}
	o := toOperand("MaskedFill", v)
	agree("MaskedFill", t, mask, o.t)
	s := broadcastShape("MaskedFill", t.room(), mask.room(), o.shape())
	out := fit(mask.node(), s).Where(fit(o.as(t.DType()), s), fit(t.node(), s))
	return newTensor(spread(out, s), commonEngine("MaskedFill", t, mask, o.t))
}

// IsNaN is true where t is not a number.
func (t *Tensor) IsNaN() *Tensor {
	return t.predicate(func(x *uop.UOp) *uop.UOp { return x.Equal(x).Not() }, false)
}

// IsInf is true where t is infinite, of either sign.
func (t *Tensor) IsInf() *Tensor {
	return t.predicate(func(x *uop.UOp) *uop.UOp {
		inf := x.Const(infinity(x.DType()))
		return x.Equal(inf).Or(x.Equal(inf.Neg()))
	}, false)
}

// IsFinite is true where t is neither infinite nor NaN.
func (t *Tensor) IsFinite() *Tensor { return t.predicate(finite, true) }

func finite(x *uop.UOp) *uop.UOp {
	x = widened(x)
	inf := x.Const(infinity(x.DType()))
	return x.Less(inf).And(inf.Neg().Less(x))
}

// predicate applies f to floats; other types have one answer.
func (t *Tensor) predicate(f func(x *uop.UOp) *uop.UOp, others bool) *Tensor {
	if t.DType().IsFloat() {
		return t.like(f(widened(t.node())))
	}
	return t.like(spread(uop.NewConst(dtype.Bool, uop.ValueOf(dtype.Bool, others)), t.shape()))
}

// IsClose is |t − v| ≤ atol + rtol·|v|; equal infinities are close, NaN only if equalNaN.
func (t *Tensor) IsClose(v any, rtol, atol float64, equalNaN bool) *Tensor {
	return elementwise("IsClose", floating, func(u []*uop.UOp) *uop.UOp {
		x, y := u[0], u[1]
		near := atMost(absolute(x.Sub(y)), x.Float(atol).Add(x.Float(rtol).Mul(absolute(y))))
		out := x.Equal(y).Or(finite(x).And(finite(y)).And(near))
		if equalNaN {
			out = out.Or(x.Equal(x).Not().And(y.Equal(y).Not()))
		}
		return out
	}, t, v)
}

// AllClose is one bool: whether all elements are close, by IsClose. It is true where there are none.
func (t *Tensor) AllClose(v any, rtol, atol float64, equalNaN bool) *Tensor {
	return t.IsClose(v, rtol, atol, equalNaN).All()
}

// Trunc rounds toward zero.
func (t *Tensor) Trunc() *Tensor { return t.rounded((*uop.UOp).Trunc) }

// Floor rounds down.
func (t *Tensor) Floor() *Tensor { return t.rounded(floor) }

// Ceil rounds up.
func (t *Tensor) Ceil() *Tensor { return t.rounded(ceil) }

// Round rounds to the nearest integer, halves to the even one.
func (t *Tensor) Round() *Tensor { return t.rounded((*uop.UOp).RoundEven) }

// rounded applies f to floats, narrow ones as float32, which is exact, and leaves integers; its derivative is zero.
func (t *Tensor) rounded(f func(x *uop.UOp) *uop.UOp) *Tensor {
	if !t.DType().IsFloat() {
		return t.same()
	}
	return t.like(f(t.node().Cast(dtype.Accumulator(t.DType()))).Cast(t.DType()).Detach())
}

func floor(x *uop.UOp) *uop.UOp {
	r := x.Trunc()
	return x.Less(r).Where(r.Sub(r.Int(1)), r)
}

func ceil(x *uop.UOp) *uop.UOp {
	r := x.Trunc()
	return r.Less(x).Where(r.Add(r.Int(1)), r)
}

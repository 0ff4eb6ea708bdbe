package tensor

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Floats by their bits: a sign, a field for the exponent, the mantissa.

// pattern are the bits of x as an integer of its size.
func pattern(x *uop.UOp) *uop.UOp {
	return x.Bitcast(map[int]dtype.DType{1: dtype.I8, 2: dtype.I16, 4: dtype.I32, 8: dtype.I64}[x.DType().Size()])
}

// Frexp gives a mantissa with the sign of t, of at least 1/2 and less than 1, and an int32 exponent: t = mantissa·2^exponent. Of 0, NaN,
// infinities and numbers below the normal ones the mantissa is the number and the exponent is 0.
func (t *Tensor) Frexp() (mantissa, exponent *Tensor) {
	var e *uop.UOp
	mantissa = t.float(func(x *uop.UOp) *uop.UOp {
		bits := pattern(x)
		n, most := 23, 255
		if x.DType() == dtype.F64 {
			n, most = 52, 2047
		}
		field := bits.Shr(bits.Int(n)).And(bits.Int(most))
		plain := field.Equal(bits.Int(0)).Or(field.Equal(bits.Int(most)))
		e = plain.Where(bits.Int(0), field.Sub(bits.Int(most/2-1))).Cast(dtype.I32)
		half := bits.And(bits.Int(most << n).Not()).Or(bits.Int((most/2 - 1) << n))
		return plain.Where(x, half.Bitcast(x.DType())).Derive(x, e.Neg().Cast(x.DType()).Exp2())
	})
	return mantissa, t.like(e)
}

// Ldexp is t·2^v.
func (t *Tensor) Ldexp(v any) *Tensor {
	return float2("Ldexp", func(x, y *uop.UOp) *uop.UOp { // by two factors, of which neither overflows before the product does
		first := y.Mul(y.Float(0.5)).Trunc()
		return x.Mul(first.Exp2()).Mul(y.Sub(first).Exp2())
	}, t, v)
}

// NextAfter is the number after t in the direction of v: the next that the type has; where they are equal v. The gradient is t's.
func (t *Tensor) NextAfter(v any) *Tensor {
	return elementwise("NextAfter", floating, func(u []*uop.UOp) *uop.UOp {
		x, y, zero := u[0], u[1], u[0].Int(0)
		bits := pattern(x)
		one := bits.Int(1)
		least := y.Less(zero).Where(one.Bitcast(x.DType()).Neg(), one.Bitcast(x.DType()))
		away := x.Less(y).Equal(zero.Less(x))
		next := x.Equal(zero).Where(least, bits.Add(away.Where(one, one.Neg())).Bitcast(x.DType()))
		known := x.Equal(x).And(y.Equal(y))
		return known.Where(x.Equal(y).Where(y, next), x.Add(y)).Derive(x, x.Int(1))
	}, t, v)
}

package legal

import (
	"math/bits"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// unsigned is the type in which the magnitude of every d fits. Index arithmetic stays what it is: its
// values are far from the limits.
func unsigned(d dtype.DType) dtype.DType {
	switch d {
	case dtype.I8:
		return dtype.U8
	case dtype.I16:
		return dtype.U16
	case dtype.I32:
		return dtype.U32
	case dtype.I64:
		return dtype.U64
	}
	return d
}

// flipNegative is ~x for negative x, else x: not negative. Floor division by a positive number commutes
// with it: floor(x / c) = ~floor(~x / c).
func flipNegative(neg, x *uop.UOp) *uop.UOp { return neg.Where(x.Not(), x) }

// divide makes IDiv safe for machines that trap or truncate.
func (l *Legalizer) divide(v *uop.UOp) *uop.UOp {
	x, y := v.At(0), v.At(1)
	d := v.DType()
	if c, ok := y.ConstInt(); ok && c > 0 && c&(c-1) == 0 && (d != dtype.Index || !l.notNegative(x)) {
		return x.Shr(x.Int(bits.TrailingZeros(uint(c))))
	}
	if l.positive(y) {
		if l.notNegative(x) {
			return v
		}
		neg := x.Less(x.Int(0))
		return flipNegative(neg, l.asPlain(flipNegative(neg, x).IDiv(y)))
	}
	zero := y.Equal(y.Int(0))
	if d.IsUnsigned() {
		return zero.Where(x.Int(0), l.asPlain(x.IDiv(zero.Where(y.Int(1), y))))
	}
	return zero.Where(x.Int(0), l.floorQuotient(x, y))
}

// floorQuotient is the signed quotient by way of magnitudes; y = 0 gives some value. The least integer divided
// by −1 wraps as it should, because its magnitude fits the unsigned type.
func (l *Legalizer) floorQuotient(x, y *uop.UOp) *uop.UOp {
	d, u := x.DType(), unsigned(x.DType())
	xneg, yneg := x.Less(x.Int(0)), y.Less(y.Int(0))
	ax, ay := xneg.Where(x.Neg(), x).Cast(u), yneg.Where(y.Neg(), y).Cast(u)
	ay = ay.Equal(ay.Int(0)).Where(ay.Int(1), ay)
	q := l.asPlain(ax.IDiv(ay))
	exact := q.Mul(ay).Equal(ax)
	up := exact.Where(q, q.Add(q.Int(1)))
	return xneg.Xor(yneg).Where(up.Cast(d).Neg(), q.Cast(d))
}

// modulo makes Mod safe.
func (l *Legalizer) modulo(v *uop.UOp) *uop.UOp {
	x, y := v.At(0), v.At(1)
	d := v.DType()
	if c, ok := y.ConstInt(); ok && c > 0 && c&(c-1) == 0 && (d != dtype.Index || !l.notNegative(x)) {
		return x.And(x.Int(c - 1))
	}
	if l.positive(y) {
		if l.notNegative(x) {
			return v
		}
		neg := x.Less(x.Int(0))
		r := l.asPlain(flipNegative(neg, x).Mod(y))
		return neg.Where(y.Add(r.Not()), r) // y − 1 − r
	}
	zero := y.Equal(y.Int(0))
	if d.IsUnsigned() {
		return zero.Where(x.Int(0), l.asPlain(x.Mod(zero.Where(y.Int(1), y))))
	}
	return zero.Where(x.Int(0), x.Sub(y.Mul(l.floorQuotient(x, y))))
}

// shift takes the count modulo the width.
func (l *Legalizer) shift(v *uop.UOp) *uop.UOp {
	width := v.DType().Bits()
	if v.DType() == dtype.Index {
		width = 64
	}
	n := v.At(1)
	if b := affine.Bound(n); b.Within(0, width-1) {
		return v
	}
	return l.asPlain(l.t.Make(v.Op(), v.DType(), nil, v.At(0), n.And(n.Int(width-1))))
}

// notNegative and positive ask for proofs. Bounds of 64-bit types do not see a sum wrap, hence the second limit.
func (l *Legalizer) notNegative(u *uop.UOp) bool {
	b := affine.Bound(u)
	return u.DType().IsUnsigned() || b.Lo >= 0 && (b.Hi < codegen.BigInt || u.DType() == dtype.Index)
}

func (l *Legalizer) positive(u *uop.UOp) bool {
	if v, ok := u.ConstValue(); ok && u.DType().IsUnsigned() {
		return v != 0
	}
	b := affine.Bound(u)
	return b.Lo > 0 && (b.Hi < codegen.BigInt || u.DType() == dtype.Index)
}

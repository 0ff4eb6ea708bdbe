package legal

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// F32's format, beside which narrow floats lie: their mantissa is cut, and their exponent begins later. BF16 is the upper half of F32, and F16 and those
// of 8 bits have subnormal numbers of their own.
const (
	mantissa32 = 23
	bias32     = 127
)

// narrowFormat is how a narrow float lies beside F32.
type narrowFormat struct {
	cut   int // bits of F32's mantissa that it has not
	later int // exponents of F32 before its own first
	over  int // the bits of what is too large: infinity, or the greatest number
	nan   int // the bits of a NaN
}

func narrowOf(d dtype.DType) narrowFormat {
	f, _ := d.Format()
	return narrowFormat{mantissa32 - f.Mantissa, bias32 - f.Bias, int(f.Over), int(f.NaN)}
}

// encode rounds F32 to a narrow type by arithmetic on bits, ties to even.
func encode(x *uop.UOp, to dtype.DType) *uop.UOp {
	b := x.Bitcast(dtype.U32)
	c := b.Int
	abs := b.And(c(0x7fffffff))
	isNaN := c(0x7f800000).Less(abs)
	if to == dtype.BF16 {
		even := b.Shr(c(16)).And(c(1))
		return isNaN.Where(b.Shr(c(16)).Or(c(0x40)), b.Add(even).Add(c(0x7fff)).Shr(c(16))).Cast(to.Word()).Bitcast(to)
	}
	f := narrowOf(to)
	even := abs.Shr(c(f.cut)).And(c(1))
	normal := abs.Add(even).Add(c(1<<(f.cut-1) - 1 - f.later<<23)).Shr(c(f.cut))
	// Below its first exponent a number is a multiple of the last place of that, which is the last place of another power of two in F32.
	place := math.Ldexp(1, f.later+1+f.cut-127)
	half := abs.Bitcast(dtype.F32).Add(x.Float(place)).Bitcast(dtype.U32).Add(c(-int(math.Float32bits(float32(place)))))
	h := abs.Less(c((f.later+1)<<23)).Where(half, normal)
	top := f.over<<f.cut + f.later<<23 - 1<<(f.cut-1) // from the middle between the number before and over on, over is nearer or even
	h = abs.Less(c(top)).Where(h, isNaN.Where(c(f.nan), c(f.over)))
	bits := to.Bits()
	h = h.Or(b.Shr(c(32 - bits)).And(c(1 << (bits - 1))))
	return h.Cast(to.Word()).Bitcast(to)
}

// decode is the exact F32 value of a narrow type's bits; it needs no denormal F32 numbers.
func decode(x *uop.UOp) *uop.UOp {
	h := x.Bitcast(x.DType().Word()).Cast(dtype.U32)
	if x.DType() == dtype.BF16 {
		return h.Shl(h.Int(16)).Bitcast(dtype.F32)
	}
	f := narrowOf(x.DType())
	c := h.Int
	bits := x.DType().Bits()
	sign := 1 << (bits - 1)
	abs := h.And(c(sign - 1))
	wide := abs.Shl(c(f.cut))
	small := abs.Cast(dtype.F32)
	small = small.Mul(small.Float(math.Ldexp(1, f.later+1+f.cut-150))).Bitcast(dtype.U32)
	special := f.over // the first bits that are no number
	if f.over == f.nan-1 {
		special = f.nan
	}
	large := abs.Less(c(special)).Where(wide.Add(c(f.later<<23)), wide.Or(c(0x7f800000)))
	r := abs.Less(c(1<<(23-f.cut))).Where(small, large)
	return r.Or(h.And(c(sign)).Shl(c(32 - bits))).Bitcast(dtype.F32)
}

package dtype

import "math"

// Format is how the numbers of a floating-point type lie in its bits: from the top a sign, an exponent, and a mantissa, whose first digit is
// implied, as in IEEE 754.
type Format struct {
	Mantissa int    // bits
	Bias     int    // added to exponents
	Most     uint64 // the bits of the greatest number
	Over     uint64 // those of what rounds to more: of infinity, or Most where there is none
	NaN      uint64 // those of a NaN
}

// formats has a row for each floating-point type: all that is said of it beside its names and its size. Of the types of 8 bits:
// "OCP 8-bit floating point specification (OFP8)", revision 1.0, 2023, as PyTorch rounds to them.
var formats = [num]Format{
	F8E4M3: {3, 7, 0x7e, 0x7e, 0x7f}, // without infinities: more than the greatest is the greatest
	F8E5M2: {2, 15, 0x7b, 0x7c, 0x7f},
	F16:    {10, 15, 0x7bff, 0x7c00, 0x7e00},
	BF16:   {7, 127, 0x7f7f, 0x7f80, 0x7fc0},
	F32:    {23, 127, 0x7f7fffff, 0x7f800000, 0x7fc00000},
	F64:    {52, 1023, 0x7fefffffffffffff, 0x7ff0000000000000, 0x7ff8000000000000},
}

// Format is how a floating-point type lies in its bits; ok is false for others.
func (d DType) Format() (f Format, ok bool) {
	if !d.IsFloat() {
		return f, false
	}
	return formats[d], true
}

// Encode gives the bits of the number of a floating-point type that is nearest to f, of two the even one.
func (d DType) Encode(f float64) uint64 {
	switch d {
	case F64:
		return math.Float64bits(f)
	case F32:
		return uint64(math.Float32bits(float32(f)))
	case F16:
		return uint64(ToF16(f))
	case BF16:
		return uint64(ToBF16(f))
	}
	return formats[d].round(f, d.Bits())
}

// Decode is the exact value of the bits of a floating-point type.
func (d DType) Decode(bits uint64) float64 {
	switch d {
	case F64:
		return math.Float64frombits(bits)
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	case F16:
		return float64(FromF16(uint16(bits)))
	case BF16:
		return float64(FromBF16(uint16(bits)))
	}
	return formats[d].value(bits, d.Bits())
}

// Round gives the number of a floating-point type that is nearest to f, of two the even one.
func (d DType) Round(f float64) float64 {
	switch d {
	case F64:
		return f
	case F32:
		return float64(float32(f))
	}
	return d.Decode(d.Encode(f))
}

// round is Encode of any type of so many bits whose exponents are not as wide as those of a float64.
func (s *Format) round(f float64, bits int) uint64 {
	b := math.Float64bits(f)
	sign := b >> 63 << (bits - 1)
	if f != f {
		return sign | s.NaN
	}
	a := math.Abs(f)
	least := 1 - s.Bias // the exponent of the smallest number with all digits
	var h uint64
	if a < math.Ldexp(1, least) {
		h = uint64(math.RoundToEven(math.Ldexp(a, s.Mantissa-least)))
	} else {
		exp, frac := b>>52&0x7ff, b&(1<<52-1)
		h = (exp-1023+uint64(s.Bias))<<s.Mantissa | frac>>(52-s.Mantissa)
		h = roundEven(h, frac<<(12+s.Mantissa))
	}
	if h > s.Most {
		h = s.Over
	}
	return sign | h
}

// value is Decode of any such type.
func (s *Format) value(b uint64, bits int) float64 {
	sign := 1.
	if b>>(bits-1)&1 == 1 {
		sign = -1
	}
	b &= 1<<(bits-1) - 1
	exp, frac := int(b>>s.Mantissa), float64(b&(1<<s.Mantissa-1))
	switch {
	case b > s.Over:
		return math.Copysign(math.Float64frombits(formats[F64].NaN), sign)
	case b > s.Most:
		return math.Inf(int(sign))
	case exp == 0:
		return sign * math.Ldexp(frac, 1-s.Bias-s.Mantissa)
	}
	return sign * math.Ldexp(1+math.Ldexp(frac, -s.Mantissa), exp-s.Bias)
}

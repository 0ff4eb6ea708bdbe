package dtype

import "math"

// small is how a float of 8 bits is made: a sign, exponent bits, mantissa bits. Formats: "OCP 8-bit floating point specification
// (OFP8)", revision 1.0, 2023, as PyTorch rounds to them.
type small struct {
	mantissa int // bits
	bias     int
	most     uint8 // the greatest finite number
	over     uint8 // what stands for numbers that round to more
	nan      uint8
}

var (
	e4m3fn = small{3, 7, 0x7e, 0x7e, 0x7f} // without infinities: more than the greatest is the greatest
	e5m2   = small{2, 15, 0x7b, 0x7c, 0x7f}
)

// round gives the bits of the nearest number, of two the even one.
func (s *small) round(f float64) uint8 {
	b := math.Float64bits(f)
	sign := uint8(b >> 56 & 0x80)
	if f != f {
		return sign | s.nan
	}
	a := math.Abs(f)
	least := 1 - s.bias // the exponent of the smallest number with all digits
	var h uint64
	if a < math.Ldexp(1, least) {
		h = uint64(math.RoundToEven(math.Ldexp(a, s.mantissa-least)))
	} else {
		exp, frac := uint64(b>>52&0x7ff), b&(1<<52-1)
		h = (exp-1023+uint64(s.bias))<<s.mantissa | frac>>(52-s.mantissa)
		h = roundEven(h, frac<<(12+s.mantissa))
	}
	if h > uint64(s.most) {
		return sign | s.over
	}
	return sign | uint8(h)
}

// ToF8E4M3 rounds f to the bits of a float8 e4m3fn, ties to even. There is no infinity: what is
// more than 448, and infinity, is 448; NaN stays NaN.
func ToF8E4M3(f float64) uint8 { return e4m3fn.round(f) }

// FromF8E4M3 is the exact value of the bits of a float8 e4m3fn.
func FromF8E4M3(b uint8) float32 {
	sign, abs := uint32(b&0x80)<<24, uint32(b&0x7f)
	switch {
	case abs == 0x7f:
		return math.Float32frombits(sign | 0x7fc00000)
	case abs < 8:
		return math.Float32frombits(math.Float32bits(float32(abs)/512) | sign)
	}
	return math.Float32frombits(sign | abs<<20 + 120<<23)
}

// ToF8E5M2 rounds f to the bits of a float8 e5m2, ties to even; overflow gives infinity, NaN stays NaN.
func ToF8E5M2(f float64) uint8 { return e5m2.round(f) }

// FromF8E5M2 is the exact value of the bits of a float8 e5m2, which are the upper half of those of a float16.
func FromF8E5M2(b uint8) float32 { return FromF16(uint16(b) << 8) }

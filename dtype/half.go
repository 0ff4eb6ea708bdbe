package dtype

import "math"

// ToF16 rounds f to float16 bits, ties to even; overflow gives infinity, NaN stays NaN.
func ToF16(f float64) uint16 {
	b := math.Float64bits(f)
	sign := uint16(b >> 48 & 0x8000)
	if f != f {
		return sign | 0x7e00
	}
	a := math.Abs(f)
	switch {
	case a >= 65520:
		return sign | 0x7c00
	case a >= 6.103515625e-05: // normal: round to 11 significant bits
		exp := int(b>>52&0x7ff) - 1023
		frac := uint64(b & (1<<52 - 1))
		h := uint64(exp+15)<<10 | frac>>42
		return sign | uint16(roundEven(h, frac<<22))
	default: // a multiple of 2^-24
		return sign | uint16(math.RoundToEven(a*(1<<24)))
	}
}

// roundEven adds one to h when rest (a fraction of 2^64) is above a half, or is a half and h is odd.
func roundEven(h, rest uint64) uint64 {
	if rest > 1<<63 || rest == 1<<63 && h&1 == 1 {
		return h + 1
	}
	return h
}

// FromF16 is the exact value of float16 bits.
func FromF16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0:
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// ToBF16 rounds f to bfloat16 bits, ties to even. f is rounded once: the value is first taken to
// a float32 whose last bit remembers what was cut off (round to odd).
func ToBF16(f float64) uint16 {
	s := float32(f)
	if s != s {
		return uint16(math.Float32bits(s)>>16) | 0x40
	}
	b := math.Float32bits(s)
	if float64(s) != f && !math.IsInf(float64(s), 0) {
		if math.Abs(float64(s)) > math.Abs(f) {
			b--
		}
		b |= 1
	}
	return uint16(roundEven(uint64(b>>16), uint64(b)<<48))
}

// FromBF16 is the exact value of bfloat16 bits.
func FromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

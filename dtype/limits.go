package dtype

import "math"

// FloatInfo are the limits of a floating-point type.
type FloatInfo struct {
	Bits      int     // of an element
	Digits    int     // binary digits, the first one included
	Max       float64 // the greatest finite number; the least is −Max
	Normal    float64 // the smallest positive number with all digits
	Subnormal float64 // the smallest positive number
	Eps       float64 // the distance of 1 from the next number
	Infinite  bool    // there are infinities
}

// Finfo gives the limits of a floating-point type; ok is false for others.
func Finfo(d DType) (info FloatInfo, ok bool) {
	f, ok := d.Format()
	if !ok {
		return info, false
	}
	eps, normal := math.Ldexp(1, -f.Mantissa), math.Ldexp(1, 1-f.Bias)
	return FloatInfo{Bits: d.Bits(), Digits: d.Digits(), Max: d.Decode(f.Most), Normal: normal, Subnormal: normal * eps, Eps: eps, Infinite: f.Over > f.Most}, true
}

// Digits is the number of binary digits of a floating-point type, the first one included: so many bits of an integer it keeps. It is 0
// for other types.
func (d DType) Digits() int {
	if !d.IsFloat() {
		return 0
	}
	return formats[d].Mantissa + 1
}

// IntInfo are the limits of an integer type.
type IntInfo struct {
	Bits int
	Min  int64
	Max  uint64
}

// Iinfo gives the limits of an integer type that has storage; ok is false for others.
func Iinfo(d DType) (info IntInfo, ok bool) {
	bits := d.Bits()
	switch {
	case !d.IsInt() || bits == 0:
		return info, false
	case d.IsUnsigned():
		return IntInfo{bits, 0, ^uint64(0) >> (64 - bits)}, true
	}
	return IntInfo{bits, -1 << (bits - 1), 1<<(bits-1) - 1}, true
}

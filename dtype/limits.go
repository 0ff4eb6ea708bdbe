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
	if !d.IsFloat() {
		return info, false
	}
	row := &floats[d]
	eps, normal := math.Ldexp(1, 1-row.digits), math.Ldexp(1, row.least)
	return FloatInfo{Bits: d.Bits(), Digits: row.digits, Max: row.max, Normal: normal, Subnormal: normal * eps, Eps: eps, Infinite: d != F8E4M3}, true
}

// Digits is the number of binary digits of a floating-point type, the first one included: so many bits of an integer it keeps. It is 0
// for other types.
func (d DType) Digits() int {
	if !d.IsFloat() {
		return 0
	}
	return floats[d].digits
}

// floats are, for each type, its digits, the exponent of its smallest normal number and its greatest number.
var floats = [num]struct {
	digits, least int
	max           float64
}{
	F8E4M3: {4, -6, 448}, F8E5M2: {3, -14, 57344}, F16: {11, -14, 65504}, BF16: {8, -126, 0x1.fep127},
	F32: {24, -126, math.MaxFloat32}, F64: {53, -1022, math.MaxFloat64},
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

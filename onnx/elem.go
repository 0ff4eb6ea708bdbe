package onnx

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
)

// Elem is the type of an element, by its number in the format.
type Elem int32

// The types of elements.
const (
	Float32    Elem = 1
	Uint8      Elem = 2
	Int8       Elem = 3
	Uint16     Elem = 4
	Int16      Elem = 5
	Int32      Elem = 6
	Int64      Elem = 7
	String     Elem = 8
	Bool       Elem = 9
	Float16    Elem = 10
	Float64    Elem = 11
	Uint32     Elem = 12
	Uint64     Elem = 13
	Complex64  Elem = 14
	Complex128 Elem = 15
	BFloat16   Elem = 16
	F8E4M3     Elem = 17
	F8E4M3UZ   Elem = 18
	F8E5M2     Elem = 19
	F8E5M2UZ   Elem = 20
	Uint4      Elem = 21
	Int4       Elem = 22
	F4E2M1     Elem = 23
	F8E8M0     Elem = 24
	Uint2      Elem = 25
	Int2       Elem = 26
)

// elemInfo is what a type is: its bits in a file, and the type of tensors that carries it. Of the types that tensors do not have every value is
// one of the carrier.
type elemInfo struct {
	name    string
	bits    int
	carrier dtype.DType
	small   *minifloat
}

var elems = [...]elemInfo{
	Float32: {"float32", 32, dtype.F32, nil}, Uint8: {"uint8", 8, dtype.U8, nil}, Int8: {"int8", 8, dtype.I8, nil},
	Uint16: {"uint16", 16, dtype.U16, nil}, Int16: {"int16", 16, dtype.I16, nil}, Int32: {"int32", 32, dtype.I32, nil},
	Int64: {"int64", 64, dtype.I64, nil}, String: {"string", 0, dtype.Void, nil}, Bool: {"bool", 8, dtype.Bool, nil},
	Float16: {"float16", 16, dtype.F16, nil}, Float64: {"float64", 64, dtype.F64, nil}, Uint32: {"uint32", 32, dtype.U32, nil},
	Uint64: {"uint64", 64, dtype.U64, nil}, Complex64: {"complex64", 64, dtype.Void, nil}, Complex128: {"complex128", 128, dtype.Void, nil},
	BFloat16: {"bfloat16", 16, dtype.BF16, nil},
	F8E4M3:   {"float8e4m3fn", 8, dtype.F8E4M3, &minifloat{mantissa: 3, bias: 7, most: 448, nan: true}},
	F8E4M3UZ: {"float8e4m3fnuz", 8, dtype.F32, &minifloat{mantissa: 3, bias: 8, most: 240, nan: true, unsigned0: true}},
	F8E5M2:   {"float8e5m2", 8, dtype.F8E5M2, &minifloat{mantissa: 2, bias: 15, most: 57344, nan: true, inf: true}},
	F8E5M2UZ: {"float8e5m2fnuz", 8, dtype.F32, &minifloat{mantissa: 2, bias: 16, most: 57344, nan: true, unsigned0: true}},
	Uint4:    {"uint4", 4, dtype.U8, nil}, Int4: {"int4", 4, dtype.I8, nil},
	F4E2M1: {"float4e2m1", 4, dtype.F32, &minifloat{mantissa: 1, bias: 1, most: 6}},
	F8E8M0: {"float8e8m0", 8, dtype.F32, nil},
	Uint2:  {"uint2", 2, dtype.U8, nil}, Int2: {"int2", 2, dtype.I8, nil},
}

func (e Elem) row() elemInfo {
	if e > 0 && int(e) < len(elems) {
		return elems[e]
	}
	return elemInfo{name: fmt.Sprintf("type %d", int32(e)), carrier: dtype.Void}
}

// String is the name that the format's documentation has for the type.
func (e Elem) String() string { return e.row().name }

func (e Elem) bits() int { return e.row().bits }

// DType is the type of the tensors that carry such elements, dtype.Void where none does.
func (e Elem) DType() dtype.DType { return e.row().carrier }

// isFloat says that values of the type are floating-point numbers.
func (e Elem) isFloat() bool { return e.DType().IsFloat() }

// narrow says that the type has fewer values than its carrier.
func (e Elem) narrow() bool {
	switch e {
	case F8E4M3UZ, F8E5M2UZ, Uint4, Int4, F4E2M1, F8E8M0, Uint2, Int2:
		return true
	}
	return false
}

// elemOf is the type of a tensor's elements.
func elemOf(d dtype.DType) Elem {
	for e, row := range elems {
		if row.carrier == d && !Elem(e).narrow() && row.bits > 0 {
			return Elem(e)
		}
	}
	return 0
}

// minifloat is a float of at most 8 bits: OCP 8-bit floating point specification (OFP8), OCP microscaling formats (MX), and those without a
// negative zero of https://onnx.ai/onnx/technical/float8.html.
type minifloat struct {
	mantissa  int // bits
	bias      int
	most      float64 // the greatest finite number
	nan, inf  bool
	unsigned0 bool // the bits of −0 are NaN
}

// value is the number of which b are the bits.
func (m *minifloat) value(b byte, bits int) float64 {
	sign := 1.0
	top := byte(1) << (bits - 1)
	if b&top != 0 {
		sign = -1
	}
	if m.unsigned0 && b == top {
		return math.NaN()
	}
	b &= top - 1
	exp, frac := int(b>>m.mantissa), float64(b&(1<<m.mantissa-1))
	v := math.Ldexp(frac, 1-m.bias-m.mantissa)
	if exp > 0 {
		v = math.Ldexp(frac+float64(int(1)<<m.mantissa), exp-m.bias-m.mantissa)
	}
	switch {
	case v <= m.most:
		return sign * v
	case m.inf && frac == 0:
		return sign * math.Inf(1)
	}
	return math.NaN()
}

package c

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

var scalars = map[dtype.DType]string{
	dtype.Index: "int64_t", dtype.Bool: "int32_t", dtype.I8: "int8_t", dtype.U8: "uint8_t", dtype.I16: "int16_t",
	dtype.U16: "uint16_t", dtype.I32: "int32_t", dtype.U32: "uint32_t", dtype.I64: "int64_t", dtype.U64: "uint64_t",
	dtype.F32: "float", dtype.F64: "double",
}

// scalar is the C type of a value.
func scalar(d dtype.DType) string { return scalars[d.Word()] }

// stored is the C type of an element in memory: of those that C has no type for, of their bits.
func stored(d dtype.DType) string {
	if d == dtype.Bool {
		return "uint8_t"
	}
	return scalar(d)
}

// elem is the short name of a vector's element type; bool vectors are masks, named by their width.
func elem(d dtype.DType) string {
	switch d {
	case dtype.Index:
		return "i64"
	case dtype.Bool:
		return "u8"
	}
	return d.Word().Short()
}

var byElem = map[string]string{
	"i8": "int8_t", "u8": "uint8_t", "i16": "int16_t", "u16": "uint16_t", "i32": "int32_t", "u32": "uint32_t",
	"i64": "int64_t", "u64": "uint64_t", "f32": "float", "f64": "double",
}

var elemBits = map[string]int{"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64, "f32": 32, "f64": 64}

func constant(d dtype.DType, v uop.Value) string {
	switch {
	case d.IsNarrow():
		return fmt.Sprint(uop.ToBits(d, v))
	case d.IsFloat():
		return floatConst(d, v.Float())
	case d == dtype.Bool:
		return fmt.Sprint(uint64(v))
	case d == dtype.U64:
		return fmt.Sprintf("%dULL", uint64(v))
	case d == dtype.U32:
		return fmt.Sprintf("%dU", uint64(v))
	case d == dtype.I64 || d == dtype.Index:
		if v.Int() == math.MinInt64 {
			return "(-9223372036854775807LL-1)"
		}
		if d == dtype.Index && v.Int() >= 0 && v.Int() < 1<<31 {
			return fmt.Sprint(v.Int())
		}
		return fmt.Sprintf("%s%dLL%s", paren(v.Int(), "("), v.Int(), paren(v.Int(), ")"))
	case v.Int() == math.MinInt32:
		return "(-2147483647-1)"
	}
	return paren(v.Int(), "(") + fmt.Sprint(v.Int()) + paren(v.Int(), ")")
}

func paren(n int64, p string) string {
	if n < 0 {
		return p
	}
	return ""
}

func floatConst(d dtype.DType, f float64) string {
	suffix, bits := "", 64
	if d == dtype.F32 {
		suffix, bits = "f", 32
	}
	switch {
	case f != f:
		return "__builtin_nan" + suffix + `("")`
	case math.IsInf(f, 1):
		return "__builtin_inf" + suffix + "()"
	case math.IsInf(f, -1):
		return "(-__builtin_inf" + suffix + "())"
	}
	s := strconv.FormatFloat(f, 'e', -1, bits) + suffix
	if math.Signbit(f) {
		return "(" + s + ")"
	}
	return s
}

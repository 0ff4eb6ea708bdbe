package wgsl

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// value is the type of a value: narrow integers are kept in 32 bits, in range; float16 as floats that have no more
// digits, other narrow floats as their bits; 64-bit integers as two words, the low one first.
func value(d dtype.DType) string {
	switch d {
	case dtype.Bool:
		return "bool"
	case dtype.I64, dtype.U64:
		return "vec2<u32>"
	case dtype.F32, dtype.F16:
		return "f32"
	case dtype.Index, dtype.I8, dtype.I16, dtype.I32:
		return "i32"
	}
	return "u32"
}

// kept is the type of an element in memory of a workgroup. Truth values are words there: the language does not say how they lie, and kept as they are
// an "all" of 66 numbers came out wrong on an NVIDIA H200 (seed 163027049 of the fuzzer), and nowhere else.
func kept(d dtype.DType) string {
	if d == dtype.Bool {
		return "u32"
	}
	return value(d)
}

// stored is the type of the words of a buffer.
func (r *renderer) stored(d dtype.DType) string {
	switch {
	case r.subword(d) > 1:
		return "u32"
	case d == dtype.F16:
		return "f16"
	}
	return value(d)
}

// subword is how many elements share a word of memory.
func (r *renderer) subword(d dtype.DType) int {
	if d == dtype.F16 && r.p.Features.Has(plan.Half) {
		return 1
	}
	switch d.Size() {
	case 1:
		return 4
	case 2:
		return 2
	}
	return 1
}

// wide says that values are pairs of words.
func wide(d dtype.DType) bool { return d == dtype.I64 || d == dtype.U64 }

// narrow brings the result of 32-bit arithmetic back into the range of a narrower type.
func narrow(d dtype.DType, s string) string {
	switch {
	case !d.IsInt() || d == dtype.Index || d.Size() >= 4:
		return s
	case d.IsUnsigned():
		return fmt.Sprintf("(%s & 0x%xu)", s, 1<<d.Bits()-1)
	}
	return fmt.Sprintf("((%s << %du) >> %du)", s, 32-d.Bits(), 32-d.Bits())
}

func (r *renderer) constant(d dtype.DType, v uop.Value) string {
	switch {
	case value(d) == "f32":
		return r.float(v.Float())
	case d.IsNarrow():
		return fmt.Sprintf("0x%xu", uop.ToBits(d, v))
	case d == dtype.Bool:
		return fmt.Sprint(v.Bool())
	case wide(d):
		return fmt.Sprintf("vec2<u32>(%du, %du)", uint32(v), uint32(uint64(v)>>32))
	case value(d) == "u32":
		return fmt.Sprintf("%du", uint32(v))
	case v.Int() == math.MinInt32:
		return "i32(-2147483648)"
	case v.Int() < 0:
		return fmt.Sprintf("(%d)", v.Int())
	}
	return fmt.Sprint(v.Int())
}

// float: shader compilers may assume that infinity and NaN do not occur, so these come from memory.
func (r *renderer) float(f float64) string {
	switch {
	case f != f:
		return "bitcast<f32>(u[0].y)"
	case math.IsInf(f, 1):
		return "bitcast<f32>(u[0].x)"
	case math.IsInf(f, -1):
		return "bitcast<f32>(u[0].x | 0x80000000u)"
	case f == 0 && math.Signbit(f):
		return "bitcast<f32>(0x80000000u)"
	case f != 0 && math.Abs(f) < 0x1p-126:
		return fmt.Sprintf("bitcast<f32>(0x%xu)", math.Float32bits(float32(f)))
	}
	size := 32
	if math.Abs(f) == math.MaxFloat32 {
		size = 64 // in the fewest digits it is a little more, which browsers refuse
	}
	s := strconv.FormatFloat(f, 'e', -1, size) + "f"
	if f < 0 {
		return "(" + s + ")"
	}
	return s
}

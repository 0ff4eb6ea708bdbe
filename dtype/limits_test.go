package dtype_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
)

// Limits as torch.finfo gives them (PyTorch 2.15): bits, max, smallest_normal, eps.
func TestFinfo(t *testing.T) {
	t.Parallel()
	for d, want := range map[dtype.DType][4]float64{
		dtype.F8E4M3: {8, 448, 0.015625, 0.125}, dtype.F8E5M2: {8, 57344, 6.103515625e-05, 0.25}, dtype.F16: {16, 65504, 6.103515625e-05, 0.0009765625},
		dtype.BF16: {16, 3.3895313892515355e+38, 1.1754943508222875e-38, 0.0078125}, dtype.F32: {32, 3.4028234663852886e+38, 1.1754943508222875e-38, 1.1920928955078125e-07},
		dtype.F64: {64, 1.7976931348623157e+308, 2.2250738585072014e-308, 2.220446049250313e-16},
	} {
		f, ok := dtype.Finfo(d)
		require.True(t, ok)
		require.Equal(t, want, [4]float64{float64(f.Bits), f.Max, f.Normal, f.Eps}, d.String())
		require.Equal(t, f.Digits, d.Digits())
	}
	f, _ := dtype.Finfo(dtype.F8E4M3)
	require.False(t, f.Infinite)
	require.Equal(t, dtype.F8E4M3.Decode(1), f.Subnormal)
	f, _ = dtype.Finfo(dtype.F64)
	require.Equal(t, math.SmallestNonzeroFloat64, f.Subnormal)
	for _, d := range []dtype.DType{dtype.Bool, dtype.I32, dtype.Index, dtype.Void, 200} {
		_, ok := dtype.Finfo(d)
		require.False(t, ok)
		require.Zero(t, d.Digits())
	}
}

func TestIinfo(t *testing.T) {
	t.Parallel()
	for d, want := range map[dtype.DType]dtype.IntInfo{
		dtype.I8: {8, -128, 127}, dtype.U8: {8, 0, 255}, dtype.I16: {16, math.MinInt16, math.MaxInt16}, dtype.U16: {16, 0, math.MaxUint16},
		dtype.I32: {32, math.MinInt32, math.MaxInt32}, dtype.U32: {32, 0, math.MaxUint32}, dtype.I64: {64, math.MinInt64, math.MaxInt64}, dtype.U64: {64, 0, math.MaxUint64},
	} {
		got, ok := dtype.Iinfo(d)
		require.True(t, ok)
		require.Equal(t, want, got, d.String())
	}
	for _, d := range []dtype.DType{dtype.Bool, dtype.F32, dtype.Index, dtype.Void, 200} {
		_, ok := dtype.Iinfo(d)
		require.False(t, ok)
	}
}

// The types that operations on two types are computed in. Where PyTorch 2.15 has both types (torch.promote_types), they are its; the
// rest is the reference system's lattice: u64 with a signed integer is a float, float8 comes between integers and float16.
func TestPromote(t *testing.T) {
	t.Parallel()
	order := []string{"b1", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"}
	for i, row := range [][]string{
		{"b1", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
		{"u8", "u8", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
		{"i8", "i16", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
		{"i16", "i16", "i16", "i16", "i32", "i64", "f16", "bf16", "f32", "f64"},
		{"i32", "i32", "i32", "i32", "i32", "i64", "f16", "bf16", "f32", "f64"},
		{"i64", "i64", "i64", "i64", "i64", "i64", "f16", "bf16", "f32", "f64"},
		{"f16", "f16", "f16", "f16", "f16", "f16", "f16", "f32", "f32", "f64"},
		{"bf16", "bf16", "bf16", "bf16", "bf16", "bf16", "f32", "bf16", "f32", "f64"},
		{"f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f32", "f64"},
		{"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
	} {
		for k, want := range row {
			promotes(t, order[i], order[k], want)
		}
	}
	for _, c := range [][3]string{
		{"u8", "u16", "u16"}, {"i8", "u16", "i32"}, {"u16", "i16", "i32"}, {"u16", "i32", "i32"}, {"u16", "u32", "u32"}, {"u32", "i32", "i64"},
		{"u32", "i8", "i64"}, {"u32", "u64", "u64"}, {"u8", "u64", "u64"}, {"u64", "i64", "f32"}, {"u64", "i8", "f32"}, {"b1", "u64", "u64"},
		{"u64", "f16", "f16"}, {"u64", "bf16", "bf16"}, {"u64", "f32", "f32"},
		{"i64", "f8e4m3", "f8e4m3"}, {"u64", "f8e5m2", "f8e5m2"}, {"b1", "f8e5m2", "f8e5m2"}, {"u8", "f8e4m3", "f8e4m3"},
		{"f8e4m3", "f8e5m2", "f16"}, {"f8e4m3", "f16", "f16"}, {"f8e4m3", "bf16", "bf16"}, {"f8e5m2", "f32", "f32"}, {"f8e5m2", "f64", "f64"},
	} {
		promotes(t, c[0], c[1], c[2])
	}
	for _, a := range dtype.All {
		require.Equal(t, a, dtype.Promote(a, a))
		for _, b := range dtype.All {
			require.NotEqual(t, dtype.Void, dtype.Promote(a, b), "%v %v", a, b)
		}
	}
}

func promotes(t *testing.T, a, b, want string) {
	t.Helper()
	x, okX := dtype.Parse(a)
	y, okY := dtype.Parse(b)
	require.True(t, okX && okY)
	require.Equal(t, want, dtype.Promote(x, y).Short(), "%s %s", a, b)
	require.Equal(t, want, dtype.Promote(y, x).Short(), "%s %s", b, a)
}

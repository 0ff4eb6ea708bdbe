// Package edges tests arguments at the edges of what they may be, on every device.
package edges

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

var (
	ctx = context.Background()
	nan = math.NaN()
	inf = math.Inf(1)
)

// each runs f with each device as the default one.
func each(t *testing.T, f func(t *testing.T, name string)) {
	for _, name := range []string{"REF", "INTERP", "CPU", "WASM", "WEBGPU"} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Use(name)
			need.Device(t, name, err)
			engine.Configure(engine.Options{}, name)
			defer engine.Configure(engine.Options{}, "")
			f(t, name)
		})
	}
}

// row is numbers of a type.
func row(d dtype.DType, v ...float64) *tensor.Tensor {
	f := make([]float32, len(v))
	for i := range v {
		f[i] = float32(v[i])
	}
	return tensor.Of(f).To(d)
}

// expect compares exactly; NaN equals NaN.
func expect(t *testing.T, x *tensor.Tensor, d dtype.DType, want ...float64) {
	t.Helper()
	assert.Equal(t, d, x.DType())
	raw, err := tensor.Data[float32](ctx, x.To(dtype.F32))
	require.NoError(t, err)
	require.Len(t, raw, len(want))
	got := make([]float64, len(raw))
	for i := range raw {
		got[i] = float64(raw[i])
	}
	for i := range want {
		if !(got[i] == want[i] || got[i] != got[i] && want[i] != want[i]) {
			assert.Fail(t, "other numbers", "%v, not %v", got, want)
			return
		}
	}
}

func TestLimitsThatAreNaN(t *testing.T) {
	all := []float64{nan, nan, nan, nan}
	each(t, func(t *testing.T, name string) {
		for _, d := range []dtype.DType{dtype.F32, dtype.F16} {
			x := row(d, -2, 0.5, nan, inf)
			for _, limits := range [][2]any{{nan, nil}, {nil, nan}, {nan, 1}, {0, nan}, {nan, nan}, {nan, -inf}} {
				expect(t, x.Clamp(limits[0], limits[1]), d, all...)
			}
			some := row(d, nan, 0, 0, 0)
			expect(t, x.Clamp(some, 1), d, nan, 0.5, nan, 1)
			expect(t, x.Clamp(nil, some), d, nan, 0, nan, 0)
			expect(t, x.Clamp(some, some), d, nan, 0, nan, 0)
			expect(t, x.Clamp(1, -1), d, -1, -1, nan, -1)
			expect(t, x.Clamp(-inf, inf), d, -2, 0.5, nan, inf)
			expect(t, x.HardTanh(nan, 1), d, all...)
			expect(t, x.HardTanh(-1, nan), d, all...)
			expect(t, x.HardTanh(1, -1), d, -1, -1, nan, -1)
			expect(t, x.HardTanh(-1, 1), d, -1, 0.5, nan, 1)
			expect(t, x.Maximum(nan), d, all...)
			expect(t, x.Minimum(nan), d, all...)
		}
		expect(t, row(dtype.I32, 1, 2).Clamp(nan, nil), dtype.F32, nan, nan)
		g := func(lo, hi any) *tensor.Tensor {
			x := tensor.Of([]float32{-2, 0.5, 3})
			return x.Clamp(lo, hi).Sum().Grad(x)[0]
		}
		expect(t, g(nan, nil), dtype.F32, 0, 0, 0)
		expect(t, g(-1, 1), dtype.F32, 0, 1, 0)
	})
}

func TestSumsOfATypeAskedFor(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		x := row(dtype.F32, 100, 27.75, 1, 1.5)
		expect(t, x.SumOf(dtype.I8), dtype.I8, -127) // 100 + 27 + 1 + 1 − 256
		expect(t, x.SumOf(dtype.U8), dtype.U8, 129)
		expect(t, x.SumOf(dtype.Bool), dtype.Bool, 1)
		expect(t, x.Mul(0).SumOf(dtype.Bool), dtype.Bool, 0)
		expect(t, x.SumOf(dtype.F16), dtype.F16, 130.25)
		expect(t, x.SumOf(dtype.I32, 0), dtype.I32, 129)
		expect(t, x.Reshape(2, 2).SumOf(dtype.I16, 1), dtype.I16, 127, 2)
		expect(t, x.ProdOf(dtype.I8), dtype.I8, -116) // 2700 − 11·256
		expect(t, x.CumSumOf(dtype.I8, 0), dtype.I8, 100, 127, -128, -127)
		expect(t, x.CumProdOf(dtype.U8, 0), dtype.U8, 100, 140, 140, 140)
		expect(t, row(dtype.F32, 2049, 1).SumOf(dtype.F16), dtype.F16, 2048) // 2048 + 1, to even
		expect(t, tensor.Zeros(0).SumOf(dtype.I8), dtype.I8, 0)
	})
}

func TestFractionalCorrections(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		x := row(dtype.F32, 1, 2, 3, 6) // squares around the mean: 14
		for _, c := range []struct{ correction, variance float64 }{{0, 3.5}, {0.5, 4}, {-3, 2}, {1.2, 5}, {4, inf}, {7.5, inf}, {2.25, 8}} {
			for _, got := range []*tensor.Tensor{x.Var(c.correction), x.VarKeep(c.correction, 0), x.Std(c.correction).Square(), x.StdKeep(c.correction, 0).Square()} {
				v, err := got.Item(ctx)
				require.NoError(t, err)
				if !(v == c.variance || math.Abs(v-c.variance) <= 1e-6*c.variance) {
					assert.Fail(t, "another variance", "correction %v: %v, not %v", c.correction, v, c.variance)
				}
			}
		}
		_, variance := x.Reshape(2, 1, 2).ChannelMoments(0.5)
		expect(t, variance, dtype.F32, 4)
	})
	assert.ErrorContains(t, tensor.Try(func() { tensor.Zeros(3).Std(nan) }), "the correction is NaN")
}

// What is made like a tensor lies where it lies, and meets it there.
func TestLikeIsOnTheSameDevice(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		for _, other := range []string{"REF", "INTERP", "CPU", "WASM"} {
			_, err := engine.Use(other)
			need.Device(t, other, err)
			x := tensor.Of([]float32{1, 2}).On(other)
			for kind, y := range map[string]*tensor.Tensor{
				"EmptyLike": tensor.EmptyLike(x), "ZerosLike": tensor.ZerosLike(x), "OnesLike": tensor.OnesLike(x), "FullLike": tensor.FullLike(x, 7),
				"RandLike": tensor.RandLike(x), "RandnLike": tensor.RandnLike(x), "IsNaN": row(dtype.I32, 1).On(other).IsNaN(),
			} {
				assert.Equal(t, other, y.Device(), kind)
				require.NoError(t, y.Realize(ctx), kind)
				assert.Equal(t, other, y.Device(), kind)
				_, err := x.Add(y).Bytes(ctx)
				assert.NoError(t, err, kind)
			}
			expect(t, tensor.OnesLike(x).Add(x), dtype.F32, 2, 3)
			expect(t, tensor.FullLike(x, 7).On(name), dtype.F32, 7, 7)
			expect(t, tensor.EmptyLike(x).Assign(3), dtype.F32, 3, 3)
		}
		assert.Empty(t, tensor.ZerosLike(tensor.Ones(2)).Device(), "constants fit any")
		assert.Equal(t, name, tensor.EmptyLike(tensor.Ones(2)).Device())
	})
}

// Remainders are exact however long the quotient is.
func TestRemaindersOfLongQuotients(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		x := []float64{3e38, -3e38, 1e30, 16777217 * 64, 5, 1e20, 7, inf, 1, 1e38, 3e38}
		y := []float64{1e-30, 7, -0.3, 3, inf, 1.17549435e-38, 0, 2, nan, 3e38, 1.5}
		want := make([]float64, len(x))
		for i := range x {
			want[i] = math.Mod(float64(float32(x[i])), float64(float32(y[i])))
		}
		expect(t, row(dtype.F32, x...).Fmod(row(dtype.F32, y...)), dtype.F32, want...)
		expect(t, row(dtype.F16, 65504, 6e-8).Fmod(row(dtype.F16, 6e-8, 65504)), dtype.F16, 0, float64(float32(5.9604645e-08)))
	})
}

// Many short rows are sorted, by as many invocations as there are rows.
func TestSortOfManyShortRows(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		for _, s := range [][]int{{70_000, 3}, {300, 300}, {7, 2, 1025}} {
			if name == "REF" && s[0] != 7 {
				continue
			}
			x := tensor.Arange(s[0] * s[1]).Mul(7919).Mod(1013).To(dtype.F32)
			if len(s) == 3 {
				x = tensor.Arange(s[0] * s[1] * s[2]).Mul(7919).Mod(1013).To(dtype.F32)
			}
			x = x.Reshape(s...)
			for axis := range s {
				values, order := x.Sort(axis, axis == 1)
				n := x.Dim(axis)
				next, last := values.Narrow(axis, 1, n-1), values.Narrow(axis, 0, n-1)
				wrong := next.Lt(last)
				if axis == 1 {
					wrong = last.Lt(next)
				}
				sum, all := order.Sum(axis), n*(n-1)/2
				if sum.DType() == dtype.I32 { // where there are no 64 bits, in which it would not wrap
					all = int(int32(all))
				}
				expect(t, tensor.Stack(0, wrong.Any().To(dtype.F32), x.TakeAlong(axis, order).Ne(values).Any().To(dtype.F32),
					sum.Ne(all).Any().To(dtype.F32)), dtype.F32, 0, 0, 0)
			}
			if s[len(s)-1] > 2 {
				top, _ := x.TopK(2, -1, true)
				expect(t, top.Narrow(-1, 0, 1).Ne(x.MaxKeep(-1)).Any().To(dtype.F32), dtype.F32, 0)
			}
		}
	})
}

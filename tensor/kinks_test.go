package tensor_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// slopes is the gradient of Σ y with respect to x.
func slopes(t *testing.T, y, x *tensor.Tensor) []float64 {
	t.Helper()
	return floats(t, y.Sum().Grad(x)[0])
}

func floats(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	v, err := tensor.Data[float64](t.Context(), x.To(dtype.F64))
	require.NoError(t, err)
	return v
}

// Values and gradients where a function has a kink or ends, as PyTorch 2.15 has them.
func TestKinks(t *testing.T) {
	nan := float32(math.NaN())
	x := tensor.Of([]float32{-2, -1, 0, 1, 2, nan}, 6)
	require.Equal(t, []float64{0, 0, 1, 0, 0, 0}, slopes(t, x.Clamp(-1, 1), x))
	require.Equal(t, []float64{0, 0, 1, 1, 1, 0}, slopes(t, x.Clamp(-1, nil), x))
	require.Equal(t, []float64{1, 1, 1, 0, 0, 0}, slopes(t, x.Clamp(nil, 1), x))
	lo, hi := tensor.Of([]float32{-1}, 1), tensor.Of([]float32{1}, 1)
	y := x.Narrow(0, 0, 5).Clamp(lo, hi)
	require.Equal(t, []float64{0, .5, 1, .5, 0, 0}, slopes(t, y, x))
	require.Equal(t, []float64{1.5}, slopes(t, y, lo))
	require.Equal(t, []float64{1.5}, slopes(t, y, hi))

	p := tensor.Of([]float32{.25, .5, 1.25, -.25}, 4)
	require.Equal(t, []float64{float64(float32(16) / 3), 4, 0, 0}, slopes(t, p.Logit(0), p))
	g := slopes(t, p.Logit(-1), p)
	require.Equal(t, []float64{float64(float32(16) / 3), 4}, g[:2])
	require.True(t, math.IsNaN(g[2]) && math.IsNaN(g[3]), "beyond 0 and 1: %v", g)

	z := tensor.Of([]float32{0, 2, 0}, 3)
	require.InDeltaSlice(t, []float64{0, 1, 0}, slopes(t, z.Norm(.5), z), 1e-6)
	require.Equal(t, []float64{0, 0, 0}, slopes(t, z.Norm(-1), z))
	require.Equal(t, []float64{0}, floats(t, z.Norm(-1).Reshape(1)))
}

// A limit that an integer type does not hold is no other number.
func TestClampBeyondIntegers(t *testing.T) {
	u := tensor.Of([]uint8{0, 8, 255}, 3)
	require.Equal(t, []float64{0, 8, 255}, floats(t, u.Clamp(-1, 300)))
	require.Equal(t, []float64{0, 0, 0}, floats(t, u.Clamp(nil, -1)))
	i := tensor.Of([]int8{-128, 0, 127}, 3)
	require.Equal(t, []float64{-128, 0, 127}, floats(t, i.Clamp(-200, 200)))
	require.Equal(t, []float64{127, 127, 127}, floats(t, i.Clamp(200, nil)))
	require.Equal(t, dtype.I8, i.ReLU6().DType())
	require.Equal(t, []float64{0, 0, 6}, floats(t, i.ReLU6()))
}

// A number that an integer type does not hold compares as what it is, and is the nearest one where the greater or the lesser is taken.
func TestNumbersBeyondIntegers(t *testing.T) {
	for _, d := range []dtype.DType{dtype.I8, dtype.U8, dtype.I16, dtype.U16, dtype.I32, dtype.U32} {
		bits := 8 * d.Size()
		least, most := 0, 1<<bits-1
		if !d.IsUnsigned() {
			least, most = -1<<(bits-1), 1<<(bits-1)-1
		}
		x := tensor.Of([]int64{int64(least), 3, int64(most)}, 3).To(d)
		no, yes := []float64{0, 0, 0}, []float64{1, 1, 1}
		for _, v := range []int{most + 1, 1<<bits + 3, 1<<bits - 1 + 1<<bits} {
			for i, y := range []*tensor.Tensor{x.Eq(v), x.Gt(v), x.Ge(v), x.Ne(v), x.Lt(v), x.Le(v)} {
				same(t, [][]float64{no, yes}[i/3], y, d, v, i)
			}
			same(t, []float64{float64(least), 3, float64(most)}, x.Minimum(v), d, v)
			same(t, []float64{float64(most), float64(most), float64(most)}, x.FMax(v), d, v)
		}
		for _, v := range []int{least - 1, 3 - 1<<bits, -1 << 40} {
			for i, y := range []*tensor.Tensor{x.Eq(v), x.Lt(v), x.Le(v), x.Ne(v), x.Gt(v), x.Ge(v)} {
				same(t, [][]float64{no, yes}[i/3], y, d, v, i)
			}
			same(t, []float64{float64(least), 3, float64(most)}, x.Maximum(v), d, v)
			same(t, []float64{float64(least), float64(least), float64(least)}, x.FMin(v), d, v)
		}
	}
}

// −0 to an odd power keeps its sign.
func TestPowerOfMinusZero(t *testing.T) {
	x := tensor.Full(math.Copysign(0, -1), dtype.F32, 1)
	y := tensor.Of([]float32{-3, -2, -1.5, 3, 2, 5}, 6)
	got := floats(t, x.Expand(6).Contiguous().Pow(y))
	want := []float64{math.Inf(-1), math.Inf(1), math.Inf(1), math.Copysign(0, -1), 0, math.Copysign(0, -1)}
	for i, v := range got {
		require.Equal(t, math.Float64bits(want[i]), math.Float64bits(v), "(−0) to %v", []float64{-3, -2, -1.5, 3, 2, 5}[i])
	}
}

// A bool among indices is a new axis: of one element, or of none.
func TestBoolIndex(t *testing.T) {
	x := tensor.Arange(6).Reshape(2, 3)
	for _, c := range []struct {
		index []any
		shape []int
	}{
		{[]any{true}, []int{1, 2, 3}},
		{[]any{false}, []int{0, 2, 3}},
		{[]any{true, 1}, []int{1, 3}},
		{[]any{tensor.All, true}, []int{2, 1, 3}},
		{[]any{tensor.All, true, []int{2, 0}}, []int{2, 2}},
		{[]any{tensor.Ellipsis, false}, []int{2, 3, 0}},
		{[]any{true, true}, []int{1, 2, 3}},
	} {
		require.Equal(t, c.shape, []int(x.At(c.index...).Shape()), "%v", c.index)
	}
	require.Equal(t, []float64{2, 0, 5, 3}, floats(t, x.At(tensor.All, true, []int{2, 0}).Reshape(4)))
	require.Equal(t, []float64{7, 7, 7, 3, 4, 5}, floats(t, x.WithAt(7, true, 0).Reshape(6)))
	require.Equal(t, []float64{0, 1, 2, 3, 4, 5}, floats(t, x.WithAt(7, false).Reshape(6)))
	require.Equal(t, []int{1}, []int(tensor.Full(2, dtype.F32).At(true).Shape()))
}

// A NaN takes the gradient of a maximum as it takes its value, and has no sign.
func TestNaNs(t *testing.T) {
	nan := float32(math.NaN())
	x, y := tensor.Of([]float32{nan, 1, nan, 1, 2}, 5), tensor.Of([]float32{1, nan, nan, 1, 1}, 5)
	for _, z := range []*tensor.Tensor{x.Maximum(y), x.Neg().Minimum(y.Neg()).Neg()} {
		require.Equal(t, []float64{1, 1, 1, .5, 1}, slopes(t, z, x))
		require.Equal(t, []float64{1, 1, 1, .5, 0}, slopes(t, z, y))
	}
	require.Equal(t, []float64{0, 1, 0, 1, 1}, floats(t, x.Sign()))
	require.Equal(t, []float64{0, 1, 0, 1, 1}, slopes(t, x.Abs(), x))
}

// What types PyTorch gives where bools and bytes are no numbers.
func TestTruthTypes(t *testing.T) {
	u, b := tensor.Of([]uint8{0, 2}, 2), tensor.Of([]bool{false, true}, 2)
	require.Equal(t, dtype.U8, u.Any().DType())
	require.Equal(t, dtype.U8, u.AllKeep(0).DType())
	require.Equal(t, []float64{1, 0}, floats(t, tensor.Stack(0, u.Any(), u.All())))
	require.Equal(t, dtype.Bool, b.Any().DType())
	require.Equal(t, dtype.I32, b.Square().DType())
	require.Equal(t, []float64{0, 1}, floats(t, b.Square()))
	for _, c := range []struct {
		v    any
		d    dtype.DType
		want []float64
	}{{true, dtype.Bool, []float64{0, 1}}, {false, dtype.Bool, []float64{1, 1}}, {b, dtype.Bool, []float64{1, 1}}, {2, dtype.I32, []float64{0, 1}}, {.5, dtype.F32, []float64{0, 1}}} {
		y := b.Pow(c.v)
		require.Equal(t, c.d, y.DType(), "%v", c.v)
		require.Equal(t, c.want, floats(t, y), "%v", c.v)
	}
}

// Adaptive pools to nothing give nothing.
func TestPoolsToNothing(t *testing.T) {
	x := tensor.Ones(1, 2, 5, 5)
	v, i := x.AdaptiveMaxPool(0, 3)
	require.Equal(t, []int{1, 2, 0, 3}, v.Shape())
	require.Equal(t, []int{1, 2, 0, 3}, i.Shape())
	require.Equal(t, []int{1, 2, 3, 0}, x.AdaptiveAvgPool(3, 0).Shape())
	require.Empty(t, floats(t, x.AdaptiveAvgPool(3, 0)))
	require.Equal(t, slices.Repeat([]float64{0}, 50), slopes(t, v, x))
	for _, f := range []func(){func() { x.AdaptiveAvgPool(-1, 2) }, func() { x.AdaptiveMaxPool(-1, 2) }} {
		require.ErrorContains(t, tensor.Try(f), "size 5 cannot become -1")
	}
}

// Slopes of activations at NaN, infinities and kinks, as PyTorch 2.15 has them on a CPU.
func TestSlopesOfActivations(t *testing.T) {
	nan, inf, zero := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
	x := f32(nan, inf, -inf, 0, zero, 6, 3, -3, 0.5, -0.5, 20, 1, -1)
	for name, c := range map[string]struct {
		y    *tensor.Tensor
		want []float64
	}{
		"ReLU":         {x.ReLU(), []float64{1, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0}},
		"LeakyReLU":    {x.LeakyReLU(0.1), []float64{0.1, 1, 0.1, 0.1, 0.1, 1, 1, 0.1, 1, 0.1, 1, 1, 0.1}},
		"ReLU6":        {x.ReLU6(), []float64{1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0}},
		"HardTanh":     {x.HardTanh(-1, 1), []float64{1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0}},
		"ELU":          {x.ELU(1), []float64{1, 1, 0, 1, 1, 1, 1, 0.0497871, 1, 0.606531, 1, 1, 0.367879}},
		"SELU":         {x.SELU(), []float64{1.0507, 1.0507, 0, 1.7581, 1.7581, 1.0507, 1.0507, 0.0875306, 1.0507, 1.06634, 1.0507, 1.0507, 0.646769}},
		"CELU":         {x.CELU(1), []float64{1, 1, 0, 1, 1, 1, 1, 0.0497871, 1, 0.606531, 1, 1, 0.367879}},
		"SoftplusUpTo": {x.SoftplusUpTo(1, 20), []float64{math.NaN(), 1, 0, 0.5, 0.5, 0.997527, 0.952574, 0.0474259, 0.622459, 0.377541, 1, 0.731059, 0.268941}},
		"HardSwish":    {x.HardSwish(), []float64{1, 1, 0, 0.5, 0.5, 1, 1, 0, 0.666667, 0.333333, 1, 0.833333, 0.166667}},
		"HardSigmoid":  {x.HardSigmoid(), []float64{0, 0, 0, 0.166667, 0.166667, 0, 0, 0, 0.166667, 0.166667, 0, 0.166667, 0.166667}},
		"HardShrink":   {x.HardShrink(0.5), []float64{1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1}},
		"SoftShrink":   {x.SoftShrink(0.5), []float64{1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1}},
		"Threshold":    {x.Threshold(0.5, 7), []float64{1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0}},
		"PReLU":        {x.PReLU(f32(0.25)), []float64{0.25, 1, 0.25, 0.25, 0.25, 1, 1, 0.25, 1, 0.25, 1, 1, 0.25}},
	} {
		t.Run(name, func(t *testing.T) { near(t, c.want, c.y.Sum().Grad(x)[0], 1e-5) })
	}
}

// Windows of zeros have the length 0, and pass no gradient.
func TestLpPoolOfZeros(t *testing.T) {
	x := tensor.Of([]float64{0, 0, 3, 4}, 1, 1, 4)
	y := x.LpPool(2, tensor.Pool{Size: []int{2}, Axes: 1})
	near(t, []float64{0, 5}, y, 1e-12)
	near(t, []float64{0, 0, 0.6, 0.8}, y.Sum().Grad(x)[0], 1e-12)
}

// Powers are right to four units in the last place, and exactly where small whole numbers have small whole ones.
func TestPowersOfFloats(t *testing.T) {
	var x, y []float32
	for a := range 12 {
		for b := range 7 {
			x, y = append(x, float32(a)), append(y, float32(b))
		}
	}
	whole := len(x)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		a := math.Exp(r.Float64()*20 - 10)
		x, y = append(x, float32(a)), append(y, float32((r.Float64()*2-1)*85/math.Abs(math.Log(a)))) // whose powers are numbers of the type
	}
	x, y = append(x, 1e-40, 3e38, 1e-45), append(y, 0.5, 0.99, -0.5)
	for _, device := range []string{"REF", "INTERP", "CPU"} {
		got := values(t, tensor.Of(x, len(x)).On(device).Pow(tensor.Of(y, len(y)).On(device)))
		for i := range x {
			want := math.Pow(float64(x[i]), float64(y[i]))
			if i < whole {
				require.Equal(t, want, got[i], "%s: %v to the %v", device, x[i], y[i])
			}
			unit := float64(math.Nextafter32(float32(want), math.MaxFloat32)) - float64(float32(want))
			require.InDelta(t, want, got[i], 4*unit, "%s: %v to the %v", device, x[i], y[i])
		}
	}
}

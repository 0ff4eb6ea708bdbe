package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Floats of 8 bits are rounded as PyTorch 2.15 rounds them, and computed with in float32.
func TestFloat8(t *testing.T) {
	x := f32(1, 1.0625, 1.1875, -0.001, 0.0009765625, 0.00048828125, 448, 464, 1000, 61440, float32(inf), float32(-inf), float32(nan), 0)
	a, b := x.To(dtype.F8E4M3), x.To(dtype.F8E5M2)
	same(t, []float64{1, 1, 1.25, -0.001953125, 0, 0, 448, 448, 448, 448, 448, -448, nan, 0}, a) // torch: .to(torch.float8_e4m3fn)
	same(t, []float64{1, 1, 1.25, -0.0009765625, 0.0009765625, 0.00048828125, 448, 448, 1024, inf, inf, -inf, nan, 0}, b)
	require.Equal(t, 14, a.Nbytes())
	v, err := tensor.Data[float32](ctx, a)
	require.NoError(t, err)
	require.Equal(t, float32(1.25), v[2])
	same(t, []float64{0x38, 0x38, 0x3a, 0x81, 0, 0, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0xfe}, a.Bitcast(dtype.U8).Narrow(0, 0, 12))
	same(t, values(t, a), tensor.FromBytes(dtype.F8E4M3, []int{14}, bytesOf(t, a)))
	// no infinity is found where the type has none
	same(t, []float64{0, 1, 0, 1}, tensor.Stack(0, a.IsInf().Any(), a.IsFinite().Narrow(0, 6, 6).All(), a.IsPosInf().Any(), b.IsInf().Any()))
	same(t, []float64{448, -448, 7}, a.NanToNum(7, 1, 2).Narrow(0, 10, 3))
	same(t, []float64{-448, 448}, tensor.Stack(0, tensor.Full(0, dtype.F8E4M3, 0).Max(), tensor.Full(0, dtype.F8E4M3, 0).Min()))
	same(t, []float64{-448, 448, 1}, a.At(tensor.Of([]int32{11, 0, 8})).MaxPool(tensor.Pool{Size: []int{1}, Axes: 1}).At(tensor.Of([]int32{0, 2, 1})))
	// computed in float32, rounded once
	s := f32(0.0625, 0.0625, 0.0625, 1).To(dtype.F8E4M3)
	same(t, []float64{1.25}, s.Sum()) // 1.1875, a tie, to the even one
	same(t, []float64{1.125, 1.125, 1.125, 2}, s.Add(f32(1.0625).To(dtype.F8E4M3)).Add(0.0625).Maximum(1.125).To(dtype.F32).Clamp(1.125, 2))
	same(t, []float64{2.25, 0.0625}, tensor.Stack(0, s.Mul(s).Mul(2).Sum().To(dtype.F32).Add(0.25), s.Min().To(dtype.F32)))
	v1, i := f32(3, -1, 2, -448, float32(nan)).To(dtype.F8E4M3).Sort(0, false)
	same(t, []float64{-448, -1, 2, 3, nan}, v1)
	same(t, []float64{3, 1, 2, 0, 4}, i)
	require.Equal(t, dtype.F8E4M3, s.Mul(2).DType())
	require.Equal(t, dtype.F8E4M3, s.Add(tensor.Arange(4)).DType())
	require.Equal(t, dtype.F16, s.Add(s.To(dtype.F8E5M2)).DType())
	require.Equal(t, dtype.F8E5M2, tensor.RandOf(dtype.F8E5M2, 3).DType())
	same(t, []float64{2}, s.To(dtype.F32).Mul(s.To(dtype.F32)).Sum().Grad(s)[0].At(3))
	same(t, []float64{40, -56, 127, -128, 0}, f32(40, -56, 448, -448, float32(nan)).To(dtype.F8E4M3).To(dtype.I8))
	same(t, []float64{1, 1, 0, 1}, f32(1, float32(nan), 0, -1).To(dtype.F8E5M2).To(dtype.Bool))
}

func bytesOf(t *testing.T, x *tensor.Tensor) []byte {
	b, err := x.Bytes(ctx)
	require.NoError(t, err)
	return b
}

func TestIntegersOfFourBits(t *testing.T) {
	all := tensor.Arange(256).To(dtype.U8)
	lo, hi := all.And(15), all.Shr(4)
	u := all.Unpack4(dtype.U8)
	require.Equal(t, []int{512}, u.Shape())
	same(t, values(t, tensor.Stack(1, lo, hi).Flatten()), u)
	same(t, values(t, all), u.Pack4())
	for _, d := range []dtype.DType{dtype.I8, dtype.I32, dtype.F32, dtype.F8E4M3} {
		s := all.Unpack4(d)
		require.Equal(t, d, s.DType())
		got := values(t, s)
		for i := range 512 {
			n := float64(i / 2 >> (i % 2 * 4) & 15)
			if n > 7 {
				n -= 16
			}
			require.Equal(t, n, got[i])
		}
		same(t, values(t, all), s.To(dtype.I32).Pack4())
	}
	require.Equal(t, []int{2, 6}, tensor.Full(0, dtype.U8, 2, 3).Unpack4(dtype.I8).Shape())
	require.Equal(t, []int{2, 0}, tensor.Full(0, dtype.I64, 2, 0).Pack4().Shape())
	for _, f := range []func(){func() { tensor.Arange(4).Unpack4(dtype.I8) }, func() { all.Unpack4(dtype.Bool) }, func() { tensor.Arange(3).Pack4() },
		func() { tensor.Zeros(4).Pack4() }, func() { tensor.Scalar(3).Pack4() }, func() { all.At(0).Unpack4(dtype.I8) }} {
		require.Error(t, tensor.Try(f))
	}
}

func TestDefaultTypes(t *testing.T) {
	defer tensor.SetDefaultFloat(tensor.SetDefaultFloat(dtype.F64))
	defer tensor.SetDefaultInt(tensor.SetDefaultInt(dtype.I64))
	for name, x := range map[string]*tensor.Tensor{
		"Zeros": tensor.Zeros(2), "Ones": tensor.Ones(2), "Eye": tensor.Eye(2), "Linspace": tensor.Linspace(0, 1, 3), "Rand": tensor.Rand(2),
		"Randn": tensor.Randn(2), "Normal": tensor.Normal(0, 1, 2), "Uniform": tensor.Uniform(0, 1, 2), "Kaiming": tensor.KaimingUniform(0, 2, 2),
		"From": tensor.From([]float64{1, 2}), "Scalar": tensor.Scalar(1.5), "of nothing": tensor.From([]any{}), "Mean": tensor.Arange(3).Mean(),
		"Div": tensor.Arange(3).Div(2), "number": tensor.Arange(3).Add(0.5), "Exp": tensor.Arange(3).Exp(),
	} {
		require.Equal(t, dtype.F64, x.DType(), name)
	}
	require.Equal(t, dtype.F32, tensor.Of([]float32{1}).Add(1.5).DType())
	require.Equal(t, dtype.F32, tensor.From([]float32{1}).DType())
	for name, x := range map[string]*tensor.Tensor{"Arange": tensor.Arange(3), "From": tensor.From([]int{1}), "Scalar": tensor.Scalar(3),
		"bool": tensor.Of([]bool{true}).Add(1)} {
		require.Equal(t, dtype.I64, x.DType(), name)
	}
	for name, x := range map[string]*tensor.Tensor{"ArgMax": tensor.Ones(3).ArgMax(), "ArgSort": tensor.Ones(3).ArgSort(0, false), "OneHot": tensor.Arange(3).OneHot(4),
		"Multinomial": tensor.Ones(3).Multinomial(2, tensor.Sampling{Replace: true})} {
		require.Equal(t, dtype.I32, x.DType(), name)
	}
	same(t, []float64{1, 0, 0, 1}, tensor.Of([]float64{2, 0, 0, 2}, 2, 2).Inv().Mul(2))
	tensor.SetDefaultInt(dtype.I8)
	require.Equal(t, dtype.I64, tensor.From([]int{1, 300}).DType()) // where not all fit
	require.Equal(t, dtype.I8, tensor.Scalar(-128).DType())
	tensor.SetDefaultFloat(dtype.F16)
	most := tensor.Uniform(0, 1, 4096).Max()
	require.Less(t, values(t, most)[0], 1.)
	require.Less(t, values(t, tensor.Uniform(-2, 0, 4096).Max())[0], 0.)
	require.Greater(t, values(t, tensor.Uniform(3, 2, 4096).Min())[0], 2.)
	require.Error(t, tensor.Try(func() { tensor.Uniform(0, 1e6, 2) }))
	require.Error(t, tensor.Try(func() { tensor.SetDefaultFloat(dtype.I32) }))
	require.Error(t, tensor.Try(func() { tensor.SetDefaultInt(dtype.Index) }))
	require.False(t, math.IsNaN(values(t, tensor.Ones(2))[0]))
}

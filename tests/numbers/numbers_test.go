// Package numbers tests that Go numbers that change from call to call compile one plan, with the values of REF.
package numbers

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	_ "github.com/weft-ml/weft/tests/kernels" // WEFT_KERNELS
	need "github.com/weft-ml/weft/tests/require"
)

func open(t testing.TB, device string, o engine.Options) *engine.Engine {
	t.Helper()
	e, err := engine.Open(device, o)
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// devices compile what they play.
var devices = []string{"CPU", "WASM", "WEBGPU", "INTERP"}

// leaf is an array of small numbers, the same on each device.
func leaf(t testing.TB, e *engine.Engine, d dtype.DType, shape ...int) *tensor.Tensor {
	t.Helper()
	n := 1
	for _, s := range shape {
		n *= s
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32((i*7+3)%23) / 4
	}
	u, err := e.FromBytes(dtype.F32, shape, raw(v))
	require.NoError(t, err)
	x := tensor.FromNode(u, e).To(d)
	require.NoError(t, tensor.Realize(context.Background(), x))
	return x
}

func raw(v []float32) (b []byte) {
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

func bytes(t testing.TB, x *tensor.Tensor) []byte {
	t.Helper()
	raw, err := x.Bytes(context.Background())
	require.NoError(t, err)
	return raw
}

// loops are programs with a number that changes; most is how many plans they may compile.
var loops = []struct {
	name  string
	dtype dtype.DType
	most  int
	build func(x *tensor.Tensor, i int) *tensor.Tensor
}{
	{"factor", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(float32(i)) }},
	{"summand", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Add(i) }},
	{"divisor", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Div(float32(i)) }},
	{"quotient", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return tensor.FullLike(x, i).Div(x) }},
	{"comparison", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Lt(float32(i) / 10).Where(x, i) }},
	{"two numbers", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(float32(i)).Add(float32(i*i) + 0.5) }},
	{"full", dtype.F32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Add(tensor.FullLike(x, float32(i))) }},
	{"int8", dtype.I8, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(i).Add(3 * i) }},
	{"uint8", dtype.U8, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Sub(2 * i) }},
	{"int16", dtype.I16, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(321 * i) }},
	{"int32", dtype.I32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(i << 24).Add(i) }},
	{"uint32", dtype.U32, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(i << 25).Maximum(i) }},
	{"int64", dtype.I64, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(int64(i) << 55).Add(math.MaxInt64 - i) }},
	{"bfloat16", dtype.BF16, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(float32(i) / 3) }},
	{"float16", dtype.F16, 2, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Mul(float32(i) / 3) }},
	{"narrow", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Narrow(0, i%40, 1).Mul(2) }},
	{"narrow inside", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor {
		return x.Add(1).Narrow(0, i%30, 11).Narrow(1, i%3, 2).Sum(0)
	}},
	{"select", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Select(0, i%40).Exp() }},
	{"at", dtype.I32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.At(i%40, tensor.R(1, 4)).Add(1) }},
	{"pad", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor {
		return x.Pad([]int{i, 0}, []int{100 - i, 0}).Add(1).Sum(1)
	}},
	{"roll", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor { return x.Roll([]int{i}, []int{0}).Sub(x) }},
	{"write", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor {
		return x.WithAt(x.Narrow(0, 0, 3).Mul(i), tensor.R(i%37, i%37+3))
	}},
	{"gradient", dtype.F32, 3, func(x *tensor.Tensor, i int) *tensor.Tensor {
		return x.Mul(float32(i)).Sigmoid().Narrow(0, i%33, 8).Mul(x.Narrow(0, 0, 8)).Sum().Grad(x)[0]
	}},
}

func TestLoopsCompileOnce(t *testing.T) {
	for _, device := range devices {
		for _, c := range loops {
			t.Run(device+"/"+c.name, func(t *testing.T) {
				e, ref := open(t, device, engine.Options{}), open(t, "REF", engine.Options{})
				x, y := leaf(t, e, c.dtype, 40, 5), leaf(t, ref, c.dtype, 40, 5)
				before := e.Stats().Compiled
				for i := range 100 {
					got, want := c.build(x, i), c.build(y, i)
					equal(t, want, got, "number %d", i)
				}
				assert.LessOrEqual(t, e.Stats().Compiled-before, c.most)
			})
		}
	}
}

// equal compares by bits, floats of sums and functions with the last places of their type left out.
func equal(t *testing.T, want, got *tensor.Tensor, format string, args ...any) {
	t.Helper()
	require.Equal(t, want.Shape(), got.Shape(), format, args)
	require.Equal(t, want.DType(), got.DType(), format, args)
	if !want.DType().IsFloat() {
		require.Equal(t, bytes(t, want), bytes(t, got), fmt.Sprintf(format, args...))
		return
	}
	a, b := float64s(t, want), float64s(t, got)
	for i := range a {
		if math.IsNaN(a[i]) && math.IsNaN(b[i]) || a[i] == b[i] && math.Signbit(a[i]) == math.Signbit(b[i]) {
			continue
		}
		require.LessOrEqual(t, math.Abs(a[i]-b[i]), 3e-6*max(1, math.Abs(a[i])), "element %d: %v and %v; %s", i, a[i], b[i], fmt.Sprintf(format, args...))
	}
}

func float64s(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	v, err := tensor.Data[float32](context.Background(), x.To(dtype.F32))
	require.NoError(t, err)
	out := make([]float64, len(v))
	for i := range v {
		out[i] = float64(v[i])
	}
	return out
}

package webgpu_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends" // REF
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	. "github.com/weft-ml/weft/tensor"
)

// ramp is data without a pattern that a wrong kernel could hit by chance.
func ramp(shape ...int) *Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(math.Sin(float64(7*i+3)) * 2)
	}
	return Of(v, shape...)
}

// smoke are twenty cases, one of each kind that a transport could get wrong: uploads of ragged sizes, many
// bindings, launches that depend on others, copies, memory that is written in parts, and each width of element.
var smoke = []struct {
	name string
	of   func() *Tensor
}{
	{"add", func() *Tensor { return ramp(3, 5).Add(ramp(5)) }},
	{"one value", func() *Tensor { return ramp(1).Mul(3) }},
	{"exp", func() *Tensor { return ramp(1000).Exp() }},
	{"sum", func() *Tensor { return ramp(70000).Sum() }},
	{"sum of rows", func() *Tensor { return ramp(33, 257).Sum(1) }},
	{"maximum", func() *Tensor { return ramp(17, 31).Max(0) }},
	{"softmax", func() *Tensor { return ramp(9, 100).Softmax(-1) }},
	{"product", func() *Tensor { return ramp(65, 70).MatMul(ramp(70, 33)) }},
	{"product of products", func() *Tensor { return ramp(16, 16).MatMul(ramp(16, 16)).MatMul(ramp(16, 16)) }},
	{"convolution", func() *Tensor { return ramp(2, 3, 12, 12).Conv2D(ramp(4, 3, 3, 3), ramp(4), Conv{Padding: 1}) }},
	{"pooling", func() *Tensor { return ramp(2, 3, 8, 8).MaxPool2D(2) }},
	{"transposed", func() *Tensor { return ramp(7, 11).Permute(1, 0).Add(1) }},
	{"joined", func() *Tensor { return Cat(0, ramp(3, 4), ramp(2, 4).Neg(), ramp(1, 4)) }},
	{"running sum", func() *Tensor { return ramp(300).CumSum(0) }},
	{"sorted", func() *Tensor { v, _ := ramp(50).Sort(0, false); return v }},
	{"taken", func() *Tensor { return ramp(20, 3).IndexSelect(0, Of([]int32{3, 19, 0, 3}, 4)) }},
	{"bytes", func() *Tensor { return ramp(37).Mul(20).To(dtype.I8).Add(1) }},
	{"half floats", func() *Tensor { return ramp(41).To(dtype.F16).Mul(2) }},
	{"64-bit integers", func() *Tensor { return Of([]int64{1, -1, 1 << 40, -5}, 4).Mul(1 << 20).Add(7) }},
	{"gradient", func() *Tensor { w := ramp(8, 8); return ramp(4, 8).MatMul(w).Tanh().Sum().Grad(w)[0] }},
}

// on computes a case on a device.
func on(t *testing.T, device string, of func() *Tensor) []float64 {
	engine.Configure(engine.Options{Poison: true}, device)
	var out *Tensor
	require.NoError(t, Try(func() { out = of() }))
	require.Equal(t, device, out.Device())
	if !out.DType().IsInt() {
		v, err := Data[float64](context.Background(), out)
		require.NoError(t, err)
		return v
	}
	ints, err := Data[int](context.Background(), out)
	require.NoError(t, err)
	v := make([]float64, len(ints))
	for i, x := range ints {
		v[i] = float64(x)
	}
	return v
}

func TestSmoke(t *testing.T) {
	defer engine.Configure(engine.Options{}, "")
	detail := open(t).Info().Detail
	ran := 0
	for _, c := range smoke {
		t.Run(c.name, func(t *testing.T) {
			got, want := on(t, "WEBGPU", c.of), on(t, "REF", c.of)
			require.Equal(t, len(want), len(got))
			for i := range want {
				require.InDelta(t, want[i], got[i], 2e-4*math.Max(1, math.Abs(want[i])), "element %d", i)
			}
			ran++
		})
	}
	fmt.Printf("smoke on %s: %d of %d cases passed\n", detail, ran, len(smoke))
}

//go:build !js

package backends_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// Small and large arguments of sin are reduced in different ways, in lanes that are together and in single numbers: all give the bits of
// the interpreter. So do those that round, and functions of which a part is computed where some lane needs it.
func TestFunctionsOfMixedLanesAreTheSame(t *testing.T) {
	_, err := engine.Use("CPU")
	need.Device(t, "CPU", err)
	r := rand.New(rand.NewPCG(1, 2))
	x := []float64{0, math.Copysign(0, -1), 0.5, 1.5, 2.5, -0.5, -1.5, -0.3, 0x1p-1074, 65535.9, 65536, 1 << 40, 1<<40 - 1, math.MaxFloat32, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN()}
	for len(x) < 4099 {
		size := 1 + r.IntN(3)*r.IntN(40) // whole runs are small
		for range 100 {
			x = append(x, r.NormFloat64()*math.Ldexp(1, size), math.Pi/2*float64(r.IntN(1<<min(size, 30))), float64(r.IntN(4000)-2000)/4)
		}
	}
	x = x[:4099]
	single := make([]float32, len(x))
	for i := range x {
		single[i] = float32(x[i])
	}
	for name, f := range map[string]func(x *tensor.Tensor) *tensor.Tensor{"Sin": (*tensor.Tensor).Sin, "Cos": (*tensor.Tensor).Cos, "Floor": (*tensor.Tensor).Floor, "Round": (*tensor.Tensor).Round,
		"Fmod": func(x *tensor.Tensor) *tensor.Tensor { return x.Fmod(0.37) }, "Lgamma": (*tensor.Tensor).Lgamma} {
		for _, n := range []int{1, 3, len(x)} {
			sameOnBoth(t, name, f, x[:n])
			sameOnBoth(t, name, f, single[:n])
		}
	}
	round, err := tensor.Data[float32](context.Background(), tensor.Of([]float32{0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997, 0.50000006, 1.4999999, 8388607.5, -2.7}, 10).On("CPU").Round())
	require.NoError(t, err)
	require.Equal(t, []float32{0, 2, 2, float32(math.Copysign(0, -1)), -2, 0, 1, 1, 8388608, -3}, round)
}

// sameOnBoth: f has the same bits on the processor and in the interpreter, where it is a number.
func sameOnBoth[T float32 | float64](t *testing.T, name string, f func(x *tensor.Tensor) *tensor.Tensor, x []T) {
	ctx := context.Background()
	got, err := tensor.Data[T](ctx, f(tensor.Of(x, len(x)).On("CPU")))
	require.NoError(t, err)
	want, err := tensor.Data[T](ctx, f(tensor.Of(x, len(x)).On("INTERP")))
	require.NoError(t, err)
	for i := range want {
		if want[i] == want[i] || got[i] == got[i] {
			require.Equal(t, math.Float64bits(float64(want[i])), math.Float64bits(float64(got[i])), "%s of %v, one of %d: %v instead of %v", name, x[i], len(x), got[i], want[i])
		}
	}
}

package tensor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

func TestOn(t *testing.T) {
	_, err := engine.Use("CPU")
	need.Device(t, "CPU", err)
	x := tensor.Of([]float32{1, 2, 3}).On("REF")
	y := x.Mul(2).On("CPU")
	require.Equal(t, "CPU", y.Device())
	same(t, []float64{3, 5, 7}, y.Add(1))
	z := tensor.Ones(3).On("CPU").Add(y)
	same(t, []float64{3, 5, 7}, z)
	g := y.Mul(y).Sum().Grad(x)[0]
	same(t, []float64{8, 16, 24}, g)
	require.Error(t, tensor.Try(func() { x.Add(y) }))
}

// Random masks are drawn where they are used: the same on each device, also inside captured functions, which cannot
// bring anything from another one.
func TestMasksOnAnotherDevice(t *testing.T) {
	ctx := context.Background()
	x := tensor.Ones(4, 6, 2)
	masks := func(x *tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{x.Dropout(0.5), x.ChannelDropout(0.5), x.Neg().RReLU(0.1, 0.3), tensor.RandLike(x)}
	}
	tensor.Seed(5)
	want := masks(x)
	there := x.On("INTERP")
	require.NoError(t, tensor.Realize(ctx, there))
	tensor.Seed(5)
	for i, m := range masks(there) {
		require.Equal(t, "INTERP", m.Device())
		same(t, list(t, want[i]), m)
	}
	tensor.Seed(5)
	step, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return masks(in[0]) }, there)
	require.NoError(t, err)
	got, err := step.Run(ctx, there)
	require.NoError(t, err)
	for i, m := range got {
		same(t, list(t, want[i]), m)
	}
}

func list(t *testing.T, x *tensor.Tensor) []float64 {
	v, err := tensor.Data[float64](context.Background(), x)
	require.NoError(t, err)
	return v
}

package tensor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// A program that closes its device and goes on has a new engine of the same name. What is left of the old one is told as that: it used to be
// "tensors on INTERP and INTERP meet; move one with On", and On said that it was memory of another device.
func TestTensorsOfAnEngineThatWasClosed(t *testing.T) {
	ctx := context.Background()
	engine.Configure(engine.Options{}, "INTERP")
	defer configure()
	four := func() *tensor.Tensor { return tensor.Of([]float32{1, 2, 3, 4}, 4) }
	old, state := four(), four()
	half := old.Mul(0.5)
	double := func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Mul(2)} }
	c, err := tensor.Capture(ctx, double, old)
	require.NoError(t, err)
	e, err := engine.Use("")
	require.NoError(t, err)
	require.NoError(t, e.Close())

	const two = "another engine of INTERP"
	require.ErrorContains(t, tensor.Try(func() { four().Add(old) }), two)
	_, err = c.Run(ctx, four())
	require.ErrorContains(t, err, two)
	_, err = c.RunInto(ctx, []*tensor.Tensor{four()}, old)
	require.ErrorContains(t, err, two)
	for _, x := range []*tensor.Tensor{old, half} {
		require.ErrorContains(t, x.On("INTERP:1").Realize(ctx), "INTERP: the device is closed")
		require.ErrorContains(t, x.On("INTERP").Realize(ctx), "INTERP: the device is closed")
	}
	_, err = tensor.Data[float32](ctx, state)
	require.ErrorContains(t, err, "INTERP: the device is closed")
	v, err := tensor.Data[float32](ctx, four().On("INTERP:1").Add(1))
	require.NoError(t, err)
	require.Equal(t, []float32{2, 3, 4, 5}, v)
}

package tensor_test

import (
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

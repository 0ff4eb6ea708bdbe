package tensor_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

var two = []string{"INTERP:0", "INTERP:1"}

func TestShard(t *testing.T) {
	ctx := context.Background()
	x := tensor.Of([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4).On("INTERP")
	for _, axis := range []int{0, 1, tensor.Replicated} {
		y := x.Shard(two, axis)
		cut, err := y.CutAxis()
		require.NoError(t, err)
		require.Equal(t, axis, cut)
		same(t, []float64{1, 2, 3, 4, 5, 6, 7, 8}, y)
		same(t, []float64{2, 3, 4, 5, 6, 7, 8, 9}, y.Add(1))
		same(t, []float64{36}, y.Sum())
		same(t, []float64{6, 8, 10, 12}, y.Sum(0))
		same(t, []float64{10, 26}, y.Sum(1))
		same(t, []float64{30, 70, 70, 174}, y.MatMul(y.Transpose(0, 1).Shard(two, tensor.Replicated)))
	}
	require.Equal(t, two, x.Shard(two, 0).Devices())
	g := x.Shard(two, 0).Square().Sum().Grad(x)[0]
	require.Equal(t, "INTERP", g.Device())
	same(t, []float64{2, 4, 6, 8, 10, 12, 14, 16}, g)
	require.NoError(t, x.Realize(ctx))
}

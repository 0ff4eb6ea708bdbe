package shards

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// A gradient that goes back to one device lies there, also after CutAxis has looked at what it is of, and can be sharded and used there again.
func TestGradientOfReplicatedIsUsedHere(t *testing.T) {
	d := on(t, "INTERP", 2)
	x := tensor.Of([]float32{1.75, -0.75}, 2, 1)
	y := x.Shard(d, tensor.Replicated)
	y = y.Reshape(-1).SumKeep(0).Add(y)
	_, err := y.CutAxis()
	require.NoError(t, err)
	g := y.Sum().On(d[0]).Grad(x)[0]
	s := g.Shard(d, 0)
	s = s.MaxKeep(-1).Sub(s)
	_, err = s.CutAxis()
	require.NoError(t, err)
	n := tensor.NewVariable("v", 1, 1).Bind(1)
	part := g.Narrow(1, 0, n).Sum(1)
	require.NoError(t, tensor.Realize(ctx, g, s.On(d[0]), part))
	v, err := tensor.Data[float32](ctx, part)
	require.NoError(t, err)
	require.Equal(t, []float32{3, 3}, v)
}

// What is computed of constants on several devices is there on one.
func TestConstantsComeBack(t *testing.T) {
	d := on(t, "INTERP", 2)
	c := tensor.Full(3, dtype.F32, 2, 1).Shard(d, 0)
	near(t, []float64{6, 6}, list(t, c.Mul(2).On(d[0])), 0)
	near(t, []float64{6}, list(t, c.Sum(0).On(d[1])), 0)
	near(t, []float64{4, 4}, list(t, tensor.Full(1, dtype.F32, 2).On(d[1]).Add(3).On(d[0])), 0)
}

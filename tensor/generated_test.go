package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// What is made of indices by functions is stored where each element is needed often: a product of it took as many sines as multiplications, and a
// cell whose neighbours are asked for held the code of all of theirs, of as many steps as there were.
func TestGeneratedArraysAreStored(t *testing.T) {
	e, err := engine.Open("NULL", engine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	u, err := e.FromBytes(dtype.F32, []int{64, 64}, make([]byte, 4*64*64))
	require.NoError(t, err)
	x := tensor.FromNode(u, e)
	waves := tensor.Arange(64*64).To(dtype.F32).Mul(0.7).Sin().Reshape(64, 64)
	cells := waves.Gt(0.3).To(dtype.I32)
	for range 2 {
		around := cells.Neg()
		for i := range 9 {
			around = around.Add(cells.Roll([]int{i/3 - 1, i%3 - 1}, []int{0, 1}))
		}
		cells = around.Eq(3).LogicalOr(around.Eq(2).LogicalAnd(cells.Eq(1))).To(dtype.I32)
	}
	line := tensor.Linspace(-1, 1, 64)
	for name, c := range map[string]struct {
		y    *tensor.Tensor
		most int // operations of an element of the result
	}{
		"operand of a product":      {x.MatMul(waves), 2*64 + 40},
		"both operands":             {waves.MatMul(waves), 2*64 + 40},
		"differences":               {line.Unsqueeze(1).Sub(line).Square().Mul(-3).Exp().MatMul(x), 2*64 + 40},
		"filters of a convolution":  {x.Reshape(1, 4, 32, 32).Conv(waves.Flatten().Narrow(0, 0, 4*4*9).Reshape(4, 4, 3, 3), nil, tensor.Conv{}), 2*36 + 40},
		"neighbours' neighbours":    {cells, 200},
		"each element once":         {x.Add(waves), 40},
		"a mask of indices, inside": {x.MatMul(tensor.Ones(64, 64).Tril(0)), 4 * 64},
	} {
		v, err := tensor.Schedule(tensor.FromNode(c.y.Node(), e))
		require.NoError(t, err, name)
		assert.LessOrEqual(t, v.Flops(), int64(c.most*c.y.Numel()), "%s: %d kernels", name, len(v.Plan.Kernels))
		if name == "each element once" || name == "a mask of indices, inside" {
			assert.Len(t, v.Plan.Kernels, 1, "%s: nothing is stored", name)
		}
	}
}

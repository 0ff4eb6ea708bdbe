package tensor_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// Diagonals that lie far outside are those just outside.
func TestDiagonalsFarOutside(t *testing.T) {
	x := quick([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	all, none := data[float32](t, x), make([]float32, 6)
	for _, d := range []int{3, 1 << 31, 1 << 40, math.MaxInt - 1, math.MaxInt} {
		assert.Equal(t, all, data[float32](t, x.Tril(d)), "%d", d)
		assert.Equal(t, none, data[float32](t, x.Triu(d)), "%d", d)
		assert.Equal(t, []int{2, 6}, tensor.TriangleIndices(2, 3, d, true).Shape(), "%d", d)
		assert.Equal(t, []int{2, 0}, tensor.TriangleIndices(2, 3, d, false).Shape(), "%d", d)
		assert.Equal(t, []int{2, 0}, tensor.TriangleIndices(2, 3, -d, true).Shape(), "%d", -d)
		assert.Equal(t, []int{2, 6}, tensor.TriangleIndices(2, 3, -d, false).Shape(), "%d", -d)
		assert.Equal(t, none, data[float32](t, x.Tril(-d)), "%d", -d)
		assert.Equal(t, all, data[float32](t, x.Triu(-d)), "%d", -d)
	}
	assert.Equal(t, []int32{0, 1, 1, 0, 0, 1}, data[int32](t, tensor.TriangleIndices(2, 3, 0, true)))
	assert.Equal(t, []int32{0, 0, 0, 1, 1, 0, 1, 2, 1, 2}, data[int32](t, tensor.TriangleIndices(4, 3, 0, false).Narrow(1, 0, 5)))
}

// An index that is too far outside for its number to come back from the device is not told as another one.
func TestIndicesFarOutside(t *testing.T) {
	list := tensor.Ones(3)
	for _, c := range []struct {
		index int64
		want  string
	}{
		{1 << 40, "above 1073741824 is out of range for"}, {math.MaxInt64, "above 1073741824 is out of range for"},
		{1<<30 + 1, "above 1073741824 is out of range for"}, {1 << 30, "1073741824 is out of range for"},
		{-1 << 40, "is out of range for"}, {math.MinInt64, "below -"}, {7, "7 is out of range for"},
	} {
		at := quick([]int64{c.index})
		for op, f := range map[string]func() *tensor.Tensor{
			"At":           func() *tensor.Tensor { return list.At(at) },
			"Take":         func() *tensor.Tensor { return list.Take(at) },
			"Gather":       func() *tensor.Tensor { return list.Gather(0, at) },
			"Scatter":      func() *tensor.Tensor { return list.Scatter(0, at, tensor.Ones(1)) },
			"OneHot":       func() *tensor.Tensor { return at.OneHot(3) },
			"CrossEntropy": func() *tensor.Tensor { return tensor.Ones(1, 3).CrossEntropy(at) },
		} {
			_, err := f().ToList(context.Background())
			var said *tensor.ValueError
			require.ErrorAs(t, err, &said, "%s %d", op, c.index)
			assert.Equal(t, op, said.Op)
			assert.Contains(t, said.Reason, c.want, "%s %d", op, c.index)
			if c.index == -1<<40 {
				assert.Contains(t, said.Reason, " below -107374182", op)
			}
		}
	}
}

// Of an index that is repeated each element is checked once.
func TestRepeatedIndicesAreCheckedOnce(t *testing.T) {
	x := tensor.Arange(60).Reshape(20, 3)
	for bad, index := range map[bool]*tensor.Tensor{false: tensor.Of([]int32{0, 19, 7, 2}, 4), true: tensor.Of([]int32{0, 20, 7, 2}, 4)} {
		y := x.Gather(0, index.Contiguous().Reshape(4, 1).Expand(4, 3))
		checked := 0
		for _, u := range uop.Topo(y.Node()) {
			if u.Op() == uop.Check {
				checked += u.At(1).Shape().Numel()
			}
		}
		assert.Equal(t, 4, checked)
		_, err := tensor.Data[int64](ctx, y.To(dtype.I64))
		if !bad {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "index 20 is out of range for axis 0 of size 20")
	}
}

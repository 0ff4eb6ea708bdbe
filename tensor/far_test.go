package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/tensor"
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

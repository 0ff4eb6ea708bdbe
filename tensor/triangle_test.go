package tensor_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// triangle lists the places of a triangle one by one.
func triangle(rows, columns, diagonal int, lower bool) (row, column []int32) {
	for r := range rows {
		for c := range columns {
			if lower && c <= r+diagonal || !lower && c >= r+diagonal {
				row, column = append(row, int32(r)), append(column, int32(c))
			}
		}
	}
	return row, column
}

func TestTriangleIndices(t *testing.T) {
	for _, s := range [][2]int{{0, 0}, {0, 3}, {3, 0}, {1, 1}, {4, 4}, {2, 7}, {7, 2}, {90, 90}, {3, 50000}} {
		for _, d := range []int{-60, -3, -1, 0, 1, 2, 40} {
			for _, lower := range []bool{false, true} {
				row, column := triangle(s[0], s[1], d, lower)
				got := data[int32](t, tensor.TriangleIndices(s[0], s[1], d, lower))
				require.Equal(t, append(append([]int32{}, row...), column...), append([]int32{}, got...), "%v %d %v", s, d, lower)
			}
		}
	}
}

// The gradient of the distances of all pairs is that of the same differences one by one.
func TestPDistGradient(t *testing.T) {
	x := tensor.Randn(9, 5)
	seed := tensor.Randn(36)
	require.NoError(t, tensor.Realize(t.Context(), x, seed))
	row, column := triangle(9, 9, 1, false)
	for _, p := range []float64{0, 0.5, 1, 2, 3, math.Inf(1)} {
		t.Run(fmt.Sprint(p), func(t *testing.T) {
			pairs := x.IndexSelect(0, tensor.Of(row)).Sub(x.IndexSelect(0, tensor.Of(column))).Norm(p, -1)
			packed := x.PDist(p)
			assert.InDeltaSlice(t, data[float32](t, pairs), data[float32](t, packed), 1e-5)
			want, got := pairs.GradWith(seed, x)[0], packed.GradWith(seed, x)[0]
			assert.InDeltaSlice(t, data[float32](t, want), data[float32](t, got), 1e-4)
			if p >= 1 { // and the gradient of the gradient
				want, got = want.Square().Sum().Grad(x)[0], got.Square().Sum().Grad(x)[0]
				assert.InDeltaSlice(t, data[float32](t, want), data[float32](t, got), 1e-3)
			}
		})
	}
	for n := range 2 {
		few := tensor.Ones(n, 3)
		assert.Equal(t, []int{0}, few.PDist(2).Shape())
		assert.Equal(t, make([]float32, 3*n), append([]float32{}, data[float32](t, few.PDist(2).Sum().Grad(few)[0])...))
	}
}

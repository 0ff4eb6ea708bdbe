package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/onnx"
)

// Numbers fill a shape where there is one way to.
func TestFillShape(t *testing.T) {
	for _, c := range []struct {
		dims []int // −1: not known
		n    int
		want []int
	}{
		{[]int{2, 3}, 6, []int{2, 3}}, {[]int{2, 3}, 5, nil}, {[]int{-1}, 4, []int{4}}, {[]int{-1, 3}, 6, []int{2, 3}},
		{[]int{-1, 4}, 6, nil}, {[]int{-1, -1}, 3, []int{1, 3}}, {[]int{1, 1, -1, -1}, 3, nil}, {[]int{1, 1, -1, -1}, 1, []int{1, 1, 1, 1}},
		{[]int{-1, 3, -1, -1}, 3, nil}, {[]int{-1, 3, -1}, 6, []int{1, 3, 2}}, {[]int{}, 1, []int{}}, {[]int{0}, 1, nil},
	} {
		dims := []onnx.Dim{}
		for _, n := range c.dims {
			dims = append(dims, onnx.Dim{Size: n})
		}
		require.Equal(t, c.want, fillShape(dims, c.n), "%v of %d", c.dims, c.n)
	}
}

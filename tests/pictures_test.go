package tests

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// pictureResults are convolutions of small pictures, of channels apart and 1×1, and both gradients, of positive numbers.
func pictureResults(t *testing.T, o engine.Options) (out [][]float32) {
	b := newBench(t, "CPU", o)
	x, w := b.floats(2, 96, 7, 7).Abs(), b.floats(80, 96, 3, 3).Abs()
	odd, point := b.floats(100, 96, 3, 3).Abs(), b.floats(64, 96, 1, 1).Abs()
	far, each := b.floats(2, 96, 23, 31).Abs(), b.floats(96, 1, 3, 3).Abs()
	require.NoError(t, tensor.Realize(context.Background(), x, w, odd, point, far, each))
	pad := tensor.Conv{Padding: 1}
	y := x.Conv2D(w, nil, pad)
	g := y.Mul(y).Sum().Grad(x, w)
	for _, z := range []*tensor.Tensor{
		y, g[0], g[1], x.Conv2D(odd, nil, pad), far.Conv2D(point, nil, tensor.Conv{}), far.Conv2D(w, nil, tensor.Conv{Padding: 1, Stride: 2}),
		far.Conv2D(each, nil, tensor.Conv{Padding: 1, Groups: 96}), x.Reshape(192, 49).MatMul(each.Reshape(96, 9).Transpose(0, 1).Reshape(9*96).Expand(49, 9*96)),
	} {
		v, err := tensor.Data[float32](context.Background(), z)
		require.NoError(t, err)
		out = append(out, v)
	}
	return out
}

// Blocks of the reduction, staged operands, transposed ones too, and loops shared by threads change no value beyond rounding, touch
// nothing outside of their arrays, and the number of threads changes no bit.
func TestSmallPictures(t *testing.T) {
	want := pictureResults(t, engine.Options{Threads: 1})
	for _, threads := range []int{2, 5} {
		assert.Equal(t, want, pictureResults(t, engine.Options{Threads: threads}), "%d threads", threads)
	}
	assert.Equal(t, want, pictureResults(t, engine.Options{Fence: true}), "between fences")
	for i, got := range pictureResults(t, engine.Options{NoOpt: true}) {
		for j, v := range got {
			if w := float64(want[i][j]); !(math.Abs(float64(v)-w) <= 1e-4*math.Abs(w)+1e-7) {
				require.Fail(t, "directives change a value", "element %d of result %d is %v without any, not %v", j, i, v, w)
			}
		}
	}
}

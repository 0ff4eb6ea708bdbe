package devicetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// found are programs that once gave wrong numbers, or ended the process: each with what was behind it.
var found = []struct {
	name string
	run  func(put func(values any, shape ...int) *tensor.Tensor) []*tensor.Tensor
}{
	// Renderers simplified indices once more, when values had names and no bounds: a dividend became negative.
	{"softmax of what is flipped, rolled", func(put func(any, ...int) *tensor.Tensor) []*tensor.Tensor {
		r := put([]float32{1, -2, .5, 3, -1, 2, .25, -3}, 8).Repeat(2).Flip(0)
		return []*tensor.Tensor{r.Softmax(0).Roll([]int{9}, []int{0}), r.Softplus(1).Sub(r.Softplus(1).Sum()).Roll([]int{9}, []int{0})}
	}},
	// Joined kernels replaced a load by the value, and forgot that the load was masked by its gate.
	{"gradients of a narrowed stack", func(put func(any, ...int) *tensor.Tensor) []*tensor.Tensor {
		x, b := put([]float32{2}, 1).Reshape(), put([]float32{.5}, 1).Reshape()
		z := x.Mul(tensor.Stack(0, x, x)).Narrow(0, 0, 1).Expand(2).Add(b).Gather(0, put([]int32{0, 1, 0}, 3))
		return z.Sum().Grad(x, b)
	}},
	// A staged element and the shared subexpression that the output has were one and the same value, and each waited for the other.
	{"a product of running maxima, rolled", func(put func(any, ...int) *tensor.Tensor) []*tensor.Tensor {
		m, _ := put([]float32{1, 2, 3, 4, 5}, 5).Sin().CumMax(0)
		return []*tensor.Tensor{m.CumProd(0).Roll([]int{2}, []int{0})}
	}},
	// gcc 12 made a vector of a sum over pairs in the other order, and took some elements twice.
	{"the sum of what is rolled by one of two", func(put func(any, ...int) *tensor.Tensor) []*tensor.Tensor {
		x := put([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)
		return []*tensor.Tensor{x.Roll([]int{1}, []int{2}).Sum(), x.Flip(2).Sum()}
	}},
	// A chain of small products became one kernel with more loops than one may have.
	{"a matrix exponential on a diagonal", func(put func(any, ...int) *tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{put([]float32{1, 2, 3, 4}, 2, 2).MatrixExp().DiagEmbed()}
	}},
}

func TestFound(t *testing.T) {
	for _, device := range []string{"CPU", "WASM", "INTERP", "WEBGPU"} {
		t.Run(device, func(t *testing.T) {
			_, err := engine.Use(device)
			need.Device(t, device, err)
			for _, f := range found {
				want := foundOn(t, "REF", f.run)
				for i, got := range foundOn(t, device, f.run) {
					require.InDeltaSlice(t, want[i], got, 1e-4, "%s: result %d", f.name, i)
				}
			}
		})
	}
}

func foundOn(t *testing.T, device string, run func(func(any, ...int) *tensor.Tensor) []*tensor.Tensor) (out [][]float64) {
	ctx := context.Background()
	results := run(func(values any, shape ...int) *tensor.Tensor {
		switch v := values.(type) {
		case []int32:
			return tensor.Of(v, shape...).On(device)
		case []float32:
			return tensor.Of(v, shape...).On(device)
		}
		panic("BUG: no such leaf")
	})
	require.NoError(t, tensor.Realize(ctx, results...))
	for _, r := range results {
		require.Equal(t, device, r.Device())
		values, err := tensor.Data[float32](ctx, r)
		require.NoError(t, err)
		var row []float64
		for _, v := range values {
			row = append(row, float64(v))
		}
		out = append(out, row)
	}
	return out
}

package capture

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// What one run returned stays when the next has run, also where it depends on no input, or was given memory inside the function.
func TestResultsOfEachRunStay(t *testing.T) {
	ctx := onCPU(t)
	outside := tensor.Full(float32(4), tensor.Zeros(1).DType(), 2)
	for name, f := range map[string]func(x *tensor.Tensor) *tensor.Tensor{
		"a constant":                func(*tensor.Tensor) *tensor.Tensor { return tensor.Ones(2) },
		"a constant from outside":   func(*tensor.Tensor) *tensor.Tensor { return outside },
		"a moved constant":          func(*tensor.Tensor) *tensor.Tensor { return tensor.Arange(2).Flip(0) },
		"a gradient of nothing":     func(x *tensor.Tensor) *tensor.Tensor { return tensor.Ones(2).Sum().Grad(x)[0] },
		"a realized constant":       func(*tensor.Tensor) *tensor.Tensor { y := tensor.Ones(2); require.NoError(t, y.Realize(ctx)); return y },
		"with memory of its own":    func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(2).Own() },
		"a view of one with memory": func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(2).Own().Reshape(1, 2) },
		"assigned inside":           func(x *tensor.Tensor) *tensor.Tensor { return tensor.Zeros(2).Assign(x.Add(1)) },
		"assigned inside, realized": func(x *tensor.Tensor) *tensor.Tensor {
			y := tensor.Zeros(2).Assign(x.Add(1))
			require.NoError(t, y.Realize(ctx))
			return y
		},
		"partly assigned inside":     func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(3).SetAt(7, 1) },
		"of an assigned one":         func(x *tensor.Tensor) *tensor.Tensor { return tensor.Zeros(2).Assign(x).Flip(0) },
		"the input":                  func(x *tensor.Tensor) *tensor.Tensor { return x },
		"the input with its own":     func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(2).Own() },
		"the input in another shape": func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(2, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			x := []*tensor.Tensor{tensor.Of([]float32{1, 2}), tensor.Of([]float32{3, 5}), tensor.Of([]float32{-1, 0})}
			var want [][]float32
			for _, x := range x {
				want = append(want, values(t, f(x.Clone()).To(x.DType())))
			}
			c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(in[0]), in[0].Add(1)} }, x[0])
			require.NoError(t, err)
			var outs []*tensor.Tensor
			for _, x := range x {
				out, err := c.Run(ctx, x)
				require.NoError(t, err)
				outs = append(outs, out[0])
			}
			for i, out := range outs {
				v, err := tensor.Data[float32](ctx, out.To(x[0].DType()))
				if assert.NoError(t, err, "run %d", i) {
					assert.Equal(t, want[i], v, "run %d", i)
				}
			}
		})
	}
}

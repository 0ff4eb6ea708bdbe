package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Short rows that lie beside each other are ordered without writing where values say, which goes one element at a time.
func TestShortRowsAreCounted(t *testing.T) {
	e, err := engine.Open("NULL", engine.Options{})
	require.NoError(t, err)
	input, err := e.FromBytes(dtype.F32, []int{10, 4096}, make([]byte, 4*10*4096))
	require.NoError(t, err)
	for name, f := range map[string]func(x *tensor.Tensor) *tensor.Tensor{
		"Median":   func(x *tensor.Tensor) *tensor.Tensor { v, _ := x.Median(0); return v },
		"KthValue": func(x *tensor.Tensor) *tensor.Tensor { v, _ := x.KthValue(3, 0); return v },
		"Sort":     func(x *tensor.Tensor) *tensor.Tensor { v, _ := x.Sort(0, false); return v },
		"TopK":     func(x *tensor.Tensor) *tensor.Tensor { v, _ := x.TopK(3, 0, true); return v },
		"Quantile": func(x *tensor.Tensor) *tensor.Tensor {
			return x.Quantile([]float64{.25}, 0, tensor.BetweenLinear, false)
		},
	} {
		v, err := f(tensor.FromNode(input, e)).Schedule()
		require.NoError(t, err)
		for _, s := range v.Schedule.Steps {
			for _, o := range s.Spec.Outs {
				assert.Falsef(t, o.Once, "%s writes by place:\n%v", name, v.Schedule)
			}
		}
	}
}

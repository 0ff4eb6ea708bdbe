package onnx

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Indices of narrow types may be of more classes than their type counts.
func TestOneHotOfNarrowIndices(t *testing.T) {
	ctx := context.Background()
	for e, d := range map[Elem]dtype.DType{Uint8: dtype.U8, Int8: dtype.I8, Int64: dtype.I64} {
		file := modelMsg(graphMsg(msgs(nodeMsg("OneHot", list("in", "depth", "values"), list("y"))),
			msgs(tensorMsg("depth", Int64, little([]int64{300}, 8)), floatsMsg("values", 0, 1)),
			msgs(portMsg("in", e, 2)), msgs(portMsg("y", Float32, 2, 300))))
		m, err := Read(file, Options{})
		require.NoError(t, err)
		out, err := m.Call(ctx, map[string]*Value{"in": Of(tensor.From([]int{3, 100}).To(d))})
		require.NoError(t, err)
		v, err := tensor.Data[float32](ctx, out["y"].Tensor())
		require.NoError(t, err)
		want := make([]float32, 600)
		want[3], want[400] = 1, 1
		require.Equal(t, want, v, "%v", d)
	}
}

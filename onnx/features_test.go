package onnx

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// Features are taken by numbers that the device computes, and no number is taken that is none.
func TestFeaturesOfTheDevice(t *testing.T) {
	m := read(t, modelMsg(graphMsg(msgs(
		nodeMsg("Cast", list("x"), list("i"), intAttr("to", int64(Int64))),
		inDomain(nodeMsg("ArrayFeatureExtractor", list("table", "i"), list("y")), "ai.onnx.ml"),
	), msgs(floatsMsg("table", 5, 6, 7)), msgs(portMsg("x", Float32, 70)), msgs(portMsg("y", Float32, 1, 70)))))
	x := make([]float32, 70)
	x[1], x[69] = 2, 1
	out := run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of(x, 70))})
	require.Equal(t, []float32{5, 7, 5, 6}, []float32{out[0], out[1], out[2], out[69]})
	require.NotNil(t, m.whole().plans[0].plan)
	for _, wrong := range []float32{-1, 3} {
		x[7] = wrong
		out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of(x, 70))})
		if err == nil {
			_, err = tensor.Data[float32](context.Background(), out["y"])
		}
		require.ErrorContains(t, err, "3", wrong)
	}
}

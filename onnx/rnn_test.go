package onnx

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// An LSTM of narrow integers, as onnxruntime's dynamic quantization makes it, gives what onnxruntime 1.32 gives: both directions, one scale for each
// direction or one for each column.
func TestDynamicQuantizeLSTM(t *testing.T) {
	x := []float32{1.75, 0.375, 0.125, -1.875, -0.25, -0.375, -0.125, -0.625, 0, -0.5, -1.375, 0.875}
	b := []float32{0.875, 1.75, 0, -0.375, -0.5, -1.5, 1, -1.125, -1.125, -0.25, 1.5, 0.25, -1, -0.75, 0.625, -0.125,
		-0.75, -0.25, 0.75, 2, -1.25, -0.625, -0.75, -2.375, -0.875, -1, 1.125, -0.125, -1.625, 0.625, -0.375, -1.75}
	w := []byte{165, 158, 48, 189, 33, 52, 241, 252, 242, 2, 156, 36, 90, 232, 172, 176, 59, 202, 182, 240, 228, 91, 241, 21,
		113, 56, 104, 39, 29, 160, 176, 9, 33, 239, 247, 188, 216, 55, 11, 212, 138, 112, 208, 76, 68, 44, 44, 251}
	r := []byte{19, 144, 120, 226, 167, 178, 193, 35, 173, 242, 52, 1, 18, 191, 2, 215, 227, 148, 62, 209, 22, 220, 235, 135, 185, 225, 171, 32, 252, 92, 60, 144}
	var scales []float32 // of the states' weights
	zeros := make([]byte, 16)
	for i := range zeros {
		scales, zeros[i] = append(scales, float32(i+1)/1024), 125
	}
	floats := func(name string, list []float32, dims ...int64) message {
		return tensorMsg(name, Float32, floatsValue(nil, list...).raw, dims...)
	}
	node := inDomain(nodeMsg("DynamicQuantizeLSTM", list("x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"), list("y", "h", "c"),
		intAttr("hidden_size", 2), textAttr("direction", "bidirectional")), "com.microsoft")
	m := read(t, modelMsg(graphMsg(msgs(node), msgs(tensorMsg("w", Uint8, w, 2, 3, 8), tensorMsg("r", Uint8, r, 2, 2, 8), floats("b", b, 2, 16),
		floats("ws", []float32{1. / 64, 1. / 128}, 2), tensorMsg("wz", Uint8, []byte{130, 120}, 2), floats("rs", scales, 2, 8), tensorMsg("rz", Uint8, zeros, 2, 8)),
		msgs(portMsg("x", Float32, 4, 1, 3)), msgs(portMsg("y", Float32), portMsg("h", Float32), portMsg("c", Float32)))))
	out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of(x, 4, 1, 3))})
	require.NoError(t, err)
	for name, want := range map[string][]float32{
		"y": {0.24644139, 0.51366562, -0.04821949, -0.24409747, 0.28911850, -0.02524719, -0.14808427, -0.36912867,
			0.19580837, -0.50297606, -0.11722133, -0.14605476, 0.20746379, -0.73502237, -0.16619894, -0.06666709},
		"h": {0.20746379, -0.73502237, -0.04821949, -0.24409747},
		"c": {0.23030172, -1.00275802, -0.05461531, -0.33082992},
	} {
		got, err := tensor.Data[float32](context.Background(), out[name])
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-6, name)
	}
}

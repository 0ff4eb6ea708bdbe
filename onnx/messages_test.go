package onnx

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// A place outside of an axis is named as it was given.
func TestScatterOutside(t *testing.T) {
	m := read(t, modelMsg(graphMsg(msgs(nodeMsg("ScatterND", list("x", "i", "u"), list("y"))), msgs(floatsMsg("u", 7)),
		msgs(portMsg("x", Float32, -1), portMsg("i", Int64, 1, 1)), msgs(portMsg("y", Float32, -1)))))
	scatter := func(i int64) error {
		out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1})), "i": on(tensor.Of([]int64{i}, 1, 1))})
		if err == nil {
			_, err = tensor.Data[float32](context.Background(), out["y"])
		}
		return err
	}
	require.NoError(t, scatter(0))
	require.NoError(t, scatter(-1))
	require.ErrorContains(t, scatter(3), "index 3 is out of range for axis 0 of size 1")
	require.Error(t, scatter(-2))
}

// A shape is named as it was asked for.
func TestReshapeThatDoesNotFit(t *testing.T) {
	m := read(t, modelMsg(graphMsg(msgs(nodeMsg("Reshape", list("x", "s"), list("y"))), msgs(intsMsg("s", 3, -1)),
		msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1, -1)))))
	_, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 2}))})
	require.ErrorContains(t, err, "[2] does not become [3 -1]")
}

// Files of other kinds are named, and what to do with them.
func TestOtherKindsOfFiles(t *testing.T) {
	for file, says := range map[string]string{
		"PK\x03\x04\x00\x00\x08\x08":         "a zip file, as PyTorch (.pt) and NumPy (.npz) write them; torch.onnx.export makes a model",
		"GGUF\x03\x00\x00\x00":               "a GGUF file",
		"\x93NUMPY\x01\x00":                  "an array of NumPy",
		"\x80\x02\x8a\x0al\xfc\x9cF":         "a pickle",
		"\x48\x00\x00\x00\x00\x00\x00\x00{}": "a safetensors file",
		"\x18\x00\x00\x00ORTM\x00":           "onnxruntime's own format",
		"hello world":                        "it is no ONNX model, or a damaged one: ",
	} {
		_, err := Read([]byte(file), Options{Name: "x.onnx"})
		require.ErrorContains(t, err, says)
	}
}

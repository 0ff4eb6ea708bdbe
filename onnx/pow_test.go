package onnx

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// Integers to powers that are floats are those of integers where they are whole, and cut off elsewhere; one exponent that is known when the
// plan is made, and others.
func TestPowersOfIntegersToFloats(t *testing.T) {
	y := msgs(portMsg("y", Int64, -1))
	pow := nodeMsg("Pow", list("x", "p"), list("y"))
	data := func(m *Model, in map[string]*tensor.Tensor) []int64 {
		out, err := m.Run(context.Background(), in)
		require.NoError(t, err)
		v, err := tensor.Data[int64](context.Background(), out["y"])
		require.NoError(t, err)
		return v
	}
	x := []int64{-10, 7, 3, 100, 0}
	for p, want := range map[float32][]int64{0: {1, 1, 1, 1, 1}, 2: {100, 49, 9, 10000, 0}, 3: {-1000, 343, 27, 1000000, 0}, 9: {-1e9, 40353607, 19683, 1e18, 0}} {
		m := read(t, modelMsg(graphMsg(msgs(pow), msgs(floatsMsg("p", p)), msgs(portMsg("x", Int64, -1)), y)))
		require.Equal(t, want, data(m, map[string]*tensor.Tensor{"x": on(tensor.Of(x))}), "%v", p)
	}
	half := read(t, modelMsg(graphMsg(msgs(pow), msgs(floatsMsg("p", 0.5)), msgs(portMsg("x", Int64, -1)), y)))
	require.Equal(t, []int64{2, 3, 1, 9, 1000, 999}, data(half, map[string]*tensor.Tensor{"x": on(tensor.Of([]int64{4, 9, 3, 99, 1000000, 999999}))}))
	m := read(t, modelMsg(graphMsg(msgs(pow), nil, msgs(portMsg("x", Int64, -1), portMsg("p", Float32, -1)), y)))
	got := data(m, map[string]*tensor.Tensor{"x": on(tensor.Of([]int64{10, -10, 7, 5, 2})), "p": on(tensor.Of([]float32{2, 3, 11, -1, 40}))})
	require.Equal(t, []int64{100, -1000, 1977326743, 0, 1 << 40}, got)
}

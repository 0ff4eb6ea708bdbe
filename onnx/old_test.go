package onnx

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Before version 6 Cast named its type.
func TestCastByName(t *testing.T) {
	for name, e := range map[string]Elem{"FLOAT": Float32, "DOUBLE": Float64, "INT64": Int64, "UINT8": Uint8, "BOOL": Bool, "FLOAT16": Float16, "STRING": String} {
		m := read(t, atOpset(5, graphMsg(msgs(nodeMsg("Cast", list("x"), list("y"), textAttr("to", name))), nil, msgs(portMsg("x", Int32, -1)), msgs(portMsg("y", e, -1)))))
		out, err := m.Call(context.Background(), map[string]*Value{"x": Of(on(tensor.Of([]int32{0, 1})))})
		require.NoError(t, err, name)
		require.Equal(t, e, out["y"].Elem(), name)
	}
	m := read(t, atOpset(5, graphMsg(msgs(nodeMsg("Cast", list("x"), list("y"), textAttr("to", "QUAD"))), nil, msgs(portMsg("x", Int32, -1)), msgs(portMsg("y", Float32, -1)))))
	_, err := m.Call(context.Background(), map[string]*Value{"x": Of(on(tensor.Of([]int32{0, 1})))})
	require.ErrorContains(t, err, "which tensors do not hold")
}

// Before version 9 a normalization could have a mean for each place.
func TestNormOfEachPlace(t *testing.T) {
	node := nodeMsg("BatchNormalization", list("x", "s", "s", "s", "s"), list("y"), intAttr("spatial", 0))
	m := read(t, atOpset(7, graphMsg(msgs(node), msgs(floatsMsg("s", 1, 2)), msgs(portMsg("x", Float32, 1, 2)), msgs(portMsg("y", Float32, 1, 2)))))
	_, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Full(1, dtype.F32, 1, 2))})
	var not *NotYetError
	require.ErrorAs(t, err, &not)
	require.ErrorContains(t, err, "(spatial is 0): not yet")
}

// What scikit-learn's converter makes ends in ZipMap, whose dicts are left an array.
func TestZipMap(t *testing.T) {
	maps := message{}.text(1, "y").add(2, message{}.add(4, message{}.add(1, message{}.add(5, message{}.num(1, int64(Int64))))))
	m := read(t, modelMsg(graphMsg(msgs(inDomain(nodeMsg("ZipMap", list("x"), list("y"), intsAttr("classlabels_int64s", 0, 1)), "ai.onnx.ml")), nil,
		msgs(portMsg("x", Float32, -1, 2)), msgs(maps))))
	require.Equal(t, []float32{0.25, 0.75}, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{0.25, 0.75}, 1, 2))}))
}

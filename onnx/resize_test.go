package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

func textAttr(name, s string) message { return message{}.text(1, name).text(4, s).num(20, 3) }

// An axis of which one element is left starts at the first element, as the specification of pytorch_half_pixel says; a cubic kernel there
// takes nothing of its neighbours.
func TestResizeToOneElement(t *testing.T) {
	for _, x := range [][]float32{{3, 5, 9, -4, 2}, {7, 1}, {6}} {
		m := read(t, modelMsg(graphMsg(msgs(
			nodeMsg("Resize", list("x", "", "", "n"), list("y"), textAttr("mode", "cubic"),
				textAttr("coordinate_transformation_mode", "pytorch_half_pixel")),
		), msgs(intsMsg("n", 1)), msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, 1)))))
		require.Equal(t, x[:1], run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of(x))}))
	}
}

// atOpset is a model of a version of the operators.
func atOpset(version int64, graph message) []byte {
	return message{}.num(1, 9).add(7, graph).add(8, message{}.text(1, "").num(2, version))
}

// Corners that are aligned stay the corners where an axis grows by a fraction, as in onnxruntime and PyTorch; where it shrinks, the size that
// is not rounded counts, as the tests of ONNX ask for.
func TestResizeAlignsCorners(t *testing.T) {
	for _, c := range []struct {
		mode    string
		scale   float32
		x, want []float32
	}{
		{"linear", 1.5, []float32{0, 3, 6, 9, 12}, []float32{0, 2, 4, 6, 8, 10, 12}},
		{"nearest", 1.5, []float32{1, 2, 3}, []float32{1, 2, 2, 3}},
		{"linear", 0.6, []float32{1, 2, 3, 4}, []float32{1, 1 + 3/(0.6*4-1)}},
	} {
		m := read(t, modelMsg(graphMsg(msgs(
			nodeMsg("Resize", list("x", "", "s"), list("y"), textAttr("mode", c.mode), textAttr("coordinate_transformation_mode", "align_corners")),
		), msgs(floatsMsg("s", c.scale)), msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1)))))
		require.InDeltaSlice(t, c.want, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of(c.x))}), 1e-5, "%v", c)
	}
}

// Before version 11 nearest elements were those before a place where an axis grows, and those behind it where it shrinks
// (ONNX 1.5, test_resize_downsample_nearest).
func TestResizeOfVersion10(t *testing.T) {
	for _, c := range []struct {
		scale   float32
		x, want []float32
	}{{0.6, []float32{1, 2, 3, 4}, []float32{1, 3}}, {0.5, []float32{1, 2, 3, 4}, []float32{1, 3}}, {1.5, []float32{1, 2}, []float32{1, 1, 2}}} {
		m := read(t, atOpset(10, graphMsg(msgs(nodeMsg("Resize", list("x", "s"), list("y"))), msgs(floatsMsg("s", c.scale)),
			msgs(portMsg("x", Float32, -1)), msgs(portMsg("y", Float32, -1)))))
		require.Equal(t, c.want, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of(c.x))}), "%v", c)
	}
}

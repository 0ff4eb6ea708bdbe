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

package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// What DepthToSpace makes is stored before a convolution reads it, and is that of its mode.
func TestConvolutionOfDepthToSpace(t *testing.T) {
	const channels, side, b = 32, 16, 2
	w := make([]float32, channels*channels*9)
	for i := range channels {
		w[(i*channels+i)*9+4] = 1 // the filters leave the picture as it is
	}
	x := make([]float32, channels*b*b*side*side)
	for i := range x {
		x[i] = float32(i)
	}
	for _, mode := range []string{"CRD", "DCR"} {
		m := read(t, modelMsg(graphMsg(msgs(
			nodeMsg("DepthToSpace", list("x"), list("r"), intAttr("blocksize", b), textAttr("mode", mode)),
			nodeMsg("Conv", list("r", "w"), list("y"), intsAttr("pads", 1, 1, 1, 1)),
		), msgs(tensorMsg("w", Float32, floatsValue(nil, w...).raw, channels, channels, 3, 3)),
			msgs(portMsg("x", Float32, 1, channels*b*b, side, side)), msgs(portMsg("y", Float32, 1, channels, side*b, side*b)))))
		got := run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of(x, 1, channels*b*b, side, side))})
		want := make([]float32, len(x))
		for i := range want {
			c, row, column := i/(side*side*b*b), i/(side*b)%(side*b), i%(side*b)
			at := c*b*b + row%b*b + column%b
			if mode == "DCR" {
				at = (row%b*b+column%b)*channels + c
			}
			want[i] = x[(at*side+row/b)*side+column/b]
		}
		require.Equal(t, want, got, mode)
		require.GreaterOrEqual(t, m.whole().plans[0].plan.Launches(), 2, mode)
	}
}

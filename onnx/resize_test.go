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

// A convolution after a resizing reads elements that are there: it does not compute each of them as often as it reads it.
func TestConvolutionOfResized(t *testing.T) {
	for _, coords := range []string{"half_pixel", "align_corners"} {
		const channels, side, to = 32, 16, 32
		w := make([]float32, channels*channels*9)
		for i := range w {
			if i/9%(channels+1) == 0 && i%9 == 4 {
				w[i] = 1 // the filters leave the picture as it is
			}
		}
		x := make([]float32, channels*side*side)
		for i := range x {
			x[i] = float32(i*i%101) / 8
		}
		m := read(t, modelMsg(graphMsg(msgs(
			nodeMsg("Resize", list("x", "", "", "n"), list("r"), textAttr("mode", "linear"), textAttr("coordinate_transformation_mode", coords)),
			nodeMsg("Conv", list("r", "w"), list("y"), intsAttr("pads", 1, 1, 1, 1)),
		), msgs(intsMsg("n", 1, channels, to, to), tensorMsg("w", Float32, floatsValue(nil, w...).raw, channels, channels, 3, 3)),
			msgs(portMsg("x", Float32, 1, channels, side, side)), msgs(portMsg("y", Float32, -1, -1, -1, -1)))))
		got := run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of(x, 1, channels, side, side))})
		require.GreaterOrEqual(t, m.whole().plans[0].plan.Launches(), 2, coords)
		at := func(axis float64) (lo, hi int, part float64) {
			p := axis * float64(side-1) / (to - 1)
			if coords == "half_pixel" {
				p = max(0, min((axis+0.5)/2-0.5, side-1))
			}
			lo = int(p)
			return lo, min(lo+1, side-1), p - float64(lo)
		}
		want := make([]float32, channels*to*to)
		for i := range want {
			c := i / (to * to)
			top, bottom, down := at(float64(i / to % to))
			left, right, across := at(float64(i % to))
			of := func(y, x0 int) float64 { return float64(x[(c*side+y)*side+x0]) }
			want[i] = float32((1-down)*((1-across)*of(top, left)+across*of(top, right)) + down*((1-across)*of(bottom, left)+across*of(bottom, right)))
		}
		require.InDeltaSlice(t, want, got, 1e-4, coords)
	}
}

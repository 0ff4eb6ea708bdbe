package onnx

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// What only moves numbers that stand for bytes, or picks the greatest, does so with the bytes: between operators that take and give bytes there is no
// arithmetic. Where scales differ there is, and the results are those of floats.
func TestBytesAreMoved(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	scalar := func(name string, f float32) message { return tensorMsg(name, Float32, floatsValue(nil, f).raw) }
	for _, e := range []Elem{Int8, Uint8} {
		for _, to := range []float32{0.02, 0.03} {
			const n = 2 * 3 * 6 * 6
			raw := anyBytes(r, n)
			number := func(b uint8) int {
				if e == Int8 {
					return int(int8(b))
				}
				return int(b)
			}
			nodes := msgs(
				nodeMsg("DequantizeLinear", list("x", "s", "z"), list("a")),
				nodeMsg("MaxPool", list("a"), list("b"), intsAttr("kernel_shape", 3, 3), intsAttr("pads", 1, 1, 1, 1), intsAttr("strides", 2, 2)),
				nodeMsg("QuantizeLinear", list("b", "s", "z"), list("c")),
				nodeMsg("DequantizeLinear", list("c", "s", "z"), list("d")),
				nodeMsg("Transpose", list("d"), list("e"), intsAttr("perm", 0, 2, 3, 1)),
				nodeMsg("Reshape", list("e", "flat"), list("f")),
				nodeMsg("Concat", list("f", "f"), list("g"), intAttr("axis", 1)),
				nodeMsg("QuantizeLinear", list("g", "to", "z"), list("y")),
			)
			inits := msgs(scalar("s", 0.02), scalar("to", to), tensorMsg("z", e, []byte{7}), intsMsg("flat", 2, -1))
			m := read(t, modelMsg(graphMsg(nodes, inits, msgs(portMsg("x", e, 2, 3, 6, 6)), msgs(portMsg("y", e)))))
			x := tensor.FromBytes(e.DType(), []int{2, 3, 6, 6}, raw)
			out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(x)})
			require.NoError(t, err)
			got, err := out["y"].Bytes(context.Background())
			require.NoError(t, err)
			var want []byte
			lo, hi := limits(e)
			for b := range 2 {
				var row []byte
				for i := range 3 {
					for j := range 3 {
						for c := range 3 {
							best := math.Inf(-1)
							for dy := max(0, 2*i-1); dy <= 2*i+1; dy++ {
								for dx := max(0, 2*j-1); dx <= 2*j+1; dx++ {
									best = max(best, float64(number(raw[((b*3+c)*6+dy)*6+dx])))
								}
							}
							f := math.RoundToEven(float64(float32(best-7)*0.02/to)) + 7
							row = append(row, byte(int(max(lo, min(hi, f)))))
						}
					}
				}
				want = append(append(want, row...), row...)
			}
			require.Equal(t, want, got, fmt.Sprint(e, to))
			text := m.whole().plans[0].plan.Schedule().String()
			if to == 0.02 {
				require.NotContains(t, text, "f32")
			} else {
				require.Contains(t, text, "f32")
			}
		}
	}
}

// The greatest of large windows is that of their rows' and then of these along columns, with strides, dilations and paddings, in two dimensions or three.
func TestLargePools(t *testing.T) {
	for _, c := range []struct{ shape, size, stride, dilation, pads []int64 }{
		{[]int64{1, 2, 9, 11}, []int64{5, 5}, []int64{1, 1}, []int64{1, 1}, []int64{2, 2, 2, 2}},
		{[]int64{2, 1, 14, 13}, []int64{3, 7}, []int64{2, 3}, []int64{1, 1}, []int64{1, 3, 0, 2}},
		{[]int64{1, 1, 15, 15}, []int64{4, 4}, []int64{1, 2}, []int64{2, 3}, []int64{0, 1, 3, 0}},
		{[]int64{1, 1, 6, 7, 8}, []int64{3, 3, 3}, []int64{1, 2, 1}, []int64{1, 1, 2}, []int64{1, 1, 2, 1, 0, 2}},
	} {
		node := nodeMsg("MaxPool", list("x"), list("y"), intsAttr("kernel_shape", c.size...), intsAttr("strides", c.stride...), intsAttr("dilations", c.dilation...), intsAttr("pads", c.pads...))
		both := nodeMsg("MaxPool", list("x"), list("y", "at"), intsAttr("kernel_shape", c.size...), intsAttr("strides", c.stride...), intsAttr("dilations", c.dilation...), intsAttr("pads", c.pads...))
		dims := ints(c.shape)
		x := tensor.Linspace(0, 40, count(dims)).Sin().Reshape(dims...)
		var got [2][]float32
		for i, n := range []message{node, both} { // that with places looks at all of a window at once
			outs := msgs(portMsg("y", Float32))
			if i == 1 {
				outs = append(outs, portMsg("at", Int64))
			}
			got[i] = run(t, read(t, modelMsg(graphMsg(msgs(n), nil, msgs(portMsg("x", Float32, c.shape...)), outs))), map[string]*tensor.Tensor{"x": on(x)})
		}
		require.Equal(t, got[1], got[0], c)
	}
}

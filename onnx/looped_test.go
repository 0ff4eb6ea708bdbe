package onnx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// A Scan with a state and a Loop of a known number of rounds are loops of the graph: a plan of many rounds has no more kernels than one of few. What a
// round computes is what rounds give that are run one after the other.
func TestRoundsAreOneLoop(t *testing.T) {
	step := msgs(nodeMsg("MatMul", list("s", "w"), list("p")), nodeMsg("Add", list("p", "r"), list("q")), nodeMsg("Tanh", list("q"), list("after")),
		nodeMsg("ReduceSum", list("after", "one"), list("y"), intAttr("keepdims", 0)))
	scan := graphMsg(step, nil, msgs(portMsg("s", Float32, 2), portMsg("r", Float32, 2)), msgs(portMsg("after", Float32, 2), portMsg("y", Float32)))
	loop := graphMsg(append(msgs(nodeMsg("Identity", list("go"), list("on")), nodeMsg("Gather", list("x", "i"), list("r"))), step...), nil,
		msgs(portMsg("i", Int64), portMsg("go", Bool), portMsg("s", Float32, 2)), msgs(portMsg("on", Bool), portMsg("after", Float32, 2), portMsg("y", Float32)))
	square := nodeMsg("Reshape", list("flat", "shape"), list("w"))
	weights := msgs(floatsMsg("flat", 0.5, -1, 0.25, 0.75), intsMsg("one", 0), intsMsg("shape", 2, 2))
	compiled := func() int { return on(tensor.Zeros(1)).Engine().Stats().Kernels }
	for _, n := range []int{3, 4, 40} {
		nodes := map[string]message{
			"Scan": nodeMsg("Scan", list("s0", "x"), list("last", "ys"), graphAttr("body", scan), intAttr("num_scan_inputs", 1)),
			"back": nodeMsg("Scan", list("s0", "x"), list("last", "ys"), graphAttr("body", scan), intAttr("num_scan_inputs", 1),
				intsAttr("scan_input_directions", 1), intsAttr("scan_output_directions", 1)),
			"Loop": nodeMsg("Loop", list("n", "", "s0"), list("last", "ys"), graphAttr("body", loop)),
		}
		for name, node := range nodes {
			m := read(t, modelMsg(graphMsg(msgs(square, node), append(weights, intsMsg("n", int64(n))),
				msgs(portMsg("s0", Float32, 2), portMsg("x", Float32, int64(n), 2)), msgs(portMsg("last", Float32, 2), portMsg("ys", Float32, -1)))))
			x, s := make([]float32, 2*n), []float64{0.1, -0.2}
			for i := range x {
				x[i] = float32(math.Sin(float64(i)))
			}
			want := make([]float64, n)
			for i := range n {
				if name == "back" {
					i = n - 1 - i
				}
				s = []float64{math.Tanh(s[0]*0.5 + s[1]*0.25 + float64(x[2*i])), math.Tanh(-s[0] + s[1]*0.75 + float64(x[2*i+1]))}
				want[i] = s[0] + s[1]
			}
			before := compiled()
			outs, err := m.Run(t.Context(), map[string]*tensor.Tensor{"s0": on(tensor.Of([]float32{0.1, -0.2}, 2)), "x": on(tensor.Of(x, n, 2))})
			require.NoError(t, err, name)
			var got []float64
			for _, o := range []string{"last", "ys"} {
				v, err := tensor.Data[float64](t.Context(), outs[o].To(dtype.F64))
				require.NoError(t, err)
				got = append(got, v...)
			}
			require.InDeltaSlice(t, append(s, want...), got, 1e-5, name)
			if n == 40 {
				require.LessOrEqual(t, m.whole().plans[0].plan.Launches(), 2, name) // all rounds are a kernel: what comes before them, and they
				require.LessOrEqual(t, compiled()-before, 5, name)
			}
		}
	}
}

package onnx

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// Scan of rounds that do not depend on each other is no loop: however many rounds there are, a plan has as many launches. Rounds whose values decide
// about shapes stay one after the other.
func TestScanOfSeparateRounds(t *testing.T) {
	scanOf := func(rows int64, back int64, body []message, state string) *Model {
		g := graphMsg(body, nil, msgs(portMsg("s", Float32, 2, 2), portMsg("r", Float32, 2)), msgs(portMsg(state, Float32, 2, 2), portMsg("d", Float32, -1)))
		return read(t, modelMsg(graphMsg(msgs(nodeMsg("Scan", list("x", "rows"), list("after", "y"), graphAttr("body", g), intAttr("num_scan_inputs", 1),
			intsAttr("scan_input_directions", back), intsAttr("scan_output_axes", 1))), msgs(intsMsg("one", 1), intsMsg("none")),
			msgs(portMsg("x", Float32, 2, 2), portMsg("rows", Float32, rows, 2)), msgs(portMsg("y", Float32, -1, -1)))))
	}
	distances := msgs(nodeMsg("Identity", list("s"), list("same")), nodeMsg("Sub", list("s", "r"), list("away")),
		nodeMsg("ReduceSumSquare", list("away", "one"), list("d"), intAttr("keepdims", 0)))
	x := []float32{1, 2, -1, 0}
	for _, n := range []int{2, 3, 50} {
		var rows []float32
		for i := range 2 * n {
			rows = append(rows, float32(i%5))
		}
		square := func(a, b float32) float32 { return (a - b) * (a - b) }
		want := make([]float32, 2*n)
		for i := range n {
			for j := range 2 {
				want[j*n+n-1-i] = square(x[2*j], rows[2*i]) + square(x[2*j+1], rows[2*i+1])
			}
		}
		in := map[string]*tensor.Tensor{"x": on(tensor.Of(x, 2, 2)), "rows": on(tensor.Of(rows, n, 2))}
		m := scanOf(int64(n), 1, distances, "same")
		require.Equal(t, want, run(t, m, in))
		require.Equal(t, 1, m.whole().plans[0].plan.Launches())
		once := scanOf(int64(n), 0, msgs(nodeMsg("Identity", list("s"), list("same")), nodeMsg("ReduceSum", list("s", "one"), list("d"), intAttr("keepdims", 0))), "same")
		sums := run(t, once, in)
		require.Equal(t, []float32{3, -1}, []float32{sums[0], sums[n]})
		require.Len(t, sums, 2*n)
		turns := scanOf(int64(n), 0, append(distances, nodeMsg("Neg", list("s"), list("next"))), "next") // a state that changes
		require.InDelta(t, square(-1, rows[2])+square(-2, rows[3]), run(t, turns, in)[1], 0)
	}
	in := map[string]*tensor.Tensor{"x": on(tensor.Of(x, 2, 2)), "rows": on(tensor.Of([]float32{1, 0, 2, 0, 1, 0}, 3, 2))}
	sized := scanOf(3, 0, msgs(nodeMsg("Identity", list("s"), list("same")), nodeMsg("NonZero", list("r"), list("places")), nodeMsg("Cast", list("places"), list("f"), intAttr("to", 1)),
		nodeMsg("ReduceSum", list("f", "one"), list("d"), intAttr("keepdims", 0))), "same")
	require.Equal(t, []float32{0, 0, 0}, run(t, sized, in))
}

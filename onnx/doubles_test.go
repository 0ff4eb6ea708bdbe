package onnx

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"

	_ "github.com/weft-ml/weft/backends/webgpu" // one of its devices
)

// Loops carry float64, walk along it and list it on a device that has none, as elsewhere.
func TestLoopsOfDoublesWithoutFloat64(t *testing.T) {
	number := func(name string, x float64) message {
		return tensorMsg(name, Float64, little([]int64{int64(math.Float64bits(x))}, 8))
	}
	loop := graphMsg(msgs(
		nodeMsg("Mul", list("x", "third"), list("y")),
		nodeMsg("Identity", list("more"), list("on")),
		nodeMsg("ReduceSum", list("y"), list("sum"), intAttr("keepdims", 0)),
	), msgs(number("third", 1./3)), msgs(portMsg("i", Int64), portMsg("more", Bool), portMsg("x", Float64, 2)),
		msgs(portMsg("on", Bool), portMsg("y", Float64, 2), portMsg("y", Float64, 2), portMsg("sum", Float64)))
	scan := graphMsg(msgs(
		nodeMsg("Add", list("s", "s"), list("t")), // nothing computes with the row
	), nil, msgs(portMsg("s", Float64, 2), portMsg("row", Float64, 2)), msgs(portMsg("t", Float64, 2), portMsg("row", Float64, 2)))
	file := modelMsg(graphMsg(msgs(
		nodeMsg("Cast", list("in"), list("x"), intAttr("to", int64(Float64))),
		nodeMsg("Loop", list("rounds", "", "x"), list("last", "rows", "sums"), graphAttr("body", loop)),
		nodeMsg("Scan", list("x", "rows"), list("total", "rows2"), graphAttr("body", scan), intAttr("num_scan_inputs", 1)),
		nodeMsg("Sub", list("rows", "last"), list("apart")),
		nodeMsg("Concat", list("total", "last", "sums"), list("all"), intAttr("axis", 0)),
		nodeMsg("Mul", list("all", "large"), list("much")),
		nodeMsg("Cast", list("much"), list("y"), intAttr("to", int64(Float32))),
		nodeMsg("Cast", list("apart"), list("z"), intAttr("to", int64(Float32))),
	), msgs(tensorMsg("rounds", Int64, little([]int64{3}, 8)), number("large", 1e30)), msgs(portMsg("in", Float32, 2)),
		msgs(portMsg("y", Float32, 7), portMsg("z", Float32, 3, 2), portMsg("rows2", Float64, 3, 2))))
	ctx := context.Background()
	outs := map[string][][]byte{}
	for _, device := range []string{"INTERP", "WEBGPU"} {
		_, err := engine.Use(device)
		need.Device(t, device, err)
		m, err := Read(file, Options{Device: device})
		require.NoError(t, err)
		for range 2 {
			got, err := m.Call(ctx, map[string]*Value{"in": Of(tensor.Of([]float32{1e-3, 7}).On(device))})
			require.NoError(t, err, device)
			for _, name := range []string{"y", "z", "rows2"} {
				raw, err := got[name].Bytes(ctx)
				require.NoError(t, err, device)
				outs[device] = append(outs[device], raw)
			}
		}
	}
	require.Equal(t, outs["INTERP"], outs["WEBGPU"])
	require.InEpsilon(t, 7e30/27, numbersOf(Float32, outs["INTERP"][0])[3], 1e-6)
	require.Len(t, outs["INTERP"][2], 8*3*2)
}

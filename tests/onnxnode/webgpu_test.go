package onnxnode

import (
	"context"
	"testing"

	_ "github.com/weft-ml/weft/backends/webgpu" // one of its devices
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tests/require"
)

// TestDoublesWithoutFloat64 runs cases of float64 on a device that has none: products, sums, casts, a sequence, a graph within a node, and int64 that goes
// through float64.
func TestDoublesWithoutFloat64(t *testing.T) {
	_, err := engine.Use("WEBGPU")
	require.Device(t, "WEBGPU", err)
	cases, err := Load(folder(t, "", "onnx-node"))
	if err != nil {
		t.Fatal(err)
	}
	names := "test_cumsum_2d_axis_1,test_einsum_inner_prod,test_cast_DOUBLE_to_FLOAT,test_cast_FLOAT_to_DOUBLE,test_sequence_model7,test_flexattention_double," +
		"test_pow_types_int64_float32,test_reduce_log_sum_exp_keepdims_random,test_reduce_log_sum_exp_empty_set_expanded,test_bitcast_float64_to_int64,test_operator_addconstant"
	list := Select(cases, names)
	if len(list) < 11 {
		t.Fatalf("%d cases are there", len(list))
	}
	for _, c := range list {
		if r := c.Run(context.Background(), "WEBGPU", Tolerance{Rel: 1e-3, Abs: 1e-7}); r.Status != Passed {
			t.Errorf("%s: %s", c.Name, r.Reason)
		}
	}
}

package onnx

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

func floatsAttr(name string, list ...float32) message {
	m := message{}.text(1, name).num(20, 6)
	for _, f := range list {
		m = m.float(7, f)
	}
	return m
}

func textsAttr(name string, list ...string) message {
	m := message{}.text(1, name).num(20, 8)
	for _, s := range list {
		m = m.text(9, s)
	}
	return m
}

// A forest of two classes whose leaves weigh one of them gives what onnxruntime 1.32 gave.
func TestForestOfTwoClasses(t *testing.T) {
	plain, mixed := []float32{0.2, 0.9}, []float32{-0.3, 0.9}
	for _, c := range []struct {
		class   int64
		weights []float32
		base    []float32
		post    string
		want    []float32
	}{
		{0, plain, nil, "NONE", []float32{0.8, 0.2, 0.1, 0.9}},
		{0, mixed, nil, "NONE", []float32{0.3, -0.3, -0.9, 0.9}},
		{0, plain, nil, "LOGISTIC", []float32{0.4502, 0.5498, 0.2891, 0.7109}},
		{0, mixed, nil, "LOGISTIC", []float32{0.5744, 0.4256, 0.2891, 0.7109}},
		{0, plain, nil, "SOFTMAX", []float32{0.8, 0.2, 0.1, 0.9}},
		{0, mixed, nil, "SOFTMAX", []float32{0.3, -0.3, -0.9, 0.9}},
		{1, plain, nil, "NONE", []float32{0, 0.2, 0, 0.9}},
		{1, mixed, nil, "NONE", []float32{0, -0.3, 0, 0.9}},
		{1, plain, nil, "LOGISTIC", []float32{0.5, 0.5498, 0.5, 0.7109}},
		{1, mixed, nil, "LOGISTIC", []float32{0.5, 0.4256, 0.5, 0.7109}},
		{1, plain, nil, "SOFTMAX", []float32{0.4502, 0.5498, 0.2891, 0.7109}},
		{1, mixed, nil, "SOFTMAX", []float32{0.5744, 0.4256, 0.2891, 0.7109}},
		{0, []float32{0.2, 0.7}, []float32{0.25}, "NONE", []float32{0.55, 0.45, 0.05, 0.95}},
		{0, []float32{0.2, 0.7}, []float32{0.25}, "LOGISTIC", []float32{0.3894, 0.6106, 0.2789, 0.7211}},
		{0, []float32{-0.3, 0.7}, []float32{0.25}, "LOGISTIC", []float32{0.5125, 0.4875, 0.2789, 0.7211}},
	} {
		attrs := msgs(intsAttr("nodes_treeids", 0, 0, 0), intsAttr("nodes_nodeids", 0, 1, 2), intsAttr("nodes_featureids", 0, 0, 0),
			floatsAttr("nodes_values", 0.5, 0, 0), textsAttr("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF"), intsAttr("nodes_truenodeids", 1, 0, 0),
			intsAttr("nodes_falsenodeids", 2, 0, 0), intsAttr("class_treeids", 0, 0), intsAttr("class_nodeids", 1, 2),
			intsAttr("class_ids", c.class, c.class), floatsAttr("class_weights", c.weights...), textAttr("post_transform", c.post),
			intsAttr("classlabels_int64s", 10, 20))
		if c.base != nil {
			attrs = append(attrs, floatsAttr("base_values", c.base...))
		}
		m := read(t, modelMsg(graphMsg(msgs(inDomain(nodeMsg("TreeEnsembleClassifier", list("x"), list("l", "y"), attrs...), "ai.onnx.ml")), nil,
			msgs(portMsg("x", Float32, -1, 1)), msgs(portMsg("l", Int64, -1), portMsg("y", Float32, -1, 2)))))
		in := map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{0, 1}, 2, 1))}
		require.InDeltaSlice(t, c.want, run(t, m, in), 1e-4, "%v", c)
		out, err := m.Run(context.Background(), in)
		require.NoError(t, err)
		labels, err := tensor.Data[int64](context.Background(), out["l"])
		require.NoError(t, err)
		require.Equal(t, []int64{10, 20}, labels, "%v", c)
	}
}

// A forest and labels of what it gives are one plan, and from some sizes on one for all batches: neither the places of nodes nor labels are looked up
// in the program, and what nodes make of their attributes is the same array in each graph.
func TestForestAndLabelsAreOnePlan(t *testing.T) {
	nan := float32(math.NaN())
	m := read(t, modelMsg(graphMsg(msgs(
		inDomain(nodeMsg("TreeEnsembleRegressor", list("x"), list("score"), intsAttr("nodes_treeids", 0, 0, 0, 0, 0), intsAttr("nodes_nodeids", 0, 1, 2, 3, 4),
			intsAttr("nodes_featureids", 0, 1, 0, 0, 0), floatsAttr("nodes_values", 0.5, 0.5, 0, 0, 0),
			textsAttr("nodes_modes", "BRANCH_LEQ", "BRANCH_LEQ", "LEAF", "LEAF", "LEAF"), intsAttr("nodes_truenodeids", 1, 3, 0, 0, 0),
			intsAttr("nodes_falsenodeids", 2, 4, 0, 0, 0), intsAttr("target_treeids", 0, 0, 0), intsAttr("target_nodeids", 2, 3, 4),
			intsAttr("target_ids", 0, 0, 0), floatsAttr("target_weights", 3, 1, nan)), "ai.onnx.ml"),
		inDomain(nodeMsg("LabelEncoder", list("score"), list("label"), floatsAttr("keys_floats", 1, 1, nan), intsAttr("values_int64s", 10, 11, 12),
			intAttr("default_int64", -7)), "ai.onnx.ml"),
	), nil, msgs(portMsg("x", Float32, -1, 2)), msgs(portMsg("label", Int64, -1, 1)))))
	for rows := 1; rows <= 40; rows++ {
		var x []float32
		var want []int64
		for i := range rows {
			x = append(x, float32(i%2), float32(i/2%2))
			want = append(want, []int64{10, -7, 12, -7}[i%4])
		}
		out, err := m.Run(context.Background(), map[string]*tensor.Tensor{"x": on(tensor.Of(x, rows, 2))})
		require.NoError(t, err)
		got, err := tensor.Data[int64](context.Background(), out["label"])
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.True(t, m.whole().plans[0].plan != nil || m.whole().plans[0].instance != nil)
	}
	require.NotNil(t, m.whole().plans[0].instance)
}

// Whether a node sends features without a value along the branch of a comparison that holds is looked up where some node does, and nowhere else.
func TestMissingFeatures(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		tracks []int64
		want   []float32
		looked bool
	}{{nil, []float32{1, 2, 2}, false}, {[]int64{0, 0, 0}, []float32{1, 2, 2}, false}, {[]int64{1, 0, 0}, []float32{1, 2, 1}, true}} {
		attrs := msgs(intsAttr("nodes_treeids", 0, 0, 0), intsAttr("nodes_nodeids", 0, 1, 2), intsAttr("nodes_featureids", 0, 0, 0),
			floatsAttr("nodes_values", 0.5, 0, 0), textsAttr("nodes_modes", "BRANCH_LEQ", "LEAF", "LEAF"), intsAttr("nodes_truenodeids", 1, 0, 0),
			intsAttr("nodes_falsenodeids", 2, 0, 0), intsAttr("target_treeids", 0, 0), intsAttr("target_nodeids", 1, 2),
			intsAttr("target_ids", 0, 0), floatsAttr("target_weights", 1, 2))
		if c.tracks != nil {
			attrs = append(attrs, intsAttr("nodes_missing_value_tracks_true", c.tracks...))
		}
		m := read(t, modelMsg(graphMsg(msgs(inDomain(nodeMsg("TreeEnsembleRegressor", list("x"), list("y"), attrs...), "ai.onnx.ml")), nil,
			msgs(portMsg("x", Float32, -1, 1)), msgs(portMsg("y", Float32, -1, 1)))))
		require.Equal(t, c.want, run(t, m, map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{0, 1, nan}, 3, 1))}))
		looked := false
		for at := range m.placed {
			if key, ok := at.t.(tableKey); ok {
				looked = looked || key.name == "missing"
			}
		}
		require.Equal(t, c.looked, looked, "%v", c.tracks)
	}
}

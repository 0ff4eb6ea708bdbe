package onnx

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// Two classes with probabilities: the logistic function of the decision, and the class that the decision is for, whichever is likelier.
func TestLikelyClasses(t *testing.T) {
	classifier := func(classes []int64, attrs ...message) *Model {
		vectors, rho := []int64{1, 1}, []float32{0.25}
		weights, support := []float32{1, -1}, []float32{1, 0, 0, 1}
		if len(classes) == 3 {
			vectors, rho = []int64{1, 1, 0}, []float32{0.25, 0, 0}
			weights = []float32{1, -1, 0, 0}
		}
		node := nodeMsg("SVMClassifier", list("x"), list("l", "y"), append(attrs, intsAttr("classlabels_ints", classes...), intsAttr("vectors_per_class", vectors...),
			floatsAttr("support_vectors", support...), floatsAttr("coefficients", weights...), floatsAttr("rho", rho...))...)
		return read(t, modelMsg(graphMsg(msgs(inDomain(node, "ai.onnx.ml")), nil, msgs(portMsg("x", Float32, -1, 2)),
			msgs(portMsg("l", Int64, -1), portMsg("y", Float32, -1, -1)))))
	}
	in := map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 0, 0, 2}, 2, 2))} // decisions 1.25 and −1.75
	likely := func(d float64) float32 { return float32(1 / (1 + math.Exp(-0.5*d+0.1))) }
	m := classifier([]int64{7, 8}, floatsAttr("prob_a", -0.5), floatsAttr("prob_b", 0.1))
	require.InDeltaSlice(t, []float32{likely(1.25), 1 - likely(1.25), likely(-1.75), 1 - likely(-1.75)}, run(t, m, in), 1e-6)
	out, err := m.Run(context.Background(), in)
	require.NoError(t, err)
	labels, err := tensor.Data[int64](context.Background(), out["l"])
	require.NoError(t, err)
	require.Equal(t, []int64{7, 8}, labels)

	_, err = classifier([]int64{7, 8, 9}, floatsAttr("prob_a", 1, 1, 1), floatsAttr("prob_b", 0, 0, 0)).Run(context.Background(), in)
	require.ErrorContains(t, err, "probabilities of more than two classes: not yet")
	_, err = classifier([]int64{7, 8}, floatsAttr("prob_a", 1)).Run(context.Background(), in)
	require.ErrorContains(t, err, "1 numbers prob_a and 0 prob_b for 1 pairs")
	_, err = classifier([]int64{7, 8, 9, 10}).Run(context.Background(), in)
	require.ErrorContains(t, err, "vectors of 2 classes, and there are 4")
}

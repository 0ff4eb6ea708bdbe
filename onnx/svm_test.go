package onnx

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// More than two classes with probabilities: those that agree with all pairs best, and the class that most pairs decide for, whichever is likelier.
// The numbers are onnxruntime's.
func TestCoupledClasses(t *testing.T) {
	in := map[string]*tensor.Tensor{"x": on(tensor.Of([]float32{1, 0, 0, 2, -1, -1, 0.5, 0.5, 30, -20}, 5, 2))}
	for _, c := range []struct {
		kernel                            string
		classes, each                     []int64
		support, weights, rho, a, b, want []float32
		labels                            []int64
	}{
		{"LINEAR", []int64{7, 8, 9}, []int64{1, 1, 1}, []float32{1, 0, 0, 1, -1, -1}, []float32{1, -1, 0.5, 0.75, -0.5, -1}, []float32{0.25, -0.5, 0.125},
			[]float32{-2, -1.5, -1}, []float32{0.1, -0.2, 0.3}, []float32{0.50287259, 0.17700826, 0.32011926, 0.027758734, 0.67724138, 0.29499984, 0.35814163,
				0.14904732, 0.49281099, 0.29958737, 0.36130494, 0.33910772, 0.99999988, 1.1920932e-07, 5.9604666e-08}, []int64{7, 8, 9, 7, 7}},
		{"RBF", []int64{3, 1, 2, 0}, []int64{1, 2, 1, 1}, []float32{1, 0, 0, 1, -1, -1, 2, 1, 0, -2},
			[]float32{1, -1, 0.5, -0.25, -0.5, 0.75, -0.5, -1, 0.5, 0.25, 0.3, 0.6, -0.9, 1, -1}, []float32{0.25, -0.5, 0.125, 0.05, -0.3, 0.2},
			[]float32{-2, -1.5, -1, -3, -2.5, -0.5}, []float32{0.1, -0.2, 0.3, 0, 0.5, -0.4}, []float32{0.37414527, 0.11950614, 0.26404643, 0.24230219,
				0.18018299, 0.20755118, 0.37444192, 0.23782398, 0.24055301, 0.028834868, 0.41382912, 0.31678283, 0.30190706, 0.15999521, 0.31710052,
				0.22099729, 0.23341955, 0.16998278, 0.31834996, 0.27824777}, []int64{3, 2, 0, 3, 3}},
	} {
		node := nodeMsg("SVMClassifier", list("x"), list("l", "y"), intsAttr("classlabels_ints", c.classes...), intsAttr("vectors_per_class", c.each...),
			floatsAttr("support_vectors", c.support...), floatsAttr("coefficients", c.weights...), floatsAttr("rho", c.rho...),
			floatsAttr("prob_a", c.a...), floatsAttr("prob_b", c.b...), textAttr("kernel_type", c.kernel), floatsAttr("kernel_params", 0.5, 0, 0))
		m := read(t, modelMsg(graphMsg(msgs(inDomain(node, "ai.onnx.ml")), nil, msgs(portMsg("x", Float32, -1, 2)),
			msgs(portMsg("l", Int64, -1), portMsg("y", Float32, -1, -1)))))
		require.InDeltaSlice(t, c.want, run(t, m, in), 1e-6, c.kernel)
		out, err := m.Run(context.Background(), in)
		require.NoError(t, err)
		labels, err := tensor.Data[int64](context.Background(), out["l"])
		require.NoError(t, err)
		require.Equal(t, c.labels, labels, c.kernel)
	}
}

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

	_, err = classifier([]int64{7, 8}, floatsAttr("prob_a", 1)).Run(context.Background(), in)
	require.ErrorContains(t, err, "1 numbers prob_a and 0 prob_b for 1 pairs")
	_, err = classifier([]int64{7, 8, 9, 10}).Run(context.Background(), in)
	require.ErrorContains(t, err, "vectors of 2 classes, and there are 4")
}

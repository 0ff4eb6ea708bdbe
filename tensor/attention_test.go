package tensor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// ramp are numbers between −1 and 1 that do not repeat.
func ramp(from int, shape ...int) *tensor.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(math.Sin(float64(from + 3*i*i + i)))
	}
	return tensor.Of(x, shape...)
}

// A query that may attend to nothing gives 0, and its gradients are 0, as PyTorch 2.15 gives them; the mask may be of truths or be
// added. Other queries have the numbers that they have without it.
func TestAttentionToNothing(t *testing.T) {
	seen := tensor.Of([]bool{true, true, false, false, false, false, false, true, true, true, true, true}, 4, 3)
	added := seen.Where(0, math.Inf(-1)).To(dtype.F32)
	for name, mask := range map[string]*tensor.Tensor{"bool": seen, "added": added} {
		t.Run(name, func(t *testing.T) {
			q, k, v := ramp(1, 1, 4, 2), ramp(2, 1, 3, 2), ramp(3, 1, 3, 2)
			o := tensor.Attention{Mask: mask}
			y := tensor.ScaledDotProduct(q, k, v, o)
			near(t, wantNothing[0], y, 1e-6)
			g := y.Mul(ramp(5, 1, 4, 2)).Sum().Grad(q, k, v)
			for i := range g {
				near(t, wantNothing[1+i], g[i], 1e-6)
			}
			p := tensor.AttentionWeights(q, k, o)
			near(t, values(t, y), p.MatMul(v), 1e-6)
			same(t, []float64{0, 0, 0}, p.At(0, 1))
			causal := o
			causal.Causal = true
			same(t, []float64{0, 0}, tensor.ScaledDotProduct(q, k, v, causal).At(0, 1))
			dropped := o
			dropped.Dropout = 0.5
			same(t, []float64{0, 0}, tensor.ScaledDotProduct(q, k, v, dropped).At(0, 1))
		})
	}
	q, k := ramp(1, 1, 4, 2), ramp(2, 1, 3, 2)
	long := tensor.ScaledDotProduct(q, k, k, tensor.Attention{Causal: true}) // more queries than keys: the first key is seen by all
	near(t, wantCausal, long, 1e-6)
}

var (
	wantNothing = [][]float64{
		{-0.0995393, 0.7318409, 0, 0, -0.9808664, 0.9838995, -0.2467567, 0.7702395},
		{-0.1731323, 0.1201516, 0, 0, 0.0005351, 0.0004704, -0.1538576, 0.0829101},
		{-0.2312119, 0.2398423, 0.1790528, -0.1921839, 0.0521592, -0.0476584},
		{-0.992546, 0.9367049, -0.0598573, 0.1685016, 0.1582396, 0.0703561},
	}
	wantCausal = []float64{0.9092974, -0.2794155, 0.5350211, -0.0196725, 0.2408956, 0.0761169, 0.4491386, -0.0325266}
)

// Attention of bfloat16 is that of its numbers in float32 but for roundings, and so are its gradients.
func TestNarrowAttention(t *testing.T) {
	for _, device := range append(slices.Clone(onDevices), "CPU") {
		t.Run(device, func(t *testing.T) { narrowAttention(t, device) })
	}
}

func narrowAttention(t *testing.T, device string) {
	for _, o := range []tensor.Attention{{}, {Causal: true}, {Scale: 0.5}} {
		var all [2][][]float64
		for i, d := range []dtype.DType{dtype.F32, dtype.BF16} {
			var in []*tensor.Tensor
			for k := range 3 {
				in = append(in, ramp(k, 2, 160, 32).To(dtype.BF16).To(d).On(device))
			}
			y := tensor.ScaledDotProduct(in[0], in[1], in[2], o)
			assert.Equal(t, d, y.DType())
			for _, x := range append(y.Mul(y).Sum().Grad(in...), y) {
				all[i] = append(all[i], values(t, x.To(dtype.F32)))
			}
		}
		for k, want := range all[0] {
			assert.InDeltaSlice(t, want, all[1][k], 0.04)
		}
	}
}

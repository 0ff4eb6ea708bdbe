package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// rnn is a recurrent layer by Scan, or written out.
func rnn(scan bool, x, h, c, w, u, b *tensor.Tensor, back bool) (hs, cs, ys *tensor.Tensor) {
	step := func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		g := in[0].MatMul(w.T()).Add(s[0].MatMul(u.T())).Add(b).Chunk(-1, 2)
		c := g[0].Sigmoid().Mul(s[1]).Add(g[1].Tanh().Mul(0.5))
		h := c.Tanh().Mul(g[0].Sigmoid())
		return []*tensor.Tensor{h, c}, []*tensor.Tensor{h.Mul(c).Softmax(-1)}
	}
	if scan {
		s, o := tensor.Scan(step, []*tensor.Tensor{h, c}, []*tensor.Tensor{x}, tensor.ScanOptions{Back: back})
		return s[0], s[1], o[0]
	}
	n := x.Dim(0)
	a, d, e := make([]*tensor.Tensor, n), make([]*tensor.Tensor, n), make([]*tensor.Tensor, n)
	for i := range n {
		at := i
		if back {
			at = n - 1 - i
		}
		s, o := step([]*tensor.Tensor{h, c}, []*tensor.Tensor{x.Select(0, at)})
		h, c = s[0], s[1]
		a[at], d[at], e[at] = h, c, o[0]
	}
	return tensor.Stack(0, a...), tensor.Stack(0, d...), tensor.Stack(0, e...)
}

func TestScanIsWrittenOut(t *testing.T) {
	for _, back := range []bool{false, true} {
		tensor.Seed(1)
		x, w, u, b := tensor.Randn(7, 3, 5), tensor.Randn(8, 5), tensor.Randn(8, 4), tensor.Randn(8)
		h, c := tensor.Randn(3, 4), tensor.Randn(3, 4)
		wrt := []*tensor.Tensor{x, h, c, w, u, b}
		require.NoError(t, tensor.Realize(t.Context(), wrt...))
		var values [2][]*tensor.Tensor
		for i := range 2 {
			hs, cs, ys := rnn(i == 1, x, h, c, w, u, b, back)
			loss := hs.Square().Sum().Add(cs.Select(0, 3).Sin().Sum()).Add(ys.Mul(hs).Exp().Sum())
			list := append([]*tensor.Tensor{hs, cs, ys, loss}, loss.Grad(wrt...)...)
			values[i] = list
		}
		for k := range values[0] {
			want, err := tensor.Data[float32](t.Context(), values[0][k])
			require.NoError(t, err)
			got, err := tensor.Data[float32](t.Context(), values[1][k])
			require.NoError(t, err)
			assert.InDeltaSlice(t, want, got, 1e-4, "result %d, back %v", k, back)
		}
	}
}

// What is carried may have no axes.
func TestScanOfNumbers(t *testing.T) {
	for _, zero := range []*tensor.Tensor{tensor.Zeros().Add(0), tensor.Zeros(), tensor.Ones(2).Sum().Sub(2)} {
		s, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{s[0].Add(in[0])}, nil
		}, []*tensor.Tensor{zero.To(dtype.F32)}, []*tensor.Tensor{tensor.Ones(9)}, tensor.ScanOptions{})
		got, err := tensor.Data[float32](t.Context(), s[0])
		require.NoError(t, err)
		assert.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, got)
	}
}

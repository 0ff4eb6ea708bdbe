package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// deep is a network of parts of three layers, each of which keeps what its gradient needs; it gives the loss and the gradients of all
// weights and of x.
func deep(x *tensor.Tensor, ws []*tensor.Tensor, checkpoint bool) []*tensor.Tensor {
	y := x
	for i := 0; i < len(ws); i += 3 {
		part := func(in ...*tensor.Tensor) []*tensor.Tensor {
			h := in[0]
			for _, w := range ws[i : i+3] {
				h = h.MatMul(w).ReLU().Mul(h.Sin())
			}
			return ts{h}
		}
		if checkpoint {
			y = tensor.Checkpoint(part, y)[0]
		} else {
			y = part(y)[0]
		}
	}
	loss := y.Square().Sum()
	return append(ts{loss}, loss.Grad(append(ts{x}, ws...)...)...)
}

func weights(t *testing.T, device string, n, size int) []*tensor.Tensor {
	var ws []*tensor.Tensor
	for i := range n {
		w := tensor.Arange(size*size).To(tensor.Zeros().DType()).Mul(0.7+0.1*float64(i)).Sin().Mul(0.3).Reshape(size, size).On(device)
		require.NoError(t, w.Realize(ctx))
		ws = append(ws, w)
	}
	return ws
}

func TestCheckpointsTakeLessMemory(t *testing.T) {
	ws := weights(t, "INTERP", 18, 16)
	x := tensor.Arange(256*16).To(tensor.Zeros().DType()).Cos().Reshape(256, 16).On("INTERP")
	require.NoError(t, x.Realize(ctx))
	arena := func(ts []*tensor.Tensor) (bytes int64) {
		v, err := tensor.Schedule(ts...)
		require.NoError(t, err)
		for _, m := range v.Plan.Memory {
			if m.Kind == plan.Arena {
				bytes += m.Bytes
			}
		}
		return bytes
	}
	whole, parts := deep(x, ws, false), deep(x, ws, true)
	a, b := arena(whole), arena(parts)
	assert.Less(t, b, a*6/10, "%d bytes against %d", b, a)
	require.NoError(t, tensor.Realize(ctx, whole...))
	require.NoError(t, tensor.Realize(ctx, parts...))
	for i := range whole {
		near(t, values(t, whole[i]), parts[i], 1e-5)
	}
	require.Contains(t, uop.Print(deep(x, ws, true)[0].Node()), " checkpoint ")
}

func TestCheckpointsOfManyKinds(t *testing.T) {
	x, w := f32(0.5, -1, 2), f32(3, 1, 2)
	ids := tensor.Of([]int32{2, 0})
	g := func(in ...*tensor.Tensor) []*tensor.Tensor {
		return ts{in[0].Mul(w).Sin(), in[1].Add(1), w.Take(in[1]).Square(), w.Exp()}
	}
	plain, kept := g(x, ids), tensor.Checkpoint(g, x, ids)
	for i := range plain {
		same(t, values(t, plain[i]), kept[i])
	}
	loss := func(out []*tensor.Tensor) *tensor.Tensor {
		return out[0].Sum().Add(out[2].Sum()).Add(out[3].Sum()).Square()
	}
	a, b := loss(plain).Grad(x, w), loss(kept).Grad(x, w)
	near(t, values(t, a[0]), b[0], 1e-6)
	near(t, values(t, a[1]), b[1], 1e-6)
	// Gradients of gradients, tangents and many at once.
	near(t, values(t, a[0].Sin().Sum().Grad(w)[0]), b[0].Sin().Sum().Grad(w)[0], 1e-5)
	h := func(in ...*tensor.Tensor) []*tensor.Tensor {
		return tensor.Checkpoint(func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{in[0].Mul(w).Sin()} }, in...)
	}
	_, moved := tensor.JVP(h, ts{x}, ts{f32(1, 2, 3)})
	near(t, values(t, x.Mul(w).Cos().Mul(w).Mul(f32(1, 2, 3))), moved[0], 1e-6)
	many := tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor { return h(in[0])[0].Sum().Grad(in[0]) }, tensor.VmapOptions{})(tensor.Stack(0, x, w))
	near(t, values(t, tensor.Stack(0, x, w).Mul(w).Cos().Mul(w)), many[0], 1e-6)
}

// What a function assigns, as the averages of a normalisation, is assigned once; arguments that are constants, or one twice, are arguments.
func TestCheckpointsAssignOnce(t *testing.T) {
	average := f32(10).Own()
	one, x := tensor.Ones(), f32(1, 3)
	f := func(in ...*tensor.Tensor) []*tensor.Tensor {
		m := in[0].Mean()
		average.Assign(average.Add(m.Reshape(1)))
		return ts{in[0].Sub(m).Mul(in[1]).Add(in[2]).Square()}
	}
	loss := tensor.Checkpoint(f, x, one, one)[0].Sum()
	g := loss.Grad(x, one)
	require.NoError(t, tensor.Realize(ctx, append(g, loss, average)...))
	same(t, []float64{12}, average)
	same(t, []float64{4}, loss) // (−1 + 1)² + (1 + 1)²
	same(t, []float64{-2, 2}, g[0])
	same(t, []float64{8}, g[1]) // 2·0·(−1 + 1) + 2·2·(1 + 1)
}

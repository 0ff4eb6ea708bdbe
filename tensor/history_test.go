package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

func TestReadingKeepsHistory(t *testing.T) {
	x := f32(3)
	h := x.Mul(2)
	same(t, []float64{6}, h)
	loss := h.Square().Sum()
	same(t, []float64{36}, loss)
	same(t, []float64{24}, loss.Grad(x)[0])

	require.NoError(t, h.Realize(ctx)) // now it counts as given
	again := h.Square().Sum()
	require.ErrorContains(t, tensor.Try(func() { again.Grad(x) }), "tensor 0 is not reached")
	same(t, []float64{0}, h.Detach().Square().Sum().Grad(x)[0])
	same(t, []float64{12}, again.Grad(h)[0])
	require.NoError(t, again.Realize(ctx))
	require.ErrorContains(t, tensor.Try(func() { again.Grad(h) }), "history is gone")
}

// A loop that only reads must not remember all its past.
func TestReadingLoopsForget(t *testing.T) {
	state := f32(1)
	most := 0
	for i := range 200 {
		state = state.Mul(0.5).Add(1)
		_, err := tensor.Data[float32](ctx, state)
		require.NoError(t, err)
		n := len(uop.Topo(state.Node()))
		if i > 100 {
			require.LessOrEqual(t, n, most)
		}
		most = max(most, n)
	}
	near(t, []float64{2}, state, 1e-6)
}

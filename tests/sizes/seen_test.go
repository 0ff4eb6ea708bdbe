package sizes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// What stays from run to run, as weights, is what it was for the plan for many sizes after something saw it with an axis of size 1 more, as batches of
// one row do.
func TestWeightsSeenWithOneAxisMore(t *testing.T) {
	e, err := engine.Open("INTERP", engine.Options{EarlySizes: true})
	require.NoError(t, err)
	defer e.Close()
	w := placed(e, numbered(15), 5, 3)
	run := func(n int) {
		y := placed(e, numbered(n*5), n, 5).MatMul(w).Tanh().Mul(w.Sum())
		require.NoError(t, y.Sum(0).Add(w.Mean(0)).Realize(t.Context()))
	}
	for n := 3; n < 8; n++ {
		run(n)
	}
	require.NoError(t, w.Unsqueeze(1).Mul(tensor.Stack(1, w, w)).Realize(t.Context()))
	before := e.Stats()
	for n := 8; n < 15; n++ {
		run(n)
	}
	after := e.Stats()
	require.EqualValues(t, 7, after.Shared-before.Shared)
	require.Equal(t, before.Compiled, after.Compiled)
}

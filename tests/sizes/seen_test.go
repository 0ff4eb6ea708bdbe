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

// A plan for many sizes stays the same when the table of nodes no longer holds those that it was made of.
func TestPlansOutliveNodes(t *testing.T) {
	e, err := engine.Open("INTERP", engine.Options{EarlySizes: true})
	require.NoError(t, err)
	defer e.Close()
	run := func(n int) {
		lengths := placed(e, numbered(n*40), n, 40).Square().Sum(1).Sqrt() // the sums of rows that count alone
		require.NoError(t, lengths.Div(lengths.Sum()).Realize(t.Context()))
	}
	for n := 3; n < 8; n++ {
		run(n)
	}
	before := e.Stats()
	for n := 8; n < 14; n++ {
		x := placed(e, numbered(1))
		for i := range 1 << 14 {
			x = x.Add(i)
		}
		run(n)
	}
	after := e.Stats()
	require.EqualValues(t, 6, after.Shared-before.Shared)
	require.Equal(t, before.Compiled, after.Compiled)
}

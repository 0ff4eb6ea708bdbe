package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
)

// Results whose rows are too many to be copied back have plans of their own; what is assigned beside them is assigned once.
func TestSizesThatCannotBeCopiedBack(t *testing.T) {
	ctx := context.Background()
	e, err := engine.Open("INTERP", engine.Options{})
	require.NoError(t, err)
	defer e.Close()
	const rows = 130 * 130
	w := floats(t, e, make([]float32, rows), rows, 1)
	for n := 3; n < 9; n++ {
		x := floats(t, e, make([]float32, n), 1, n)
		next := assign(w, w.Add(w.Float(1).Reshape(1, 1).Expand(rows, 1)))
		out := w.Expand(rows, n).Add(x.Expand(rows, n))
		require.NoError(t, e.Realize(ctx, out, next))
		w = next.Realized()
		assert.Equal(t, float32(n-2), read(t, e, w)[0], "after %d runs", n-2)
		assert.Equal(t, float32(n-3), read(t, e, out)[0])
	}
	assert.Zero(t, e.Stats().Shared)
}

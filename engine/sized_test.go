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

// Where there is no memory for the room of a plan for many sizes, sizes have plans of their own.
func TestRoomThatThereIsNoMemoryFor(t *testing.T) {
	ctx := context.Background()
	e := open(t, engine.Options{EarlySizes: true, MemoryLimit: 5 << 20})
	defer e.Close()
	const least = 1<<17 + 1 // 512 kB; the room is twice as much
	for n := least; n < least+6; n++ {
		list := make([]float32, n)
		list[n-1] = float32(n - least)
		x := floats(t, e, list, n)
		y := x.Add(x.Float(1))
		z := x.Mul(x.Float(2))
		v := x.Sub(x.Float(1)) // with x and the room of all four there are 6 MB
		require.NoError(t, e.Realize(ctx, y, z, v), n)
		require.Equal(t, float32(n-least+1), read(t, e, y)[n-1])
	}
	require.Zero(t, e.Stats().Shared)
}

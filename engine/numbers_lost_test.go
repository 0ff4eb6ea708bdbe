package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// What was computed from numbers of a graph comes back after a loss, though the arrays of the numbers are gone; and a captured
// function keeps its numbers.
func TestNumbersComeBack(t *testing.T) {
	ctx := context.Background()
	s := &slot{}
	e, err := engine.New(s.backend(), engine.Options{})
	require.NoError(t, err)
	defer e.Close()
	x := floats(t, e, []float32{1, 2, 3}, 3)
	var ys []*uop.UOp
	var fs []*engine.Captured
	for i := range 6 {
		y := x.Mul(x.Int(10 * i))
		require.NoError(t, e.Realize(ctx, y))
		f, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) { return []*uop.UOp{x.Add(x.Int(i))}, nil })
		require.NoError(t, err)
		ys, fs = append(ys, y), append(fs, f)
	}
	assert.LessOrEqual(t, e.Stats().Compiled, 4)
	s.lose = func(int) bool { return s.opened == 1 }
	for i, y := range ys {
		n := float32(10 * i)
		assert.Equal(t, []float32{n, 2 * n, 3 * n}, read(t, e, y))
		out, err := fs[i].Run(ctx, x)
		require.NoError(t, err)
		assert.Equal(t, []float32{1 + n/10, 2 + n/10, 3 + n/10}, read(t, e, out[0]))
	}
	assert.Equal(t, 1, e.Stats().Losses)
}

package engine_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

func TestDiscard(t *testing.T) {
	e := open(t, engine.Options{})
	ctx := context.Background()
	x := floats(t, e, []float32{1, 2, 3, 4}, 4)
	c, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) {
		y, z := x.Add(x), x.Mul(x)
		return []*uop.UOp{y, z, z, x}, nil
	})
	require.NoError(t, err)
	assert.True(t, c.Own(0))
	assert.False(t, c.Own(1), "two outputs are one")
	assert.False(t, c.Own(3), "it is the input")

	before := e.Stats().LiveBytes
	outs, err := c.Run(ctx, x)
	require.NoError(t, err)
	later := outs[0].Add(x)
	live := e.Stats().LiveBytes
	e.Discard(outs[0])
	e.Discard(outs[0])
	assert.Equal(t, (live-before)/2, e.Stats().LiveBytes-before)
	var stale *engine.StaleError
	assert.ErrorAs(t, e.Read(ctx, outs[0], make([]byte, 16)), &stale)
	err = e.Realize(ctx, later)
	assert.ErrorAs(t, err, &stale)
	assert.ErrorContains(t, err, "discarded")

	outs, later = nil, nil // what the collector finds afterwards was given back already
	for range 3 {
		uop.EndGeneration()
		runtime.GC()
		_ = floats(t, e, []float32{1}, 1)
	}
	assert.Equal(t, []float32{1, 2, 3, 4}, read(t, e, x))
	assert.Nil(t, outs, later)
}

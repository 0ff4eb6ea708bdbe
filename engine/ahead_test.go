package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// A run takes memory that was taken ahead, once: results are apart from each other, and right.
func TestMemoryAhead(t *testing.T) {
	ctx := context.Background()
	s := &slot{}
	steady := engine.Backend{Name: "STEADY", Open: func(o engine.Options, _ func(*plan.Kernel, float64)) (*engine.Machine, error) {
		m, err := s.open(o)
		if err == nil {
			m.MayBeLost = false
		}
		return m, err
	}}
	e, err := engine.New(steady, engine.Options{})
	require.NoError(t, err)
	defer e.Close()
	x := floats(t, e, []float32{1, 2, 3}, 3)
	c, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) { return []*uop.UOp{x.Add(x), x.Mul(x)}, nil })
	require.NoError(t, err)
	run := func() [2]*uop.UOp {
		outs, err := c.Run(ctx, x)
		require.NoError(t, err)
		return [2]*uop.UOp(outs)
	}
	first := run()
	before := e.Stats().LiveBytes
	c.Ahead()
	ahead := e.Stats().LiveBytes
	assert.Greater(t, ahead, before)
	c.Ahead()
	assert.Equal(t, ahead, e.Stats().LiveBytes)
	second := run()
	assert.Equal(t, ahead, e.Stats().LiveBytes)
	third := run()
	assert.Greater(t, e.Stats().LiveBytes, ahead)
	y := floats(t, e, []float32{5, 6, 7}, 3)
	c.Ahead()
	outs, err := c.Run(ctx, y)
	require.NoError(t, err)
	assert.Equal(t, []float32{10, 12, 14}, read(t, e, outs[0]))
	assert.Equal(t, []float32{25, 36, 49}, read(t, e, outs[1]))
	for _, r := range [][2]*uop.UOp{first, second, third} {
		assert.Equal(t, []float32{2, 4, 6}, read(t, e, r[0]))
		assert.Equal(t, []float32{1, 4, 9}, read(t, e, r[1]))
	}
}

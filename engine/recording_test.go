package engine_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// While a function is being recorded another device may be chosen, which measures devices: by the function itself, or by
// another goroutine that the function waits for.
func TestProbingWhileRecording(t *testing.T) {
	ctx := context.Background()
	e, other := open(t, engine.Options{}), open(t, engine.Options{})
	x := floats(t, e, []float32{1, 2}, 2)
	assert.False(t, engine.Recording())
	c, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) {
		assert.True(t, engine.Recording())
		_, err := other.Probe(ctx)
		assert.NoError(t, err)
		var all sync.WaitGroup
		all.Go(func() {
			assert.False(t, engine.Recording())
			_, err := other.Probe(ctx)
			assert.NoError(t, err)
			assert.Equal(t, []float32{1, 2}, read(t, e, x))
		})
		all.Wait()
		assert.True(t, deep(100))
		return []*uop.UOp{x.Add(x)}, nil
	})
	require.NoError(t, err)
	assert.False(t, engine.Recording())
	out, err := c.Run(ctx, x)
	require.NoError(t, err)
	assert.Equal(t, []float32{2, 4}, read(t, e, out[0]))
}

// deep asks from far below.
func deep(n int) bool {
	if n == 0 {
		return engine.Recording()
	}
	return deep(n-1) && n > 0
}

package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// What runs wrote into arrays comes back with a lost device, wherever it is lost: each result as it was, though it was written over
// what an earlier one had been computed from.
func TestResultsInPlaceOutliveTheDevice(t *testing.T) {
	ctx := context.Background()
	run := func(s *slot) {
		e, err := engine.New(s.backend(), engine.Options{})
		require.NoError(t, err)
		defer e.Close()
		x := floats(t, e, []float32{1, 2}, 2)
		c, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) { return []*uop.UOp{x.Add(x)}, nil })
		require.NoError(t, err)
		a, b := floats(t, e, []float32{3, 4}, 2), floats(t, e, []float32{0, 0}, 2)
		for range 3 { // to and fro
			outs, err := c.RunInto(ctx, []*uop.UOp{b}, []*uop.UOp{a})
			require.NoError(t, err)
			b = outs[0]
			outs, err = c.RunInto(ctx, []*uop.UOp{a}, []*uop.UOp{b})
			require.NoError(t, err)
			a = outs[0]
		}
		assert.Equal(t, []float32{96, 128}, read(t, e, b))
		assert.Equal(t, []float32{192, 256}, read(t, e, a))
	}
	whole := &slot{}
	run(whole)
	for at := 1; at <= whole.calls; at++ {
		for _, silent := range []bool{false, true} {
			run(&slot{silent: silent, lose: func(c int) bool { return c == at }})
		}
	}
}

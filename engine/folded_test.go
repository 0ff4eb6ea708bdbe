package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// What was computed once comes back with a lost device, wherever it is lost, and so do results that were made of it before it was
// computed anew.
func TestConstantsOutliveTheDevice(t *testing.T) {
	ctx := context.Background()
	run := func(s *slot, bound bool) {
		e, err := engine.New(s.backend(), engine.Options{})
		require.NoError(t, err)
		defer e.Close()
		if bound { // checkpoints everywhere
			e.Bound(1, 0)
		}
		w, x := floats(t, e, []float32{1, 2, 3, 4}, 4), floats(t, e, []float32{1}, 1)
		c, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) {
			return []*uop.UOp{x.Add(w.Mul(w).Reduce(uop.Sum, 0).Reshape(1))}, nil
		})
		require.NoError(t, err)
		var outs []*uop.UOp
		for i := range 3 {
			for range 2 {
				out, err := c.Run(ctx, x)
				require.NoError(t, err)
				outs = append(outs, out[0])
			}
			if i < 2 {
				a := assign(engine.Current(w), engine.Current(w).Add(engine.Current(w)))
				require.NoError(t, e.Realize(ctx, a))
			}
		}
		for i, want := range []float32{31, 31, 121, 121, 481, 481} {
			assert.Equal(t, []float32{want}, read(t, e, outs[i]))
		}
	}
	for i, bound := range []bool{false, true} { // each call fails in words once and silently once, with checkpoints in one of them
		whole := &slot{}
		run(whole, bound)
		for at := 1; at <= whole.calls; at++ {
			run(&slot{silent: (at+i)%2 == 0, lose: func(c int) bool { return c == at }}, bound)
		}
	}
}

package engine_test

import (
	"context"
	"runtime"
	"testing"
	"weak"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// A graph whose constants may lie otherwise and are to stay as they are is scheduled once, and another one is not taken for it.
func TestScheduledOnce(t *testing.T) {
	ctx := context.Background()
	scheduled := 0
	e := open(t, engine.Options{Schedule: func(g *schedule.Graph, c schedule.Config) (*schedule.Result, error) {
		scheduled++
		return schedule.New(g, c), nil
	}})
	const n = 8192 // more than leastPacked
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i % 7)
	}
	w, x := floats(t, e, values, n), floats(t, e, values, n)
	for i, f := range []func() *uop.UOp{
		func() *uop.UOp { return x.Add(w) },
		func() *uop.UOp { return x.Mul(w).Reduce(uop.Sum, 0).Reshape(1) },
	} {
		c, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) { return []*uop.UOp{f()}, nil })
		require.NoError(t, err)
		assert.Equal(t, i+1, scheduled)
		out, err := c.Run(ctx, x)
		require.NoError(t, err)
		got := read(t, e, out[0])
		if i == 0 {
			assert.InDelta(t, 6, got[3], 0)
		} else {
			want := 0
			for i := range n {
				want += (i % 7) * (i % 7)
			}
			assert.InDelta(t, want, got[0], 0)
		}
	}
}

// A plan does not keep the schedule that it was made from, on which the nodes of all its kernels hang; whoever looks at it sees the same.
func TestPlansLetGoOfSchedules(t *testing.T) {
	ctx := context.Background()
	var made []weak.Pointer[schedule.Result]
	var texts []string
	e := open(t, engine.Options{Schedule: func(g *schedule.Graph, c schedule.Config) (*schedule.Result, error) {
		r := schedule.New(g, c)
		made, texts = append(made, weak.Make(r)), append(texts, r.String())
		return r, nil
	}})
	x := floats(t, e, []float32{1, 2, 3, 4}, 4)
	c, err := e.Capture(ctx, []*uop.UOp{x}, func() ([]*uop.UOp, error) {
		return []*uop.UOp{x.Mul(x).Reduce(uop.Sum, 0).Reshape(1), x.Add(x)}, nil
	})
	require.NoError(t, err)
	out, err := c.Run(ctx, x)
	require.NoError(t, err)
	assert.Equal(t, []float32{30}, read(t, e, out[0]))
	runtime.GC()
	require.Len(t, made, 1)
	assert.Nil(t, made[0].Value())
	assert.Equal(t, texts[0], c.View().Schedule.String())
	require.Len(t, made, 2, "it was made again")
	assert.Equal(t, texts[0], c.View().Schedule.String())
	require.Len(t, made, 2)
}

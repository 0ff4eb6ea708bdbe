package main

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// How many launches steps of training, and a token, take at most on a processor. Launches are waited for; more of them is a step back.
func TestLaunchBudgets(t *testing.T) {
	engine.Configure(engine.Options{}, "NULL")
	t.Cleanup(func() { engine.Configure(engine.Options{}, "") })
	ctx := context.Background()
	for name, most := range map[string]int{"mlp-step": 7, "mnist-convnet": 33, "transformer-step": 111, "gpt2-token": 61} {
		i := slices.IndexFunc(benchCases, func(c benchCase) bool { return c.name == name })
		require.GreaterOrEqual(t, i, 0, name)
		w, err := benchCases[i].prepare(ctx)
		require.NoError(t, err, name)
		n := len(w.in) - w.weights
		c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return w.f(slices.Concat(in, w.in[n:])...) }, w.in[:n]...)
		require.NoError(t, err, name)
		assert.LessOrEqual(t, c.Launches(), most, name)
		assert.Positive(t, c.Launches(), name)
		t.Logf("%s: %d launches", name, c.Launches())
	}
}

package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Where no terminal shows it there are no colours.
func TestDebugPlain(t *testing.T) {
	var log strings.Builder
	e := open(t, engine.Options{Debug: 6, Plain: true, Log: &log})
	x := floats(t, e, []float32{1, 2, 3, 4}, 4)
	require.NoError(t, e.Realize(context.Background(), x.Add(x.Int(3))))
	assert.Contains(t, log.String(), "GFLOP/s")
	assert.NotContains(t, log.String(), "\x1b")
}

// Each level of debug output shows its own thing, and all of those below.
func TestDebugLevels(t *testing.T) {
	marks := []string{"plan: 1 kernels", "GFLOP/s", "kernel =out0", "void k_", "graph\n", "becomes"}
	for level := range 7 {
		var log strings.Builder
		e := open(t, engine.Options{Debug: level, Log: &log})
		x := floats(t, e, []float32{1, 2, 3, 4}, 4)
		require.NoError(t, e.Realize(context.Background(), x.Add(x.Int(3)).Reshape(2, 2).Permute(1, 0).Reshape(4).Reduce(uop.Sum, 0)))
		for i, m := range marks {
			assert.Equal(t, i < level, strings.Contains(log.String(), m), "level %d: %q\n%s", level, m, log.String())
		}
		assert.Equal(t, level >= 2, strings.Contains(log.String(), "\x1b["), "level %d", level)
	}
}

package devicetest

import (
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/evaluate"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/schedule"
	phases "github.com/weft-ml/weft/schedule/evaluate"
)

// TestPasses evaluates a third of the small kernels of all conformance cases before and after each pass of their lowering,
// another third for another WEFT_SEED; nothing is compiled or run.
func TestPasses(t *testing.T) {
	check := evaluate.New()
	check.Most = 4_000
	var mu sync.Mutex
	found := map[string]int{}
	n, err := strconv.Atoi(getenv("WEFT_SEED", "1"))
	require.NoError(t, err, "WEFT_SEED")
	e, err := engine.Open("NULL", engine.Options{Check: func(s *codegen.Spec) func(codegen.Lowering) error {
		if n++; n%3 != 0 {
			return nil
		}
		failed := false
		f := check.Kernel(s)
		return func(l codegen.Lowering) error {
			if failed { // the first pass that is wrong is enough
				return nil
			}
			if err := f(l); err != nil {
				failed = true
				mu.Lock()
				defer mu.Unlock()
				pass := l.Form().Pass
				if found[pass]++; found[pass] < 8 {
					t.Errorf("after pass %q: %v", pass, err)
				}
			}
			return nil
		}
	}})
	require.NoError(t, err)
	cases, _, err := Plan(e, func(*engine.View) {})
	require.NoError(t, err)
	t.Logf("%d cases, %d kernels, %d forms, %d kernels too large", cases, check.Kernels.Load(), check.Forms.Load(), check.TooLarge.Load())
	assert.Empty(t, found)
	assert.Greater(t, check.Forms.Load(), int64(3000))
	require.NoError(t, e.Close())
}

// TestPhases evaluates a ninth of the small graphs of all conformance cases before and after each phase of their schedule, another
// ninth for another WEFT_SEED.
func TestPhases(t *testing.T) {
	check := phases.New()
	check.Most = 2_000_000
	n, err := strconv.Atoi(getenv("WEFT_SEED", "1"))
	require.NoError(t, err, "WEFT_SEED")
	found := 0
	e, err := engine.Open("NULL", engine.Options{Schedule: func(g *schedule.Graph, c schedule.Config) (*schedule.Result, error) {
		if n++; n%9 == 0 {
			if _, err := check.Schedule(g, c); err != nil {
				if found++; found < 8 {
					t.Error(err)
				}
			}
		}
		return schedule.New(g, c), nil
	}})
	require.NoError(t, err)
	cases, _, err := Plan(e, func(*engine.View) {})
	require.NoError(t, err)
	t.Logf("%d cases, %d graphs, %d stages, %d kernels, %d too large, %d elements compared, %d unsure", cases, check.Graphs.Load(), check.Stages.Load(),
		check.Kernels.Load(), check.TooLarge.Load(), check.Compared.Load(), check.Unsure.Load())
	assert.Zero(t, found)
	assert.Greater(t, check.Kernels.Load(), int64(1500))
	assert.Less(t, check.Unsure.Load()*20, check.Compared.Load())
	require.NoError(t, e.Close())
}

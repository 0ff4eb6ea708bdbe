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

// TestLowering plans all conformance cases and evaluates a sixth of the small kernels before and after each pass, and an 18th of
// the small graphs before and after each phase of their schedule; others for another WEFT_SEED. Nothing is compiled or run.
func TestLowering(t *testing.T) {
	seed, err := strconv.Atoi(getenv("WEFT_SEED", "1"))
	require.NoError(t, err, "WEFT_SEED")
	passes, graphs := checkedPasses{seen: seed, check: evaluate.New()}, checkedPhases{seen: seed, check: phases.New()}
	passes.check.Most, graphs.check.Most = 4_000, 2_000_000
	e, err := engine.Open("NULL", engine.Options{Check: passes.kernel, Schedule: graphs.schedule})
	require.NoError(t, err)
	cases, _, err := Plan(e, func(*engine.View) {})
	require.NoError(t, err)
	require.NoError(t, e.Close())
	t.Run("passes", func(t *testing.T) {
		c := passes.check
		t.Logf("%d cases, %d kernels, %d forms, %d kernels too large", cases, c.Kernels.Load(), c.Forms.Load(), c.TooLarge.Load())
		for pass, wrong := range passes.found {
			t.Errorf("after pass %q: %d kernels, such as: %v", pass, len(wrong), wrong[0])
		}
		assert.Greater(t, c.Forms.Load(), int64(1500))
	})
	t.Run("phases", func(t *testing.T) {
		c := graphs.check
		t.Logf("%d cases, %d graphs, %d stages, %d kernels, %d too large, %d elements compared, %d unsure", cases, c.Graphs.Load(), c.Stages.Load(),
			c.Kernels.Load(), c.TooLarge.Load(), c.Compared.Load(), c.Unsure.Load())
		assert.Empty(t, graphs.found)
		assert.Greater(t, c.Kernels.Load(), int64(700))
		assert.Less(t, c.Unsure.Load()*8, c.Compared.Load()) // running products of thousands of numbers overflow on the way
	})
}

// checkedPasses evaluates each sixth kernel.
type checkedPasses struct {
	seen  int
	check *evaluate.Checker
	mu    sync.Mutex
	found map[string][]error // by the pass
}

func (c *checkedPasses) kernel(s *codegen.Spec) func(codegen.Lowering) error {
	if c.seen++; c.seen%6 != 0 {
		return nil
	}
	failed := false
	f := c.check.Kernel(s)
	return func(l codegen.Lowering) error {
		if failed { // the first pass that is wrong is enough
			return nil
		}
		if err := f(l); err != nil {
			failed = true
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.found == nil {
				c.found = map[string][]error{}
			}
			pass := l.Form().Pass
			c.found[pass] = append(c.found[pass], err)
		}
		return nil
	}
}

// checkedPhases evaluates each 18th graph. Of others than each fourth kernels stay as they are: small ones of many cases would be nests of one,
// which is too large for checkedPasses.
type checkedPhases struct {
	seen  int
	check *phases.Checker
	found []error
}

func (c *checkedPhases) schedule(g *schedule.Graph, conf schedule.Config) (*schedule.Result, error) {
	if c.seen++; c.seen%18 == 0 {
		if _, err := c.check.Schedule(g, conf); err != nil && len(c.found) < 8 {
			c.found = append(c.found, err)
		}
	}
	if c.seen%4 != 0 {
		conf.Nests = codegen.NestLimits{}
	}
	return schedule.New(g, conf), nil
}

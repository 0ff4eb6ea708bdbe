package tensor

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Schedule is what Realize of these tensors would do, to look at: its String prints the kernels, what was fused and
// why. Nothing is compiled or computed, but for what comes from other devices. Tensors that are realized already need no kernels.
func Schedule(ts ...*Tensor) (*engine.View, error) {
	e, err := engineFor(context.Background(), ts)
	if err != nil {
		return nil, err
	}
	nodes := make([]*uop.UOp, len(ts))
	for i, t := range ts {
		if t.Engine() != nil && t.Engine() != e {
			return nil, fmt.Errorf("tensors on %s and on %s are scheduled one device at a time", e.Name(), t.Engine().Name())
		}
		nodes[i] = t.node()
	}
	if engine.Crossed.Load() {
		if err := bring(context.Background(), e, nodes); err != nil {
			return nil, err
		}
	}
	return e.Plan(nodes...)
}

// Schedule is what Realize of t would do, to look at.
func (t *Tensor) Schedule() (*engine.View, error) { return Schedule(t) }

// Schedule is what a run does, and what is computed once, to look at.
func (c *Captured) Schedule() *engine.View { return c.plan.View() }

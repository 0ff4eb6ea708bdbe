package tensor

import (
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
)

// Errand gives runs of the function to the device; nil: they are not for the device alone. See engine.Errand.
func (c *Captured) Errand() *engine.Errand {
	for _, sizes := range c.sizes {
		if sizes != nil {
			return nil
		}
	}
	return c.plan.Errand()
}

// Ran is told of so many runs that the device carried out by itself, whose results had so many bytes at most at the same time.
func (c *Captured) Ran(n int, most int64) { c.plan.Ran(n, most) }

// Adopt gives the results of a run with these inputs that the device carried out by itself: those that there is memory of. Inputs that were made of numbers
// and are gone are nil.
func (c *Captured) Adopt(results []runtime.Mem, inputs ...*Tensor) ([]*Tensor, error) {
	ts, from := make([]*Tensor, len(results)), sources(inputs)
	for i, m := range results {
		if m == nil {
			continue
		}
		shape, d := c.plan.Result(i)
		u, err := c.eng.Adopt(m, d, shape)
		if err != nil {
			return nil, err
		}
		ts[i] = c.result(i, u, from)
	}
	return ts, nil
}

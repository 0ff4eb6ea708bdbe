package engine

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Release says that the function is hardly going to run again: its plans may be given up when others need their place. It may still run.
func (c *Captured) Release() {
	if c.legs != nil {
		c.legs.release()
	}
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	c.unpin()
}

// unpin is Release in the engine's turn.
func (c *Captured) unpin() {
	c.plan.pinned--
	if c.folded != nil {
		c.folded.plan.pinned--
	}
}

// Engine is where its results lie.
func (c *Captured) Engine() *Engine { return c.engine }

// Crosses says that values go from device to device.
func (c *Captured) Crosses() bool { return c.legs != nil }

// Vars are the variables that a run takes values of.
func (c *Captured) Vars() []uop.VarArg {
	if c.legs != nil {
		return append(c.legs.vars(), c.vars...)
	}
	return c.vars
}

// Pending are the newest assignments to arrays that the function reads, as far as they have not been carried out.
func (c *Captured) Pending() (out []*uop.UOp) {
	for slot, s := range c.inputs {
		if s == nil || slices.Contains(c.rebind, slot) { // runs bring their own inputs
			continue
		}
		if u := s.pending.Load(); u != nil && u.Realized() == nil {
			out = append(out, u)
		}
	}
	return out
}

// Kernels is the number of kernel launches of one run, without those of what is computed once. On several devices it is that of the last run.
func (c *Captured) Kernels() (n int) {
	if c.legs != nil {
		n = c.legs.launches()
	}
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	if c.plan.graph != nil {
		return n + c.engine.several.launches(c.plan.graph)
	}
	return n + len(c.plan.plan.Steps)
}

// Current is the newest version of a realized node's buffer: what an assignment by a captured run left there. One that was
// discarded has none.
func Current(u *uop.UOp) *uop.UOp {
	if r := u.Realized(); r != nil {
		u = r
	}
	b, s := buffer(u)
	if s == nil || b.Arg().(uop.BufferArg).Version == s.current() || s.current() == discarded {
		return u
	}
	return nextVersion(b, s).Reshape(u.Shape()...)
}

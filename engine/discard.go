package engine

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// discarded is the version of a storage that was given back.
const discarded = -1

// Discard gives the memory of a Buffer node back now and not when the collector finds it unused. The caller vouches that
// nothing will be computed from it; an attempt is a StaleError. Arrays that were assigned stay.
func (e *Engine) Discard(u *uop.UOp) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := u.Realized(); r != nil {
		u = r
	}
	_, s := buffer(u)
	if s == nil || s.engine != e || s.current() != 0 {
		return
	}
	s.version.Store(discarded)
	if e.several != nil { // others may have the same parts: the collector knows
		s.lies = nil
		return
	}
	e.memory.spared(s.bytes)
	e.memory.forget(s.cell)
}

// Result is the shape and the type of output i.
func (c *Captured) Result(i int) (uop.Shape, dtype.DType) {
	return c.outs[i].Shape(), c.outs[i].DType()
}

// Own says whether each run puts output i into memory that nothing else has.
func (c *Captured) Own(i int) bool {
	for k, o := range c.outs {
		if k != i && o == c.outs[i] {
			return false
		}
	}
	for _, t := range c.targets {
		if t.node == c.outs[i] {
			return t.dest == nil
		}
	}
	return false
}

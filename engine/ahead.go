package engine

import "github.com/weft-ml/weft/uop"

// made is fresh memory for a result, and its node.
type made struct {
	node  *uop.UOp
	store *storage
}

// mostAhead is how many bytes a result has at most whose memory is taken before it is needed.
const mostAhead = 1 << 16

// Ahead takes the memory of small results of the next run now, if nobody uses the engine: whoever waits for that run waits for less. Where there is no
// room, and on a device that may be lost, that run takes it.
func (c *Captured) Ahead() {
	e := c.engine
	if e.machine.MayBeLost || e.several != nil || !e.mu.TryLock() {
		return
	}
	defer e.mu.Unlock()
	if c.ready != nil || c.moves != e.moves || e.closed {
		return
	}
	ready := make([]made, len(c.targets))
	for i, t := range c.targets {
		if t.dest != nil || t.value.Shape().Numel()*t.value.DType().Size() > mostAhead {
			continue
		}
		var err error
		if ready[i].node, ready[i].store, err = e.newBuffer(t.value.DType(), t.value.Shape()); err != nil {
			return
		}
	}
	c.ready = ready
}

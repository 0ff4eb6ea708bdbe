package engine

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// Errand is what the device needs to carry out runs of a captured function by itself, while nothing else happens to the engine: a plan, its arguments, and
// which of these are inputs of the function and fresh memory for outputs.
type Errand struct {
	Plan    runtime.Loaded
	Args    []runtime.Mem // nil: of an input or an output
	Inputs  []ErrandInput
	Outputs []ErrandOutput
}

// ErrandInput is an input: the argument that it is, −1 if it is none, and what arrays have to be for that.
type ErrandInput struct {
	Arg   int
	Shape uop.Shape
	DType dtype.DType
}

// ErrandOutput is an output of such a run: the argument that it is, and so many bytes of fresh memory.
type ErrandOutput struct {
	Arg   int
	Bytes int64
	Shape uop.Shape
	DType dtype.DType
}

// Errand gives the runs of the function to the device, if they change nothing but fresh outputs: what is assigned, drawn or checked is known here only.
// Otherwise it gives nil. Inputs have to be arrays that Memory knows. It holds until the engine does something.
func (c *Captured) Errand() *Errand {
	e := c.engine
	if len(c.targets) != len(c.outs) || c.legs != nil || len(c.renew)+len(c.vars) > 0 || e.several != nil || e.machine.MayBeLost || !e.mu.TryLock() {
		return nil
	}
	defer e.mu.Unlock()
	if e.closed || c.moves != e.moves || c.plan.on != e.machine.Device || c.folded != nil && !c.folded.current() {
		return nil
	}
	bound := slices.Clone(c.inputs)
	if c.folded != nil {
		c.folded.place(bound)
	}
	r := &Errand{Plan: c.plan.loaded, Args: make([]runtime.Mem, len(bound), len(bound)+len(c.outs))}
	for i, at := range c.rebind {
		r.Inputs = append(r.Inputs, ErrandInput{at, c.shapes[i].Shape(), c.shapes[i].DType()})
	}
	for i, s := range bound {
		if slices.Contains(c.rebind, i) {
			continue
		}
		if !s.plain() {
			return nil
		}
		r.Args[i] = s.mem
	}
	for i, at := range c.places {
		if !c.Own(i) || c.targets[at].flags != nil {
			return nil
		}
		shape, d := c.Result(i)
		r.Outputs = append(r.Outputs, ErrandOutput{len(bound) + at, max(int64(shape.Numel())*int64(d.Size()), minBytes), shape, d})
		r.Args = append(r.Args, nil)
	}
	return r
}

// plain says that there is nothing to know of an array but where it lies.
func (s *storage) plain() bool { return s.mem != nil && s.doubts == nil && s.later == nil }

// Memory is where the elements of a node lie, for errands; nil where there is more to know of it, as that it was assigned since.
func (e *Engine) Memory(u *uop.UOp) runtime.Mem {
	if r := u.Realized(); r != nil {
		u = r
	}
	b, s := buffer(u)
	if s == nil || s.engine != e || s.check(b, nil) != nil || !s.plain() {
		return nil
	}
	return s.mem
}

// Ran is told of runs that were carried out as errands, and how many bytes their outputs had at most at the same time.
func (c *Captured) Ran(n int, most int64) {
	e := c.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stats.Plays += n
	e.stats.Launches += n * len(c.plan.plan.Steps)
	e.stats.Errands += n
	e.memory.peak = max(e.memory.peak, e.memory.live+most+c.plan.plan.Peak)
	if c.folded != nil {
		c.folded.runs += n
	}
}

// Adopt makes a Buffer node over memory that the device gave out by itself.
func (e *Engine) Adopt(m runtime.Mem, d dtype.DType, shape []int) (*uop.UOp, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	u, _, err := e.bufferIn(m, d, shape)
	return u, err
}

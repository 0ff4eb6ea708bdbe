package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-ml/weft/uop"
)

// recording collects what a captured function realizes instead of computing it.
type recording struct {
	nodes []*uop.UOp
	seen  map[*uop.UOp]bool
}

var errReadInCapture = errors.New("a value is read inside Capture; return the tensor from the captured function and read it after Run")

// Captured is a recorded plan: inputs are rebound at each run, assigned buffers are updated in place, outputs are
// fresh each time.
type Captured struct {
	engine  *Engine
	plan    *compiled
	inputs  []*storage // by slot
	rebind  []int      // slot of each input; −1 where it is not used
	shapes  []*uop.UOp // the first inputs
	targets []target
	outs    []*uop.UOp
}

// Recording reports whether a function is being captured.
func (e *Engine) Recording() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.record != nil
}

// Capture runs f once, recording what it realizes, and compiles one plan for it together with the nodes that f
// returns. Nothing is computed: that is Run's. inputs are Buffer nodes, no two of them over the same memory, that
// runs replace.
func (e *Engine) Capture(ctx context.Context, inputs []*uop.UOp, f func() ([]*uop.UOp, error)) (*Captured, error) {
	e.mu.Lock()
	if e.record != nil {
		e.mu.Unlock()
		return nil, errors.New("Capture inside Capture: capture the outer function only")
	}
	if e.machine.Evaluate != nil {
		e.mu.Unlock()
		return nil, fmt.Errorf("%s evaluates graphs and cannot capture; use another device", e.name)
	}
	e.record = &recording{seen: map[*uop.UOp]bool{}}
	e.mu.Unlock()
	outs, err := func() ([]*uop.UOp, error) {
		defer func() { // also when f panics: the engine must not stay in recording
			if r := recover(); r != nil {
				e.mu.Lock()
				e.record = nil
				e.mu.Unlock()
				panic(r)
			}
		}()
		return f()
	}()
	e.mu.Lock()
	defer e.mu.Unlock()
	rec := e.record
	e.record = nil
	if err != nil {
		return nil, err
	}
	return e.finish(ctx, inputs, rec, outs)
}

func (e *Engine) finish(ctx context.Context, inputs []*uop.UOp, rec *recording, outs []*uop.UOp) (*Captured, error) {
	for _, o := range outs {
		rec.add(o)
	}
	targets, err := e.targets(rec.nodes)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return nil, errors.New("Capture: the function computes nothing")
	}
	targets = lastStores(targets)
	canon := canonicalize(targets)
	c := &Captured{engine: e, inputs: canon.inputs, shapes: inputs, targets: targets, outs: outs}
	for _, in := range inputs {
		_, s := buffer(in)
		if s == nil {
			return nil, errors.New("Capture: an input is not realized")
		}
		slot := -1
		for i, x := range canon.inputs {
			if x == s {
				slot = i
			}
		}
		c.rebind = append(c.rebind, slot)
	}
	if c.plan, err = e.compile(ctx, canon); err != nil {
		return nil, err
	}
	c.plan.pinned = true
	if c.plan.reads == nil {
		c.plan.reads = reads(canon)
	}
	return c, nil
}

// lastStores drops assignments that a later one to the same buffer makes good for: the value of the later is that
// of the whole buffer.
func lastStores(targets []target) []target {
	last := map[*storage]int{}
	for i, t := range targets {
		if t.dest != nil {
			last[t.store] = i
		}
	}
	out := targets[:0]
	for i, t := range targets {
		if t.dest == nil || last[t.store] == i {
			out = append(out, t)
		}
	}
	return out
}

func (r *recording) add(n *uop.UOp) {
	if !r.seen[n] {
		r.seen[n] = true
		r.nodes = append(r.nodes, n)
	}
}

// Run plays the plan with other inputs, Buffer nodes of the same shapes and types, and gives the outputs.
func (c *Captured) Run(ctx context.Context, inputs ...*uop.UOp) ([]*uop.UOp, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e := c.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(inputs) != len(c.shapes) {
		return nil, fmt.Errorf("captured function takes %d inputs, not %d", len(c.shapes), len(inputs))
	}
	bound := append([]*storage(nil), c.inputs...)
	for i, in := range inputs {
		if r := in.Realized(); r != nil {
			in = r
		}
		b, s := buffer(in)
		if s == nil || s.engine != e {
			return nil, fmt.Errorf("input %d of a captured function is not realized on %s", i, e.name)
		}
		if err := checkVersion(b, s); err != nil {
			return nil, err
		}
		if !in.Shape().Equal(c.shapes[i].Shape()) || in.DType() != c.shapes[i].DType() {
			return nil, fmt.Errorf("input %d of a captured function is %v %v; it was captured with %v %v", i, in.DType(), in.Shape(), c.shapes[i].DType(), c.shapes[i].Shape())
		}
		for _, t := range c.targets {
			if t.store == s && t.dest != nil {
				return nil, fmt.Errorf("input %d of a captured function is a tensor that the function assigns; pass a copy", i)
			}
		}
		if c.rebind[i] >= 0 {
			bound[c.rebind[i]] = s
		}
	}
	return c.replay(ctx, bound, inputs)
}

// replay runs the plan on bound inputs. Its targets are stand-ins, so that a recorded node is not taken for realized.
func (c *Captured) replay(ctx context.Context, bound []*storage, inputs []*uop.UOp) ([]*uop.UOp, error) {
	e := c.engine
	targets := make([]target, len(c.targets))
	stand := map[*uop.UOp]*uop.UOp{}
	arena := uop.NewArena()
	for i, t := range c.targets {
		targets[i] = t
		if t.flags != nil {
			continue
		}
		targets[i].node = arena.Param(i, t.node.Shape().Numel(), t.node.DType()).Reshape(t.node.Shape()...)
		stand[t.node] = targets[i].node
	}
	if err := e.run(ctx, c.plan, bound, targets); err != nil {
		return nil, err
	}
	outs := make([]*uop.UOp, len(c.outs))
	for i, o := range c.outs {
		switch n := stand[o]; {
		case n != nil:
			outs[i] = n.Realized()
		case destination(o) != nil: // an assignment
			outs[i] = Current(destination(o)).Reshape(o.Shape()...)
		default:
			outs[i] = c.through(o, inputs)
		}
	}
	return outs, nil
}

// through is an output that was in memory when it was recorded: an input, or any other tensor as it is now.
func (c *Captured) through(o *uop.UOp, inputs []*uop.UOp) *uop.UOp {
	_, s := buffer(o)
	for i, in := range c.shapes {
		if _, p := buffer(in); p == s {
			u := inputs[i]
			if r := u.Realized(); r != nil {
				u = r
			}
			b, _ := buffer(u)
			return b.Reshape(o.Shape()...)
		}
	}
	return Current(o)
}

// Rewrite replaces the contents of a Buffer node, perhaps reshaped. It is for buffers that only captured plans read,
// between their runs: no version is counted.
func (e *Engine) Rewrite(u *uop.UOp, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, s := buffer(u)
	if s == nil || s.engine != e {
		return fmt.Errorf("BUG: rewrite of %v, which is not in memory on %s", u, e.name)
	}
	return e.write(s, data)
}

// Kernels is the number of kernel launches of one run.
func (c *Captured) Kernels() int { return len(c.plan.plan.Steps) }

// Current is the newest version of a realized node's buffer: what an assignment by a captured run left there.
func Current(u *uop.UOp) *uop.UOp {
	if r := u.Realized(); r != nil {
		u = r
	}
	b, s := buffer(u)
	if s == nil || b.Arg().(uop.BufferArg).Version == s.version {
		return u
	}
	return nextVersion(b, s).Reshape(u.Shape()...)
}

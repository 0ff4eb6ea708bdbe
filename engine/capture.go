package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Captured is a recorded plan: inputs are rebound at each run, assigned buffers are updated in place, outputs are
// fresh each time. What depends on neither is computed at the first run, and when it has changed. Any number of goroutines may run it: each run is a whole, in the order in which they came.
type Captured struct {
	engine  *Engine
	plan    *compiled
	inputs  []*storage // by slot
	vars    []uop.VarArg
	rebind  []int      // slot of each input; −1 where it is not used
	shapes  []*uop.UOp // the first inputs
	targets []target
	outs    []*uop.UOp
	places  []int // of each output: its target; −1: it was in memory when it was recorded
	renew   []Renewal
	folded  *folded // nil: everything is computed in each run
	folding bool    // constants are looked for
	moves   int     // of the engine when the plan was made
	ran     bool    // under the engine's lock, like the writing of renewals
	drawn   bool    // others write the renewals
	ready   []made  // by target: memory for the next run, see Ahead
	legs    legs    // what is computed before, on other devices too; nil: nothing
}

// Renewal is a buffer that each run of a captured plan but the first finds with other contents, and nothing else reads.
type Renewal struct {
	Buffer *uop.UOp // perhaps reshaped
	Bytes  func() []byte
	From   any // what Bytes draws from, for whoever saves the function
}

// Renew has runs of the function that is being recorded, which calls it, write a buffer.
func Renew(r Renewal) {
	if rec := recorder.now.Load(); rec != nil && recorded() {
		rec.renew = append(rec.renew, r)
	}
}

// Capture runs f once, recording what it realizes, and compiles one plan for it together with the nodes that f
// returns. Nothing is computed: that is Run's. inputs are Buffer nodes, no two of them over the same memory, that
// runs replace. Functions are recorded one after the other: Capture waits for its turn, and nothing else waits for it.
func (e *Engine) Capture(ctx context.Context, inputs []*uop.UOp, f func() ([]*uop.UOp, error)) (*Captured, error) {
	if Recording() {
		return nil, errors.New("Capture inside Capture: capture the outer function only")
	}
	r, err := e.begin(ctx, inputs)
	if err != nil {
		return nil, err
	}
	defer e.end(r)
	outs, err := r.record(ctx, f)
	if err != nil {
		return nil, err
	}
	if across := crossings.Load(); across != nil && Crossed.Load() {
		if c, err := (*across)(ctx, e, inputs, r, outs); c != nil || err != nil {
			return c, err
		}
	}
	return e.finish(ctx, inputs, r, outs)
}

// capture is Capture of what has been built already. It waits for no other function's recording: devices are probed while one is
// chosen, which a function that is being recorded may be waiting for.
func (e *Engine) capture(ctx context.Context, inputs, outs []*uop.UOp) (*Captured, error) {
	r, err := e.begin(ctx, inputs)
	if err != nil {
		return nil, err
	}
	defer e.end(r)
	return e.finish(ctx, inputs, r, outs)
}

// begin starts a recording: from now on it is told of assignments.
func (e *Engine) begin(ctx context.Context, inputs []*uop.UOp) (*recording, error) {
	if err := e.mu.LockFor(ctx); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	if err := e.shut(); err != nil {
		return nil, err
	}
	if e.machine.Evaluate != nil {
		return nil, fmt.Errorf("%s evaluates graphs and cannot capture; use another device", e.name)
	}
	r := &recording{engine: e, seen: map[*uop.UOp]bool{}, stand: map[*storage]bool{}, was: map[*storage]int{}}
	for _, in := range inputs {
		if _, s := buffer(in); s != nil {
			r.stand[s] = true
		}
	}
	e.records[r] = true
	return r, nil
}

func (e *Engine) end(r *recording) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.records, r)
}

// finish compiles what was recorded.
func (e *Engine) finish(ctx context.Context, inputs []*uop.UOp, rec *recording, outs []*uop.UOp) (*Captured, error) {
	if err := e.mu.LockFor(ctx); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	if err := e.shut(); err != nil { // meanwhile
		return nil, err
	}
	for _, o := range outs {
		rec.add(o)
	}
	if err := e.arrive(ctx, rec.nodes...); err != nil {
		return nil, err
	}
	targets, err := e.targets(rec.nodes, rec)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		return nil, errors.New("Capture: the function computes nothing")
	}
	c := &Captured{engine: e, shapes: inputs, targets: lastStores(targets), outs: outs, renew: rec.renew}
	for _, in := range inputs {
		if _, s := buffer(in); s == nil {
			return nil, errors.New("Capture: an input is not realized")
		}
	}
	for _, r := range c.renew {
		if _, s := buffer(r.Buffer); s == nil || s.engine != e && rec.brought == nil {
			return nil, fmt.Errorf("BUG: renewal of %v, which is not in memory on %s", r.Buffer, e.name)
		}
	}
	return c, e.again(ctx, func() error { return c.compile(ctx, !e.opts.Unfolded) })
}

// compile makes the plan of a run and, if constants are to be folded, that of what is computed once.
func (c *Captured) compile(ctx context.Context, folding bool) error {
	e, targets := c.engine, c.targets
	bind(targets)
	var f *folded
	if folding {
		var err error
		if f, targets, err = e.fold(targets, c.varies()); err != nil {
			return err
		}
	}
	canon := canonicalize(targets)
	var rebind []int
	for _, in := range c.shapes {
		_, s := buffer(in)
		rebind = append(rebind, slices.Index(canon.inputs, s))
	}
	p, err := e.begun(ctx, canon)
	if err != nil {
		return err
	}
	p.pinned++
	if p.reads == nil {
		p.reads = reads(canon)
	}
	if f != nil {
		if f.used(canon); len(f.values) == 0 {
			f = nil
		} else if err := f.compile(ctx, e); err != nil {
			return err
		}
	}
	if err := e.ready(ctx, canon, p); err != nil {
		return err
	}
	if c.plan != nil { // of before
		c.plan.pinned--
	}
	c.plan, c.inputs, c.vars, c.rebind, c.folded = p, canon.inputs, canon.vars, rebind, f
	c.folding, c.moves, c.ready = folding, e.moves, nil
	c.gives(c.outs)
	return nil
}

// gives says what the outputs are, and finds their targets.
func (c *Captured) gives(outs []*uop.UOp) {
	at := map[*uop.UOp]int{}
	for i, t := range c.targets {
		if t.flags == nil {
			at[t.node] = i + 1
		}
	}
	c.outs, c.places = outs, make([]int, len(outs))
	for i, o := range outs {
		c.places[i] = at[o] - 1
	}
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

// Run plays the plan with other inputs, Buffer nodes of the same shapes and types, and gives the outputs.
func (c *Captured) Run(ctx context.Context, inputs ...*uop.UOp) ([]*uop.UOp, error) {
	return c.RunInto(ctx, nil, inputs)
}

// RunInto is Run where outputs are written into arrays that there are: output i into dst[i], a Buffer node of its shape and type,
// if that is not nil and its elements need not stay (see Share). What was built on it before is a StaleError then.
func (c *Captured) RunInto(ctx context.Context, dst, inputs []*uop.UOp) ([]*uop.UOp, error) {
	return c.RunWith(ctx, dst, inputs, nil)
}

// RunWith is RunInto where with gives variables their values; nil: those that they were captured with.
func (c *Captured) RunWith(ctx context.Context, dst, inputs []*uop.UOp, with Bindings) ([]*uop.UOp, error) {
	if c.engine.recording() != nil {
		return nil, errors.New("Run inside Capture: call the function itself in the one that is being captured")
	}
	if c.legs != nil {
		brought, err := c.legs.before(ctx, c, inputs, with)
		if err != nil {
			return nil, err
		}
		defer c.legs.ended()
		inputs = slices.Concat(inputs, brought)
	}
	if err := c.engine.mu.LockFor(ctx); err != nil {
		return nil, err
	}
	defer c.engine.mu.Unlock()
	if err := c.engine.shut(); err != nil {
		return nil, err
	}
	var outs []*uop.UOp
	renewed := c.drawn
	err := c.engine.again(ctx, func() (err error) {
		outs, err = c.run(ctx, dst, inputs, with, &renewed)
		return err
	})
	if err == nil {
		c.ran = true
	}
	return outs, err
}

// run is a run in the engine's turn. renewed says whether renewals are written, by a run that failed perhaps.
func (c *Captured) run(ctx context.Context, dst, inputs []*uop.UOp, with Bindings, renewed *bool) ([]*uop.UOp, error) {
	if c.moves != c.engine.moves {
		if err := c.compile(ctx, c.folding); err != nil {
			return nil, err
		}
	}
	if err := c.upToDate(ctx); err != nil {
		return nil, err
	}
	vars, err := valuesOf(c.vars, with)
	if err != nil {
		return nil, err
	}
	if err := c.engine.arrive(ctx, slices.Concat(inputs, slices.DeleteFunc(slices.Clone(dst), func(u *uop.UOp) bool { return u == nil }))...); err != nil {
		return nil, err
	}
	bound, err := c.bind(inputs)
	if err != nil {
		return nil, err
	}
	into, err := c.into(dst, inputs, bound)
	if err != nil {
		return nil, err
	}
	if !*renewed {
		if err := c.renewed(); err != nil {
			return nil, err
		}
		*renewed = true
	}
	return c.replay(ctx, bound, inputs, into, vars)
}

// bind gives the storages of a run, by slot.
func (c *Captured) bind(inputs []*uop.UOp) ([]*storage, error) {
	if len(inputs) != len(c.shapes) {
		return nil, fmt.Errorf("captured function takes %d inputs, not %d", len(c.shapes), len(inputs))
	}
	bound := slices.Clone(c.inputs)
	if c.folded != nil {
		c.folded.place(bound)
	}
	var assigned []*storage
	for _, t := range c.targets {
		if t.dest != nil {
			assigned = append(assigned, t.store)
		}
	}
	for i, in := range inputs {
		if r := in.Realized(); r != nil {
			in = r
		}
		b, s := buffer(in)
		if s == nil || s.engine != c.engine {
			return nil, fmt.Errorf("input %d of a captured function is not realized on %s", i, c.engine.name)
		}
		if err := s.check(b, nil); err != nil {
			return nil, err
		}
		if !in.Shape().Equal(c.shapes[i].Shape()) || in.DType() != c.shapes[i].DType() {
			return nil, fmt.Errorf("input %d of a captured function is %v %v; it was captured with %v %v", i, in.DType(), in.Shape(), c.shapes[i].DType(), c.shapes[i].Shape())
		}
		if slices.Contains(assigned, s) {
			return nil, fmt.Errorf("input %d of a captured function is a tensor that the function assigns; pass a copy", i)
		}
		if c.rebind[i] >= 0 {
			bound[c.rebind[i]] = s
		}
	}
	return bound, nil
}

// renewed writes the renewals. Nobody else uses the device between that and the play.
func (c *Captured) renewed() error {
	for _, r := range c.renew {
		if !c.ran {
			break
		}
		_, s := buffer(r.Buffer)
		if err := c.engine.renew(r, s); err != nil {
			return err
		}
	}
	return nil
}

// renew writes a renewal, in the engine's turn.
func (e *Engine) renew(r Renewal, s *storage) error {
	if b := r.Buffer; e.several != nil {
		return e.several.write(s, b.DType(), b.Shape(), r.Bytes(), s.lies.cut)
	}
	return e.write(s, r.Bytes())
}

// replay runs the plan on bound inputs. Its targets are not those that were recorded, so that no recorded node is taken for realized: fresh ones
// have no node, others a stand-in. into has the buffers that outputs are written into.
func (c *Captured) replay(ctx context.Context, bound []*storage, inputs []*uop.UOp, into map[*uop.UOp]*uop.UOp, vars []int32) ([]*uop.UOp, error) {
	e := c.engine
	targets := slices.Clone(c.targets)
	var arena *uop.Table
	for i := range targets {
		t := &targets[i]
		if t.flags != nil {
			continue
		}
		b := into[t.node]
		if b == nil && t.dest == nil {
			t.node = nil
			continue
		}
		if arena == nil {
			arena = uop.NewArena()
		}
		t.node = arena.Param(i, t.node.Shape().Numel(), t.node.DType()).Reshape(t.node.Shape()...)
		if b != nil {
			t.into = b
			_, t.store = buffer(b)
		}
	}
	ready := c.ready
	c.ready = nil
	fresh, err := e.run(ctx, c.plan, bound, vars, targets, ready)
	if err != nil {
		return nil, err
	}
	outs := make([]*uop.UOp, len(c.outs))
	for i, o := range c.outs {
		switch at := c.places[i]; {
		case at >= 0 && targets[at].node == nil:
			outs[i] = fresh[at]
		case at >= 0:
			outs[i] = targets[at].node.Realized()
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

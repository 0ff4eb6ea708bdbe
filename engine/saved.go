package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/uop"
)

// A captured function that is saved is its graph before anything was computed once or compiled. So whoever restores it, on any device,
// does what Capture did, with the same constants and the same kernels.

// numbering gives arrays their slots: inputs come first.
type numbering struct {
	slots  map[*storage]int
	inputs int
	arrays []*uop.UOp
}

// slot is that of the array of a Buffer node, perhaps reshaped.
func (n *numbering) slot(u *uop.UOp) int {
	if r := u.Realized(); r != nil {
		u = r
	}
	b, s := buffer(u)
	i, ok := n.slots[s]
	if !ok {
		i = len(n.slots)
		n.slots[s] = i
		n.arrays = append(n.arrays, b)
	}
	return i
}

// Saved is what the function computes, without names, draws and numbers of arrays, and the arrays that it uses besides its inputs: Buffer
// nodes in the order of their slots. renewals are what it draws, in the order in which it does, and slots where: what nothing reads is drawn
// too, since the draws behind it would be other ones without it.
func (c *Captured) Saved() (f saved.Function, arrays []*uop.UOp, renewals []Renewal, slots []int) {
	c.engine.mu.Lock()
	defer c.engine.mu.Unlock()
	n := &numbering{slots: map[*storage]int{}}
	for _, in := range c.shapes {
		n.slot(in)
		f.Inputs = append(f.Inputs, saved.Input{DType: in.DType(), Shape: in.Shape()})
	}
	n.inputs = len(n.arrays)
	for i, v := range n.params(values(c.targets)) {
		t := c.targets[i]
		x := saved.Target{Value: v, Shape: v.Shape(), Dest: -1, On: t.on.list()}
		if t.dest != nil {
			x.Dest = n.slot(t.dest)
		} else if t.flags == nil {
			x.Shape = t.node.Shape()
		}
		for k, number := range t.flags {
			x.Checks = append(x.Checks, saved.Check{Number: number, Arg: t.checks[k]})
		}
		f.Targets = append(f.Targets, x)
	}
	for _, o := range c.outs {
		x := saved.Result{Target: slices.IndexFunc(c.targets, func(t target) bool { return t.node == o && t.dest == nil }), Slot: -1, DType: o.DType(), Shape: o.Shape()}
		if x.Target < 0 {
			d := destination(o)
			if d == nil {
				d = o
			}
			x.Slot = n.slot(d)
		}
		f.Results = append(f.Results, x)
	}
	for _, r := range c.renew {
		renewals, slots = append(renewals, r), append(slots, n.slot(r.Buffer))
	}
	f.Ran = c.ran
	return f, n.arrays[n.inputs:], renewals, slots
}

// params are values over Params in place of Buffers, in a table of their own.
func (n *numbering) params(values []*uop.UOp) []*uop.UOp {
	t := uop.NewArena()
	for {
		done := map[*uop.UOp]*uop.UOp{}
		again := false // loops become steps, in which there may be loops
		for _, u := range uop.Topo(values...) {
			switch {
			case u.Op() == uop.Buffer:
				done[u] = t.Param(n.slot(u), u.Shape().Numel(), u.DType())
			case u.Op() == uop.Detach: // of a step
				done[u] = done[u.At(0)]
			default:
				done[u] = u.WithSrc(t, func(s *uop.UOp) *uop.UOp { return done[s] })
			}
			if a, ok := u.Arg().(uop.ForeignArg); ok && len(u.Src()) > a.Args { // files hold no code
				done[u] = done[u.At(a.Args)]
			}
			if u.Op() == uop.Loop { // nor bodies
				done[u], again = done[u].Inlined(), true
			}
		}
		out := make([]*uop.UOp, len(values))
		for i, v := range values {
			out[i] = done[v]
		}
		if !again {
			return out
		}
		values = out
	}
}

// list is the numbers, the smallest first.
func (a numbers) list() (out []int) {
	for i := range 64 * len(a) {
		if a.has(i) {
			out = append(out, i)
		}
	}
	return out
}

// Restore makes a captured function of one that was saved. arrays are Buffer nodes of this engine, perhaps reshaped, one for each of
// f.Arrays; renewals belong to them. The function may come from a file that nobody vouches for: what the compiler makes nothing of is an error.
func (e *Engine) Restore(ctx context.Context, f *saved.Function, arrays []*uop.UOp, renewals []Renewal) (c *Captured, err error) {
	c = &Captured{engine: e, renew: renewals, ran: f.Ran}
	var leaves []*uop.UOp
	for _, in := range f.Inputs {
		u, err := e.StandIn(in.DType, in.Shape)
		if err != nil {
			return nil, err
		}
		c.shapes, leaves = append(c.shapes, u), append(leaves, u)
	}
	for _, a := range arrays {
		if _, s := buffer(a); s == nil || s.engine != e {
			return nil, fmt.Errorf("BUG: an array of a restored function is not in memory on %s", e.name)
		}
		leaves = append(leaves, a)
	}
	if err := e.mu.LockFor(ctx); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	if e.machine.Evaluate != nil {
		return nil, fmt.Errorf("%s evaluates graphs and cannot play captured functions; use another device", e.name)
	}
	c.aim(f, leaves)
	defer func() {
		if x := recover(); x != nil { // Capture would let it go on: a graph of this program's
			c, err = nil, fmt.Errorf("compile a saved function: %v", x)
		}
	}()
	if err := c.compile(ctx, !e.opts.Unfolded); err != nil {
		return nil, err
	}
	return c, nil
}

// aim gives the function its targets and results. leaves are arrays by slot.
func (c *Captured) aim(f *saved.Function, leaves []*uop.UOp) {
	roots := make([]*uop.UOp, len(f.Targets))
	for i, t := range f.Targets {
		roots[i] = t.Value
	}
	home := uop.NewIota(1).Home()
	done := map[*uop.UOp]*uop.UOp{}
	for _, u := range uop.Topo(roots...) {
		if a, ok := u.Arg().(uop.ParamArg); ok {
			done[u], _ = buffer(leaves[a.Slot])
		} else {
			done[u] = u.WithSrc(home, func(s *uop.UOp) *uop.UOp { return done[s] })
		}
	}
	arena := uop.NewArena()
	for i, t := range f.Targets {
		x := target{value: done[t.Value]}
		for _, k := range t.On {
			x.on = x.on.with(k)
		}
		switch {
		case len(t.Checks) > 0:
			for _, k := range t.Checks {
				x.flags, x.checks = append(x.flags, k.Number), append(x.checks, k.Arg)
			}
		case t.Dest >= 0:
			x.dest, x.store = buffer(leaves[t.Dest])
			x.node = arena.Param(i, x.value.Shape().Numel(), x.value.DType()).Reshape(x.value.Shape()...)
		default:
			x.value = x.value.Reshape(t.Shape...)
			x.node = arena.Param(i, x.value.Shape().Numel(), x.value.DType()).Reshape(t.Shape...)
		}
		c.targets = append(c.targets, x)
	}
	for _, r := range f.Results {
		if r.Target >= 0 {
			c.outs = append(c.outs, c.targets[r.Target].node)
			continue
		}
		b, _ := buffer(leaves[r.Slot])
		c.outs = append(c.outs, b.Reshape(r.Shape...))
	}
}

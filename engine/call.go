package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-ml/weft/uop"
)

// A call stands for a result of a graph that was made once (uop.Body). Where a program is captured, or a device evaluates graphs, it is that graph, which
// is fused with what is around it. Where it is computed directly it is a plan of its own: what is around it is mostly new each time, and to
// build a graph of thousands of nodes, to resolve it and to find its plan takes far longer than to play that.

// inline is the graph that a call stands for.
func (r *resolver) inline(u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.CallArg)
	return r.writtenOut(u, a.Inlined, a.Call, a.Out)
}

// calls computes the calls that nodes depend on, and what those need, but for those whose arguments take more than they do: these are part of the plan of the nodes.
// What else needs an argument finds it in memory, what else needs a part of it computes that once more.
func (e *Engine) calls(ctx context.Context, nodes []*uop.UOp) error {
	e.unpinGone()
	if e.machine.Evaluate != nil || e.several != nil {
		return nil
	}
	var list []*uop.UOp
	e.open(nodes, func(u *uop.UOp) {
		if u.Op() == uop.Call {
			list = append(list, u)
		}
	})
	for _, u := range list {
		b := u.Arg().(uop.CallArg).Body
		if u.Realized() != nil || e.work(u.Src()) > e.bodyWork(b) {
			continue
		}
		var args, missing []*uop.UOp
		for _, s := range u.Src() {
			x := argument(s)
			if inMemory, _ := buffer(x); inMemory == nil && x.Realized() == nil {
				missing = append(missing, x)
			}
			args = append(args, x)
		}
		if err := e.compute(ctx, missing); err != nil {
			return err
		}
		outs, err := e.call(ctx, b, args)
		if err != nil {
			return err
		}
		for i, c := range b.Call(u.Src()...) {
			c.SetRealized(outs[i])
		}
		for _, c := range list { // of older generations of nodes, perhaps
			if a := c.Arg().(uop.CallArg); a.Body == b && slices.Equal(c.Src(), u.Src()) {
				c.SetRealized(outs[a.Out])
			}
		}
	}
	return nil
}

// open visits what has to be computed for nodes, operands first.
func (e *Engine) open(nodes []*uop.UOp, visit func(*uop.UOp)) {
	uop.WalkBy(nodes, e.operands, func(u *uop.UOp) bool { return u.Realized() != nil || u.Op() == uop.Buffer }, visit)
}

// nodeWork is how many operations on elements take as long as it takes to resolve a node and to find it in a plan.
const nodeWork = 1 << 13

// work is about how many operations it takes to compute nodes.
func (e *Engine) work(nodes []*uop.UOp) (n int) {
	e.open(nodes, func(u *uop.UOp) {
		n += nodeWork
		switch {
		case u.Op().Elementwise():
			n += u.Shape().Numel()
		case u.Op() == uop.Reduce, u.Op() == uop.Scan:
			n += u.At(0).Shape().Numel()
		case u.Op() == uop.Call:
			n += e.bodyWork(u.Arg().(uop.CallArg).Body)
		}
	})
	return n
}

// bodyWork is that of a body.
func (e *Engine) bodyWork(b *uop.Body) int {
	k := keptOf(b)
	if k.work == 0 {
		k.work = e.work(b.Outs)
	}
	return k.work
}

// bodyPlan is what an engine keeps with a body.
type bodyPlan struct {
	number int // of no other body
	work   int
	plan   *Captured
	gone   bool // nobody is given the body any more
}

var bodiesMade atomic.Int64

func keptOf(b *uop.Body) *bodyPlan {
	k, _ := b.Kept.(*bodyPlan)
	if k == nil {
		k = &bodyPlan{number: int(bodiesMade.Add(1))}
		b.Kept = k
	}
	return k
}

// argument is the node that is put in memory for an operand of a call. A Detach is passed over, so that the node inside is found in memory by others. An assignment is
// not: it would be carried out before the tensors that are computed with it.
func argument(u *uop.UOp) *uop.UOp {
	x := u
	for x.Op() == uop.Detach {
		x = x.At(0)
	}
	if x.Realized() == nil && destination(x) != nil {
		return u.Detach()
	}
	return x
}

// call plays the plan of a body.
func (e *Engine) call(ctx context.Context, b *uop.Body, args []*uop.UOp) ([]*uop.UOp, error) {
	k := keptOf(b)
	if k.plan == nil {
		c, err := e.planOf(ctx, b)
		if err != nil {
			return nil, err
		}
		if k.plan = c; k.gone {
			c.unpin()
		}
	}
	renewed := true
	var outs []*uop.UOp
	err := e.again(ctx, func() (err error) {
		outs, err = k.plan.run(ctx, nil, args, nil, &renewed)
		return err
	})
	return outs, err
}

// planOf captures a body.
func (e *Engine) planOf(ctx context.Context, b *uop.Body) (*Captured, error) {
	args, stand := make([]*uop.UOp, len(b.Params)), map[*storage]bool{}
	for i, p := range b.Params {
		var err error
		if args[i], err = e.StandIn(p.DType(), p.Shape()); err != nil {
			return nil, err
		}
		_, s := buffer(args[i])
		stand[s] = true
	}
	outs := b.Inlined(args...)
	targets, err := e.targets(outs, &recording{engine: e, stand: stand})
	if err != nil {
		return nil, err
	}
	c := &Captured{engine: e, shapes: args, targets: targets, outs: outs}
	if err := e.again(ctx, func() error { return c.compile(ctx, !e.opts.Unfolded) }); err != nil {
		return nil, err
	}
	return c, nil
}

// mostBodies is how many an engine keeps.
const mostBodies = 128

// Body is what make gave for the key, which says all that it depends on. It may be made again when others had its place. nil is kept too.
func (e *Engine) Body(key string, make func() *uop.Body) *uop.Body {
	if calling.Load() == nil {
		calling.Store(&callee{(*Engine).calls, (*resolver).inline})
	}
	e.bodies.Lock()
	b, ok := e.bodies.kept[key]
	e.bodies.Unlock()
	if ok {
		return b
	}
	b = make()
	e.bodies.Lock()
	defer e.bodies.Unlock()
	if other, ok := e.bodies.kept[key]; ok {
		return other
	}
	if e.bodies.kept == nil {
		e.bodies.kept = map[string]*uop.Body{}
	}
	if len(e.bodies.kept) >= mostBodies {
		for k, b := range e.bodies.kept { // any one
			delete(e.bodies.kept, k)
			if b != nil {
				e.bodies.gone = append(e.bodies.gone, b)
			}
			break
		}
	}
	e.bodies.kept[key] = b
	return b
}

// unpinGone has plans of bodies that are not kept any more given up when others need their place. They may still run.
func (e *Engine) unpinGone() {
	e.bodies.Lock()
	gone := e.bodies.gone
	e.bodies.gone = nil
	e.bodies.Unlock()
	for _, b := range gone {
		k := keptOf(b)
		if k.gone = true; k.plan != nil {
			k.plan.unpin()
		}
	}
}

// bodies are graphs that were made once.
type bodies struct {
	sync.Mutex
	kept map[string]*uop.Body
	gone []*uop.Body // that were kept, of which the engine was not told yet
}

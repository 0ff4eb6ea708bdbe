package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// ErrStandIn says that a value is asked for that depends on a stand-in: an argument of a function whose graph is being made, which has
// no value.
var ErrStandIn = errors.New("a value is asked for inside a function that is being differentiated or made for many arrays; return the tensor and read it outside")

// target is something to compute: the pure value of a node, and the buffer that it replaces (an assignment)
// or nil (a fresh one).
type target struct {
	node  *uop.UOp // as asked for
	value *uop.UOp // pure: no After, no realized nodes inside
	dest  *uop.UOp // Buffer
	into  *uop.UOp // Buffer that a fresh value is written into; nil: a new one
	store *storage // of dest or into

	on     numbers        // the checks that it depends on
	views  []*uop.UOp     // of the assignment: more nodes that were asked for
	flags  []int          // of an array of flags, which is for no node: its checks by number,
	checks []uop.CheckArg // what they are,
	codes  []*uop.UOp     // and their codes
}

// Realize computes what the nodes stand for. Afterwards Realized of each is a Buffer, perhaps reshaped.
func (e *Engine) Realize(ctx context.Context, nodes ...*uop.UOp) error {
	if r := e.recording(); r != nil {
		for _, n := range nodes {
			r.add(n)
		}
		return nil
	}
	if err := e.mu.LockFor(ctx); err != nil {
		return err
	}
	defer e.mu.Unlock()
	if err := e.shut(); err != nil {
		return err
	}
	if err := e.arrive(ctx, nodes...); err != nil {
		return err
	}
	if c := calling.Load(); c != nil {
		if err := c.compute(e, ctx, nodes); err != nil {
			return err
		}
	}
	return e.compute(ctx, nodes)
}

// compute is Realize in the engine's turn, once calls that have plans of their own are computed.
func (e *Engine) compute(ctx context.Context, nodes []*uop.UOp) error {
	asked, err := e.asked(nodes, nil)
	if err != nil || len(asked) == 0 {
		return err
	}
	var sk *sketch
	if e.machine.Evaluate == nil && e.several == nil && e.stats.Plays >= firstPlays {
		sk = e.sketch(asked)
		defer func() { e.eager.done(sk) }()
		if k := e.eager.find(e, sk); k != nil {
			played := false
			err := e.again(ctx, func() (err error) {
				played, err = e.playKnown(ctx, k, sk, asked)
				return err
			})
			if played || err != nil && !cannotBeWide(err) {
				return err
			}
		}
	}
	targets, err := e.resolved(asked, nil)
	if err != nil {
		return err
	}
	if e.machine.Evaluate != nil {
		return e.evaluate(ctx, targets)
	}
	return e.again(ctx, func() error { return e.play(ctx, targets, sk) })
}

// calling is what knows calls, see call.go; nil until there may be some, so that programs without them do not link it.
var calling atomic.Pointer[callee]

type callee struct {
	compute func(e *Engine, ctx context.Context, nodes []*uop.UOp) error
	inline  func(r *resolver, u *uop.UOp) *uop.UOp
}

// targets resolves nodes: those already in memory are left out, assignments become pure values with a
// destination. rec is the recording that they were found by, if any.
func (e *Engine) targets(nodes []*uop.UOp, rec *recording) ([]target, error) {
	asked, err := e.asked(nodes, rec)
	if err != nil {
		return nil, err
	}
	return e.resolved(asked, rec)
}

// asked are the targets of nodes, of which no value is resolved yet.
func (e *Engine) asked(nodes []*uop.UOp, rec *recording) ([]target, error) {
	out := make([]target, 0, len(nodes))
	seen := map[*uop.UOp]bool{}
	assigned := map[*uop.UOp]int{} // where an assignment is in out
	for _, n := range nodes {
		if n.Realized() != nil || seen[n] {
			continue
		}
		seen[n] = true
		if a := unshaped(n); a.Op() == uop.After && a.Realized() != nil { // as another view
			n.SetRealized(a.Realized().Reshape(n.Shape()...))
			continue
		}
		if b, s := buffer(n); s != nil {
			if err := s.check(b, rec); err != nil {
				return nil, err
			}
			if rec == nil && s.pending.Load() != nil { // what it is a view of is going to be assigned
				out = append(out, target{node: n, value: n})
			} else {
				n.SetRealized(n)
			}
			continue
		}
		t := target{node: n}
		if d := destination(n); d != nil {
			a := unshaped(n)
			if i, ok := assigned[a]; ok { // the same assignment, seen in another shape
				out[i].views = append(out[i].views, n)
				continue
			}
			assigned[a] = len(out)
			t.dest = d
			t.store, _ = d.Storage().(*storage)
			if t.store == nil || t.store.engine != e {
				return nil, fmt.Errorf("assignment to a tensor that is not on %s", e.name)
			}
			if p := t.store.pending.Load(); rec == nil && p != nil && p != a { // another follows, which would take it away
				t.dest, t.store = nil, nil
				t.views = []*uop.UOp{a}
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// resolved are targets with their values, and with the flags that these need.
func (e *Engine) resolved(asked []target, rec *recording) (out []target, err error) {
	res := resolver{engine: e, rec: rec}
	out = slices.Clone(asked)
	for i := range out {
		if t := &out[i]; t.value == nil {
			if t.value, err = res.resolve(t.node); err != nil {
				return nil, err
			}
			t.on = res.on[t.node]
		}
	}
	inOrder(out)
	if e.several != nil {
		return append(out, e.several.flags(res.columns)...), nil
	}
	return append(out, flagTargets(res.columns)...), nil
}

// inOrder puts the assignments to one buffer into the order in which they were made: the last one's value stays.
func inOrder(targets []target) {
	at := map[*storage][]int{}
	for i, t := range targets {
		if t.dest != nil {
			at[t.store] = append(at[t.store], i)
		}
	}
	for _, places := range at {
		if len(places) == 1 {
			continue
		}
		same := make([]target, len(places))
		for k, i := range places {
			same[k] = targets[i]
		}
		slices.SortStableFunc(same, func(a, b target) int { return assignments(a.node) - assignments(b.node) })
		for k, i := range places {
			targets[i] = same[k]
		}
	}
}

// assignments counts those that led to a node, to the buffer that it stands for.
func assignments(n *uop.UOp) (count int) {
	for ; n.Op() == uop.Reshape || n.Op() == uop.After; n = n.At(0) {
		if n.Op() == uop.After {
			count++
		}
	}
	return count
}

// unshaped is what a node is a reshape of.
func unshaped(n *uop.UOp) *uop.UOp {
	for n.Op() == uop.Reshape {
		n = n.At(0)
	}
	return n
}

// destination is the buffer that an assignment writes, or nil for any other node.
func destination(n *uop.UOp) *uop.UOp {
	n = unshaped(n)
	if n.Op() != uop.After {
		return nil
	}
	for n.Op() == uop.After || n.Op() == uop.Reshape {
		n = n.At(0)
	}
	return n
}

// resolver turns a graph into a pure one over buffers: realized nodes become their buffer, After becomes
// the value that the buffer will have.
type resolver struct {
	engine  *Engine
	rec     *recording
	done    uop.Map[*uop.UOp]
	inlined map[*uop.UOp]*uop.UOp // calls and loops, with the graphs that they stand for
	columns []column              // the checks
	on      map[*uop.UOp]numbers  // those that nodes depend on
}

func (r *resolver) resolve(root *uop.UOp) (*uop.UOp, error) {
	type frame struct {
		u *uop.UOp
		i int
	}
	stack := []frame{{root, 0}}
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		u := f.u
		if r.of(u) != nil {
			stack = stack[:len(stack)-1]
			continue
		}
		if b := u.Realized(); b != nil {
			r.done.Set(u, b)
			u = b
		}
		if r.rec != nil && r.rec.brought[u] != nil {
			r.done.Set(f.u, r.rec.brought[u])
			stack = stack[:len(stack)-1]
			continue
		}
		if b, s := buffer(u); b != nil {
			if s == nil || s.engine != r.engine {
				return nil, r.engine.notHere(b)
			}
			if err := s.check(b, r.rec); err != nil {
				return nil, err
			}
			s.seenAs(u)
			r.done.Set(f.u, b.Reshape(u.Shape()...)) // of the buffer itself: what lies between would be divided and put together again
			stack = stack[:len(stack)-1]
			continue
		}
		if a, ok := u.Arg().(uop.ParamArg); ok && a.Slot < 0 {
			return nil, ErrStandIn
		}
		srcs := r.engine.operands(u)
		switch {
		case u.Op() == uop.Call:
			srcs = []*uop.UOp{calling.Load().inline(r, u)}
		case u.Op() == uop.Loop && r.engine.unrolls():
			srcs = []*uop.UOp{r.unroll(u)}
		}
		if f.i < len(srcs) {
			s := srcs[f.i]
			f.i++
			if r.of(s) == nil {
				stack = append(stack, frame{s, 0})
			}
			continue
		}
		r.done.Set(u, r.pure(u))
		r.carry(u, srcs)
		stack = stack[:len(stack)-1]
	}
	return r.of(root), nil
}

// notHere is the error of a Buffer that is in no memory of this engine's.
func (e *Engine) notHere(b *uop.UOp) error {
	if on := b.Arg().(uop.BufferArg).Device; on != e.name {
		return fmt.Errorf("a tensor on %s is used on %s; move it with On", on, e.name)
	}
	return fmt.Errorf("a tensor belongs to another engine of %s, one that was closed or opened by itself; make it anew from its elements", e.name)
}

// of is what u was resolved to, or nil.
func (r *resolver) of(u *uop.UOp) *uop.UOp {
	v, _ := r.done.Get(u)
	return v
}

// operands are those that the value of a node needs.
func (e *Engine) operands(u *uop.UOp) []*uop.UOp {
	if u.Op() == uop.Detach || u.Op() == uop.Check && e.opts.Unchecked { // the rest of a Detach is for differentiation
		return u.Src()[:1]
	}
	return u.Src()
}

// seenAs notes the shape of most axes in which an array is used: that of a batch of rows, where later it is one long row. Once graphs were compared
// by it axes of size 1 are none: what stays from graph to graph, as weights, is of the same shape after a batch of one row.
func (s *storage) seenAs(u *uop.UOp) {
	for ; u.Op() == uop.Reshape || u.Op() == uop.Buffer; u = u.At(0) {
		if shape := u.Shape(); s.seen == nil || len(shape) > len(s.seen) && (!s.compared || longAxes(shape) > longAxes(s.seen)) {
			s.seen = shape
		}
		if u.Op() == uop.Buffer {
			return
		}
	}
}

// longAxes is how many axes are longer than 1.
func longAxes(shape uop.Shape) (n int) {
	for _, size := range shape {
		if size > 1 {
			n++
		}
	}
	return n
}

// pure rebuilds a node on its resolved operands. Store gives the content of the whole buffer afterwards.
func (r *resolver) pure(u *uop.UOp) *uop.UOp {
	switch u.Op() {
	case uop.Detach, uop.Check, uop.Extent:
		return r.of(u.At(0))
	case uop.Call, uop.Loop:
		if v := r.inlined[u]; v != nil {
			return r.of(v)
		}
	case uop.Store:
		return r.update(u.At(0), r.of(u.At(1)))
	case uop.After:
		if len(u.Src()) != 2 {
			panic("BUG: After takes one store")
		}
		return r.of(u.At(1))
	case uop.Reshape: // a reshape of a reshape is one
		src := r.of(u.At(0))
		for src.Op() == uop.Reshape {
			src = src.At(0)
		}
		return src.Reshape(u.Shape()...)
	}
	if len(u.Src()) == 0 {
		return u
	}
	v := u.WithSrc(u.Home(), r.of)
	if u.Op() == uop.Reduce && u.Arg().(uop.ReduceArg).Parts == 1 && long(u) {
		v = counted(u, v)
	}
	return v
}

// long says that a reduction takes much for each of its results, so that those that do not count are not to be computed.
func long(u *uop.UOp) bool {
	const much = 16
	return u.At(0).Shape().Numel() >= much*u.Shape().Numel()
}

// update is the content of the buffer below view, a chain of movement, after v was stored through the view.
func (r *resolver) update(view, v *uop.UOp) *uop.UOp {
	if len(v.Shape()) == 0 && len(view.Shape()) > 0 {
		v = spread(v, view.Shape())
	}
	for view.Op() != uop.Buffer && view.Op() != uop.After {
		src := view.At(0)
		switch view.Op() {
		case uop.Reshape:
			v = v.Reshape(src.Shape()...)
		case uop.Permute:
			order := view.Arg().(uop.Ints).Slice()
			inverse := make([]int, len(order))
			for i, o := range order {
				inverse[o] = i
			}
			v = v.Permute(inverse...)
		case uop.Flip:
			v = v.Flip(view.Arg().(uop.Ints).Slice()...)
		case uop.Shrink:
			a := view.Arg().(uop.PadArg)
			lo, hi := a.Lo.Slice(), a.Hi.Slice()
			for i := range hi {
				hi[i] = src.Shape()[i] - hi[i]
			}
			inside := shifted(spread(uop.NewInt(dtype.Bool, 1), v.Shape()), lo, hi, a.ID)
			v = inside.Where(shifted(v, lo, hi, a.ID), r.of(src))
		default:
			panic(fmt.Sprintf("BUG: store through %v", view))
		}
		view = src
	}
	return v
}

// shifted is Pad with an ID.
func shifted(v *uop.UOp, lo, hi []int, id uint64) *uop.UOp {
	if id == 0 {
		return v.Pad(lo, hi)
	}
	return v.Home().Make(uop.Pad, v.DType(), uop.PadArg{Lo: uop.MakeInts(lo...), Hi: uop.MakeInts(hi...), ID: id}, v)
}

// spread repeats a scalar to a shape.
func spread(v *uop.UOp, shape []int) *uop.UOp {
	ones := make([]int, len(shape))
	for i := range ones {
		ones[i] = 1
	}
	return v.Reshape(ones...).Expand(shape...)
}

package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// ScanOptions are the options of Scan.
type ScanOptions struct {
	Steps int  // how many steps there are, where no array says so
	Back  bool // from the last entry to the first
}

// Scan computes what depends on the step before: recurrent layers, filters, solvers of differential equations. It goes along the first axis of the
// arrays in, which must have one size: step gets what is carried and the entries of this step, and returns what is carried to the next step, of the
// same shapes and types, and any other results. Scan returns what was carried after each step and the other results, stacked along a new first axis:
// entry i belongs to entry i of the arrays, also where they are gone through from the last to the first.
//
//	sums, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
//		return []*tensor.Tensor{s[0].Mul(0.9).Add(in[0])}, nil
//	}, []*tensor.Tensor{tensor.Zeros(3)}, []*tensor.Tensor{xs}, tensor.ScanOptions{}) // xs [100 3]
//
// The graph holds one step, which is compiled once: neither grows with the number of steps. Where each place of what is carried is made of itself alone, or
// of a few beside it on short axes, as in filters, state space models and simulations of points, all steps are one kernel. Of states of which a program
// reads the last alone, the last is kept. step is called with tensors that have no values: none can be
// read in it, what it draws at random may be the same in all steps, and an assignment happens once, or is an error where it depends on the step.
// Steps with sizes or indices that a Variable makes, and loops of three steps or fewer, are written out. Gradients go through, also to what step uses
// besides its arguments: backwards it is a scan again, over all that was carried, which is kept. Tangents (JVP) are a scan beside it.
//
// Inlined, errors would name a line of the library: they name the first line outside of it.
//
//go:noinline
func Scan(step func(carried, in []*Tensor) (next, out []*Tensor), carried, in []*Tensor, o ScanOptions) (states, outs []*Tensor) {
	const op = "Scan"
	steps := o.Steps
	for i, x := range in {
		switch {
		case x.Rank() == 0:
			fail(op, rooms(in), "array %d has no axis to go along", i)
		case i > 0 && x.sizeAt(0) != in[0].sizeAt(0):
			fail(op, rooms(in), "array %d has %v entries, the one before %v", i, x.sizeAt(0), in[i-1].sizeAt(0))
		case o.Steps > 0 && x.room()[0] != o.Steps:
			fail(op, rooms(in), "array %d has %d entries for %d steps", i, x.room()[0], o.Steps)
		}
		steps = x.room()[0]
	}
	if len(in) == 0 && o.Steps <= 0 {
		failArg(op, "there is no array to go along, and no number of steps")
	}
	all := append(slices.Clone(carried), in...)
	call := func(f func(i int) *Tensor) []*Tensor {
		args := make([]*Tensor, len(all))
		for i := range args {
			args[i] = f(i)
		}
		next, out := step(args[:len(carried):len(carried)], args[len(carried):])
		checkCarried(op, carried, next)
		return append(slices.Clone(next), out...)
	}
	t := trace(op, func(args ...*Tensor) []*Tensor { return call(func(i int) *Tensor { return args[i] }) }, all, func(i int) uop.Shape {
		if i < len(carried) {
			return append(uop.Shape{}, all[i].shape()...) // never nil, which stands for the argument itself
		}
		return append(uop.Shape{}, without(all[i].shape(), 0)...)
	})
	e := commonEngine(op, append(all[:len(all):len(all)], t.outs...)...) // what a step uses besides may alone say where it is
	results := make([]*Tensor, len(t.outs))
	switch nodes, ok := t.loop(len(carried), steps, o.Back); {
	case steps == 0:
		for i, y := range t.outs {
			results[i] = newTensor(spread(y.node().Int(0), append(uop.Shape{0}, y.shape()...)), e)
		}
	case ok:
		for i, u := range nodes {
			results[i] = newTensor(u, e)
		}
	default:
		again := slices.ContainsFunc(all, func(x *Tensor) bool { return x.node().Sizes() != nil }) // stand-ins have no sizes that vary
		var write func(args []*uop.UOp) []*uop.UOp
		if !again {
			write = t.writer()
		}
		state := carried
		list := make([][]*Tensor, len(t.outs))
		for i := range steps {
			at := i
			if o.Back {
				at = steps - 1 - i
			}
			arg := func(i int) *Tensor {
				if i < len(carried) {
					return state[i]
				}
				return all[i].Select(0, at)
			}
			var now []*Tensor
			if again {
				now = call(arg)
			} else {
				args := make([]*uop.UOp, len(all))
				for k := range args {
					args[k] = arg(k).node()
				}
				for _, u := range write(args) {
					now = append(now, newTensor(u, e))
				}
			}
			state = nil
			for k, y := range now {
				if k < len(carried) {
					y = y.Contiguous() // the next step reads it many times
					state = append(state, y)
				}
				if list[k] == nil {
					list[k] = make([]*Tensor, steps)
				}
				list[k][at] = y
			}
		}
		for k := range results {
			results[k] = Stack(0, list[k]...)
		}
	}
	return results[:len(carried):len(carried)], results[len(carried):]
}

// fewSteps are written out, so that they are fused with each other.
const fewSteps = 3

// writer gives a function that writes out what was traced, for arguments.
func (t *traced) writer() func(args []*uop.UOp) []*uop.UOp {
	outs := uop.Inline(nodes(t.outs)...)
	order, inside := []*uop.UOp{}, map[*uop.UOp]bool{} // what depends on the stand-ins
	for _, s := range t.stand {
		inside[s] = true
	}
	for _, u := range uop.Topo(outs...) {
		if !inside[u] && slices.ContainsFunc(u.Src(), func(s *uop.UOp) bool { return inside[s] }) {
			inside[u] = true
			order = append(order, u)
		}
	}
	return func(args []*uop.UOp) []*uop.UOp {
		with := map[*uop.UOp]*uop.UOp{}
		for i, s := range t.stand {
			with[s] = args[i].Reshape(s.Shape()...)
		}
		get := func(u *uop.UOp) *uop.UOp {
			if v := with[u]; v != nil {
				return v
			}
			return u
		}
		for _, u := range order {
			with[u] = u.WithSrc(u.Home(), get)
		}
		now := make([]*uop.UOp, len(outs))
		for i, u := range outs {
			now[i] = get(u)
		}
		return now
	}
}

// loop gives the results of a loop whose steps are the traced function; false: they have to be written out.
func (t *traced) loop(carried, steps int, back bool) ([]*uop.UOp, bool) {
	if steps <= fewSteps {
		return nil, false
	}
	for _, x := range t.in {
		if x.node().Sizes() != nil || x.Numel() == 0 {
			return nil, false
		}
	}
	c := &closure{stand: t.stand, inside: map[*uop.UOp]bool{}, shared: map[*uop.UOp]*uop.UOp{}}
	for i, s := range t.stand {
		c.inside[s] = true
		if e := t.in[i].Engine(); e != nil && e.Several() {
			return nil, false
		}
	}
	outs, ok := c.close(uop.Inline(nodes(t.outs)...))
	if !ok {
		return nil, false
	}
	body := uop.LoopBody{Params: append(slices.Clone(t.stand), c.params...), Carried: carried, Along: len(t.in) - carried, Outs: append(outs, c.codes...)}
	all := uop.NewLoop(body, steps, back, append(nodes(t.in), c.args...)...)
	results := slices.Clone(all[:len(t.outs)])
	for i := range results {
		for k, a := range c.checks {
			results[i] = results[i].Check(all[len(t.outs)+k], a)
		}
	}
	return results, true
}

// closure makes arguments of what a graph uses besides its stand-ins.
type closure struct {
	stand        []*uop.UOp
	inside       map[*uop.UOp]bool // nodes that depend on a stand-in
	shared       map[*uop.UOp]*uop.UOp
	params, args []*uop.UOp
	checks       []uop.CheckArg // of what steps compute,
	codes        []*uop.UOp     // with their codes
	unstored     bool           // it uses what no array holds
}

// close gives graphs that depend on stand-ins and constants alone; false: they have an effect, or a size or an index that varies.
func (c *closure) close(roots []*uop.UOp) ([]*uop.UOp, bool) {
	order := uop.Topo(roots...)
	slots := map[int]bool{} // of gradients in what functions state of them
	for _, u := range order {
		if f, ok := u.Arg().(uop.FunctionArg); ok {
			slots[f.Slot] = true
		}
	}
	for _, u := range order {
		if u.Op() == uop.Param && slots[u.Slot()] || slices.ContainsFunc(u.Src(), func(s *uop.UOp) bool { return c.inside[s] }) {
			c.inside[u] = true
		}
		if !c.inside[u] {
			continue
		}
		switch u.Op() {
		case uop.Extent, uop.After, uop.Store, uop.Copy, uop.Foreign:
			return nil, false
		}
		if u.Sizes() != nil || u.Shape().Numel() == 0 || slices.ContainsFunc(u.Src(), func(s *uop.UOp) bool { return s.Sizes() != nil }) {
			return nil, false
		}
	}
	if slices.ContainsFunc(roots, func(r *uop.UOp) bool { return r.Sizes() != nil }) {
		return nil, false
	}
	var done uop.Map[*uop.UOp]
	for _, s := range c.stand {
		done.Set(s, s)
	}
	get := func(u *uop.UOp) *uop.UOp {
		if v, _ := done.Get(u); v != nil {
			return v
		}
		return c.free(u)
	}
	var computed uop.Map[bool] // what derivatives alone read has no checks
	uop.WalkBy(roots, func(u *uop.UOp) []*uop.UOp {
		if u.Op() == uop.Detach {
			return u.Src()[:1]
		}
		return u.Src()
	}, func(*uop.UOp) bool { return false }, func(u *uop.UOp) { computed.Set(u, true) })
	for _, u := range order {
		v, _ := done.Get(u)
		switch {
		case v != nil || !c.inside[u]:
		case u.Op() == uop.Check: // of all steps, outside of the loop
			done.Set(u, get(u.At(0)))
			if ok, _ := computed.Get(u); ok {
				c.checks, c.codes = append(c.checks, u.Arg().(uop.CheckArg)), append(c.codes, get(u.At(1)))
			}
		default:
			done.Set(u, u.WithSrc(u.Home(), get))
		}
	}
	out := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		out[i] = get(r)
	}
	return out, !c.unstored
}

// free is what a step reads of a node that is the same in all steps.
func (c *closure) free(u *uop.UOp) *uop.UOp {
	if v := c.shared[u]; v != nil {
		return v
	}
	v := u
	if !constant(u) {
		c.unstored = c.unstored || u.DType() == dtype.Index // where a variable stands
		v = uop.NewStandIn(u.DType(), u.Shape()...)
		c.params, c.args = append(c.params, v), append(c.args, u)
	}
	c.shared[u] = v
	return v
}

// constant says that a node is made of numbers alone, element by element, and that nobody differentiates by them.
func constant(u *uop.UOp) bool {
	return !below(u, func(u *uop.UOp) bool {
		if a, ok := u.Arg().(uop.ConstArg); ok {
			return a.ID != 0
		}
		return u.Op() != uop.Range && !u.Op().IsMovement() && !u.Op().Elementwise()
	})
}

// checkCarried fails unless a step returns what it was given.
func checkCarried(op string, before, after []*Tensor) {
	if len(after) != len(before) {
		failArg(op, "a step returns %d tensors to carry for %d", len(after), len(before))
	}
	for i, x := range after {
		switch {
		case x == nil:
			failArg(op, "tensor %d to carry is nil", i)
		case !x.shape().Equal(before[i].shape()):
			fail(op, shapesOf(before[i], x), "a step changes the shape of tensor %d that is carried", i)
		case x.DType() != before[i].DType():
			failType(op, []dtype.DType{before[i].DType(), x.DType()}, "a step changes the type of tensor %d that is carried", i)
		}
	}
}

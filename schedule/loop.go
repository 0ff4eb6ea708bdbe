package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A loop is scheduled once, as a graph of its own, and its kernels run once for each step, on parts of the arrays that hold the results of all
// steps. So it compiles in the same time however many steps it has. Outside it is one kernel that reads what it is given and writes its results,
// until the schedule is complete.

// loop is how a loop is scheduled.
type loop struct {
	uop.LoopArg
	stored *uop.LoopBody // stands for it in the graph; its results are entries as they lie in memory
	body   *Result       // of a step: inputs by Param, a root for each result that is stored
	moves  []int         // of what is the same in all steps: how many nodes move it, which a step does
	sizes  []int         // elements of an entry, by operand and then by stored result
	number []int         // of a result among those that are stored
	ring   []bool        // by stored result: the last entry alone is read, and what is carried lies in two in turns
}

// lastOnly are results of loops of which nothing is read but the entry of the last step.
func (s *scheduler) lastOnly(order []*uop.UOp) map[*uop.UOp]bool {
	only := map[*uop.UOp]bool{}
	for _, u := range order {
		if u.Op() == uop.Loop {
			a := u.Arg().(uop.LoopArg)
			only[u] = a.Out < a.Carried
		}
		for _, x := range u.Src() {
			if x.Op() == uop.Loop && !lastEntry(u) {
				only[x] = false
			}
		}
	}
	for _, u := range s.values {
		delete(only, u)
	}
	return only
}

// lastEntry says that a node is the entry of the last step of its operand, the result of a loop.
func lastEntry(u *uop.UOp) bool {
	x := u.At(0)
	if u.Op() != uop.Shrink || x.Op() != uop.Loop {
		return false
	}
	l, a := x.Arg().(uop.LoopArg), u.Arg().(uop.PadArg)
	last := l.Step(l.Steps - 1)
	return a.Lo.At(0) == last && a.Hi.At(0) == last+1
}

// onlyEntry is the result of a loop of so many steps of which nothing is read but entry i of an array: it, in all places.
func onlyEntry(array *uop.UOp, i, steps int) *uop.UOp {
	lo, hi := make([]int, len(array.Shape())), slices.Clone(array.Shape())
	lo[0], hi[0] = i, i+1
	all := slices.Clone(hi)
	all[0] = steps
	return array.Shrink(lo, hi).Expand(all...)
}

// loops schedules loops, if there are any.
func (s *scheduler) loops() error {
	loops := func() bool {
		return slices.ContainsFunc(uop.Topo(s.values...), func(u *uop.UOp) bool { return u.Op() == uop.Loop })
	}
	if !loops() {
		return nil
	}
	if s.recurrences(); !loops() {
		return nil
	}
	return s.storeLoops(uop.Topo(s.values...))
}

// loopsOf are the results of each loop that are used.
func loopsOf(order []*uop.UOp) (list [][]*uop.UOp) {
	for _, u := range order {
		if u.Op() != uop.Loop {
			continue
		}
		if i := slices.IndexFunc(list, func(l []*uop.UOp) bool { return l[0].SameLoop(u) }); i >= 0 {
			list[i] = append(list[i], u)
		} else {
			list = append(list, []*uop.UOp{u})
		}
	}
	return list
}

// storeLoops has loops compute their results in arrays of which parts can be given to kernels, but for those that nobody reads.
func (s *scheduler) storeLoops(order []*uop.UOp) error {
	list := loopsOf(order)
	of := func(u *uop.UOp) int {
		return slices.IndexFunc(list, func(l []*uop.UOp) bool { return l[0].SameLoop(u) })
	}
	loops := make([]*loop, len(list))
	s.looped = map[*uop.LoopBody]*loop{}
	last := s.lastOnly(order)
	for i, results := range list {
		var err error
		if loops[i], err = s.newLoop(results, last); err != nil {
			return err
		}
		s.looped[loops[i].stored] = loops[i]
	}
	s.values = s.rebuilt(order, s.values, func(u, v *uop.UOp, _ func(*uop.UOp) *uop.UOp) *uop.UOp {
		if u.Op() == uop.Loop {
			return s.resultOf(loops[of(u)], u, v)
		}
		return v
	})
	return nil
}

// newLoop schedules a step, with the results that are used and those that are carried. Of some the last entry alone is read.
func (s *scheduler) newLoop(results []*uop.UOp, last map[*uop.UOp]bool) (*loop, error) {
	l := &loop{LoopArg: results[0].Arg().(uop.LoopArg), stored: &uop.LoopBody{}}
	g := &Graph{Table: uop.NewArena()}
	var done uop.Map[*uop.UOp]
	of := func(u *uop.UOp) *uop.UOp {
		v, _ := done.Get(u)
		return v
	}
	l.moves, l.sizes = make([]int, len(l.Params)), make([]int, len(l.Params))
	for i, p := range l.Params {
		x := p
		var moved []*uop.UOp
		if i >= l.Carried+l.Along {
			for x = results[0].At(i); moves(x); x = x.At(0) {
				moved = append(moved, x)
			}
		}
		l.moves[i], l.sizes[i] = len(moved), x.Shape().Numel()
		if i < l.Carried+l.Along {
			l.sizes[i] = s.entry(l.sizes[i], x)
		}
		walked := i >= l.Carried+l.Along && x.Op() == uop.Param && s.graph.Inputs[x.Arg().(uop.ParamArg).Slot].Walked
		g.Inputs = append(g.Inputs, Input{DType: x.DType(), N: l.sizes[i], Walked: walked})
		v := resized(g.Table.Param(i, l.sizes[i], x.DType()), x.Shape().Numel()).Reshape(x.Shape()...)
		for _, m := range slices.Backward(moved) {
			v = m.WithSrc(g.Table, func(*uop.UOp) *uop.UOp { return v })
		}
		done.Set(array(p), v.Reshape(p.Shape().Numel()))
		done.Set(p, v)
	}
	var outs []*uop.UOp
	kept := make([]bool, len(l.Pure))
	for i, o := range l.Pure {
		kept[i] = i < l.Carried || slices.ContainsFunc(results, func(u *uop.UOp) bool { return u.Arg().(uop.LoopArg).Out == i })
		if kept[i] {
			outs = append(outs, o)
		}
	}
	for _, u := range uop.Topo(outs...) {
		if x, ok := u.ConstValue(); ok {
			done.Set(u, g.Table.ConstOf(u.DType(), x))
		} else if of(u) == nil {
			done.Set(u, u.WithSrc(g.Table, of))
		}
	}
	var arrays []*uop.UOp // no two of them equal
	l.number = make([]int, len(l.Pure))
	for i, o := range l.Pure {
		if !kept[i] {
			continue
		}
		v := array(of(o))
		l.number[i] = slices.Index(arrays, v)
		if l.number[i] < 0 {
			l.number[i] = len(arrays)
			n := s.entry(v.Shape().Numel(), v)
			arrays, l.sizes = append(arrays, v), append(l.sizes, n)
			g.Roots = append(g.Roots, Root{resized(v.Reshape(v.Shape().Numel()), n), -1})
			l.stored.Outs = append(l.stored.Outs, g.Roots[len(g.Roots)-1].Value)
		}
	}
	var err error
	config := s.config
	config.Alike, config.Lookup = 0, 0 // a step has the arrays that the loop has
	if l.body, err = Checked(g, config, s.check); err != nil {
		return nil, err
	}
	l.body.Steps = slices.DeleteFunc(l.body.Steps, func(st Step) bool {
		if st.Spec != nil {
			return false
		}
		to, from := l.body.Bufs[st.Bufs[0]].Index, l.body.Bufs[st.Bufs[1]].Index
		for i, n := range l.number { // two results turned out to be one
			if n == to {
				l.number[i] = from
			}
		}
		return true
	})
	l.ring = make([]bool, len(arrays))
	for i := range l.Pure[:l.Carried] {
		l.ring[l.number[i]] = l.Steps > inTurns
	}
	for i, n := range l.number {
		if kept[i] && i >= l.Carried {
			l.ring[n] = false
		}
	}
	for _, u := range results {
		if i := u.Arg().(uop.LoopArg).Out; !last[u] {
			l.ring[l.number[i]] = false
		}
	}
	return l, nil
}

// inTurns are the entries of what is carried and not kept: of the step before, and of this one.
const inTurns = 2

// at is the entry of stored result n that step i writes.
func (l *loop) at(n, i int) int {
	if l.ring[n] {
		return i % inTurns
	}
	return l.Step(i)
}

// entries is how many stored result n has.
func (l *loop) entries(n int) int {
	if l.ring[n] {
		return inTurns
	}
	return l.Steps
}

// moves says that a node moves what it is made of, or makes it wider, and that this can have memory.
func moves(u *uop.UOp) bool {
	if u.Op() == uop.Cast && u.At(0).DType().Size() > u.DType().Size() || u.Op() != uop.Cast && !u.Op().IsMovement() {
		return false
	}
	return u.At(0).DType() != dtype.Index
}

// entry is how many elements of memory an entry of n takes, so that each begins where a part of an array may.
func (s *scheduler) entry(n int, of *uop.UOp) int {
	for s.config.Align > 0 && n*of.DType().Size()%s.config.Align != 0 {
		n++
	}
	return n
}

// resized is u with n elements on its last axis: as many as there are, with zeros behind, or the first.
func resized(u *uop.UOp, n int) *uop.UOp {
	last := len(u.Shape()) - 1
	have := u.Shape()[last]
	lo, hi := make([]int, last+1), slices.Clone(u.Shape())
	switch {
	case n > have:
		hi = make([]int, last+1)
		hi[last] = n - have
		return u.Pad(lo, hi)
	case n < have:
		hi[last] = n
		return u.Shrink(lo, hi)
	}
	return u
}

// resultOf is a result of a loop, v, with operands that were rebuilt, as an array of entries as they lie in memory.
func (s *scheduler) resultOf(l *loop, u, v *uop.UOp) *uop.UOp {
	args := slices.Clone(v.Src())
	for i, x := range args {
		switch {
		case i < l.Carried:
			args[i] = resized(x.Reshape(x.Shape().Numel()), l.sizes[i])
		case i < l.Carried+l.Along:
			args[i] = resized(x.Reshape(l.Steps, x.Shape().Numel()/l.Steps), l.sizes[i])
		default:
			for range l.moves[i] {
				x = x.At(0)
			}
			args[i] = x
		}
	}
	n := l.number[u.Arg().(uop.LoopArg).Out]
	out := s.loopResult(l, n, distinct(args))
	entries := resized(out, u.Shape().Numel()/l.Steps).Reshape(append([]int{l.entries(n)}, u.Shape()[1:]...)...)
	if l.ring[n] {
		return onlyEntry(entries, (l.Steps-1)%inTurns, l.Steps)
	}
	return entries
}

func (s *scheduler) loopResult(l *loop, out int, args []*uop.UOp) *uop.UOp {
	return s.t.Make(uop.Loop, l.stored.Outs[out].DType(), uop.LoopArg{LoopBody: l.stored, Steps: l.entries(out), Out: out}, args...)
}

// lowerLoop makes one kernel of a loop.
func (s *scheduler) lowerLoop(u *uop.UOp, bufFor func(u *uop.UOp) int) *kernel {
	l := s.looped[u.Arg().(uop.LoopArg).LoopBody]
	k := &kernel{node: u, spec: &codegen.Spec{Home: s.t}, loop: l}
	for _, x := range u.Src() {
		k.operand(s.memoryOf(x), x)
	}
	for i := range l.stored.Outs {
		r := s.loopResult(l, i, u.Src())
		k.operand(bufFor(r), r)
		k.spec.Params[len(k.spec.Params)-1].Write = true
	}
	return k
}

// operand is param for kernels that have all parameters in their order.
func (k *kernel) operand(buf int, u *uop.UOp) {
	k.spec.Params = append(k.spec.Params, codegen.Param{DType: u.DType(), Dims: slices.Clone(u.Shape())})
	k.bufs = append(k.bufs, buf)
}

// opaque says that a kernel is no graph.
func (k *kernel) opaque() bool { return k.loop != nil || k.spec.Foreign != nil }

// derived is how the kernels of a loop came about: of what was done to a step nothing is noted.
func (l *loop) derived() (out []Derivation) {
	for range l.Steps {
		for _, st := range l.body.Steps {
			var d Derivation
			for p := Group; p < numPhases; p++ {
				d.After[p] = st.Spec
			}
			out = append(out, d)
		}
	}
	return out
}

// steps are those of a kernel.
func (s *scheduler) steps(k *kernel) []Step {
	if k.loop != nil {
		return s.loopSteps(k)
	}
	return []Step{{k.spec, k.bufs, k.from, k.made}}
}

// loopSteps are the kernels of all steps of a loop.
func (s *scheduler) loopSteps(k *kernel) (out []Step) {
	l := k.loop
	at := make([]int, len(l.body.Bufs)) // a buffer of the body: an operand, or behind these a result, or −1
	own := make([]int, len(l.body.Bufs))
	for i, b := range l.body.Bufs {
		switch b.Kind {
		case InputBuf:
			at[i] = b.Index
		case OutputBuf:
			at[i] = len(l.Params) + b.Index
		default:
			at[i], own[i] = -1, len(s.bufs)
			s.bufs = append(s.bufs, b)
		}
	}
	for i := range l.Steps {
		for _, st := range l.body.Steps {
			step := Step{st.Spec, make([]int, len(st.Bufs)), make([]int, len(st.Bufs)), st.Made}
			for p, b := range st.Bufs {
				if st.From != nil {
					step.From[p] = st.From[p]
				}
				j, entry := at[b], 0
				switch {
				case j < 0:
					step.Bufs[p] = own[b]
					continue
				case j < l.Carried && i > 0: // what the step before made
					n := l.number[j]
					j, entry = len(l.Params)+n, l.at(n, i-1)
				case j >= l.Carried && j < l.Carried+l.Along:
					entry = l.Step(i)
				case j >= len(l.Params):
					entry = l.at(j-len(l.Params), i)
				}
				step.Bufs[p] = k.bufs[j]
				step.From[p] += entry * l.sizes[j]
			}
			out = append(out, step)
		}
	}
	return out
}

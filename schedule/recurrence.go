package schedule

import (
	"maps"
	"slices"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// A loop is a scan where what it carries at a place is made of what it carried there and of no other place, as in filters, moving averages, state space
// models and simulations: then one kernel does all steps, each thread or lane at a place of its own, with what is carried in registers. Along axes that are
// short, places may be made of each other: a thread carries all of those, as of a point in space, or a small matrix. What does not depend on what
// is carried is computed for all steps at once, before, and what nothing that is carried depends on, behind.
const (
	mostHeld   = 32     // values that a thread carries from step to step
	mostInStep = 1 << 9 // nodes that a thread computes in a step

	// Beyond these, where launches take little, each step has launches of its own:
	mostLanes = 1 << 11 // places, as a launch goes along rows
	mostRead  = 80      // parts of an element that are read in lanes, for which there are no registers
	mostSame  = 4       // times what there is to carry that all threads carry together: what is the same in lanes is computed in each

	mostPassing = 1 << 20 // bytes of what a kernel stores and only its last step is of use,
	leastFinal  = 32      // as numbers of fewer bits are stored in all steps or none

	freeSlot = 1 << 30 // slots that no input has
)

var recurrenceLaw = rewrite.Named("a loop over places apart from each other is a scan")

// recurrences puts scans in the place of loops that are such.
func (s *scheduler) recurrences() {
	order := uop.Topo(s.values...)
	used, last := loopsOf(order), s.lastOnly(order)
	done := map[*uop.UOp][]*uop.UOp{} // by first result of a loop: all its results, or none
	s.values = s.rebuilt(order, s.values, func(u, v *uop.UOp, _ func(*uop.UOp) *uop.UOp) *uop.UOp {
		if u.Op() != uop.Loop {
			return v
		}
		results := used[slices.IndexFunc(used, func(l []*uop.UOp) bool { return l[0].SameLoop(u) })]
		outs, ok := done[results[0]]
		if !ok {
			outs = s.recurrence(results, v.Src(), last)
			done[results[0]] = outs
		}
		if outs == nil {
			return v
		}
		w := outs[u.Arg().(uop.LoopArg).Out]
		s.noted(recurrenceLaw, v, w)
		return w
	})
}

// recurrence gives the results of a loop, by their numbers, those that are used, or nil where it is no scan. Of some the last entry
// alone is read.
func (s *scheduler) recurrence(results, args []*uop.UOp, last map[*uop.UOp]bool) []*uop.UOp {
	l := results[0].Arg().(uop.LoopArg)
	if s.config.StoreAll || l.Carried == 0 || slices.ContainsFunc(l.Params, func(p *uop.UOp) bool { return p.Shape().Numel() == 0 }) {
		return nil
	}
	r := &recurrence{scheduler: s, LoopArg: l, args: args, needed: make([]bool, len(l.Pure)), final: make([]bool, len(l.Pure))}
	stored, all := mostPassing, true
	for _, u := range results {
		i := u.Arg().(uop.LoopArg).Out
		r.needed[i], r.final[i] = true, last[u] && u.DType().Bits() >= leastFinal
		if !r.final[i] {
			stored, all = max(stored, u.Shape().Numel()*u.DType().Size()), false
		}
	}
	for _, u := range results { // little is better stored with what is stored in all steps anyway
		i := u.Arg().(uop.LoopArg).Out
		r.final[i] = r.final[i] && (all || u.Shape().Numel()*u.DType().Size() > stored)
	}
	if !r.isScan() {
		return nil
	}
	if most := s.stepsAtOnce(results, last); l.Steps > most {
		return s.inParts(results, args, most, last)
	}
	return r.finish()
}

// isScan finds what a thread does in a step, if that is possible.
func (r *recurrence) isScan() bool {
	r.open()
	for range 2 * len(r.Params) { // each time with one more axis that threads carry whole
		if r.begin(); r.steps() {
			return true
		}
		if !r.again {
			break
		}
	}
	return false
}

// recurrence is a loop on its way to become a scan.
type recurrence struct {
	*scheduler
	uop.LoopArg
	args   []*uop.UOp
	needed []bool // by result
	final  []bool // by result: the last entry is all that is read, and stored
	again  bool   // there is another axis that threads have to carry whole

	stand    []*uop.UOp        // for what is carried and for entries, in the graph's table
	outs     []*uop.UOp        // of a step, over these
	carried  map[*uop.UOp]int  // stand-ins of what is carried, as they are and as arrays
	depends  map[*uop.UOp]bool // nodes that depend on these
	whole    [][]bool          // by what is carried and its axes: a thread carries all along it
	lanes    []*uop.UOp        // the other axes
	place    [][]*uop.UOp      // where a thread stands, by result and axis: a lane, 0 where there is one place only, or nil along what it carries whole
	held     [][]int           // by result that the scan has: the numbers of its parts, along the axes that threads carry whole
	known    map[string]*uop.UOp
	step     uop.Recurrence
	items    []item
	itemOf   map[string]*uop.UOp
	computed int
	result   int // which one is being found
}

// item is a part of the elements of the scan: a node of a step, or, with first, what is carried in the beginning, at a place; without a node, whether
// it is the first step.
type item struct {
	u     *uop.UOp
	first bool
	idx   []*uop.UOp
}

// open gives the graph of a step stand-ins of its own.
func (r *recurrence) open() {
	with := map[*uop.UOp]*uop.UOp{}
	r.carried = map[*uop.UOp]int{}
	for k, p := range r.Params {
		x := r.args[k]
		if k < r.Carried+r.Along {
			x = r.t.Param(freeSlot+k, p.Shape().Numel(), p.DType()).Reshape(p.Shape()...)
			r.stand = append(r.stand, x)
		}
		if k < r.Carried {
			r.carried[x], r.carried[array(x)] = k, k
		}
		with[array(p)], with[p] = x.Reshape(p.Shape().Numel()), x
	}
	r.outs = uop.Substitute(r.t, with, r.Pure...)
	r.depends = map[*uop.UOp]bool{}
	for _, u := range uop.Topo(r.outs...) {
		_, held := r.carried[u]
		r.depends[u] = held || slices.ContainsFunc(u.Src(), func(x *uop.UOp) bool { return r.depends[x] })
	}
	for _, p := range r.Params[:r.Carried] {
		r.whole = append(r.whole, make([]bool, len(p.Shape())))
	}
}

// begin forgets all but which axes threads carry whole.
func (r *recurrence) begin() {
	r.again, r.lanes, r.computed = false, nil, 0
	r.place, r.held = make([][]*uop.UOp, len(r.outs)), make([][]int, len(r.outs))
	r.known, r.itemOf, r.items, r.step = map[string]*uop.UOp{}, map[string]*uop.UOp{}, nil, uop.Recurrence{}
}

// steps finds what a thread does in a step; false where it would need what others carry.
func (r *recurrence) steps() bool {
	largest := 0
	for k, p := range r.Params[:r.Carried] {
		if p.Shape().Numel() > r.Params[largest].Shape().Numel() {
			largest = k
		}
	}
	for i, n := range r.Params[largest].Shape() {
		if n > 1 && !r.whole[largest][i] {
			r.lanes = append(r.lanes, r.t.Range(freeSlot+i, n, ""))
		}
	}
	lane := 0
	r.put(largest, func(i int) *uop.UOp {
		if r.whole[largest][i] {
			return nil
		}
		lane++
		return r.lanes[lane-1]
	})
	done := make([]bool, r.Carried)
	for range done {
		k := slices.IndexFunc(r.place[:r.Carried], func(p []*uop.UOp) bool { return p != nil })
		for k < r.Carried && (done[k] || r.place[k] == nil) {
			k++
		}
		if k == r.Carried { // nothing so far reads any of the others
			if k = slices.Index(done, false); !r.stands(k) {
				return false
			}
		}
		if done[k] = true; !r.next(k) {
			return false
		}
	}
	for i := r.Carried; i < len(r.outs); i++ {
		if !r.needed[i] || r.same(i) >= 0 || !r.inside(i) {
			continue
		}
		before, known, itemOf := *r, maps.Clone(r.known), maps.Clone(r.itemOf)
		if r.stands(i) && r.next(i) {
			continue
		}
		if r.again {
			return false
		}
		r.place[i], r.held[i] = nil, nil // computed behind, and the step does nothing for it
		r.step, r.items, r.computed, r.known, r.itemOf = before.step, before.items, before.computed, known, itemOf
	}
	if r.config.Steps > 0 {
		return !r.shareWords()
	}
	return r.fits()
}

// shareWords says that results of several lanes lie in one word of memory, so that one invocation would have to do all of them.
func (r *recurrence) shareWords() bool {
	if r.shape()[1:].Numel() == 1 {
		return false
	}
	for i, u := range r.outs {
		if r.needed[i] && u.DType().Size() < 4 && (r.held[i] != nil || r.same(i) >= 0) {
			return true
		}
	}
	return false
}

// fits says that one kernel takes less time than a launch for each step, where launches take little.
func (r *recurrence) fits() bool {
	all, held := 0, 0
	for k, p := range r.Params[:r.Carried] {
		all, held = all+p.Shape().Numel(), held+len(r.held[k])
	}
	lanes := r.shape()[1:].Numel()
	return (lanes <= mostLanes || !r.streams()) && (lanes == 1 || len(r.items) <= mostRead) && held*lanes <= mostSame*all
}

// streams says that a step reads or stores elements of its own of an array for each place.
func (r *recurrence) streams() bool {
	for i := range r.outs {
		if r.needed[i] && !r.final[i] && (r.held[i] == nil || slices.ContainsFunc(r.place[i], func(e *uop.UOp) bool { return slices.Contains(r.lanes, e) })) {
			return true
		}
	}
	entries := map[*uop.UOp]bool{}
	for k := r.Carried; k < r.Carried+r.Along; k++ {
		entries[array(r.stand[k])] = true
	}
	return slices.ContainsFunc(r.items, func(p item) bool {
		return p.u != nil && !p.first && slices.ContainsFunc(p.idx, func(e *uop.UOp) bool { return slices.Contains(r.lanes, e) }) &&
			slices.ContainsFunc(uop.Topo(p.u), func(u *uop.UOp) bool { return entries[u] })
	})
}

// same is what is carried that result i is, or −1.
func (r *recurrence) same(i int) int { return slices.Index(r.outs[:r.Carried], r.outs[i]) }

// inside says that result i is better computed in the step: it is made of what was carried before, or in lanes.
func (r *recurrence) inside(i int) bool {
	if !r.depends[r.outs[i]] {
		return false
	}
	if len(r.lanes) > 0 {
		return true
	}
	old := false
	uop.Walk(r.outs[i:i+1], func(u *uop.UOp) bool { return !r.depends[u] || slices.Contains(r.outs[:r.Carried], u) }, func(u *uop.UOp) {
		_, held := r.carried[u]
		old = old || held
	})
	return old
}

// put says where a thread stands in result i, by axis, with room for what it carries there.
func (r *recurrence) put(i int, at func(axis int) *uop.UOp) bool {
	shape, n := r.outs[i].Shape(), 1
	place := make([]*uop.UOp, len(shape))
	for a, size := range shape {
		if size == 1 {
			place[a] = r.t.Index(0)
		} else if place[a] = at(a); place[a] == nil {
			n *= size
		}
		if n > mostHeld {
			return false
		}
	}
	r.place[i] = place
	for range n {
		r.held[i] = append(r.held[i], len(r.step.State))
		r.step.State = append(r.step.State, r.t.Make(uop.Reg, r.outs[i].DType(), uop.RegArg{ID: len(r.step.State)}))
		r.step.Next = append(r.step.Next, nil)
	}
	return len(r.step.State) <= mostHeld
}

// stands puts a thread into result i, of which nothing is known but its sizes.
func (r *recurrence) stands(i int) bool {
	from := 0
	return r.put(i, func(axis int) *uop.UOp {
		for j := from; j < len(r.lanes); j++ {
			if r.lanes[j].Arg().(uop.RangeArg).N == r.outs[i].Shape()[axis] && (i >= r.Carried || !r.whole[i][axis]) {
				from = j + 1
				return r.lanes[j]
			}
		}
		return nil
	})
}

// next finds what result i is after a step.
func (r *recurrence) next(i int) bool {
	r.result = i
	for n, part := range r.held[i] {
		v := r.value(r.outs[i], r.at(i, n))
		if v == nil {
			return false
		}
		r.step.Next[part] = v
	}
	return true
}

// at is the n-th place in result i of those that a thread carries.
func (r *recurrence) at(i, n int) []*uop.UOp {
	idx := slices.Clone(r.place[i])
	for a := len(idx) - 1; a >= 0; a-- {
		if idx[a] == nil {
			size := r.outs[i].Shape()[a]
			idx[a], n = r.t.Index(n%size), n/size
		}
	}
	return idx
}

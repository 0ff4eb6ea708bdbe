package schedule

import (
	"maps"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A loop is a scan where what it carries at a place is made of what it carried there and of no other place, as in filters, moving averages, state space
// models and simulations: then one kernel does all steps, each thread or lane at a place of its own, with what is carried in registers. Along axes that are
// short, places may be made of each other: a thread carries all of those, as of a point in space, or a small matrix. What does not depend on what
// is carried is computed for all steps at once, before, and what nothing that is carried depends on, behind.
const (
	mostHeld    = 32      // values that a thread carries from step to step
	mostInStep  = 1 << 9  // nodes that a thread computes in a step
	mostLanes   = 1 << 11 // places beyond which a step is worth launches of its own, where launches take little: it goes along rows then; and so it is
	mostRead    = 80      // beyond parts of an element that it reads in lanes, which has no registers for more, and
	mostSame    = 4       // where threads carry together that many times what there is to carry: they all do what is the same in them
	leastInScan = 1 << 4  // steps that are worth a loop of them
	fewerSteps  = 4       // how many times fewer steps parts of a loop have, so that they divide it
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
	if most := s.stepsAtOnce(results, last); l.Steps > most {
		if !r.isScan() {
			return nil
		}
		return s.inParts(results, args, most, last)
	}
	if !r.isScan() {
		return nil
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

// stepsAtOnce is how many steps a kernel does: not more than may take an invocation too long, nor so many that what is carried, of which the last entry
// alone is read, takes much memory.
func (s *scheduler) stepsAtOnce(results []*uop.UOp, last map[*uop.UOp]bool) int {
	l, bytes := results[0].Arg().(uop.LoopArg), 0
	if slices.ContainsFunc(results, func(u *uop.UOp) bool { return last[u] && u.DType().Bits() < leastFinal }) {
		for _, p := range l.Params[:l.Carried] { // as parts of the loop pass them on
			bytes += p.Shape().Numel() * p.DType().Size()
		}
	}
	n := l.Steps
	if s.config.Steps > 0 {
		n = min(n, s.config.Steps)
	}
	if n*bytes > mostPassing {
		n = max(leastInScan, mostPassing/bytes)
	}
	return n
}

// inParts gives the results of a loop as those of loops of at most n steps, one after the other. Where the steps are not divided by a number that is about
// that, the last of them are a loop by themselves.
func (s *scheduler) inParts(results, args []*uop.UOp, n int, last map[*uop.UOp]bool) []*uop.UOp {
	l := results[0].Arg().(uop.LoopArg)
	only, needed := make([]bool, len(l.Pure)), make([]bool, len(l.Pure))
	for _, u := range results {
		i := u.Arg().(uop.LoopArg).Out
		only[i], needed[i] = last[u], true
	}
	for m := n; m >= leastInScan && m > n/fewerSteps; m-- {
		if l.Steps%m == 0 {
			return s.loopOfLoops(l, args, m, only)
		}
	}
	n = codegen.CeilDiv(l.Steps, codegen.CeilDiv(l.Steps, n))
	if l.Steps%n == 0 {
		return s.loopOfLoops(l, args, n, only)
	}
	begin, rest := l, l
	begin.Steps, rest.Steps = l.Steps/n*n, l.Steps%n
	passed := slices.Clone(only) // what is carried and not asked for has to be known in the end
	for k := range l.Carried {
		passed[k] = passed[k] || !needed[k]
	}
	first, from := 0, begin.Steps // entries of the two
	if l.Back {
		first, from = rest.Steps, 0
	}
	with, behind := slices.Clone(args), slices.Clone(args)
	for k := l.Carried; k < l.Carried+l.Along; k++ {
		with[k], behind[k] = entries(args[k], first, begin.Steps), entries(args[k], from, rest.Steps)
	}
	begun := s.loopOfLoops(begin, with, n, passed)
	for k, u := range begun[:l.Carried] {
		behind[k] = entries(u, begin.Step(begin.Steps-1), 1).Reshape(l.Params[k].Shape()...)
	}
	outs := s.loopOfLoops(rest, behind, rest.Steps, only)
	for i, u := range outs {
		switch {
		case only[i]:
			outs[i] = onlyEntry(u, rest.Step(rest.Steps-1), l.Steps)
		case l.Back:
			outs[i] = uop.Join(0, l.Steps, []int{0, rest.Steps}, []*uop.UOp{u, begun[i]})
		default:
			outs[i] = uop.Join(0, l.Steps, []int{0, begin.Steps}, []*uop.UOp{begun[i], u})
		}
	}
	return outs
}

// entries are n entries of an array, from one on.
func entries(u *uop.UOp, from, n int) *uop.UOp {
	lo, hi := make([]int, len(u.Shape())), slices.Clone(u.Shape())
	lo[0], hi[0] = from, from+n
	return u.Shrink(lo, hi)
}

// loopOfLoops gives the results of a loop as those of a loop of loops of n steps. Of some the last entry alone is read.
func (s *scheduler) loopOfLoops(l uop.LoopArg, args []*uop.UOp, n int, only []bool) []*uop.UOp {
	cut := func(shape uop.Shape) []int { return append([]int{n}, shape...) }
	params, operands := slices.Clone(l.Params), slices.Clone(args)
	for k := l.Carried; k < l.Carried+l.Along; k++ {
		shape := cut(l.Params[k].Shape())
		params[k] = uop.NewStandIn(args[k].DType(), shape...)
		operands[k] = args[k].Reshape(append([]int{l.Steps / n}, shape...)...)
	}
	inner := uop.LoopArg{LoopBody: l.LoopBody, Steps: n, Back: l.Back}.Results(params...)
	end := 0
	if !l.Back {
		end = n - 1
	}
	body := &uop.LoopBody{Params: params, Carried: l.Carried, Along: l.Along}
	for k, u := range inner[:l.Carried] {
		body.Outs = append(body.Outs, entries(u, end, 1).Reshape(l.Params[k].Shape()...))
	}
	body.Outs = append(body.Outs, inner...)
	body.Given, body.Pure = len(body.Outs), body.Outs
	outer := uop.LoopArg{LoopBody: body, Steps: l.Steps / n, Back: l.Back}.Results(operands...)
	outs := make([]*uop.UOp, len(inner))
	for i, u := range outer[l.Carried:] {
		outs[i] = u.Reshape(append([]int{l.Steps}, l.Outs[i].Shape()...)...)
	}
	end = 0
	if !l.Back {
		end = l.Steps/n - 1
	}
	for i, yes := range only {
		if yes {
			outs[i] = onlyEntry(outer[i], end, l.Steps)
		}
	}
	return outs
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
	return r.config.Steps > 0 || r.fits()
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

// value is an element of a node of a step, in a thread; nil where that is not known.
func (r *recurrence) value(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	if len(u.Shape()) == 0 {
		idx = nil
	}
	if x, ok := u.ConstValue(); ok {
		return r.t.ConstOf(u.DType(), x)
	}
	if !r.depends[u] {
		return r.item(item{u: u, idx: idx})
	}
	key := r.table.tuple(append([]*uop.UOp{u}, idx...)...)
	v, ok := r.known[key]
	if !ok {
		v = r.compute(u, idx)
		r.known[key] = v
	}
	return v
}

func (r *recurrence) compute(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	if k, ok := r.carried[u]; ok {
		return r.before(k, reshape(r.t, r.Params[k].Shape(), u.Shape(), idx))
	}
	if r.computed++; r.computed > mostInStep {
		return nil
	}
	switch {
	case u.Op() == uop.Contiguous:
		return r.value(u.At(0), idx)
	case u.Op().IsMovement():
		idx, valid := through(r.t, u, idx)
		if valid == nil {
			return r.value(u.At(0), idx)
		}
		switch x, ok := symbolic.Simplify(r.t, valid).ConstValue(); {
		case !ok: // lanes differ in what they do
			for _, l := range r.lanes {
				if dependsOn(valid, l) {
					r.holdLane(l)
				}
			}
			return nil
		case x == 0:
			return r.t.ConstOf(u.DType(), uop.ValueOf(u.DType(), 0))
		}
		return r.value(u.At(0), idx)
	case u.Op() == uop.Reduce:
		return r.reduced(u, idx)
	case u.Op().Elementwise():
		if x := r.branch(u, idx); x != nil {
			return r.value(x, idx)
		}
		src := make([]*uop.UOp, len(u.Src()))
		for i, x := range u.Src() {
			if src[i] = r.value(x, idx); src[i] == nil {
				return nil
			}
		}
		return r.t.Make(u.Op(), u.DType(), u.Arg(), src...)
	}
	return nil
}

// reduced writes out a reduction of few elements.
func (r *recurrence) reduced(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	a, in := u.Arg().(uop.ReduceArg), u.At(0).Shape()
	n := in.Numel() / u.Shape().Numel()
	if a.Parts > 1 || n > mostInStep {
		return nil
	}
	var acc *uop.UOp
	for i := range n {
		full, k := make([]*uop.UOp, len(in)), i
		for axis := len(in) - 1; axis >= 0; axis-- {
			if slices.Contains(a.Axes.Slice(), axis) {
				full[axis], k = r.t.Index(k%in[axis]), k/in[axis]
			}
		}
		kept := 0
		for axis := range full {
			if full[axis] == nil {
				full[axis] = idx[kept]
				kept++
			}
		}
		x := r.value(u.At(0), full)
		switch {
		case x == nil:
			return nil
		case acc == nil:
			acc = x
		default:
			r.computed++
			acc = a.Monoid.Info().Merge([]*uop.UOp{acc}, []*uop.UOp{x})[0]
		}
	}
	return acc
}

// before is an element of what is carried, k, as it was before the step: of the same thread, or nil.
func (r *recurrence) before(k int, idx []*uop.UOp) *uop.UOp {
	fixed := func(a int) bool { return idx[a].Op() == uop.Const }
	if r.place[k] == nil {
		seen := map[*uop.UOp]bool{}
		for a, n := range r.Params[k].Shape() {
			if n > 1 && !fixed(a) && (r.whole[k][a] || !slices.Contains(r.lanes, idx[a]) || idx[a].Arg().(uop.RangeArg).N != n || seen[idx[a]]) {
				return nil
			}
			seen[idx[a]] = true
		}
		if !r.put(k, func(a int) *uop.UOp {
			if fixed(a) {
				return nil
			}
			return idx[a]
		}) {
			return nil
		}
	}
	part := 0
	for a, n := range r.Params[k].Shape() {
		switch at := r.place[k][a]; {
		case n == 1 || at == idx[a]:
		case at != nil:
			r.hold(k, a)
			return nil
		case !fixed(a):
			return nil
		default:
			i, _ := idx[a].ConstInt()
			part = part*n + i
		}
	}
	if array(r.args[k]).IsConst(0) { // as scans begin
		return r.step.State[r.held[k][part]]
	}
	first := r.item(item{})
	return first.Where(r.item(item{u: r.stand[k], first: true, idx: r.at(k, part)}), r.step.State[r.held[k][part]])
}

// hold has threads carry all along an axis of k, unless that is too much, or is for what may be computed behind of what is stored anyway.
func (r *recurrence) hold(k, axis int) {
	if r.result >= r.Carried && r.needed[k] {
		return
	}
	n := r.Params[k].Shape()[axis]
	for a, size := range r.Params[k].Shape() {
		if r.whole[k][a] {
			n *= size
		}
	}
	if n <= mostHeld {
		r.whole[k][axis], r.again = true, true
	}
}

// holdLane has threads carry all that lies along a lane.
func (r *recurrence) holdLane(l *uop.UOp) {
	for k := range r.Carried {
		if a := slices.Index(r.place[k], l); a >= 0 {
			r.hold(k, a)
		}
	}
}

// item is a part of the elements, in a step; nil where it is none of a thread's place.
func (r *recurrence) item(p item) *uop.UOp {
	d := dtype.Bool
	var key string
	if p.u != nil {
		d = p.u.DType()
		for i, e := range p.idx {
			if e.Op() != uop.Const && (!slices.Contains(r.lanes, e) || slices.Contains(p.idx[:i], e)) {
				return nil
			}
		}
		key = r.table.tuple(append([]*uop.UOp{p.u}, p.idx...)...)
		if p.first {
			key = "first" + key
		}
	}
	if d == dtype.Index {
		return nil
	}
	if r.itemOf[key] == nil {
		x := r.t.Make(uop.Reg, d, uop.RegArg{ID: freeSlot + len(r.items)})
		r.itemOf[key], r.items = x, append(r.items, p)
		r.step.Items = append(r.step.Items, x)
	}
	return r.itemOf[key]
}

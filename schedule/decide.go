package schedule

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// use is one place where a node's value is needed: in which kernel, at which index, inside which loops.
type use struct {
	kernel *uop.UOp   // the stored node whose kernel it is
	idx    []*uop.UOp // an expression an axis; a variable stands for what comes from data
	opaque bool       // some of it comes from data
	loops  []*uop.UOp // the ranges around it, outermost first
	inner  bool       // inside the body of a reduction
	depth  int        // nodes above it in the kernel's expression
	scan   bool       // taken up by a scan along contiguous elements, one by one
	padded bool       // only where an element lies within padding
}

// The costs of the decision, in bytes moved.
const (
	flopCost   = 0.125 // of a flop: vector units do about eight while a byte comes from memory
	launchCost = 4096  // one more kernel, unless it is a nest of another

	functionFlops = 16   // of a transcendental function at least: numbers that are made of indices by less are computed wherever they are used
	gatherFlops   = 8    // of an element that is taken by an index
	generatedCost = 1    // of reading again what was made of indices and then stored
	maxDepth      = 160  // nodes of one expression path: longer chains are cut,
	firstFlops    = 256  // of an element in the first round at most, where it is asked whether a kernel is work for one thread
	rounds        = 2    // of decisions,
	moreRounds    = 1    // more where steps of a loop become nests: what follows from what is some steps away has settled then
	longSum       = 32   // those of which one thread adds the terms,
	lowHeight     = 24   // where so many nodes are left below: what hangs from a chain just before is computed with it
	maxPlaces     = 16   // of a kernel's text that compute elements of a node below which so much is as for lowHeight
	maxLoops      = 32   // of one kernel: beyond, reductions are stored
	parallel      = 8    // rows that are enough to share a kernel among threads
	smallWork     = 4096 // kernels up to this many evaluations need no threads
	maxWindow     = 16   // reductions up to this size may be recomputed
	heavyReuse    = 4    // a reduction that uses each loaded element more often is a product,
	fullReuse     = 64   // and more often one whose vectors are full: of rows of a few elements windows in each channel make short ones
)

// estimate is what one element of a node costs, computed where it is used.
type estimate struct {
	flops  float64
	bytes  float64 // loaded for each element, small operands counted in proportion
	reuse  float64 // for reductions: evaluations of the body per element loaded
	height int     // nodes of the longest path below
}

// plannedKernel is what decide knows of a kernel so far.
type plannedKernel struct {
	axes   []*uop.UOp
	prefix [][]*uop.UOp // index ranges of the reductions inside
	inside []*uop.UOp   // these reductions
	heavy  bool
	scan   *uop.UOp   // the axis that a scan goes along
	back   bool       // from the end of what is stored, as what is made of the scan is turned around
	final  bool       // it is none of what is stored: the last element of each row of the scan is all that is read
	of     *uop.UOp   // the scan
	next   int        // number of the next range
	pieces []*uop.UOp // axes that are written piece by piece
}

// decide settles for every node whether it is stored or computed where it is used; the result is s.stored. What a
// node costs depends on which nodes below it are stored, and these are decided after it: so it decides several times, each time
// with the costs that follow from the time before.
func (s *scheduler) decide() {
	s.prepare()
	s.ranked, s.blocked, s.masked = s.compared(), s.streamed(), s.masks()
	s.behind = s.epilogues()
	fixed := maps.Clone(s.stored)
	for i := range s.rounds() {
		s.before, s.first = s.stored, i == 0
		costs := s.estimates(s.before)
		s.stored, s.reasons = maps.Clone(fixed), nil
		s.pass(costs)
	}
	s.fit()
}

// pass decides consumers first. Each decision is made by choose, with a reason.
func (s *scheduler) pass(costs map[*uop.UOp]estimate) {
	uses := map[*uop.UOp][]use{}
	seen := map[*uop.UOp]map[string]bool{}
	plans := map[*uop.UOp]*plannedKernel{}
	s.plans = plans
	add := func(n *uop.UOp, v use) {
		if n.Op() == uop.Const || n.Op() == uop.Var {
			return
		}
		if len(n.Shape()) == 0 {
			v.idx = nil
		}
		key := s.table.tuple(append([]*uop.UOp{v.kernel}, v.idx...)...)
		if seen[n] == nil {
			seen[n] = map[string]bool{}
		}
		if !seen[n][key] {
			seen[n][key] = true
			uses[n] = append(uses[n], v)
		}
	}
	for i := len(s.topo) - 1; i >= 0; i-- {
		u := s.topo[i]
		why, fixed := s.stored[u]
		if u.Op() == uop.Param || u.Op() == uop.Var || u.Op() == uop.Const && !fixed {
			continue
		}
		if !fixed && len(uses[u]) == 0 {
			continue // only a stated derivative needs it
		}
		if !fixed {
			var store bool
			store, why = s.choose(u, uses[u], costs, plans)
			if w := s.masked[u]; store && w != nil && s.stored[w] == "" && u.Op() == uop.Reduce {
				s.keepMasked(w, why, plans)
				uses[u], seen[u] = nil, nil
				s.descend(w, use{kernel: w, idx: plans[w].axes, loops: plans[w].axes}, plans[w], add)
				store, why = s.choose(u, uses[u], costs, plans)
			}
			if store {
				s.stored[u] = why
			}
			if u.Op() == uop.Reduce || u.Op() == uop.Part || u.Op() == uop.Scan || store {
				s.reasons = append(s.reasons, Reason{u.String(), store, why})
			}
		} else {
			s.reasons = append(s.reasons, Reason{u.String(), true, why})
		}
		if _, ok := s.stored[u]; ok {
			p := s.newPlan(u)
			plans[u] = p
			if r := scanOf(u); r != nil {
				p.scan, p.of = p.axes[r.Arg().(uop.ScanArg).Axis], r
			}
			uses[u] = nil
			s.eachPiece(p.axes, p.pieces, func(idx, loops []*uop.UOp) {
				uses[u] = append(uses[u], use{kernel: u, idx: idx, loops: loops})
			})
		}
		if u.Shape().Numel() == 0 {
			continue // nothing of what it is made of is read
		}
		for _, v := range uses[u] {
			s.descend(u, v, plans[v.kernel], add)
		}
	}
}

// newPlan is the kernel of a stored node.
func (s *scheduler) newPlan(u *uop.UOp) *plannedKernel {
	p := &plannedKernel{}
	for _, n := range u.Shape() {
		p.axes = append(p.axes, s.t.Range(p.next, n, ""))
		p.next++
	}
	p.pieces = s.stacked(u, p.axes)
	return p
}

// descend hands a use of u on to its operands.
func (s *scheduler) descend(u *uop.UOp, v use, p *plannedKernel, add func(*uop.UOp, use)) {
	v.depth++
	v.scan = v.scan && u.Op().IsMovement() || u.Op() == uop.Scan && alongRows(u)
	if x := s.branch(u, v.idx); x != nil {
		add(x, v)
		return
	}
	switch {
	case u.Op().IsMovement():
		v.idx, _ = through(s.t, u, v.idx)
		v.padded = v.padded || u.Op() == uop.Pad
		add(u.At(0), v)
	case u.Op() == uop.Reduce:
		a := u.Arg().(uop.ReduceArg)
		in := u.At(0).Shape()
		full, ranges := spreadReduce(s.t, in, a.Axes.Slice(), v.idx, &p.next)
		w := v
		w.inner, w.idx = true, full
		w.loops = append(p.enclosing(u, v), ranges...)
		for _, x := range u.Src() {
			add(x, w)
		}
	case u.Op() == uop.Scan && p.final && p.of == u:
		v.idx = slices.Clone(v.idx)
		v.idx[u.Arg().(uop.ScanArg).Axis] = p.scan
		v.loops = append(slices.Clone(v.loops), p.scan)
		for _, x := range u.Src() {
			add(x, v)
		}
	case u.Op() == uop.Detach:
		add(u.At(0), v)
	case u.Op() == uop.Foreign || u.Op() == uop.Loop: // its arguments are stored
	case u.Op() == uop.Gather:
		add(u.At(1), v)
		at := s.uniform(u.At(1), v.idx)
		if at == nil {
			v.opaque, at = true, s.fromData(u.At(1), v.idx)
		}
		v.idx = slices.Clone(v.idx)
		v.idx[u.Arg().(uop.AxisArg).Axis] = at
		add(u.At(0), v)
	case u.Op() == uop.Scatter:
		add(u.At(0), v)
		w := v
		w.idx = nil
		for _, n := range u.At(1).Shape() {
			w.idx = append(w.idx, s.t.Range(p.next, n, ""))
			p.next++
		}
		w.loops = w.idx
		add(u.At(1), w)
		add(u.At(2), w)
	default:
		for _, x := range u.Src() {
			add(x, v)
		}
	}
}

// fromData stands for an element of an index array: a variable, added to the ranges that the element depends on.
func (s *scheduler) fromData(index *uop.UOp, idx []*uop.UOp) *uop.UOp {
	for index.Op().IsMovement() {
		idx, _ = through(s.t, index, idx)
		index = index.At(0)
	}
	if len(index.Shape()) == 0 {
		idx = nil
	}
	at := s.t.Make(uop.Var, dtype.Index, uop.VarArg{Name: fmt.Sprintf("%d at %x", s.table.id(index), s.table.tuple(idx...))})
	for _, e := range idx {
		for _, r := range symbolic.Depends(e) {
			at = at.Add(r)
		}
	}
	return at
}

// spreadReduce is the index of a reduction's operand: the outer index, with a fresh range for each reduced axis.
func spreadReduce(t *uop.Table, in uop.Shape, axes []int, idx []*uop.UOp, next *int) (full, ranges []*uop.UOp) {
	reduced := make([]bool, len(in))
	for _, ax := range axes {
		reduced[ax] = true
	}
	k := 0
	for i, n := range in {
		if reduced[i] {
			r := t.Range(*next, n, "")
			*next++
			full, ranges = append(full, r), append(ranges, r)
			continue
		}
		if idx != nil {
			full = append(full, idx[k])
			k++
		}
	}
	return full, ranges
}

// rangesOf are those of loops that an index depends on.
func rangesOf(loops, idx []*uop.UOp) []*uop.UOp {
	var out []*uop.UOp
	for _, r := range loops {
		for _, e := range idx {
			if dependsOn(e, r) {
				out = append(out, r)
				break
			}
		}
	}
	return out
}

func dependsOn(e, r *uop.UOp) bool { return contains(symbolic.Depends(e), r) }

func extent(ranges []*uop.UOp) float64 {
	n := 1.0
	for _, r := range ranges {
		n *= float64(r.Arg().(uop.RangeArg).N)
	}
	return n
}

// evaluations is how often a use computes the node: the loops down to the innermost one that its index depends on. What is there for some elements only
// is not computed before the loops.
func (v use) evaluations() float64 {
	need := rangesOf(v.loops, v.idx)
	if len(need) == 0 && v.padded {
		return extent(v.loops)
	}
	if len(need) == 0 {
		return 1
	}
	last := need[len(need)-1]
	n := 1.0
	for _, r := range v.loops {
		n *= float64(r.Arg().(uop.RangeArg).N)
		if r == last {
			break
		}
	}
	return n
}

// choose decides one node.
func (s *scheduler) choose(u *uop.UOp, uses []use, costs map[*uop.UOp]estimate, plans map[*uop.UOp]*plannedKernel) (store bool, why string) {
	switch {
	case u.Op() == uop.Contiguous:
		return true, "asked to be contiguous"
	case u.Op() == uop.Scatter:
		return true, "a scatter writes memory"
	case u.Op().IsMovement() || u.Op() == uop.Range || u.Op() == uop.Detach:
		if store, why := s.chooseMoved(u, uses); store {
			return true, why
		}
		return false, "movement costs nothing"
	case u.DType() == dtype.Index && u.Op().Elementwise():
		return false, "index arithmetic"
	case u.Op() == uop.Reduce && u.Arg().(uop.ReduceArg).Parts > 1, u.Op() == uop.Scan && u.Arg().(uop.ScanArg).Results() > 1:
		return false, "its parts are decided one by one"
	case s.config.StoreAll:
		return true, "everything is stored"
	case s.blocked[u]:
		return false, "computed in blocks, inside the sum that it weighs"
	case u.Shape().Numel() == 0:
		return false, "no elements"
	case widened(u):
		return false, "its operand says as much in fewer bytes"
	}
	if costs[u].height > lowHeight && places(uses, u.Shape().Numel()) > maxPlaces {
		return true, fmt.Sprintf("a kernel would compute elements of it at more than %d places, some of them again", maxPlaces)
	}
	for _, v := range uses {
		if v.depth > maxDepth && costs[u].height > lowHeight {
			return true, fmt.Sprintf("the expression above it is %d deep", maxDepth)
		}
		if v.depth > longSum && u.Op() == uop.Add && costs[u].height > lowHeight && s.kernelCost(u, uses, costs) == 0 {
			return true, fmt.Sprintf("it is the rest of a sum of more than %d terms", longSum)
		}
	}
	if s.ranked[u] && len(uses) > 1 {
		return true, "its elements are compared with each other"
	}
	if scanOf(u) != nil {
		return s.chooseScan(u, uses, costs, plans)
	}
	if u.Op() == uop.Reduce || u.Op() == uop.Part {
		return s.chooseReduce(u, uses, costs, plans)
	}
	if u.Op().Elementwise() && len(uses) == 1 && uses[0].scan && costs[u].flops >= scanFlops {
		return true, "a scan goes one by one, lanes do all this faster"
	}
	return s.chooseCost(u, uses, costs)
}

// widened says that a node is a narrow number in a wider type. Where it is to be stored, the narrow one is: products of those take less time, too.
func widened(u *uop.UOp) bool {
	if u.Op() != uop.Cast || u.DType().Size() <= 2 {
		return false
	}
	from := u.At(0).DType()
	return from.Size() <= 2 && from != dtype.Bool && from.IsFloat() == u.DType().IsFloat()
}

// places is how many uses of a node one kernel has, at most, if it computes some of the n elements again. Each use has a text of its own: that of
// a recurrence whose steps read single elements of the step before as well would grow with the square of their number.
func places(uses []use, n int) (most int) {
	if len(uses) <= maxPlaces {
		return len(uses)
	}
	type sum struct {
		uses  int
		times float64
	}
	of := map[*uop.UOp]sum{}
	for _, v := range uses {
		k := of[v.kernel]
		k.uses, k.times = k.uses+1, k.times+v.evaluations()
		if of[v.kernel] = k; k.times > float64(n) {
			most = max(most, k.uses)
		}
	}
	return most
}

// chooseCost compares computing a node at every use with storing it once.
func (s *scheduler) chooseCost(u *uop.UOp, uses []use, costs map[*uop.UOp]estimate) (bool, string) {
	c := costs[u]
	if c.bytes == 0 && c.flops < functionFlops {
		return false, "loads nothing"
	}
	total, n := 0.0, float64(u.Shape().Numel())
	for _, v := range uses {
		total += v.evaluations()
	}
	size := float64(max(u.DType().Size(), 2)) // bytes have to be packed and spread besides
	again := size
	if c.bytes == 0 { // what is stored is read from a cache where one element is needed often, and else nothing is stored
		again = generatedCost
	}
	one := c.bytes + c.flops*flopCost
	inline, kept := total*one, n*(one+size)+total*again
	if r := s.behind[u]; r != nil && s.masked[r] == nil && total > n && float64(r.At(0).Shape().Numel()) > maxWindow*n && (c.flops < functionFlops || costs[r].reuse > fullReuse) {
		// It is stored by a kernel of its own if this is not, and neither written nor read if it is.
		inline += n * float64(r.DType().Size())
		kept -= n * float64(r.DType().Size())
	} else {
		kept += s.kernelCost(u, uses, costs)
	}
	if inline <= kept {
		return false, fmt.Sprintf("computed %.0f times for %.0f elements: %.0f bytes against %.0f", total, n, inline, kept)
	}
	return true, fmt.Sprintf("would be computed %.0f times for %.0f elements: %.0f bytes against %.0f", total, n, inline, kept)
}

func (s *scheduler) rounds() int {
	if s.config.Nests.Most < 2 {
		return rounds
	}
	return rounds + moreRounds
}

// kernelCost is what a kernel of its own for a node costs beside its work: nothing where it is a nest of the kernels that use it, which one thread does
// alone as well. Each step of a loop is then decided alike: the cost of launches would have values of several steps computed again until they
// are worth one.
func (s *scheduler) kernelCost(u *uop.UOp, uses []use, costs map[*uop.UOp]estimate) float64 {
	alone := func(u *uop.UOp) bool {
		c, n := costs[u], float64(u.Shape().Numel())
		if s.first { // nothing is stored: what is shared below is counted wherever it is needed
			c.flops = min(c.flops, firstFlops)
		}
		return s.config.Nests.Alone(codegen.Work{Flops: int64(n * c.flops), Bytes: int64(n * (c.bytes + float64(u.DType().Size())))})
	}
	if s.config.Nests.Most < 2 || !alone(u) || slices.ContainsFunc(uses, func(v use) bool { return !alone(v.kernel) }) {
		return launchCost
	}
	return 0
}

// chooseReduce lets a reduction be computed inside its consumer when each element is computed once, or fewer are than it has, its ranges
// are the outer ones of the consumer, and these are parallel enough; small windows when recomputing is cheap.
func (s *scheduler) chooseReduce(u *uop.UOp, uses []use, costs map[*uop.UOp]estimate, plans map[*uop.UOp]*plannedKernel) (bool, string) {
	r, c := u, costs[u]
	if u.Op() == uop.Part {
		r = u.At(0)
	}
	for _, v := range uses {
		if plans[v.kernel].next >= maxLoops {
			return true, fmt.Sprintf("its kernel has %d loops", maxLoops)
		}
	}
	size := float64(r.At(0).Shape().Numel()) / float64(u.Shape().Numel())
	heavy := c.reuse > heavyReuse && size > 1
	if len(uses) != 1 || uses[0].opaque {
		if !heavy && size <= maxWindow {
			return s.chooseCost(u, uses, costs)
		}
		if len(uses) == 1 {
			return true, "read at an index from data"
		}
		return true, fmt.Sprintf("used in %d places", len(uses))
	}
	v := uses[0]
	p := plans[v.kernel]
	need := rangesOf(v.loops, v.idx)
	if extent(need) > float64(u.Shape().Numel()) {
		if !heavy && size <= maxWindow {
			return s.chooseCost(u, uses, costs)
		}
		return true, "would be computed more than once"
	}
	for _, x := range need {
		if !contains(p.axes, x) {
			if !heavy && size <= maxWindow && len(need) == len(v.loops) {
				return false, "a small window inside a reduction"
			}
			return true, "its ranges belong to another reduction"
		}
	}
	whole := len(nonUnit(need)) == len(nonUnit(p.axes))
	switch {
	case r != u && contains(p.inside, r):
		return false, "another part of its reduction is computed there"
	case p.scan != nil && (heavy || !whole && contains(need, p.scan)):
		return true, "a scan goes along its ranges"
	case heavy && (!whole || v.inner):
		return true, "a product is not staged inside another kernel's loops"
	case p.heavy || heavy && len(p.prefix) > 0:
		return true, "its kernel already has a product"
	case !whole && extent(need) < parallel && extent(p.axes) > smallWork:
		return true, fmt.Sprintf("only %.0f rows to share among threads", extent(need))
	}
	for _, other := range p.prefix {
		if !subset(other, need) && !subset(need, other) {
			return true, "its ranges cross those of another reduction in the kernel"
		}
	}
	p.prefix, p.inside = append(p.prefix, need), append(p.inside, r)
	p.heavy = p.heavy || heavy
	if whole {
		return false, "its consumer is its epilogue"
	}
	return false, fmt.Sprintf("staged in its consumer, once for each of %.0f rows", extent(need))
}

// enclosing is the loops around those of a reduction that is computed where it is used: of what is staged those that its index depends on,
// which order puts first, and else all down to the innermost one of these. What is inside is computed as often as they say.
func (p *plannedKernel) enclosing(r *uop.UOp, v use) []*uop.UOp {
	need := rangesOf(v.loops, v.idx)
	if len(need) == 0 || contains(p.inside, r) {
		return need
	}
	last := need[len(need)-1]
	end := slices.Index(v.loops, last) + 1
	return slices.DeleteFunc(slices.Clone(v.loops[:end]), func(x *uop.UOp) bool {
		return x.Arg().(uop.RangeArg).N == 1 && !contains(need, x)
	})
}

// order lists axes of the kernel with those that reductions inside depend on first: a reduction is computed in the
// innermost loop of its ranges, and no other axis should lie around it.
func (p *plannedKernel) order(axes []*uop.UOp) []*uop.UOp {
	depth := func(a *uop.UOp) int {
		n := 0
		for _, need := range p.prefix {
			if contains(need, a) {
				n++
			}
		}
		return n
	}
	out := slices.Clone(axes)
	slices.SortStableFunc(out, func(a, b *uop.UOp) int { return depth(b) - depth(a) })
	return out
}

func contains(list []*uop.UOp, u *uop.UOp) bool {
	for _, x := range list {
		if x == u {
			return true
		}
	}
	return false
}

func subset(a, b []*uop.UOp) bool {
	for _, x := range a {
		if !contains(b, x) {
			return false
		}
	}
	return true
}

func nonUnit(ranges []*uop.UOp) []*uop.UOp {
	var out []*uop.UOp
	for _, r := range ranges {
		if r.Arg().(uop.RangeArg).N != 1 {
			out = append(out, r)
		}
	}
	return out
}

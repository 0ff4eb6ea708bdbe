package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

var lowerLaw = rewrite.Named("elements are found and simplified")

// lower makes a kernel of each stored node: ranges for its axes are pushed down to the loads.
func (s *scheduler) lower() {
	s.fresh = map[int]int{}
	root := map[*uop.UOp]int{}
	for i := len(s.roots) - 1; i >= 0; i-- {
		root[s.roots[i]] = i
	}
	for i, in := range s.graph.Inputs {
		s.bufs = append(s.bufs, Buf{InputBuf, i, in.DType, in.N})
	}
	for _, u := range s.topo {
		if _, ok := s.stored[u]; !ok {
			continue
		}
		if _, ok := s.bufOf[u]; ok { // another result of a loop, or of a kernel that the program wrote
			continue
		}
		b := s.bufs[s.bufFor(u, root)]
		switch {
		case b.N == 0:
		case u.Op() == uop.Loop:
			s.kernels = append(s.kernels, s.lowerLoop(u, func(u *uop.UOp) int { return s.bufFor(u, root) }))
		case u.Op() == uop.Foreign:
			s.kernels = append(s.kernels, foreignKernels.lower(s, u, func(u *uop.UOp) int { return s.bufFor(u, root) }))
		default:
			k := s.lowerKernel(u)
			s.compact(k) // conditions that are known turned out to leave loads out
			s.kernels = append(s.kernels, k)
		}
	}
	s.duplicates(root)
}

// bufFor is the buffer of a stored node; root says of which root it is the value.
func (s *scheduler) bufFor(u *uop.UOp, root map[*uop.UOp]int) int {
	if n, ok := s.bufOf[u]; ok {
		return n
	}
	n := len(s.bufs)
	b := Buf{TempBuf, 0, u.DType(), u.Shape().Numel()}
	if i, ok := root[u]; ok {
		if d := s.graph.Roots[i].Dest; d >= 0 {
			s.fresh[n] = d // becomes the input itself where order allows
		} else {
			b.Kind, b.Index = OutputBuf, i
		}
	}
	s.bufOf[u] = n
	s.bufs = append(s.bufs, b)
	return n
}

// duplicates copies to the further roots of a node that has several.
func (s *scheduler) duplicates(first map[*uop.UOp]int) {
	for i, u := range s.roots {
		if first[u] == i {
			continue
		}
		to := len(s.bufs)
		if d := s.graph.Roots[i].Dest; d >= 0 {
			to = d
		} else {
			s.bufs = append(s.bufs, Buf{OutputBuf, i, u.DType(), u.Shape().Numel()})
		}
		s.copies = append(s.copies, Step{Bufs: []int{to, s.bufOf[u]}})
	}
}

// lowerKernel writes the Spec of a stored node.
func (s *scheduler) lowerKernel(u *uop.UOp) *kernel {
	k := &kernel{node: u, spec: &codegen.Spec{Home: s.t, Vars: s.graph.Vars}, made: s.made(u)}
	l := &lowering{s: s, k: k, memo: map[string]*uop.UOp{}, root: u}
	var axes []*uop.UOp
	for _, n := range u.Shape() {
		axes = append(axes, l.newRange(n))
	}
	out := k.param(s.bufOf[u], u.DType(), rearranged(s, u, []int(u.Shape())))
	k.spec.Params[out].Write = true
	if u.Op() == uop.Scatter {
		l.scatter(u, out, axes)
		return k
	}
	if p := s.plans[u].pieces; p != nil {
		l.pieces(u, out, axes)
		return k
	}
	idx, p := axes, s.plans[u]
	var gate *uop.UOp
	switch {
	case p.back:
		i := slices.Index(p.axes, p.scan)
		idx = slices.Clone(axes)
		idx[i] = s.t.Index(u.Shape()[i] - 1).Sub(axes[i])
	case p.final:
		n := p.scan.Arg().(uop.RangeArg).N
		l.final = l.newRange(n)
		gate = s.t.Index(n - 2).Less(l.final)
	}
	value := l.simplify(l.computed(u, idx, nil))
	order := lastly(p.order(rearranged(s, u, axes)), l.scanned)
	if gate != nil {
		order = append(slices.Clip(order), l.final)
	}
	k.spec.Outs = []codegen.Out{{Param: out, Axes: order, Index: rearranged(s, u, idx), Value: value, Gate: gate}}
	l.started(l.element(u, idx, nil))
	return k
}

// param gives the Param of a kernel for a buffer seen with these dims.
func (k *kernel) param(buf int, d dtype.DType, dims []int) int {
	for i, p := range k.spec.Params {
		if k.bufs[i] == buf && slices.Equal(p.Dims, dims) {
			return i
		}
	}
	k.spec.Params = append(k.spec.Params, codegen.Param{DType: d, Dims: slices.Clone(dims)})
	k.bufs = append(k.bufs, buf)
	return len(k.bufs) - 1
}

// lowering computes the expressions of one kernel.
type lowering struct {
	s    *scheduler
	k    *kernel
	root *uop.UOp
	next int

	scanned *uop.UOp // the axis that a scan goes along
	final   *uop.UOp // it, where that is none of what is stored

	memo map[string]*uop.UOp

	outline bool // elements of operands are left as they are, see watched
}

func (l *lowering) newRange(n int) *uop.UOp {
	l.next++
	return l.s.t.Range(l.next-1, n, "")
}

func (l *lowering) simplify(e *uop.UOp) *uop.UOp {
	if l.outline {
		return e
	}
	return symbolic.Simplify(l.s.t, e)
}

// value is the element of u at an index, where gate (nil: true) holds; elsewhere it may be anything, but no
// memory is touched. It goes through movement in a loop, for a program may move as often as it likes; the depth of the recursion through
// everything else is bounded by decide.
func (l *lowering) value(u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) *uop.UOp {
	var moves []*move
	var v *uop.UOp
	for v == nil {
		if len(u.Shape()) == 0 {
			idx = nil
		}
		if v = l.plain(u, idx, gate); v != nil {
			break
		}
		if u.Op() == uop.Reduce { // one for all gates that differ in other parts only
			gate = about(l.s.t, gate, idx)
		}
		m := &move{u: u, idx: idx, gate: gate, key: l.s.table.tuple(append([]*uop.UOp{u, gate}, idx...)...)}
		if v = l.memo[m.key]; v != nil {
			break
		}
		if _, ok := l.s.stored[u]; ok && u != l.root {
			dims, at := l.seen(u, idx, moves)
			v = l.load(l.s.bufOf[u], u, dims, at, gate)
			l.noted(storedLaw, l.element(u, idx, gate), v)
			l.memo[m.key] = v
			break
		}
		if !passes(u) {
			v = l.computed(u, idx, gate)
			l.memo[m.key] = v
			break
		}
		moves = append(moves, m)
		u, idx, gate = l.moved(m)
	}
	for _, m := range slices.Backward(moves) {
		if m.valid != nil {
			v = l.simplify(m.valid.Where(v, v.Int(0)))
		}
		if l.s.watch {
			l.stepped(m.u, m.idx, m.gate)
		}
		l.memo[m.key] = v
	}
	return v
}

// seen are the sizes and indices by which a stored node is read, at idx after these moves: those of its reader where there are only
// reshapes in between. Windows over rows and columns of a picture stay windows over both if it was stored as a list.
func (l *lowering) seen(u *uop.UOp, idx []*uop.UOp, moves []*move) ([]int, []*uop.UOp) {
	dims := []int(u.Shape())
	if l.s.layout[u] != nil {
		return rearranged(l.s, u, dims), rearranged(l.s, u, idx)
	}
	for _, m := range slices.Backward(moves) {
		if m.u.Op() != uop.Reshape || slices.ContainsFunc(m.idx, divides) {
			break
		}
		mine, _ := long(dims, idx)
		if sizes, at := long(m.u.Shape(), m.idx); !slices.Equal(sizes, mine) {
			dims, idx = sizes, at
		}
	}
	return dims, idx
}

// long leaves out axes of size 1.
func long(dims []int, idx []*uop.UOp) (sizes []int, at []*uop.UOp) {
	for i, n := range dims {
		if n != 1 {
			sizes, at = append(sizes, n), append(at, idx[i])
		}
	}
	return sizes, at
}

// plain is the value of what is the same everywhere, or nil.
func (l *lowering) plain(u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) *uop.UOp {
	switch {
	case u.Op() == uop.Const:
		return l.s.t.ConstOf(u.DType(), u.Arg().(uop.ConstArg).Value)
	case u.Op() == uop.Var:
		return u
	case u.Shape().Numel() == 0:
		return l.s.t.Int(u.DType(), 0) // never reached: a loop over nothing
	case l.outline && u.Op() != uop.Param:
		return l.element(u, idx, gate)
	}
	return nil
}

// move is a node on the way to its operand: one whose element is an element of that.
type move struct {
	u     *uop.UOp
	idx   []*uop.UOp
	gate  *uop.UOp
	key   string
	valid *uop.UOp // where there is an operand's element; elsewhere the value is 0. nil: everywhere
}

// passes says that an element of u is one of its first operand, or 0.
func passes(u *uop.UOp) bool {
	return u.Op().IsMovement() && !readAs(u) || u.Op() == uop.Contiguous || u.Op() == uop.Detach
}

// readAs says that u is an input seen with another shape.
func readAs(u *uop.UOp) bool { return u.Op() == uop.Reshape && u.At(0).Op() == uop.Param }

// moved goes from a move to the element of its operand.
func (l *lowering) moved(m *move) (u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) {
	if !m.u.Op().IsMovement() {
		return m.u.At(0), m.idx, m.gate
	}
	idx, m.valid = through(l.s.t, m.u, m.idx)
	if m.gate != nil && slices.ContainsFunc(idx, divides) { // axes that were joined come apart again within their bounds
		idx = symbolic.SimplifyUnder(l.s.t, m.gate, idx...)
	}
	if m.valid == nil {
		return m.u.At(0), idx, m.gate
	}
	return m.u.At(0), idx, and(l.s.t, m.gate, m.valid)
}

// load reads a buffer with the given dims.
func (l *lowering) load(buf int, u *uop.UOp, dims []int, idx []*uop.UOp, gate *uop.UOp) *uop.UOp {
	if gate == nil {
		gate = l.s.t.True()
	}
	dims, idx = joined(l.s.t, dims, idx, gate)
	p := l.k.param(buf, u.DType(), dims)
	return l.s.t.Load(l.s.t.Param(p, u.Shape().Numel(), u.DType()), gate, idx...)
}

// joined sees neighbouring axes as one where that makes the index simpler: (x / 2, x % 2) of an array with 2 as its
// last size is just x, and (x / 28, x / 4 % 7) with 7 is x / 4. Where the gate asks for one of the quotients, as that of windows over rows and columns,
// nothing is simpler without them in the index: the axis comes apart (see phases).
func joined(t *uop.Table, dims []int, idx []*uop.UOp, gate *uop.UOp) ([]int, []*uop.UOp) {
	asked := uop.Topo(gate)
	for i := len(dims) - 2; i >= 0; i-- {
		if !divides(idx[i]) || !divides(idx[i+1]) || slices.ContainsFunc(uop.Topo(idx[i], idx[i+1]), func(u *uop.UOp) bool { return isDivision(u) && contains(asked, u) }) {
			continue
		}
		e := symbolic.Simplify(t, idx[i].Mul(t.Index(dims[i+1])).Add(idx[i+1]))
		if divisions(e) > 0 && divisions(e) >= divisions(idx[i], idx[i+1]) {
			continue
		}
		dims, idx = slices.Clone(dims), slices.Clone(idx)
		dims[i] *= dims[i+1]
		idx[i] = e
		dims, idx = slices.Delete(dims, i+1, i+2), slices.Delete(idx, i+1, i+2)
	}
	return dims, idx
}

func divides(e *uop.UOp) bool { return divisions(e) > 0 }

// divisions is how many quotients and remainders there are.
func divisions(e ...*uop.UOp) (n int) {
	for _, u := range uop.Topo(e...) {
		if isDivision(u) {
			n++
		}
	}
	return n
}

func isDivision(u *uop.UOp) bool { return u.Op() == uop.IDiv || u.Op() == uop.Mod }

func (l *lowering) compute(u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) *uop.UOp {
	t := l.s.t
	switch {
	case u.Op() == uop.Const: // as a root; elsewhere value takes it
		return t.ConstOf(u.DType(), u.Arg().(uop.ConstArg).Value)
	case u.Op() == uop.Param:
		return l.load(u.Arg().(uop.ParamArg).Slot, u, u.Shape(), idx, gate)
	case u.Op() == uop.Range:
		return idx[0]
	case readAs(u):
		return l.load(u.At(0).Arg().(uop.ParamArg).Slot, u.At(0), u.Shape(), idx, gate)
	case passes(u): // as a root; elsewhere value goes through it
		m := &move{u: u, idx: idx, gate: gate}
		v := l.value(l.moved(m))
		if m.valid != nil {
			v = l.simplify(m.valid.Where(v, v.Int(0)))
		}
		return v
	case u.Op() == uop.Part:
		i := u.Arg().(uop.PartArg).I
		if r := u.At(0); r.Op() == uop.Reduce && r.At(0).Shape().Numel() == 0 { // a tuple of constants has no node
			return t.ConstOf(u.DType(), r.Arg().(uop.ReduceArg).Monoid.Info().Identity(u.DType(), i))
		}
		return l.value(u.At(0), idx, gate).Part(i)
	case u.Op() == uop.Reduce:
		return l.reduce(u, idx, gate)
	case u.Op() == uop.Scan:
		return l.scan(u, idx)
	case u.Op() == uop.Gather:
		return l.gather(u, idx, gate)
	case u.Op().Elementwise():
		if x := l.s.branch(u, idx); x != nil {
			return l.value(x, idx, gate)
		}
		src := make([]*uop.UOp, len(u.Src()))
		for i, x := range u.Src() {
			src[i] = l.value(x, idx, gate)
		}
		return t.Make(u.Op(), u.DType(), u.Arg(), src...)
	}
	panic("BUG: " + u.Op().String() + " cannot be lowered")
}

var reduceLaw = rewrite.Named("an element of a reduction reduces elements")

func (l *lowering) reduce(u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.ReduceArg)
	full, ranges := spreadReduce(l.s.t, u.At(0).Shape(), a.Axes.Slice(), append([]*uop.UOp{}, idx...), &l.next)
	info := a.Monoid.Info()
	if uop.Shape(u.At(0).Shape()).Numel() == 0 {
		if a.Parts > 1 {
			panic(&uop.ShapeError{Op: a.Monoid.String(), Shapes: []uop.Shape{u.At(0).Shape()}, Reason: "needs at least one element"})
		}
		return l.s.t.ConstOf(u.DType(), info.Identity(u.DType(), 0))
	}
	parts := make([]*uop.UOp, a.Parts)
	for i := range parts {
		parts[i] = l.simplify(l.value(u.At(i), full, gate))
	}
	if l.outline {
		return l.s.t.ReduceRanges(a.Monoid, parts, ranges)
	}
	if a.Monoid == uop.Sum {
		if parts[0].IsConst(0) {
			return l.reduced(zeroLaw, a.Monoid, parts, ranges, parts[0].Int(0))
		}
		if v := foldOneHot(l.s.t, parts[0], ranges); v != nil {
			return l.reduced(oneHotLaw, a.Monoid, parts, ranges, v)
		}
		v, rest := l.combed(parts[0], ranges)
		if l.s.watch {
			l.reduced(combLaw, a.Monoid, parts, ranges, l.s.t.ReduceRanges(a.Monoid, []*uop.UOp{v}, rest))
		}
		parts[0], ranges = v, rest
	}
	if !l.s.watch {
		return l.over(a, parts, ranges)
	}
	return l.reduced(unitLaw, a.Monoid, parts, ranges, l.over(a, slices.Clone(parts), slices.Clone(ranges)))
}

// over is the reduction of parts over ranges, of which those of one value are left out.
func (l *lowering) over(a uop.ReduceArg, parts, ranges []*uop.UOp) *uop.UOp {
	kept := ranges[:0]
	for _, r := range ranges {
		if r.Arg().(uop.RangeArg).N > 1 {
			kept = append(kept, r)
		} else {
			for i := range parts {
				parts[i] = uop.Substitute(l.s.t, map[*uop.UOp]*uop.UOp{r: l.s.t.Index(0)}, parts[i])[0]
			}
		}
	}
	if len(kept) == 0 && a.Monoid != uop.SumExp {
		if a.Parts == 1 {
			return parts[0]
		}
	}
	if len(kept) == 0 {
		kept = ranges[:1]
	}
	return l.s.t.ReduceRanges(a.Monoid, parts, kept)
}

// about leaves of a gate what speaks of the ranges of an index, or of those that this speaks of, and what speaks of none: no other part keeps
// the index within bounds, and a reduction with it would no longer be one for all values of ranges that it does not need.
func about(t *uop.Table, gate *uop.UOp, idx []*uop.UOp) *uop.UOp {
	if gate == nil {
		return nil
	}
	rest := symbolic.Conjuncts(gate)
	of := map[*uop.UOp]bool{}
	for _, i := range idx {
		for _, r := range symbolic.Depends(i) {
			of[r] = true
		}
	}
	var kept *uop.UOp
	for grown := true; grown; {
		grown = false
		rest = slices.DeleteFunc(rest, func(c *uop.UOp) bool {
			ranges := symbolic.Depends(c)
			if len(ranges) > 0 && !slices.ContainsFunc(ranges, func(r *uop.UOp) bool { return of[r] }) {
				return false
			}
			for _, r := range ranges {
				grown, of[r] = grown || !of[r], true
			}
			kept = and(t, kept, c)
			return true
		})
	}
	return kept
}

var gatherLaw = rewrite.Named("an element of a gather is the one that the index names")

// gather loads x at an index from data; outside of x the value is zero.
func (l *lowering) gather(u *uop.UOp, idx []*uop.UOp, gate *uop.UOp) *uop.UOp {
	t := l.s.t
	axis := u.Arg().(uop.AxisArg).Axis
	n := u.At(0).Shape()[axis]
	if n == 0 {
		return t.Int(u.DType(), 0)
	}
	i := l.known(u.At(1), idx, gate)
	valid := within(t, i, n)
	at := slices.Clone(idx)
	at[axis] = i
	v := l.value(u.At(0), at, and(t, gate, valid))
	if valid == nil {
		return v
	}
	return l.simplify(valid.Where(v, v.Int(0)))
}

// scatter writes the base and then merges values into it, in order. Of what names each place once there is no base.
func (l *lowering) scatter(u *uop.UOp, out int, axes []*uop.UOp) {
	a := u.Arg().(uop.ScatterArg)
	t := l.s.t
	var starts []*uop.UOp
	if !a.Once {
		l.k.spec.Outs = []codegen.Out{{Param: out, Axes: axes, Index: axes, Value: l.simplify(l.value(u.At(0), axes, nil))}}
		starts = []*uop.UOp{l.element(u.At(0), axes, nil)}
	}
	defer func() { l.started(starts...) }()
	var from []*uop.UOp
	for i, n := range u.At(1).Shape() {
		switch {
		case n == 0:
			return
		case a.Once:
			from = append(from, axes[i])
		default:
			from = append(from, l.newRange(n))
		}
	}
	i := l.known(u.At(1), from, nil)
	to, n := slices.Clone(from), u.Shape()[a.Axis]
	to[a.Axis] = i
	if a.Once {
		to, n = []*uop.UOp{i}, u.Shape().Numel()
		l.k.spec.Params[out].Dims = []int{n}
	}
	valid := within(t, i, n)
	o := codegen.Out{Param: out, Axes: from, Index: to, Gate: valid, Once: a.Once, Value: l.simplify(l.value(u.At(2), from, valid))}
	if !a.Once {
		o.Merge = &a.Monoid
	}
	l.k.spec.Outs = append(l.k.spec.Outs, o)
	starts = append(starts, l.element(u.At(2), from, valid))
}

// gated adds a condition to the loads of v that it is for.
func gated(t *uop.Table, v, valid *uop.UOp, of func(load *uop.UOp) bool) *uop.UOp {
	if valid == nil {
		return v
	}
	with := map[*uop.UOp]*uop.UOp{}
	for _, u := range uop.Topo(v) {
		w := u.WithSrc(t, func(x *uop.UOp) *uop.UOp { return with[x] })
		if w.Op() == uop.Load && of(w) {
			src := slices.Clone(w.Src())
			src[1] = symbolic.Simplify(t, src[1].And(valid))
			w = t.Make(uop.Load, w.DType(), w.Arg(), src...)
		}
		with[u] = w
	}
	return with[v]
}

func anyLoad(*uop.UOp) bool { return true }

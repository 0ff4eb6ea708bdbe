package evaluate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// Spec computes a Spec as its definition says: for all values of the axes of each output, nests in order. Guards are
// conditions on ranges: where that of one of its ranges does not hold, an element of an output or of a reduction does not
// count. All operands of an op are computed, whatever it makes of them: an access where its gate holds must be in its
// array even if nobody looks at the result.
func Spec(s *codegen.Spec, guards map[*uop.UOp]*uop.UOp, memory [][]uop.Value, most int) error {
	_, err := define(s, guards, memory, most, nil)
	return err
}

// element is one of an array.
type element struct{ param, at int }

// define computes a Spec; nudge, if any, changes each value that a kernel may round otherwise. It gives the elements that were stored twice
// where a place from data was to be met once, as those of arbitrary memory are: which of their values stays is open.
func define(s *codegen.Spec, guards map[*uop.UOp]*uop.UOp, memory [][]uop.Value, most int, nudge *nudge) (twice map[element]bool, err error) {
	e := &definition{spec: s, guards: guards, memory: memory, most: most, nudge: nudge, at: map[*uop.UOp]*state{}, merges: map[mergeKey]*merge{}, steps: map[*uop.Recurrence]*merge{}, stored: map[element]bool{}}
	outs := s.Outs
	for len(outs) > 0 {
		n := 1
		for n < len(outs) && outs[0].Merge == nil && outs[n].Merge == nil && !outs[n].Apart && slices.Equal(outs[0].Axes, outs[n].Axes) {
			n++
		}
		e.loop(outs[0].Axes, func() { e.element(outs[:n]) })
		outs = outs[n:]
	}
	maps.DeleteFunc(e.stored, func(_ element, twice bool) bool { return !twice })
	return e.stored, e.err
}

// definition evaluates expressions over ranges. Values are kept until a range that they depend on moves, or an array
// that they read is written.
type definition struct {
	spec   *codegen.Spec
	guards map[*uop.UOp]*uop.UOp
	memory [][]uop.Value
	at     map[*uop.UOp]*state
	merges map[mergeKey]*merge
	steps  map[*uop.Recurrence]*merge
	clock  int
	wrote  int // when memory was last written
	most   int
	nudge  *nudge
	stored map[element]bool // what was stored at places from data: whether twice
	err    error
}

// state is what is known of a node.
type state struct {
	value []uop.Value
	since int      // the clock when it was computed
	src   []*state // its operands; of a reduction the parts
	deps  []*state // free ranges
	reads bool     // an array that the kernel writes
	open  bool     // of a range: a loop runs over it

	acc         []uop.Value             // of a scan: the results so far
	byKey       map[uop.Value]uop.Value // of a scan by key
	sum         total                   // of what they hold
	next, began int                     // how many elements they hold, and the clock at the first one
}

func (e *definition) state(u *uop.UOp) *state {
	if s := e.at[u]; s != nil {
		return s
	}
	for _, u := range uop.Topo(u) {
		if e.at[u] == nil {
			e.at[u] = e.know(u)
		}
	}
	return e.at[u]
}

// know collects the free ranges of a node whose operands are known.
func (e *definition) know(u *uop.UOp) *state {
	s := &state{since: -1}
	if u.Op() == uop.Range {
		s.value = []uop.Value{0}
		s.deps = []*state{s}
		return s
	}
	src := u.Src()
	var own []*uop.UOp
	switch a := u.Arg().(type) {
	case uop.ReduceArg:
		own, src = src[a.Parts:], src[:a.Parts]
	case uop.ScanArg:
		own = src[a.Parts : a.Parts+1]
	}
	add := func(list []*state) {
		for _, r := range list {
			bound := slices.ContainsFunc(own, func(o *uop.UOp) bool { return e.at[o] == r })
			if !bound && !slices.Contains(s.deps, r) {
				s.deps = append(s.deps, r)
			}
		}
	}
	for _, x := range src {
		s.src = append(s.src, e.at[x])
		s.reads = s.reads || e.at[x].reads
		add(e.at[x].deps)
	}
	for _, r := range own {
		if g := e.guards[r]; g != nil {
			add(e.state(g).deps)
		}
	}
	if u.Op() == uop.Load {
		s.reads = s.reads || e.spec.Params[u.At(0).Arg().(uop.ParamArg).Slot].Write
	}
	return s
}

// loop runs over ranges, outermost first. A range that is open already, because a reduction lies in another over the
// same range, goes on afterwards where it was.
func (e *definition) loop(ranges []*uop.UOp, f func()) {
	if len(ranges) == 0 {
		f()
		return
	}
	r := e.state(ranges[0])
	outer, was := r.value[0], r.open
	r.open = true
	for i := 0; i < ranges[0].Arg().(uop.RangeArg).N && e.err == nil; i++ {
		e.directive(r, uop.Value(i))
		e.loop(ranges[1:], f)
	}
	if r.open = was; was {
		e.directive(r, outer)
	}
}

func (e *definition) directive(r *state, v uop.Value) {
	e.clock++
	r.since, r.value[0] = e.clock, v
}

// counts says that the guards of ranges hold.
func (e *definition) counts(ranges []*uop.UOp) bool {
	for _, r := range ranges {
		if g := e.guards[r]; g != nil && e.value(g)[0] == 0 {
			return false
		}
	}
	return true
}

// element computes one element of each output of a nest, and stores them.
func (e *definition) element(outs []codegen.Out) {
	if !e.counts(outs[0].Axes) {
		return
	}
	at, values := make([]int, len(outs)), make([]uop.Value, len(outs))
	for i, o := range outs {
		at[i] = -1
		if o.Gate != nil && e.value(o.Gate)[0] == 0 {
			continue
		}
		values[i] = e.value(o.Value)[0]
		if at[i] = e.offset("store", o.Param, o.Index); e.err != nil {
			return
		}
	}
	e.clock++
	e.wrote = e.clock
	for i, o := range outs {
		if at[i] < 0 {
			continue
		}
		array := e.memory[o.Param]
		if o.Merge != nil {
			values[i] = e.merge(*o.Merge, []*uop.UOp{o.Value}).do([]uop.Value{array[at[i]]}, values[i:i+1])[0]
		}
		array[at[i]] = values[i]
		if o.Once {
			x := element{o.Param, at[i]}
			_, e.stored[x] = e.stored[x]
		}
	}
}

func (e *definition) fail(format string, a ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, a...)
	}
}

// offset is the place of an index in an array; of indices of dimensions each is within its own.
func (e *definition) offset(what string, param int, index []*uop.UOp) int {
	v := make([]uop.Value, len(index))
	for i, x := range index {
		v[i] = e.value(x)[0]
	}
	at, err := offset(e.spec.Params[param].Dims, v)
	if err != nil {
		e.fail("%s of p%d%v%v: %w", what, param, e.spec.Params[param].Dims, index, err)
	}
	return at
}

func offset(dims []int, index []uop.Value) (at int, err error) {
	if len(index) == 1 && len(dims) != 1 {
		dims = []int{size(dims)}
	}
	if len(index) != len(dims) {
		return 0, fmt.Errorf("%d indices of %d dimensions", len(index), len(dims))
	}
	for i, x := range index {
		if n := x.Int(); n < 0 || n >= int64(dims[i]) {
			return 0, fmt.Errorf("index %d of axis %d is outside of %d elements", n, i, dims[i])
		}
		at = at*dims[i] + int(x.Int())
	}
	return at, nil
}

// value is what a node is worth now; a reduction has a value a part.
func (e *definition) value(u *uop.UOp) []uop.Value { return e.of(u, e.state(u)) }

func (e *definition) of(u *uop.UOp, s *state) []uop.Value {
	if u.Op() == uop.Range {
		if !s.open {
			e.fail("%v is used outside of its loop", u)
		}
		return s.value
	}
	if s.since >= 0 && (!s.reads || s.since >= e.wrote) && !slices.ContainsFunc(s.deps, func(r *state) bool { return r.since > s.since }) {
		return s.value
	}
	s.value = e.compute(u, s)
	s.since = e.clock
	return s.value
}

func (e *definition) compute(u *uop.UOp, s *state) []uop.Value {
	if e.most--; e.most < 0 && e.err == nil {
		e.err = ErrTooLarge
	}
	if e.err != nil {
		return make([]uop.Value, max(1, len(u.Src())))
	}
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		return []uop.Value{v}
	case uop.Var:
		return []uop.Value{Variable(u)}
	case uop.Part:
		return e.of(u.At(0), s.src[0])[u.Arg().(uop.PartArg).I:]
	case uop.Reduce:
		return e.reduce(u, s)
	case uop.Scan:
		return e.scan(u, s)
	case uop.Param:
		return []uop.Value{0}
	}
	var v [8]uop.Value
	src := v[:0]
	for i, x := range u.Src() {
		src = append(src, e.of(x, s.src[i])[0])
	}
	switch {
	case u.Op() == uop.After: // several values held together
		return slices.Clone(src)
	case u.Op() == uop.Load:
		if e.err != nil || src[1] == 0 {
			return []uop.Value{uop.ValueOf(u.DType(), 0)}
		}
		slot := u.At(0).Arg().(uop.ParamArg).Slot
		return []uop.Value{e.memory[slot][e.offset("load", slot, u.Src()[2:])]}
	}
	x := uop.Eval(u.Op(), u.At(0).DType(), u.DType(), src...)
	return []uop.Value{e.nudge.op(u, x, src)}
}

func (e *definition) reduce(u *uop.UOp, s *state) []uop.Value {
	a := u.Arg().(uop.ReduceArg)
	parts, ranges := u.Src()[:a.Parts], u.Src()[a.Parts:]
	m := e.merge(a.Monoid, parts)
	acc, x, sum := make([]uop.Value, len(parts)), make([]uop.Value, len(parts)), total{}
	for i, p := range parts {
		acc[i] = a.Monoid.Info().Identity(p.DType(), i)
	}
	e.loop(ranges, func() {
		if !e.counts(ranges) {
			return
		}
		for i, p := range parts {
			x[i] = e.of(p, s.src[i])[0]
		}
		acc = m.do(acc, x)
		sum.add(parts[0].DType(), x[0])
	})
	return e.nudge.reduction(a.Monoid, parts, acc, sum)
}

// scan merges up to where the axis of the output stands. It goes on from where it was if nothing else has moved since.
func (e *definition) scan(u *uop.UOp, s *state) []uop.Value {
	a := u.Arg().(uop.ScanArg)
	parts, over, at := u.Src()[:a.Parts], u.At(a.Parts), u.At(a.Parts+1)
	last := int(e.of(at, s.src[a.Parts+1])[0].Int())
	if last < 0 || last >= over.Arg().(uop.RangeArg).N {
		e.fail("scan of %v up to %d", over, last)
	}
	moved := slices.ContainsFunc(s.deps, func(r *state) bool { return r != e.state(at) && r.since > s.began })
	if s.acc == nil || s.next > last || moved || s.reads && e.wrote > s.began {
		s.acc, s.byKey, s.sum, s.next, s.began = nil, map[uop.Value]uop.Value{}, total{}, 0, e.clock
		for _, c := range a.Start(parts) {
			v, _ := c.ConstValue()
			s.acc = append(s.acc, v)
		}
	}
	m := e.step(a, parts)
	r, x := e.state(over), make([]uop.Value, len(parts))
	outer, was := r.value[0], r.open
	for r.open = true; s.next <= last && e.err == nil; s.next++ {
		e.directive(r, uop.Value(s.next))
		for i, p := range parts {
			x[i] = e.of(p, s.src[i])[0]
		}
		if a.Keys > 0 {
			key := e.of(u.At(a.Parts+2), s.src[a.Parts+2])[0]
			if k := key.Int(); k < 0 || k >= int64(a.Keys) {
				e.fail("key %d of %d", k, a.Keys)
			}
			s.acc[0] = a.Monoid.Info().Identity(parts[0].DType(), 0)
			if v, ok := s.byKey[key]; ok {
				s.acc[0] = v
			}
		}
		s.acc = m.do(s.acc, x)
		if a.Keys > 0 {
			s.byKey[e.of(u.At(a.Parts+2), s.src[a.Parts+2])[0]] = s.acc[0]
		}
		s.sum.add(parts[0].DType(), x[0])
	}
	if r.open = was; was {
		e.directive(r, outer)
	}
	if a.Step != nil {
		return slices.Clone(s.acc)
	}
	return e.nudge.reduction(a.Monoid, parts, slices.Clone(s.acc), s.sum)
}

// mergeKey tells the merges of monoids over some types apart.
type mergeKey struct {
	monoid uop.Monoid
	types  string
}

func (e *definition) merge(m uop.Monoid, parts []*uop.UOp) *merge {
	key := mergeKey{m, ""}
	for _, p := range parts {
		key.types += p.DType().Short() + " "
	}
	if e.merges[key] == nil {
		e.merges[key] = newMerge(m.Info().Merge, parts, parts)
	}
	return e.merges[key]
}

// step is what a scan does with an element.
func (e *definition) step(a uop.ScanArg, parts []*uop.UOp) *merge {
	if a.Step == nil {
		return e.merge(a.Monoid, parts)
	}
	if e.steps[a.Step] == nil {
		e.steps[a.Step] = newMerge(a.Merge, a.Step.Next, parts)
	}
	return e.steps[a.Step]
}

// merge is what a monoid does, or a step, ready to be evaluated: the nodes that define it, operands first.
type merge struct {
	code  []*uop.UOp
	src   [][]int
	out   []int
	value []uop.Value
}

// newMerge has values of the types of others merged with elements of the types of parts.
func newMerge(merged func(a, b []*uop.UOp) []*uop.UOp, values, parts []*uop.UOp) *merge {
	t := uop.NewArena()
	var x, y []*uop.UOp
	for i, v := range values {
		x = append(x, t.Make(uop.Reg, v.DType(), uop.RegArg{ID: i}))
	}
	for i, p := range parts {
		y = append(y, t.Make(uop.Reg, p.DType(), uop.RegArg{ID: len(values) + i}))
	}
	place := map[*uop.UOp]int{}
	w := &merge{}
	for i, u := range append(x, y...) {
		place[u] = i
		w.code, w.src = append(w.code, u), append(w.src, nil)
	}
	outs := merged(x, y)
	for _, u := range uop.Topo(outs...) {
		if _, ok := place[u]; ok {
			continue
		}
		var src []int
		for _, s := range u.Src() {
			src = append(src, place[s])
		}
		place[u] = len(w.code)
		w.code, w.src = append(w.code, u), append(w.src, src)
	}
	for _, u := range outs {
		w.out = append(w.out, place[u])
	}
	w.value = make([]uop.Value, len(w.code))
	return w
}

// do merges two elements.
func (m *merge) do(x, y []uop.Value) []uop.Value {
	n := copy(m.value, x)
	n += copy(m.value[n:], y)
	for i := n; i < len(m.code); i++ {
		u := m.code[i]
		if c, ok := u.ConstValue(); ok {
			m.value[i] = c
			continue
		}
		var v [3]uop.Value
		for j, s := range m.src[i] {
			v[j] = m.value[s]
		}
		m.value[i] = uop.Apply(u.Op(), u.At(0).DType(), u.DType(), v[0], v[1], v[2])
	}
	out := make([]uop.Value, len(m.out))
	for i, at := range m.out {
		out[i] = m.value[at]
	}
	return out
}

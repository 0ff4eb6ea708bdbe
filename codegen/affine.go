package codegen

import (
	"math/bits"
	"slices"

	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// term is one summand of an affine form: k times an expression that is not affine itself.
type term struct {
	u *uop.UOp
	k int
}

// affine is c + Σ k·u with distinct u, in order of first appearance.
type affine struct {
	c     int
	terms []term
}

// coeff is the factor of u.
func (a affine) coeff(u *uop.UOp) int {
	for _, t := range a.terms {
		if t.u == u {
			return t.k
		}
	}
	return 0
}

// plain says that a is a sum over loops.
func (a affine) plain() bool {
	return !slices.ContainsFunc(a.terms, func(t term) bool { return t.u.Op() != uop.Range })
}

// proportional says that the terms of a are those of b times some number.
func (a affine) proportional(b affine) bool {
	if len(a.terms) == 0 || len(a.terms) != len(b.terms) {
		return false
	}
	first := b.coeff(a.terms[0].u)
	return first != 0 && !slices.ContainsFunc(a.terms, func(t term) bool { return t.k*first != b.coeff(t.u)*a.terms[0].k })
}

func (a affine) add(b affine, k int) affine {
	out := affine{c: a.c + k*b.c, terms: append([]term(nil), a.terms...)}
next:
	for _, t := range b.terms {
		for i := range out.terms {
			if out.terms[i].u == t.u {
				out.terms[i].k += k * t.k
				continue next
			}
		}
		out.terms = append(out.terms, term{t.u, k * t.k})
	}
	keep := out.terms[:0]
	for _, t := range out.terms {
		if t.k != 0 {
			keep = append(keep, t)
		}
	}
	out.terms = keep
	return out
}

// node builds the expression of the form.
func (a affine) node(t *uop.Table) *uop.UOp {
	var sum *uop.UOp
	for _, m := range a.terms {
		x := m.u
		if m.k != 1 {
			x = x.Mul(t.Index(m.k))
		}
		if sum == nil {
			sum = x
		} else {
			sum = sum.Add(x)
		}
	}
	if sum == nil {
		return t.Index(a.c)
	}
	if a.c != 0 {
		sum = sum.Add(t.Index(a.c))
	}
	return sum
}

// facts memoises what is asked about expressions of one kernel: affine forms, bounds, free ranges.
type facts struct {
	free   uop.Map[rangeSet]
	id     map[*uop.UOp]int
	ranges []*uop.UOp
}

func newFacts() *facts {
	return &facts{id: map[*uop.UOp]int{}}
}

// affine gives the affine form of an index expression.
func (f *facts) affine(u *uop.UOp) affine {
	terms, c, ok := symbolic.Affine(u)
	return affineOf(u, terms, c, ok)
}

// affineOf is what symbolic tells of an expression.
func affineOf(u *uop.UOp, terms []symbolic.Term, c int, ok bool) affine {
	if !ok {
		return affine{terms: []term{{u, 1}}}
	}
	a := affine{c: c, terms: make([]term, len(terms))}
	for i, t := range terms {
		a.terms[i] = term{t.Node, t.Coef}
	}
	return a
}

// span holds all values of an integer expression; lo > hi when there are none.
type span struct{ lo, hi int }

func (i span) within(lo, hi int) bool { return i.lo >= lo && i.hi <= hi }

// bound gives the interval of an integer expression.
func (f *facts) bound(u *uop.UOp) span {
	lo, hi, _ := symbolic.Bounds(u)
	return span{lo, hi}
}

// remember computes a fact about a node, from the facts about its operands that the step finds in m.
func remember[V any](m *uop.Map[V], u *uop.UOp, step func(u *uop.UOp) V) V {
	if v, ok := m.Get(u); ok {
		return v
	}
	type frame struct {
		u *uop.UOp
		i int
	}
	var room [32]frame
	stack := append(room[:0], frame{u, 0})
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.i < len(top.u.Src()) {
			s := top.u.At(top.i)
			top.i++
			if _, ok := m.Get(s); !ok {
				stack = append(stack, frame{s, 0})
			}
			continue
		}
		if _, ok := m.Get(top.u); !ok {
			m.Set(top.u, step(top.u))
		}
		stack = stack[:len(stack)-1]
	}
	v, _ := m.Get(u)
	return v
}

// walk visits the nodes below roots, operands first, each once; cut ends it at nodes that are known.
func walk(roots []*uop.UOp, cut func(*uop.UOp) bool, visit func(*uop.UOp)) {
	type frame struct {
		u *uop.UOp
		i int
	}
	var seen uop.Map[bool]
	var room [32]frame
	stack := room[:0]
	for _, r := range roots {
		if ok, _ := seen.Get(r); ok || cut(r) {
			continue
		}
		seen.Set(r, true)
		stack = append(stack, frame{r, 0})
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.i == len(top.u.Src()) {
				visit(top.u)
				stack = stack[:len(stack)-1]
				continue
			}
			s := top.u.At(top.i)
			top.i++
			if ok, _ := seen.Get(s); !ok && !cut(s) {
				seen.Set(s, true)
				stack = append(stack, frame{s, 0})
			}
		}
	}
}

// rangeSet is a set of the ranges of a kernel.
type rangeSet [8]uint64

const maxRanges = 512

func (s rangeSet) or(o rangeSet) rangeSet {
	for i := range s {
		s[i] |= o[i]
	}
	return s
}

func (s rangeSet) minus(o rangeSet) rangeSet {
	for i := range s {
		s[i] &^= o[i]
	}
	return s
}

func (s rangeSet) and(o rangeSet) rangeSet {
	for i := range s {
		s[i] &= o[i]
	}
	return s
}

func (s rangeSet) empty() bool              { return s == rangeSet{} }
func (s rangeSet) within(o rangeSet) bool   { return s.minus(o).empty() }
func (s rangeSet) has(i int) bool           { return s[i/64]&(1<<(i%64)) != 0 }
func (s rangeSet) with(i int) rangeSet      { s[i/64] |= 1 << (i % 64); return s }
func (s rangeSet) disjoint(o rangeSet) bool { return s.and(o).empty() }

// each calls f with every member, in the order in which ranges were first met.
func (s rangeSet) each(f func(i int)) {
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			f(64*w + bits.TrailingZeros64(x))
		}
	}
}

// rangeID numbers ranges.
func (f *facts) rangeID(r *uop.UOp) int {
	if i, ok := f.id[r]; ok {
		return i
	}
	i := len(f.ranges)
	if i == maxRanges {
		panic(tooManyLoops{})
	}
	f.id[r] = i
	f.ranges = append(f.ranges, r)
	return i
}

// tooManyLoops is thrown where a kernel has more loops than a rangeSet holds.
type tooManyLoops struct{}

// set makes a rangeSet.
func (f *facts) set(ranges ...*uop.UOp) (s rangeSet) {
	for _, r := range ranges {
		s = s.with(f.rangeID(r))
	}
	return s
}

// list gives the ranges of a set, in the order in which they were first met.
func (f *facts) list(s rangeSet) (out []*uop.UOp) {
	s.each(func(i int) { out = append(out, f.ranges[i]) })
	return out
}

// freeRanges gives the ranges that a value depends on, those of its own reductions and scans not among them.
func (f *facts) freeRanges(u *uop.UOp) rangeSet {
	return remember(&f.free, u, func(u *uop.UOp) rangeSet {
		var s rangeSet
		if u.Op() == uop.Range {
			s = s.with(f.rangeID(u))
		}
		parts, ranges := reduceParts(u)
		if _, over, _ := scanParts(u); over != nil {
			ranges = []*uop.UOp{over}
		}
		for _, x := range parts {
			free, _ := f.free.Get(x)
			s = s.or(free)
		}
		for _, r := range ranges {
			s = s.minus(rangeSet{}.with(f.rangeID(r)))
		}
		return s
	})
}

// reduceParts splits the operands of a Reduce; for other nodes all operands are parts.
func reduceParts(u *uop.UOp) (parts, ranges []*uop.UOp) {
	if u.Op() != uop.Reduce {
		return u.Src(), nil
	}
	n := u.Arg().(uop.ReduceArg).Parts
	return u.Src()[:n], u.Src()[n:]
}

// extent is the number of iterations of a range.
func extent(r *uop.UOp) int { return r.Arg().(uop.RangeArg).N }

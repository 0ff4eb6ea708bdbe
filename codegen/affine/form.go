// Package affine tells of index expressions: their form as a sum over loops, the loops that a value depends on, and the step
// from one lane to the next. It refuses to know directives, statements and targets.
package affine

import (
	"math/bits"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Term is one summand of an affine form: k times an expression that is not affine itself.
type Term struct {
	Node *uop.UOp
	Coef int
}

// Form is c + Σ k·u with distinct u, in order of first appearance.
type Form struct {
	Const int
	Terms []Term
}

// Coeff is the factor of u.
func (a Form) Coeff(u *uop.UOp) int {
	for _, t := range a.Terms {
		if t.Node == u {
			return t.Coef
		}
	}
	return 0
}

// Plain says that a is a sum over loops.
func (a Form) Plain() bool {
	return !slices.ContainsFunc(a.Terms, func(t Term) bool { return t.Node.Op() != uop.Range })
}

// Proportional says that the terms of a are those of b times some number.
func (a Form) Proportional(b Form) bool {
	if len(a.Terms) == 0 || len(a.Terms) != len(b.Terms) {
		return false
	}
	first := b.Coeff(a.Terms[0].Node)
	return first != 0 && !slices.ContainsFunc(a.Terms, func(t Term) bool { return t.Coef*first != b.Coeff(t.Node)*a.Terms[0].Coef })
}

// Step is how far apart the values of a lie at least while only some of its terms change: the largest number that divides their factors, or 1.
func (a Form) Step(changes func(u *uop.UOp) bool) int {
	step := 0
	for _, t := range a.Terms {
		if changes(t.Node) {
			step = symbolic.GCD(step, codegen.Abs(t.Coef))
		}
	}
	return max(step, 1)
}

// Add is a + k·b.
func (a Form) Add(b Form, k int) Form {
	out := Form{Const: a.Const + k*b.Const, Terms: append([]Term(nil), a.Terms...)}
next:
	for _, t := range b.Terms {
		for i := range out.Terms {
			if out.Terms[i].Node == t.Node {
				out.Terms[i].Coef += k * t.Coef
				continue next
			}
		}
		out.Terms = append(out.Terms, Term{t.Node, k * t.Coef})
	}
	keep := out.Terms[:0]
	for _, t := range out.Terms {
		if t.Coef != 0 {
			keep = append(keep, t)
		}
	}
	out.Terms = keep
	return out
}

// Node builds the expression of the form.
func (a Form) Node(t *uop.Table) *uop.UOp {
	var sum *uop.UOp
	for _, m := range a.Terms {
		x := m.Node
		if m.Coef != 1 {
			x = x.Mul(t.Index(m.Coef))
		}
		if sum == nil {
			sum = x
		} else {
			sum = sum.Add(x)
		}
	}
	if sum == nil {
		return t.Index(a.Const)
	}
	if a.Const != 0 {
		sum = sum.Add(t.Index(a.Const))
	}
	return sum
}

// Facts memoises what is asked about expressions of one kernel: affine forms, bounds, free ranges.
type Facts struct {
	free   uop.Map[RangeSet]
	id     map[*uop.UOp]int
	Ranges []*uop.UOp
}

// NewFacts are those of a kernel of which nothing is known yet.
func NewFacts() *Facts {
	return &Facts{id: map[*uop.UOp]int{}}
}

// Form gives the affine form of an index expression.
func (f *Facts) Form(u *uop.UOp) Form {
	terms, c, ok := symbolic.Affine(u)
	return affineOf(u, terms, c, ok)
}

// affineOf is what symbolic tells of an expression.
func affineOf(u *uop.UOp, terms []symbolic.Term, c int, ok bool) Form {
	if !ok {
		return Form{Terms: []Term{{u, 1}}}
	}
	a := Form{Const: c, Terms: make([]Term, len(terms))}
	for i, t := range terms {
		a.Terms[i] = Term{t.Node, t.Coef}
	}
	return a
}

// Span holds all values of an integer expression; lo > hi when there are none.
type Span struct{ Lo, Hi int }

// Within says that all values lie from lo to hi.
func (i Span) Within(lo, hi int) bool { return i.Lo >= lo && i.Hi <= hi }

// Bound gives the interval of an integer expression.
func Bound(u *uop.UOp) Span {
	lo, hi, _ := symbolic.Bounds(u)
	return Span{lo, hi}
}

// RangeSet is a set of the ranges of a kernel.
type RangeSet [8]uint64

// MaxRanges is how many ranges a kernel may have.
const MaxRanges = 512

// Or has the members of both.
func (s RangeSet) Or(o RangeSet) RangeSet {
	for i := range s {
		s[i] |= o[i]
	}
	return s
}

// Minus has the members that o lacks.
func (s RangeSet) Minus(o RangeSet) RangeSet {
	for i := range s {
		s[i] &^= o[i]
	}
	return s
}

// And has the members that both have.
func (s RangeSet) And(o RangeSet) RangeSet {
	for i := range s {
		s[i] &= o[i]
	}
	return s
}

// Empty says that a set has no members.
func (s RangeSet) Empty() bool { return s == RangeSet{} }

// Within says that o has all members.
func (s RangeSet) Within(o RangeSet) bool { return s.Minus(o).Empty() }

// Disjoint says that o has none of the members.
func (s RangeSet) Disjoint(o RangeSet) bool { return s.And(o).Empty() }

// Has says that the range of a number (Facts.RangeID) is a member.
func (s RangeSet) Has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

// With has one more member.
func (s RangeSet) With(i int) RangeSet { s[i/64] |= 1 << (i % 64); return s }

// Each calls f with every member, in the order in which ranges were first met.
func (s RangeSet) Each(f func(i int)) {
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			f(64*w + bits.TrailingZeros64(x))
		}
	}
}

// RangeID numbers ranges.
func (f *Facts) RangeID(r *uop.UOp) int {
	if i, ok := f.id[r]; ok {
		return i
	}
	i := len(f.Ranges)
	if i == MaxRanges {
		panic(TooManyLoops{})
	}
	f.id[r] = i
	f.Ranges = append(f.Ranges, r)
	return i
}

// TooManyLoops is thrown where a kernel has more loops than a RangeSet holds.
type TooManyLoops struct{}

// Set makes a RangeSet.
func (f *Facts) Set(ranges ...*uop.UOp) (s RangeSet) {
	for _, r := range ranges {
		s = s.With(f.RangeID(r))
	}
	return s
}

// List gives the ranges of a set, in the order in which they were first met.
func (f *Facts) List(s RangeSet) (out []*uop.UOp) {
	s.Each(func(i int) { out = append(out, f.Ranges[i]) })
	return out
}

// FreeRanges gives the ranges that a value depends on, those of its own reductions and scans not among them.
func (f *Facts) FreeRanges(u *uop.UOp) RangeSet {
	return codegen.Remember(&f.free, u, func(u *uop.UOp) RangeSet {
		var s RangeSet
		if u.Op() == uop.Range {
			s = s.With(f.RangeID(u))
		}
		parts, ranges := codegen.ReduceParts(u)
		if _, over, _ := codegen.ScanParts(u); over != nil {
			ranges = []*uop.UOp{over}
		}
		for _, x := range parts {
			free, _ := f.free.Get(x)
			s = s.Or(free)
		}
		for _, r := range ranges {
			s = s.Minus(RangeSet{}.With(f.RangeID(r)))
		}
		return s
	})
}

// FewLoops is deferred where a kernel may have too many loops, and calls f then.
func FewLoops(f func()) {
	if r := recover(); r != nil {
		if _, many := r.(TooManyLoops); !many {
			panic(r)
		}
		f()
	}
}

// Declare says which ranges a register depends on: its operands do not tell.
func (f *Facts) Declare(reg *uop.UOp, s RangeSet) { f.free.Set(reg, s) }

package symbolic

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Known is what some conditions tell about the expressions of a table. It looks at sums in their normal form, and as they
// are written: simplifying joins a quotient and a remainder that conditions may speak of apart.
type Known struct {
	never   bool // the conditions contradict each other
	normal  *index
	written *index
}

// Under takes conditions for granted, each a conjunction. Comparisons of indices tell something, others nothing.
func Under(t *uop.Table, conds ...*uop.UOp) *Known {
	x := of(t)
	var list, plain []*uop.UOp
	for _, g := range conds {
		for _, c := range Conjuncts(g) {
			plain = append(plain, c)
			if c.Op() == uop.Less || c.Op() == uop.Equal {
				if d := x.compared(c); d != nil {
					c = d
				}
			}
			list = flatten(list, c, uop.And)
		}
	}
	k := &Known{normal: x, written: x}
	if len(list) == 0 {
		return k
	}
	list = Conjuncts(x.normal(uop.And, x.join(uop.And, list)))
	k.never = len(list) == 1 && list[0].IsConst(0)
	k.normal, k.written = x.under(list), &index{t: t}
	k.written.assume(plain)
	k.never = k.never || k.normal.never || k.written.never
	return k
}

// assume takes comparisons for granted, as they are written.
func (x *index) assume(conds []*uop.UOp) {
	for _, leaves := range []bool{true, false} { // what is known of a leaf tells something of all above it
		for _, c := range conds {
			if c.Op() != uop.Less && c.Op() != uop.Equal || c.At(0).DType() != dtype.Index {
				continue
			}
			l := x.sum(c.At(0)).plus(x.sum(c.At(1)), -1)
			s := span{0, 0}
			if c.Op() == uop.Less {
				s = span{-inf, -1}
			}
			if l == nil || l.isConst() {
				continue
			}
			f := reduced(l, s.shift(-l.k))
			if leaves != (len(f.terms) == 1 && len(f.terms[0].Node.Src()) == 0) {
				continue
			}
			x.know(f.terms[0].Node, &linear{terms: f.terms}, f.s)
		}
	}
}

// sum is an expression as it is written: additions and factors are looked through, nothing else.
func (x *index) sum(u *uop.UOp) *linear {
	terms, k, ok := Summands(u)
	if !ok {
		return atom(u)
	}
	slices.SortFunc(terms, func(a, b Term) int { return compare(a.Node, b.Node) })
	return &linear{terms, k}
}

// Within reports whether an Index expression is proven to lie in 0 … n−1 wherever the conditions hold.
func (k *Known) Within(e *uop.UOp, n int) bool {
	want := span{0, n - 1}
	if k.never {
		return true
	}
	return k.normal.proves(k.normal.form(e), want) || k.written.proves(k.written.sum(e), want)
}

// proves bounds a sum ever better, until that will do.
func (x *index) proves(l *linear, want span) bool {
	if x.linearSpan(l).within(want) {
		return true
	}
	if len(x.facts) == 0 {
		return false
	}
	given := x.facts
	defer func() { x.facts = given }() // those about quotients are for this sum
	x.quotients(l)
	for n := 1; n <= maxCombined; n++ {
		sums := mostSums
		if x.combined(l, n, &sums).within(want) {
			return true
		}
	}
	return false
}

// maxCombined is how many facts are added up to bound a sum. The bound of a linear program needs as many as there are
// terms; more than three have not been needed, and the work grows with their power: mostSums ends it.
const (
	maxCombined = 3
	mostSums    = 4096
)

// combined bounds l by adding multiples of up to n facts, each chosen so that a term of l vanishes, as long as there are sums left.
func (x *index) combined(l *linear, n int, sums *int) span {
	best := x.termSpan(l.terms).shift(l.k)
	if *sums--; n == 0 || *sums < 0 {
		return best
	}
	for _, f := range x.facts {
		for _, t := range f.terms {
			c := l.coef(t.Node)
			if c == 0 || *sums < 0 {
				continue
			}
			g := GCD(abs(c), abs(t.Coef))
			d, by := abs(t.Coef)/g, c/g // d·l = by·f + rest
			if t.Coef < 0 {
				by = -by
			}
			rest := l.scale(d)
			if rest != nil {
				rest = rest.plus(&linear{terms: f.terms}, -by)
			}
			if rest == nil {
				continue
			}
			s := x.combined(rest, n-1, sums).add(f.s.corners(span{by, by}, times))
			if s.lo > -inf {
				best.lo = max(best.lo, -floorDiv(-s.lo, d))
			}
			if s.hi < inf {
				best.hi = min(best.hi, floorDiv(s.hi, d))
			}
		}
	}
	return best
}

// quotients derives facts about the quotients that l contains. Where a known sum holds c·z, and l holds q = ⌊z/n⌋, then
// c·z is c·n·q and at most c·(n−1) more.
func (x *index) quotients(l *linear) {
	for _, t := range l.terms {
		u, n := byConst(t.Node, uop.IDiv)
		if u == nil {
			continue
		}
		for _, z := range []*linear{x.form(u), x.sum(u)} {
			for _, f := range x.facts[:len(x.facts):len(x.facts)] {
				for _, c := range ratios(f.terms, z) {
					sum := (&linear{terms: f.terms}).plus(&linear{terms: z.terms}, -c)
					if sum != nil {
						sum = sum.plus(atom(t.Node), times(c, n))
					}
					if sum == nil || sum.isConst() {
						continue
					}
					most := times(-c, n-1)
					more := span{min(0, most), max(0, most)}
					x.facts = append(x.facts, reduced(sum, f.s.shift(times(c, z.k)).add(more)))
				}
			}
		}
	}
}

// ratios are the factors by which a sum may hold z: those of the coefficients of each node, where they divide.
func ratios(terms []Term, z *linear) (out []int) {
	for _, t := range terms {
		if k := z.coef(t.Node); k != 0 && t.Coef%k == 0 && !slices.Contains(out, t.Coef/k) {
			out = append(out, t.Coef/k)
		}
	}
	return out
}

// reduced is the fact that a sum lies within s, without the common factor of its coefficients, the first of which is
// positive.
func reduced(sum *linear, s span) fact {
	if sum.terms[0].Coef < 0 {
		sum, s = sum.neg(), s.neg()
	}
	g := 0
	for _, t := range sum.terms {
		g = GCD(g, abs(t.Coef))
	}
	f := fact{s: s}
	for _, t := range sum.terms {
		f.terms = append(f.terms, Term{t.Node, t.Coef / g})
	}
	if f.s.lo > -inf {
		f.s.lo = -floorDiv(-f.s.lo, g)
	}
	if f.s.hi < inf {
		f.s.hi = floorDiv(f.s.hi, g)
	}
	return f
}

package symbolic

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// fact is what a condition tells: the sum of terms, without constant, lies within s.
type fact struct {
	terms []Term
	s     span
}

// SimplifyUnder simplifies Index expressions and conditions that matter only where guard holds: with 1 ≤ i < 25 known,
// (i−1) mod 24 is i−1. The results may have any value elsewhere.
func SimplifyUnder(t *uop.Table, guard *uop.UOp, es ...*uop.UOp) []*uop.UOp {
	out := SimplifyAll(t, es...)
	guard = Simplify(t, guard)
	if guard.Op() == uop.Const {
		return out
	}
	y := of(t).under(Conjuncts(guard))
	for i, e := range out {
		switch e.DType() {
		case dtype.Index:
			out[i] = y.node(y.form(e))
		case dtype.Bool:
			out[i] = y.condition(e)
		}
	}
	return out
}

// under is a fresh state that knows the given conditions.
func (x *index) under(conditions []*uop.UOp) *index {
	y := &index{t: x.t}
	for _, c := range conditions {
		if e, lo, hi, ok := Interval(c); ok {
			y.know(e, x.form(e), span{lo, hi})
		}
	}
	return y
}

// know takes for granted that e, whose form is l, lies within s.
func (x *index) know(e *uop.UOp, l *linear, s span) {
	f := fact{l.terms, s.shift(-l.k)}
	if len(f.terms) == 1 && f.terms[0].Coef == 1 {
		x.narrow(e, s)
		return
	}
	if i := slices.IndexFunc(x.facts, func(g fact) bool { return slices.Equal(g.terms, f.terms) }); i >= 0 {
		known := &x.facts[i].s
		*known = span{max(known.lo, f.s.lo), min(known.hi, f.s.hi)}
		x.never = x.never || known.lo > known.hi
		return
	}
	x.facts = append(x.facts, f)
}

// narrow adds to what is known of one node; contradictions are left alone: nothing is needed where they hold.
func (x *index) narrow(u *uop.UOp, s span) {
	known := x.span(u)
	both := span{max(known.lo, s.lo), min(known.hi, s.hi)}
	if x.never = x.never || both.lo > both.hi; both.lo <= both.hi {
		x.spans.Set(u, both)
	}
}

// condition simplifies the comparisons of a conjunction.
func (x *index) condition(g *uop.UOp) *uop.UOp {
	var list []*uop.UOp
	for _, c := range Conjuncts(g) {
		if c.Op() == uop.Less || c.Op() == uop.Equal {
			if d := x.compared(c); d != nil {
				list = flatten(list, d, uop.And)
				continue
			}
		}
		list = append(list, c)
	}
	return x.join(uop.And, list)
}

// compared is the normal form of a comparison of Index expressions, or nil.
func (x *index) compared(c *uop.UOp) *uop.UOp {
	if c.At(0).DType() != dtype.Index {
		return nil
	}
	l := x.form(c.At(0)).plus(x.form(c.At(1)), -1)
	switch {
	case l == nil:
		return nil
	case c.Op() == uop.Less:
		return x.less(l)
	}
	return x.equal(l)
}

// factSpan bounds l by known sums: parts of l that are a multiple of one are taken as a whole.
func (x *index) factSpan(l *linear) span {
	s := span{l.k, l.k}
	rest := &linear{terms: l.terms}
	for _, f := range x.facts {
		c := rest.coef(f.terms[0].Node)
		if c == 0 || c%f.terms[0].Coef != 0 {
			continue
		}
		c /= f.terms[0].Coef
		covered := true
		for _, t := range f.terms {
			covered = covered && rest.coef(t.Node) == c*t.Coef
		}
		if !covered {
			continue
		}
		part := x.termSpan(f.terms)
		part = span{max(part.lo, f.s.lo), min(part.hi, f.s.hi)}
		if part.lo > part.hi {
			continue // the conditions contradict: anything is right, nothing is needed
		}
		s = s.add(part.corners(span{c, c}, times))
		rest = rest.plus(&linear{terms: f.terms}, -c)
	}
	return s.add(x.termSpan(rest.terms))
}

// redundant drops the conditions that the others imply; contradiction gives false.
func (x *index) redundant(list []*uop.UOp) []*uop.UOp {
	for i := 0; i < len(list); i++ {
		e, _, _, ok := Interval(list[i])
		if !ok || !x.related(e, list, i) {
			continue
		}
		others := append(list[:i:i], list[i+1:]...)
		switch c := x.under(others).compared(list[i]); {
		case c.IsConst(1):
			list = others
			i--
		case c.IsConst(0):
			return []*uop.UOp{c}
		}
	}
	return list
}

// related reports whether another interval speaks of something in e.
func (x *index) related(e *uop.UOp, list []*uop.UOp, i int) bool {
	l := x.form(e)
	for j, c := range list {
		o, _, _, ok := Interval(c)
		if j == i || !ok || o == e {
			continue
		}
		for _, t := range x.form(o).terms {
			if l.coef(t.Node) != 0 {
				return true
			}
		}
	}
	return false
}

package symbolic

import (
	"github.com/weft-ml/weft/uop"
)

// less is the normal form of l < 0: a constant where bounds tell, else S < K or K < S, with the terms of S in order,
// the first coefficient positive and no common factor. Divisions are multiplied out.
func (x *index) less(l *linear) *uop.UOp {
	switch s := x.linearSpan(l); {
	case s.hi < 0:
		return x.t.True()
	case s.lo >= 0:
		return x.falsity()
	}
	for _, t := range l.terms {
		if t.Coef != 1 && t.Coef != -1 {
			continue
		}
		if m := x.multiplyOut(l, t); m != nil {
			return x.less(m)
		}
	}
	if a := x.coarser(l); a != nil {
		return x.less(a)
	}
	s, k := &linear{terms: l.terms}, l.k
	var u *uop.UOp
	if s.terms[0].Coef > 0 {
		u = x.node(s).Less(x.t.Index(-k))
	} else {
		u = x.t.Index(k).Less(x.node(s.neg()))
	}
	x.built.Set(u, true)
	return u
}

func (x *index) falsity() *uop.UOp { return x.t.True().Const(0) }

// multiplyOut removes the division t = ±⌊z/n⌋ from l < 0: y + ⌊z/n⌋ < 0 is n·y + z < 0, and
// y − ⌊z/n⌋ < 0 is n·y + n − 1 − z < 0.
func (x *index) multiplyOut(l *linear, t Term) *linear {
	z, n := byConst(t.Node, uop.IDiv)
	if z == nil {
		return nil
	}
	y := l.plus(atom(t.Node), -t.Coef).scale(n)
	if y == nil {
		return nil
	}
	if t.Coef < 0 {
		y = y.shift(n - 1)
	}
	return y.plus(x.form(z), t.Coef)
}

// coarser finds d with l = d·a + b and 0 ≤ b < d, so that l < 0 is a < 0.
func (x *index) coarser(l *linear) *linear {
	all := 0
	for _, t := range l.terms {
		all = GCD(all, abs(t.Coef))
	}
	best := 0
	var form *linear
	for i := -1; i < len(l.terms); i++ {
		d := all
		if i >= 0 {
			d = abs(l.terms[i].Coef)
		}
		if d <= max(1, best) {
			continue
		}
		if a, _ := x.divides(l, d); a != nil {
			best, form = d, a
		}
	}
	return form
}

// equal is the normal form of l = 0: a constant where bounds or divisors tell, else P = N with the terms that have
// positive coefficients left and the others right. Where l falls apart into d·a + b it is two equations.
func (x *index) equal(l *linear) *uop.UOp {
	switch s := x.linearSpan(l); {
	case s == span{}:
		return x.t.True()
	case !s.contains(0):
		return x.falsity()
	}
	all := 0
	for _, t := range l.terms {
		if u := x.equations(l, abs(t.Coef)); u != nil {
			return u
		}
		all = GCD(all, abs(t.Coef))
	}
	if u := x.equations(l, all); u != nil {
		return u
	}
	if l.terms[0].Coef < 0 {
		l = l.neg()
	}
	if u := x.residue(l); u != nil {
		return u
	}
	p, n := &linear{}, &linear{k: -l.k}
	for _, t := range l.terms {
		if t.Coef > 0 {
			p.terms = append(p.terms, t)
		} else {
			n.terms = append(n.terms, Term{t.Node, -t.Coef})
		}
	}
	u := x.node(p).Equal(x.node(n))
	x.built.Set(u, true)
	return u
}

// equations splits l = d·a + b = 0, where b takes the terms that are not multiples of d and is known within less than d:
// b must be the one multiple of d in its bounds. nil if that cannot be told.
func (x *index) equations(l *linear, d int) *uop.UOp {
	if d < 2 {
		return nil
	}
	a, b := constant(0), constant(l.k)
	for _, t := range l.terms {
		if t.Coef%d == 0 {
			a.terms = append(a.terms, Term{t.Node, t.Coef / d})
		} else {
			b.terms = append(b.terms, t)
		}
	}
	s := x.linearSpan(b)
	if a.isConst() || !s.finite() || s.hi-s.lo >= d {
		return nil
	}
	m := floorDiv(s.hi, d)
	if m*d < s.lo {
		return x.falsity()
	}
	return x.both(x.equal(a.shift(m)), x.equal(b.shift(-m*d)))
}

// residue solves z mod n + k = 0 where the bounds of z hold at most one solution; nil if they hold more.
func (x *index) residue(l *linear) *uop.UOp {
	if len(l.terms) != 1 || l.terms[0].Coef != 1 {
		return nil
	}
	u, n := byConst(l.terms[0].Node, uop.Mod)
	if u == nil {
		return nil
	}
	z := x.form(u)
	s := x.linearSpan(z)
	if !s.finite() {
		return nil
	}
	v := s.hi - floorMod(s.hi+l.k, n) // the largest with v mod n = −k
	switch {
	case v < s.lo:
		return x.falsity()
	case v-n < s.lo:
		return x.equal(z.shift(-v))
	}
	return nil
}

func (x *index) both(a, b *uop.UOp) *uop.UOp {
	switch {
	case a.IsConst(0) || b.IsConst(1):
		return a
	case b.IsConst(0) || a.IsConst(1):
		return b
	}
	return a.And(b)
}

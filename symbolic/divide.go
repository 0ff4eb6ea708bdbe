package symbolic

import (
	"cmp"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func (x *index) quotient(a, b *linear) *linear {
	switch {
	case !b.isConst():
		p, q := x.linearSpan(a), x.linearSpan(b)
		if p.lo >= 0 && p.hi < q.lo {
			return constant(0)
		}
		return x.leaf(x.t.Make(uop.IDiv, dtype.Index, nil, x.node(a), x.node(b)))
	case b.k == 0:
		return constant(0)
	case b.k < 0:
		return x.div(a.neg(), -b.k)
	}
	return x.div(a, b.k)
}

func (x *index) remainder(a, b *linear) *linear {
	switch {
	case !b.isConst():
		p, q := x.linearSpan(a), x.linearSpan(b)
		if p.lo >= 0 && p.hi < q.lo {
			return a
		}
		return x.leaf(x.t.Make(uop.Mod, dtype.Index, nil, x.node(a), x.node(b)))
	case b.k == 0:
		return constant(0)
	case b.k < 0:
		return x.mod(a.neg(), -b.k).neg()
	}
	return x.mod(a, b.k)
}

// split takes multiples of n out of l: l = n·q + r, coefficients of r smaller than n in magnitude with their sign
// kept, its constant in 0 … n−1.
func (l *linear) split(n int) (q, r *linear) {
	q, r = constant(floorDiv(l.k, n)), constant(floorMod(l.k, n))
	for _, t := range l.terms {
		if c := t.Coef / n; c != 0 {
			q.terms = append(q.terms, Term{t.Node, c})
		}
		if c := t.Coef % n; c != 0 {
			r.terms = append(r.terms, Term{t.Node, c})
		}
	}
	return q, r
}

// cell reports that l stays within m·n … m·n + n−1.
func (x *index) cell(l *linear, n int) (m int, ok bool) {
	s := x.linearSpan(l)
	if !s.finite() {
		return 0, false
	}
	m = floorDiv(s.lo, n)
	return m, m == floorDiv(s.hi, n)
}

// coarse finds a divisor d of n with r = d·a + b and 0 ≤ b < d, so that dividing r by n needs a only.
func (x *index) coarse(r *linear, n int) (d int, a, b *linear) {
	all := n
	var tried []int
	for _, t := range r.terms {
		all = GCD(all, abs(t.Coef))
		if d := GCD(abs(t.Coef), n); d > 1 && !slices.Contains(tried, d) {
			tried = append(tried, d)
		}
	}
	if all > 1 && !slices.Contains(tried, all) {
		tried = append(tried, all)
	}
	slices.SortStableFunc(tried, cmp.Compare[int])
	for _, d := range slices.Backward(tried) {
		if a, b := x.divides(r, d); a != nil {
			return d, a, b
		}
	}
	return 0, nil, nil
}

// divides writes l = d·a + b with 0 ≤ b < d where a takes all terms that are multiples of d; nil if bounds do not tell.
func (x *index) divides(l *linear, d int) (a, b *linear) {
	a, b = constant(floorDiv(l.k, d)), constant(floorMod(l.k, d))
	for _, t := range l.terms {
		if t.Coef%d == 0 {
			a.terms = append(a.terms, Term{t.Node, t.Coef / d})
		} else {
			b.terms = append(b.terms, t)
		}
	}
	m, ok := x.cell(b, d)
	if !ok || a.isConst() {
		return nil, nil
	}
	return a.shift(m), b.shift(-m * d)
}

// GCD is the largest number that divides both; 0 is divided by all.
func GCD(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// div is the floor of l / n for n > 0.
func (x *index) div(l *linear, n int) *linear {
	q, r := x.withoutMod(l, n).split(n)
	if r.isConst() {
		return q
	}
	if m, ok := x.cell(r, n); ok {
		return q.shift(m)
	}
	var rest *linear
	if two := x.ofTwo(r, func(k int) int { return floorDiv(k, n) }); two != nil {
		rest = two
	} else if d, a, _ := x.coarse(r, n); a != nil {
		rest = x.div(a, n/d)
	} else if a, m := x.nested(r); a != nil && m <= big/n {
		rest = x.div(a, m*n)
	} else if u, m := modOf(r); u != nil && m%n == 0 {
		rest = x.mod(x.div(x.form(u), n), m/n)
	} else {
		r, m := x.raised(r, n)
		rest = x.leaf(x.t.Make(uop.IDiv, dtype.Index, nil, x.node(r), x.t.Index(n))).shift(-m)
	}
	if s := q.plus(rest, 1); s != nil {
		return s
	}
	return x.leaf(x.t.Make(uop.IDiv, dtype.Index, nil, x.node(l), x.t.Index(n)))
}

// ofTwo is f of a sum that has two values only, which is linear between them; else nil.
func (x *index) ofTwo(r *linear, f func(int) int) *linear {
	if len(r.terms) != 1 {
		return nil
	}
	u, c := r.terms[0].Node, r.terms[0].Coef
	s := x.span(u)
	if !s.finite() || s.hi != s.lo+1 {
		return nil
	}
	at := times(c, s.lo)
	if !small(at) || !small(at+c+r.k) {
		return nil
	}
	first, second := f(r.k+at), f(r.k+at+c)
	k := first - times(second-first, s.lo)
	if !small(k) || !small(second-first) {
		return nil
	}
	return atom(u).scale(second - first).shift(k)
}

// withoutMod puts z − n·⌊z/n⌋ for a remainder z mod n where that leaves fewer terms that are no multiples of n.
func (x *index) withoutMod(l *linear, n int) *linear {
	loose := func(l *linear) (count int) {
		for _, t := range l.terms {
			if t.Coef%n != 0 {
				count++
			}
		}
		return count
	}
	for _, t := range l.terms {
		z, m := byConst(t.Node, uop.Mod)
		if z == nil || m != n || t.Coef%n == 0 || len(l.terms) == 1 {
			continue
		}
		whole := l.plus(atom(t.Node), -t.Coef).plus(x.form(z), t.Coef)
		if whole == nil || loose(whole)+2 > loose(l) {
			continue
		}
		if less := whole.plus(x.div(x.form(z), n), -t.Coef*n); less != nil {
			return less
		}
	}
	return l
}

// nested writes r = y + ⌊z/m⌋ as ⌊(m·y + z)/m⌋ and gives m·y + z.
func (x *index) nested(r *linear) (a *linear, m int) {
	for _, t := range r.terms {
		if z, m := byConst(t.Node, uop.IDiv); z != nil && t.Coef == 1 {
			if y := r.plus(atom(t.Node), -1).scale(m); y != nil {
				if a := y.plus(x.form(z), 1); a != nil {
					return a, m
				}
			}
		}
	}
	return nil, 0
}

// byConst takes apart z op m, m a positive constant.
func byConst(u *uop.UOp, o uop.Op) (z *uop.UOp, m int) {
	if u.Op() != o {
		return nil, 0
	}
	if m, ok := u.At(1).ConstInt(); ok && m > 0 {
		return u.At(0), m
	}
	return nil, 0
}

// modOf takes apart a form that is one remainder.
func modOf(r *linear) (u *uop.UOp, m int) {
	if len(r.terms) != 1 || r.terms[0].Coef != 1 || r.k != 0 {
		return nil, 0
	}
	return byConst(r.terms[0].Node, uop.Mod)
}

// mod is l − n·div(l, n) for n > 0.
func (x *index) mod(l *linear, n int) *linear {
	_, r := l.split(n)
	for i := 0; i < len(r.terms); i++ { // c·(z mod m) is c·z, modulo n, if n divides c·m
		t := r.terms[i]
		z, m := byConst(t.Node, uop.Mod)
		if z == nil || times(t.Coef, m)%n != 0 {
			continue
		}
		if s := r.plus(atom(t.Node), -t.Coef).plus(x.form(z), t.Coef); s != nil {
			_, r = s.split(n)
			i = -1
		}
	}
	if r.isConst() {
		return r
	}
	if m, ok := x.cell(r, n); ok {
		return r.shift(-m * n)
	}
	if two := x.ofTwo(r, func(k int) int { return floorMod(k, n) }); two != nil {
		return two
	}
	if d, a, b := x.coarse(r, n); a != nil {
		if s := x.mod(a, n/d).scale(d); s != nil {
			if s = s.plus(b, 1); s != nil {
				return s
			}
		}
	}
	r, _ = x.raised(r, n)
	return x.leaf(x.t.Make(uop.Mod, dtype.Index, nil, x.node(r), x.t.Index(n)))
}

// raised adds the least multiple m·n to r that makes it not negative, if its bounds are known: machines round toward
// zero, and a dividend that was not negative must not become so.
func (x *index) raised(r *linear, n int) (out *linear, m int) {
	lo := x.linearSpan(r).lo
	if lo >= 0 || lo < deepest {
		return r, 0
	}
	m = floorDiv(n-1-lo, n)
	return r.shift(m * n), m
}

// deepest is how far below zero dividends are raised from: offsets reach that far, numbers that were loaded may reach
// farther, and a sum with their limit would not fit into 32 bits.
const deepest = -1 << 30

// recombine undoes divisions: with q = ⌊z/n⌋, c·(z mod n) + c·n·q = c·z, and
// c·(z mod n) + c·n·(q mod m) = c·(z mod n·m). Each turn leaves fewer remainders.
func (x *index) recombine(l *linear) *linear {
	for i := 0; i < len(l.terms); i++ {
		z, n := byConst(l.terms[i].Node, uop.Mod)
		if z == nil {
			continue
		}
		if s := x.recombineAt(l, l.terms[i], z, n); s != nil {
			l, i = s, -1
		}
	}
	return l
}

func (x *index) recombineAt(l *linear, t Term, dividend *uop.UOp, n int) *linear {
	c := times(t.Coef, n)
	if !small(c) || !slices.ContainsFunc(l.terms, func(p Term) bool { return p.Coef%c == 0 }) {
		return nil
	}
	z := x.form(dividend)
	q := x.form(x.t.Make(uop.IDiv, dtype.Index, nil, dividend, x.t.Index(n)))
	if q.isConst() {
		return nil
	}
	rest := l.plus(atom(t.Node), -t.Coef)
	whole := true
	for _, p := range q.terms {
		whole = whole && l.coef(p.Node) == c*p.Coef
	}
	if whole {
		if s := rest.plus(q, -c); s != nil {
			return s.plus(z, t.Coef)
		}
		return nil
	}
	for _, p := range rest.terms {
		_, m := byConst(p.Node, uop.Mod)
		if m == 0 || p.Coef != c || m > big/n {
			continue
		}
		if qm := x.mod(q, m); len(qm.terms) == 1 && qm.terms[0] == (Term{p.Node, 1}) {
			if s := rest.plus(qm, -c); s != nil {
				return s.plus(x.mod(z, n*m), t.Coef)
			}
		}
	}
	return nil
}

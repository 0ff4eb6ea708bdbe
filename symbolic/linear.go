package symbolic

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Term is a coefficient times a node.
type Term struct {
	Node *uop.UOp
	Coef int
}

// linear is Σ coefficient·node + k, terms in the order of compare, no coefficient 0.
type linear struct {
	terms []Term
	k     int
}

// Affine writes an Index expression as Σ coefficient·node + constant, nodes (ranges, variables, divisions, remainders,
// loads …) in an order that is the same in every run. ok is false for other types and where numbers overflow.
func Affine(e *uop.UOp) (terms []Term, constant int, ok bool) {
	if e.DType() != dtype.Index {
		return nil, 0, false
	}
	l := of(e.Home()).form(e)
	return l.terms, l.k, true
}

// Stride is how much e changes when range r grows by one; ok is false if that is not one constant.
func Stride(e, r *uop.UOp) (stride int, ok bool) {
	x := of(e.Home())
	if e.DType() != dtype.Index {
		return 0, !slices.Contains(x.ranges(e), r)
	}
	for _, t := range x.form(e).terms {
		if t.Node == r {
			stride = t.Coef
		} else if slices.Contains(x.ranges(t.Node), r) {
			return 0, false
		}
	}
	return stride, true
}

func constant(k int) *linear          { return &linear{k: k} }
func atom(u *uop.UOp) *linear         { return &linear{terms: []Term{{u, 1}}} }
func (l *linear) isConst() bool       { return len(l.terms) == 0 }
func (l *linear) shift(k int) *linear { return &linear{l.terms, l.k + k} }
func (l *linear) coef(u *uop.UOp) int {
	for _, t := range l.terms {
		if t.Node == u {
			return t.Coef
		}
	}
	return 0
}

// big is the limit for coefficients and constants: beyond it, sums could leave 64 bits.
const big = 1 << 56

func small(v int) bool { return -big < v && v < big }

// plus is l + c·m; nil on overflow.
func (l *linear) plus(m *linear, c int) *linear {
	out := &linear{k: clamp(l.k + times(c, m.k))}
	if !small(out.k) {
		return nil
	}
	out.terms = make([]Term, 0, len(l.terms)+len(m.terms))
	i, j := 0, 0
	for i < len(l.terms) || j < len(m.terms) {
		order := 1
		switch {
		case j == len(m.terms):
			order = -1
		case i < len(l.terms):
			order = compare(l.terms[i].Node, m.terms[j].Node)
		}
		var t Term
		if order <= 0 {
			t = l.terms[i]
			i++
		}
		if order >= 0 {
			t.Node = m.terms[j].Node
			t.Coef = clamp(t.Coef + times(c, m.terms[j].Coef))
			j++
		}
		if !small(t.Coef) {
			return nil
		}
		if t.Coef != 0 {
			out.terms = append(out.terms, t)
		}
	}
	return out
}

// neg is −l.
func (l *linear) neg() *linear {
	out := &linear{terms: slices.Clone(l.terms), k: -l.k}
	for i := range out.terms {
		out.terms[i].Coef = -out.terms[i].Coef
	}
	return out
}

// scale is c·l; nil on overflow.
func (l *linear) scale(c int) *linear { return constant(0).plus(l, c) }

// linearSpan bounds a linear form.
func (x *index) linearSpan(l *linear) span {
	s := x.termSpan(l.terms).shift(l.k)
	if len(x.facts) > 0 {
		known := x.factSpan(l)
		s = span{max(s.lo, known.lo), min(s.hi, known.hi)}
	}
	return s
}

func (x *index) termSpan(terms []Term) (s span) {
	for _, t := range terms {
		s = s.add(x.span(t.Node).corners(span{t.Coef, t.Coef}, times))
	}
	return s
}

// form is the affine normal form of an Index expression.
func (x *index) form(u *uop.UOp) *linear {
	return fill(&x.forms, u, isArithmetic, x.formOf)
}

// isArithmetic reports whether u is an Index expression that formOf looks into.
func isArithmetic(u *uop.UOp) bool {
	if u.DType() != dtype.Index {
		return false
	}
	switch u.Op() {
	case uop.Neg, uop.Add, uop.Mul, uop.MulAdd, uop.IDiv, uop.Mod, uop.Xor, uop.Shl, uop.Shr, uop.Max:
		return true
	}
	return false
}

func (x *index) formOf(u *uop.UOp) *linear {
	var l *linear
	switch {
	case u.Op() == uop.Const:
		v, _ := u.ConstInt()
		if small(v) {
			return constant(v)
		}
	case u.Op() == uop.Range && u.Arg().(uop.RangeArg).N <= 1 && len(u.Shape()) == 0:
		return constant(0)
	case isArithmetic(u):
		l = x.arithmetic(u)
	}
	if l == nil {
		return atom(u)
	}
	return x.recombine(l)
}

// arithmetic gives the form of an op on forms; nil when it has none but itself.
func (x *index) arithmetic(u *uop.UOp) *linear {
	a := x.form(u.At(0))
	if u.Op() == uop.Neg {
		return a.neg()
	}
	b := x.form(u.At(1))
	switch u.Op() {
	case uop.Add:
		return a.plus(b, 1)
	case uop.Mul:
		return x.product(a, b)
	case uop.MulAdd:
		if p := x.product(a, b); p != nil {
			return p.plus(x.form(u.At(2)), 1)
		}
	case uop.IDiv:
		return x.quotient(a, b)
	case uop.Mod:
		return x.remainder(a, b)
	case uop.Max:
		return x.maximum(a, b)
	case uop.Xor:
		if b.isConst() && b.k == -1 {
			return a.neg().shift(-1)
		}
	case uop.Shl:
		if b.isConst() && b.k >= 0 && b.k < 56 {
			return a.scale(1 << b.k)
		}
	case uop.Shr:
		if b.isConst() && b.k >= 0 && b.k < 56 && x.linearSpan(a).lo >= deepest { // else a quotient would not be raised
			return x.div(a, 1<<b.k)
		}
	}
	return nil
}

func (x *index) product(a, b *linear) *linear {
	switch {
	case b.isConst():
		return a.scale(b.k)
	case a.isConst():
		return b.scale(a.k)
	}
	return x.commuting(uop.Mul, x.node(a), x.node(b))
}

// commuting spells p o q with its operands in order, a constant last.
func (x *index) commuting(o uop.Op, p, q *uop.UOp) *linear {
	if q.Op() != uop.Const && (p.Op() == uop.Const || compare(p, q) > 0) {
		p, q = q, p
	}
	return x.leaf(x.t.Make(o, dtype.Index, nil, p, q))
}

// maximum drops the operand that is never larger.
func (x *index) maximum(a, b *linear) *linear {
	d := a.plus(b, -1)
	if d == nil {
		return nil
	}
	switch s := x.linearSpan(d); {
	case s.lo >= 0:
		return a
	case s.hi <= 0:
		return b
	}
	return x.commuting(uop.Max, x.node(a), x.node(b))
}

// leaf is the form of a node known to be in normal form.
func (x *index) leaf(u *uop.UOp) *linear {
	l := atom(u)
	x.forms.Set(u, l)
	x.built.Set(u, true)
	return l
}

// node spells a form: terms in order, the constant last.
func (x *index) node(l *linear) *uop.UOp {
	var sum *uop.UOp
	for _, t := range l.terms {
		n := t.Node
		switch {
		case t.Coef == -1:
			n = n.Neg()
		case t.Coef != 1:
			n = n.Mul(x.t.Index(t.Coef))
		}
		x.built.Set(n, true)
		if sum == nil {
			sum = n
			continue
		}
		sum = sum.Add(n)
		x.built.Set(sum, true)
	}
	switch {
	case sum == nil:
		return x.t.Index(l.k)
	case l.k != 0:
		sum = sum.Add(x.t.Index(l.k))
		x.built.Set(sum, true)
	}
	x.forms.Set(sum, l)
	return sum
}

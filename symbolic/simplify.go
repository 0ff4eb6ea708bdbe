package symbolic

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// Simplify gives the normal form of an expression, made in table t: Algebra, and for index expressions and the
// guards made of them the affine form, division and remainder folded by bounds, comparisons decided or reduced.
// It keeps values exactly, provided that index arithmetic does not leave 62 bits.
func Simplify(t *uop.Table, e *uop.UOp) *uop.UOp { return Rules.Rewrite(t, e)[0] }

// SimplifyAll simplifies several expressions.
func SimplifyAll(t *uop.Table, es ...*uop.UOp) []*uop.UOp { return Rules.Rewrite(t, es...) }

// Rules are all rules of Simplify.
var Rules = rewrite.Join("symbolic", Algebra, indices)

var indices = rewrite.Rules("indices",
	step("bounds decide", rewrite.OneOf(elementwise...), boundsDecide),
	step("affine", rewrite.OneOf(uop.Neg, uop.Add, uop.Mul, uop.MulAdd, uop.IDiv, uop.Mod, uop.Xor, uop.Shl, uop.Shr, uop.Max), affine),
	step("compare indices", rewrite.OneOf(uop.Less, uop.Equal), compareIndices),
	step("negate comparison", x.Less(y).Xor(one), negateComparison),
	step("guards", rewrite.OneOf(uop.And, uop.Or), guards),
	step("index grid", rewrite.OneOf(uop.Neg, uop.Add, uop.Mul, uop.IDiv, uop.Mod, uop.Max, uop.Xor, uop.Less, uop.Equal, uop.Cast, uop.Where), grid),
	step("where implied", a.Where(x, y), whereImplied),
	step("where of load", a.Where(x, zero), whereOfLoad),
	step("load", rewrite.OneOf(uop.Load), load),
)

func state(m *rewrite.Match) *index {
	return m.Local(indexKey{}, func() any { return &index{t: m.Table} }).(*index)
}

// boundsDecide replaces what can have one value only.
func boundsDecide(m *rewrite.Match) *uop.UOp {
	d := m.Root.DType()
	if !d.IsInt() && d != dtype.Bool {
		return nil
	}
	s := state(m).span(m.Root)
	if s.lo != s.hi || !s.finite() {
		return nil
	}
	return m.Table.ConstOf(d, uop.Value(s.lo))
}

func affine(m *rewrite.Match) *uop.UOp {
	if m.Root.DType() != dtype.Index {
		return nil
	}
	x := state(m)
	if done, _ := x.built.Get(m.Root); done {
		return nil
	}
	return x.node(x.form(m.Root))
}

func compareIndices(m *rewrite.Match) *uop.UOp {
	u := m.Root
	if u.At(0).DType() != dtype.Index {
		return nil
	}
	x := state(m)
	if done, _ := x.built.Get(u); done {
		return nil
	}
	return x.compared(u)
}

// negateComparison turns ¬(p < q) into q < p + 1.
func negateComparison(m *rewrite.Match) *uop.UOp {
	p, q := m.Get(x), m.Get(y)
	if p.DType() != dtype.Index {
		return nil
	}
	s := state(m)
	l := s.form(q).plus(s.form(p), -1)
	if l == nil {
		return nil
	}
	return s.less(l.shift(-1))
}

func guards(m *rewrite.Match) *uop.UOp {
	if m.Root.DType() != dtype.Bool {
		return nil
	}
	x := state(m)
	if done, _ := x.built.Get(m.Root); done {
		return nil
	}
	return x.normal(m.Root.Op(), m.Root)
}

// whereImplied drops an inner choice that the outer condition decides.
func whereImplied(m *rewrite.Match) *uop.UOp {
	g, p, q := m.Get(a), m.Get(x), m.Get(y)
	if p.Op() == uop.Where && implies(g, p.At(0)) {
		return g.Where(p.At(1), q)
	}
	if q.Op() == uop.Where && implies(q.At(0), g) {
		return g.Where(p, q.At(2))
	}
	if q.Op() == uop.Where && impliedWithout(g, q.At(0)) {
		return g.Where(p, q.At(1))
	}
	return nil
}

// impliedWithout reports that every condition of h holds where g does not: what is filled in around an array is chosen outside of it, what is
// computed from its elements inside.
func impliedWithout(g, h *uop.UOp) bool {
	outside := flatten(nil, g, uop.Or)
	covers := func(e *uop.UOp, lo, hi int) bool {
		return slices.ContainsFunc(outside, func(b *uop.UOp) bool {
			of, from, to, ok := Interval(b)
			return ok && of == e && from <= lo && to >= hi
		})
	}
	return !slices.ContainsFunc(Conjuncts(h), func(c *uop.UOp) bool {
		e, lo, hi, ok := Interval(c)
		return !ok || lo > -Unbounded && !covers(e, -Unbounded, lo-1) || hi < Unbounded && !covers(e, hi+1, Unbounded)
	})
}

// implies reports that every condition of h follows from one of g.
func implies(g, h *uop.UOp) bool {
	if g == h {
		return true
	}
	have := Conjuncts(g)
	return !slices.ContainsFunc(Conjuncts(h), func(c *uop.UOp) bool {
		return !slices.ContainsFunc(have, func(b *uop.UOp) bool { return b == c || narrower(b, c) })
	})
}

// narrower reports that b bounds the same index as c on the same side, and more tightly.
func narrower(b, c *uop.UOp) bool {
	if b.Op() != uop.Less || c.Op() != uop.Less || b.At(0).DType() != dtype.Index {
		return false
	}
	for side := range 2 {
		m, ok := b.At(side).ConstValue()
		n, known := c.At(side).ConstValue()
		if ok && known && b.At(1-side) == c.At(1-side) {
			return (side == 0) == (m.Int() >= n.Int())
		}
	}
	return false
}

// whereOfLoad uses that a load is 0 where its gate is false.
func whereOfLoad(m *rewrite.Match) *uop.UOp {
	g, l := m.Get(a), m.Get(x)
	if l.Op() != uop.Load || l.At(1).IsConst(1) {
		return nil
	}
	switch h := l.At(1); {
	case implies(h, g):
		return l
	case implies(g, h):
		return m.Table.Load(l.At(0), g, l.Src()[2:]...)
	}
	return nil
}

// load drops a load whose gate is false, and ranges of one from its index.
func load(m *rewrite.Match) *uop.UOp {
	u := m.Root
	if u.At(1).IsConst(0) {
		return m.Table.ConstOf(u.DType(), 0)
	}
	unit := func(s *uop.UOp) bool {
		return s.Op() == uop.Range && s.Arg().(uop.RangeArg).N <= 1 && len(s.Shape()) == 0
	}
	if !slices.ContainsFunc(u.Src()[2:], unit) {
		return nil
	}
	return u.WithSrc(m.Table, func(s *uop.UOp) *uop.UOp {
		if unit(s) {
			return m.Table.Index(0)
		}
		return s
	})
}

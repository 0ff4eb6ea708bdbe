package codegen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A product of two gated loads is 0 where the gate does not hold. When one factor is known to be finite its gate
// is not needed, because 0 times it is 0, or only as much of it as keeps the load inside its array; then it depends on fewer
// loops and can be staged. Whether it is finite is known at run time only: the kernel looks once, and has both forms.

// light is a load that does with less than its gate while all elements of its array are finite: with nothing (bare), or with the
// conditions on loops that its index depends on.
type light struct {
	name string
	bare bool
}

// lighter says how a load does with less than its gate: it lies inside its array, and the other factor of the product that it is
// in, its partner, keeps what it drops.
func (k *kernel) lighter(l, partner *uop.UOp) (how light, ok bool) {
	gate, index := l.At(1), l.Src()[2:]
	p := k.params[l.At(0).Arg().(uop.ParamArg).Slot]
	if partner == nil || partner.At(1) != gate || gate.Op() == uop.Const || p.Write || !l.DType().IsFloat() || len(index) != len(p.Dims) {
		return how, false
	}
	if slices.ContainsFunc(k.finite, func(f light) bool { return k.values[f.name] == l }) {
		return how, false
	}
	how = light{k.nameOf(l), true}
	for d, x := range index {
		how.bare = how.bare && k.facts.bound(x).within(0, p.Dims[d]-1)
	}
	dropped := 0
	for _, c := range symbolic.Conjuncts(gate) {
		switch {
		case !how.bare && k.about(c, l):
		case !k.keeps(partner, c):
			return how, false
		default:
			dropped++
		}
	}
	if dropped == 0 || how.bare {
		return how, dropped > 0
	}
	known := symbolic.Under(k.t, k.lightGate(l, how))
	for d, x := range index {
		if !known.Within(x, p.Dims[d]) {
			return how, false
		}
	}
	return how, true
}

// partners holds the other factor of each load that is used once only, in a reduction that sums products of two loads. Of three
// factors, two that are finite may have an infinite product.
func (k *kernel) partners() map[*uop.UOp]*uop.UOp {
	roots := k.roots()
	nodes := uop.Topo(roots...)
	uses := map[*uop.UOp]int{}
	for _, u := range roots {
		uses[u]++
	}
	for _, u := range nodes {
		for _, s := range u.Src() {
			uses[s]++
		}
	}
	others := map[*uop.UOp]*uop.UOp{}
	for _, u := range nodes {
		if u.Op() != uop.Reduce || u.Arg().(uop.ReduceArg).Monoid != uop.Sum {
			continue
		}
		product := u.At(0)
		if product.Op() != uop.Mul || uses[product] > 1 {
			continue
		}
		a, b := product.At(0), product.At(1)
		if a == b || a.Op() != uop.Load || b.Op() != uop.Load {
			continue
		}
		if uses[a] == 1 {
			others[a] = b
		}
		if uses[b] == 1 {
			others[b] = a
		}
	}
	return others
}

// about says that a condition is one on a load's indices: a limit of one of them where all are sums over loops, else whatever depends
// on no other loops.
func (k *kernel) about(c, l *uop.UOp) bool {
	var free rangeSet
	one, sums := false, c.Op() == uop.Less && c.At(0).DType() == dtype.Index
	var limited affine
	if sums {
		limited = k.facts.affine(c.At(0)).add(k.facts.affine(c.At(1)), -1)
		sums = limited.plain()
	}
	for _, x := range l.Src()[2:] {
		a := k.facts.affine(x)
		free, sums, one = free.or(k.facts.freeRanges(x)), sums && a.plain(), one || limited.proportional(a)
	}
	return k.facts.freeRanges(c).within(free) && (one || !sums)
}

// keeps says that a load is read under a condition of its gate even if it is finite.
func (k *kernel) keeps(l, c *uop.UOp) bool {
	for _, f := range k.finite {
		if k.values[f.name] == l {
			return !f.bare && k.about(c, l)
		}
	}
	return true
}

// lightGate is what a load keeps of its gate.
func (k *kernel) lightGate(l *uop.UOp, how light) *uop.UOp {
	own := k.t.True()
	for _, c := range symbolic.Conjuncts(l.At(1)) {
		if !how.bare && k.about(c, l) {
			own = k.fold(own.And(c))
		}
	}
	return own
}

func (k *kernel) nameOf(u *uop.UOp) string {
	for _, n := range k.loads {
		if k.values[n] == u {
			return n
		}
	}
	return ""
}

func (k *kernel) assumeFinite(m Directive) error {
	l := k.values[m.Name]
	if l == nil || l.Op() != uop.Load || len(k.groups) > 1 {
		return fmt.Errorf("%s is not a factor that could do with less than its gate", m.Name)
	}
	how, ok := k.lighter(l, k.partners()[l])
	if !ok {
		return fmt.Errorf("%s is not a factor that could do with less than its gate", m.Name)
	}
	k.finite = append(k.finite, how)
	return nil
}

// twoWays builds the nest twice: plainly, and without the gates of factors that are finite.
func (b *builder) twoWays() []Stmt {
	var out []Stmt
	var bad *uop.UOp
	for _, f := range b.finite {
		stmts, flag := b.anyInfinite(b.values[f.name])
		out = append(out, stmts...)
		if bad == nil {
			bad = flag
		} else {
			bad = bad.Max(flag)
		}
	}
	g := b.groups[0]
	outs, values, stages := slices.Clone(b.outs), maps.Clone(b.values), b.stages
	kinds := map[*axis]Kind{}
	for _, a := range b.axes {
		if kinds[a] = a.kind; a.kind != Thread {
			a.kind = Serial
		}
	}
	b.stages = nil
	slow := b.nestOf(g)
	b.outs, b.values, b.stages = outs, values, stages
	for a, kind := range kinds {
		a.kind = kind
	}
	drop, partners := map[*uop.UOp]light{}, b.partners()
	for _, f := range b.finite {
		if l := b.values[f.name]; b.covered(l, partners[l], f) {
			drop[l] = f
		}
	}
	b.rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if how, ok := drop[u]; ok {
			return b.t.Load(src[0], b.lightGate(remake(b.t, u, src), how), src[2:]...)
		}
		return b.fold(remake(b.t, u, src))
	})
	fast := b.nestOf(g)
	return append(out, &If{Cond: bad.Less(bad.Int(1)), Body: fast}, &If{Cond: bad.Int(0).Less(bad), Body: slow})
}

// covered says that what a load drops its partner keeps in the loops that there are now: a split may have changed which of them
// conditions and indices depend on.
func (b *builder) covered(l, partner *uop.UOp, how light) bool {
	return partner != nil && partner.At(1) == l.At(1) && !slices.ContainsFunc(symbolic.Conjuncts(l.At(1)), func(c *uop.UOp) bool {
		return (how.bare || !b.about(c, l)) && !b.keeps(partner, c)
	})
}

// anyInfinite computes 1 when some element of a load's array is infinite or NaN, else 0.
func (b *builder) anyInfinite(l *uop.UOp) ([]Stmt, *uop.UOp) {
	n := l.At(0).Arg().(uop.ParamArg).N
	lanes := min(4*b.width(l.DType()), pow2(n))
	if lanes == 0 {
		lanes = n
	}
	outer, inner := b.newRange(ceilDiv(n, lanes), ""), b.newRange(lanes, "")
	at := minIndex(outer.Mul(b.t.Index(lanes)), b.t.Index(n-lanes)).Add(inner)
	x := b.t.Load(l.At(0), b.t.True(), at)
	one := b.t.Int(dtype.I32, 1)
	test := x.Sub(x).Equal(x.Int(0)).Where(one.Int(0), one)
	b.byR[outer] = &axis{r: outer, full: -1, owner: "finite"}
	b.byR[inner] = &axis{r: inner, full: -1, kind: Vector, owner: "finite"}
	stmts, regs := b.reduce([]*uop.UOp{b.t.ReduceRanges(uop.MaxOf, []*uop.UOp{test}, []*uop.UOp{outer, inner})}, insertionPoint{})
	return stmts, regs[0][0]
}

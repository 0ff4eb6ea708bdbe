package codegen

import (
	"slices"

	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// countedIn is a condition on the i-th of a reduction's loops without which an iteration merges nothing but neutral elements, and can
// be left out; nil: none is known. It speaks of that loop and of variables alone, so that it is the same for all lanes, threads and
// elements: where the size of an axis varies, it ends the loop.
func (b *builder) countedIn(us []*uop.UOp, loops []*axis, i int) *uop.UOp {
	if i >= len(loops) || loops[i].kind != Serial {
		return nil
	}
	var common []*uop.UOp
	for n, u := range us {
		parts, _ := reduceParts(u)
		for j, p := range parts {
			if p.Op() != uop.Where || p.At(2) != p.Const(monoidOf(u).Info().Identity(p.DType(), j)) {
				return nil
			}
			list := symbolic.Conjuncts(p.At(0))
			if n+j == 0 {
				common = list
			}
			common = slices.DeleteFunc(slices.Clone(common), func(c *uop.UOp) bool { return !slices.Contains(list, c) })
		}
	}
	var all *uop.UOp
	for _, c := range common {
		if c = b.possible(c, loops, i); c == nil {
			continue
		}
		if all != nil {
			c = all.And(c)
		}
		all = b.fold(c)
	}
	return all
}

// possible is a comparison of indices where all other loops of the reduction are where it holds soonest; nil where that cannot be told,
// it always holds, or it depends on more than the i-th loop.
func (b *builder) possible(c *uop.UOp, loops []*axis, i int) *uop.UOp {
	if c.Op() != uop.Less {
		return nil
	}
	a := b.facts.affine(c.At(1)).add(b.facts.affine(c.At(0)), -1) // > 0
	own, more := false, b.target.Grid
	soonest := affine{c: a.c}
	for _, t := range a.terms {
		other := slices.ContainsFunc(loops, func(l *axis) bool { return l.r == t.u })
		switch {
		case t.u == loops[i].r:
			own = true
			soonest.terms = append(soonest.terms, t)
		case other:
			more = true
			soonest.c += max(0, t.k*(extent(t.u)-1))
		case !b.facts.freeRanges(t.u).empty() || reads(t.u):
			return nil
		default:
			soonest.terms = append(soonest.terms, t)
		}
	}
	if !own || !more { // of one loop the condition is that of each element: see merging
		return nil
	}
	holds := b.fold(b.t.Index(0).Less(b.fold(soonest.node(b.t))))
	if holds.Op() == uop.Const {
		return nil
	}
	return holds
}

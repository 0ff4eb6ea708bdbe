package codegen

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A mask that loop indices decide, as that of causal attention, leaves whole blocks out. Where nothing looks at a reduction but
// under such a condition, its loops run only if the condition may hold somewhere in the block of lanes and registers: what
// is not computed is not chosen either, whatever its operands are.

// skipWork is how many steps a reduction must have for a condition around it to be worth it.
const skipWork = 16

// under is a condition, or its opposite; a nil node: always.
type under struct {
	cond     *uop.UOp
	opposite bool
}

// demands says under which conditions the values of a place look at each other.
type demands map[*uop.UOp]under

// demand is the condition under which one of the roots looks at u.
func demand(roots []*uop.UOp, u *uop.UOp) under { return demanded(roots)[u] }

// demanded says so of all values.
func demanded(roots []*uop.UOp) demands {
	d := demands{}
	for _, r := range roots {
		d[r] = under{}
	}
	for _, x := range slices.Backward(uop.Topo(roots...)) {
		c := d[x]
		for j, y := range x.Src() {
			if x.Op() == uop.Where && j > 0 && c.cond == nil {
				d.add(y, under{x.At(0), j == 2})
			} else {
				d.add(y, c)
			}
		}
	}
	return d
}

// add notes that a value is looked at under a condition.
func (d demands) add(u *uop.UOp, c under) {
	if old, seen := d[u]; seen && old != c {
		c = under{}
	}
	d[u] = c
}

// anywhere is a condition that holds wherever c does for some values of the ranges that are not given: all others are at
// their best. nil: that may be always.
func (b *builder) anywhere(c under, given rangeSet) *uop.UOp {
	switch u := c.cond; {
	case u.Op() == uop.And && !c.opposite:
		x, y := b.anywhere(under{u.At(0), false}, given), b.anywhere(under{u.At(1), false}, given)
		if x == nil || y == nil {
			if x == nil {
				return y
			}
			return x
		}
		return b.fold(x.And(y))
	case u.Op() == uop.Less && u.At(0).DType() == dtype.Index:
		low, high := b.facts.affine(u.At(0)), b.facts.affine(u.At(1))
		a := low.add(high, -1) // < 0
		if c.opposite {
			a = high.add(low, -1)
			a.c--
		}
		least := affine{c: a.c}
		for _, t := range a.terms {
			switch {
			case b.facts.freeRanges(t.u).within(given) && !reads(t.u):
				least.terms = append(least.terms, t)
			case t.u.Op() != uop.Range:
				return nil
			default:
				least.c += min(0, t.k*(extent(t.u)-1))
			}
		}
		if len(least.terms) == 0 {
			return nil
		}
		return b.fold(least.node(b.t).Less(b.t.Index(0)))
	}
	return nil
}

// reads says that an expression depends on more than ranges and constants.
func reads(u *uop.UOp) bool {
	for _, x := range uop.Topo(u) {
		if !x.Op().Elementwise() && x.Op() != uop.Range && x.Op() != uop.Const && x.Op() != uop.Var {
			return true
		}
	}
	return false
}

// skipping puts a condition around the loops of a reduction whose result nothing looks at otherwise. The first lets are its
// accumulators, which hold what nobody reads then.
func (w *computing) skipping(u *uop.UOp, stmts []Stmt, lets int) []Stmt {
	_, ranges := reduceParts(u)
	steps := 1
	for _, r := range ranges {
		steps *= extent(r)
	}
	if w.target.Grid || w.target.VectorLen(widest) == 0 || steps < skipWork || w.carrying.is(u) {
		return stmts
	}
	c := demand(w.sp.roots, u)
	if c.cond == nil {
		return stmts
	}
	cond := w.anywhere(c, w.sp.open.minus(w.sp.unrolled))
	if cond == nil {
		return stmts
	}
	return append(stmts[:lets:lets], when(cond, stmts[lets:]...)...)
}

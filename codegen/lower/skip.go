package lower

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A mask that loop indices decide, as that of causal attention, leaves whole blocks out. Where nothing looks at a reduction but
// under such a condition, its loops run only if the condition may hold somewhere in the block of lanes and registers: what
// is not computed is not chosen either, whatever its operands are.

// skipWork is how many steps a reduction must have for a condition around it to be worth it.
const skipWork = 16

// anywhere is a condition that holds wherever c does for some values of the ranges that are not given: all others are at
// their best. nil: that may be always.
func (b *builder) anywhere(c nest.Under, given affine.RangeSet) *uop.UOp {
	switch u := c.Cond; {
	case u.Op() == uop.And && !c.Opposite:
		x, y := b.anywhere(nest.Under{Cond: u.At(0), Opposite: false}, given), b.anywhere(nest.Under{Cond: u.At(1), Opposite: false}, given)
		if x == nil || y == nil {
			if x == nil {
				return y
			}
			return x
		}
		return b.Fold(x.And(y))
	case u.Op() == uop.Less && u.At(0).DType() == dtype.Index:
		low, high := b.Facts.Form(u.At(0)), b.Facts.Form(u.At(1))
		a := low.Add(high, -1) // < 0
		if c.Opposite {
			a = high.Add(low, -1)
			a.Const--
		}
		least := affine.Form{Const: a.Const}
		for _, t := range a.Terms {
			switch {
			case b.Facts.FreeRanges(t.Node).Within(given) && !codegen.Reads(t.Node):
				least.Terms = append(least.Terms, t)
			case t.Node.Op() != uop.Range:
				return nil
			default:
				least.Const += min(0, t.Coef*(codegen.Extent(t.Node)-1))
			}
		}
		if len(least.Terms) == 0 {
			return nil
		}
		return b.Fold(least.Node(b.Table).Less(b.Table.Index(0)))
	}
	return nil
}

// skipping puts a condition around the loops of a reduction whose result nothing looks at otherwise. The first lets are its
// accumulators, which hold what nobody reads then.
func (w *computing) skipping(u *uop.UOp, stmts []codegen.Stmt, lets int) []codegen.Stmt {
	_, ranges := codegen.ReduceParts(u)
	steps := 1
	for _, r := range ranges {
		steps *= codegen.Extent(r)
	}
	if w.Target.Grid || w.Target.VectorLen(codegen.Widest) == 0 || steps < skipWork || w.carrying.is(u) {
		return stmts
	}
	c := nest.Demand(w.sp.roots, u)
	if c.Cond == nil {
		return stmts
	}
	cond := w.anywhere(c, w.sp.open.Minus(w.sp.unrolled))
	if cond == nil {
		return stmts
	}
	return append(stmts[:lets:lets], when(cond, stmts[lets:]...)...)
}

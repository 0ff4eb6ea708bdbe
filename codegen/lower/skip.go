package lower

import (
	"slices"

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
	if u := c.Cond; u.Op() == uop.And && !c.Opposite {
		x, y := b.anywhere(nest.Under{Cond: u.At(0), Opposite: false}, given), b.anywhere(nest.Under{Cond: u.At(1), Opposite: false}, given)
		if x == nil || y == nil {
			if x == nil {
				return y
			}
			return x
		}
		return b.Fold(x.And(y))
	}
	return b.extreme(c, given, func(n int) int { return min(0, n) })
}

// extreme is a comparison with the ranges that are not given where they add the most, or the least, to the difference of its operands, by what they
// may add; nil where that cannot be said, or nothing is left.
func (b *builder) extreme(c nest.Under, given affine.RangeSet, adds func(n int) int) *uop.UOp {
	u := c.Cond
	if u.Op() != uop.Less || u.At(0).DType() != dtype.Index {
		return nil
	}
	low, high := b.Facts.Form(u.At(0)), b.Facts.Form(u.At(1))
	a := low.Add(high, -1) // < 0
	if c.Opposite {
		a = high.Add(low, -1)
		a.Const--
	}
	at := affine.Form{Const: a.Const}
	for _, t := range a.Terms {
		switch {
		case b.Facts.FreeRanges(t.Node).Within(given) && b.foreseen(t.Node):
			at.Terms = append(at.Terms, t)
		case t.Node.Op() != uop.Range:
			return nil
		default:
			at.Const += adds(t.Coef * (codegen.Extent(t.Node) - 1))
		}
	}
	if len(at.Terms) == 0 {
		return nil
	}
	return b.Fold(at.Node(b.Table).Less(b.Table.Index(0)))
}

// foreseen says that an expression depends on ranges and constants only, or on elements of arrays besides that are the same in all iterations: these say where
// a mask begins, of kernels that are alike but for that.
func (b *builder) foreseen(u *uop.UOp) bool {
	return !slices.ContainsFunc(uop.Topo(u), func(x *uop.UOp) bool {
		if x.Op() == uop.Load {
			a, ok := x.At(0).Arg().(uop.ParamArg)
			return !ok || a.Scratch || b.Params[a.Slot].Write || !b.Facts.FreeRanges(x).Empty()
		}
		return x.Op() != uop.Param && !x.Op().Elementwise() && x.Op() != uop.Range && x.Op() != uop.Const && x.Op() != uop.Var
	})
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

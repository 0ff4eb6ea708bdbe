package schedule

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

var oneHotLaw = rewrite.Named("a sum of which one term counts is that term")

// foldOneHot turns Σ_r where(r = e, f(r), 0) into where(0 ≤ e < n, f(e), 0): a product with one-hot rows, or a
// gather spelled as a comparison with an index grid, is one load. nil where the sum is no such thing.
func foldOneHot(t *uop.Table, v *uop.UOp, ranges []*uop.UOp) *uop.UOp {
	if v.Op() != uop.Where || len(ranges) != 1 || !v.At(2).IsConst(0) {
		return nil
	}
	r := ranges[0]
	for _, c := range symbolic.Conjuncts(v.At(0)) {
		if c.Op() != uop.Equal || !c.At(0).DType().IsInt() {
			continue
		}
		for side := range 2 {
			x, e := uncast(c.At(side), r), c.At(1-side)
			if x != r || dependsOn(e, r) {
				continue
			}
			n := r.Arg().(uop.RangeArg).N
			i := symbolic.Simplify(t, e.Cast(dtype.Index))
			valid := within(t, i, n)
			rest := uop.Substitute(t, map[*uop.UOp]*uop.UOp{c: t.True()}, v)[0]
			f := uop.Substitute(t, map[*uop.UOp]*uop.UOp{r: i}, gated(t, rest, valid, anyLoad))[0]
			if valid != nil {
				f = valid.Where(f, f.Int(0))
			}
			return symbolic.Simplify(t, f)
		}
	}
	return nil
}

// uncast strips casts of a range to integers that hold all its values.
func uncast(e, r *uop.UOp) *uop.UOp {
	for e.Op() == uop.Cast && e.DType().IsInt() {
		_, hi := uop.IntLimits(e.DType())
		if e.DType() != dtype.Index && e.DType() != dtype.U64 && r.Arg().(uop.RangeArg).N-1 > int(hi.Int()) {
			return e
		}
		e = e.At(0)
	}
	return e
}

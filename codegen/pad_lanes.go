package codegen

import "github.com/weft-ml/weft/uop"

// padLanes gives lanes of a reduction whose number vectors do not divide, as the rest of a peeled split, as many more as fill vectors,
// where the target has instructions for some lanes (Target.Masks): those that do not exist take no part.
func (k *kernel) padLanes(a *axis) {
	n := extent(a.r)
	w := k.target.VectorLen(widest)
	if a.owner == "" || !k.target.Masks || a.guard != nil || n < 3 {
		return
	}
	r := ceilDiv(n, w) * w
	if n < w {
		for r = pow2(n); r < n; r *= 2 {
		}
	}
	if r == n {
		return
	}
	wide := k.newRange(r, a.name)
	k.substituteRanges(map[*uop.UOp]*uop.UOp{a.r: wide}, map[*uop.UOp][]*uop.UOp{a.r: {wide}})
	a.r = wide
	k.byR[wide] = a
	a.guard = wide.Less(k.t.Index(n))
}

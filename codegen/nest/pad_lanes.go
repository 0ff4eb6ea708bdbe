package nest

import (
	"github.com/weft-ml/weft/uop"

	"github.com/weft-ml/weft/codegen"
)

// padLanes gives lanes of a reduction whose number vectors do not divide, as the rest of a peeled split, as many more as fill vectors,
// where the target has instructions for some lanes (Target.Masks): those that do not exist take no part.
func (k *applier) padLanes(a *Axis) {
	n := codegen.Extent(a.Range)
	w := k.Target.VectorLen(codegen.Widest)
	if a.Owner == "" || !k.Target.Masks || a.Guard != nil || n < 3 {
		return
	}
	r := codegen.CeilDiv(n, w) * w
	if n < w {
		for r = codegen.Pow2(n); r < n; r *= 2 {
		}
	}
	if r == n {
		return
	}
	wide := k.NewRange(r, a.Name)
	k.substituteRanges(map[*uop.UOp]*uop.UOp{a.Range: wide}, map[*uop.UOp][]*uop.UOp{a.Range: {wide}})
	a.Range = wide
	k.ByRange[wide] = a
	a.Guard = wide.Less(k.Table.Index(n))
}

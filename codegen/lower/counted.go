package lower

import (
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"

	"github.com/weft-ml/weft/codegen"
)

// countedIn is a condition on the i-th of a reduction's loops without which an iteration merges nothing but neutral elements, and can
// be left out; nil: none is known. It speaks of that loop and of variables alone, so that it is the same for all lanes, threads and
// elements: where the size of an axis varies, it ends the loop.
func (b *builder) countedIn(us []*uop.UOp, loops []*nest.Axis, i int) *uop.UOp {
	if i >= len(loops) || loops[i].Kind != codegen.Serial || len(loops) == 1 && !b.Target.Grid { // of one loop it is that of elements: see merging
		return nil
	}
	var where *uop.UOp
	for _, u := range us {
		parts, _ := codegen.ReduceParts(u)
		for j, p := range parts {
			if p.Op() != uop.Where || p.At(2) != p.Const(codegen.MonoidOf(u).Info().Identity(p.DType(), j)) || where != nil && where != p.At(0) {
				return nil
			}
			where = p.At(0)
		}
	}
	c := b.anywhere(nest.Under{Cond: where}, b.Facts.Set(loops[i].Range))
	if c == nil || c.Op() == uop.Const || b.Facts.FreeRanges(c).Empty() {
		return nil
	}
	return c
}

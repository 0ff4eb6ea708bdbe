package codegen

import "github.com/weft-ml/weft/uop"

// countedIn is a condition on the i-th of a reduction's loops without which an iteration merges nothing but neutral elements, and can
// be left out; nil: none is known. It speaks of that loop and of variables alone, so that it is the same for all lanes, threads and
// elements: where the size of an axis varies, it ends the loop.
func (b *builder) countedIn(us []*uop.UOp, loops []*axis, i int) *uop.UOp {
	if i >= len(loops) || loops[i].kind != Serial || len(loops) == 1 && !b.target.Grid { // of one loop it is that of elements: see merging
		return nil
	}
	var where *uop.UOp
	for _, u := range us {
		parts, _ := reduceParts(u)
		for j, p := range parts {
			if p.Op() != uop.Where || p.At(2) != p.Const(monoidOf(u).Info().Identity(p.DType(), j)) || where != nil && where != p.At(0) {
				return nil
			}
			where = p.At(0)
		}
	}
	c := b.anywhere(under{cond: where}, b.facts.set(loops[i].r))
	if c == nil || c.Op() == uop.Const || b.facts.freeRanges(c).empty() {
		return nil
	}
	return c
}

package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// What is read of one array or of another, as of arrays joined along an axis, is a choice between two loads. Where all lanes choose alike,
// the block of statements is built twice, each time for one array, and it is asked once for each block which it is.

const (
	mostChoices = 6   // of a kernel: each is a copy of what lies in it
	mostChosen  = 250 // nodes of a block that is worth a copy
)

// choice is the condition of a choice between arrays that is decided at a place, the same for all lanes there and for all that lies inside, or nil.
func (b *builder) choice(sp insertionPoint) (cond *uop.UOp) {
	if b.Target.Grid || !codegen.MachineVectors(b.Target) || b.carrying != nil || !b.Scanned.Empty() || b.choices == mostChoices {
		return nil
	}
	all := uop.Topo(sp.roots...)
	if len(all) > mostChosen {
		return nil
	}
	for _, u := range all {
		if u.Op() != uop.Where || u.DType() == dtype.Bool || u.DType() == dtype.Index {
			continue
		}
		c := u.At(0)
		free := b.Facts.FreeRanges(c)
		if c.Op() == uop.Less && c.At(0).DType() == dtype.Index && free.Within(sp.open) && free.Disjoint(sp.unrolled) && !codegen.Reads(c) &&
			(sp.lanes || !b.Facts.FreeRanges(u).Within(sp.open)) && loads(u.At(1)) && loads(u.At(2)) {
			cond = c
		}
	}
	return cond
}

func loads(u *uop.UOp) bool {
	return slices.ContainsFunc(uop.Topo(u), func(x *uop.UOp) bool { return x.Op() == uop.Load })
}

// chosen builds a place for each side of a choice.
func (b *builder) chosen(cond *uop.UOp, sp insertionPoint, build func(sp insertionPoint) []codegen.Stmt) (out []codegen.Stmt) {
	b.choices++
	for _, side := range []*uop.UOp{cond, cond.At(1).Less(cond.At(0).Add(b.Table.Index(1)))} {
		side = b.Fold(side)
		one := b.mapPoint(sp, new(uop.Map[*uop.UOp]), func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
			u = b.Fold(codegen.Remake(b.Table, u, src))
			if u.DType() == dtype.Bool && (u.Op() == uop.Less || u.Op() == uop.And) && !codegen.Reads(u) {
				u = symbolic.SimplifyUnder(b.Table, side, u)[0]
			}
			return u
		})
		out = append(out, when(side, build(one)...)...)
	}
	return out
}

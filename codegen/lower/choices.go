package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// What is read of one array or of another, as of arrays joined along an axis, is a choice between two loads. Where all lanes choose alike,
// the block of statements is built twice, each time for one array, and it is asked once for each block which it is.

// Nor do vectors that lie within an array as a whole ask for each of their lanes whether it does, as those of a picture ask whose border is padded:
// where masks take time, the block is built once more, without conditions, for where all of them hold.

const (
	mostChoices = 6   // of a kernel: each is a copy of what lies in it
	mostChosen  = 250 // nodes of a block that is worth a copy
)

// mayBeTwice says that something at a place is a choice between arrays, or loaded under a condition of lanes, and that the place may be built twice.
func (b *builder) mayBeTwice(sp insertionPoint) bool {
	if b.Target.Grid || !codegen.MachineVectors(b.Target) || b.carrying != nil || !b.Scanned.Empty() || b.choices == mostChoices {
		return false
	}
	var lanes affine.RangeSet
	for _, a := range b.Axes {
		if a.Kind == codegen.Vector || a.Kind == codegen.Tile {
			lanes = lanes.Or(b.Facts.Set(a.Range))
		}
	}
	all := uop.Topo(sp.roots...)
	return len(all) <= mostChosen && slices.ContainsFunc(all, func(u *uop.UOp) bool {
		return u.Op() == uop.Where && joined(u) || u.Op() == uop.Load && !b.Facts.FreeRanges(u.At(1)).Disjoint(lanes)
	})
}

// twice builds a place for each side of a condition, if there is one that is worth it.
func (b *builder) twice(loops []*nest.Axis, sp insertionPoint, build func(sp insertionPoint) []codegen.Stmt) []codegen.Stmt {
	if c := b.choice(sp); c != nil {
		b.choices++
		opposite := b.Fold(c.At(1).Less(c.At(0).Add(b.Table.Index(1))))
		return append(when(c, build(b.under(c, sp))...), when(opposite, build(b.under(opposite, sp))...)...)
	}
	c, gates := b.inside(loops, sp)
	if c == nil {
		return nil
	}
	b.choices++
	sp.asked = true
	return append(when(c, build(b.replaceAll(sp, gates))...), when(b.Fold(c.Not()), build(sp)...)...)
}

// choice is the condition of a choice between arrays that is decided at a place, the same for all lanes there and for all that lies inside, or nil.
func (b *builder) choice(sp insertionPoint) (cond *uop.UOp) {
	for _, u := range uop.Topo(sp.roots...) {
		if u.Op() != uop.Where || u.DType() == dtype.Bool || u.DType() == dtype.Index {
			continue
		}
		c := u.At(0)
		free := b.Facts.FreeRanges(c)
		if c.Op() == uop.Less && c.At(0).DType() == dtype.Index && free.Within(sp.open) && free.Disjoint(sp.unrolled) && !codegen.Reads(c) &&
			(sp.lanes || !b.Facts.FreeRanges(u).Within(sp.open)) && joined(u.At(1)) && joined(u.At(2)) {
			cond = c
		}
	}
	return cond
}

// joined says that a value is what some array holds, or one of several; a constant may be in the place of one, where none is chosen.
func joined(u *uop.UOp) bool {
	switch u.Op() {
	case uop.Cast:
		return joined(u.At(0))
	case uop.Where:
		x, y := u.At(1), u.At(2)
		return joined(x) && (joined(y) || y.Op() == uop.Const) || joined(y) && x.Op() == uop.Const
	}
	return u.Op() == uop.Load
}

// under is a place where a comparison of indices holds.
func (b *builder) under(cond *uop.UOp, sp insertionPoint) insertionPoint {
	return b.mapPoint(sp, new(uop.Map[*uop.UOp]), func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		u = b.Fold(codegen.Remake(b.Table, u, src))
		if u.DType() == dtype.Bool && (u.Op() == uop.Less || u.Op() == uop.And) && !codegen.Reads(u) {
			u = symbolic.SimplifyUnder(b.Table, cond, u)[0]
		}
		return u
	})
}

// inside is a condition under which gates of loads hold for all lanes, registers and steps of the loops that are still to be opened, and these gates;
// nil where there are other loops to open before, or no gate that differs between lanes.
func (b *builder) inside(loops []*nest.Axis, sp insertionPoint) (cond *uop.UOp, gates map[*uop.UOp]*uop.UOp) {
	lanes := sp.unrolled
	for _, a := range loops {
		if a.Kind != codegen.Vector && a.Kind != codegen.Tile {
			return nil, nil
		}
		lanes = lanes.Or(b.Facts.Set(a.Range))
	}
	if b.Target.Masks || sp.asked || lanes.Empty() {
		return nil, nil
	}
	gates = map[*uop.UOp]*uop.UOp{}
	differ := false
	given := sp.open.Minus(sp.unrolled)
	cond = b.Table.True()
	for _, u := range uop.Topo(sp.roots...) {
		if u.Op() != uop.Load {
			continue
		}
		for _, g := range symbolic.Conjuncts(u.At(1)) {
			if gates[g] != nil {
				continue
			}
			if x := b.extreme(nest.Under{Cond: g}, given, func(n int) int { return max(0, n) }); x != nil {
				gates[g], cond = b.Table.True(), b.Fold(cond.And(x))
				differ = differ || !b.Facts.FreeRanges(g).Disjoint(lanes)
			}
		}
	}
	if !differ || cond.Op() == uop.Const {
		return nil, nil
	}
	return cond, gates
}

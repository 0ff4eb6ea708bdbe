package nest

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A kernel of several nests goes row by row where their outermost loop is one: all nests for the first row, then all for the second. Threads
// may share the rows.

// findRow finds the outermost axis of all nests, if each of its iterations keeps to rows of its own: whatever one nest writes and another one
// reads or writes, they touch as arrays of rows, each iteration the same row. What directives make of the other loops changes no access; but
// the last part of a loop that is cut may seem to reach beyond a row.
func (k *Kernel) findRow() {
	if len(k.Groups) < 2 {
		return
	}
	row := k.outermost()
	if row == nil || slices.ContainsFunc(k.Outs, func(o codegen.Out) bool { return o.Merge != nil && !k.Owns(o, row.Range) }) {
		return
	}
	if k.rowsApart(row.Range) {
		k.row = row.Range
	}
}

// outermost is the first loop of all nests, or nil.
func (k *Kernel) outermost() *Axis {
	var row *Axis
	for i, g := range k.Groups {
		if len(g.Order) == 0 || i > 0 && g.Order[0] != row || g.Order[0].Owner != "" || g.Order[0].shift || g.Order[0].Full >= 0 {
			return nil
		}
		row = g.Order[0]
	}
	return row
}

// SharedRow is the axis that findRow found, if it is the outermost of all nests still; else nil.
func (k *Kernel) SharedRow() *Axis {
	if k.row == nil || !k.Scanned.Empty() {
		return nil
	}
	if row := k.outermost(); row != nil && row.Range == k.row {
		return row
	}
	return nil
}

// rowsApart says that iterations of r share nothing that any of them writes.
func (k *Kernel) rowsApart(r *uop.UOp) bool {
	touched, written := map[int]*Group{}, map[int]bool{}
	several := map[int]bool{} // touched by more than one nest
	at := map[int][]gatedAt{}
	for _, g := range k.Groups {
		touch := func(param int, gate *uop.UOp, index []*uop.UOp) {
			several[param] = several[param] || touched[param] != nil && touched[param] != g
			touched[param] = g
			at[param] = append(at[param], gatedAt{k.Linear(param, index), gate})
		}
		for _, i := range g.Outs {
			o := k.Outs[i]
			written[o.Param] = true
			touch(o.Param, codegen.OrTrue(k.Table, o.Gate), o.Index)
		}
		for _, u := range uop.Topo(k.rootsOf(g)...) {
			if u.Op() == uop.Load {
				touch(u.At(0).Arg().(uop.ParamArg).Slot, u.At(1), u.Src()[2:])
			}
		}
	}
	for p := range k.Params {
		if several[p] && written[p] && !k.inRows(at[p], r) {
			return false
		}
	}
	return true
}

// gatedAt is where an access goes if its gate holds.
type gatedAt struct {
	affine.Form
	gate *uop.UOp
}

// inRows says that all accesses are to the row r of an array of rows, or to columns r of several such arrays beside each other: what goes to
// another one of these is a multiple of their size.
func (k *Kernel) inRows(at []gatedAt, r *uop.UOp) bool {
	size, apart := at[0].Coeff(r), 0
	reach := size * codegen.Extent(r)
	for _, a := range at {
		for _, t := range a.Terms {
			if codegen.Abs(t.Coef) >= reach && t.Node != r {
				apart = symbolic.GCD(apart, codegen.Abs(t.Coef))
			}
		}
	}
	return size > 0 && (apart == 0 || apart >= reach) && !slices.ContainsFunc(at, func(a gatedAt) bool {
		rest := affine.Form{Const: a.Const}
		for _, t := range a.Terms {
			if t.Node != r && codegen.Abs(t.Coef) < reach {
				rest.Terms = append(rest.Terms, t)
			}
		}
		return a.Coeff(r) != size || !symbolic.Under(k.Table, a.gate).Within(rest.Node(k.Table), size)
	})
}

// SharesRows says that threads may share the rows that all nests of a Spec go through: see sharedRow.
func SharesRows(s *codegen.Spec) (ok bool) {
	defer affine.FewLoops(func() { ok = false })
	k := Bare(s, nil)
	k.canonical()
	k.GroupOuts()
	k.nameAxes()
	k.findRow()
	return k.SharedRow() != nil
}

package codegen

import (
	"slices"

	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A kernel of several nests goes row by row where their outermost loop is one: all nests for the first row, then all for the second. Threads
// may share the rows.

// findRow finds the outermost axis of all nests, if each of its iterations keeps to rows of its own: whatever one nest writes and another one
// reads or writes, they touch as arrays of rows, each iteration the same row. What directives make of the other loops changes no access; but
// the last part of a loop that is cut may seem to reach beyond a row.
func (k *kernel) findRow() {
	if len(k.groups) < 2 {
		return
	}
	row := k.outermost()
	if row == nil || slices.ContainsFunc(k.outs, func(o Out) bool { return o.Merge != nil && !k.ownsSplit(o, row.r) }) {
		return
	}
	if k.rowsApart(row.r) {
		k.row = row.r
	}
}

// outermost is the first loop of all nests, or nil.
func (k *kernel) outermost() *axis {
	var row *axis
	for i, g := range k.groups {
		if len(g.order) == 0 || i > 0 && g.order[0] != row || g.order[0].owner != "" || g.order[0].shift || g.order[0].full >= 0 {
			return nil
		}
		row = g.order[0]
	}
	return row
}

// sharedRow is the axis that findRow found, if it is the outermost of all nests still; else nil.
func (k *kernel) sharedRow() *axis {
	if k.row == nil || !k.scanned.empty() {
		return nil
	}
	if row := k.outermost(); row != nil && row.r == k.row {
		return row
	}
	return nil
}

// rowsApart says that iterations of r share nothing that any of them writes.
func (k *kernel) rowsApart(r *uop.UOp) bool {
	touched, written := map[int]*group{}, map[int]bool{}
	several := map[int]bool{} // touched by more than one nest
	at := map[int][]gatedAt{}
	for _, g := range k.groups {
		touch := func(param int, gate *uop.UOp, index []*uop.UOp) {
			several[param] = several[param] || touched[param] != nil && touched[param] != g
			touched[param] = g
			at[param] = append(at[param], gatedAt{k.linear(param, index), gate})
		}
		for _, i := range g.outs {
			o := k.outs[i]
			written[o.Param] = true
			touch(o.Param, orTrue(k.t, o.Gate), o.Index)
		}
		for _, u := range uop.Topo(k.rootsOf(g)...) {
			if u.Op() == uop.Load {
				touch(u.At(0).Arg().(uop.ParamArg).Slot, u.At(1), u.Src()[2:])
			}
		}
	}
	for p := range k.params {
		if several[p] && written[p] && !k.inRows(at[p], r) {
			return false
		}
	}
	return true
}

// gatedAt is where an access goes if its gate holds.
type gatedAt struct {
	affine
	gate *uop.UOp
}

// inRows says that all accesses are to the row r of an array of rows.
func (k *kernel) inRows(at []gatedAt, r *uop.UOp) bool {
	size := at[0].coeff(r)
	return size > 0 && !slices.ContainsFunc(at, func(a gatedAt) bool {
		rest := affine{c: a.c}
		for _, t := range a.terms {
			if t.u != r {
				rest.terms = append(rest.terms, t)
			}
		}
		return a.coeff(r) != size || !symbolic.Under(k.t, a.gate).Within(rest.node(k.t), size)
	})
}

// rowByRow makes one loop of those of all nests over the threads' axis.
func rowByRow(stmts []Stmt) []Stmt {
	var rows *Loop
	var out []Stmt
	for _, s := range stmts {
		l, ok := s.(*Loop)
		switch {
		case !ok || l.Kind != Thread:
			out = append(out, s) // needed by a later nest; it reads nothing that another one writes, because that is apart by rows
			continue
		case rows == nil:
			rows = l
			continue
		}
		rows.Body = append(slices.Clone(rows.Body), l.Body...)
	}
	if rows != nil {
		out = append(out, rows)
	}
	return out
}

// SharesRows says that threads may share the rows that all nests of a Spec go through: see sharedRow.
func SharesRows(s *Spec) (ok bool) {
	defer fewLoops(func() { ok = false })
	k := bareKernel(s, nil)
	k.canonical()
	k.groupOuts()
	k.nameAxes()
	k.findRow()
	return k.sharedRow() != nil
}

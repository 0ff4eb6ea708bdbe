package c

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/uop"
)

// A block of results that goes along two axes stores those of one row and those of another by turns, in whichever order the axes stand. Neighbours
// are stored behind each other instead, where turnStores finds them.

// neighboursTogether puts stores of lanes that lie apart in the order of their places, where they follow each other and come by turns. Names that are
// given between them come before all of them.
func (r *renderer) neighboursTogether(stmts []codegen.Stmt) []codegen.Stmt {
	if r.n < 4 || r.mask != "" || r.n*32 != 512 {
		return stmts
	}
	for i := 0; i < len(stmts); i++ {
		lets, stores := r.spreadStores(stmts[i:])
		n := len(lets) + len(stores)
		if order := inOrder(stores, r.n); order != nil {
			out := slices.Concat(stmts[:i], lets)
			for _, s := range order {
				out = append(out, s.Store)
			}
			stmts = append(out, stmts[i+n:]...)
		}
		i += max(0, n-1)
	}
	return stmts
}

// spreadStore is a store whose lanes lie apart.
type spreadStore struct {
	*codegen.Store
	base        *uop.UOp
	place, step int // of the first lane, from the base, and from lane to lane
}

// spreadStores are the stores to the same rows with which some statements begin, and the names that are given between them.
func (r *renderer) spreadStores(stmts []codegen.Stmt) (lets []codegen.Stmt, stores []spreadStore) {
	for _, s := range stmts {
		if l, ok := s.(*codegen.Let); ok && len(stores) > 0 && !loads(l.Value) {
			lets = append(lets, s)
			continue
		}
		st, ok := s.(*codegen.Store)
		if !ok || !r.vec(st.Index[0]) || r.past(st.Buf) || slices.ContainsFunc(uop.Topo(st.Value), func(u *uop.UOp) bool { return r.changes(u) && !laid(u, st.Buf) }) {
			break
		}
		base, place, step, ok := affine.StridedFrom(st.Index[0].Home(), st.Index[0], r.lane, r.vary)
		if !ok || slices.ContainsFunc(uop.Topo(base), r.changes) || len(stores) > 0 && (st.Buf != stores[0].Buf || base != stores[0].base || step != stores[0].step) {
			break
		}
		stores = append(stores, spreadStore{st, base, place, step})
	}
	return lets, stores
}

// inOrder gives stores of so many lanes in the order of their places, or nil where they are in it, have too few neighbours, or store the same.
func inOrder(stores []spreadStore, lanes int) []spreadStore {
	place := func(a, b spreadStore) int { return a.place - b.place }
	if len(stores) < leastTurned || slices.IsSortedFunc(stores, place) {
		return nil
	}
	out := slices.Clone(stores)
	slices.SortStableFunc(out, place)
	run, most := 1, 1
	for i, x := range out {
		for _, y := range out[:i] {
			if d := x.place - y.place; x.step <= 0 || d%x.step == 0 && d/x.step < lanes {
				return nil
			}
		}
		if i > 0 && x.place == out[i-1].place+1 {
			run++
		} else {
			run = 1
		}
		most = max(most, run)
	}
	if most < leastTurned {
		return nil
	}
	return out
}

package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Variation says which registers and scratch buffers differ between the values of a range.
type Variation struct {
	set   map[*uop.UOp]bool
	Order []*uop.UOp // these, in the order in which they were found
	memo  uop.Map[bool]
	local map[*uop.UOp]bool // declared inside
	lanes bool              // one block of code serves all values: what it declares is not declared for each
}

// VariationOver finds what differs between the values of r in the body of its loop.
func VariationOver(stmts []Stmt, r *uop.UOp) *Variation { return variation(stmts, r, false) }

func variation(stmts []Stmt, r *uop.UOp, lanes bool) *Variation {
	v := &Variation{set: map[*uop.UOp]bool{r: true}, local: map[*uop.UOp]bool{}, lanes: lanes}
	Visit(stmts, func(s Stmt) {
		switch s := s.(type) {
		case *Let:
			v.local[s.Reg] = true
		case *Alloc:
			v.local[s.Buf] = true
		}
	})
	for again := true; again; {
		again = v.sweep(stmts, false)
		v.memo = uop.Map[bool]{}
	}
	return v
}

func (v *Variation) add(u *uop.UOp) bool {
	if v.set[u] || !v.local[u] {
		return false
	}
	v.set[u] = true
	v.Order = append(v.Order, u)
	return true
}

// sweep finds more of them; under says that an enclosing condition varies.
func (v *Variation) sweep(stmts []Stmt, under bool) (found bool) {
	for _, s := range stmts {
		dep := under || slices.ContainsFunc(Exprs(s), v.Depends)
		switch s := s.(type) {
		case *Let:
			if v.lanes {
				dep = v.Depends(s.Value)
			}
			found = dep && v.add(s.Reg) || found
		case *Set:
			for i, r := range s.Regs {
				found = (under || v.Depends(s.Values[i])) && v.add(r) || found
			}
		case *HorizontalReduce:
			for _, r := range s.Regs {
				found = dep && v.add(r) || found
			}
		case *Store:
			found = dep && v.add(s.Buf) || found
		case *MatrixProduct:
			found = (dep || v.set[s.A] || v.set[s.B]) && v.add(s.Acc) || found
		case *If:
			found = v.sweep(s.Body, dep) || found
		case *Loop:
			found = v.sweep(s.Body, under) || found
		}
	}
	return found
}

// Depends says whether an expression differs between the values of the range.
func (v *Variation) Depends(u *uop.UOp) bool {
	if d, ok := v.memo.Get(u); ok {
		return d
	}
	uop.Walk([]*uop.UOp{u}, func(u *uop.UOp) bool { _, ok := v.memo.Get(u); return ok }, func(u *uop.UOp) {
		d := v.set[u]
		for _, s := range u.Src() {
			x, _ := v.memo.Get(s)
			d = d || x
		}
		v.memo.Set(u, d)
	})
	d, _ := v.memo.Get(u)
	return d
}

// Stmt says whether anything in a statement does.
func (v *Variation) Stmt(s Stmt) bool {
	if slices.ContainsFunc(Exprs(s), v.Depends) {
		return true
	}
	switch s := s.(type) {
	case *Alloc:
		return v.set[s.Buf]
	case *Store:
		return v.set[s.Buf]
	case *MatrixProduct:
		return v.set[s.Acc] || v.set[s.A] || v.set[s.B]
	case *Set:
		return slices.ContainsFunc(s.Regs, v.Depends)
	case *HorizontalReduce:
		return slices.ContainsFunc(s.Regs, v.Depends)
	case *SubgroupReduce:
		return v.Depends(s.Reg)
	case *Let:
		return v.set[s.Reg]
	}
	return slices.ContainsFunc(Body(s), v.Stmt)
}

// Varying says which values differ between the lanes of a Vector loop.
func Varying(l *Loop) func(u *uop.UOp) bool {
	return variation(l.Body, l.Range, true).Depends
}

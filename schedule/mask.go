package schedule

import "github.com/weft-ml/weft/uop"

// masks are the reductions that nobody looks at but through one selection, whose condition follows from indices and variables alone, as
// what of an axis counts or what comes before in time. Where one is stored the selection is stored instead: then what is not looked at need not
// be computed, and whoever writes the kernel has its loops pass over it.
func (s *scheduler) masks() map[*uop.UOp]*uop.UOp {
	users := map[*uop.UOp]*uop.UOp{} // nil: several
	for _, u := range s.topo {
		for _, x := range u.Src() {
			if w, met := users[x]; met && w != u {
				users[x] = nil
			} else {
				users[x] = u
			}
		}
	}
	for _, r := range s.roots {
		users[r] = nil
	}
	out := map[*uop.UOp]*uop.UOp{}
	for u, w := range users {
		if u.Op() == uop.Reduce && w != nil && w.Op() == uop.Where && w.At(0) != u && (w.At(1) != u || w.At(2) != u) &&
			repeats(w.At(1), u) && repeats(w.At(2), u) && indexed(w.At(0)) {
			out[u] = w
		}
	}
	return out
}

// repeats says whether one side of a selection is the reduction itself or a constant.
func repeats(x, u *uop.UOp) bool {
	if x == u {
		return true
	}
	for x.Op() == uop.Reshape || x.Op() == uop.Expand {
		x = x.At(0)
	}
	return x.Op() == uop.Const
}

// indexed says that a condition reads no array.
func indexed(c *uop.UOp) bool {
	for _, x := range uop.Topo(c) {
		if !x.Op().Elementwise() && !x.Op().IsMovement() && x.Op() != uop.Range && x.Op() != uop.Const && x.Op() != uop.Var {
			return false
		}
	}
	return true
}

// keepMasked has a selection stored.
func (s *scheduler) keepMasked(w *uop.UOp, why string, plans map[*uop.UOp]*plannedKernel) {
	why += "; with its mask"
	s.stored[w] = why
	s.reasons = append(s.reasons, Reason{w.String(), true, why})
	plans[w] = s.newPlan(w)
}

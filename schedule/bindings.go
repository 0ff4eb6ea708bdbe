package schedule

import (
	"maps"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// fit stores some more nodes where a kernel would read more buffers than a device can bind. It goes from the
// leaves up: where the operands of a node need too many buffers together, those that need most are stored.
func (s *scheduler) fit() {
	most := s.config.MaxBindings - 1 // one is written
	if s.config.MaxBindings == 0 {
		return
	}
	needs := map[*uop.UOp]map[*uop.UOp]bool{}
	of := func(u *uop.UOp) map[*uop.UOp]bool {
		for u.Op().IsMovement() || u.Op() == uop.Detach {
			u = u.At(0)
		}
		if _, ok := s.stored[u]; ok || u.Op() == uop.Param {
			return map[*uop.UOp]bool{u: true}
		}
		return needs[u]
	}
	for _, u := range s.topo {
		if u.Op() == uop.Param || u.Op() == uop.Const || u.Op() == uop.Var {
			continue
		}
		for {
			all := map[*uop.UOp]bool{}
			for _, x := range s.operands(u) {
				maps.Copy(all, of(x))
			}
			if needs[u] = all; len(all) <= most {
				break
			}
			var worst *uop.UOp
			for _, x := range s.operands(u) {
				if v := storable(x); v != nil && len(of(x)) > 1 && (worst == nil || len(of(x)) > len(of(worst))) {
					worst = v
				}
			}
			if worst == nil {
				break // each operand is one buffer: no op has so many
			}
			why := "its kernel would bind more buffers than the device can"
			s.stored[worst], s.plans[worst] = why, &plannedKernel{}
			s.reasons = append(s.reasons, Reason{worst.String(), true, why})
		}
	}
}

// operands are those that a kernel computes.
func (s *scheduler) operands(u *uop.UOp) []*uop.UOp {
	if u.Op() == uop.Detach { // the rest is for differentiation
		return u.Src()[:1]
	}
	return u.Src()
}

// storable is the node below movement that can have memory of its own, or nil.
func storable(u *uop.UOp) *uop.UOp {
	for u.Op().IsMovement() || u.Op() == uop.Detach {
		u = u.At(0)
	}
	if u.DType() == dtype.Index || u.Op() == uop.Param || u.Op() == uop.Const || u.Op() == uop.Var || u.Op() == uop.Reduce && u.Arg().(uop.ReduceArg).Parts > 1 {
		return nil
	}
	return u
}

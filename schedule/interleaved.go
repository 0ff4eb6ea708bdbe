package schedule

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Movement costs nothing where elements that were neighbours stay so. Pixels that were channels (Shi et al., "Real-time single image and video
// super-resolution", 2016) and those that are repeated do not: lanes of a kernel would load them one by one, for each use again.
const (
	atOnce    = 16 // how many neighbours are loaded at once, about
	readOften = 8  // of an element, in sums: then it is worth storing what was moved
)

// chooseMoved says that a reshape makes rows of elements that lie apart, which sums read often.
func (s *scheduler) chooseMoved(u *uop.UOp, uses []use) (bool, string) {
	if u.Op() != uop.Reshape || u.At(0).Op() != uop.Permute && u.At(0).Op() != uop.Expand || len(u.Shape()) == 0 || u.Shape().Numel() == 0 || s.config.StoreAll {
		return false, ""
	}
	times := 0.0
	for _, v := range uses {
		if v.inner {
			times += v.evaluations() / float64(u.Shape().Numel())
		}
	}
	if times < readOften || !s.interleaved(u) || s.interleaved(u.At(0)) {
		return false, ""
	}
	return true, fmt.Sprintf("what are neighbours in it lies apart, and sums read each element %.0f times", times)
}

// interleaved says that neighbours along the last axis of something moved lie apart in what it was moved from, by turns.
func (s *scheduler) interleaved(u *uop.UOp) bool {
	idx := make([]*uop.UOp, len(u.Shape()))
	for i, n := range u.Shape() {
		idx[i] = s.t.Range(i, n, "")
	}
	last := idx[len(idx)-1]
	for u.Op().IsMovement() {
		var valid *uop.UOp
		if idx, valid = through(s.t, u, idx); valid != nil {
			return false
		}
		u = u.At(0)
	}
	if u.Op() == uop.Param && s.graph.Inputs[u.Arg().(uop.ParamArg).Slot].Walked {
		return false // kernels see it in this order, too
	}
	for _, e := range uop.Topo(idx...) {
		if e.Op() != uop.Mod && e.Op() != uop.IDiv || e.DType() != dtype.Index {
			continue
		}
		if n, ok := e.At(1).ConstInt(); ok && n < atOnce && slices.Contains(uop.Topo(e.At(0)), last) {
			return true
		}
	}
	return false
}

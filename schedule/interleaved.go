package schedule

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Movement costs nothing where elements that were neighbours stay so. Pixels that were channels (Shi et al., "Real-time single image and video
// super-resolution", 2016) and those that are repeated do not, nor what is taken by turns from several arrays or has zeros between: lanes of a
// kernel would load them one by one, for each use again.
const (
	atOnce    = 16 // how many neighbours are loaded at once, about
	readOften = 8  // of an element, in sums: then it is worth storing what was moved
)

// chooseMoved says that a reshape makes rows of elements that lie apart, which sums read often.
func (s *scheduler) chooseMoved(u *uop.UOp, uses []use) (bool, string) {
	if u.Op() != uop.Reshape || len(u.Shape()) == 0 || u.Shape().Numel() == 0 || s.config.StoreAll {
		return false, ""
	}
	var padded []int
	switch u.At(0).Op() {
	case uop.Permute, uop.Expand:
	case uop.Pad, uop.Where:
		if padded = paddedAxes(u.At(0)); padded == nil {
			return false, ""
		}
	default:
		return false, ""
	}
	times := 0.0
	for _, v := range uses {
		if v.inner {
			times += v.evaluations() / float64(u.Shape().Numel())
		}
	}
	if times < readOften {
		return false, ""
	}
	if padded != nil {
		if !s.byTurns(u, padded) {
			return false, ""
		}
		return true, fmt.Sprintf("neighbours in it come from several arrays by turns, and sums read each element %.0f times", times)
	}
	if !s.interleaved(u) || s.interleaved(u.At(0)) {
		return false, ""
	}
	return true, fmt.Sprintf("what are neighbours in it lies apart, and sums read each element %.0f times", times)
}

// interleaved says that neighbours along the last axis of something moved lie apart in what it was moved from, by turns.
func (s *scheduler) interleaved(u *uop.UOp) bool {
	idx, last := s.neighbours(u)
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
	return turns(last, idx...)
}

// neighbours are ranges of the axes of a node, and that of the last one with neighbours.
func (s *scheduler) neighbours(u *uop.UOp) (idx []*uop.UOp, last *uop.UOp) {
	idx = make([]*uop.UOp, len(u.Shape()))
	for i, n := range u.Shape() {
		idx[i] = s.t.Range(i, n, "")
		if n > 1 || last == nil {
			last = idx[i]
		}
	}
	return idx, last
}

// turns says that indices divide what a range is part of by a small number.
func turns(last *uop.UOp, idx ...*uop.UOp) bool {
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

// paddedAxes are the axes along which something is padded, or parts are selected by place (uop.Join).
func paddedAxes(u *uop.UOp) (axes []int) {
	switch u.Op() {
	case uop.Pad:
		a := u.Arg().(uop.PadArg)
		for i := range u.Shape() {
			if a.Lo.At(i) != 0 || a.Hi.At(i) != 0 {
				axes = append(axes, i)
			}
		}
	case uop.Where:
		axes = append(paddedAxes(u.At(1)), paddedAxes(u.At(2))...)
	}
	return axes
}

// byTurns says that neighbours along the last axis of a reshape lie, by turns, at few places of an axis along which its operand is padded.
func (s *scheduler) byTurns(u *uop.UOp, padded []int) bool {
	idx, last := s.neighbours(u)
	src, _ := through(s.t, u, idx)
	return slices.ContainsFunc(padded, func(axis int) bool { return turns(last, src[axis]) })
}

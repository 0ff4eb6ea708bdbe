package schedule

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// uniform gives an index array's element at idx where it follows from ranges and numbers that the whole graph shares,
// which are variables then; nil where it comes from other data, or from no such number.
func (s *scheduler) uniform(index *uop.UOp, idx []*uop.UOp) *uop.UOp {
	if !s.shared(index) {
		return nil
	}
	return s.symbol(index, idx).Cast(dtype.Index)
}

// shared says whether an index array is made of grids, constants and at least one element of a uniform input.
func (s *scheduler) shared(index *uop.UOp) bool {
	found := false
	for _, u := range uop.Topo(index) {
		switch {
		case u.Op() == uop.Param:
			if u.Arg().(uop.ParamArg).Slot < len(s.graph.Inputs)-s.graph.Uniform {
				return false
			}
			found = true
		case u.Op() == uop.Const, u.Op() == uop.Range, u.Op().Elementwise(), u.Op() == uop.Reshape, u.Op() == uop.Expand, u.Op() == uop.Shrink:
		default:
			return false
		}
	}
	return found
}

// symbol is the element of u at idx.
func (s *scheduler) symbol(u *uop.UOp, idx []*uop.UOp) *uop.UOp {
	if len(u.Shape()) == 0 {
		idx = nil
	}
	switch {
	case u.Op() == uop.Const:
		return u
	case u.Op() == uop.Param:
		return s.t.Make(uop.Var, u.DType(), uop.VarArg{Name: fmt.Sprintf("in%d[%v]", u.Arg().(uop.ParamArg).Slot, idx[0])})
	case u.Op() == uop.Range:
		return idx[0]
	case u.Op().IsMovement():
		src, _ := through(s.t, u, idx)
		return s.symbol(u.At(0), src)
	}
	src := make([]*uop.UOp, len(u.Src()))
	for i, x := range u.Src() {
		src[i] = s.symbol(x, idx)
	}
	return s.t.Make(u.Op(), u.DType(), u.Arg(), src...)
}

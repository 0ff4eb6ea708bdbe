package schedule

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// uniform gives an index array's element at idx where it follows from ranges and numbers that the whole graph shares,
// which are variables then; nil where it comes from other data, or from no such number.
func (s *scheduler) uniform(index *uop.UOp, idx []*uop.UOp) *uop.UOp {
	if s.graph.Uniform == 0 && len(s.graph.Vars) == 0 || s.origin(index) != fromNumbers {
		return nil
	}
	w := symbols{s: s}
	if v := w.of(index, idx, map[*uop.UOp]*uop.UOp{}); v != nil {
		return v.Cast(dtype.Index)
	}
	return nil
}

// origin is what an index array is made of.
type origin uint8

const (
	fromGrids   origin = iota + 1 // grids and constants
	fromNumbers                   // and at least one element of a uniform input
	fromData                      // something else
)

func (s *scheduler) origin(u *uop.UOp) origin {
	if o := s.origins[u]; o != 0 {
		return o
	}
	o := fromGrids
	switch {
	case u.Op() == uop.Param:
		o = fromNumbers
		if u.Arg().(uop.ParamArg).Slot < len(s.graph.Inputs)-s.graph.Uniform {
			o = fromData
		}
	case u.Op() == uop.Const, u.Op() == uop.Range:
	case u.Op() == uop.Var:
		o = fromNumbers
	case u.Op().Elementwise(), u.Op() == uop.Reshape, u.Op() == uop.Expand, u.Op() == uop.Shrink:
		for _, x := range u.Src() {
			o = max(o, s.origin(x))
		}
	default:
		o = fromData
	}
	s.origins[u] = o
	return o
}

// symbols writes elements of index arrays as expressions.
type symbols struct {
	s     *scheduler
	steps int
}

// mostSteps bounds an expression: a node that is reached in two ways, each with another index, has two.
const mostSteps = 200

// of is the element of u at idx, nil if it takes too many steps. Known are those of other nodes at idx.
func (w *symbols) of(u *uop.UOp, idx []*uop.UOp, known map[*uop.UOp]*uop.UOp) *uop.UOp {
	if v := known[u]; v != nil {
		return v
	}
	if w.steps++; w.steps > mostSteps {
		return nil
	}
	known[u] = w.make(u, idx, known)
	return known[u]
}

func (w *symbols) make(u *uop.UOp, idx []*uop.UOp, known map[*uop.UOp]*uop.UOp) *uop.UOp {
	t := w.s.t
	if len(u.Shape()) == 0 {
		idx = nil
	}
	switch {
	case u.Op() == uop.Const, u.Op() == uop.Var:
		return u
	case u.Op() == uop.Param:
		return t.Make(uop.Var, u.DType(), uop.VarArg{Name: fmt.Sprintf("in%d[%v]", u.Arg().(uop.ParamArg).Slot, idx[0])})
	case u.Op() == uop.Range:
		return idx[0]
	case u.Op().IsMovement():
		src, _ := through(t, u, idx)
		return w.of(u.At(0), src, map[*uop.UOp]*uop.UOp{})
	}
	src := make([]*uop.UOp, len(u.Src()))
	for i, x := range u.Src() {
		if src[i] = w.of(x, idx, known); src[i] == nil {
			return nil
		}
	}
	return t.Make(u.Op(), u.DType(), u.Arg(), src...)
}

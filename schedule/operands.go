package schedule

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Loops and kernels that the program wrote read whole arrays, and write such.

// distinct are arguments with copies in the place of those that are there before.
func distinct(args []*uop.UOp) []*uop.UOp {
	var out, arrays []*uop.UOp
	for _, x := range args {
		if x.Op() == uop.Const || x.Op() == uop.Var {
			x = x.Contiguous()
		}
		for slices.Contains(arrays, array(x)) {
			x = x.Contiguous()
		}
		out, arrays = append(out, x), append(arrays, array(x))
	}
	return out
}

// array is the node whose memory a node has, if it has any.
func array(u *uop.UOp) *uop.UOp {
	for u.Op() == uop.Reshape {
		u = u.At(0)
	}
	return u
}

func (s *scheduler) keep(u *uop.UOp, why string) {
	if _, ok := s.stored[u]; !ok {
		s.stored[u] = why
	}
}

// keepWith has a node and its operands stored.
func (s *scheduler) keepWith(u *uop.UOp, why, whyOperands string) {
	s.keep(u, why)
	for _, x := range u.Src() {
		if x = array(x); x.Op() != uop.Param {
			s.keep(x, whyOperands)
		}
	}
}

// memoryOf is the buffer of an operand.
func (s *scheduler) memoryOf(x *uop.UOp) int {
	v := array(x)
	if v.DType() == dtype.Index {
		panic("BUG: an operand is an index, which has no memory")
	}
	if v.Op() == uop.Param {
		return v.Arg().(uop.ParamArg).Slot
	}
	buf, ok := s.bufOf[v]
	if !ok {
		panic("BUG: an operand has no memory")
	}
	return buf
}

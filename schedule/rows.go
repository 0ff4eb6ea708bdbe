package schedule

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A product of few rows with a matrix reads each element of the matrix once, and takes as long as memory does. That gives most to a thread that
// goes through neighbours, row after row. Threads that share the columns leave out a part of each row, of which processors that read ahead bring
// some all the same; with several rows at a time they go through several parts of memory. So where rows are not so long that a share of one is a
// stream of its own, threads share the rows: the sum is one of partial results, each of some rows, whole, that follow each other.
const (
	wholeRow   = 16 // such a part of Config.WholeRows has a row of which shares are long enough
	wholeSteps = 32 // rows of a part, at least
	mostWhole  = 16 // parts
	leastWhole = 4  // parts, of which threads find too few
)

// wholeRows is in how many parts the sum u over the rows of a matrix should be cut, and the axis of these rows; 0 for none.
func (s *scheduler) wholeRows(u *uop.UOp) (axis, parts int) {
	if !isSum(u) {
		return 0, 0
	}
	axes, in := u.Arg().(uop.ReduceArg).Axes.Slice(), u.At(0).Shape()
	if len(axes) != 1 || in[axes[0]] < leastWhole*wholeSteps || u.At(0).Varies(axes[0]) {
		return 0, 0
	}
	axis = axes[0]
	for _, l := range s.leavesOf(u.At(0)) {
		row := l.stride(axis)
		within, matrices := 1, 1
		for _, t := range l.terms {
			switch a := t.Node.Arg().(uop.RangeArg); {
			case a.ID == axis:
			case t.Coef < row:
				within *= a.N
			default:
				matrices *= a.N
			}
		}
		rowBytes := row * l.u.DType().Size()
		if within < row || rowBytes >= s.config.WholeRows/wholeRow || rowBytes*in[axis]*matrices < s.config.WholeRows || u.Shape().Numel()*u.DType().Size() > codegen.WholeSums*rowBytes*matrices {
			continue
		}
		parts = max(parts, min(mostWhole/matrices, in[axis]/wholeSteps))
	}
	if parts < leastWhole {
		return 0, 0
	}
	if d := divisor(in[axis], parts); d > parts/2 {
		parts = d
	}
	return axis, parts
}

// leaf is a value that is stored or computed by more than elementwise functions, and the element of it that is read: terms are axes of what is made
// of it, ranges with the numbers of these.
type leaf struct {
	u     *uop.UOp
	terms []symbolic.Term
}

// stride is how far apart the elements lie that neighbours along an axis read.
func (l *leaf) stride(axis int) int {
	for _, t := range l.terms {
		if t.Node.Arg().(uop.RangeArg).ID == axis {
			return t.Coef
		}
	}
	return 0
}

const mostVisits = 64

// leavesOf are the leaves of a value that is made of them element by element, but for those that are read under conditions or in no
// steady order; of a value of many steps those that are nearest.
func (s *scheduler) leavesOf(u *uop.UOp) (out []leaf) {
	type place struct {
		u   *uop.UOp
		idx []*uop.UOp
	}
	idx := make([]*uop.UOp, len(u.Shape()))
	for i, n := range u.Shape() {
		idx[i] = s.t.Range(i, n, "")
	}
	queue := []place{{u, idx}}
next:
	for i := 0; i < min(len(queue), mostVisits); i++ {
		u, idx := queue[i].u, queue[i].idx
		for passes(u) && u.Op() != uop.Contiguous {
			var valid *uop.UOp
			if u.Op().IsMovement() {
				if idx, valid = through(s.t, u, idx); valid != nil {
					continue next
				}
			}
			u = u.At(0)
		}
		switch {
		case len(u.Shape()) == 0:
		case u.Op().Elementwise():
			for _, x := range u.Src() {
				queue = append(queue, place{x, idx})
			}
		default:
			terms, _, ok := symbolic.Affine(linear(s.t, u.Shape(), idx))
			if ok && !slices.ContainsFunc(terms, func(t symbolic.Term) bool { return t.Node.Op() != uop.Range || t.Coef < 1 }) {
				out = append(out, leaf{u, terms})
			}
		}
	}
	return out
}

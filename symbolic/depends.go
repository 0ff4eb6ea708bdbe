package symbolic

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Depends lists the ranges that e varies with, in the order of their IDs: those it contains, less those that a
// reduction inside it runs over. The result is shared and not to be changed.
func Depends(e *uop.UOp) []*uop.UOp { return of(e.Home()).ranges(e) }

func (x *index) ranges(e *uop.UOp) []*uop.UOp {
	return fill(&x.deps, e, func(*uop.UOp) bool { return true }, x.rangesOf)
}

func (x *index) rangesOf(u *uop.UOp) []*uop.UOp {
	if u.Op() == uop.Range {
		return []*uop.UOp{u}
	}
	own := 0
	if u.Op() == uop.Reduce {
		own = len(u.Src()) - u.Arg().(uop.ReduceArg).Parts
	}
	var out []*uop.UOp
	shared := true // out is the list of an operand, not to be appended to
	for _, s := range u.Src()[:len(u.Src())-own] {
		list, _ := x.deps.Get(s)
		if len(out) == 0 {
			out = list
			continue
		}
		for _, r := range list {
			at, found := slices.BinarySearchFunc(out, r, compare)
			if found {
				continue
			}
			if shared {
				out, shared = slices.Clone(out), false
			}
			out = slices.Insert(out, at, r)
		}
	}
	if own == 0 {
		return out
	}
	bound := u.Src()[len(u.Src())-own:]
	return slices.DeleteFunc(slices.Clone(out), func(r *uop.UOp) bool { return slices.Contains(bound, r) })
}

package symbolic

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Depends lists the ranges that e varies with, in the order of their IDs: those it contains, less those that a
// reduction or scan inside it runs over. The result is shared and not to be changed.
func Depends(e *uop.UOp) []*uop.UOp { return of(e.Home()).ranges(e) }

func (x *index) ranges(e *uop.UOp) []*uop.UOp {
	return fill(&x.deps, e, func(*uop.UOp) bool { return true }, x.rangesOf)
}

func (x *index) rangesOf(u *uop.UOp) []*uop.UOp {
	if u.Op() == uop.Range {
		return []*uop.UOp{u}
	}
	src, bound := u.Src(), []*uop.UOp(nil)
	switch a := u.Arg().(type) {
	case uop.ReduceArg:
		src, bound = src[:a.Parts], src[a.Parts:]
	case uop.ScanArg: // and with the axis up to which it runs
		if len(src) > a.Parts+1 {
			bound = src[a.Parts : a.Parts+1]
		}
	}
	var out []*uop.UOp
	shared := true // out is the list of an operand, not to be appended to
	for _, s := range src {
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
	if len(bound) == 0 {
		return out
	}
	return slices.DeleteFunc(slices.Clone(out), func(r *uop.UOp) bool { return slices.Contains(bound, r) })
}

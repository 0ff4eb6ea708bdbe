package nest

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A transposed window of stride 2 has other elements in even rows than in odd ones. As one nest over both, of as many steps as the longer has, it
// would multiply zeros in the others: of 16 products of a window of 3×3, 7 are of none. Such steps do not count.

// leastAbsent is the part of all steps, one in so many, that has to be absent for a condition to be worth it, which is looked at for so many
// iterations at most.
const leastAbsent, mostLooked = 8, 64

// absentSteps says which steps of sums of products exist, where both factors are read under a condition that says of a step, in loops outside of lanes
// and registers, whether it exists.
func (k *applier) absentSteps() {
	if k.Target.Grid || k.Target.VectorLen(codegen.Widest) == 0 {
		return
	}
	for _, name := range k.reds {
		u := k.Values[name]
		if u.Op() != uop.Reduce || u.Arg().(uop.ReduceArg).Monoid != uop.Sum || u.At(0).Op() != uop.Mul {
			continue
		}
		x, y := factorLoad(u.At(0).At(0)), factorLoad(u.At(0).At(1))
		if x == nil || y == nil {
			continue
		}
		_, ranges := codegen.ReduceParts(u)
		both := symbolic.Conjuncts(y.At(1))
		for _, c := range symbolic.Conjuncts(x.At(1)) {
			if !slices.Contains(both, c) {
				continue
			}
			if a := k.stepOf(c, ranges); a != nil && k.absent(c) {
				if a.Exists != nil {
					c = a.Exists.And(c)
				}
				a.Exists = c
			}
		}
	}
}

// stepOf is the axis of a sum about whose steps a condition is, in loops that may be looked at for it; one of those of all steps where it is about
// no single ones; or nil.
func (k *applier) stepOf(c *uop.UOp, ranges []*uop.UOp) (step *Axis) {
	own := func(r *uop.UOp) bool {
		_, ordered := k.Place[r]
		return k.ByRange[r].Kind == codegen.Serial && !k.peeled(k.ByRange[r]) && !ordered
	}
	for _, r := range k.Facts.List(k.Facts.FreeRanges(c)) {
		a := k.ByRange[r]
		switch {
		case a == nil || k.peeled(a):
			return nil
		case slices.Contains(ranges, r):
			if step != nil || !own(r) {
				return nil
			}
			step = a
		case a.Owner != "" || a.Kind != codegen.Serial && a.Kind != codegen.Thread:
			return nil
		}
	}
	if i := slices.IndexFunc(ranges, own); step == nil && i >= 0 {
		step = k.ByRange[ranges[i]]
	}
	return step
}

// absent says that a condition on few loops does not hold in many of their iterations.
func (k *applier) absent(c *uop.UOp) bool {
	list := []*uop.UOp{c}
	for _, r := range k.Facts.List(k.Facts.FreeRanges(c)) {
		var next []*uop.UOp
		for _, x := range list {
			for i := range codegen.Extent(r) {
				if next = append(next, k.Fold(k.Substitute(map[*uop.UOp]*uop.UOp{r: k.Table.Index(i)}, x))); len(next) > mostLooked {
					return false
				}
			}
		}
		list = next
	}
	none := 0
	for _, x := range list {
		if x.IsConst(0) {
			none++
		}
	}
	return none*leastAbsent >= len(list)
}

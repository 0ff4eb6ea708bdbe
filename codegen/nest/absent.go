package nest

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A transposed window of stride 2 has other elements in even rows than in odd ones. As one nest over both, of as many steps as the longer has, it
// would multiply zeros in the others: of 16 products of a window of 3×3, 7 are of none. Such steps are left out.

// A condition is worth it where at least one in leastAbsent steps does not exist. It is evaluated for mostLooked iterations at most.
const leastAbsent, mostLooked = 8, 64

// absentSteps finds the steps of sums of products in which both factors are padding: both are read under the same condition on loops that are neither
// lanes nor in registers (Axis.Exists).
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
		if slices.ContainsFunc(ranges, func(r *uop.UOp) bool { return k.Owners(r) != 1 }) { // another sum may have the step
			continue
		}
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

// stepOf is the axis of a sum that a condition depends on, or any of them if it depends on outer loops alone. It is nil if the condition depends on two
// axes of the sum, or on loops in which it cannot be decided.
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

package symbolic

import (
	"cmp"
	"fmt"

	"github.com/weft-ml/weft/uop"
)

// compare orders nodes by structure: the same in every run, unlike hashes and addresses. It goes down one
// path only, since different nodes of an arena differ at the first operands that are different nodes.
func compare(a, b *uop.UOp) int {
	for a != b {
		if c := cmp.Compare(a.Op(), b.Op()); c != 0 {
			return c
		}
		if c := cmp.Compare(a.DType(), b.DType()); c != 0 {
			return c
		}
		if c := cmp.Compare(len(a.Src()), len(b.Src())); c != 0 {
			return c
		}
		if c := compareArgs(a.Arg(), b.Arg()); c != 0 {
			return c
		}
		next := -1
		for i, s := range a.Src() {
			if s != b.At(i) {
				next = i
				break
			}
		}
		if next < 0 {
			return 0
		}
		a, b = a.At(next), b.At(next)
	}
	return 0
}

func compareArgs(a, b uop.Arg) int {
	if a == b {
		return 0
	}
	switch a := a.(type) {
	case uop.ConstArg:
		return cmp.Compare(a.Value.Int(), b.(uop.ConstArg).Value.Int())
	case uop.RangeArg:
		b := b.(uop.RangeArg)
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.N, b.N), cmp.Compare(a.Name, b.Name))
	case uop.ParamArg:
		b := b.(uop.ParamArg)
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.N, b.N))
	case uop.RegArg:
		return cmp.Compare(a.ID, b.(uop.RegArg).ID)
	case uop.VarArg:
		return cmp.Compare(a.Name, b.(uop.VarArg).Name)
	case uop.PartArg:
		return cmp.Compare(a.I, b.(uop.PartArg).I)
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

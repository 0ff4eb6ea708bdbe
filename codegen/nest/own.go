package nest

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/uop"
)

// What a large nest needs, and takes next to nothing to compute, each share of its iterations computes for itself, into arrays of its own
// (Param.Own): what it is made of is the same for all of them.

// Threaded says that threads may share the iterations of a nest: it is the only one, or the last one behind others that fill arrays of a
// thread's own and read nothing that the last one writes.
func (k *Kernel) Threaded(g *Group) bool {
	last := k.Groups[len(k.Groups)-1]
	if g != last && !slices.Equal(g.Outs, last.Outs) {
		return false
	}
	writes := map[int]bool{}
	for _, i := range last.Outs {
		writes[k.Outs[i].Param] = true
	}
	for _, before := range k.Groups[:len(k.Groups)-1] {
		for _, i := range before.Outs {
			if !k.Params[k.Outs[i].Param].Own {
				return false
			}
		}
		for _, u := range uop.Topo(k.rootsOf(before)...) {
			if u.Op() == uop.Load && writes[u.At(0).Arg().(uop.ParamArg).Slot] {
				return false
			}
		}
	}
	return true
}

// SharesLast says that threads may share the last nest of a Spec: see threaded.
func SharesLast(s *codegen.Spec) (ok bool) {
	defer affine.FewLoops(func() { ok = false })
	k := Bare(s, nil)
	k.canonical()
	k.GroupOuts()
	return len(k.Groups) > 1 && k.Threaded(k.Groups[len(k.Groups)-1])
}

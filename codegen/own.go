package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// What a large nest needs, and takes next to nothing to compute, each share of its iterations computes for itself, into arrays of its own
// (Param.Own): what it is made of is the same for all of them.

// threaded says that threads may share the iterations of a nest: it is the only one, or the last one behind others that fill arrays of a
// thread's own and read nothing that the last one writes.
func (k *kernel) threaded(g *group) bool {
	last := k.groups[len(k.groups)-1]
	if g != last && !slices.Equal(g.outs, last.outs) {
		return false
	}
	writes := map[int]bool{}
	for _, i := range last.outs {
		writes[k.outs[i].Param] = true
	}
	for _, before := range k.groups[:len(k.groups)-1] {
		for _, i := range before.outs {
			if !k.params[k.outs[i].Param].Own {
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
func SharesLast(s *Spec) (ok bool) {
	defer fewLoops(func() { ok = false })
	k := bareKernel(s, nil)
	k.canonical()
	k.groupOuts()
	return len(k.groups) > 1 && k.threaded(k.groups[len(k.groups)-1])
}

// ownArrays puts scratch in the place of arrays of a thread's own, and gives what opens it.
func (b *builder) ownArrays() []Stmt {
	var out []Stmt
	for i, p := range b.params {
		if !p.Own {
			continue
		}
		if b.own == nil {
			b.own = map[int]*uop.UOp{}
		}
		n := b.param(i).Arg().(uop.ParamArg).N
		b.own[i] = b.newScratch(p.DType, n)
		out = append(out, &Alloc{b.own[i], n, false})
	}
	if out == nil {
		return nil
	}
	b.rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if u.Op() == uop.Load {
			if slot := u.At(0).Arg().(uop.ParamArg).Slot; b.own[slot] != nil {
				return b.t.Load(b.own[slot], src[1], b.linear(slot, src[2:]).node(b.t))
			}
		}
		return remake(b.t, u, src)
	})
	for i := range b.outs {
		if o := &b.outs[i]; b.own[o.Param] != nil {
			o.Index = []*uop.UOp{b.linear(o.Param, o.Index).node(b.t)}
		}
	}
	return out
}

package schedule

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// number gives the ranges of every kernel their numbers.
func (s *scheduler) number() {
	for _, k := range s.kernels {
		canonicalRanges(k, s.t)
	}
}

// canonicalRanges numbers the ranges of a kernel in order of use, and leaves out axes of size 1, so that kernels that
// compute the same have the same text, whatever movement around them was left out.
func canonicalRanges(k *kernel, t *uop.Table) {
	with := map[*uop.UOp]*uop.UOp{}
	next, same := 0, true
	add := func(r *uop.UOp) {
		if with[r] != nil {
			return
		}
		a := r.Arg().(uop.RangeArg)
		with[r] = t.Range(next, a.N, a.Name)
		same = same && a.ID == next
		next++
	}
	for _, o := range k.spec.Outs {
		for _, r := range o.Axes {
			if r.Arg().(uop.RangeArg).N == 1 {
				with[r], same = t.Index(0), false
				continue
			}
			add(r)
		}
	}
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() == uop.Range {
			add(u)
		}
	}
	if same {
		return
	}
	outs := make([]codegen.Out, len(k.spec.Outs))
	for i, o := range k.spec.Outs {
		roots := append([]*uop.UOp{o.Value}, o.Index...)
		if o.Gate != nil {
			roots = append(roots, o.Gate)
		}
		roots = uop.Substitute(t, with, roots...)
		outs[i] = codegen.Out{Param: o.Param, Value: roots[0], Index: roots[1 : 1+len(o.Index)], Merge: o.Merge}
		if o.Gate != nil {
			outs[i].Gate = roots[len(roots)-1]
		}
		for _, r := range o.Axes {
			if with[r].Op() == uop.Range {
				outs[i].Axes = append(outs[i].Axes, with[r])
			}
		}
	}
	k.spec.Outs = outs
}

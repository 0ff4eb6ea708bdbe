package schedule

import (
	"maps"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

var numberLaw = rewrite.Named("ranges are numbered in order of use")

// number gives the ranges of every kernel their numbers.
func (s *scheduler) number() {
	for _, k := range s.kernels {
		for canonicalRanges(k, s.t) { // what is left of an axis may have phases of its own
		}
	}
}

// phases is the n of an axis of which, and of whose sums with numbers, a kernel needs quotient and remainder by n only, as
// behind a reshape that cuts what another joined, the windows of a stride or heads of attention; else 0. Those by what divides n are phases
// of the remainder. An axis along which a scan goes stays one, and so does one that n does not divide where much is summed: the gate of
// what is beyond would cut blocks of results.
func (k *kernel) phases(r *uop.UOp) int {
	n, sums := 0, 1.0
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() == uop.Reduce {
			sums = max(sums, extent(u.Src()[u.Arg().(uop.ReduceArg).Parts:]))
		}
		if u.Op() == uop.Scan && slices.Contains(u.Src(), r) {
			return 0
		}
		if (u.Op() == uop.IDiv || u.Op() == uop.Mod) && dependsOn(u, r) {
			c, x := period(u)
			if rest, _, ok := symbolic.Affine(x); !ok || len(rest) != 1 || rest[0] != (symbolic.Term{Node: r, Coef: 1}) || c < 2 || n%c != 0 && c%n != 0 {
				return 0
			}
			n = max(n, c)
		}
	}
	if all := r.Arg().(uop.RangeArg).N; n >= all || n > 0 && all%n != 0 && sums > maxWindow {
		return 0
	}
	return n
}

// period is after how many steps of x a quotient changes or a remainder begins anew; quotients of quotients are quotients of x.
func period(u *uop.UOp) (n int, x *uop.UOp) {
	for n, x = 1, u; x.Op() == uop.IDiv || x == u; x = x.At(0) {
		c, _ := x.At(1).ConstInt()
		n *= max(c, 0)
	}
	return n, x
}

// canonicalRanges numbers the ranges of a kernel in order of use, and leaves out axes of size 1, so that kernels that
// compute the same have the same text, whatever movement around them was left out. An axis in phases becomes two, and
// accesses are affine again; it says whether one did.
func canonicalRanges(k *kernel, t *uop.Table) (apart bool) {
	with := map[*uop.UOp]*uop.UOp{}
	next, same := 0, true
	var cut []*uop.UOp // whose last phases are beyond the end
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
			a := r.Arg().(uop.RangeArg)
			switch n := k.phases(r); {
			case a.N == 1:
				with[r], same = t.Index(0), false
			case n > 0 && o.Merge == nil && with[r] == nil:
				with[r], same = t.Range(next, (a.N+n-1)/n, "").Mul(t.Index(n)).Add(t.Range(next+1, n, "")), false
				next, apart = next+2, true
				if a.N%n != 0 {
					cut = append(cut, r)
				}
			default:
				add(r)
			}
		}
	}
	for _, u := range uop.Topo(k.expressions()...) {
		if u.Op() != uop.Range || with[u] != nil {
			continue
		}
		n := k.phases(u)
		if all := u.Arg().(uop.RangeArg).N; n < 2 || n == all || all%n != 0 || !k.ofWords(u, n) {
			add(u)
			continue
		}
		with[u], same, apart = t.Range(next, u.Arg().(uop.RangeArg).N/n, "").Mul(t.Index(n)).Add(t.Range(next+1, n, "")), false, true
		next += 2
	}
	if same {
		return false
	}
	outs := make([]codegen.Out, len(k.spec.Outs))
	for i, o := range k.spec.Outs {
		beyond := false
		for _, r := range cut {
			if contains(o.Axes, r) {
				inside := r.Less(t.Index(r.Arg().(uop.RangeArg).N)) // not simplified: it holds for r, not for what r becomes
				if o.Gate != nil {
					inside = o.Gate.And(inside)
				}
				o.Gate, beyond = inside, true
			}
		}
		roots := append([]*uop.UOp{o.Value}, o.Index...)
		if o.Gate != nil {
			roots = append(roots, o.Gate)
		}
		if roots = inPhases(t, with, roots...); apart {
			roots = symbolic.SimplifyAll(t, roots...)
		}
		if beyond {
			// Loads of the index and of the gate need none: they are those of scattered values, whose axes stay whole.
			roots[0] = gated(t, roots[0], roots[len(roots)-1], func(load *uop.UOp) bool { return !k.inside(load) })
		}
		outs[i] = codegen.Out{Param: o.Param, Value: roots[0], Index: roots[1 : 1+len(o.Index)], Merge: o.Merge, Once: o.Once, Apart: o.Apart}
		if o.Gate != nil {
			outs[i].Gate = roots[len(roots)-1]
		}
		for _, r := range o.Axes {
			outs[i].Axes = append(outs[i].Axes, symbolic.Depends(with[r])...)
		}
	}
	k.spec.Outs = outs
	return apart
}

// ofWords says that a range is one of sums, and of nothing else, along which n narrow numbers, as many as a word holds, lie behind each other: those
// of arrays that are in the order of the machine's products of words. Other ranges of sums stay one, of which lanes are made.
func (k *kernel) ofWords(r *uop.UOp, n int) bool {
	sum, words := false, false
	for _, u := range uop.Topo(k.expressions()...) {
		switch u.Op() {
		case uop.Reduce:
			a := u.Arg().(uop.ReduceArg)
			if slices.Contains(u.Src()[a.Parts:], r) {
				if sum = true; a.Monoid != uop.Sum {
					return false
				}
			}
		case uop.Scan:
			if slices.Contains(u.Src(), r) {
				return false
			}
		case uop.Load:
			words = words || u.DType().Size()*n == 4 && slices.ContainsFunc(u.Src()[2:], func(i *uop.UOp) bool { return i.Op() == uop.Mod && dependsOn(i, r) })
		}
	}
	return sum && words
}

// inPhases puts other expressions in the place of ranges; a reduction along one that becomes two goes along both.
func inPhases(t *uop.Table, with map[*uop.UOp]*uop.UOp, roots ...*uop.UOp) []*uop.UOp {
	done := maps.Clone(with)
	get := func(u *uop.UOp) *uop.UOp { return done[u] }
	for _, u := range uop.Topo(roots...) {
		if done[u] != nil {
			continue
		}
		a, reduces := u.Arg().(uop.ReduceArg)
		if !reduces || !slices.ContainsFunc(u.Src()[a.Parts:], func(x *uop.UOp) bool { return done[x].Op() == uop.Add }) {
			done[u] = u.WithSrc(t, get)
			continue
		}
		var src []*uop.UOp
		for i, x := range u.Src() {
			if x = done[x]; i < a.Parts || x.Op() == uop.Range {
				src = append(src, x)
			} else {
				src = append(src, symbolic.Depends(x)...)
			}
		}
		done[u] = t.Make(uop.Reduce, u.DType(), a, src...)
	}
	out := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		out[i] = done[r]
	}
	return out
}

// inside says that a load stays within its array.
func (k *kernel) inside(load *uop.UOp) bool {
	known := symbolic.Under(load.Home(), load.At(1))
	for i, n := range k.spec.Params[load.At(0).Arg().(uop.ParamArg).Slot].Dims {
		if !known.Within(load.At(2+i), n) {
			return false
		}
	}
	return true
}

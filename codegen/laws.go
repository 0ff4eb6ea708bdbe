package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/uop"
)

// peelReduce splits an axis of reductions into n/f·f iterations and a rest that is a reduction of its own; the
// monoid merges both.
func (k *kernel) peelReduce(a *axis, n, f int) error {
	outer, inner, rest := k.newRange(n/f, a.name+".0"), k.newRange(f, a.name+".1"), k.newRange(n%f, a.name+".t")
	main := outer.Mul(k.t.Index(f)).Add(inner)
	tail := rest.Add(k.t.Index(n - n%f))
	delete(k.axes, a.name)
	k.addAxis(a.name+".0", outer, a.owner)
	k.addAxis(a.name+".1", inner, a.owner)
	k.addAxis(a.name+".t", rest, a.owner+"t")
	others := map[*uop.UOp]*uop.UOp{} // the tail's own ranges in place of the other ones
	names := map[*uop.UOp]string{}
	for _, name := range k.reds {
		if u := k.values[name]; u.Op() == uop.Reduce && k.reducesOver(u, a.r) {
			names[u] = name
		}
	}
	k.rewriteReduce(func(u *uop.UOp) bool { return names[u] != "" }, func(old, u *uop.UOp) []*uop.UOp {
		name := names[old]
		first := k.replaceRange(u, a.r, main, outer, inner)
		second := k.renameRanges(k.replaceRange(u, a.r, tail, rest), name+"t", rest, others)
		k.values[name], k.values[name+"t"] = first, second
		k.reds = append(k.reds, name+"t")
		parts, _ := reduceParts(u)
		m := u.Arg().(uop.ReduceArg).Monoid.Info()
		return m.Merge(partsOf(first, len(parts)), partsOf(second, len(parts)))
	})
	for name, v := range k.values { // loads are named after those of the main part
		if v.Op() != uop.Reduce && k.facts.freeRanges(v).has(k.facts.rangeID(a.r)) {
			k.values[name] = k.substitute(map[*uop.UOp]*uop.UOp{a.r: main}, v)
		}
	}
	return nil
}

func (k *kernel) reducesOver(u, r *uop.UOp) bool {
	_, ranges := reduceParts(u)
	return slices.Contains(ranges, r)
}

// owners counts the reductions over a range.
func (k *kernel) owners(r *uop.UOp) (n int) {
	for _, name := range k.reds {
		if u := k.values[name]; u.Op() == uop.Reduce && k.reducesOver(u, r) {
			n++
		}
	}
	return n
}

// partsOf are the results of a reduction.
func partsOf(u *uop.UOp, n int) []*uop.UOp {
	out := make([]*uop.UOp, n)
	for i := range out {
		out[i] = u.Part(i)
	}
	return out
}

// rewriteReduce replaces reductions by tuples. by gets the reduction as it was and with its operands rewritten.
func (k *kernel) rewriteReduce(which func(u *uop.UOp) bool, by func(old, u *uop.UOp) []*uop.UOp) {
	results := map[*uop.UOp][]*uop.UOp{}
	k.rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		w := remake(k.t, u, src)
		if which(u) {
			results[u] = by(u, w)
			return tuple(k.t, results[u])
		}
		if u.Op() == uop.Part && results[u.At(0)] != nil {
			return results[u.At(0)][u.Arg().(uop.PartArg).I]
		}
		return w
	})
}

// replaceRange is reduction u with range r replaced by an expression over the ranges given. Reductions inside that
// run over r themselves stay as they are, so that others still share them.
func (k *kernel) replaceRange(u, r, at *uop.UOp, ranges ...*uop.UOp) *uop.UOp {
	parts, old := reduceParts(u)
	with := map[*uop.UOp]*uop.UOp{r: at}
	for _, x := range uop.Topo(parts...) {
		if x.Op() == uop.Reduce && !k.facts.freeRanges(x).has(k.facts.rangeID(r)) {
			with[x] = x
		}
	}
	src := make([]*uop.UOp, 0, len(u.Src())+1)
	for _, p := range parts {
		src = append(src, k.substitute(with, p))
	}
	for _, x := range old {
		if x == r {
			src = append(src, ranges...)
		} else {
			src = append(src, x)
		}
	}
	return k.t.Make(uop.Reduce, u.DType(), u.Arg(), src...)
}

// renameRanges gives a copy of a reduction its own ranges, but for the one to keep, named after it; with collects
// what replaces what.
func (k *kernel) renameRanges(u *uop.UOp, name string, keep *uop.UOp, with map[*uop.UOp]*uop.UOp) *uop.UOp {
	_, ranges := reduceParts(u)
	for i, r := range ranges {
		if r != keep && with[r] == nil {
			with[r] = k.newRange(extent(r), "")
			k.addAxis(fmt.Sprintf("%s.%s", name, letters(i)), with[r], name)
		}
	}
	for _, r := range ranges {
		fresh := with[r]
		if fresh == nil {
			continue
		}
		if g := k.byR[r].guard; g != nil {
			k.byR[fresh].guard = k.substitute(with, g)
		}
		u = k.replaceRange(u, r, fresh, fresh)
	}
	return u
}

// nest reduces some axes first, in a reduction of its own: what a monoid's merge allows. For the softmax
// monoid the inner one is a plain maximum and plain sums, so that nothing is rescaled inside.
func (k *kernel) nest(m Directive) error {
	old := k.values[m.Name]
	if old == nil || old.Op() != uop.Reduce {
		return fmt.Errorf("there is no reduction %s", m.Name)
	}
	_, ranges := reduceParts(old)
	var inner []*uop.UOp
	for _, name := range m.Axes {
		a := k.axes[name]
		if a == nil || !slices.Contains(ranges, a.r) {
			return fmt.Errorf("%s is no axis of %s", name, m.Name)
		}
		inner = append(inner, a.r)
		a.owner = m.Name + "n"
	}
	if len(inner) == len(ranges) {
		return fmt.Errorf("one axis must stay outside")
	}
	outer := slices.DeleteFunc(slices.Clone(ranges), func(r *uop.UOp) bool { return slices.Contains(inner, r) })
	var guard *uop.UOp
	if old.Arg().(uop.ReduceArg).Monoid == uop.SumExp {
		if guard = k.takeGuards(inner); guard != nil {
			k.gateLoads(guard)
			old = k.values[m.Name]
		}
	}
	var result *uop.UOp
	k.rewriteReduce(func(u *uop.UOp) bool { return u == old }, func(_, u *uop.UOp) []*uop.UOp {
		parts, _ := reduceParts(u)
		a := u.Arg().(uop.ReduceArg)
		var blocks []*uop.UOp
		if a.Monoid == uop.SumExp {
			blocks = k.sumExpBlock(m.Name, parts, inner, guard)
		} else {
			in := k.t.ReduceRanges(a.Monoid, parts, inner)
			k.values[m.Name+"n"] = in
			k.reds = append(k.reds, m.Name+"n")
			blocks = partsOf(in, len(parts))
		}
		result = k.t.ReduceRanges(a.Monoid, blocks, outer)
		return partsOf(result, len(parts))
	})
	k.values[m.Name] = result
	return nil
}

// sumExpBlock is the law (max s, Σ f·exp2(s − max s)); the weights exp2(s − max s) are called r0w, the
// maximum r0n, the sums r0n1 … Where all s are −inf the weights are exp2(s − 0): no element has to be looked at for that. A
// constant factor of all f is one of the weights, of which there are fewer. Where a guard leaves a term out, its s is −∞.
func (k *kernel) sumExpBlock(name string, parts, inner []*uop.UOp, guard *uop.UOp) []*uop.UOp {
	s := parts[0]
	if guard != nil {
		s = guard.Where(s, s.Const(uop.Least(s.DType())))
	}
	top := k.t.ReduceRanges(uop.MaxOf, []*uop.UOp{s}, inner)
	w := s.Sub(top.Equal(s.Const(uop.Least(s.DType()))).Where(s.Int(0), top)).Exp2()
	parts = slices.Clone(parts)
	if c := commonFactor(parts[1:]); c != nil {
		w = w.Mul(c)
	}
	k.values[name+"s"], k.values[name+"n"], k.values[name+"w"] = s, top, w
	k.reds = append(k.reds, name+"n")
	out := []*uop.UOp{top}
	for i, f := range parts[1:] {
		x := f.Mul(w)
		switch {
		case f.IsConst(1):
			x = w
		case guard != nil:
			x = guard.Where(x, x.Int(0))
		}
		r := k.t.ReduceRanges(uop.Sum, []*uop.UOp{x}, inner)
		k.values[fmt.Sprintf("%sn%d", name, i+1)] = r
		k.reds = append(k.reds, fmt.Sprintf("%sn%d", name, i+1))
		out = append(out, r)
	}
	return out
}

// takeGuards takes the guards from axes that elements say themselves where they count; nil where there are none.
func (k *kernel) takeGuards(ranges []*uop.UOp) (guard *uop.UOp) {
	for _, r := range ranges {
		if a := k.byR[r]; a.guard != nil {
			if guard == nil {
				guard = a.guard
			} else {
				guard = guard.And(a.guard)
			}
			a.guard = nil
		}
	}
	return guard
}

// gateLoads lets what a guard leaves out not be read.
func (k *kernel) gateLoads(guard *uop.UOp) {
	own := k.facts.freeRanges(guard)
	k.rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if u.Op() == uop.Load && !k.facts.freeRanges(u).disjoint(own) {
			src[1] = k.fold(src[1].And(guard))
		}
		return remake(k.t, u, src)
	})
}

// commonFactor takes a constant factor out of all parts; nil where there is none.
func commonFactor(parts []*uop.UOp) *uop.UOp {
	var rest []*uop.UOp
	var common *uop.UOp
	for _, p := range parts {
		c, x := p, p.Int(1)
		if p.Op() == uop.Mul {
			if c, x = p.At(0), p.At(1); x.Op() == uop.Const {
				c, x = x, c
			}
		}
		if c.Op() != uop.Const || c.IsConst(1) || common != nil && c != common {
			return nil
		}
		common, rest = c, append(rest, x)
	}
	copy(parts, rest)
	return common
}

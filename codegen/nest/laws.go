package nest

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// peelReduce splits an axis of reductions into n/f·f iterations and a rest that is a reduction of its own; the
// monoid merges both.
func (k *applier) peelReduce(a *Axis, n, f int) error {
	outer, inner, rest := k.NewRange(n/f, a.Name+".0"), k.NewRange(f, a.Name+".1"), k.NewRange(n%f, a.Name+".t")
	main := outer.Mul(k.Table.Index(f)).Add(inner)
	tail := rest.Add(k.Table.Index(n - n%f))
	delete(k.Axes, a.Name)
	k.addAxis(a.Name+".0", outer, a.Owner)
	k.addAxis(a.Name+".1", inner, a.Owner)
	k.addAxis(a.Name+".t", rest, a.Owner+"t")
	others := map[*uop.UOp]*uop.UOp{} // the tail's own ranges in place of the other ones
	names := map[*uop.UOp]string{}
	for _, name := range k.reds {
		if u := k.Values[name]; u.Op() == uop.Reduce && k.reducesOver(u, a.Range) {
			names[u] = name
		}
	}
	k.rewriteReduce(func(u *uop.UOp) bool { return names[u] != "" }, func(old, u *uop.UOp) []*uop.UOp {
		name := names[old]
		first := k.replaceRange(u, a.Range, main, outer, inner)
		second := k.renameRanges(k.replaceRange(u, a.Range, tail, rest), name+"t", rest, others)
		k.Values[name], k.Values[name+"t"] = first, second
		k.reds = append(k.reds, name+"t")
		parts, _ := codegen.ReduceParts(u)
		m := u.Arg().(uop.ReduceArg).Monoid.Info()
		return m.Merge(partsOf(first, len(parts)), partsOf(second, len(parts)))
	})
	for name, v := range k.Values { // loads are named after those of the main part
		if v.Op() != uop.Reduce && k.Facts.FreeRanges(v).Has(k.Facts.RangeID(a.Range)) {
			k.Values[name] = k.Substitute(map[*uop.UOp]*uop.UOp{a.Range: main}, v)
		}
	}
	return nil
}

func (k *Kernel) reducesOver(u, r *uop.UOp) bool {
	_, ranges := codegen.ReduceParts(u)
	return slices.Contains(ranges, r)
}

// Owners counts the reductions over a range.
func (k *Kernel) Owners(r *uop.UOp) (n int) {
	for _, name := range k.reds {
		if u := k.Values[name]; u.Op() == uop.Reduce && k.reducesOver(u, r) {
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
func (k *applier) rewriteReduce(which func(u *uop.UOp) bool, by func(old, u *uop.UOp) []*uop.UOp) {
	results := map[*uop.UOp][]*uop.UOp{}
	k.Rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		w := codegen.Remake(k.Table, u, src)
		if which(u) {
			results[u] = by(u, w)
			return codegen.Tuple(k.Table, results[u])
		}
		if u.Op() == uop.Part && results[u.At(0)] != nil {
			return results[u.At(0)][u.Arg().(uop.PartArg).I]
		}
		return w
	})
}

// replaceRange is reduction u with range r replaced by an expression over the ranges given. Reductions inside that
// run over r themselves stay as they are, so that others still share them.
func (k *applier) replaceRange(u, r, at *uop.UOp, ranges ...*uop.UOp) *uop.UOp {
	parts, old := codegen.ReduceParts(u)
	with := map[*uop.UOp]*uop.UOp{r: at}
	for _, x := range uop.Topo(parts...) {
		if x.Op() == uop.Reduce && !k.Facts.FreeRanges(x).Has(k.Facts.RangeID(r)) {
			with[x] = x
		}
	}
	src := make([]*uop.UOp, 0, len(u.Src())+1)
	for _, p := range parts {
		src = append(src, k.Substitute(with, p))
	}
	for _, x := range old {
		if x == r {
			src = append(src, ranges...)
		} else {
			src = append(src, x)
		}
	}
	return k.Table.Make(uop.Reduce, u.DType(), u.Arg(), src...)
}

// renameRanges gives a copy of a reduction its own ranges, but for the one to keep, named after it; with collects
// what replaces what.
func (k *applier) renameRanges(u *uop.UOp, name string, keep *uop.UOp, with map[*uop.UOp]*uop.UOp) *uop.UOp {
	_, ranges := codegen.ReduceParts(u)
	for i, r := range ranges {
		if r != keep && with[r] == nil {
			with[r] = k.NewRange(codegen.Extent(r), "")
			k.addAxis(fmt.Sprintf("%s.%s", name, Letters(i)), with[r], name)
		}
	}
	for _, r := range ranges {
		fresh := with[r]
		if fresh == nil {
			continue
		}
		if g := k.ByRange[r].Guard; g != nil {
			k.ByRange[fresh].Guard = k.Substitute(with, g)
		}
		u = k.replaceRange(u, r, fresh, fresh)
	}
	return u
}

// nest reduces some axes first, in a reduction of its own: what a monoid's merge allows. For the softmax
// monoid the inner one is a plain maximum and plain sums, so that nothing is rescaled inside.
func (k *applier) nest(m codegen.Directive) error {
	old := k.Values[m.Name]
	if old == nil || old.Op() != uop.Reduce {
		return fmt.Errorf("there is no reduction %s", m.Name)
	}
	_, ranges := codegen.ReduceParts(old)
	var inner []*uop.UOp
	for _, name := range m.Axes {
		a := k.Axes[name]
		if a == nil || !slices.Contains(ranges, a.Range) {
			return fmt.Errorf("%s is no axis of %s", name, m.Name)
		}
		inner = append(inner, a.Range)
		a.Owner = m.Name + "n"
	}
	if len(inner) == len(ranges) {
		return fmt.Errorf("one axis must stay outside")
	}
	outer := slices.DeleteFunc(slices.Clone(ranges), func(r *uop.UOp) bool { return slices.Contains(inner, r) })
	var guard *uop.UOp
	if old.Arg().(uop.ReduceArg).Monoid == uop.SumExp {
		if guard = k.takeGuards(inner); guard != nil {
			k.gateLoads(guard)
			old = k.Values[m.Name]
		}
	}
	var result *uop.UOp
	k.rewriteReduce(func(u *uop.UOp) bool { return u == old }, func(_, u *uop.UOp) []*uop.UOp {
		parts, _ := codegen.ReduceParts(u)
		a := u.Arg().(uop.ReduceArg)
		var blocks []*uop.UOp
		if a.Monoid == uop.SumExp {
			blocks = k.sumExpBlock(m.Name, parts, inner, guard)
		} else {
			in := k.Table.ReduceRanges(a.Monoid, parts, inner)
			k.Values[m.Name+"n"] = in
			k.reds = append(k.reds, m.Name+"n")
			blocks = partsOf(in, len(parts))
		}
		result = k.Table.ReduceRanges(a.Monoid, blocks, outer)
		return partsOf(result, len(parts))
	})
	k.Values[m.Name] = result
	return nil
}

// sumExpBlock is the law (max s, Σ f·exp2(s − max s)); the weights exp2(s − max s) are called r0w, the
// maximum r0n, the sums r0n1 … Where all s are −inf the weights are exp2(s − 0): no element has to be looked at for that. A
// constant factor of all f is one of the weights, of which there are fewer. Where a guard leaves a term out, its s is −∞.
func (k *applier) sumExpBlock(name string, parts, inner []*uop.UOp, guard *uop.UOp) []*uop.UOp {
	s := parts[0]
	if guard != nil {
		s = guard.Where(s, s.Const(uop.Least(s.DType())))
	}
	top := k.Table.ReduceRanges(uop.MaxOf, []*uop.UOp{s}, inner)
	w := s.Sub(top.Equal(s.Const(uop.Least(s.DType()))).Where(s.Int(0), top)).Exp2()
	parts = slices.Clone(parts)
	if c := commonFactor(parts[1:]); c != nil {
		w = w.Mul(c)
	}
	k.Values[name+"s"], k.Values[name+"n"], k.Values[name+"w"] = s, top, w
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
		r := k.Table.ReduceRanges(uop.Sum, []*uop.UOp{x}, inner)
		k.Values[fmt.Sprintf("%sn%d", name, i+1)] = r
		k.reds = append(k.reds, fmt.Sprintf("%sn%d", name, i+1))
		out = append(out, r)
	}
	return out
}

// takeGuards takes the guards from axes that elements say themselves where they count; nil where there are none.
func (k *applier) takeGuards(ranges []*uop.UOp) (guard *uop.UOp) {
	for _, r := range ranges {
		if a := k.ByRange[r]; a.Guard != nil {
			if guard == nil {
				guard = a.Guard
			} else {
				guard = guard.And(a.Guard)
			}
			a.Guard = nil
		}
	}
	return guard
}

// gateLoads lets what a guard leaves out not be read.
func (k *applier) gateLoads(guard *uop.UOp) {
	own := k.Facts.FreeRanges(guard)
	k.Rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if u.Op() == uop.Load && !k.Facts.FreeRanges(u).Disjoint(own) {
			src[1] = k.Fold(src[1].And(guard))
		}
		return codegen.Remake(k.Table, u, src)
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

// PartRanges are the free ranges of each result of a reduction: of the parts that its merge looks at. reg makes a register.
func (k *Kernel) PartRanges(u *uop.UOp, reg func(d dtype.DType) *uop.UOp) []affine.RangeSet {
	parts, _ := codegen.ReduceParts(u)
	x, y := make([]*uop.UOp, len(parts)), make([]*uop.UOp, len(parts))
	for i, p := range parts {
		x[i], y[i] = reg(p.DType()), reg(p.DType())
	}
	own := k.Facts.FreeRanges(u)
	out := make([]affine.RangeSet, len(parts))
	for i, m := range u.Arg().(uop.ReduceArg).Monoid.Info().Merge(x, y) {
		for _, v := range uop.Topo(m) {
			if j := slices.Index(y, v); j >= 0 {
				out[i] = out[i].Or(k.Facts.FreeRanges(parts[j]).And(own))
			}
		}
	}
	return out
}

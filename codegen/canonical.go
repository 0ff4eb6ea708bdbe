package codegen

import (
	"slices"

	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// canonical brings the kernel into its normal form: no axes of size 0 or 1, index expressions folded,
// neighbouring axes merged where every access agrees.
func (k *kernel) canonical() {
	k.outs = slices.DeleteFunc(k.outs, func(o Out) bool {
		return slices.ContainsFunc(o.Axes, func(r *uop.UOp) bool { return extent(r) == 0 })
	})
	for i := range k.outs {
		k.outs[i].Axes = slices.DeleteFunc(slices.Clone(k.outs[i].Axes), func(r *uop.UOp) bool { return extent(r) == 1 })
	}
	zero := k.t.Index(0)
	k.rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		switch u.Op() {
		case uop.Range:
			if extent(u) <= 1 {
				return zero
			}
			return u
		case uop.Load:
			return k.undivided(u, src)
		case uop.Reduce:
			return k.smallReduce(u, src)
		case uop.Scan:
			return k.smallScan(u, src)
		case uop.Part:
			if src[0].Op() != uop.Reduce && src[0].Op() != uop.Scan {
				return k.partOf(u, src[0])
			}
		}
		return k.fold(remake(k.t, u, src))
	})
	k.mergeAxes()
}

// undivided gives a load of an array of several dimensions one offset where that takes divisions back: a place x that only values tell
// has become x div n and x mod n.
func (k *kernel) undivided(load *uop.UOp, src []*uop.UOp) *uop.UOp {
	index := src[2:]
	before := 0
	for _, i := range index {
		before += divisions(k.facts.affine(i))
	}
	if before > 1 && len(index) > 1 {
		if offset := k.facts.affine(k.linear(src[0].Arg().(uop.ParamArg).Slot, index).node(k.t)); divisions(offset) < before {
			return k.t.Load(src[0], src[1], offset.node(k.t))
		}
	}
	return k.fold(remake(k.t, load, src))
}

// divisions counts the terms that are quotients or remainders.
func divisions(a affine) (n int) {
	for _, t := range a.terms {
		if t.u.Op() == uop.IDiv || t.u.Op() == uop.Mod {
			n++
		}
	}
	return n
}

// smallReduce drops ranges of size 1, and gives the identity for a range of size 0. What is not a reduction
// any more is returned as a Part of nothing; partOf picks the element.
func (k *kernel) smallReduce(u *uop.UOp, src []*uop.UOp) *uop.UOp {
	n := u.Arg().(uop.ReduceArg).Parts
	m := u.Arg().(uop.ReduceArg).Monoid
	parts := slices.Clone(src[:n])
	var ranges []*uop.UOp
	for _, r := range u.Src()[n:] {
		switch extent(r) {
		case 0:
			for i, p := range parts {
				parts[i] = p.Const(m.Info().Identity(p.DType(), i))
			}
			return tuple(k.t, parts)
		case 1:
		default:
			ranges = append(ranges, r)
		}
	}
	if len(ranges) == 0 {
		return tuple(k.t, k.alone(m, parts))
	}
	return k.t.ReduceRanges(m, parts, ranges)
}

// alone is the reduction of one element. That of a SumExp is not the element itself where that is infinite or NaN, nor are
// those of Moments and Linear: nothing may depend on how many elements there are.
func (k *kernel) alone(m uop.Monoid, parts []*uop.UOp) []*uop.UOp {
	if m != uop.SumExp && m != uop.Moments && m != uop.Linear {
		return parts
	}
	id, x := make([]*uop.UOp, len(parts)), make([]*uop.UOp, len(parts))
	with := map[*uop.UOp]*uop.UOp{}
	for i, p := range parts {
		id[i] = p.Const(m.Info().Identity(p.DType(), i))
		x[i] = k.t.Make(uop.Reg, p.DType(), uop.RegArg{ID: i})
		with[x[i]] = p
	}
	return uop.Substitute(k.t, with, symbolic.SimplifyAll(k.t, m.Info().Merge(id, x)...)...)
}

// tuple is one value, or several held together by a node that only Part looks into.
func tuple(t *uop.Table, parts []*uop.UOp) *uop.UOp {
	if len(parts) == 1 {
		return parts[0]
	}
	return t.Make(uop.After, parts[0].DType(), nil, parts...)
}

// partOf is Part(u) of a tuple that is no reduction any more.
func (k *kernel) partOf(u, of *uop.UOp) *uop.UOp {
	if of.Op() == uop.After {
		return of.At(u.Arg().(uop.PartArg).I)
	}
	return of
}

// mergeAxes makes one axis of two neighbours a, b where every index holds them only as a·size(b) + b, with
// some factor, after linearising.
func (k *kernel) mergeAxes() {
	linear := map[*uop.UOp]affine{}
	var outs []affine
	used := rangeSet{} // ranges that occur outside of indices
	k.accesses(linear, &outs, &used)
	for i := 0; i < len(k.outs); i++ {
		axes := k.outs[i].Axes
		for j := 0; j+1 < len(axes); {
			if m := k.mergePair(axes[j], axes[j+1], linear, outs, used, i); m != nil {
				axes = slices.Replace(slices.Clone(axes), j, j+2, m)
				k.outs[i].Axes = axes
				linear, outs, used = map[*uop.UOp]affine{}, nil, rangeSet{}
				k.accesses(linear, &outs, &used)
				continue
			}
			j++
		}
	}
	k.mergeReduceAxes()
}

// accesses collects the linear index of each load and output, and the ranges used elsewhere.
func (k *kernel) accesses(linear map[*uop.UOp]affine, outs *[]affine, used *rangeSet) {
	isIndex := map[*uop.UOp]bool{}
	nodes := uop.Topo(k.roots()...)
	for _, u := range nodes {
		if u.Op() == uop.Load {
			linear[u] = k.linear(u.At(0).Arg().(uop.ParamArg).Slot, u.Src()[2:])
			*used = used.or(k.opaque(linear[u])).or(k.facts.freeRanges(u.At(1)))
		}
	}
	for _, o := range k.outs {
		a := k.linear(o.Param, o.Index)
		*outs = append(*outs, a)
		*used = used.or(k.opaque(a))
		if o.Gate != nil {
			*used = used.or(k.facts.freeRanges(o.Gate))
		}
	}
	// Ranges that reach a value other than through an index.
	reach := map[*uop.UOp]bool{}
	var stack []*uop.UOp
	for i, o := range k.outs {
		stack = append(stack, o.Value)
		if o.Gate != nil {
			stack = append(stack, o.Gate)
		}
		for _, t := range (*outs)[i].terms {
			if t.u.Op() != uop.Range {
				stack = append(stack, t.u)
			}
		}
	}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if reach[u] || isIndex[u] {
			continue
		}
		reach[u] = true
		if u.Op() == uop.Range {
			*used = used.or(k.facts.set(u))
			continue
		}
		if u.Op() == uop.Load { // a reduction inside of its index or gate has ranges of its own
			stack = append(stack, u.At(1))
			for _, t := range linear[u].terms {
				if t.u.Op() != uop.Range {
					stack = append(stack, t.u)
				}
			}
			continue
		}
		parts, _ := reduceParts(u)
		stack = append(stack, parts...)
	}
}

// opaque are the ranges inside the non-affine terms of an index.
func (k *kernel) opaque(a affine) (s rangeSet) {
	for _, t := range a.terms {
		if t.u.Op() != uop.Range {
			s = s.or(k.facts.freeRanges(t.u))
		}
	}
	return s
}

// linear is the offset of an access.
func (k *kernel) linear(param int, index []*uop.UOp) affine {
	if len(index) != len(k.params[param].Dims) { // linear already
		return k.facts.affine(index[0])
	}
	var sum affine
	stride := 1
	for d := len(index) - 1; d >= 0; d-- {
		sum = sum.add(k.facts.affine(index[d]), stride)
		stride *= k.params[param].Dims[d]
	}
	return sum
}

// mergePair merges outer and inner axes of output i (and of all others that use them) if it may.
func (k *kernel) mergePair(a, b *uop.UOp, linear map[*uop.UOp]affine, outs []affine, used rangeSet, i int) *uop.UOp {
	both := k.facts.set(a, b)
	if !used.disjoint(both) {
		return nil
	}
	nb := extent(b)
	if extent(a) > mostIterations/nb { // each alone can be counted, see checkLoops
		return nil
	}
	for _, l := range linear {
		if l.coeff(a) != l.coeff(b)*nb {
			return nil
		}
	}
	for j, l := range outs {
		if l.coeff(a) != l.coeff(b)*nb {
			return nil
		}
		if x, y := slices.Index(k.outs[j].Axes, a), slices.Index(k.outs[j].Axes, b); j != i && (x >= 0 || y >= 0) && (x < 0 || y != x+1) {
			return nil
		}
	}
	m := k.freshRange(extent(a) * nb)
	k.replacePair(a, b, m, linear, outs)
	for j := range k.outs {
		if x := slices.Index(k.outs[j].Axes, a); j != i && x >= 0 {
			k.outs[j].Axes = slices.Replace(slices.Clone(k.outs[j].Axes), x, x+2, m)
		}
	}
	return m
}

// freshRange makes a range whose number no other has.
func (k *kernel) freshRange(n int) *uop.UOp {
	if k.nextID == 0 {
		for _, u := range uop.Topo(k.roots()...) {
			if u.Op() == uop.Range {
				k.nextID = max(k.nextID, u.Arg().(uop.RangeArg).ID+1)
			}
		}
		for _, o := range k.outs {
			for _, r := range o.Axes {
				k.nextID = max(k.nextID, r.Arg().(uop.RangeArg).ID+1)
			}
		}
	}
	return k.newRange(n, "")
}

// replacePair rewrites all accesses that depend on a and b to one linear index over m.
func (k *kernel) replacePair(a, b, m *uop.UOp, linear map[*uop.UOp]affine, outs []affine) {
	joined := func(l affine) *uop.UOp {
		kb := l.coeff(b)
		rest := affine{c: l.c}
		for _, t := range l.terms {
			if t.u != a && t.u != b {
				rest.terms = append(rest.terms, t)
			}
		}
		return rest.add(affine{terms: []term{{m, 1}}}, kb).node(k.t)
	}
	for j, l := range outs {
		if l.coeff(b) != 0 {
			k.outs[j].Index = []*uop.UOp{joined(l)}
		}
	}
	k.rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if u.Op() == uop.Load {
			if l := linear[u]; l.coeff(b) != 0 {
				return k.t.Load(src[0], src[1], joined(l))
			}
		}
		if u.Op() == uop.Reduce {
			n := u.Arg().(uop.ReduceArg).Parts
			if x := slices.Index(src[n:], a); x >= 0 {
				return k.t.Make(uop.Reduce, u.DType(), u.Arg(), slices.Replace(slices.Clone(src), n+x, n+x+2, m)...)
			}
		}
		return remake(k.t, u, src)
	})
}

// mergeReduceAxes does the same for the ranges of reductions; several over the same ranges must agree.
func (k *kernel) mergeReduceAxes() {
	for k.mergeOneReduce() {
	}
}

func (k *kernel) mergeOneReduce() bool {
	linear := map[*uop.UOp]affine{}
	var outs []affine
	used := rangeSet{}
	k.accesses(linear, &outs, &used)
	next := map[*uop.UOp]*uop.UOp{} // the range that follows in every reduction, or nil
	var order []*uop.UOp
	for _, u := range uop.Topo(k.roots()...) {
		_, ranges := reduceParts(u)
		for i, r := range ranges {
			var follows *uop.UOp
			if i+1 < len(ranges) {
				follows = ranges[i+1]
			}
			if old, seen := next[r]; !seen {
				next[r] = follows
				order = append(order, r)
			} else if old != follows {
				next[r] = nil
			}
		}
	}
	before := map[*uop.UOp]int{}
	for _, u := range uop.Topo(k.roots()...) {
		_, ranges := reduceParts(u)
		for i, r := range ranges {
			if i == 0 || next[ranges[i-1]] != r {
				before[r]++ // not always preceded by the same one
			}
		}
	}
	for _, a := range order {
		if b := next[a]; b != nil && before[b] == 0 && k.mergePair(a, b, linear, outs, used, -1) != nil {
			return true
		}
	}
	return false
}

package nest

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// canonical brings the kernel into its normal form: no axes of size 0 or 1, index expressions folded,
// neighbouring axes merged where every access agrees.
func (k *Kernel) canonical() { (&normaliser{k}).run() }

// normaliser brings a kernel into its normal form.
type normaliser struct{ *Kernel }

func (k *normaliser) run() {
	k.Outs = slices.DeleteFunc(k.Outs, func(o codegen.Out) bool {
		return slices.ContainsFunc(o.Axes, func(r *uop.UOp) bool { return codegen.Extent(r) == 0 })
	})
	for i := range k.Outs {
		k.Outs[i].Axes = slices.DeleteFunc(slices.Clone(k.Outs[i].Axes), func(r *uop.UOp) bool { return codegen.Extent(r) == 1 })
	}
	zero := k.Table.Index(0)
	k.Rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		switch u.Op() {
		case uop.Range:
			if codegen.Extent(u) <= 1 {
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
		return k.Fold(codegen.Remake(k.Table, u, src))
	})
	k.mergeAxes()
}

// undivided gives a load of an array of several dimensions one offset where that takes divisions back: a place x that only values tell
// has become x div n and x mod n.
func (k *normaliser) undivided(load *uop.UOp, src []*uop.UOp) *uop.UOp {
	index := src[2:]
	before := 0
	for _, i := range index {
		before += divisions(k.Facts.Form(i))
	}
	if before > 1 && len(index) > 1 {
		if offset := k.Linear(src[0].Arg().(uop.ParamArg).Slot, index); divisions(offset) < before {
			return k.Table.Load(src[0], src[1], offset.Node(k.Table))
		}
	}
	return k.Fold(codegen.Remake(k.Table, load, src))
}

// divisions counts the terms that are quotients or remainders.
func divisions(a affine.Form) (n int) {
	for _, t := range a.Terms {
		if t.Node.Op() == uop.IDiv || t.Node.Op() == uop.Mod {
			n++
		}
	}
	return n
}

// smallReduce drops ranges of size 1, and gives the identity for a range of size 0. What is not a reduction
// any more is returned as a Part of nothing; partOf picks the element.
func (k *normaliser) smallReduce(u *uop.UOp, src []*uop.UOp) *uop.UOp {
	n := u.Arg().(uop.ReduceArg).Parts
	m := u.Arg().(uop.ReduceArg).Monoid
	parts := slices.Clone(src[:n])
	var ranges []*uop.UOp
	for _, r := range u.Src()[n:] {
		switch codegen.Extent(r) {
		case 0:
			for i, p := range parts {
				parts[i] = p.Const(m.Info().Identity(p.DType(), i))
			}
			return codegen.Tuple(k.Table, parts)
		case 1:
		default:
			ranges = append(ranges, r)
		}
	}
	if len(ranges) == 0 {
		return codegen.Tuple(k.Table, k.alone(m, parts))
	}
	return k.Table.ReduceRanges(m, parts, ranges)
}

// alone is the reduction of one element. That of a SumExp is not the element itself where that is infinite or NaN, nor are
// those of Moments and Linear: nothing may depend on how many elements there are.
func (k *Kernel) alone(m uop.Monoid, parts []*uop.UOp) []*uop.UOp {
	if m != uop.SumExp && m != uop.Moments && m != uop.Linear {
		return parts
	}
	id, x := make([]*uop.UOp, len(parts)), make([]*uop.UOp, len(parts))
	with := map[*uop.UOp]*uop.UOp{}
	for i, p := range parts {
		id[i] = p.Const(m.Info().Identity(p.DType(), i))
		x[i] = k.Table.Make(uop.Reg, p.DType(), uop.RegArg{ID: i})
		with[x[i]] = p
	}
	return uop.Substitute(k.Table, with, symbolic.SimplifyAll(k.Table, m.Info().Merge(id, x)...)...)
}

// partOf is Part(u) of a tuple that is no reduction any more.
func (k *normaliser) partOf(u, of *uop.UOp) *uop.UOp {
	if of.Op() == uop.After {
		return of.At(u.Arg().(uop.PartArg).I)
	}
	return of
}

// mergeAxes makes one axis of two neighbours a, b where every index holds them only as a·size(b) + b, with
// some factor, after linearising.
func (k *normaliser) mergeAxes() {
	linear := map[*uop.UOp]affine.Form{}
	var outs []affine.Form
	used := affine.RangeSet{} // ranges that occur outside of indices
	k.accesses(linear, &outs, &used)
	for i := 0; i < len(k.Outs); i++ {
		axes := k.Outs[i].Axes
		for j := 0; j+1 < len(axes); {
			if m := k.mergePair(axes[j], axes[j+1], linear, outs, used, i); m != nil {
				axes = slices.Replace(slices.Clone(axes), j, j+2, m)
				k.Outs[i].Axes = axes
				linear, outs, used = map[*uop.UOp]affine.Form{}, nil, affine.RangeSet{}
				k.accesses(linear, &outs, &used)
				continue
			}
			j++
		}
	}
	k.mergeReduceAxes()
}

// accesses collects the linear index of each load and output, and the ranges used elsewhere.
func (k *normaliser) accesses(linear map[*uop.UOp]affine.Form, outs *[]affine.Form, used *affine.RangeSet) {
	isIndex := map[*uop.UOp]bool{}
	nodes := uop.Topo(k.Roots()...)
	for _, u := range nodes {
		if u.Op() == uop.Load {
			linear[u] = k.Linear(u.At(0).Arg().(uop.ParamArg).Slot, u.Src()[2:])
			*used = used.Or(k.Facts.FreeRanges(u.At(1)))
		}
	}
	for _, o := range k.Outs {
		a := k.Linear(o.Param, o.Index)
		*outs = append(*outs, a)
		*used = used.Or(k.opaque(a))
		if o.Gate != nil {
			*used = used.Or(k.Facts.FreeRanges(o.Gate))
		}
	}
	// Ranges that reach a value other than through an index.
	reach := map[*uop.UOp]bool{}
	var stack []*uop.UOp
	for i, o := range k.Outs {
		stack = append(stack, o.Value)
		if o.Gate != nil {
			stack = append(stack, o.Gate)
		}
		for _, t := range (*outs)[i].Terms {
			if t.Node.Op() != uop.Range {
				stack = append(stack, t.Node)
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
			*used = used.Or(k.Facts.Set(u))
			continue
		}
		if u.Op() == uop.Load { // a reduction inside of its index or gate has ranges of its own
			stack = append(stack, u.At(1))
			for _, t := range linear[u].Terms {
				if t.Node.Op() != uop.Range {
					stack = append(stack, t.Node)
				}
			}
			continue
		}
		parts, _ := codegen.ReduceParts(u)
		stack = append(stack, parts...)
	}
}

// opaque are the ranges inside the non-affine terms of an index.
func (k *normaliser) opaque(a affine.Form) (s affine.RangeSet) {
	for _, t := range a.Terms {
		if t.Node.Op() != uop.Range {
			s = s.Or(k.Facts.FreeRanges(t.Node))
		}
	}
	return s
}

// Linear is the offset of an access. What is the quotient of a loop in one dimension and its remainder in another is the loop again.
func (k *Kernel) Linear(param int, index []*uop.UOp) affine.Form {
	if len(index) != len(k.Params[param].Dims) { // linear already
		return k.Facts.Form(index[0])
	}
	var sum affine.Form
	stride := 1
	for d := len(index) - 1; d >= 0; d-- {
		sum = sum.Add(k.Facts.Form(index[d]), stride)
		stride *= k.Params[param].Dims[d]
	}
	if divisions(sum) > 1 {
		return k.Facts.Form(sum.Node(k.Table))
	}
	return sum
}

// mergePair merges outer and inner axes of output i (and of all others that use them) if it may.
func (k *normaliser) mergePair(a, b *uop.UOp, linear map[*uop.UOp]affine.Form, outs []affine.Form, used affine.RangeSet, i int) *uop.UOp {
	both := k.Facts.Set(a, b)
	if !used.Disjoint(both) {
		return nil
	}
	nb := codegen.Extent(b)
	if codegen.Extent(a) > codegen.MostIterations/nb { // each alone can be counted, see checkLoops
		return nil
	}
	for _, l := range linear {
		if l.Coeff(a) != l.Coeff(b)*nb || l.Coeff(b) != 0 && !k.opaque(l).Disjoint(both) {
			return nil
		}
	}
	for j, l := range outs {
		if l.Coeff(a) != l.Coeff(b)*nb {
			return nil
		}
		if x, y := slices.Index(k.Outs[j].Axes, a), slices.Index(k.Outs[j].Axes, b); j != i && (x >= 0 || y >= 0) && (x < 0 || y != x+1) {
			return nil
		}
	}
	m := k.freshRange(codegen.Extent(a) * nb)
	k.replacePair(a, b, m, linear, outs)
	for j := range k.Outs {
		if x := slices.Index(k.Outs[j].Axes, a); j != i && x >= 0 {
			k.Outs[j].Axes = slices.Replace(slices.Clone(k.Outs[j].Axes), x, x+2, m)
		}
	}
	return m
}

// freshRange makes a range whose number no other has.
func (k *normaliser) freshRange(n int) *uop.UOp {
	if k.nextID == 0 {
		for _, u := range uop.Topo(k.Roots()...) {
			if u.Op() == uop.Range {
				k.nextID = max(k.nextID, u.Arg().(uop.RangeArg).ID+1)
			}
		}
		for _, o := range k.Outs {
			for _, r := range o.Axes {
				k.nextID = max(k.nextID, r.Arg().(uop.RangeArg).ID+1)
			}
		}
	}
	return k.NewRange(n, "")
}

// replacePair rewrites all accesses that depend on a and b to one range m.
func (k *normaliser) replacePair(a, b, m *uop.UOp, linear map[*uop.UOp]affine.Form, outs []affine.Form) {
	both := k.Facts.Set(a, b)
	joined := func(f affine.Form) *uop.UOp {
		kb := f.Coeff(b)
		rest := affine.Form{Const: f.Const}
		for _, t := range f.Terms {
			if t.Node != a && t.Node != b {
				rest.Terms = append(rest.Terms, t)
			}
		}
		return rest.Add(affine.Form{Terms: []affine.Term{{Node: m, Coef: 1}}}, kb).Node(k.Table)
	}
	// An index keeps its dimensions where one of them has both ranges, and is one offset where they lie in several.
	index := func(dims []*uop.UOp, l affine.Form) []*uop.UOp {
		at := -1
		for i, x := range dims {
			if k.Facts.FreeRanges(x).Disjoint(both) {
				continue
			}
			if at >= 0 {
				return []*uop.UOp{joined(l)}
			}
			at = i
		}
		out := slices.Clone(dims)
		out[at] = joined(k.Facts.Form(dims[at]))
		return out
	}
	for j, l := range outs {
		if l.Coeff(b) != 0 {
			k.Outs[j].Index = index(k.Outs[j].Index, l)
		}
	}
	k.Rewrite(func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if u.Op() == uop.Load {
			if l := linear[u]; l.Coeff(b) != 0 {
				return k.Table.Load(src[0], src[1], index(u.Src()[2:], l)...)
			}
		}
		if u.Op() == uop.Reduce {
			n := u.Arg().(uop.ReduceArg).Parts
			if x := slices.Index(src[n:], a); x >= 0 {
				return k.Table.Make(uop.Reduce, u.DType(), u.Arg(), slices.Replace(slices.Clone(src), n+x, n+x+2, m)...)
			}
		}
		return codegen.Remake(k.Table, u, src)
	})
}

// mergeReduceAxes does the same for the ranges of reductions; several over the same ranges must agree.
func (k *normaliser) mergeReduceAxes() {
	for k.mergeOneReduce() {
	}
}

func (k *normaliser) mergeOneReduce() bool {
	linear := map[*uop.UOp]affine.Form{}
	var outs []affine.Form
	used := affine.RangeSet{}
	k.accesses(linear, &outs, &used)
	next := map[*uop.UOp]*uop.UOp{} // the range that follows in every reduction, or nil
	var order []*uop.UOp
	for _, u := range uop.Topo(k.Roots()...) {
		_, ranges := codegen.ReduceParts(u)
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
	for _, u := range uop.Topo(k.Roots()...) {
		_, ranges := codegen.ReduceParts(u)
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

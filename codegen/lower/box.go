package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// dim is one dimension of a box: the part of an index that is fixed here, the interval of the rest.
type dim struct {
	outer, inner affine.Form
	step         int // of the index, from one coordinate to the next
	in           affine.Span
	at           *uop.UOp // coordinate in the copy
	from, to     int      // coordinates in which the gate may hold
}

// stageBox copies the part of an array that a load touches, as a box of its own axes, with zeros where its
// gate does not hold: the load that replaces it has no gate.
func (b *stager) stageBox(m codegen.Directive, u *uop.UOp, sp insertionPoint) ([]codegen.Stmt, *uop.UOp) {
	loads := boxed(m, u)
	dims := b.boxDims(m, loads, sp)
	n := 1
	var at affine.Form
	for i := len(dims) - 1; i >= 0; i-- {
		d := &dims[i]
		at = at.Add(d.inner.Add(affine.Form{Const: d.in.Lo}, -1), n)
		d.from, d.to = 0, d.in.Hi-d.in.Lo+1
		n *= d.to
	}
	buf := b.newScratch(u.DType(), n)
	out := []codegen.Stmt{&codegen.Alloc{Buf: buf, N: n}}
	with, cut := b.boxLoads(m, loads, dims, sp)
	value := b.Substitute(with, u)
	if cut {
		out = append(out, b.fill(buf, n)...)
	}
	var store affine.Form
	size := 1
	var loops []*nest.Axis
	for i := len(dims) - 1; i >= 0; i-- {
		d := dims[i]
		store = store.Add(b.Facts.Form(d.at), size)
		size *= d.in.Hi - d.in.Lo + 1
	}
	with = map[*uop.UOp]*uop.UOp{}
	of := loads[0] // whose lanes the copy has
	if len(loads) > 1 {
		of = u
	}
	last := len(dims) - 1 // in which neighbours in the array are neighbours in the copy
	for sizes := b.sizesOf(loads[0]); last > 0 && sizes[last] == 1; {
		last--
	}
	for i, d := range dims {
		if d.at.Op() != uop.Range {
			continue
		}
		coord, ls := b.copyLoops(d.from, d.to-d.from, i == last, of)
		with[d.at] = coord
		loops = append(loops, ls...)
	}
	sp.roots = []*uop.UOp{b.Substitute(with, value)}
	index := b.Substitute(with, store.Node(b.Table))
	out = append(out, b.level(loops, sp, "", func(sp insertionPoint) []codegen.Stmt {
		return []codegen.Stmt{&codegen.Store{Buf: buf, Index: []*uop.UOp{index}, Value: sp.roots[0]}}
	})...)
	return out, b.Table.Load(buf, b.Table.True(), at.Node(b.Table))
}

// boxed are the loads in a value of which a box holds a copy: one, perhaps in a wider type, or those of the parts of a word. Where
// all of them are zero, so is the value.
func boxed(m codegen.Directive, u *uop.UOp) (loads []*uop.UOp) {
	switch u.Op() {
	case uop.Load:
		return []*uop.UOp{u}
	case uop.Cast, uop.Bitcast, uop.Shl, uop.And:
		return boxed(m, u.At(0))
	case uop.Or:
		return append(boxed(m, u.At(0)), boxed(m, u.At(1))...)
	}
	refuse("stage %s by box: it is no load", m.Name)
	return nil
}

// boxDims takes the index of loads apart. They may differ in one dimension: there coordinates are those of the first one, as many
// elements apart as there are loads.
func (b *stager) boxDims(m codegen.Directive, loads []*uop.UOp, sp insertionPoint) []dim {
	var dims []dim
	for i, x := range loads[0].Src()[2:] {
		d := dim{step: 1}
		a := b.Facts.Form(x)
		if n := len(loads); n > 1 && loads[1].At(2+i) != x {
			d.step = n
		} else if n == 1 { // there are no places for what lies between
			d.step = a.Step(func(u *uop.UOp) bool { return !b.Facts.FreeRanges(u).Within(sp.open) })
		}
		d.outer.Const = a.Const
		for _, t := range a.Terms {
			free := b.Facts.FreeRanges(t.Node)
			switch {
			case free.Within(sp.open):
				d.outer.Terms = append(d.outer.Terms, t)
			case free.Disjoint(sp.open) && t.Coef%d.step == 0:
				d.inner.Terms = append(d.inner.Terms, affine.Term{Node: t.Node, Coef: t.Coef / d.step})
			default:
				refuse("stage %s by box: %v mixes what is fixed and what varies", m.Name, t.Node)
			}
		}
		d.in = affine.Bound(d.inner.Node(b.Table))
		if d.in.Hi-d.in.Lo > 1<<24 || d.in.Lo < -1<<40 {
			refuse("stage %s by box: the index %v is not bounded", m.Name, x)
		}
		d.at = b.Table.Index(0)
		if d.in.Lo < d.in.Hi {
			d.at = b.NewRange(d.in.Hi-d.in.Lo+1, "")
		}
		dims = append(dims, d)
	}
	return dims
}

// boxLoads are loads in terms of the box's coordinates. Where the gate on a coordinate is known, the
// coordinates are narrowed instead; cut says that some were.
func (b *stager) boxLoads(m codegen.Directive, loads []*uop.UOp, dims []dim, sp insertionPoint) (by map[*uop.UOp]*uop.UOp, cut bool) {
	gates := make([]*uop.UOp, len(loads))
	indices := make([][]*uop.UOp, len(loads))
	for i, l := range loads {
		gates[i], indices[i] = b.Table.True(), b.boxIndex(m, l, loads[0], dims)
	}
	conds := make([][]*uop.UOp, len(loads))
	for i, l := range loads {
		conds[i] = symbolic.Conjuncts(l.At(1))
	}
	restrict := func(of int, c *uop.UOp) { // by a condition on one load, or (-1) on all
		if (of < 0 || len(loads) == 1) && b.narrowed(dims, c) {
			cut = true
			return
		}
		for i := range loads {
			if of < 0 || i == of {
				gates[i] = b.Fold(gates[i].And(c))
			}
		}
	}
	common := func(c *uop.UOp) bool {
		return !slices.ContainsFunc(conds, func(of []*uop.UOp) bool { return !slices.Contains(of, c) })
	}
	for _, c := range conds[0] {
		if common(c) {
			restrict(-1, b.boxGate(m, c, dims, sp))
		}
	}
	for i, l := range loads {
		for _, c := range conds[i] {
			if !common(c) {
				restrict(i, b.boxGate(m, c, dims, sp))
			}
		}
		for _, c := range b.outside(l, indices[i], dims, gates[i]) {
			restrict(i, c)
		}
	}
	by = map[*uop.UOp]*uop.UOp{}
	for i, l := range loads {
		by[l] = b.Table.Load(l.At(0), gates[i], indices[i]...)
	}
	return by, cut
}

// boxIndex is the index of a load at the box's coordinates; first is the one whose coordinates they are.
func (b *stager) boxIndex(m codegen.Directive, l, first *uop.UOp, dims []dim) []*uop.UOp {
	index := make([]*uop.UOp, len(dims))
	for i, d := range dims {
		apart := b.Facts.Form(l.At(2+i)).Add(b.Facts.Form(first.At(2+i)), -1)
		if l.At(0) != first.At(0) || len(apart.Terms) > 0 || apart.Const != 0 && d.step == 1 {
			refuse("stage %s by box: its loads differ in more than one dimension", m.Name)
		}
		index[i] = d.outer.Add(affine.Form{Const: d.in.Lo}, d.step).Add(b.Facts.Form(d.at), d.step).Add(apart, 1).Node(b.Table)
	}
	return index
}

// narrowed says that a condition has become one on the extent of a dimension.
func (b *stager) narrowed(dims []dim, c *uop.UOp) (done bool) {
	for i := range dims {
		if dims[i].at.Op() == uop.Range && b.Facts.FreeRanges(c) == b.Facts.Set(dims[i].at) && len(b.Facts.List(b.Facts.FreeRanges(c))) == 1 {
			done = b.narrow(&dims[i], c)
		}
	}
	return done
}

// outside are conditions without which the copy would leave the array. The box holds what all iterations of the loops
// inside touch, those too that a guard leaves out, as behind the end of a split that does not divide.
func (b *stager) outside(u *uop.UOp, index []*uop.UOp, dims []dim, gate *uop.UOp) (out []*uop.UOp) {
	sizes := b.sizesOf(u)
	conds := []*uop.UOp{gate}
	for _, d := range dims {
		if d.at.Op() == uop.Range {
			conds = append(conds, d.at.Less(b.Table.Index(d.to)), b.Table.Index(d.from-1).Less(d.at))
		}
	}
	known := symbolic.Under(b.Table, conds...)
	for i, x := range index {
		if known.Within(x, sizes[i]) {
			continue
		}
		for _, c := range []*uop.UOp{b.Fold(b.Table.Index(-1).Less(x)), b.Fold(x.Less(b.Table.Index(sizes[i])))} {
			if c.Op() != uop.Const {
				out = append(out, c)
			}
		}
	}
	return out
}

// sizesOf are those of the array that a load reads, along its indices.
func (b *stager) sizesOf(l *uop.UOp) []int {
	array := l.At(0).Arg().(uop.ParamArg)
	if !array.Scratch && len(b.Params[array.Slot].Dims) == len(l.Src())-2 {
		return b.Params[array.Slot].Dims
	}
	return []int{array.N} // scratch, or linear already
}

// boxGate rewrites a condition on indices as one on the box's coordinates.
func (b *stager) boxGate(m codegen.Directive, c *uop.UOp, dims []dim, sp insertionPoint) *uop.UOp {
	done := map[*uop.UOp]*uop.UOp{}
	uop.Walk([]*uop.UOp{c}, func(*uop.UOp) bool { return false }, func(u *uop.UOp) {
		if b.Facts.FreeRanges(u).Within(sp.open) {
			done[u] = u
			return
		}
		if w := b.onBox(u, dims, sp); w != nil {
			done[u] = w
			return
		}
		src := make([]*uop.UOp, len(u.Src()))
		for i, s := range u.Src() {
			if src[i] = done[s]; src[i] == nil {
				return // perhaps a part of something that can be rewritten
			}
		}
		if len(src) > 0 {
			done[u] = b.Fold(codegen.Remake(b.Table, u, src))
		}
	})
	if done[c] == nil {
		refuse("stage %s by box: the condition %v does not follow from the box's coordinates", m.Name, c)
	}
	return done[c]
}

// onBox is an index whose varying part is a multiple of that of one dimension.
func (b *stager) onBox(u *uop.UOp, dims []dim, sp insertionPoint) *uop.UOp {
	a := b.Facts.Form(u)
	var outer, inner affine.Form
	outer.Const = a.Const
	for _, t := range a.Terms {
		if b.Facts.FreeRanges(t.Node).Within(sp.open) {
			outer.Terms = append(outer.Terms, t)
		} else {
			inner.Terms = append(inner.Terms, t)
		}
	}
	for _, d := range dims {
		if len(d.inner.Terms) == 0 {
			continue
		}
		f := inner.Coeff(d.inner.Terms[0].Node)
		k := d.inner.Terms[0].Coef
		if f == 0 || f%k != 0 || len(inner.Add(d.inner, -f/k).Terms) > 0 {
			continue
		}
		coord := b.Facts.Form(d.at).Add(affine.Form{Const: d.in.Lo}, 1)
		return outer.Add(coord, f/k).Node(b.Table)
	}
	return nil
}

// narrow restricts a dimension to the coordinates for which a condition on it alone holds, if they are
// an interval.
func (b *stager) narrow(d *dim, c *uop.UOp) bool {
	n := codegen.Extent(d.at)
	from, to := -1, -1
	for i := range n {
		v, ok := b.Substitute(map[*uop.UOp]*uop.UOp{d.at: b.Table.Index(i)}, c).ConstValue()
		switch {
		case !ok:
			return false
		case v.Bool() && from < 0:
			from, to = i, i+1
		case v.Bool() && to == i:
			to++
		case v.Bool():
			return false
		}
	}
	if from < 0 {
		return false
	}
	d.from, d.to = max(d.from, from), min(d.to, to)
	return d.from < d.to
}

// copyLoops counts from first to first+n−1: as lanes where that is the contiguous axis of a copy, the last
// lanes moved inwards.
func (b *stager) copyLoops(first, n int, lanes bool, u *uop.UOp) (coord *uop.UOp, loops []*nest.Axis) {
	w := 1
	if lanes {
		w = b.width(u.DType())
		if w == 0 { // vectors of any length
			w = n
		}
		for w > n {
			w /= 2
		}
	}
	var at affine.Form
	at.Const = first
	if w == 1 || w == n {
		r := b.NewRange(n, "")
		a := &nest.Axis{Range: r, Full: -1}
		if w == n && n > 1 {
			a.Kind = codegen.Vector
		}
		return at.Add(affine.Form{Terms: []affine.Term{{Node: r, Coef: 1}}}, 1).Node(b.Table), []*nest.Axis{a}
	}
	outer, inner := b.NewRange((n+w-1)/w, ""), b.NewRange(w, "")
	base := outer.Mul(b.Table.Index(w))
	if n%w != 0 {
		base = nest.MinIndex(base, b.Table.Index(n-w))
	}
	at = at.Add(b.Facts.Form(base), 1).Add(affine.Form{Terms: []affine.Term{{Node: inner, Coef: 1}}}, 1)
	return at.Node(b.Table), []*nest.Axis{{Range: outer, Full: -1}, {Range: inner, Kind: codegen.Vector, Full: -1}}
}

// width is the number of lanes of a type.
func (b *builder) width(d interface{ Size() int }) int {
	n := b.Target.VectorLen(codegen.Widest)
	if n == 0 {
		return 0
	}
	return max(1, n*codegen.Widest.Size()/max(1, d.Size()))
}

// fill stores zero in all of a scratch buffer.
func (b *stager) fill(buf *uop.UOp, n int) []codegen.Stmt {
	coord, loops := b.copyLoops(0, n, true, buf)
	return b.level(loops, insertionPoint{}, "", func(insertionPoint) []codegen.Stmt {
		return []codegen.Stmt{&codegen.Store{Buf: buf, Index: []*uop.UOp{coord}, Value: buf.Int(0)}}
	})
}

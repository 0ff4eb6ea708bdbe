package codegen

import (
	"slices"

	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// dim is one dimension of a box: the part of an index that is fixed here, the interval of the rest.
type dim struct {
	outer, inner affine
	step         int // of the index, from one coordinate to the next
	in           span
	at           *uop.UOp // coordinate in the copy
	from, to     int      // coordinates in which the gate may hold
}

// stageBox copies the part of an array that a load touches, as a box of its own axes, with zeros where its
// gate does not hold: the load that replaces it has no gate.
func (b *builder) stageBox(m Directive, u *uop.UOp, sp insertionPoint) ([]Stmt, *uop.UOp) {
	loads := boxed(m, u)
	dims := b.boxDims(m, loads, sp)
	n := 1
	var at affine
	for i := len(dims) - 1; i >= 0; i-- {
		d := &dims[i]
		at = at.add(d.inner.add(affine{c: d.in.lo}, -1), n)
		d.from, d.to = 0, d.in.hi-d.in.lo+1
		n *= d.to
	}
	buf := b.newScratch(u.DType(), n)
	out := []Stmt{&Alloc{Buf: buf, N: n}}
	with, cut := b.boxLoads(m, loads, dims, sp)
	value := b.substitute(with, u)
	if cut {
		out = append(out, b.fill(buf, n)...)
	}
	var store affine
	size := 1
	var loops []*axis
	for i := len(dims) - 1; i >= 0; i-- {
		d := dims[i]
		store = store.add(b.facts.affine(d.at), size)
		size *= d.in.hi - d.in.lo + 1
	}
	with = map[*uop.UOp]*uop.UOp{}
	of := loads[0] // whose lanes the copy has
	if len(loads) > 1 {
		of = u
	}
	for i, d := range dims {
		if d.at.Op() != uop.Range {
			continue
		}
		coord, ls := b.copyLoops(d.from, d.to-d.from, i == len(dims)-1, of)
		with[d.at] = coord
		loops = append(loops, ls...)
	}
	sp.roots = []*uop.UOp{b.substitute(with, value)}
	index := b.substitute(with, store.node(b.t))
	out = append(out, b.level(loops, sp, "", func(sp insertionPoint) []Stmt {
		return []Stmt{&Store{Buf: buf, Index: []*uop.UOp{index}, Value: sp.roots[0]}}
	})...)
	return out, b.t.Load(buf, b.t.True(), at.node(b.t))
}

// boxed are the loads in a value of which a box holds a copy: one, perhaps in a wider type, or those of the parts of a word. Where
// all of them are zero, so is the value.
func boxed(m Directive, u *uop.UOp) (loads []*uop.UOp) {
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
func (b *builder) boxDims(m Directive, loads []*uop.UOp, sp insertionPoint) []dim {
	var dims []dim
	for i, x := range loads[0].Src()[2:] {
		d := dim{step: 1}
		if n := len(loads); n > 1 && loads[1].At(2+i) != x {
			d.step = n
		}
		a := b.facts.affine(x)
		d.outer.c = a.c
		for _, t := range a.terms {
			free := b.facts.freeRanges(t.u)
			switch {
			case free.within(sp.open):
				d.outer.terms = append(d.outer.terms, t)
			case free.disjoint(sp.open) && t.k%d.step == 0:
				d.inner.terms = append(d.inner.terms, term{t.u, t.k / d.step})
			default:
				refuse("stage %s by box: %v mixes what is fixed and what varies", m.Name, t.u)
			}
		}
		d.in = b.facts.bound(d.inner.node(b.t))
		if d.in.hi-d.in.lo > 1<<24 || d.in.lo < -1<<40 {
			refuse("stage %s by box: the index %v is not bounded", m.Name, x)
		}
		d.at = b.t.Index(0)
		if d.in.lo < d.in.hi {
			d.at = b.newRange(d.in.hi-d.in.lo+1, "")
		}
		dims = append(dims, d)
	}
	return dims
}

// boxLoads are loads in terms of the box's coordinates. Where the gate on a coordinate is known, the
// coordinates are narrowed instead; cut says that some were.
func (b *builder) boxLoads(m Directive, loads []*uop.UOp, dims []dim, sp insertionPoint) (by map[*uop.UOp]*uop.UOp, cut bool) {
	gates := make([]*uop.UOp, len(loads))
	indices := make([][]*uop.UOp, len(loads))
	for i, l := range loads {
		gates[i], indices[i] = b.t.True(), b.boxIndex(m, l, loads[0], dims)
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
				gates[i] = b.fold(gates[i].And(c))
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
		by[l] = b.t.Load(l.At(0), gates[i], indices[i]...)
	}
	return by, cut
}

// boxIndex is the index of a load at the box's coordinates; first is the one whose coordinates they are.
func (b *builder) boxIndex(m Directive, l, first *uop.UOp, dims []dim) []*uop.UOp {
	index := make([]*uop.UOp, len(dims))
	for i, d := range dims {
		apart := b.facts.affine(l.At(2+i)).add(b.facts.affine(first.At(2+i)), -1)
		if l.At(0) != first.At(0) || len(apart.terms) > 0 || apart.c != 0 && d.step == 1 {
			refuse("stage %s by box: its loads differ in more than one dimension", m.Name)
		}
		index[i] = d.outer.add(affine{c: d.in.lo}, d.step).add(b.facts.affine(d.at), d.step).add(apart, 1).node(b.t)
	}
	return index
}

// narrowed says that a condition has become one on the extent of a dimension.
func (b *builder) narrowed(dims []dim, c *uop.UOp) (done bool) {
	for i := range dims {
		if dims[i].at.Op() == uop.Range && b.facts.freeRanges(c) == b.facts.set(dims[i].at) && len(b.facts.list(b.facts.freeRanges(c))) == 1 {
			done = b.narrow(&dims[i], c)
		}
	}
	return done
}

// outside are conditions without which the copy would leave the array. The box holds what all iterations of the loops
// inside touch, those too that a guard leaves out, as behind the end of a split that does not divide.
func (b *builder) outside(u *uop.UOp, index []*uop.UOp, dims []dim, gate *uop.UOp) (out []*uop.UOp) {
	array := u.At(0).Arg().(uop.ParamArg)
	sizes := []int{array.N} // scratch, or linear already
	if !array.Scratch && len(b.params[array.Slot].Dims) == len(index) {
		sizes = b.params[array.Slot].Dims
	}
	conds := []*uop.UOp{gate}
	for _, d := range dims {
		if d.at.Op() == uop.Range {
			conds = append(conds, d.at.Less(b.t.Index(d.to)), b.t.Index(d.from-1).Less(d.at))
		}
	}
	known := symbolic.Under(b.t, conds...)
	for i, x := range index {
		if known.Within(x, sizes[i]) {
			continue
		}
		for _, c := range []*uop.UOp{b.fold(b.t.Index(-1).Less(x)), b.fold(x.Less(b.t.Index(sizes[i])))} {
			if c.Op() != uop.Const {
				out = append(out, c)
			}
		}
	}
	return out
}

// boxGate rewrites a condition on indices as one on the box's coordinates.
func (b *builder) boxGate(m Directive, c *uop.UOp, dims []dim, sp insertionPoint) *uop.UOp {
	done := map[*uop.UOp]*uop.UOp{}
	walk([]*uop.UOp{c}, func(*uop.UOp) bool { return false }, func(u *uop.UOp) {
		if b.facts.freeRanges(u).within(sp.open) {
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
			done[u] = b.fold(remake(b.t, u, src))
		}
	})
	if done[c] == nil {
		refuse("stage %s by box: the condition %v does not follow from the box's coordinates", m.Name, c)
	}
	return done[c]
}

// onBox is an index whose varying part is a multiple of that of one dimension.
func (b *builder) onBox(u *uop.UOp, dims []dim, sp insertionPoint) *uop.UOp {
	a := b.facts.affine(u)
	var outer, inner affine
	outer.c = a.c
	for _, t := range a.terms {
		if b.facts.freeRanges(t.u).within(sp.open) {
			outer.terms = append(outer.terms, t)
		} else {
			inner.terms = append(inner.terms, t)
		}
	}
	for _, d := range dims {
		if len(d.inner.terms) == 0 {
			continue
		}
		f := inner.coeff(d.inner.terms[0].u)
		k := d.inner.terms[0].k
		if f == 0 || f%k != 0 || len(inner.add(d.inner, -f/k).terms) > 0 {
			continue
		}
		coord := b.facts.affine(d.at).add(affine{c: d.in.lo}, 1)
		return outer.add(coord, f/k).node(b.t)
	}
	return nil
}

// narrow restricts a dimension to the coordinates for which a condition on it alone holds, if they are
// an interval.
func (b *builder) narrow(d *dim, c *uop.UOp) bool {
	n := extent(d.at)
	from, to := -1, -1
	for i := range n {
		v, ok := b.substitute(map[*uop.UOp]*uop.UOp{d.at: b.t.Index(i)}, c).ConstValue()
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
func (b *builder) copyLoops(first, n int, lanes bool, u *uop.UOp) (coord *uop.UOp, loops []*axis) {
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
	var at affine
	at.c = first
	if w == 1 || w == n {
		r := b.newRange(n, "")
		a := &axis{r: r, full: -1}
		if w == n && n > 1 {
			a.kind = Vector
		}
		return at.add(affine{terms: []term{{r, 1}}}, 1).node(b.t), []*axis{a}
	}
	outer, inner := b.newRange((n+w-1)/w, ""), b.newRange(w, "")
	base := outer.Mul(b.t.Index(w))
	if n%w != 0 {
		base = minIndex(base, b.t.Index(n-w))
	}
	at = at.add(b.facts.affine(base), 1).add(affine{terms: []term{{inner, 1}}}, 1)
	return at.node(b.t), []*axis{{r: outer, full: -1}, {r: inner, kind: Vector, full: -1}}
}

// width is the number of lanes of a type.
func (b *builder) width(d interface{ Size() int }) int {
	n := b.target.VectorLen(widest)
	if n == 0 {
		return 0
	}
	return max(1, n*widest.Size()/max(1, d.Size()))
}

// fill stores zero in all of a scratch buffer.
func (b *builder) fill(buf *uop.UOp, n int) []Stmt {
	coord, loops := b.copyLoops(0, n, true, buf)
	return b.level(loops, insertionPoint{}, "", func(insertionPoint) []Stmt {
		return []Stmt{&Store{Buf: buf, Index: []*uop.UOp{coord}, Value: buf.Int(0)}}
	})
}

package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// What the invocations of a workgroup do together: they fill memory that they share, and merge what each has reduced.

// lanesOf gives the number of an invocation among the open Lane loops, and how many there are.
func (b *builder) lanesOf(open rangeSet) (lane affine, n int) {
	n = 1
	for _, a := range slices.Backward(b.groups[0].order) {
		if a.kind == Lane && open.has(b.facts.rangeID(a.r)) {
			lane = affine{terms: []term{{a.r, n}}}.add(lane, 1)
			n *= extent(a.r)
		}
	}
	return lane, n
}

// together says that the kernel has Lane loops.
func (b *builder) together() bool {
	for _, a := range b.byR {
		if a.kind == Lane {
			return true
		}
	}
	return false
}

// stageShared evaluates a value once for all invocations of a workgroup, for the ranges that differ between them and the
// inner ones. Each invocation computes as many elements as the others, neighbours neighbouring elements.
func (b *builder) stageShared(m Directive, u *uop.UOp, sp insertionPoint) ([]Stmt, *uop.UOp) {
	if b.anyReduce(insertionPoint{roots: []*uop.UOp{u}}) {
		refuse("stage %s at %s: a reduction inside it needs loops that are not open there", m.Name, m.At)
	}
	lane, lanes := b.lanesOf(sp.open)
	inner := b.facts.freeRanges(u)
	for _, r := range b.facts.list(sp.open) {
		if b.byR[r].kind == Lane && b.byR[r].owner != "" {
			refuse("stage %s at %s: it lies inside lanes of a reduction, which fill memory for themselves", m.Name, m.At)
		}
		if k := b.byR[r].kind; k != Lane && k != Tile {
			inner = inner.minus(b.facts.set(r))
		}
	}
	var fill []*axis
	n, at := 1, affine{}
	for _, name := range slices.Backward(m.Axes) {
		if a := b.axes[name]; inner.has(b.facts.rangeID(a.r)) {
			inner = inner.minus(b.facts.set(a.r))
			at = affine{terms: []term{{a.r, n}}}.add(at, 1)
			n *= extent(a.r)
			if fill = append(fill, a); name == m.Vector {
				fill = append([]*axis{a}, fill[:len(fill)-1]...)
			}
		}
	}
	if !inner.empty() {
		refuse("stage %s at %s: its layout lacks %v", m.Name, m.At, b.facts.list(inner))
	}
	of := 1 // neighbours that an invocation copies at a time
	if len(fill) > 0 && b.byFour(u, fill[0]) {
		of = 4
	}
	each := b.newRange((n/of+lanes-1)/lanes, "")
	if extent(each) > 1 {
		lane = affine{terms: []term{{each, lanes}}}.add(lane, 1)
	}
	element := lane.node(b.t)
	cond := b.t.True()
	if n/of%lanes != 0 {
		cond = element.Less(b.t.Index(n / of))
	}
	with := map[*uop.UOp]*uop.UOp{}
	size, neighbour := 1, b.newRange(of, "")
	for i, a := range fill {
		with[a.r] = element.IDiv(b.t.Index(size))
		extent := extent(a.r)
		if i == 0 {
			extent /= of
		}
		if size *= extent; i < len(fill)-1 {
			with[a.r] = with[a.r].Mod(b.t.Index(extent))
		}
		if i == 0 {
			with[a.r] = with[a.r].Mul(b.t.Index(of)).Add(neighbour)
		}
	}
	for _, a := range fill {
		if a.guard != nil {
			cond = cond.And(b.substitute(with, a.guard))
		}
	}
	buf := b.newScratch(u.DType(), n)
	store := &Store{Buf: buf, Index: []*uop.UOp{b.substitute(with, at.node(b.t))}, Value: b.substitute(with, u)}
	copies := when(b.fold(cond), &Loop{Range: neighbour, Kind: Tile, Body: []Stmt{store}})
	if extent(each) > 1 {
		copies = []Stmt{&Loop{Range: each, Body: copies}}
	}
	return []Stmt{&Alloc{buf, n, true}, &Sync{}, copies[0], &Sync{}}, b.t.Load(buf, b.t.True(), at.node(b.t))
}

// byFour says that four neighbours along an axis are a load of four: those of an array that nothing writes, from a multiple of four on.
func (b *builder) byFour(u *uop.UOp, a *axis) bool {
	for u.Op() == uop.Cast {
		u = u.At(0)
	}
	if u.Op() != uop.Load || u.At(1) != b.t.True() || b.target.Fours == nil || a.guard != nil || extent(a.r)%4 != 0 {
		return false
	}
	param := u.At(0).Arg().(uop.ParamArg)
	if param.Scratch || !b.readByFour(b.params[param.Slot]) {
		return false
	}
	index := b.facts.affine(b.fold(b.linear(param.Slot, u.Src()[2:]).node(b.t)))
	return index.c%4 == 0 && index.coeff(a.r) == 1 && !slices.ContainsFunc(index.terms, func(t term) bool {
		return t.u != a.r && (t.k%4 != 0 || b.facts.freeRanges(t.u).has(b.facts.rangeID(a.r)))
	})
}

// fillTogether appends what stageShared made; fills that follow each other need one barrier between them and the rest.
func (w *computing) fillTogether(stmts []Stmt) {
	scratch := false
	visit(stmts[2:3], func(s Stmt) { scratch = scratch || slices.ContainsFunc(exprs(s), w.readsScratch) })
	if n := len(w.out); n > 0 && n == w.filled && !scratch {
		w.out = append(w.out[:n-1], stmts[0], stmts[2], stmts[3])
	} else {
		w.out = append(w.out, stmts...)
	}
	w.filled = len(w.out)
}

func (b *builder) readsScratch(u *uop.UOp) bool {
	return slices.ContainsFunc(uop.Topo(u), func(u *uop.UOp) bool { return u.Op() == uop.Load && u.At(0).Arg().(uop.ParamArg).Scratch })
}

// reduceLanes gives each invocation of a workgroup its part of reductions, and merges the parts as a tree.
func (b *builder) reduceLanes(us []*uop.UOp, loops []*axis, sp insertionPoint, regs [][]*uop.UOp) (out []Stmt) {
	v := loops[0]
	if _, n := b.lanesOf(sp.open); n > 1 {
		refuse("lane %s: it lies inside other lanes", v.name)
	}
	own, body := b.accumulators(us)
	sp.open = sp.open.or(b.facts.set(v.r))
	if v.guard != nil {
		sp.guards = append(slices.Clone(sp.guards), v.guard)
	}
	body = append(body, b.level(loops[1:], sp, v.name, b.update(us, own, rangeSet{}))...)
	if b.throughSubgroups(us, v) {
		return append(out, b.reduceSubgroups(us, v, own, body, regs)...)
	}
	n := extent(v.r)
	var bufs [][]*uop.UOp
	for _, list := range own {
		var mine []*uop.UOp
		for _, r := range list {
			buf := b.newScratch(r.DType(), n)
			mine = append(mine, buf)
			out = append(out, &Alloc{buf, n, true})
			body = append(body, &Store{buf, []*uop.UOp{v.r}, r})
		}
		bufs = append(bufs, mine)
	}
	load := func(i int, at *uop.UOp) []*uop.UOp {
		return mapAll(bufs[i], func(buf *uop.UOp) *uop.UOp { return b.t.Load(buf, b.t.True(), at) })
	}
	out = append(out, &Loop{Range: v.r, Kind: Lane, Reduce: true, Body: body}, &Sync{})
	for n > 1 {
		half := (n + 1) / 2
		t := b.newRange(n-half, "")
		var lets, stores []Stmt
		for i, u := range us {
			for j, x := range monoidOf(u).Info().Merge(load(i, t), load(i, t.Add(b.t.Index(half)))) {
				r := b.reg(x.DType())
				lets = append(lets, &Let{r, x})
				stores = append(stores, &Store{bufs[i][j], []*uop.UOp{t}, r})
			}
		}
		out = append(out, &Loop{Range: t, Kind: Lane, Reduce: true, Body: append(lets, stores...)}, &Sync{})
		n = half
	}
	for i := range us {
		out = append(out, &Set{regs[i], load(i, b.t.Index(0))})
	}
	return append(out, &Sync{})
}

// once lets one invocation of a workgroup do what the others would do as well.
func (b *builder) once(stmts []Stmt, open rangeSet) []Stmt {
	if _, n := b.lanesOf(open); n > 1 || !b.together() {
		return stmts
	}
	return []Stmt{&Loop{Range: b.newRange(1, ""), Kind: Lane, Body: stmts}}
}

// checkGroup refuses workgroups that the device cannot run.
func (b *builder) checkGroup(body []Stmt) {
	lanes := GroupSize(body)
	shared := int64(0)
	visit(body, func(s Stmt) {
		if a, ok := s.(*Alloc); ok && a.Shared {
			shared += int64(a.N) * int64(max(4, a.Buf.DType().Size()))
		}
	})
	if l := b.target.Limits; lanes > l.Invocations || shared > l.Shared {
		refuse("a workgroup of %d invocations with %d bytes is more than %d with %d", lanes, shared, l.Invocations, l.Shared)
	}
	checkSyncs(body, 1, lanes)
}

// checkSyncs refuses barriers that not all invocations of a workgroup would reach.
func checkSyncs(stmts []Stmt, open, lanes int) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *Sync:
			if open != lanes && open != 1 {
				refuse("lane: a barrier lies inside %d lanes of %d", open, lanes)
			}
		case *If:
			if hasSync(s.Body) && slices.ContainsFunc(uop.Topo(s.Cond), func(u *uop.UOp) bool { return u.Op() == uop.Load || u.Op() == uop.Reg }) {
				refuse("lane: a barrier depends on a value")
			}
			checkSyncs(s.Body, open, lanes)
		case *Loop:
			n := open
			if s.Kind == Lane {
				n *= extent(s.Range)
			}
			checkSyncs(s.Body, n, lanes)
		case *SubgroupReduce:
			if open != lanes {
				refuse("lane: invocations are merged inside %d lanes of %d", open, lanes)
			}
		}
	}
}

func hasSync(stmts []Stmt) (found bool) {
	visit(stmts, func(s Stmt) {
		_, ok := s.(*Sync)
		found = found || ok
	})
	return found
}

// GroupSize is how many invocations a workgroup has: as many as nested Lane loops need.
func GroupSize(stmts []Stmt) int {
	n := 1
	for _, s := range stmts {
		inner := GroupSize(body(s))
		if l, ok := s.(*Loop); ok && l.Kind == Lane {
			inner *= extent(l.Range)
		}
		n = max(n, inner)
	}
	return n
}

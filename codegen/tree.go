package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// builder makes the tree of statements. Its values are substituted as it goes: a reduction becomes the
// register that holds it, a staged value a load of scratch.
type builder struct {
	*kernel
	directives []Directive
	body       []Stmt
	nextReg    int
	allocs     int
	vectors    rangeSet // ranges of Vector loops, from the pass "index" on
	guarded    int      // accesses that the pass "guard" gave a condition

	own map[int]*uop.UOp // scratch, by Param, that is in the place of arrays

	carrying *carried // in the nest being built
	allOpen  rangeSet // all its loops
}

// insertionPoint is a place in the tree: the open loops, and the expressions still to be computed inside. names are
// the values that directives speak of, as they look here.
type insertionPoint struct {
	open  rangeSet
	roots []*uop.UOp
	names map[string]*uop.UOp
	lanes bool // inside a Vector loop

	unrolled rangeSet // open ranges whose values are lanes or registers, side by side

	guards []*uop.UOp // conditions of open loops that wait for others to be opened
	counts *uop.UOp   // of the loop that is opened next: without it an iteration changes nothing
}

func (b *builder) reg(d dtype.DType) *uop.UOp {
	b.nextReg++
	return b.t.Make(uop.Reg, d, uop.RegArg{ID: b.nextReg - 1})
}

// tree builds the whole kernel.
func (b *builder) tree() []Stmt {
	if len(b.finite) > 0 {
		return b.twoWays()
	}
	body := b.ownArrays()
	for _, g := range b.groups {
		body = append(body, b.nestOf(g)...)
	}
	if b.target.Grid {
		b.checkGroup(body)
		return body
	}
	if len(b.groups) > 1 {
		body = rowByRow(body)
	}
	return b.unswitched(body)
}

// nestOf builds one nest of outputs.
func (b *builder) nestOf(g *group) []Stmt {
	sp := insertionPoint{names: b.values}
	for _, i := range g.outs {
		o := b.outs[i]
		sp.roots = append(sp.roots, o.Index...)
		sp.roots = append(sp.roots, orTrue(b.t, o.Gate), o.Value)
	}
	b.carrying = b.carriedIn(g)
	b.allOpen = rangeSet{}
	for _, a := range g.order {
		b.allOpen = b.allOpen.or(b.facts.set(a.r))
	}
	return b.level(g.order, sp, Root, func(sp insertionPoint) []Stmt {
		if b.carrying != nil {
			return when(b.carrying.last, b.stores(g, sp.roots)...)
		}
		return b.once(b.stores(g, sp.roots), sp.open)
	})
}

func orTrue(t *uop.Table, u *uop.UOp) *uop.UOp {
	if u == nil {
		return t.True()
	}
	return u
}

// stores is the innermost part of a nest of outputs. All values are computed before anything is stored.
func (b *builder) stores(g *group, roots []*uop.UOp) []Stmt {
	var lets, stores []Stmt
	for _, i := range g.outs {
		o := b.outs[i]
		n := len(o.Index)
		index, gate, value := roots[:n], roots[n], roots[n+1]
		roots = roots[n+2:]
		buf := b.param(o.Param)
		if o.Merge != nil && *o.Merge != uop.Last {
			old := b.t.Load(buf, b.t.True(), index...)
			value = mergeInto(*o.Merge, []*uop.UOp{old}, []*uop.UOp{value})[0]
		}
		if len(g.outs) > 1 && value.Op() != uop.Const && value.Op() != uop.Reg {
			r := b.reg(value.DType())
			lets = append(lets, &Let{r, value})
			value = r
		}
		stores = append(stores, when(gate, &Store{Buf: buf, Index: index, Value: value})...)
	}
	return append(lets, stores...)
}

// when guards statements by a condition.
func when(cond *uop.UOp, body ...Stmt) []Stmt {
	if c, ok := cond.ConstValue(); ok {
		if c.Bool() {
			return body
		}
		return nil
	}
	return []Stmt{&If{Cond: cond, Body: body}}
}

func (b *builder) param(i int) *uop.UOp {
	if own := b.own[i]; own != nil {
		return own
	}
	n := 1
	for _, d := range b.params[i].Dims {
		n *= d
	}
	return b.t.Param(i, n, b.params[i].DType)
}

// level builds what lies at one place, then the loops inside. at is the name of the loop just opened.
func (b *builder) level(loops []*axis, sp insertionPoint, at string, leaf func(sp insertionPoint) []Stmt) []Stmt {
	out, sp := b.compute(sp, at)
	if len(loops) == 0 {
		if len(sp.guards) > 0 {
			panic(fmt.Sprintf("BUG: the guard %v is never decided", sp.guards[0]))
		}
		return append(out, leaf(sp)...)
	}
	a := loops[0]
	if b.runs(a.r) {
		var lets []Stmt
		lets, sp, leaf = b.openScans(sp, a.r, leaf)
		out = append(out, lets...)
	}
	inside := sp
	inside.counts = nil
	inside.open = sp.open.or(b.facts.set(a.r))
	inside.lanes = sp.lanes || a.kind == Vector
	if a.kind == Vector || a.kind == Tile {
		inside.unrolled = sp.unrolled.or(b.facts.set(a.r))
	}
	guard := b.t.True()
	if a.guard != nil {
		inside.guards = append(slices.Clone(sp.guards), a.guard)
	}
	inside.guards = slices.DeleteFunc(slices.Clone(inside.guards), func(g *uop.UOp) bool {
		if b.facts.freeRanges(g).within(inside.open) {
			guard = b.fold(guard.And(g))
			return true
		}
		return false
	})
	var body []Stmt
	switch {
	case guard.Op() != uop.Const:
		body = when(guard, b.level(loops[1:], inside, a.name, leaf)...)
	case a.full >= 0:
		last := b.t.Index(a.full)
		body = when(b.fold(a.r.Less(last)), b.level(loops[1:], inside, a.name, leaf)...)
		body = append(body, when(b.fold(last.Less(a.r.Add(b.t.Index(1)))), b.tail(a, loops[1:], inside, leaf)...)...)
	default:
		body = b.level(loops[1:], inside, a.name, leaf)
	}
	if sp.counts != nil {
		body = when(sp.counts, body...)
	}
	if a.owner != "" { // not a copy nest over the same range
		out = append(out, b.carrying.allocs(a.r)...)
	}
	return append(out, &Loop{Range: a.r, Kind: a.kind, Reduce: a.owner != "", Body: body})
}

// tail builds the loops below a peeled axis once more, for its last, shorter iteration.
func (b *builder) tail(a *axis, loops []*axis, sp insertionPoint, leaf func(sp insertionPoint) []Stmt) []Stmt {
	loops = slices.Clone(loops)
	for i, l := range loops {
		if l.r == a.inner {
			loops[i] = b.byR[a.rest]
		}
	}
	with := map[*uop.UOp]*uop.UOp{a.inner: a.rest}
	sp = b.replaceAll(sp, with)
	return b.level(loops, sp, a.name, leaf)
}

// replaceAll substitutes in all expressions of a place.
func (b *builder) replaceAll(sp insertionPoint, with map[*uop.UOp]*uop.UOp) insertionPoint {
	return b.mapPoint(sp, new(uop.Map[*uop.UOp]), func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if e, ok := with[u]; ok {
			return e
		}
		return b.fold(remake(b.t, u, src))
	})
}

// mapPoint rewrites the expressions of a place, operands first, and notes in done what became of each.
func (b *builder) mapPoint(sp insertionPoint, done *uop.Map[*uop.UOp], f func(u *uop.UOp, src []*uop.UOp) *uop.UOp) insertionPoint {
	get := func(u *uop.UOp) *uop.UOp { v, _ := done.Get(u); return v }
	for _, r := range sp.roots {
		remember(done, r, func(u *uop.UOp) *uop.UOp { return f(u, mapAll(u.Src(), get)) })
	}
	out := sp
	out.roots = make([]*uop.UOp, len(sp.roots))
	for i, r := range sp.roots {
		out.roots[i] = get(r)
	}
	out.names = make(map[string]*uop.UOp, len(sp.names))
	for n, v := range sp.names {
		if w := get(v); w != nil {
			out.names[n] = w
		}
	}
	return out
}

// compute emits, operands first, the stages of this place and the reductions whose free ranges are all open.
func (b *builder) compute(sp insertionPoint, at string) ([]Stmt, insertionPoint) {
	staged := map[*uop.UOp][]Directive{}
	for _, m := range b.stages {
		if u := sp.names[m.Name]; m.At == at && u != nil {
			staged[u] = append(staged[u], m)
		}
	}
	if len(staged) == 0 && !b.anyReduce(sp) {
		return nil, sp
	}
	w := &computing{builder: b, sp: sp, staged: staged, sharedSubexprs: b.sharedAt(sp, staged), parts: map[*uop.UOp][]*uop.UOp{}}
	w.findSiblings()
	next := b.mapPoint(sp, &w.done, w.node)
	return w.out, next
}

// ready says whether a reduction can be computed here: what it depends on is open; a carried one waits for
// all loops of its nest.
func (b *builder) ready(u *uop.UOp, open rangeSet) bool {
	return b.facts.freeRanges(u).within(open) && (!b.carrying.is(u) || b.allOpen.within(open))
}

func (b *builder) anyReduce(sp insertionPoint) bool {
	found := false
	walk(sp.roots, func(u *uop.UOp) bool { return found }, func(u *uop.UOp) {
		found = found || u.Op() == uop.Reduce
	})
	return found
}

package lower

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// builder makes the tree of statements. Its values are substituted as it goes: a reduction becomes the
// register that holds it, a staged value a load of scratch.
type builder struct {
	*nest.Kernel
	directives []codegen.Directive
	body       []codegen.Stmt
	nextReg    int
	allocs     int
	vectors    affine.RangeSet // ranges of Vector loops, from the pass "index" on
	guarded    int             // accesses that the pass "guard" gave a condition
	choices    int             // blocks that are built twice

	own map[int]*uop.UOp // scratch, by Param, that is in the place of arrays

	carrying *carried        // in the nest being built
	allOpen  affine.RangeSet // all its loops
}

// insertionPoint is a place in the tree: the open loops, and the expressions still to be computed inside. names are
// the values that directives speak of, as they look here.
type insertionPoint struct {
	open  affine.RangeSet
	roots []*uop.UOp
	names map[string]*uop.UOp
	lanes bool // inside a Vector loop

	unrolled affine.RangeSet // open ranges whose values are lanes or registers, side by side

	asked  bool       // whether all lanes lie within what they read
	guards []*uop.UOp // conditions of open loops that wait for others to be opened
	counts *uop.UOp   // of the loop that is opened next: without it an iteration changes nothing
}

func (b *builder) reg(d dtype.DType) *uop.UOp {
	b.nextReg++
	return b.Table.Make(uop.Reg, d, uop.RegArg{ID: b.nextReg - 1})
}

// tree builds the whole kernel.
func (b *builder) tree() []codegen.Stmt {
	if len(b.Finite) > 0 {
		return b.twoWays()
	}
	body := b.ownArrays()
	for _, g := range b.Groups {
		body = append(body, b.nestOf(g)...)
	}
	if b.Target.Grid {
		(&grouper{b}).checkGroup(body)
		return body
	}
	if len(b.Groups) > 1 {
		body = rowByRow(body)
	}
	return b.unswitched(body)
}

// nestOf builds one nest of outputs.
func (b *builder) nestOf(g *nest.Group) []codegen.Stmt {
	sp := insertionPoint{names: b.Values}
	for _, i := range g.Outs {
		o := b.Outs[i]
		sp.roots = append(sp.roots, o.Index...)
		sp.roots = append(sp.roots, codegen.OrTrue(b.Table, o.Gate), o.Value)
	}
	b.carrying = b.carriedIn(g)
	b.allOpen = affine.RangeSet{}
	for _, a := range g.Order {
		b.allOpen = b.allOpen.Or(b.Facts.Set(a.Range))
	}
	return b.level(g.Order, sp, codegen.Root, func(sp insertionPoint) []codegen.Stmt {
		if b.carrying != nil {
			return when(b.carrying.last, b.stores(g, sp.roots)...)
		}
		return (&grouper{b}).once(b.stores(g, sp.roots), sp.open)
	})
}

// stores is the innermost part of a nest of outputs. All values are computed before anything is stored.
func (b *builder) stores(g *nest.Group, roots []*uop.UOp) []codegen.Stmt {
	var lets, stores []codegen.Stmt
	for _, i := range g.Outs {
		o := b.Outs[i]
		n := len(o.Index)
		index, gate, value := roots[:n], roots[n], roots[n+1]
		roots = roots[n+2:]
		buf := b.param(o.Param)
		if o.Merge != nil && *o.Merge != uop.Last {
			old := b.Table.Load(buf, b.Table.True(), index...)
			value = mergeInto(*o.Merge, []*uop.UOp{old}, []*uop.UOp{value})[0]
		}
		if len(g.Outs) > 1 && value.Op() != uop.Const && value.Op() != uop.Reg {
			r := b.reg(value.DType())
			lets = append(lets, &codegen.Let{Reg: r, Value: value})
			value = r
		}
		stores = append(stores, when(gate, &codegen.Store{Buf: buf, Index: index, Value: value})...)
	}
	return append(lets, stores...)
}

// when guards statements by a condition.
func when(cond *uop.UOp, body ...codegen.Stmt) []codegen.Stmt {
	if c, ok := cond.ConstValue(); ok {
		if c.Bool() {
			return body
		}
		return nil
	}
	return []codegen.Stmt{&codegen.If{Cond: cond, Body: body}}
}

func (b *builder) param(i int) *uop.UOp {
	if own := b.own[i]; own != nil {
		return own
	}
	n := 1
	for _, d := range b.Params[i].Dims {
		n *= d
	}
	return b.Table.Param(i, n, b.Params[i].DType)
}

// level builds what lies at one place, then the loops inside. at is the name of the loop just opened.
func (b *builder) level(loops []*nest.Axis, sp insertionPoint, at string, leaf func(sp insertionPoint) []codegen.Stmt) []codegen.Stmt {
	if b.mayBeTwice(sp) {
		if out := b.twice(loops, sp, func(sp insertionPoint) []codegen.Stmt { return b.level(loops, sp, at, leaf) }); out != nil {
			return out
		}
	}
	out, sp := b.compute(sp, at)
	if len(loops) == 0 {
		if len(sp.guards) > 0 {
			panic(fmt.Sprintf("BUG: the guard %v is never decided", sp.guards[0]))
		}
		return append(out, leaf(sp)...)
	}
	a := loops[0]
	if b.Runs(a.Range) {
		var lets []codegen.Stmt
		lets, sp, leaf = b.openScans(sp, a.Range, leaf)
		out = append(out, lets...)
	}
	inside := sp
	inside.counts = nil
	inside.open = sp.open.Or(b.Facts.Set(a.Range))
	inside.lanes = sp.lanes || a.Kind == codegen.Vector
	if a.Kind == codegen.Vector || a.Kind == codegen.Tile {
		inside.unrolled = sp.unrolled.Or(b.Facts.Set(a.Range))
	}
	guard := b.Table.True()
	if a.Guard != nil {
		inside.guards = append(slices.Clone(sp.guards), a.Guard)
	}
	if a.Exists != nil {
		decided := inside.open
		for _, x := range loops[1:] {
			decided = decided.Or(b.Facts.Set(x.Range))
		}
		if b.Facts.FreeRanges(a.Exists).Within(decided) {
			inside.guards = append(slices.Clone(inside.guards), a.Exists)
		}
	}
	inside.guards = slices.DeleteFunc(slices.Clone(inside.guards), func(g *uop.UOp) bool {
		if b.Facts.FreeRanges(g).Within(inside.open) {
			guard = b.Fold(guard.And(g))
			return true
		}
		return false
	})
	var body []codegen.Stmt
	switch {
	case guard.Op() != uop.Const:
		body = when(guard, b.level(loops[1:], inside, a.Name, leaf)...)
	case a.Full >= 0:
		last := b.Table.Index(a.Full)
		body = when(b.Fold(a.Range.Less(last)), b.level(loops[1:], inside, a.Name, leaf)...)
		body = append(body, when(b.Fold(last.Less(a.Range.Add(b.Table.Index(1)))), b.tail(a, loops[1:], inside, leaf)...)...)
	default:
		body = b.level(loops[1:], inside, a.Name, leaf)
	}
	if sp.counts != nil {
		body = when(sp.counts, body...)
	}
	if a.Owner != "" { // not a copy nest over the same range
		out = append(out, b.carrying.allocs(a.Range)...)
	}
	return append(out, &codegen.Loop{Range: a.Range, Kind: a.Kind, Reduce: a.Owner != "", Body: body})
}

// tail builds the loops below a peeled axis once more, for its last, shorter iteration.
func (b *builder) tail(a *nest.Axis, loops []*nest.Axis, sp insertionPoint, leaf func(sp insertionPoint) []codegen.Stmt) []codegen.Stmt {
	loops = slices.Clone(loops)
	for i, l := range loops {
		if l.Range == a.Inner {
			loops[i] = b.ByRange[a.Rest]
		}
	}
	with := map[*uop.UOp]*uop.UOp{a.Inner: a.Rest}
	sp = b.replaceAll(sp, with)
	return b.level(loops, sp, a.Name, leaf)
}

// replaceAll substitutes in all expressions of a place.
func (b *builder) replaceAll(sp insertionPoint, with map[*uop.UOp]*uop.UOp) insertionPoint {
	return b.mapPoint(sp, new(uop.Map[*uop.UOp]), func(u *uop.UOp, src []*uop.UOp) *uop.UOp {
		if e, ok := with[u]; ok {
			return e
		}
		return b.Fold(codegen.Remake(b.Table, u, src))
	})
}

// mapPoint rewrites the expressions of a place, operands first, and notes in done what became of each.
func (b *builder) mapPoint(sp insertionPoint, done *uop.Map[*uop.UOp], f func(u *uop.UOp, src []*uop.UOp) *uop.UOp) insertionPoint {
	get := func(u *uop.UOp) *uop.UOp { v, _ := done.Get(u); return v }
	for _, r := range sp.roots {
		codegen.Remember(done, r, func(u *uop.UOp) *uop.UOp { return f(u, codegen.MapAll(u.Src(), get)) })
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
func (b *builder) compute(sp insertionPoint, at string) ([]codegen.Stmt, insertionPoint) {
	staged := map[*uop.UOp][]codegen.Directive{}
	for _, m := range b.Stages {
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
func (b *builder) ready(u *uop.UOp, open affine.RangeSet) bool {
	return b.Facts.FreeRanges(u).Within(open) && (!b.carrying.is(u) || b.allOpen.Within(open))
}

func (b *builder) anyReduce(sp insertionPoint) bool {
	found := false
	uop.Walk(sp.roots, func(u *uop.UOp) bool { return found }, func(u *uop.UOp) {
		found = found || u.Op() == uop.Reduce
	})
	return found
}

// rowByRow makes one loop of those of all nests over the threads' axis.
func rowByRow(stmts []codegen.Stmt) []codegen.Stmt {
	var rows *codegen.Loop
	var out []codegen.Stmt
	for _, s := range stmts {
		l, ok := s.(*codegen.Loop)
		switch {
		case !ok || l.Kind != codegen.Thread:
			out = append(out, s) // needed by a later nest; it reads nothing that another one writes, because that is apart by rows
			continue
		case rows == nil:
			rows = l
			continue
		}
		rows.Body = append(slices.Clone(rows.Body), l.Body...)
	}
	if rows != nil {
		out = append(out, rows)
	}
	return out
}

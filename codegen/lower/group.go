package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// grouper writes what the invocations of a workgroup do together: they fill memory that they share, and merge what each has reduced.
type grouper struct{ *builder }

// lanesOf gives the number of an invocation among the open Lane loops, and how many there are.
func (b *grouper) lanesOf(open affine.RangeSet) (lane affine.Form, n int) {
	n = 1
	for _, a := range slices.Backward(b.Groups[0].Order) {
		if a.Kind == codegen.Lane && open.Has(b.Facts.RangeID(a.Range)) {
			lane = affine.Form{Terms: []affine.Term{{Node: a.Range, Coef: n}}}.Add(lane, 1)
			n *= codegen.Extent(a.Range)
		}
	}
	return lane, n
}

// together says that the kernel has Lane loops.
func (b *grouper) together() bool {
	for _, a := range b.ByRange {
		if a.Kind == codegen.Lane {
			return true
		}
	}
	return false
}

// stageShared evaluates a value once for all invocations of a workgroup, for the ranges that differ between them and the
// inner ones. Each invocation computes as many elements as the others, neighbours neighbouring elements.
func (b *grouper) stageShared(m codegen.Directive, u *uop.UOp, sp insertionPoint) ([]codegen.Stmt, *uop.UOp) {
	if b.anyReduce(insertionPoint{roots: []*uop.UOp{u}}) {
		refuse("stage %s at %s: a reduction inside it needs loops that are not open there", m.Name, m.At)
	}
	lane, lanes := b.lanesOf(sp.open)
	inner := b.Facts.FreeRanges(u)
	for _, r := range b.Facts.List(sp.open) {
		if b.ByRange[r].Kind == codegen.Lane && b.ByRange[r].Owner != "" {
			refuse("stage %s at %s: it lies inside lanes of a reduction, which fill memory for themselves", m.Name, m.At)
		}
		if k := b.ByRange[r].Kind; k != codegen.Lane && k != codegen.Tile {
			inner = inner.Minus(b.Facts.Set(r))
		}
	}
	var fill []*nest.Axis
	n, at := 1, affine.Form{}
	for _, name := range slices.Backward(m.Axes) {
		if a := b.Axes[name]; inner.Has(b.Facts.RangeID(a.Range)) {
			inner = inner.Minus(b.Facts.Set(a.Range))
			at = affine.Form{Terms: []affine.Term{{Node: a.Range, Coef: n}}}.Add(at, 1)
			n *= codegen.Extent(a.Range)
			if fill = append(fill, a); name == m.Vector {
				fill = append([]*nest.Axis{a}, fill[:len(fill)-1]...)
			}
		}
	}
	if !inner.Empty() {
		refuse("stage %s at %s: its layout lacks %v", m.Name, m.At, b.Facts.List(inner))
	}
	of := 1 // neighbours that an invocation copies at a time
	if len(fill) > 0 && b.byFour(u, fill[0]) {
		of = 4
	}
	each := b.NewRange((n/of+lanes-1)/lanes, "")
	if codegen.Extent(each) > 1 {
		lane = affine.Form{Terms: []affine.Term{{Node: each, Coef: lanes}}}.Add(lane, 1)
	}
	element := lane.Node(b.Table)
	cond := b.Table.True()
	if n/of%lanes != 0 {
		cond = element.Less(b.Table.Index(n / of))
	}
	with := map[*uop.UOp]*uop.UOp{}
	size, neighbour := 1, b.NewRange(of, "")
	for i, a := range fill {
		with[a.Range] = element.IDiv(b.Table.Index(size))
		extent := codegen.Extent(a.Range)
		if i == 0 {
			extent /= of
		}
		if size *= extent; i < len(fill)-1 {
			with[a.Range] = with[a.Range].Mod(b.Table.Index(extent))
		}
		if i == 0 {
			with[a.Range] = with[a.Range].Mul(b.Table.Index(of)).Add(neighbour)
		}
	}
	for _, a := range fill {
		if a.Guard != nil {
			cond = cond.And(b.Substitute(with, a.Guard))
		}
	}
	buf := b.newScratch(u.DType(), n)
	store := &codegen.Store{Buf: buf, Index: []*uop.UOp{b.Substitute(with, at.Node(b.Table))}, Value: b.Substitute(with, u)}
	copies := when(b.Fold(cond), &codegen.Loop{Range: neighbour, Kind: codegen.Tile, Body: []codegen.Stmt{store}})
	if codegen.Extent(each) > 1 {
		copies = []codegen.Stmt{&codegen.Loop{Range: each, Body: copies}}
	}
	return []codegen.Stmt{&codegen.Alloc{Buf: buf, N: n, Shared: true}, &codegen.Sync{}, copies[0], &codegen.Sync{}}, b.Table.Load(buf, b.Table.True(), at.Node(b.Table))
}

// byFour says that four neighbours along an axis are a load of four: those of an array that nothing writes, from a multiple of four on.
func (b *grouper) byFour(u *uop.UOp, a *nest.Axis) bool {
	for u.Op() == uop.Cast {
		u = u.At(0)
	}
	if u.Op() != uop.Load || u.At(1) != b.Table.True() || b.Target.Fours == nil || a.Guard != nil || codegen.Extent(a.Range)%4 != 0 {
		return false
	}
	param := u.At(0).Arg().(uop.ParamArg)
	if param.Scratch || !b.readByFour(b.Params[param.Slot]) {
		return false
	}
	index := b.Facts.Form(b.Fold(b.Linear(param.Slot, u.Src()[2:]).Node(b.Table)))
	return index.Const%4 == 0 && index.Coeff(a.Range) == 1 && !slices.ContainsFunc(index.Terms, func(t affine.Term) bool {
		return t.Node != a.Range && (t.Coef%4 != 0 || b.Facts.FreeRanges(t.Node).Has(b.Facts.RangeID(a.Range)))
	})
}

// fillTogether appends what stageShared made; fills that follow each other need one barrier between them and the rest.
func (w *computing) fillTogether(stmts []codegen.Stmt) {
	scratch := false
	codegen.Visit(stmts[2:3], func(s codegen.Stmt) { scratch = scratch || slices.ContainsFunc(codegen.Exprs(s), readsScratch) })
	if n := len(w.out); n > 0 && n == w.filled && !scratch {
		w.out = append(w.out[:n-1], stmts[0], stmts[2], stmts[3])
	} else {
		w.out = append(w.out, stmts...)
	}
	w.filled = len(w.out)
}

func readsScratch(u *uop.UOp) bool {
	return slices.ContainsFunc(uop.Topo(u), func(u *uop.UOp) bool { return u.Op() == uop.Load && u.At(0).Arg().(uop.ParamArg).Scratch })
}

// reduceLanes gives each invocation of a workgroup its part of reductions, and merges the parts as a tree.
func (b *grouper) reduceLanes(us []*uop.UOp, loops []*nest.Axis, sp insertionPoint, regs [][]*uop.UOp) (out []codegen.Stmt) {
	v := loops[0]
	if _, n := b.lanesOf(sp.open); n > 1 {
		refuse("lane %s: it lies inside other lanes", v.Name)
	}
	own, body := b.accumulators(us)
	sp.open = sp.open.Or(b.Facts.Set(v.Range))
	if v.Guard != nil {
		sp.guards = append(slices.Clone(sp.guards), v.Guard)
	}
	body = append(body, b.level(loops[1:], sp, v.Name, b.update(us, own))...)
	if b.throughSubgroups(us, v) {
		return append(out, b.reduceSubgroups(us, v, own, body, regs)...)
	}
	n := codegen.Extent(v.Range)
	var bufs [][]*uop.UOp
	for _, list := range own {
		var mine []*uop.UOp
		for _, r := range list {
			buf := b.newScratch(r.DType(), n)
			mine = append(mine, buf)
			out = append(out, &codegen.Alloc{Buf: buf, N: n, Shared: true})
			body = append(body, &codegen.Store{Buf: buf, Index: []*uop.UOp{v.Range}, Value: r})
		}
		bufs = append(bufs, mine)
	}
	load := func(i int, at *uop.UOp) []*uop.UOp {
		return codegen.MapAll(bufs[i], func(buf *uop.UOp) *uop.UOp { return b.Table.Load(buf, b.Table.True(), at) })
	}
	out = append(out, &codegen.Loop{Range: v.Range, Kind: codegen.Lane, Reduce: true, Body: body}, &codegen.Sync{})
	for n > 1 {
		half := (n + 1) / 2
		t := b.NewRange(n-half, "")
		var lets, stores []codegen.Stmt
		for i, u := range us {
			for j, x := range codegen.MonoidOf(u).Info().Merge(load(i, t), load(i, t.Add(b.Table.Index(half)))) {
				r := b.reg(x.DType())
				lets = append(lets, &codegen.Let{Reg: r, Value: x})
				stores = append(stores, &codegen.Store{Buf: bufs[i][j], Index: []*uop.UOp{t}, Value: r})
			}
		}
		out = append(out, &codegen.Loop{Range: t, Kind: codegen.Lane, Reduce: true, Body: append(lets, stores...)}, &codegen.Sync{})
		n = half
	}
	for i := range us {
		out = append(out, &codegen.Set{Regs: regs[i], Values: load(i, b.Table.Index(0))})
	}
	return append(out, &codegen.Sync{})
}

// once lets one invocation of a workgroup do what the others would do as well.
func (b *grouper) once(stmts []codegen.Stmt, open affine.RangeSet) []codegen.Stmt {
	if _, n := b.lanesOf(open); n > 1 || !b.together() {
		return stmts
	}
	return []codegen.Stmt{&codegen.Loop{Range: b.NewRange(1, ""), Kind: codegen.Lane, Body: stmts}}
}

// checkGroup refuses workgroups that the device cannot run.
func (b *grouper) checkGroup(body []codegen.Stmt) {
	lanes := codegen.GroupSize(body)
	shared := int64(0)
	codegen.Visit(body, func(s codegen.Stmt) {
		if a, ok := s.(*codegen.Alloc); ok && a.Shared {
			shared += int64(a.N) * int64(max(4, a.Buf.DType().Size()))
		}
	})
	if l := b.Target.Limits; lanes > l.Invocations || shared > l.Shared {
		refuse("a workgroup of %d invocations with %d bytes is more than %d with %d", lanes, shared, l.Invocations, l.Shared)
	}
	checkSyncs(body, 1, lanes)
}

// checkSyncs refuses barriers that not all invocations of a workgroup would reach.
func checkSyncs(stmts []codegen.Stmt, open, lanes int) {
	for _, s := range stmts {
		switch s := s.(type) {
		case *codegen.Sync:
			if open != lanes && open != 1 {
				refuse("lane: a barrier lies inside %d lanes of %d", open, lanes)
			}
		case *codegen.If:
			if hasSync(s.Body) && slices.ContainsFunc(uop.Topo(s.Cond), func(u *uop.UOp) bool { return u.Op() == uop.Load || u.Op() == uop.Reg }) {
				refuse("lane: a barrier depends on a value")
			}
			checkSyncs(s.Body, open, lanes)
		case *codegen.Loop:
			n := open
			if s.Kind == codegen.Lane {
				n *= codegen.Extent(s.Range)
			}
			checkSyncs(s.Body, n, lanes)
		case *codegen.SubgroupReduce:
			if open != lanes {
				refuse("lane: invocations are merged inside %d lanes of %d", open, lanes)
			}
		}
	}
}

func hasSync(stmts []codegen.Stmt) (found bool) {
	codegen.Visit(stmts, func(s codegen.Stmt) {
		_, ok := s.(*codegen.Sync)
		found = found || ok
	})
	return found
}

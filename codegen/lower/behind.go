package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/uop"
)

// What is done with the sums of a tile, behind their loop, is written once for each register, as all of a tile is. Where that is much, an
// activation or a step of an optimiser, compilers of C take longer for it than for the loop, and it needs most registers for
// its own numbers. So the sums go to scratch, and loops over the tile do the rest, a vector at a time. Results of which neighbours
// lie in other vectors go through scratch too: all of a tile is stored at once, as it was.

const (
	behindEach  = 8   // so many operations and accesses for an element are much,
	narrowEach  = 12  // where results are narrower than 32 bits so many,
	behindAll   = 128 // if they are so many for a tile,
	behindTimes = 32  // behind loops of so many iterations, beside which going through scratch takes little;
	fewTimes    = 4   // behind loops of so many
	mostEach    = 24  // it takes little beside so many operations for an element
	neighbours  = 6   // so many places side by side, of a lane each in as many vectors, are worth storing at once
)

// tail is what is done behind the loops of a tile.
type tail struct {
	loops []*codegen.Loop // of the tile, the lanes among them; all the others are unrolled
	lanes *uop.UOp
	block *uop.UOp       // which vector, where there are several along the axis of lanes
	first []codegen.Stmt // with the loops that are long
	cond  *uop.UOp       // of rest
	rest  []codegen.Stmt
}

// behind gives what takes the place of a tile's outermost loop; nil: all of it stays in registers.
func (b *builder) behind(l *codegen.Loop) []codegen.Stmt {
	t := &tail{cond: b.Table.True()}
	body := []codegen.Stmt{l}
	for len(body) == 1 {
		in, ok := body[0].(*codegen.Loop)
		if !ok || in.Kind != codegen.Tile && in.Kind != codegen.Vector {
			break
		}
		t.loops, body = append(t.loops, in), in.Body
	}
	at, times := 0, 0
	for i, s := range body {
		if n := countIterations([]codegen.Stmt{s}); n >= fewTimes {
			at, times = i+1, max(times, n)
		}
	}
	if at == 0 || at == len(body) {
		return nil
	}
	t.first, t.rest = body[:at], body[at:]
	if c, ok := body[len(body)-1].(*codegen.If); ok { // of a sum in several rounds, behind the last one
		t.first, t.cond, t.rest = body[:len(body)-1], c.Cond, c.Body
	}
	if !b.splitLanes(t, body) || !b.muchBehind(t, times) || !b.simple(t) {
		return nil
	}
	return b.apart(t)
}

// splitLanes makes lanes of one vector of those that there are.
func (b *builder) splitLanes(t *tail, body []codegen.Stmt) bool {
	at := slices.IndexFunc(t.loops, func(l *codegen.Loop) bool { return l.Kind == codegen.Vector })
	if at < 0 {
		return false
	}
	l := t.loops[at]
	n, width := codegen.Extent(l.Range), b.lanes(l.Range, body)
	t.lanes = l.Range
	if n == width || width == 1 {
		return width > 1
	}
	outer, inner := b.NewRange(n/width, ""), b.NewRange(width, "")
	w := &codegen.Rewriter{Table: b.Table, Fold: b.Fold}
	w.Done.Set(l.Range, outer.Mul(b.Table.Index(width)).Add(inner))
	t.block, t.lanes, t.first, t.cond, t.rest = outer, inner, codegen.MapStmts(t.first, w.Do), w.Do(t.cond), codegen.MapStmts(t.rest, w.Do)
	t.loops = slices.Concat(t.loops[:at], []*codegen.Loop{{Range: outer, Kind: codegen.Tile, Reduce: l.Reduce}, {Range: inner, Kind: codegen.Vector, Reduce: l.Reduce}}, t.loops[at+1:])
	return true
}

// muchBehind says that what is behind is too much to be written for each register.
func (b *builder) muchBehind(t *tail, times int) bool {
	computed, each, least, seen := false, 0, behindEach, map[*uop.UOp]bool{}
	for _, s := range t.rest {
		if st, ok := s.(*codegen.Store); ok {
			each++
			if st.Buf.DType().Size() < 4 {
				least = narrowEach
			}
		}
		uop.Walk(codegen.Exprs(s), func(u *uop.UOp) bool { return seen[u] }, func(u *uop.UOp) {
			seen[u] = true
			compute := u.DType().IsFloat() && u.Op().Elementwise()
			if compute || u.Op() == uop.Load {
				each++
			}
			computed = computed || compute
		})
	}
	all := each
	for _, l := range t.loops {
		if l.Range != t.lanes {
			all *= codegen.Extent(l.Range)
		}
	}
	if times < behindTimes {
		least = mostEach
	}
	return computed && each >= least && all >= behindAll
}

// simple says that what is behind only computes and stores, and that vectors may be loaded one by one.
func (b *builder) simple(t *tail) bool {
	if codegen.Reads(t.cond) || slices.ContainsFunc(t.loops, func(l *codegen.Loop) bool { return b.Facts.FreeRanges(t.cond).Has(b.Facts.RangeID(l.Range)) }) {
		return false
	}
	if slices.ContainsFunc(usedOf(t.first, t.rest), func(r *uop.UOp) bool { return r.DType().Size() < 4 }) { // of as many lanes
		return false
	}
	for _, s := range t.rest {
		switch s := s.(type) {
		case *codegen.Let:
		case *codegen.Store:
			if slices.ContainsFunc(uop.Topo(s.Index...), func(u *uop.UOp) bool { return u.Op() == uop.Reg || u.Op() == uop.Load }) {
				return false
			}
		default:
			return false
		}
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() == uop.Load && !b.single(t, u.At(0), u.Src()[2:], codegen.Extent(t.lanes)) {
				return false
			}
		}
	}
	return true
}

// single says that nothing is lost where an array is accessed a vector at a time: lanes lie side by side, or few vectors have neighbours.
func (b *builder) single(t *tail, buf *uop.UOp, index []*uop.UOp, many int) bool {
	var a affine.Form
	if p := buf.Arg().(uop.ParamArg); p.Scratch {
		a = b.Facts.Form(index[0])
	} else {
		a = b.Linear(p.Slot, index)
	}
	step := a.Coeff(t.lanes)
	return step == 0 || step == 1 || !slices.ContainsFunc(t.loops, func(l *codegen.Loop) bool {
		n := codegen.Extent(l.Range)
		return l.Range != t.lanes && a.Coeff(l.Range) == 1 && (n >= many || n == step)
	})
}

// apart makes nests of their own of what a tile's loops and what is behind them do.
func (b *builder) apart(t *tail) (out []codegen.Stmt) {
	place, n := t.lanes, codegen.Extent(t.lanes)
	along := func(r *uop.UOp) { place, n = place.Add(r.Mul(b.Table.Index(n))), n*codegen.Extent(r) }
	for _, l := range slices.Backward(t.loops) { // vectors of the innermost loop, mostly that of neighbours, follow each other
		if l.Range != t.lanes && l.Range != t.block {
			along(l.Range)
		}
	}
	if t.block != nil {
		along(t.block)
	}
	place = b.Fold(place)
	scratch := func(value *uop.UOp) (buf *uop.UOp, store codegen.Stmt) {
		buf = b.newScratch(value.DType(), n)
		out = append(out, &codegen.Alloc{Buf: buf, N: n})
		return buf, &codegen.Store{Buf: buf, Index: []*uop.UOp{place}, Value: value}
	}
	w := &codegen.Rewriter{Table: b.Table, Fold: b.Fold}
	var left, again, rest, last []codegen.Stmt
	for _, s := range usedOf(t.first, t.rest) {
		buf, store := scratch(s)
		r := b.reg(s.DType())
		left, again = append(left, store), append(again, &codegen.Let{Reg: r, Value: b.Table.Load(buf, b.Table.True(), place)})
		w.Done.Set(s, r)
	}
	for _, s := range codegen.MapStmts(t.rest, w.Do) {
		if st, ok := s.(*codegen.Store); ok && !b.single(t, st.Buf, st.Index, neighbours) {
			buf, store := scratch(st.Value)
			last = append(last, &codegen.Store{Buf: st.Buf, Index: st.Index, Value: b.Table.Load(buf, b.Table.True(), place)})
			s = store
		}
		rest = append(rest, s)
	}
	first := writtenOut(t, slices.Concat(t.first, when(t.cond, left...)))
	rest = loopsOver(t, append(again, rest...))
	if last != nil {
		rest = append(rest, writtenOut(t, last)...)
	}
	return slices.Concat(out, b.expand(first), b.expand(when(t.cond, rest...)))
}

// loopsOver puts statements into loops over a tile, a vector at a time.
func loopsOver(t *tail, body []codegen.Stmt) []codegen.Stmt {
	body = []codegen.Stmt{&codegen.Loop{Range: t.lanes, Kind: codegen.Vector, Body: body}}
	for _, l := range slices.Backward(t.loops) {
		if l.Range != t.lanes {
			body = []codegen.Stmt{&codegen.Loop{Range: l.Range, Kind: codegen.Serial, Body: body}}
		}
	}
	return body
}

// writtenOut puts statements into the loops of a tile.
func writtenOut(t *tail, body []codegen.Stmt) []codegen.Stmt {
	for _, l := range slices.Backward(t.loops) {
		body = []codegen.Stmt{codegen.WithBody(l, body)}
	}
	return body
}

// usedOf lists the registers that some statements declare and later ones read.
func usedOf(first, later []codegen.Stmt) (regs []*uop.UOp) {
	read := map[*uop.UOp]bool{}
	for _, s := range later {
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			read[u] = true
		}
	}
	for _, s := range first {
		if let, ok := s.(*codegen.Let); ok && read[let.Reg] {
			regs = append(regs, let.Reg)
		}
	}
	return regs
}

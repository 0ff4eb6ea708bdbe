package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// A loop over rows that goes through each row several times, as softmax and norms do, waits for memory the first time and computes on
// what the first cache holds then. Processors read ahead within a page, so each row begins with waiting; and stores wait for their lines. So
// one of the loops that only compute asks for what the next row reads and writes, a part in each of its iterations.

const (
	leastFetched = 1024 // bytes of rows below which neighbours follow soon enough
	mostFetches  = 16   // cache lines asked for in an iteration
)

// rowOf is what a loop touches of an array in an iteration of the loop over rows.
type rowOf struct {
	buf    *uop.UOp
	base   affine.Form // without inner loops, and without the constant
	lo, hi int         // elements, from base on
	times  int         // accesses
	write  bool
}

func (r *rowOf) bytes() int { return (r.hi - r.lo) * r.buf.DType().Size() }

// meets says that a row has elements of another one.
func (r *rowOf) meets(o *rowOf) bool {
	return r.buf == o.buf && sameForm(r.base, o.base) && r.lo < o.hi && o.lo < r.hi
}

func sameForm(a, b affine.Form) bool {
	return len(a.Terms) == len(b.Terms) && !slices.ContainsFunc(a.Terms, func(t affine.Term) bool { return b.Coeff(t.Node) != t.Coef })
}

// prefetcher looks at one loop over rows.
type prefetcher struct{ *builder }

// prefetch adds Prefetch statements to loops over rows. They change no value.
func (b *builder) prefetch(stmts []codegen.Stmt) []codegen.Stmt {
	out := make([]codegen.Stmt, len(stmts))
	for i, s := range stmts {
		out[i] = s
		if inside := codegen.Body(s); inside != nil {
			inside = b.prefetch(inside)
			if l, ok := s.(*codegen.Loop); ok && (l.Kind == codegen.Thread || l.Kind == codegen.Serial) {
				inside = (&prefetcher{b}).nextRow(l, inside)
			}
			out[i] = codegen.WithBody(s, inside)
		}
	}
	return out
}

// nextRow lets one of the loops in a loop over rows ask for the next row.
func (b *prefetcher) nextRow(over *codegen.Loop, stmts []codegen.Stmt) []codegen.Stmt {
	var rows []*rowOf // touched so far
	host, most := -1, 0
	for i, s := range stmts {
		l, ok := s.(*codegen.Loop)
		if !ok || l.Kind == codegen.Thread {
			continue
		}
		mine, regular := b.rowsOf(over, l)
		waits := !regular || slices.ContainsFunc(mine, func(r *rowOf) bool {
			return !r.write && !slices.ContainsFunc(rows, r.meets)
		})
		again := slices.ContainsFunc(mine, func(r *rowOf) bool { return !r.write && slices.ContainsFunc(rows, r.meets) })
		if work := b.operations(l.Body) * codegen.Extent(l.Range); again && !waits && work > most && l.Kind == codegen.Serial && !slices.ContainsFunc(l.Body, serial) {
			host, most = i, work
		}
		rows = joinRows(append(rows, mine...))
	}
	if host < 0 {
		return stmts
	}
	rows = slices.DeleteFunc(rows, func(r *rowOf) bool {
		arg := r.buf.Arg().(uop.ParamArg)
		all := r.buf.DType().Size()
		for _, d := range b.Params[arg.Slot].Dims {
			all *= d
		}
		step := r.base.Coeff(over.Range)
		return r.times < (r.hi-r.lo)/2 || r.bytes() < leastFetched || codegen.Abs(step) < r.hi-r.lo || r.write && all >= codegen.PastCaches
	})
	total := 0
	for _, r := range rows {
		total += r.bytes()
	}
	if total == 0 || total > b.Target.L2 {
		return stmts
	}
	l := stmts[host].(*codegen.Loop)
	asks := b.fetches(over, l, rows)
	stmts = slices.Clone(stmts)
	stmts[host] = codegen.WithBody(l, append(asks, l.Body...))
	return stmts
}

// serial says that a statement has a loop of its own that is no vector.
func serial(s codegen.Stmt) bool {
	l, ok := s.(*codegen.Loop)
	return ok && l.Kind != codegen.Vector || slices.ContainsFunc(codegen.Body(s), serial)
}

// operations counts those of a body, each once.
func (b *prefetcher) operations(stmts []codegen.Stmt) (n int) {
	seen := map[*uop.UOp]bool{}
	codegen.Visit(stmts, func(s codegen.Stmt) {
		uop.Walk(codegen.Exprs(s), func(u *uop.UOp) bool { return seen[u] }, func(u *uop.UOp) {
			seen[u] = true
			if u.Op().Elementwise() && u.DType() != dtype.Index {
				n++
			}
		})
	})
	return n
}

// rowsOf lists what a loop touches of arrays, other elements in each iteration of the loop over rows. It is regular if nothing
// else is touched that differs from row to row.
func (b *prefetcher) rowsOf(over, l *codegen.Loop) (rows []*rowOf, regular bool) {
	regular = true
	inner := b.Facts.Set(l.Range)
	codegen.Visit(l.Body, func(s codegen.Stmt) {
		if x, ok := s.(*codegen.Loop); ok {
			inner = inner.Or(b.Facts.Set(x.Range))
		}
	})
	touch := func(buf, index *uop.UOp, always, write bool) {
		if buf.Arg().(uop.ParamArg).Scratch {
			return
		}
		a := b.Facts.Form(index)
		r := &rowOf{buf: buf, lo: a.Const, hi: a.Const + 1, times: 1, write: write}
		for _, t := range a.Terms {
			free := b.Facts.FreeRanges(t.Node)
			lo, hi, known := symbolic.Bounds(t.Node)
			switch {
			case codegen.Reads(t.Node) || !known || !free.Disjoint(inner) && !free.Within(inner):
				regular = false
				return
			case free.Disjoint(inner):
				r.base.Terms = append(r.base.Terms, t)
			default: // a loop, or where its last vector moves inwards
				r.lo += min(t.Coef*lo, t.Coef*hi)
				r.hi += max(t.Coef*lo, t.Coef*hi)
				free.Each(func(i int) { r.times *= max(1, codegen.Extent(b.Facts.Ranges[i])) })
			}
		}
		if r.base.Coeff(over.Range) == 0 { // the same in each row
			regular = regular && !slices.ContainsFunc(r.base.Terms, func(t affine.Term) bool { return b.Facts.FreeRanges(t.Node).Has(b.Facts.RangeID(over.Range)) })
			return
		}
		if !always {
			regular = false
			return
		}
		rows = append(rows, r)
	}
	codegen.Visit([]codegen.Stmt{l}, func(s codegen.Stmt) {
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() == uop.Load {
				gate, ok := u.At(1).ConstValue()
				touch(u.At(0), u.At(2), ok && gate.Bool(), false)
			}
		}
		if st, ok := s.(*codegen.Store); ok {
			touch(st.Buf, st.Index[0], true, true)
		}
	})
	return joinRows(rows), regular
}

// joinRows makes one of those that meet or follow each other. What is read and written is written.
func joinRows(rows []*rowOf) (out []*rowOf) {
next:
	for _, r := range rows {
		for _, o := range out {
			if o.buf == r.buf && sameForm(o.base, r.base) && r.lo <= o.hi+r.hi-r.lo && o.lo <= r.hi+o.hi-o.lo {
				*o = rowOf{o.buf, o.base, min(o.lo, r.lo), max(o.hi, r.hi), o.times + r.times, o.write || r.write}
				continue next
			}
		}
		c := *r
		out = append(out, &c)
	}
	return out
}

// fetches are the statements of an iteration of l that ask for its part of the next rows.
func (b *prefetcher) fetches(over, l *codegen.Loop, rows []*rowOf) (out []codegen.Stmt) {
	for _, r := range rows {
		line := codegen.CacheLine / r.buf.DType().Size()
		each := codegen.CeilDiv(codegen.CeilDiv(r.hi-r.lo, codegen.Extent(l.Range)), line) * line
		if each > mostFetches*line {
			continue
		}
		first := r.base
		first.Const += r.lo + r.base.Coeff(over.Range)
		first = first.Add(affine.Form{Terms: []affine.Term{{Node: l.Range, Coef: each}}}, 1)
		for at := 0; at < each; at += line {
			a := first
			a.Const += at
			out = append(out, &codegen.Prefetch{Buf: r.buf, Index: a.Node(b.Table), Write: r.write})
		}
	}
	return out
}

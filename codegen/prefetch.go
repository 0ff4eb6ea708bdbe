package codegen

import (
	"slices"

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
	cacheLine    = 64
)

// rowOf is what a loop touches of an array in an iteration of the loop over rows.
type rowOf struct {
	buf    *uop.UOp
	base   affine // without inner loops, and without the constant
	lo, hi int    // elements, from base on
	times  int    // accesses
	write  bool
}

func (r *rowOf) bytes() int { return (r.hi - r.lo) * r.buf.DType().Size() }

// meets says that a row has elements of another one.
func (r *rowOf) meets(o *rowOf) bool {
	return r.buf == o.buf && sameForm(r.base, o.base) && r.lo < o.hi && o.lo < r.hi
}

func sameForm(a, b affine) bool {
	return len(a.terms) == len(b.terms) && !slices.ContainsFunc(a.terms, func(t term) bool { return b.coeff(t.u) != t.k })
}

// prefetch adds Prefetch statements to loops over rows. They change no value.
func (b *builder) prefetch(stmts []Stmt) []Stmt {
	out := make([]Stmt, len(stmts))
	for i, s := range stmts {
		out[i] = s
		if inside := body(s); inside != nil {
			inside = b.prefetch(inside)
			if l, ok := s.(*Loop); ok && (l.Kind == Thread || l.Kind == Serial) {
				inside = b.nextRow(l, inside)
			}
			out[i] = withBody(s, inside)
		}
	}
	return out
}

// nextRow lets one of the loops in a loop over rows ask for the next row.
func (b *builder) nextRow(over *Loop, stmts []Stmt) []Stmt {
	var rows []*rowOf // touched so far
	host, most := -1, 0
	for i, s := range stmts {
		l, ok := s.(*Loop)
		if !ok || l.Kind == Thread {
			continue
		}
		mine, regular := b.rowsOf(over, l)
		waits := !regular || slices.ContainsFunc(mine, func(r *rowOf) bool {
			return !r.write && !slices.ContainsFunc(rows, r.meets)
		})
		again := slices.ContainsFunc(mine, func(r *rowOf) bool { return !r.write && slices.ContainsFunc(rows, r.meets) })
		if work := b.operations(l.Body) * extent(l.Range); again && !waits && work > most && l.Kind == Serial && !slices.ContainsFunc(l.Body, serial) {
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
		for _, d := range b.params[arg.Slot].Dims {
			all *= d
		}
		step := r.base.coeff(over.Range)
		return r.times < (r.hi-r.lo)/2 || r.bytes() < leastFetched || abs(step) < r.hi-r.lo || r.write && all >= PastCaches
	})
	total := 0
	for _, r := range rows {
		total += r.bytes()
	}
	if total == 0 || total > b.target.L2 {
		return stmts
	}
	l := stmts[host].(*Loop)
	asks := b.fetches(over, l, rows)
	stmts = slices.Clone(stmts)
	stmts[host] = withBody(l, append(asks, l.Body...))
	return stmts
}

// serial says that a statement has a loop of its own that is no vector.
func serial(s Stmt) bool {
	l, ok := s.(*Loop)
	return ok && l.Kind != Vector || slices.ContainsFunc(body(s), serial)
}

// operations counts those of a body, each once.
func (b *builder) operations(stmts []Stmt) (n int) {
	seen := map[*uop.UOp]bool{}
	visit(stmts, func(s Stmt) {
		walk(exprs(s), func(u *uop.UOp) bool { return seen[u] }, func(u *uop.UOp) {
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
func (b *builder) rowsOf(over, l *Loop) (rows []*rowOf, regular bool) {
	regular = true
	inner := b.facts.set(l.Range)
	visit(l.Body, func(s Stmt) {
		if x, ok := s.(*Loop); ok {
			inner = inner.or(b.facts.set(x.Range))
		}
	})
	touch := func(buf, index *uop.UOp, always, write bool) {
		if buf.Arg().(uop.ParamArg).Scratch {
			return
		}
		a := b.facts.affine(index)
		r := &rowOf{buf: buf, lo: a.c, hi: a.c + 1, times: 1, write: write}
		for _, t := range a.terms {
			free := b.facts.freeRanges(t.u)
			lo, hi, known := symbolic.Bounds(t.u)
			switch {
			case reads(t.u) || !known || !free.disjoint(inner) && !free.within(inner):
				regular = false
				return
			case free.disjoint(inner):
				r.base.terms = append(r.base.terms, t)
			default: // a loop, or where its last vector moves inwards
				r.lo += min(t.k*lo, t.k*hi)
				r.hi += max(t.k*lo, t.k*hi)
				free.each(func(i int) { r.times *= max(1, extent(b.facts.ranges[i])) })
			}
		}
		if r.base.coeff(over.Range) == 0 { // the same in each row
			regular = regular && !slices.ContainsFunc(r.base.terms, func(t term) bool { return b.facts.freeRanges(t.u).has(b.facts.rangeID(over.Range)) })
			return
		}
		if !always {
			regular = false
			return
		}
		rows = append(rows, r)
	}
	visit([]Stmt{l}, func(s Stmt) {
		for _, u := range uop.Topo(exprs(s)...) {
			if u.Op() == uop.Load {
				gate, ok := u.At(1).ConstValue()
				touch(u.At(0), u.At(2), ok && gate.Bool(), false)
			}
		}
		if st, ok := s.(*Store); ok {
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
func (b *builder) fetches(over, l *Loop, rows []*rowOf) (out []Stmt) {
	for _, r := range rows {
		line := cacheLine / r.buf.DType().Size()
		each := ceilDiv(ceilDiv(r.hi-r.lo, extent(l.Range)), line) * line
		if each > mostFetches*line {
			continue
		}
		first := r.base
		first.c += r.lo + r.base.coeff(over.Range)
		first = first.add(affine{terms: []term{{l.Range, each}}}, 1)
		for at := 0; at < each; at += line {
			a := first
			a.c += at
			out = append(out, &Prefetch{r.buf, a.node(b.t), r.write})
		}
	}
	return out
}

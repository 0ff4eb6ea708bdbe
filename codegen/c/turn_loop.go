package c

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/uop"
)

// A short loop along rows of which each is a lane reads as many neighbours as it has iterations. They are turned before it, and what it stores to
// such rows behind it: between lie arrays of vectors, one for each iteration.

// mostTurned is of how many iterations a loop is whose neighbours are turned, and nearBytes what the arrays of a loop may take: they have to stay
// in the nearest cache beside what is read and written.
const mostTurned, nearBytes = 32, 16 << 10

// leastColumns is how many neighbours are loaded in less time by turning rows than one by one.
const leastColumns = 4

// turnLoop loads and turns what a loop reads of rows, and gives what stores behind it what it stores to rows.
func (r *renderer) turnLoop(l *codegen.Loop, depth int) (after func()) {
	n := codegen.Extent(l.Range)
	if r.n < 4 || r.mask != "" || n < leastColumns || n > mostTurned {
		return func() {}
	}
	row, used := r.rowsOf(l), 0
	// array declares a vector of elements of a buffer for each iteration, and gives its name.
	array := func(buf *uop.UOp) string {
		if used == 0 {
			r.line(depth, "{")
		}
		used += n * r.p.VectorBytes
		name := fmt.Sprintf("q%d", r.blocks)
		r.blocks++
		r.line(depth, "%s %s[%d];", r.vtype(elem(buf.DType())), name, n)
		return name
	}
	fits := func(buf *uop.UOp) bool {
		size := buf.DType().Size()
		return size >= 4 && size*r.n <= r.p.VectorBytes && used+n*r.p.VectorBytes <= nearBytes
	}
	at := "[" + rangeName(l.Range) + "]"
	var undo, store []func()
	for _, s := range l.Body {
		switch s.(type) {
		case *codegen.If, *codegen.Loop:
			continue
		}
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() != uop.Load || !u.At(1).IsConst(1) || !r.vec(u) || r.turned[u] != "" || r.written(u.At(0)) || !fits(u.At(0)) {
				continue
			}
			if base, stride, ok := row(u.At(2)); ok && !r.near(stride) {
				name, e := array(u.At(0)), elem(u.DType())
				for k := 0; k < n; k += r.n {
					r.line(depth, "%s(%s + %s, %d, %s + %d);", r.turner(e, min(r.n, n-k), stride), r.pointer(u.At(0)), r.expr(affine.Plus(base, k)), stride, name, k)
				}
				r.turned[u] = name + at
				undo = append(undo, func() { delete(r.turned, u) })
			}
		}
		if s, ok := s.(*codegen.Store); ok && r.vec(s.Index[0]) && !r.reads[s.Buf] && !r.past(s.Buf) && fits(s.Buf) {
			if base, stride, ok := row(s.Index[0]); ok {
				name, e := array(s.Buf), elem(s.Buf.DType())
				r.later[s] = name + at
				store = append(store, func() {
					for k := 0; k < n; k += r.n {
						r.line(depth, "%s(%s + %s, %d, %s + %d);", r.storer(e, min(r.n, n-k)), r.pointer(s.Buf), r.expr(affine.Plus(base, k)), stride, name, k)
					}
				})
			}
		}
	}
	return func() {
		for _, f := range slices.Concat(undo, store) {
			f()
		}
		if used > 0 {
			r.line(depth, "}")
		}
	}
}

// rowsOf says of an index whether iterations of a loop find neighbours there and lanes rows of them, which do not overlap: where the first
// row begins, and how far apart rows lie.
func (r *renderer) rowsOf(l *codegen.Loop) func(index *uop.UOp) (base *uop.UOp, stride int, ok bool) {
	own := map[*uop.UOp]*uop.UOp{} // registers of the loop, with what they are declared as
	made := map[*uop.UOp]bool{l.Range: true}
	codegen.Visit(l.Body, func(s codegen.Stmt) {
		switch s := s.(type) {
		case *codegen.Let:
			made[s.Reg] = true
			if !r.assigned[s.Reg] {
				own[s.Reg] = s.Value
			}
		case *codegen.Loop:
			made[s.Range] = true
		}
	})
	inside := dependsOn(made)
	return func(index *uop.UOp) (base *uop.UOp, stride int, ok bool) {
		t := index.Home()
		for range len(own) {
			index = uop.Substitute(t, own, index)[0]
		}
		a := affine.Summands(index)
		a.Terms = slices.DeleteFunc(slices.Clone(a.Terms), func(m affine.Term) bool { return m.Node == l.Range && m.Coef == 1 })
		if len(a.Terms) == len(affine.Summands(index).Terms) {
			return nil, 0, false
		}
		base, stride, ok = affine.Strided(t, a.Node(t), r.lane, r.vary)
		loads := func(u *uop.UOp) bool { return u.Op() == uop.Load }
		return base, stride, ok && stride >= codegen.Extent(l.Range) && !inside(base) && !slices.ContainsFunc(uop.Topo(base), loads)
	}
}

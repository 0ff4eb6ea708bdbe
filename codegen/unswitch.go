package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// unswitched puts conditions of single elements, which the gates of outputs are, outside of the loops on which they do not depend: what is not
// to be stored in any iteration is not asked about in each. Iterations of threads stay the outermost.
func (b *builder) unswitched(stmts []Stmt) []Stmt {
	out := make([]Stmt, len(stmts))
	for i, s := range stmts {
		out[i] = s
		l, ok := s.(*Loop)
		if !ok {
			continue
		}
		inside := b.unswitched(l.Body)
		out[i] = withBody(s, inside)
		if len(inside) != 1 || l.Kind == Thread {
			continue
		}
		if cond, ok := inside[0].(*If); ok && b.constantIn(cond.Cond, l.Range, cond.Body) {
			out[i] = &If{Cond: cond.Cond, Body: []Stmt{withBody(s, cond.Body)}}
		}
	}
	return out
}

// constantIn says that a condition is the same in all iterations of a loop.
func (b *builder) constantIn(cond, r *uop.UOp, body []Stmt) bool {
	written := map[*uop.UOp]bool{}
	for _, s := range body {
		writes(s, written)
	}
	return !slices.ContainsFunc(uop.Topo(cond), func(u *uop.UOp) bool { return u == r || written[u] })
}

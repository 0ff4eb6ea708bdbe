package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// unswitched puts conditions of single elements, which the gates of outputs are, outside of the loops on which they do not depend: what is not
// to be stored in any iteration is not asked about in each. Iterations of threads stay the outermost.
func (b *builder) unswitched(stmts []codegen.Stmt) []codegen.Stmt {
	out := make([]codegen.Stmt, len(stmts))
	for i, s := range stmts {
		out[i] = s
		l, ok := s.(*codegen.Loop)
		if !ok {
			continue
		}
		inside := b.unswitched(l.Body)
		out[i] = codegen.WithBody(s, inside)
		if len(inside) != 1 || l.Kind == codegen.Thread {
			continue
		}
		if cond, ok := inside[0].(*codegen.If); ok && b.constantIn(cond.Cond, l.Range, cond.Body) {
			out[i] = &codegen.If{Cond: cond.Cond, Body: []codegen.Stmt{codegen.WithBody(s, cond.Body)}}
		}
	}
	return out
}

// constantIn says that a condition is the same in all iterations of a loop.
func (b *builder) constantIn(cond, r *uop.UOp, body []codegen.Stmt) bool {
	written := map[*uop.UOp]bool{}
	for _, s := range body {
		codegen.Writes(s, written)
	}
	return !slices.ContainsFunc(uop.Topo(cond), func(u *uop.UOp) bool { return u == r || written[u] })
}

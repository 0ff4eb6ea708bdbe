package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// computing is the work of one place in the tree: statements for what can be computed there, and what became of
// each value.
type computing struct {
	*builder
	sp             insertionPoint
	staged         map[*uop.UOp][]codegen.Directive
	sharedSubexprs map[*uop.UOp]*nest.SharedSubexpr
	out            []codegen.Stmt
	filled         int // len(out) after memory of the workgroup was filled
	done           uop.Map[*uop.UOp]
	parts          map[*uop.UOp][]*uop.UOp // results of reductions that are done
	siblings       map[*uop.UOp][]*uop.UOp // reductions that share their loops, by each of them
}

// findSiblings groups the reductions that are ready here and run over the same ranges, none needing another.
func (w *computing) findSiblings() {
	w.siblings = map[*uop.UOp][]*uop.UOp{}
	var groups [][]*uop.UOp
	var needs uop.Map[affine.RangeSet] // which of the ready reductions a value needs, numbered
	number := map[*uop.UOp]int{}
	for _, root := range w.sp.roots {
		codegen.Remember(&needs, root, func(u *uop.UOp) (s affine.RangeSet) {
			for _, x := range u.Src() {
				n, _ := needs.Get(x)
				s = s.Or(n)
			}
			if u.Op() != uop.Reduce || !w.ready(u, w.sp.open) || len(number) >= affine.MaxRanges || w.carrying.is(u) {
				return s
			}
			number[u] = len(number)
			w.join(&groups, u, s, number)
			return s.With(number[u])
		})
	}
	for _, g := range groups {
		for _, u := range g {
			w.siblings[u] = g
		}
	}
}

// join adds a reduction to the first group that it fits.
func (w *computing) join(groups *[][]*uop.UOp, u *uop.UOp, needs affine.RangeSet, number map[*uop.UOp]int) {
	_, ranges := codegen.ReduceParts(u)
	for i, g := range *groups {
		_, others := codegen.ReduceParts(g[0])
		if slices.Equal(ranges, others) && !slices.ContainsFunc(g, func(o *uop.UOp) bool { return needs.Has(number[o]) }) {
			(*groups)[i] = append(g, u)
			return
		}
	}
	*groups = append(*groups, []*uop.UOp{u})
}

// inner is the place as a part of a value sees it: names follow what became of their values.
func (w *computing) inner() insertionPoint {
	names := make(map[string]*uop.UOp, len(w.sp.names))
	for n, v := range w.sp.names {
		names[n] = v
		if x, _ := w.done.Get(v); x != nil {
			names[n] = x
		}
	}
	return insertionPoint{open: w.sp.open, names: names, lanes: w.sp.lanes, unrolled: w.sp.unrolled, asked: w.sp.asked}
}

// node computes a value whose operands are done.
func (w *computing) node(u *uop.UOp, src []*uop.UOp) *uop.UOp {
	if t := w.sharedSubexprs[u]; t != nil {
		return w.read(t)
	}
	var v *uop.UOp
	switch {
	case u.Op() == uop.Part && w.parts[u.At(0)] != nil:
		return w.parts[u.At(0)][u.Arg().(uop.PartArg).I]
	case u.Op() == uop.Reduce && w.ready(u, w.sp.open):
		w.reductions(u)
		v = w.parts[u][0]
	default:
		v = w.Fold(codegen.Remake(w.Table, u, src))
	}
	for _, m := range w.staged[u] {
		var stmts []codegen.Stmt
		stmts, v = (&stager{w.builder}).stage(m, v, w.inner())
		if m.Shared {
			w.fillTogether(stmts)
			continue
		}
		w.out = append(w.out, stmts...)
	}
	return v
}

// reductions computes a reduction, together with its siblings.
func (w *computing) reductions(u *uop.UOp) {
	if w.parts[u] != nil {
		return
	}
	group := w.siblings[u]
	if group == nil {
		group = []*uop.UOp{u}
	}
	var ready []*uop.UOp
	for _, o := range group { // operands of the siblings first
		src := codegen.MapAll(o.Src(), func(x *uop.UOp) *uop.UOp {
			return codegen.Remember(&w.done, x, func(x *uop.UOp) *uop.UOp {
				return w.node(x, codegen.MapAll(x.Src(), func(y *uop.UOp) *uop.UOp { v, _ := w.done.Get(y); return v }))
			})
		})
		ready = append(ready, codegen.Remake(w.Table, o, src))
	}
	if w.parts[u] != nil { // an operand needed it: then it is done
		return
	}
	stmts, results := w.reduce(ready, w.inner())
	if len(group) == 1 {
		stmts = w.skipping(u, stmts, len(results[0]))
	}
	w.out = append(w.out, stmts...)
	for i, o := range group {
		w.parts[o] = results[i]
	}
}

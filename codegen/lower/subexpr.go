package lower

import (
	"maps"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// sharedAt maps the outputs' sides of the shared subexpressions that are staged here. An element that is an output's side itself, or is
// computed from one, is not read as a shared subexpression: reading one would need the other, in a circle.
func (b *builder) sharedAt(sp insertionPoint, staged map[*uop.UOp][]codegen.Directive) map[*uop.UOp]*nest.SharedSubexpr {
	out := map[*uop.UOp]*nest.SharedSubexpr{}
	for i := range b.SharedSubexprs {
		t := &b.SharedSubexprs[i]
		if u := sp.names[t.Name]; u != nil && len(staged[u]) > 0 && sp.names[t.Name+nest.OutputSuffix] != nil {
			out[sp.names[t.Name+nest.OutputSuffix]] = t
		}
	}
	sides := maps.Clone(out)
	maps.DeleteFunc(out, func(_ *uop.UOp, t *nest.SharedSubexpr) bool {
		return slices.ContainsFunc(uop.Topo(sp.names[t.Name]), func(u *uop.UOp) bool { return sides[u] != nil })
	})
	return out
}

// read gives the load of a shared subexpression's staged copy at the output's place.
func (w *computing) read(t *nest.SharedSubexpr) *uop.UOp {
	load := codegen.Remember(&w.done, w.sp.names[t.Name], func(x *uop.UOp) *uop.UOp {
		return w.node(x, codegen.MapAll(x.Src(), func(y *uop.UOp) *uop.UOp { v, _ := w.done.Get(y); return v }))
	})
	index := func(u *uop.UOp) *uop.UOp { return w.Facts.Form(u).Node(w.Table) }
	if load.Op() != uop.Load || load.At(2) != index(t.Range) {
		refuse("stage %s: its layout must be the range of %s as it is", t.Name, t.Reduction)
	}
	return w.Table.Load(load.At(0), w.Table.True(), index(t.Axis))
}

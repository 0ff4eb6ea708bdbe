package codegen

import (
	"maps"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// sharedSubexpr is a costly element of a reduction over one range that an output has as well, with an axis of its own in the
// place of that range: the exponential of a softmax. It is staged under name, and both read the copy.
type sharedSubexpr struct {
	name string   // of the element; name + outputSuffix is the output's
	red  string   // the reduction
	r, a *uop.UOp // the range and the axis, or what became of them
}

const outputSuffix = "'"

// costly is the weight from which on it pays to keep an element.
const costly = 20

// nameShared finds shared subexpressions; the element of r1 is called r1e.
func (k *kernel) nameShared() {
	var here map[*uop.UOp]*uop.UOp // what the kernel computes, by the form in which terms of indices are sorted
	same := &rewriter{t: k.t, fold: k.sortedTerms}
	for _, name := range k.reds {
		parts, ranges := reduceParts(k.values[name])
		if len(parts) != 1 || len(ranges) != 1 || !k.isCostly(parts[0], ranges[0]) {
			continue
		}
		if here == nil {
			here = map[*uop.UOp]*uop.UOp{}
			for _, u := range uop.Topo(k.roots()...) {
				here[same.do(u)] = u
			}
		}
		for _, g := range k.groups {
			for _, a := range g.axes {
				if extent(a.r) != extent(ranges[0]) {
					continue
				}
				other := here[same.do(k.substitute(map[*uop.UOp]*uop.UOp{ranges[0]: a.r}, parts[0]))]
				if e := name + "e"; other != nil && other != parts[0] && k.values[e] == nil {
					k.values[e], k.values[e+outputSuffix] = parts[0], other
					k.sharedSubexprs = append(k.sharedSubexprs, sharedSubexpr{e, name, ranges[0], a.r})
				}
			}
		}
	}
}

// sortedTerms is a sum of indices with its terms in the order of their ranges.
func (k *kernel) sortedTerms(u *uop.UOp) *uop.UOp {
	if u.Op() != uop.Add || u.DType() != dtype.Index {
		return u
	}
	a := k.facts.affine(u)
	first := func(t term) int {
		ranges := k.facts.list(k.facts.freeRanges(t.u))
		if len(ranges) == 0 {
			return -1
		}
		return ranges[0].Arg().(uop.RangeArg).ID
	}
	a.terms = slices.Clone(a.terms)
	slices.SortStableFunc(a.terms, func(x, y term) int { return first(x) - first(y) })
	return a.node(k.t)
}

// isCostly says that a value takes many instructions for each r.
func (k *kernel) isCostly(u, r *uop.UOp) bool {
	found := false
	walk([]*uop.UOp{u}, func(u *uop.UOp) bool { return found || u.Op() == uop.Reduce || u.Op() == uop.Load }, func(u *uop.UOp) {
		found = found || weight(u) >= costly && k.facts.freeRanges(u).has(k.facts.rangeID(r))
	})
	return found
}

// sharedAt maps the outputs' sides of the shared subexpressions that are staged here. An element that is an output's side itself, or is
// computed from one, is not read as a shared subexpression: reading one would need the other, in a circle.
func (b *builder) sharedAt(sp insertionPoint, staged map[*uop.UOp][]Directive) map[*uop.UOp]*sharedSubexpr {
	out := map[*uop.UOp]*sharedSubexpr{}
	for i := range b.sharedSubexprs {
		t := &b.sharedSubexprs[i]
		if u := sp.names[t.name]; u != nil && len(staged[u]) > 0 && sp.names[t.name+outputSuffix] != nil {
			out[sp.names[t.name+outputSuffix]] = t
		}
	}
	sides := maps.Clone(out)
	maps.DeleteFunc(out, func(_ *uop.UOp, t *sharedSubexpr) bool {
		return slices.ContainsFunc(uop.Topo(sp.names[t.name]), func(u *uop.UOp) bool { return sides[u] != nil })
	})
	return out
}

// read gives the load of a shared subexpression's staged copy at the output's place.
func (w *computing) read(t *sharedSubexpr) *uop.UOp {
	load := remember(&w.done, w.sp.names[t.name], func(x *uop.UOp) *uop.UOp {
		return w.node(x, mapAll(x.Src(), func(y *uop.UOp) *uop.UOp { v, _ := w.done.Get(y); return v }))
	})
	index := func(u *uop.UOp) *uop.UOp { return w.facts.affine(u).node(w.t) }
	if load.Op() != uop.Load || load.At(2) != index(t.r) {
		refuse("stage %s: its layout must be the range of %s as it is", t.name, t.red)
	}
	return w.t.Load(load.At(0), w.t.True(), index(t.a))
}

// stageSharedSubexprs adds to the directives of a stream the staging of shared subexpressions over the lanes' axis, where a row of them fits well into
// the cache.
func (c *chooser) stageSharedSubexprs(directives []Directive, order []string, lanes *uop.UOp) []Directive {
	if lanes == nil || c.anyLength() {
		return directives
	}
	name := c.name(lanes)
	if len(order) > 0 && order[len(order)-1] == name+".0" {
		order = order[:len(order)-1]
	} else if slices.ContainsFunc(directives, func(m Directive) bool { return m.Verb == Split && m.Name == name }) {
		return directives
	}
	at := Root
	if len(order) > 0 {
		at = order[len(order)-1]
	}
	for _, t := range c.sharedSubexprs {
		if t.a != lanes || extent(t.r)*c.values[t.name].DType().Size() > c.target.L1/2 {
			continue
		}
		x := c.name(t.r)
		m := Directive{Verb: Stage, Name: t.name, At: at, Axes: []string{x}, Vector: x}
		if slices.ContainsFunc(directives, func(m Directive) bool { return m.Verb == Split && m.Name == x }) {
			m.Axes, m.Vector = []string{x + ".0", x + ".1"}, x+".1"
		}
		if with := append(slices.Clone(directives), m); c.legal(with) {
			directives = with
		}
	}
	return directives
}

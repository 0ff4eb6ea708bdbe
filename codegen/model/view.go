package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// view is what one nest of outputs looks like: what it reads, writes and reduces, and along which axes.
type view struct {
	*nest.Kernel
	g     *nest.Group
	nodes []*uop.UOp // operands first
	loads []*access  // in the order of nodes
	outs  []*access
	reds  []*reduction
	fixed bool // outputs are read as well, or merged: every element must be computed exactly once
}

// viewOf looks at a nest.
func viewOf(k *nest.Kernel, g *nest.Group) *view {
	c := &view{Kernel: k, g: g}
	c.look()
	return c
}

// access is a load or a store.
type access struct {
	name  string
	u     *uop.UOp // nil for a store
	index affine.Form
	free  affine.RangeSet // what it depends on
	over  affine.RangeSet // it is done for each of
	bytes int
	gated bool
	plain bool     // the index is affine in ranges
	wide  *uop.UOp // the cast to a wider type by which alone it is read, or nil
	steps *uop.Map[step]

	factors *nest.UnpackedFactors // what is made of it, or nil
}

// step is a stride, if the index has one.
type step struct {
	n  int
	ok bool
}

// reduction is one reduction of the nest.
type reduction struct {
	name   string
	u      *uop.UOp
	free   affine.RangeSet
	ranges []*uop.UOp
	work   int // updates
	loads  []*access
}

// look collects what the nest reads, writes and reduces.
func (c *view) look() {
	inputs := map[int]bool{}
	var outs []codegen.Out
	for _, i := range c.g.Outs {
		outs = append(outs, c.Kernel.Outs[i])
	}
	c.nodes = uop.Topo(codegen.RootsOf(outs)...)
	names := map[*uop.UOp]string{}
	for n, v := range c.Values {
		if old, ok := names[v]; !ok || n < old {
			names[v] = n
		}
	}
	byLoad := map[*uop.UOp]*access{}
	for _, u := range c.nodes {
		switch u.Op() {
		case uop.Load:
			slot := u.At(0).Arg().(uop.ParamArg).Slot
			inputs[slot] = true
			a := c.access(slot, u.Src()[2:])
			a.name, a.u, a.free = names[u], u, c.Facts.FreeRanges(u)
			a.gated = u.At(1).Op() != uop.Const
			byLoad[u] = a
			c.loads = append(c.loads, a)
		case uop.Reduce:
			_, ranges := codegen.ReduceParts(u)
			r := &reduction{name: names[u], u: u, free: c.Facts.FreeRanges(u), ranges: ranges}
			r.work = c.count(r.free.Or(c.Facts.Set(ranges...)))
			c.reds = append(c.reds, r)
		}
	}
	c.findFinite()
	c.findWide()
	c.findUnpacked()
	for _, r := range c.reds {
		parts, _ := codegen.ReduceParts(r.u)
		uop.Walk(parts, func(u *uop.UOp) bool { return u.Op() == uop.Reduce }, func(u *uop.UOp) {
			if a := byLoad[u]; a != nil {
				r.loads = append(r.loads, a)
			}
		})
	}
	for _, a := range c.loads {
		a.over = a.free
	}
	for _, o := range outs {
		a := c.access(o.Param, o.Index)
		a.over = c.Facts.Set(o.Axes...)
		c.outs = append(c.outs, a)
		c.fixed = c.fixed || o.Merge != nil || inputs[o.Param]
	}
}

// findFinite describes loads with less than their gates where other factors of their products keep the rest: first those that
// need no gate at all, of the largest arrays before others.
func (c *view) findFinite() {
	if c.anyLength() || len(c.Groups) != 1 {
		return
	}
	partners, loads := c.Partners(), slices.Clone(c.loads)
	slices.SortStableFunc(loads, func(a, b *access) int { return b.elements() - a.elements() })
	for _, bare := range []bool{true, false} {
		for _, a := range loads {
			how, ok := c.Lighter(a.u, partners[a.u])
			if !ok || how.Bare != bare {
				continue
			}
			a.gated, a.free = c.LightGate(a.u, how).Op() != uop.Const, affine.RangeSet{}
			for _, x := range a.u.Src()[2:] {
				a.free = a.free.Or(c.Facts.FreeRanges(x))
			}
			c.Finite = append(c.Finite, how)
		}
	}
}

// elements is how many the array has that is loaded from.
func (a *access) elements() int { return a.u.At(0).Arg().(uop.ParamArg).N }

func (c *view) access(param int, index []*uop.UOp) *access {
	a := &access{steps: &uop.Map[step]{}, index: c.Linear(param, index), bytes: max(1, c.Params[param].DType.Size())}
	a.plain = a.index.Plain()
	for _, t := range a.index.Terms {
		a.free = a.free.Or(c.Facts.FreeRanges(t.Node))
	}
	return a
}

// count is the number of iterations over a set of ranges.
func (c *view) count(s affine.RangeSet) int {
	n := 1
	s.Each(func(i int) { n = min(n*codegen.Extent(c.Facts.Ranges[i]), 1<<50) })
	return n
}

// width is how many elements of the nest's types a machine vector holds.
func (c *view) width() int {
	if c.Target.VectorLen(codegen.Widest) == 0 {
		return 512
	}
	n := c.Target.VectorLen(dtype.U8)
	for _, u := range c.nodes {
		if w := c.Target.VectorLen(u.DType()); w > 0 && (u.Op().Elementwise() || u.Op() == uop.Load || u.Op() == uop.Reduce) {
			n = min(n, w)
		}
	}
	return min(n, c.Target.VectorLen(codegen.Widest))
}

// anyLength says that vectors need not be of machine width.
func (c *view) anyLength() bool { return c.Target.VectorLen(codegen.Widest) == 0 }

func (c *view) name(r *uop.UOp) string { return c.ByRange[r].Name }

// stride is how far apart neighbours along r lie; ok is false where that differs.
func (c *view) stride(a *access, r *uop.UOp) (n int, ok bool) {
	s, known := a.steps.Get(r)
	if !known {
		s.n, s.ok = c.findStride(a, r)
		a.steps.Set(r, s)
	}
	return s.n, s.ok
}

// dense says that neighbours along r lie next to each other.
func (c *view) dense(a *access, r *uop.UOp) bool {
	n, ok := c.stride(a, r)
	return ok && n == 1
}

func (c *view) findStride(a *access, r *uop.UOp) (n int, ok bool) {
	for _, t := range a.index.Terms {
		if t.Node != r && c.Facts.FreeRanges(t.Node).Has(c.Facts.RangeID(r)) {
			return 0, false
		}
	}
	return a.index.Coeff(r), true
}

func (c *view) depends(a *access, r *uop.UOp) bool { return a.free.Has(c.Facts.RangeID(r)) }

// along is depends for one access.
func (c *view) along(a *access) func(r *uop.UOp) bool {
	return func(r *uop.UOp) bool { return c.depends(a, r) }
}

// alone are the axes of the results that one operand depends on and another does not.
func (c *view) alone(a, other *access) []*nest.Axis {
	return slices.DeleteFunc(slices.Clone(c.g.Axes), func(x *nest.Axis) bool { return !c.depends(a, x.Range) || c.depends(other, x.Range) })
}

// axesOf calls f with the axes of outputs that a reduction depends on.
func (c *view) axesOf(r *reduction, f func(a *uop.UOp)) {
	for _, a := range c.g.Axes {
		if r.free.Has(c.Facts.RangeID(a.Range)) {
			f(a.Range)
		}
	}
}

// contiguous says that all operands lie densely along x or do not depend on it.
func (c *view) contiguous(r *reduction, x *uop.UOp) bool {
	return !slices.ContainsFunc(r.loads, func(l *access) bool {
		s, ok := c.stride(l, x)
		return !ok || s != 0 && s != 1 || l.gated && !c.Target.Masks
	})
}

// shared says that all results along some axis have a reduction in common: a block of it would be computed anew for each of them.
func (c *view) shared(r *reduction) bool {
	return slices.ContainsFunc(c.g.Axes, func(a *nest.Axis) bool { return codegen.Extent(a.Range) > 1 && !r.free.Has(c.Facts.RangeID(a.Range)) })
}

// reuse is how often a reduction reads each element of an operand.
func (c *view) reuse(r *reduction, l *access) int { return r.work / max(1, c.count(l.free)) }

// nested says that a reduction lies inside another one.
func (c *view) nested(r *reduction) bool {
	return slices.ContainsFunc(c.reds, func(o *reduction) bool { return c.inside(r, o) })
}

// inside says that each iteration of outer has r anew: r depends on its ranges. One that does not is computed once, before outer begins,
// though the value of outer may be made of it.
func (c *view) inside(r, outer *reduction) bool {
	return r != outer && !r.free.Disjoint(c.Facts.Set(outer.ranges...))
}

// within are the reductions inside r, but for those inside another of them.
func (c *view) within(r *reduction) (out []*reduction) {
	all := slices.DeleteFunc(slices.Clone(c.reds), func(x *reduction) bool { return !c.inside(x, r) })
	for _, x := range all {
		if !slices.ContainsFunc(all, func(o *reduction) bool { return c.inside(x, o) }) {
			out = append(out, x)
		}
	}
	return out
}

// mayVector says whether every element along r is written by one lane, in any order. Stores at places that come from data take a machine's
// vectors apart, so they get none.
func (c *view) mayVector(r *uop.UOp) bool {
	return c.ownPlaces(r, func(o codegen.Out) bool { return o.Once && c.Target.VectorLen(codegen.Widest) <= 1 })
}

// apart says whether what different threads do along r does not meet: as for lanes, or because a merged output has other elements for each r,
// wherever else they lie.
func (c *view) apart(r *uop.UOp) bool {
	return c.ownPlaces(r, func(o codegen.Out) bool { return o.Once || o.Merge != nil })
}

// ownPlaces says that each iteration of r writes elements of its own, a steady way apart unless an output may lie anywhere.
func (c *view) ownPlaces(r *uop.UOp, anywhere func(o codegen.Out) bool) bool {
	for i, a := range c.outs {
		o := c.Kernel.Outs[c.g.Outs[i]]
		if s, ok := c.stride(a, r); (!ok || s == 0) && !anywhere(o) || o.Merge != nil && !c.Kernel.Owns(o, r) {
			return false
		}
	}
	return !c.Runs(r)
}

// axisOf is the axis of outputs of which a loop is all or the outer part.
func (c *view) axisOf(loop string) *uop.UOp {
	i := slices.IndexFunc(c.g.Axes, func(a *nest.Axis) bool { return a.Name == loop || a.Name+".0" == loop })
	return c.g.Axes[i].Range
}

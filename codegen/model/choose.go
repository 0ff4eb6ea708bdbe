// Package model chooses directives by a model of the machine: strides, reuse and extents of what a Spec reads and writes, against vectors,
// registers, caches and memory as its Target describes them. It refuses to know what kind of kernel it looks at, and how directives are
// carried out: package lower says whether they can be.
package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Choose gives directives for a kernel: hand-tuned rules over what the accesses look like (strides, reuse, extents),
// never over what kind of kernel it is. The directives are legal; a kernel with too many loops has none, and an error from Lower.
func Choose(spec *codegen.Spec, target *codegen.Target) (directives []codegen.Directive) {
	defer affine.FewLoops(func() { directives = nil })
	if target.Grid {
		return chooseGrid(spec, target)
	}
	if target.NoOpt {
		return nil
	}
	k := nest.New(spec, target)
	row := k.SharedRow()
	for _, g := range k.Groups {
		c := &chooser{Kernel: k, g: g, spec: spec, row: row, before: directives}
		if row != nil {
			c.g = &nest.Group{Outs: g.Outs, Axes: g.Axes[1:], Order: g.Order[1:]}
		}
		c.look()
		rules := []func() []codegen.Directive{c.blocks, c.tiles, c.stream}
		if target.WholeRows > 0 {
			rules = slices.Insert(rules, 1, c.whole)
		}
		if slices.ContainsFunc(g.Axes, func(a *nest.Axis) bool { return k.Runs(a.Range) }) {
			rules = []func() []codegen.Directive{c.running}
		} else if target.Matrix != nil {
			rules = slices.Insert(rules, 0, func() []codegen.Directive { return chooseMatrix(c) })
		}
		directives = append(directives, c.first(rules...)...)
	}
	if row != nil {
		directives = append(directives, codegen.Directive{Verb: codegen.Threads, Name: row.Name})
	}
	return directives
}

// first is what the first of some rules gives that applies and whose directives are legal.
func (c *chooser) first(rules ...func() []codegen.Directive) []codegen.Directive {
	for _, rule := range rules {
		if m := rule(); m != nil && c.legal(m) {
			return c.inRow(m)
		}
	}
	return nil
}

// legal says that directives for the nest can be applied, after those of the nests before.
func (c *chooser) legal(directives []codegen.Directive) bool {
	return lower.Legal(c.spec, slices.Concat(c.before, c.inRow(directives)), c.Target) == nil
}

// inRow are directives for what lies inside the row axis, said of the whole nest.
func (c *chooser) inRow(directives []codegen.Directive) []codegen.Directive {
	if c.row == nil {
		return directives
	}
	out := slices.Clone(directives)
	inner := map[string]bool{} // axes of the nest, as the directives made them
	for _, a := range c.g.Axes {
		inner[a.Name] = true
	}
	for i, m := range out {
		switch m.Verb {
		case codegen.Split:
			if inner[m.Name] {
				inner[m.Name+".0"], inner[m.Name+".1"] = true, true
			}
		case codegen.Fuse:
			if inner[m.Axes[0]] {
				inner[m.Axes[0]+"+"+m.Axes[1]] = true
			}
		case codegen.Order:
			if m.Axes[0] != c.row.Name && slices.ContainsFunc(m.Axes, func(x string) bool { return inner[x] }) {
				out[i].Axes = append([]string{c.row.Name}, m.Axes...)
			}
		case codegen.Stage:
			if m.At == codegen.Root {
				out[i].At = c.row.Name
			}
		}
	}
	return out
}

// chooser looks at one nest of outputs.
type chooser struct {
	*nest.Kernel
	spec  *codegen.Spec
	g     *nest.Group
	roots []*uop.UOp
	nodes []*uop.UOp // operands first
	loads []*access  // in the order of nodes
	outs  []*access
	reds  []*reduction
	fixed bool // outputs are read as well, or merged: every element must be computed exactly once

	before []codegen.Directive // of the nests before
	row    *nest.Axis          // around all nests, or nil; the axes of g are those inside

	anyOrder    []*access // operands that may lie in any order, see Packings
	wholeBlocks bool      // in blocks of lanes of which none is cut
	lanes       int       // that an axis of outputs gets where nothing is used twice; 0: as many as streamLanes says
}

// access is a load or a store.
type access struct {
	name  string
	u     *uop.UOp // nil for a store
	index affine.Form
	free  affine.RangeSet
	bytes int
	gated bool
	plain bool     // the index is affine in ranges
	wide  *uop.UOp // the cast to a wider type by which alone it is read, or nil
	steps uop.Map[step]

	factors *nest.UnpackedFactors // what is made of it, or nil
}

// step is a stride, if the index has one.
type step struct {
	n  int
	ok bool
}

// stride is how far apart neighbours along r lie; ok is false where that differs.
func (c *chooser) stride(a *access, r *uop.UOp) (n int, ok bool) {
	s, known := a.steps.Get(r)
	if !known {
		s.n, s.ok = c.findStride(a, r)
		a.steps.Set(r, s)
	}
	return s.n, s.ok
}

// dense says that neighbours along r lie next to each other.
func (c *chooser) dense(a *access, r *uop.UOp) bool {
	n, ok := c.stride(a, r)
	return ok && n == 1
}

func (c *chooser) findStride(a *access, r *uop.UOp) (n int, ok bool) {
	for _, t := range a.index.Terms {
		if t.Node != r && c.Facts.FreeRanges(t.Node).Has(c.Facts.RangeID(r)) {
			return 0, false
		}
	}
	return a.index.Coeff(r), true
}

func (c *chooser) depends(a *access, r *uop.UOp) bool { return a.free.Has(c.Facts.RangeID(r)) }

// alone are the axes of the results that one operand depends on and another does not.
func (c *chooser) alone(a, other *access) []*nest.Axis {
	return slices.DeleteFunc(slices.Clone(c.g.Axes), func(x *nest.Axis) bool { return !c.depends(a, x.Range) || c.depends(other, x.Range) })
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
func (c *chooser) look() {
	inputs := map[int]bool{}
	for _, i := range c.g.Outs {
		o := c.Kernel.Outs[i]
		c.roots = append(c.roots, o.Value)
		if o.Gate != nil {
			c.roots = append(c.roots, o.Gate)
		}
		c.roots = append(c.roots, o.Index...)
	}
	c.nodes = uop.Topo(c.roots...)
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
		codegen.Walk(parts, func(u *uop.UOp) bool { return u.Op() == uop.Reduce }, func(u *uop.UOp) {
			if a := byLoad[u]; a != nil {
				r.loads = append(r.loads, a)
			}
		})
	}
	for _, i := range c.g.Outs {
		o := c.Kernel.Outs[i]
		a := c.access(o.Param, o.Index)
		c.outs = append(c.outs, a)
		c.fixed = c.fixed || o.Merge != nil || inputs[o.Param]
	}
}

// findFinite describes loads with less than their gates where other factors of their products keep the rest: first those that
// need no gate at all.
func (c *chooser) findFinite() {
	if c.anyLength() || len(c.Groups) != 1 {
		return
	}
	partners := c.Partners()
	for _, bare := range []bool{true, false} {
		for _, a := range c.loads {
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

func (c *chooser) access(param int, index []*uop.UOp) *access {
	a := &access{index: c.Linear(param, index), bytes: max(1, c.Params[param].DType.Size())}
	a.plain = a.index.Plain()
	for _, t := range a.index.Terms {
		a.free = a.free.Or(c.Facts.FreeRanges(t.Node))
	}
	return a
}

// count is the number of iterations over a set of ranges.
func (c *chooser) count(s affine.RangeSet) int {
	n := 1
	s.Each(func(i int) { n = min(n*codegen.Extent(c.Facts.Ranges[i]), 1<<50) })
	return n
}

// lanesOf is how many elements of the nest's types a machine vector holds.
func (c *chooser) width() int {
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
func (c *chooser) anyLength() bool { return c.Target.VectorLen(codegen.Widest) == 0 }

func (c *chooser) name(r *uop.UOp) string { return c.ByRange[r].Name }

// cut splits an axis of outputs for n lanes or registers, and returns the names of outer and inner axis;
// outer is "" where all of the axis is inside.
func (c *chooser) cut(directives *[]codegen.Directive, name string, extent, n int) (outer, inner string) {
	if n >= extent {
		return "", name
	}
	tail := codegen.Shift
	if c.fixed {
		tail = codegen.Peel
	}
	*directives = append(*directives, codegen.Directive{Verb: codegen.Split, Name: name, N: n, Tail: rest(extent, n, tail)})
	return name + ".0", name + ".1"
}

// rest is what becomes of the end of an axis that is split by n: nothing where that divides it.
func rest(extent, n int, otherwise codegen.Tail) codegen.Tail {
	if extent%n == 0 {
		return codegen.Exact
	}
	return otherwise
}

// fuse makes one axis of several, and gives its name.
func fuse(directives *[]codegen.Directive, names []string) string {
	first := names[0]
	for _, next := range names[1:] {
		*directives = append(*directives, codegen.Directive{Verb: codegen.Fuse, Axes: []string{first, next}})
		first += "+" + next
	}
	return first
}

// thread makes one axis of several and puts it on threads.
func thread(directives *[]codegen.Directive, names []string) string {
	name := fuse(directives, names)
	*directives = append(*directives, codegen.Directive{Verb: codegen.Threads, Name: name})
	return name
}

// threadWork is how many operations a kernel must have before it is worth waking threads.
const threadWork = 1 << 15

// shareAxes is how many iterations the thread axis should have.
const shareAxes = 32

// spread puts the outermost axes of a nest on threads: enough of them, fused, to keep many threads busy.
// order lists the nest's axes, the first free ones are serial.
func (c *chooser) spread(directives *[]codegen.Directive, order []string, sizes map[string]int, free int) []string {
	if !c.Target.Threads || !c.Threaded(c.g) || free == 0 {
		return order
	}
	fused, n := 1, sizes[order[0]]
	for ; fused < free && n < shareAxes; fused++ {
		n *= sizes[order[fused]]
	}
	return append([]string{thread(directives, order[:fused])}, order[fused:]...)
}

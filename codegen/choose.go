package codegen

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Choose gives directives for a kernel: hand-tuned rules over what the accesses look like (strides, reuse, extents),
// never over what kind of kernel it is. The directives are legal; a kernel with too many loops has none, and an error from Lower.
func Choose(spec *Spec, target *Target) (directives []Directive) {
	defer fewLoops(func() { directives = nil })
	if target.Grid {
		return chooseGrid(spec, target)
	}
	if target.NoOpt {
		return nil
	}
	k := newKernel(spec, target)
	row := k.sharedRow()
	for _, g := range k.groups {
		c := &chooser{kernel: k, g: g, spec: spec, row: row, before: directives}
		if row != nil {
			c.g = &group{g.outs, g.axes[1:], g.order[1:]}
		}
		c.look()
		rules := []func() []Directive{c.blocks, c.tiles, c.stream}
		if target.WholeRows > 0 {
			rules = slices.Insert(rules, 1, c.whole)
		}
		if slices.ContainsFunc(g.axes, func(a *axis) bool { return k.runs(a.r) }) {
			rules = []func() []Directive{c.running}
		} else if m := target.Matrix; m != nil {
			rules = append([]func() []Directive{func() []Directive { return m.choose(c) }}, rules...)
		}
		directives = append(directives, c.first(rules...)...)
	}
	if row != nil {
		directives = append(directives, Directive{Verb: Threads, Name: row.name})
	}
	return directives
}

// fewLoops is deferred where a kernel may have too many loops, and calls f then.
func fewLoops(f func()) {
	if r := recover(); r != nil {
		if _, many := r.(tooManyLoops); !many {
			panic(r)
		}
		f()
	}
}

// first is what the first of some rules gives that applies and whose directives are legal.
func (c *chooser) first(rules ...func() []Directive) []Directive {
	for _, rule := range rules {
		if m := rule(); m != nil && c.legal(m) {
			return c.inRow(m)
		}
	}
	return nil
}

// legal says that directives for the nest can be applied, after those of the nests before.
func (c *chooser) legal(directives []Directive) bool {
	return Legal(c.spec, slices.Concat(c.before, c.inRow(directives)), c.target) == nil
}

// inRow are directives for what lies inside the row axis, said of the whole nest.
func (c *chooser) inRow(directives []Directive) []Directive {
	if c.row == nil {
		return directives
	}
	out := slices.Clone(directives)
	inner := map[string]bool{} // axes of the nest, as the directives made them
	for _, a := range c.g.axes {
		inner[a.name] = true
	}
	for i, m := range out {
		switch m.Verb {
		case Split:
			if inner[m.Name] {
				inner[m.Name+".0"], inner[m.Name+".1"] = true, true
			}
		case Fuse:
			if inner[m.Axes[0]] {
				inner[m.Axes[0]+"+"+m.Axes[1]] = true
			}
		case Order:
			if m.Axes[0] != c.row.name && slices.ContainsFunc(m.Axes, func(x string) bool { return inner[x] }) {
				out[i].Axes = append([]string{c.row.name}, m.Axes...)
			}
		case Stage:
			if m.At == Root {
				out[i].At = c.row.name
			}
		}
	}
	return out
}

// chooser looks at one nest of outputs.
type chooser struct {
	*kernel
	spec  *Spec
	g     *group
	roots []*uop.UOp
	nodes []*uop.UOp // operands first
	loads []*access  // in the order of nodes
	outs  []*access
	reds  []*reduction
	fixed bool // outputs are read as well, or merged: every element must be computed exactly once

	before []Directive // of the nests before
	row    *axis       // around all nests, or nil; the axes of g are those inside

	anyOrder    []*access // operands that may lie in any order, see Packings
	wholeBlocks bool      // in blocks of lanes of which none is cut
}

// access is a load or a store.
type access struct {
	name  string
	u     *uop.UOp // nil for a store
	index affine
	free  rangeSet
	bytes int
	gated bool
	plain bool     // the index is affine in ranges
	wide  *uop.UOp // the cast to a wider type by which alone it is read, or nil
	steps uop.Map[step]

	factors *unpackedFactors // what is made of it, or nil
}

// step is a stride, if the index has one.
type step struct {
	n  int
	ok bool
}

// stride is how far apart neighbours along r lie; ok is false where that differs.
func (k *kernel) stride(a *access, r *uop.UOp) (n int, ok bool) {
	s, known := a.steps.Get(r)
	if !known {
		s.n, s.ok = k.findStride(a, r)
		a.steps.Set(r, s)
	}
	return s.n, s.ok
}

// dense says that neighbours along r lie next to each other.
func (k *kernel) dense(a *access, r *uop.UOp) bool {
	n, ok := k.stride(a, r)
	return ok && n == 1
}

func (k *kernel) findStride(a *access, r *uop.UOp) (n int, ok bool) {
	for _, t := range a.index.terms {
		if t.u != r && k.facts.freeRanges(t.u).has(k.facts.rangeID(r)) {
			return 0, false
		}
	}
	return a.index.coeff(r), true
}

func (k *kernel) depends(a *access, r *uop.UOp) bool { return a.free.has(k.facts.rangeID(r)) }

// alone are the axes of the results that one operand depends on and another does not.
func (c *chooser) alone(a, other *access) []*axis {
	return slices.DeleteFunc(slices.Clone(c.g.axes), func(x *axis) bool { return !c.depends(a, x.r) || c.depends(other, x.r) })
}

// reduction is one reduction of the nest.
type reduction struct {
	name   string
	u      *uop.UOp
	free   rangeSet
	ranges []*uop.UOp
	work   int // updates
	loads  []*access
}

// look collects what the nest reads, writes and reduces.
func (c *chooser) look() {
	inputs := map[int]bool{}
	for _, i := range c.g.outs {
		o := c.kernel.outs[i]
		c.roots = append(c.roots, o.Value)
		if o.Gate != nil {
			c.roots = append(c.roots, o.Gate)
		}
		c.roots = append(c.roots, o.Index...)
	}
	c.nodes = uop.Topo(c.roots...)
	names := map[*uop.UOp]string{}
	for n, v := range c.values {
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
			a.name, a.u, a.free = names[u], u, c.facts.freeRanges(u)
			a.gated = u.At(1).Op() != uop.Const
			byLoad[u] = a
			c.loads = append(c.loads, a)
		case uop.Reduce:
			_, ranges := reduceParts(u)
			r := &reduction{name: names[u], u: u, free: c.facts.freeRanges(u), ranges: ranges}
			r.work = c.count(r.free.or(c.facts.set(ranges...)))
			c.reds = append(c.reds, r)
		}
	}
	c.findFinite()
	c.findWide()
	c.findUnpacked()
	for _, r := range c.reds {
		parts, _ := reduceParts(r.u)
		walk(parts, func(u *uop.UOp) bool { return u.Op() == uop.Reduce }, func(u *uop.UOp) {
			if a := byLoad[u]; a != nil {
				r.loads = append(r.loads, a)
			}
		})
	}
	for _, i := range c.g.outs {
		o := c.kernel.outs[i]
		a := c.access(o.Param, o.Index)
		c.outs = append(c.outs, a)
		c.fixed = c.fixed || o.Merge != nil || inputs[o.Param]
	}
}

// findFinite describes loads with less than their gates where other factors of their products keep the rest: first those that
// need no gate at all.
func (c *chooser) findFinite() {
	if c.anyLength() || len(c.groups) != 1 {
		return
	}
	partners := c.partners()
	for _, bare := range []bool{true, false} {
		for _, a := range c.loads {
			how, ok := c.lighter(a.u, partners[a.u])
			if !ok || how.bare != bare {
				continue
			}
			a.gated, a.free = c.lightGate(a.u, how).Op() != uop.Const, rangeSet{}
			for _, x := range a.u.Src()[2:] {
				a.free = a.free.or(c.facts.freeRanges(x))
			}
			c.finite = append(c.finite, how)
		}
	}
}

func (c *chooser) access(param int, index []*uop.UOp) *access {
	a := &access{index: c.linear(param, index), bytes: max(1, c.params[param].DType.Size())}
	a.plain = a.index.plain()
	for _, t := range a.index.terms {
		a.free = a.free.or(c.facts.freeRanges(t.u))
	}
	return a
}

// count is the number of iterations over a set of ranges.
func (c *chooser) count(s rangeSet) int {
	n := 1
	s.each(func(i int) { n = min(n*extent(c.facts.ranges[i]), 1<<50) })
	return n
}

// weight is the cost of one evaluation of a node that is no load, in instructions.
func weight(u *uop.UOp) float64 {
	if !u.Op().Elementwise() || u.DType() == dtype.Index {
		return 0
	}
	return uop.Info(u.Op()).Cost.Loop
}

// lanesOf is how many elements of the nest's types a machine vector holds.
func (c *chooser) width() int {
	if c.target.VectorLen(widest) == 0 {
		return 512
	}
	n := c.target.VectorLen(dtype.U8)
	for _, u := range c.nodes {
		if w := c.target.VectorLen(u.DType()); w > 0 && (u.Op().Elementwise() || u.Op() == uop.Load || u.Op() == uop.Reduce) {
			n = min(n, w)
		}
	}
	return min(n, c.target.VectorLen(widest))
}

// anyLength says that vectors need not be of machine width.
func (c *chooser) anyLength() bool { return c.target.VectorLen(widest) == 0 }

func (c *chooser) name(r *uop.UOp) string { return c.byR[r].name }

// cut splits an axis of outputs for n lanes or registers, and returns the names of outer and inner axis;
// outer is "" where all of the axis is inside.
func (c *chooser) cut(directives *[]Directive, name string, extent, n int) (outer, inner string) {
	if n >= extent {
		return "", name
	}
	tail := Shift
	if c.fixed {
		tail = Peel
	}
	*directives = append(*directives, Directive{Verb: Split, Name: name, N: n, Tail: rest(extent, n, tail)})
	return name + ".0", name + ".1"
}

// rest is what becomes of the end of an axis that is split by n: nothing where that divides it.
func rest(extent, n int, otherwise Tail) Tail {
	if extent%n == 0 {
		return Exact
	}
	return otherwise
}

// fuse makes one axis of several, and gives its name.
func fuse(directives *[]Directive, names []string) string {
	first := names[0]
	for _, next := range names[1:] {
		*directives = append(*directives, Directive{Verb: Fuse, Axes: []string{first, next}})
		first += "+" + next
	}
	return first
}

// thread makes one axis of several and puts it on threads.
func thread(directives *[]Directive, names []string) string {
	name := fuse(directives, names)
	*directives = append(*directives, Directive{Verb: Threads, Name: name})
	return name
}

// pow2 is the greatest power of two up to n.
func pow2(n int) int {
	p := 1
	for 2*p <= n {
		p *= 2
	}
	return p
}

// threadWork is how many operations a kernel must have before it is worth waking threads.
const threadWork = 1 << 15

// shareAxes is how many iterations the thread axis should have.
const shareAxes = 32

// spread puts the outermost axes of a nest on threads: enough of them, fused, to keep many threads busy.
// order lists the nest's axes, the first free ones are serial.
func (c *chooser) spread(directives *[]Directive, order []string, sizes map[string]int, free int) []string {
	if !c.target.Threads || !c.threaded(c.g) || free == 0 {
		return order
	}
	fused, n := 1, sizes[order[0]]
	for ; fused < free && n < shareAxes; fused++ {
		n *= sizes[order[fused]]
	}
	return append([]string{thread(directives, order[:fused])}, order[fused:]...)
}

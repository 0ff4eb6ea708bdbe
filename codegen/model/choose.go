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
	if len(k.Groups) > 1 { // each question whether directives are legal lowers the whole kernel: it is asked once for all nests
		if all := chooseNests(k, spec, true); lower.Legal(spec, all, target) == nil {
			return all
		}
	}
	return chooseNests(k, spec, false)
}

// chooseNests gives directives for one nest after the other. With trust it does not ask whether they are legal.
func chooseNests(k *nest.Kernel, spec *codegen.Spec, trust bool) (directives []codegen.Directive) {
	row := k.SharedRow()
	for _, g := range k.Groups {
		inside := g
		if row != nil {
			inside = &nest.Group{Outs: g.Outs, Axes: g.Axes[1:], Order: g.Order[1:]}
		}
		c := &chooser{viewOf(k, inside), spec, directives, row, trust}
		scanned := slices.ContainsFunc(g.Axes, func(a *nest.Axis) bool { return k.Runs(a.Range) })
		directives = append(directives, c.first(scanned)...)
	}
	if row != nil {
		directives = append(directives, codegen.Directive{Verb: codegen.Threads, Name: row.Name})
	}
	return directives
}

// chooser writes directives for one nest. Who knows a way to do so embeds it: tiler, streamer, blocker, runner.
type chooser struct {
	*view
	spec   *codegen.Spec
	before []codegen.Directive // of the nests before
	row    *nest.Axis          // around all nests, or nil; the axes of g are those inside
	trust  bool                // directives are taken to be legal
}

// rules are the ways to choose, of which the first is taken that applies.
func (c *chooser) rules(scanned bool) (out []func() []codegen.Directive) {
	if scanned {
		return []func() []codegen.Directive{(&runner{c}).running}
	}
	tiler, streamer := &tiler{chooser: c}, &streamer{chooser: c}
	if c.Target.Matrix != nil { // pages do not load what they have no use for
		out = append(out, tiler.matrix)
	}
	out = append(out, (&blocker{c}).blocks)
	if c.Target.WholeRows > 0 {
		out = append(out, streamer.whole)
	}
	return append(out, tiler.tiles, streamer.stream)
}

// first is what the first of the rules gives that applies and whose directives are legal.
func (c *chooser) first(scanned bool) []codegen.Directive {
	for _, rule := range c.rules(scanned) {
		if m := rule(); m != nil && c.legal(m) {
			return c.inRow(m)
		}
	}
	return nil
}

// legal says that directives for the nest can be applied, after those of the nests before.
func (c *chooser) legal(directives []codegen.Directive) bool {
	return c.trust || lower.Legal(c.spec, slices.Concat(c.before, c.inRow(directives)), c.Target) == nil
}

// inRow are directives for what lies inside the row axis, said of the whole nest.
func (c *chooser) inRow(directives []codegen.Directive) []codegen.Directive {
	if c.row == nil {
		return directives
	}
	out := slices.Clone(directives)
	for i, m := range out {
		switch {
		case m.Verb == codegen.Order:
			out[i].Axes = append([]string{c.row.Name}, m.Axes...)
		case m.Verb == codegen.Stage && m.At == codegen.Root:
			out[i].At = c.row.Name
		}
	}
	return out
}

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

// innermost is the last of some loops, or the place outside of all.
func innermost(loops []string) string {
	if len(loops) == 0 {
		return codegen.Root
	}
	return loops[len(loops)-1]
}

// each says the same of several axes.
func each(verb codegen.Verb, names []string) (directives []codegen.Directive) {
	for _, name := range names {
		directives = append(directives, codegen.Directive{Verb: verb, Name: name})
	}
	return directives
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
	if !c.Threaded(c.g) || free == 0 {
		return order
	}
	fused, n := 1, sizes[order[0]]
	for ; fused < free && n < shareAxes; fused++ {
		n *= sizes[order[fused]]
	}
	return append([]string{thread(directives, order[:fused])}, order[fused:]...)
}

// laneDirectives puts a reduction on lanes where it lies outside those of the outputs.
func (c *chooser) laneDirectives(directives *[]codegen.Directive, r *reduction, lanes *uop.UOp) {
	x, best := c.sumLanes(r, lanes)
	if best == 1 || slices.ContainsFunc(*directives, func(m codegen.Directive) bool { // shared with a reduction that was seen to
		return slices.ContainsFunc(r.ranges, func(x *uop.UOp) bool { return m.Name == c.name(x) })
	}) {
		return
	}
	n, name := codegen.Extent(x), c.name(x)
	if sumInLanes(directives, name, n, best); best < n {
		if _, lanes := c.restSteps(n % best); lanes {
			*directives = append(*directives, codegen.Directive{Verb: codegen.Vectors, Name: name + ".t"})
		}
	}
}

// sumInLanes puts so many of the n steps of a sum in lanes.
func sumInLanes(directives *[]codegen.Directive, name string, n, lanes int) {
	if lanes < n {
		*directives = append(*directives, codegen.Directive{Verb: codegen.Split, Name: name, N: lanes, Tail: codegen.Peel})
		name += ".1"
	}
	*directives = append(*directives, codegen.Directive{Verb: codegen.Vectors, Name: name})
}

package codegen

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// A graphics processor (Target.Grid) runs every iteration of nested Thread loops as an invocation, in any order and
// at once. What follows from that:
//   - a kernel is one nest, because nests run one after the other (Nests);
//   - memory is written by words, so narrow elements of one word belong to one invocation (wordAxes);
//   - an invocation may be allowed few iterations in all (Limits.Iterations), so long reductions are unrolled.

// Visit calls f with every statement, outer ones first.
func Visit(stmts []Stmt, f func(Stmt)) { visit(stmts, f) }

// Nests takes a Spec apart into Specs of one nest each, to be run one after the other; they share the arena and
// the list of Params. For targets without a Grid it is the Spec itself.
func Nests(s *Spec, t *Target) []*Spec {
	if !t.Grid || len(s.Outs) == 0 {
		return []*Spec{s}
	}
	k := &kernel{outs: s.Outs}
	k.groupOuts()
	if len(k.groups) == 1 {
		return chunks(mergeParts(s, t), t)
	}
	var out []*Spec
	for _, g := range k.groups {
		one := &Spec{Home: s.Home, Params: slices.Clone(s.Params), Vars: s.Vars}
		for i := range one.Params {
			one.Params[i].Write, one.Params[i].Own = false, false
		}
		for _, i := range g.outs {
			one.Outs = append(one.Outs, s.Outs[i])
			one.Params[s.Outs[i].Param].Write = true
		}
		out = append(out, chunks(mergeParts(one, t), t)...)
	}
	return out
}

// chooseGrid gives directives for a kernel of one nest.
func chooseGrid(spec *Spec, target *Target) []Directive {
	g, lists := gridLists(spec, target, sizesFor(target))
	if g == nil {
		return nil // nothing to do, or not one nest: one invocation does it all
	}
	return g.first(spec, lists...)
}

// gridLists are the lists of directives that the rules give with these sizes, best first; a nil gridder where the kernel is not one nest.
func gridLists(spec *Spec, target *Target, sizes gridSizes) (*gridder, [][]Directive) {
	k := newKernel(spec, target)
	if len(k.groups) != 1 {
		return nil, nil
	}
	g := &gridder{chooser: chooser{kernel: k, g: k.groups[0]}, sizes: sizes}
	g.look()
	if !k.scanned.empty() {
		return g, [][]Directive{g.running()}
	}
	directives := g.threads()
	if target.NoOpt {
		return g, [][]Directive{slices.Concat(directives, g.unroll()), directives}
	}
	special := g.special()
	if g.tiled {
		g.longInside(directives)
	}
	return g, append(special, slices.Concat(directives, g.blocks()), slices.Concat(directives, g.unroll()), directives)
}

// first gives the first directives that can be applied and keep within the iterations of an invocation, or, if there are
// none, the last ones that can be applied.
func (g *gridder) first(spec *Spec, choices ...[]Directive) (out []Directive) {
	most := g.target.Limits.Iterations
	for _, m := range choices {
		b, err := lowerTo(spec, m, g.target, treePasses)
		if err != nil {
			continue
		}
		out = m
		if most == 0 || countIterations(b.body) <= most {
			break
		}
	}
	return out
}

// gridder chooses directives for a Grid.
type gridder struct {
	chooser
	sizes      gridSizes
	directives []Directive
	onThreads  map[*uop.UOp]bool
	tiled      bool // each invocation computes several elements
}

// threads puts axes of the outputs on invocations.
func (g *gridder) threads() []Directive {
	var names []string
	shared := g.sharedAxes()
	g.onThreads = shared
	words, whole := g.words(), map[*uop.UOp]int{}
	if words > 1 {
		if axes, ok := g.rowMajor(); ok && shared[axes[len(axes)-1].r] && extent(axes[len(axes)-1].r)%words == 0 {
			whole[axes[len(axes)-1].r] = words
		}
	}
	if words == 1 || len(whole) > 0 {
		if tile := g.tileFactors(shared, whole); len(tile) > 0 && !g.target.NoOpt {
			return g.tileAxes(shared, tile)
		}
	}
	if words > 1 {
		return g.wordAxes(words, shared)
	}
	for _, a := range g.g.axes {
		if shared[a.r] {
			names = append(names, a.name)
			g.directives = append(g.directives, Directive{Verb: Threads, Name: a.name})
		}
	}
	return append(g.directives, g.outermost(names)...)
}

// outermost orders the nest so that these axes come first.
func (g *gridder) outermost(names []string) []Directive {
	order := slices.Clone(names)
	for _, a := range g.g.axes {
		if !slices.Contains(names, a.name) {
			order = append(order, a.name)
		}
	}
	if len(names) == 0 || len(order) == len(names) {
		return nil
	}
	return []Directive{{Verb: Order, Axes: order}}
}

// enoughThreads keep a processor of any kind busy.
const enoughThreads = 256

// sharedAxes are those that invocations may share: no two of them write the same element. Where a reduction depends
// on some of the axes only, the others stay inside, if enough are left.
func (g *gridder) sharedAxes() map[*uop.UOp]bool {
	out := map[*uop.UOp]bool{}
	all := rangeSet{}
	for _, a := range g.g.axes {
		if g.apart(a.r) {
			out[a.r] = true
			all = all.with(g.facts.rangeID(a.r))
		}
	}
	if g.fixedOrder() {
		return out
	}
	keep := all
	for _, r := range g.outerReductions() {
		if r.free.and(all) != all {
			keep = keep.and(r.free)
		}
	}
	if keep != all && g.count(keep) >= enoughThreads {
		for r := range out {
			out[r] = keep.has(g.facts.rangeID(r))
		}
	}
	return out
}

// fixedOrder says that the axes of a merged output may not be reordered among themselves beyond what it owns.
func (g *gridder) fixedOrder() bool {
	return slices.ContainsFunc(g.g.outs, func(i int) bool { return g.kernel.outs[i].Merge != nil })
}

// outerReductions are those that lie in no other.
func (g *gridder) outerReductions() (out []*reduction) {
	inner := map[*uop.UOp]bool{}
	for _, r := range g.reds {
		parts, _ := reduceParts(r.u)
		for _, u := range uop.Topo(parts...) {
			inner[u] = inner[u] || u.Op() == uop.Reduce
		}
	}
	for _, r := range g.reds {
		if !inner[r.u] {
			out = append(out, r)
		}
	}
	return out
}

// words is how many elements of the narrowest output share a word of memory.
func (g *gridder) words() int {
	n := 1
	for _, i := range g.g.outs {
		d := g.params[g.kernel.outs[i].Param].DType
		if s := d.Size(); s > 0 && s < 4 && !(d == dtype.F16 && g.target.Features.Has(plan.Half)) {
			n = max(n, 4/s)
		}
	}
	return n
}

// rowMajor gives the axes in the order in which the outputs lie in memory, if they are written without gaps.
func (g *gridder) rowMajor() (axes []*axis, ok bool) {
	if len(g.g.axes) == 0 || g.fixedOrder() {
		return nil, false
	}
	axes = slices.Clone(g.g.axes)
	slices.SortStableFunc(axes, func(x, y *axis) int { return g.outs[0].index.coeff(y.r) - g.outs[0].index.coeff(x.r) })
	for _, o := range g.outs {
		n := 1
		for _, a := range slices.Backward(axes) {
			if o.index.coeff(a.r) != n {
				return nil, false
			}
			n *= extent(a.r)
		}
		if !o.plain || o.index.c != 0 || len(o.index.terms) != len(axes) {
			return nil, false
		}
	}
	return axes, true
}

// wordAxes gives each word of the outputs to one invocation: the innermost axis is cut by the number of elements
// in a word, all axes being fused before where that does not divide. Where the outputs are not written in order,
// one invocation does all.
func (g *gridder) wordAxes(words int, shared map[*uop.UOp]bool) []Directive {
	axes, ok := g.rowMajor()
	if !ok {
		g.onThreads = nil
		return g.outermost(nil)
	}
	last := axes[len(axes)-1]
	name, n := last.name, extent(last.r)
	var names []string
	if n%words != 0 {
		var all []*uop.UOp
		for _, a := range axes {
			all = append(all, a.r)
		}
		name, n = g.fused(&g.directives, all)
	} else {
		for _, a := range axes[:len(axes)-1] {
			names = append(names, a.name)
		}
	}
	order := append(slices.Clone(names), name)
	if n > words {
		g.directives = append(g.directives, Directive{Verb: Split, Name: name, N: words, Tail: rest(n, words, Peel)})
		names = append(names, name+".0")
		order = append(names, name+".1")
		name += ".1"
	}
	for _, t := range names {
		g.directives = append(g.directives, Directive{Verb: Threads, Name: t})
	}
	g.directives = append(g.directives, Directive{Verb: Tiles, Name: name})
	if len(order) > 1 {
		g.directives = append(g.directives, Directive{Verb: Order, Axes: order})
	}
	return g.directives
}

// unroll cuts reductions where an invocation would need more iterations than it is allowed, so that several are
// done in one: the inner reductions if that is enough, else the outer ones.
func (g *gridder) unroll() []Directive {
	most := g.target.Limits.Iterations
	if most == 0 {
		return nil
	}
	outer := map[*reduction]bool{}
	for _, r := range g.outerReductions() {
		outer[r] = true
	}
	factors := map[*reduction]int{}
	if g.iterations(factors) < most/4 {
		return nil
	}
	for _, inner := range []bool{true, false} {
		clear(factors)
		for f := 2; f <= maxUnroll && g.iterations(factors) > most/8; f *= 2 {
			for _, r := range g.reds {
				if outer[r] != inner && f <= extent(r.ranges[len(r.ranges)-1]) {
					factors[r] = f
				}
			}
		}
		if g.iterations(factors) < most/2 {
			break
		}
	}
	var out []Directive
	for _, r := range g.reds {
		f := factors[r]
		if f == 0 {
			continue
		}
		x := r.ranges[len(r.ranges)-1]
		name := g.name(x)
		out = append(out, Directive{Verb: Split, Name: name, N: f, Tail: rest(extent(x), f, Peel)}, Directive{Verb: Vectors, Name: name + ".1"})
	}
	return out
}

// maxUnroll bounds the size of the source.
const maxUnroll = 64

// iterations estimates those of one invocation, reductions being cut by factors.
func (g *gridder) iterations(factors map[*reduction]int) int {
	total := func(r *reduction) int { return 0 }
	total = func(r *reduction) int {
		parts, _ := reduceParts(r.u)
		n := 1
		for _, x := range g.reds {
			if x != r && inside(x.u, parts) {
				n += total(x)
			}
		}
		return min(1<<40, n*(g.count(g.facts.set(r.ranges...))/max(1, factors[r])))
	}
	sum, serial := 0, 1
	for _, a := range g.g.axes {
		if !g.onThreads[a.r] {
			serial *= extent(a.r)
		}
	}
	for _, r := range g.outerReductions() {
		n := total(r)
		for _, a := range g.g.axes {
			if !g.onThreads[a.r] && r.free.has(g.facts.rangeID(a.r)) {
				n *= extent(a.r)
			}
		}
		sum += n
	}
	return sum + serial
}

// TooManyIterations says that an invocation of a kernel would run longer than the device lets it.
type TooManyIterations struct {
	Kernel      string
	Needs, Most int
}

func (e *TooManyIterations) Error() string {
	return fmt.Sprintf("codegen: kernel %s needs %d iterations of loops in one invocation and this device stops after %d; "+
		"reduce over shorter axes, in two steps, or use another device", e.Kernel, e.Needs, e.Most)
}

// checkIterations refuses what a device would stop without a word.
func checkIterations(p *Program, t *Target) error {
	if most := t.Limits.Iterations; most > 0 {
		if n := countIterations(p.Body); n > most {
			return &TooManyIterations{p.Name, n, most}
		}
	}
	return nil
}

func countIterations(stmts []Stmt) (n int) {
	for _, s := range stmts {
		inner := countIterations(body(s))
		if l, ok := s.(*Loop); ok && l.Kind == Serial {
			inner = extent(l.Range) * (1 + inner)
		}
		n = min(1<<40, n+inner)
	}
	return n
}

// chunks cuts a nest whose merged elements come one after the other in one invocation into several, to run in order.
func chunks(s *Spec, t *Target) []*Spec {
	most := t.Limits.Iterations / 2
	if most == 0 || s.Outs[0].Merge == nil {
		return []*Spec{s}
	}
	o := s.Outs[0]
	var cut *uop.UOp
	inner := 1
	for _, r := range o.Axes {
		switch {
		case slices.Contains(o.Index, r):
		case cut == nil:
			cut = r
		default:
			inner *= extent(r)
		}
	}
	if cut == nil || extent(cut)*inner <= most || inner > most {
		return []*Spec{s}
	}
	var out []*Spec
	a := cut.Arg().(uop.RangeArg)
	for from := 0; from < a.N; from += most / inner {
		part := *s
		r := s.Home.Range(a.ID, min(most/inner, a.N-from), a.Name)
		p := substituted(s.Home, o, cut, r.Add(s.Home.Index(from)))
		p.Axes[slices.Index(p.Axes, cut)] = r
		part.Outs = []Out{p}
		out = append(out, &part)
	}
	return out
}

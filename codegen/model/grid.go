package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// A graphics processor (Target.Grid) runs every iteration of nested Thread loops as an invocation, in any order and
// at once. What follows from that:
//   - a kernel is one nest, because nests run one after the other (Nests);
//   - memory is written by words, so narrow elements of one word belong to one invocation (wordAxes);
//   - an invocation may be allowed few iterations in all (Limits.Iterations), so long reductions are unrolled.

// chooseGrid gives directives for a kernel of one nest.
func chooseGrid(spec *codegen.Spec, target *codegen.Target) []codegen.Directive {
	g, lists := gridLists(spec, target, sizesFor(target))
	if g == nil {
		return nil // nothing to do, or not one nest: one invocation does it all
	}
	return g.first(spec, lists...)
}

// gridLists are the lists of directives that the rules give with these sizes, best first; a nil gridder where the kernel is not one nest.
func gridLists(spec *codegen.Spec, target *codegen.Target, sizes gridSizes) (*gridder, [][]codegen.Directive) {
	k := nest.New(spec, target)
	if len(k.Groups) != 1 {
		return nil, nil
	}
	g := &gridder{chooser: chooser{view: viewOf(k, k.Groups[0])}, sizes: sizes}
	if !k.Scanned.Empty() {
		return g, [][]codegen.Directive{g.running()}
	}
	directives := g.threads()
	if target.NoOpt {
		return g, [][]codegen.Directive{slices.Concat(directives, g.unroll()), directives}
	}
	special := g.special()
	if g.tiled {
		g.longInside(directives)
	}
	return g, append(special, slices.Concat(directives, g.blocks()), slices.Concat(directives, g.unroll()), directives)
}

// first gives the first directives that can be applied and keep within the iterations of an invocation, or, if there are
// none, the last ones that can be applied.
func (g *gridder) first(spec *codegen.Spec, choices ...[]codegen.Directive) (out []codegen.Directive) {
	most := g.Target.Limits.Iterations
	for _, m := range choices {
		n, err := lower.Iterations(spec, m, g.Target)
		if err != nil {
			continue
		}
		out = m
		if most == 0 || n <= most {
			break
		}
	}
	return out
}

// gridder chooses directives for a Grid.
type gridder struct {
	chooser
	sizes     gridSizes
	onThreads map[*uop.UOp]bool
	tiled     bool // each invocation computes several elements
}

// threads puts axes of the outputs on invocations.
func (g *gridder) threads() []codegen.Directive {
	shared := g.sharedAxes()
	g.onThreads = shared
	words, whole := g.words(), map[*uop.UOp]int{}
	if words > 1 {
		if axes, ok := g.rowMajor(); ok && shared[axes[len(axes)-1].Range] && codegen.Extent(axes[len(axes)-1].Range)%words == 0 {
			whole[axes[len(axes)-1].Range] = words
		}
	}
	if words == 1 || len(whole) > 0 {
		if tile := g.tileFactors(shared, whole); len(tile) > 0 && !g.Target.NoOpt {
			return g.tileAxes(shared, tile)
		}
	}
	if words > 1 {
		return g.wordAxes(words)
	}
	return g.invocations(func(a *uop.UOp) bool { return shared[a] })
}

// invocations makes each iteration of some axes an invocation; the others lie inside.
func (g *gridder) invocations(of func(a *uop.UOp) bool) []codegen.Directive {
	var names, others []string
	for _, a := range g.g.Axes {
		if of(a.Range) {
			names = append(names, a.Name)
		} else {
			others = append(others, a.Name)
		}
	}
	directives := each(codegen.Threads, names)
	if len(names) > 0 && len(others) > 0 {
		directives = append(directives, codegen.Directive{Verb: codegen.Order, Axes: append(names, others...)})
	}
	return directives
}

// enoughThreads keep a processor of any kind busy.
const enoughThreads = 256

// sharedAxes are those that invocations may share: no two of them write the same element. Where a reduction depends
// on some of the axes only, the others stay inside, if enough are left.
func (g *gridder) sharedAxes() map[*uop.UOp]bool {
	out := map[*uop.UOp]bool{}
	all := affine.RangeSet{}
	for _, a := range g.g.Axes {
		if out[a.Range] = g.apart(a.Range); out[a.Range] {
			all = all.With(g.Facts.RangeID(a.Range))
		}
	}
	if g.fixedOrder() {
		return out
	}
	keep := all
	for _, r := range g.outerReductions() {
		if r.free.And(all) != all {
			keep = keep.And(r.free)
		}
	}
	if keep != all && g.count(keep) >= enoughThreads {
		for r := range out {
			out[r] = keep.Has(g.Facts.RangeID(r))
		}
	}
	return out
}

// fixedOrder says that the axes of a merged output may not be reordered among themselves beyond what it owns.
func (g *gridder) fixedOrder() bool {
	return slices.ContainsFunc(g.g.Outs, func(i int) bool { return g.Kernel.Outs[i].Merge != nil })
}

// outerReductions are those that lie in no other.
func (g *gridder) outerReductions() []*reduction {
	return slices.DeleteFunc(slices.Clone(g.reds), g.nested)
}

// words is how many elements of the narrowest output share a word of memory.
func (g *gridder) words() int {
	n := 1
	for _, i := range g.g.Outs {
		d := g.Params[g.Kernel.Outs[i].Param].DType
		if s := d.Size(); s > 0 && s < 4 && !(d == dtype.F16 && g.Target.Features.Has(plan.Half)) {
			n = max(n, 4/s)
		}
	}
	return n
}

// rowMajor gives the axes in the order in which the outputs lie in memory, if they are written without gaps.
func (g *gridder) rowMajor() (axes []*nest.Axis, ok bool) {
	if len(g.g.Axes) == 0 || g.fixedOrder() {
		return nil, false
	}
	axes = slices.Clone(g.g.Axes)
	slices.SortStableFunc(axes, func(x, y *nest.Axis) int { return g.outs[0].index.Coeff(y.Range) - g.outs[0].index.Coeff(x.Range) })
	for _, o := range g.outs {
		n := 1
		for _, a := range slices.Backward(axes) {
			if o.index.Coeff(a.Range) != n {
				return nil, false
			}
			n *= codegen.Extent(a.Range)
		}
		if !o.plain || o.index.Const != 0 || len(o.index.Terms) != len(axes) {
			return nil, false
		}
	}
	return axes, true
}

// wordAxes gives each word of the outputs to one invocation: the innermost axis is cut by the number of elements
// in a word, all axes being fused before where that does not divide. Where the outputs are not written in order,
// one invocation does all.
func (g *gridder) wordAxes(words int) (directives []codegen.Directive) {
	axes, ok := g.rowMajor()
	if !ok {
		g.onThreads = nil
		return nil
	}
	last := axes[len(axes)-1]
	name, n := last.Name, codegen.Extent(last.Range)
	var names []string
	if n%words != 0 {
		var all []*uop.UOp
		for _, a := range axes {
			all = append(all, a.Range)
		}
		name, n = g.fused(&directives, all)
	} else {
		for _, a := range axes[:len(axes)-1] {
			names = append(names, a.Name)
		}
	}
	order := append(slices.Clone(names), name)
	if n > words {
		directives = append(directives, codegen.Directive{Verb: codegen.Split, Name: name, N: words, Tail: rest(n, words, codegen.Peel)})
		names = append(names, name+".0")
		order = append(names, name+".1")
		name += ".1"
	}
	directives = append(directives, append(each(codegen.Threads, names), codegen.Directive{Verb: codegen.Tiles, Name: name})...)
	if len(order) > 1 {
		directives = append(directives, codegen.Directive{Verb: codegen.Order, Axes: order})
	}
	return directives
}

// unroll cuts reductions where an invocation would need more iterations than it is allowed, so that several are
// done in one: the inner reductions if that is enough, else the outer ones.
func (g *gridder) unroll() []codegen.Directive {
	most := g.Target.Limits.Iterations
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
				if outer[r] != inner {
					factors[r] = divisorNear(codegen.Extent(r.last()), f)
				}
			}
		}
		if g.iterations(factors) < most/2 {
			break
		}
	}
	var out []codegen.Directive
	cut := map[*uop.UOp]bool{} // several may run over the same loops
	for _, r := range g.reds {
		f, x := factors[r], r.last()
		if f < 2 || cut[x] {
			continue
		}
		cut[x] = true
		name := g.name(x)
		if n := codegen.Extent(x); f < n {
			out = append(out, codegen.Directive{Verb: codegen.Split, Name: name, N: f, Tail: rest(n, f, codegen.Peel)})
			name += ".1"
		}
		out = append(out, codegen.Directive{Verb: codegen.Vectors, Name: name})
	}
	return out
}

// divisorNear is the greatest divisor of n up to f if it is more than half of that, else f; n if that is less.
func divisorNear(n, f int) int {
	f = min(n, f)
	if d := divisor(n, f); 2*d > f {
		return d
	}
	return f
}

// last is the innermost loop of a reduction.
func (r *reduction) last() *uop.UOp { return r.ranges[len(r.ranges)-1] }

// maxUnroll bounds the size of the source.
const maxUnroll = 64

// iterations estimates those of one invocation, reductions being cut by factors.
func (g *gridder) iterations(factors map[*reduction]int) int {
	var total func(r *reduction) int
	total = func(r *reduction) int {
		n := 1
		for _, x := range g.within(r) {
			n = min(1<<40, n+total(x))
		}
		all, last, f := g.count(g.Facts.Set(r.ranges...)), codegen.Extent(r.last()), max(1, factors[r])
		return min(1<<40, n*(all/last*(last/f+last%f)))
	}
	sum, serial := 0, 1
	for _, a := range g.g.Axes {
		if !g.onThreads[a.Range] {
			serial *= codegen.Extent(a.Range)
		}
	}
	for _, r := range g.outerReductions() {
		n := total(r)
		for _, a := range g.g.Axes {
			if !g.onThreads[a.Range] && r.free.Has(g.Facts.RangeID(a.Range)) {
				n *= codegen.Extent(a.Range)
			}
		}
		sum += n
	}
	return sum + serial
}

package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// Limits of blocks of an output that a workgroup computes from what it keeps in its memory, and of rows that a workgroup reduces.
const (
	leastLanes = 64
	leastBlock = 32   // workgroups that keep a processor busy
	shortRow   = 64   // elements that one invocation reduces by itself
	rowShare   = 6    // of them that an invocation reduces at least where there are many rows
	fewThreads = 8192 // are not enough
)

// special gives directives for what is not the usual tile, best first.
func (g *gridder) special() (out [][]codegen.Directive) {
	if !g.sizes.workgroups || g.fixedOrder() || slices.ContainsFunc(g.g.Axes, func(a *nest.Axis) bool { return !g.mayVector(a.Range) }) {
		return nil
	}
	for _, rule := range []func() []codegen.Directive{g.staged, g.rows} {
		if m := rule(); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// fused makes one axis of several, and gives its name and extent.
func (g *gridder) fused(directives *[]codegen.Directive, ranges []*uop.UOp) (name string, n int) {
	var names []string
	for _, r := range ranges {
		names = append(names, g.name(r))
	}
	return fuse(directives, names), g.count(g.Facts.Set(ranges...))
}

// side is one of the two directions of a block.
type side struct {
	ranges []*uop.UOp
	set    affine.RangeSet
	n      int // elements
	block  int
	lanes  int
	outer  string   // workgroups
	lane   string   // invocations
	tiles  []string // registers
	layout []string // of a block, outermost first
}

// staged gives directives for a sum whose loads depend on some axes of the output each: a workgroup computes a block and
// keeps in its memory what its invocations need of the loads, for some terms of the sum at a time.
func (g *gridder) staged() (directives []codegen.Directive) {
	if len(g.reds) != 1 {
		return nil
	}
	r := g.reds[0]
	rows, cols := g.sides(r)
	if rows == nil || !g.blocksOf(rows, cols) || g.words() > 1 && !g.ownsWords(cols) || g.count(g.Facts.Set(r.ranges...)) < 2*g.sizes.depth {
		return nil
	}
	var grid []string
	for _, a := range g.g.Axes {
		if x := g.Facts.Set(a.Range); x.Disjoint(rows.set) && x.Disjoint(cols.set) {
			grid = append(grid, a.Name)
		}
	}
	var lanes, tiles []string
	for _, s := range []*side{rows, cols} {
		g.cutSide(&directives, s)
		if s.outer != "" {
			grid = append(grid, s.outer)
		}
		tiles = append(tiles, s.tiles...)
		lanes = append(lanes, s.lane)
	}
	along, at, terms, loops := g.cutSum(&directives, r, g.depthOf(rows, cols, r))
	if g.count(g.Facts.Set(r.ranges...)) >= longSum {
		directives = append(directives, codegen.Directive{Verb: codegen.Nest, Name: r.name, Axes: []string{terms}})
	}
	for _, l := range r.loads {
		s := rows
		if l.free.Disjoint(rows.set) == l.free.Disjoint(cols.set) {
			continue
		} else if l.free.Disjoint(rows.set) {
			s = cols
		}
		m := codegen.Directive{Verb: codegen.Stage, Name: l.staged(), At: at, Axes: append([]string{terms}, s.layout...), Shared: true}
		if g.dense(l, along) {
			m.Vector = terms
		}
		directives = append(directives, m)
	}
	return g.kinds(directives, grid, lanes, append(tiles, loops...))
}

// ownsWords says that the four neighbours along a side that an invocation computes are words of their own in all outputs.
func (g *gridder) ownsWords(cols *side) bool {
	last := cols.ranges[len(cols.ranges)-1]
	return g.words() <= 4 && cols.block/cols.lanes%4 == 0 && cols.n%cols.block == 0 && codegen.Extent(last)%4 == 0 && !slices.ContainsFunc(g.outs, func(o *access) bool {
		return o.index.Const%4 != 0 || o.index.Coeff(last) != 1 || slices.ContainsFunc(o.index.Terms, func(t affine.Term) bool { return t.Node != last && t.Coef%4 != 0 })
	})
}

// depthOf is how many terms of a sum are kept at a time: more where blocks are small, and more yet where there are few, so that as much is on its way.
func (g *gridder) depthOf(rows, cols *side, r *reduction) int {
	depth, most := g.sizes.depth, g.sizes.depth*2*g.sizes.side
	if g.groups(rows, cols) < 4*leastBlock {
		most *= 2
	}
	most = min(most, int(g.Target.Limits.Shared/4))
	for n := g.count(g.Facts.Set(r.ranges...)); 2*depth*(rows.block+cols.block) <= most && n >= 4*depth; {
		depth *= 2
	}
	return depth
}

// groups is how many blocks there are.
func (g *gridder) groups(rows, cols *side) int {
	n := codegen.CeilDiv(rows.n, rows.block) * codegen.CeilDiv(cols.n, cols.block)
	for _, a := range g.g.Axes {
		if x := g.Facts.Set(a.Range); x.Disjoint(rows.set) && x.Disjoint(cols.set) {
			n *= codegen.Extent(a.Range)
		}
	}
	return n
}

// cutSum takes the loops of a sum apart: the terms that are kept at a time, which run along a range, and the loop around them. Of several loops,
// as those of windows are, one alone has these terms if its length allows that: then all of them have the same place in the window. loops is the
// order of such loops.
func (g *gridder) cutSum(directives *[]codegen.Directive, r *reduction, depth int) (along *uop.UOp, at, terms string, loops []string) {
	long := slices.MaxFunc(r.ranges, func(x, y *uop.UOp) int { return codegen.Extent(x) - codegen.Extent(y) })
	for d := depth; d >= g.sizes.depth/2 && len(r.ranges) > 1 && g.Owners(long) == 1; d /= 2 {
		n := codegen.Extent(long)
		if n%d != 0 {
			continue
		}
		if terms = g.name(long); n > d {
			*directives = append(*directives, codegen.Directive{Verb: codegen.Split, Name: terms, N: d, Tail: codegen.Exact})
			loops, terms = append(loops, terms+".0"), terms+".1"
		}
		for _, x := range r.ranges {
			if x != long {
				loops = append(loops, g.name(x))
			}
		}
		return long, loops[len(loops)-1], terms, append(loops, terms)
	}
	k, _ := g.fused(directives, r.ranges)
	*directives = append(*directives, codegen.Directive{Verb: codegen.Split, Name: k, N: depth, Tail: codegen.Guard})
	return r.ranges[len(r.ranges)-1], k + ".0", k + ".1", nil
}

// kinds puts axes where they run, and orders the nest so.
func (g *gridder) kinds(directives []codegen.Directive, grid, lanes, rest []string) []codegen.Directive {
	return slices.Concat(directives, each(codegen.Grids, grid), each(codegen.Lanes, lanes),
		[]codegen.Directive{{Verb: codegen.Order, Axes: slices.Concat(grid, lanes, rest)}})
}

// sides are the axes of the output that one load of a sum depends on and another does not, and the other way round.
func (g *gridder) sides(r *reduction) (rows, cols *side) {
	best := 0
	of := func(x, y *access) *side {
		s := &side{n: 1}
		for _, a := range g.alone(x, y) {
			s.ranges = append(s.ranges, a.Range)
			s.set = s.set.Or(g.Facts.Set(a.Range))
			s.n *= codegen.Extent(a.Range)
		}
		return s
	}
	for i, x := range r.loads {
		for _, y := range r.loads[:i] {
			if a, b := of(x, y), of(y, x); min(a.n, b.n) > best {
				best, rows, cols = min(a.n, b.n), a, b
			}
		}
	}
	if best < 8 {
		return nil, nil
	}
	next := func(s *side) bool { return g.dense(g.outs[0], s.ranges[len(s.ranges)-1]) }
	if next(rows) && !next(cols) {
		rows, cols = cols, rows
	}
	return rows, cols
}

// blocksOf chooses the sizes of blocks, and says whether there is enough to do.
func (g *gridder) blocksOf(rows, cols *side) bool {
	groups := func() int { return g.groups(rows, cols) }
	rows.block, cols.block = min(g.sizes.side, codegen.Pow2(rows.n)), min(g.sizes.side, codegen.Pow2(cols.n))
	for _, s := range [][2]*side{{rows, cols}, {cols, rows}} {
		for s[0].block*s[1].block < g.sizes.side*g.sizes.side/4 && 2*s[0].block <= min(s[0].n, 4*g.sizes.side) {
			s[0].block *= 2
		}
	}
	for _, s := range []*side{rows, cols} {
		for groups() < leastBlock && s.block > g.sizes.lanes {
			s.block /= 2
		}
	}
	for _, s := range []*side{cols, rows} {
		if s.block *= 2; s.block <= s.n && groups() >= 4*leastBlock {
			break
		}
		s.block /= 2
	}
	rows.lanes, cols.lanes = min(g.sizes.lanes, rows.block), min(g.sizes.lanes, cols.block)
	for _, s := range []*side{cols, rows} {
		for 2*s.lanes <= s.block && rows.lanes*cols.lanes < g.sizes.lanes*g.sizes.lanes {
			s.lanes *= 2
		}
	}
	fits := func(s *side) bool { return !g.fixed || s.n%s.block == 0 }
	return rows.lanes*cols.lanes >= leastLanes && rows.lanes*cols.lanes <= g.Target.Limits.Invocations && fits(rows) && fits(cols)
}

// cutSide takes a side apart into workgroups, registers and invocations. Each invocation has four neighbours at a time, where it has so many,
// for they are loaded at once; else neighbours belong to neighbours.
func (g *gridder) cutSide(directives *[]codegen.Directive, s *side) {
	name, n := g.fused(directives, s.ranges)
	s.outer, name = g.cut(directives, name, n, s.block)
	tile, quad := "", ""
	if s.block/s.lanes%4 == 0 && g.Target.Fours != nil {
		tile, name = g.cut(directives, name, s.block, 4*s.lanes)
		s.lane, quad = g.cut(directives, name, 4*s.lanes, 4)
	} else {
		tile, s.lane = g.cut(directives, name, s.block, s.lanes)
	}
	for _, name := range []string{tile, s.lane, quad} {
		if name == "" {
			continue
		}
		if s.layout = append(s.layout, name); name != s.lane {
			*directives = append(*directives, codegen.Directive{Verb: codegen.Tiles, Name: name})
			s.tiles = append(s.tiles, name)
		}
	}
}

// rows gives directives for reductions of rows that workgroups share: each invocation takes every so-manieth element.
func (g *gridder) rows() (directives []codegen.Directive) {
	var all, rows affine.RangeSet
	for _, a := range g.g.Axes {
		all = all.Or(g.Facts.Set(a.Range))
	}
	for _, r := range g.reds {
		rows = rows.Or(r.free.And(all))
	}
	list, longest := g.rowReductions(rows)
	if longest < shortRow || g.words() > 1 || g.count(all) >= fewThreads && !g.separate(list, rows) {
		return nil
	}
	n := codegen.Pow2(longest / 2)
	if g.count(rows)*leastLanes >= fewThreads {
		n = min(n, max(codegen.Pow2(longest/rowShare), leastLanes))
	}
	n = min(n, g.sizes.row, g.Target.Limits.Invocations)
	done := map[*uop.UOp]bool{}
	for _, r := range list {
		if done[r.ranges[0]] {
			continue
		}
		for _, x := range r.ranges {
			done[x] = true
		}
		g.share(&directives, r.ranges, n)
	}
	var grid, rest []string
	var cols []*uop.UOp
	for _, a := range g.g.Axes {
		if rows.Has(g.Facts.RangeID(a.Range)) {
			grid = append(grid, a.Name)
		} else {
			cols = append(cols, a.Range)
		}
	}
	if len(cols) > 0 {
		rest = g.share(&directives, cols, n)
	}
	if len(grid)+len(rest) == 0 {
		return directives
	}
	return g.kinds(directives, grid, nil, rest)
}

// share gives each of n invocations a part of some axes, and lists the loops.
func (g *gridder) share(directives *[]codegen.Directive, ranges []*uop.UOp, n int) []string {
	name, all := g.fused(directives, ranges)
	if all <= n {
		*directives = append(*directives, codegen.Directive{Verb: codegen.Lanes, Name: name})
		return []string{name}
	}
	*directives = append(*directives, codegen.Directive{Verb: codegen.Split, Name: name, N: n, Tail: codegen.Guard}, codegen.Directive{Verb: codegen.Lanes, Name: name + ".1"})
	return []string{name + ".1", name + ".0"}
}

// rowReductions are the long reductions of whole rows, and the length of the longest. None if they share some of
// their loops.
func (g *gridder) rowReductions(rows affine.RangeSet) (out []*reduction, longest int) {
	for _, r := range g.reds {
		n := g.count(g.Facts.Set(r.ranges...))
		if !r.free.Within(rows) || n < shortRow {
			continue
		}
		for _, o := range g.reds {
			if a, b := g.Facts.Set(r.ranges...), g.Facts.Set(o.ranges...); !a.Disjoint(b) && !slices.Equal(r.ranges, o.ranges) {
				return nil, 0
			}
		}
		out = append(out, r)
		longest = max(longest, n)
	}
	return out, longest
}

// separate says that every row has elements of its own, which lie next to each other.
func (g *gridder) separate(list []*reduction, rows affine.RangeSet) bool {
	for _, r := range list {
		for _, l := range r.loads {
			if step, ok := g.stride(l, r.ranges[len(r.ranges)-1]); !ok || step > 1 || step == 1 && !rows.Within(l.free) {
				return false
			}
		}
	}
	return true
}

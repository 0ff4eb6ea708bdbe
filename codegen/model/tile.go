package model

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// tiler chooses for nests whose operands are used more than once: blocks of results in registers.
type tiler struct {
	*chooser
	anyOrder    []*access // operands that may lie in any order, see Packings
	wholeBlocks bool      // in blocks of lanes of which none is cut
	unboxed     bool      // nothing is copied into boxes
}

// tiling is a way to hold a block of a reduction's results in registers: u vectors of lanes along one axis, n
// instances along others.
type tiling struct {
	r     *reduction
	v     *uop.UOp // the lanes' axis: of the outputs, or of the reduction when along
	along bool
	lanes int // of one vector
	u     int
	axes  []*uop.UOp
	n     []int
	cost  float64 // cycles
}

func (t *tiling) size(r *uop.UOp) int {
	if i := slices.Index(t.axes, r); i >= 0 {
		return t.n[i]
	}
	return 1
}

// held is how many instances there are along those axes that f accepts.
func (t *tiling) held(f func(a *uop.UOp) bool) int {
	n := 1
	for i, a := range t.axes {
		if f(a) {
			n *= t.n[i]
		}
	}
	return n
}

func every(*uop.UOp) bool { return true }

// reused is the reduction in which most is computed from operands that are used more than once: some operand
// does not depend on one axis of the results, another not on another one.
func (c *view) reused() *reduction {
	var best *reduction
	for _, r := range c.reds {
		if c.nested(r) || r.work < 4096 || best != nil && r.work <= best.work || c.shared(r) {
			continue
		}
		partial := 0
		c.axesOf(r, func(a *uop.UOp) {
			if slices.ContainsFunc(r.loads, func(l *access) bool { return !c.depends(l, a) && !l.free.Disjoint(c.Facts.Set(r.ranges...)) }) {
				partial++
			}
		})
		if partial > 0 && len(r.loads) > 1 {
			best = r
		}
	}
	return best
}

// bestTiling is the one that costs least.
func (c *tiler) bestTiling(r *reduction) (best *tiling) {
	c.tilings(r, func(t *tiling) {
		if best == nil || t.cost < best.cost {
			best = t
		}
	})
	return best
}

// tilings calls f with lanes along each axis, with one or two axes of instances.
func (c *tiler) tilings(r *reduction, f func(t *tiling)) {
	var axes []*uop.UOp
	c.axesOf(r, func(a *uop.UOp) { axes = append(axes, a) })
	try := func(v *uop.UOp, along bool) {
		w := min(c.width(), codegen.Pow2(codegen.Extent(v)))
		for _, lanes := range []int{w, w / 2, w / 4} {
			if lanes < 2 {
				break
			}
			for u := 1; u <= 4 && u*lanes <= max(codegen.Extent(v), lanes); u++ {
				if lanes < w && u > 1 || (c.fixed || c.inBlocks(v)) && !along && codegen.Extent(v)%(lanes*u) != 0 {
					continue
				}
				c.instances(axes, v, u, func(a []*uop.UOp, n []int) {
					t := &tiling{r: r, v: v, along: along, lanes: lanes, u: u, axes: a, n: n}
					t.cost = c.tileCost(t)
					f(t)
				})
			}
		}
	}
	for _, v := range axes {
		if c.mayVector(v) {
			try(v, false)
		}
	}
	for _, x := range r.ranges {
		if c.contiguous(r, x) && c.Owners(x) == 1 {
			try(x, true)
		}
	}
}

// instances lists ways to choose instances that leave room in the registers for u vectors each.
func (c *tiler) instances(axes []*uop.UOp, v *uop.UOp, u int, f func(a []*uop.UOp, n []int)) {
	room := (c.Target.Registers - u - 2) / u
	if u > 1 && c.Target.LongSteps { // one result may be kept in memory
		room = (c.Target.Registers - u) / u
	}
	f(nil, nil)
	for i, a := range axes {
		if a == v {
			continue
		}
		for n := 2; n <= min(room, codegen.Extent(a)); n++ {
			if c.fixed && codegen.Extent(a)%n != 0 {
				continue
			}
			f([]*uop.UOp{a}, []int{n})
			for _, b := range axes[i+1:] {
				for m := 2; b != v && n <= 12 && m <= min(room/n, codegen.Extent(b), 12); m++ {
					if !c.fixed || codegen.Extent(b)%m == 0 {
						f([]*uop.UOp{a, b}, []int{n, m})
					}
				}
			}
		}
	}
}

// lineCycles is what a cache line from the second cache takes where a target does not say.
const lineCycles = 1.5

// farLine is how much longer one from beyond the second cache takes.
const farLine = 3

// tileCost estimates the cycles of a nest on one core that starts two loads and two multiply-adds a cycle.
func (c *tiler) tileCost(t *tiling) float64 {
	inst, blocks := 1, 1.0
	if c.row != nil { // in each of its iterations
		blocks = float64(codegen.Extent(c.row.Range))
	}
	c.axesOf(t.r, func(a *uop.UOp) {
		n := t.size(a)
		if a == t.v {
			n = t.lanes * t.u
		}
		if a != t.v {
			inst *= n
		}
		blocks *= float64(codegen.CeilDiv(codegen.Extent(a), n))
	})
	words, dots := c.dottable(t)
	steps, word := 1.0, 1 // steps in a word
	for _, x := range t.r.ranges {
		all := codegen.Extent(x)
		if x == words {
			word = dots.N
			all = codegen.CeilDiv(all, word)
		}
		if x == t.v { // the rest is done one by one
			n := t.lanes * t.u
			rest, lanes := c.restSteps(all % n)
			if lanes && len(t.r.ranges) > 1 { // lanes are folded once, after all steps
				rest -= foldSteps
			}
			steps *= float64(all/n) + rest
			continue
		}
		steps *= float64(all)
	}
	fma := float64(t.u * inst)
	again := c.Target.SplitLoads && t.u*inst+c.operands(t) > c.Target.Registers // each multiply-add loads its vector
	loads, far, apart, extra := 0.0, 0.0, 0.0, 0.0                              // far: cache lines that instances' operands lie in
	lines, line := 0.0, cmp.Or(c.Target.LineCycles, lineCycles)                 // of lanes, from the second cache
	for _, l := range t.r.loads {
		n, rows := t.held(c.along(l)), t.held(func(a *uop.UOp) bool {
			s, _ := c.stride(l, a)
			return c.depends(l, a) && codegen.Abs(s)*l.bytes > 32
		})
		if !c.depends(l, t.v) {
			loads += float64(n)
			if (l.wide != nil || l.factors != nil) && l.plain && !l.gated && !c.readInWords(t, l, words, dots) {
				extra += c.widenCost(t, l)
				continue
			}
			far += float64(rows)
			if !c.gathered(t, l) {
				apart += c.pageCost(l, t.r)
			}
			continue
		}
		x, pack := c.laneLoad(t, l)
		if again {
			loads += fma * x
		} else {
			loads += float64(n*t.u) * x
		}
		far += float64(rows - 1) // rows of lanes are read side by side
		extra += pack
		read := float64(n * t.u * t.lanes * l.bytes * word)
		switch all := c.count(l.free) * l.bytes; {
		case t.along && all > c.Target.L2: // another block's rows are elsewhere
			lines += read / codegen.CacheLine * farLine
		case read*steps > float64(c.Target.L1) || t.along && all > c.Target.L1:
			lines += read / codegen.CacheLine
		}
	}
	step := max(fma/2, loads/2, (fma+loads)/5, line*lines, 4) + 0.7 + 0.1*far + apart + 0.01*loads
	if t.along && words == nil {
		ops := c.unpacked(t)
		if step = max(step, ops/2+0.7+0.1*far); c.Target.WholeRows > 0 {
			step += c.partLines(t)
		}
		if over := t.u*inst + unpackRegisters - c.Target.Registers; ops > 0 && over > 0 {
			step += spillCycles * float64(over)
		}
	}
	if over := t.u*inst + c.passing(t) - c.Target.Registers; over > 0 && (t.u > 1 || c.Target.HoldsLoads) && !again {
		if c.Target.LongSteps && over == 1 {
			step += longSpillCycles
		} else {
			step += spillCycles * float64(over)
		}
	}
	cost := blocks*steps*step + extra
	if t.along {
		return cost + blocks*c.foldCost(t, float64(inst)) + c.after(t.r, nil)
	}
	return cost + blocks*fma*2 + c.storeCost(t) + c.after(t.r, t)
}

// after is what is computed of the reduction's results, in the lanes of a tiling or (nil) one by one.
func (c *tiler) after(r *reduction, t *tiling) (cost float64) {
	steps := c.Facts.Set(r.ranges...)
	for _, u := range c.nodes {
		free := c.Facts.FreeRanges(u)
		x := codegen.Weight(u)
		if x == 0 || !free.Disjoint(steps) {
			continue
		}
		n := float64(c.count(free))
		if t != nil && free.Has(c.Facts.RangeID(t.v)) {
			n /= float64(t.lanes)
		}
		cost += x * n
	}
	return cost
}

// unpackRegisters hold what is unpacked, and the masks for it.
const unpackRegisters = 6

// unpacked is how many operations a step computes before it multiplies and adds, as those that take numbers out of words.
func (c *tiler) unpacked(t *tiling) (ops float64) {
	parts, _ := codegen.ReduceParts(t.r.u)
	uop.Walk(parts, func(u *uop.UOp) bool { return u.Op() == uop.Reduce }, func(u *uop.UOp) {
		over := func(a *uop.UOp) bool { return c.Facts.FreeRanges(u).Has(c.Facts.RangeID(a)) }
		if over(t.v) && !(u == parts[0] && u.Op() == uop.Mul) {
			ops += float64(t.u*t.held(over)) * codegen.Weight(u)
		}
	})
	return ops
}

// partLines is what it takes to read rows of narrow elements side by side, once each: a step leaves a part of each line to the next ones,
// and memory gives several streams at a time.
func (c *tiler) partLines(t *tiling) (cost float64) {
	for _, l := range t.r.loads {
		if !c.depends(l, t.v) || t.u*t.lanes*l.bytes >= codegen.CacheLine || c.reuse(t.r, l) > 1 {
			continue
		}
		cost += partLine * float64(t.held(c.along(l))-1)
	}
	return cost
}

// partLine is that of a row, in cycles.
const partLine = 6

// boxed says that a reduction's operand is copied into boxes, in which what a block of results needs lies together: if it is gated, or windowed.
func (c *tiler) boxed(r *reduction, l *access, windowed bool) bool {
	return !c.unboxed && (l.gated || windowed) && c.boxable(l) && c.reuse(r, l) >= 2
}

// gathered says that the pages of an operand that lanes share cost nothing: it is copied into boxes, where they lie together, and the other operand is
// read in the order in which it lies, so that results are not carried from part to part for the sake of a panel of it.
func (c *tiler) gathered(t *tiling, l *access) bool {
	return c.Target.LineCycles > 0 && c.boxed(t.r, l, false) && slices.ContainsFunc(t.r.loads, func(x *access) bool {
		return c.depends(x, t.v) && (c.dense(x, t.v) || slices.Contains(c.anyOrder, x))
	})
}

// operands is how many registers hold operands beside the results: instances follow each other in the order of the axes, so that
// what does not depend on the first one is kept for all of its instances.
func (c *tiler) operands(t *tiling) int {
	if t.along || len(t.axes) == 0 {
		return 1 + t.u
	}
	first, kept := t.axes[0], 1 // one passes
	for _, l := range t.r.loads {
		n := t.held(func(a *uop.UOp) bool { return a != first && c.depends(l, a) })
		if c.depends(l, t.v) {
			n *= t.u
		}
		switch {
		case !c.depends(l, first):
			kept += n
		case c.Target.HoldsLoads && c.overlaps(t, l, first):
			kept += n*t.n[0] - 1
		}
	}
	return kept
}

// overlaps says that what an instance along an axis reads, its neighbour reads in the next step: whoever finds the same load twice in steps that are written
// one after the other keeps what it gave.
func (c *tiler) overlaps(t *tiling, l *access, axis *uop.UOp) bool {
	s, ok := c.stride(l, axis)
	by, same := c.stride(l, t.r.ranges[len(t.r.ranges)-1])
	return ok && same && s != 0 && codegen.Abs(s) == codegen.Abs(by)
}

// spillCycles is what a step waits for each result that is kept in memory because there are too few registers; longSpillCycles is what one of
// them takes in steps that are longer than the way through memory (Target.LongSteps).
const spillCycles, longSpillCycles = 6, 0.25

// passing is operands where each vector of lanes that several instances use is held until they have.
func (c *tiler) passing(t *tiling) int {
	n := c.operands(t)
	if t.along || len(t.axes) < 2 {
		return n
	}
	if slices.ContainsFunc(t.r.loads, func(l *access) bool {
		return c.depends(l, t.v) && c.depends(l, t.axes[0]) && !c.depends(l, t.axes[1])
	}) {
		n += t.u - 1
	}
	return n
}

// laneLoad is the cost of loading an operand's lanes, and of bringing it into order first.
func (c *tiler) laneLoad(t *tiling, l *access) (load, pack float64) {
	s, ok := c.stride(l, t.v)
	elements := float64(c.count(l.free))
	if ops := c.widening(l); ops > 0 {
		own := *l
		own.wide = nil
		load, pack = c.laneLoad(t, &own)
		if lanes := float64(t.lanes); pack == 0 && ok && s == 1 && t.r.work >= 2*t.held(func(a *uop.UOp) bool { return !c.depends(l, a) })*int(elements) && !t.along {
			pack = elements * (stageDense + ops/lanes) // widened once, where it is staged
		} else if pack == 0 {
			load += ops / 2
		} else {
			pack += elements * ops
		}
		return load, pack
	}
	switch reuse := float64(t.r.work) / elements; {
	case slices.Contains(c.anyOrder, l) || c.ofWords(t, l):
		return 1, 0
	case !ok || !l.plain:
		return 1.5 * float64(t.lanes), 0
	case s == 1 && l.gated && t.along:
		return 1.5, 0
	case s == 1 && l.gated:
		return 1, elements * 0.3
	case s == 1:
		return c.crossing(t, l), 0
	case t.along || reuse < 3*float64(t.lanes)/float64(c.width()):
		if c.Target.Turns && codegen.Abs(s) <= t.lanes/2 { // whole vectors, each in two lines of the cache, are brought together
			return 4 * float64(codegen.Abs(s)), 0
		}
		return 1.5 * float64(t.lanes), 0
	default:
		return 1, elements * c.packing(t, l)
	}
}

// packing is what it takes to bring an element of an operand whose lanes lie apart into their order.
func (c *tiler) packing(t *tiling, l *access) float64 {
	words, d := c.dottable(t)
	switch {
	case !c.turnsPack(t, l, words):
		return 1.6
	case words != nil:
		return packTurned / float64(d.N)
	}
	return packTurned
}

// packTurned is that of a word that is turned with others in registers.
const packTurned = 0.5

// crossing is how many cache lines a vector of an operand touches: lanes that begin anywhere lie in two of them now and then.
func (c *tiler) crossing(t *tiling, l *access) float64 {
	if !c.Target.SplitLoads {
		return 1
	}
	for _, x := range l.index.Terms {
		if x.Node != t.v && x.Coef%t.lanes != 0 {
			return 1 + float64(t.lanes*l.bytes)/64
		}
	}
	return 1
}

// crowded says that n lines so many bytes apart want more places of the first cache than they share: where a line may lie is fixed by where in
// a page it begins, and there are as many such places as the cache has pages. Each line is gone when its next element is stored.
func (c *tiler) crowded(apart, n int) bool {
	share := pageBytes
	for apart%share != 0 {
		share /= 2
	}
	return share >= 64 && n*share > c.Target.L1
}

// crowdedCycles is what a store takes whose line is no longer in the first cache.
const crowdedCycles = 6

// turnedCycles is what it takes to store neighbours of a lane that are turned in registers, turnedCycle what comes to that for each of them. If
// crowdedRows lanes are crowded, crowdedCycles come to that.
const turnedCycles, turnedCycle, crowdedRows = 3, 0.4, 32

// leastNeighbours are turned.
const leastNeighbours = 6

// neighbours is how many results that are neighbours a lane stores, and how many of them one by one, where others are turned in registers.
func (c *tiler) neighbours(t *tiling, a *access) (all, single float64) {
	i := slices.IndexFunc(t.axes, func(x *uop.UOp) bool { return c.dense(a, x) })
	if i < 0 || t.n[i] < leastNeighbours || a.bytes > 4 || !c.turnsStores(t) {
		return 1, 1
	}
	return float64(t.n[i]), float64(t.n[i] % (4 / a.bytes)) // words are turned
}

// storeCost is what stores, and loads outside of the reduction, cost with these lanes.
func (c *tiler) storeCost(t *tiling) float64 {
	cost := 0.0
	for _, a := range c.outs {
		n := float64(c.count(a.over))
		s, ok := c.stride(a, t.v)
		if ok && s == 1 {
			cost += n / float64(t.lanes)
			continue
		}
		one, block := 1.2, float64(turnedCycles)
		if ok && c.crowded(codegen.Abs(s)*a.bytes, t.lanes*t.u) {
			one, block = crowdedCycles, block+crowdedCycles*float64(t.lanes*t.u)/crowdedRows
		}
		if all, single := c.neighbours(t, a); all > single {
			cost += n / all * (block + turnedCycle*all + one*single)
		} else {
			cost += n * one
		}
	}
	for _, l := range c.loads {
		if !slices.Contains(t.r.loads, l) && c.depends(l, t.v) && !c.dense(l, t.v) {
			cost += float64(c.count(l.free)) * 1.2
		}
	}
	return cost
}

// tiles gives directives for a nest whose operands are used more than once: a block of results in registers, the
// operands staged so that what is read again and again lies together.
func (c *tiler) tiles() []codegen.Directive {
	p := c.tiled()
	if p == nil {
		return nil
	}
	words, dots := c.dottable(p.t)
	if words != nil {
		if directives := c.arranged(p.t, words, dots); c.legal(directives) {
			return directives
		}
	}
	directives := c.arranged(p.t, nil, nil)
	if c.unboxed || c.legal(directives) {
		return directives
	}
	c.unboxed = true // as what an operand is read under may depend on more than where it is read
	return c.tiles()
}

// arranged are the directives of a tiling, with steps in words or without.
func (c *tiler) arranged(t *tiling, words *uop.UOp, dots *nest.Dotted) []codegen.Directive {
	p := &arranger{tiler: c, t: t, words: words, dots: dots}
	for _, f := range c.Finite { // loads are named before anything is split
		p.out = append(p.out, codegen.Directive{Verb: codegen.Finite, Name: f.Name})
	}
	if words != nil {
		p.out = append(p.out, codegen.Directive{Verb: codegen.Dot, Name: c.name(words), N: dots.N})
	}
	return p.broaden(p.directives())
}

// tiled gives the best tiling of the nest, if there is any.
func (c *tiler) tiled() *arranger {
	r := c.reused()
	if r == nil || c.anyLength() {
		return nil
	}
	t := c.bestTiling(r)
	if t == nil || t.along && len(c.reds) > 1 || !(t.cost < math.MaxFloat64) || c.flows(t) {
		return nil
	}
	return &arranger{tiler: c, t: t}
}

// flows says that lanes along the reduction are cheaper than a tiling which reads, lane by lane, what lies densely along the reduction
// and is used once: a block of results in registers has nothing to give for that.
func (c *tiler) flows(t *tiling) bool {
	if t.along || len(c.g.Axes) == 0 {
		return false
	}
	over := t.r.free.Or(c.Facts.Set(t.r.ranges...))
	return slices.ContainsFunc(t.r.loads, func(l *access) bool {
		return over.Within(l.free) && !c.dense(l, t.v) && slices.ContainsFunc(t.r.ranges, func(x *uop.UOp) bool {
			return c.dense(l, x) && codegen.Extent(x) >= c.width()
		})
	}) && c.laneSet(nil).cost() < t.cost-c.after(t.r, t)+c.laneSet(t.v).arithmetic(t.r)
}

// foldCost is what it takes to fold the lanes of a block's sums. Where blocks are of many, as with LongSteps, they are folded beside each other.
func (c *tiler) foldCost(t *tiling, sums float64) float64 {
	if c.Target.LongSteps {
		return sums * (7 + float64(t.u))
	}
	return sums * (10 + 4*float64(t.u))
}

package model

import (
	"math/bits"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/uop"
)

// laneSet is which ranges run in lanes, and in how many at once.
type laneSet struct {
	*view
	vector affine.RangeSet
	w      map[int]float64
}

// laneSet are lanes along an axis of outputs (nil: none), and along reductions that lie outside of them.
func (c *view) laneSet(lanes *uop.UOp) *laneSet {
	l := &laneSet{view: c, w: map[int]float64{}}
	if lanes != nil {
		n := codegen.Extent(lanes)
		if !c.anyLength() {
			n = codegen.Pow2(n)
		}
		l.add(lanes, n)
	}
	for _, r := range c.reds {
		if x, n := c.sumLanes(r, lanes); n > 1 {
			l.add(x, n)
		}
	}
	return l
}

// sumLanes is the axis along which a reduction goes in lanes, and in how many at once: 1 where it lies inside of those of the outputs, or gains nothing.
func (c *view) sumLanes(r *reduction, lanes *uop.UOp) (axis *uop.UOp, n int) {
	if lanes != nil && r.free.Has(c.Facts.RangeID(lanes)) || c.nested(r) {
		return nil, 1
	}
	if axis = c.laneAxis(r); axis == nil {
		return nil, 1
	}
	return axis, c.reducedAtOnce(codegen.Extent(axis))
}

func (l *laneSet) add(r *uop.UOp, n int) {
	id := l.Facts.RangeID(r)
	l.vector = l.vector.With(id)
	l.w[id] = float64(min(l.width(), n))
}

// by is how many evaluations of something over these ranges are one instruction.
func (l *laneSet) by(s affine.RangeSet) float64 {
	f := 1.0
	s.And(l.vector).Each(func(i int) { f = max(f, l.w[i]) })
	return f
}

// Lines that are a multiple of cacheWay bytes apart share the cacheWays places of one set of the nearest cache.
const cacheWay, cacheWays = 4 << 10, 8

// oneSet says that lanes a stride apart push each other out of the nearest cache before their neighbours are used, unless these can be used at once.
func (l *laneSet) oneSet(a *access, stride int) bool {
	return stride*a.bytes%cacheWay == 0 && (a.u == nil || !slices.ContainsFunc(l.g.Axes, func(x *nest.Axis) bool {
		s, ok := l.stride(a, x.Range)
		return ok && s == 1
	}))
}

// pushedOut says that a reduction goes through an array in steps of which more than a few lie in one set of the nearest cache, and that what stands beside an
// element is asked for only when the next result is computed: it has to come from the second cache again.
func (l *laneSet) pushedOut(a *access) bool {
	if a.u == nil || l.by(a.over) > 1 {
		return false
	}
	far := false
	for _, r := range l.reds {
		for _, x := range r.ranges {
			s, ok := l.stride(a, x)
			if ok && s == 1 {
				return false
			}
			far = far || ok && s != 0 && s*a.bytes%cacheWay == 0 && codegen.Extent(x) > cacheWays
		}
	}
	return far && slices.ContainsFunc(l.g.Axes, func(x *nest.Axis) bool {
		s, ok := l.stride(a, x.Range)
		return ok && s == 1
	})
}

// turnStep is what loading a vector, or a step of turning it with others, costs.
const turnStep = 1.4

// leastTurned is how many rows are worth turning for a reduction that could go in lanes instead.
const leastTurned = 16

// turning is what an element of a row costs where lanes are rows so far apart, of which a reduction reads few neighbours: they are turned in
// registers, a block of as many rows as lanes at a time. 0 where they are not, or where folding the lanes of one row takes no longer.
func (l *laneSet) turning(a *access, apart int) float64 {
	if !l.Target.Turns || a.u == nil || a.bytes < 4 || l.width() < leastTurned {
		return 0
	}
	for _, r := range l.reds {
		if len(r.ranges) != 1 || mergedAtOnce(r) {
			continue
		}
		x := r.ranges[0]
		if n := codegen.Extent(x); l.dense(a, x) && !l.vector.Has(l.Facts.RangeID(x)) && n >= 4 && n <= 32 && n <= apart {
			return turnStep * float64(codegen.CeilDiv(n, l.width())*bits.Len(uint(l.width()))) / float64(n)
		}
	}
	return 0
}

// mergedAtOnce says that an instruction merges two partial results, so that lanes are folded in few steps. Maxima of floats look for NaN besides, and
// others have several parts.
func mergedAtOnce(r *reduction) bool {
	switch r.u.Arg().(uop.ReduceArg).Monoid {
	case uop.Sum, uop.Prod:
		return true
	case uop.MaxOf:
		return !r.u.DType().IsFloat()
	}
	return false
}

// access is the cost of loads or stores.
func (l *laneSet) access(a *access) float64 {
	n, f := float64(l.count(a.over)), l.by(a.over)
	gather, anywhere, near := false, false, 0 // near: how many vectors hold the lanes of one
	a.over.And(l.vector).Each(func(i int) {
		s, ok := l.stride(a, l.Facts.Ranges[i])
		gather, anywhere, near = gather || !ok || s != 1 && s != 0, anywhere || !ok, max(near, codegen.Abs(s))
	})
	gated := a.gated && !l.Facts.FreeRanges(a.u.At(1)).Disjoint(l.vector)
	switch {
	case l.Target.Turns && a.u != nil && gather && !anywhere && float64(near) <= f/2:
		return n * 2 * float64(near) / f
	case anywhere && a.u != nil && codegen.LooksUp(a.u) != nil:
		return n * float64(l.Target.Lookup) / float64(l.width())
	case anywhere && gated: // lane by lane, each with its place and its condition
		return n * 6
	case anywhere:
		return n * 2.5
	case gather && f > cacheWays/2 && l.oneSet(a, near):
		return n * 6
	case gather:
		if turned := l.turning(a, near); turned > 0 && !gated {
			return n * min(turned, 1.5)
		}
		return n * 1.5
	case gated:
		return n * 3 / f
	case l.pushedOut(a):
		return n * 4
	}
	return n / f
}

// laneAxis is the axis of a reduction along which its loads are contiguous, or nil.
func (c *view) laneAxis(r *reduction) *uop.UOp {
	var best *uop.UOp
	most := 0
	for _, x := range r.ranges {
		if codegen.Extent(x) < 4 {
			continue
		}
		score := 1
		for _, a := range r.loads {
			switch {
			case !c.depends(a, x):
			case c.dense(a, x):
				score += 4
			default:
				score -= 4
			}
		}
		if score > most || score == most && best != nil && codegen.Extent(x) > codegen.Extent(best) {
			best, most = x, score
		}
	}
	return best
}

// reducedAtOnce is how many of n neighbours are reduced in lanes, 1 where that takes as many steps as one by one.
func (c *view) reducedAtOnce(n int) int {
	if c.anyLength() {
		return n
	}
	best, least := 1, float64(n)
	for l := 4 * c.width(); l >= 2; l /= 2 {
		if l > n {
			continue
		}
		rest, _ := c.restSteps(n % l)
		steps := float64(n/l)*float64(max(1, l/c.width())) + rest + 8
		if n/l > 8 && l < 4*c.width() { // one accumulator waits for itself
			steps += float64(n / l * 2)
		}
		if steps < least {
			best, least = l, steps
		}
	}
	return best
}

// foldSteps is how many steps it takes to fold the lanes of a rest beside those before.
const foldSteps = 4

// restSteps is how many steps the rest of a peeled reduction takes, and whether it is done in lanes. One by one, each waits for the one before.
func (c *view) restSteps(n int) (steps float64, lanes bool) {
	single := 2 * float64(n)
	if n < 2 {
		return single, false
	}
	w := c.width()
	steps = float64(codegen.CeilDiv(n, w)) * 2
	if !c.Target.Masks {
		for n%w > 0 {
			w /= 2
		}
		steps = float64(n / w)
	}
	if steps += foldSteps; steps > single {
		return single, false
	}
	return steps, true
}

// cost estimates the instructions of the nest with these lanes.
func (l *laneSet) cost() float64 {
	if l.anyLength() {
		return l.anyCost()
	}
	cost := l.arithmetic(nil)
	for _, r := range l.reds {
		if !l.Facts.Set(r.ranges...).Disjoint(l.vector) {
			cost += l.folding(r) * float64(l.count(r.free))
		}
	}
	for _, a := range slices.Concat(l.loads, l.outs) {
		cost += l.access(a)
	}
	return cost
}

// folding is what it takes to fold the lanes of a reduction: in each step half of them, in all parts, are moved beside the others and merged.
func (l *laneSet) folding(r *reduction) float64 {
	const least = 12
	parts, _ := codegen.ReduceParts(r.u)
	if len(parts) == 1 {
		return least
	}
	var sides [2][]*uop.UOp
	for i, x := range parts {
		for k := range sides {
			sides[k] = append(sides[k], l.Table.Make(uop.Reg, x.DType(), uop.RegArg{ID: 2*i + k}))
		}
	}
	step := float64(len(parts))
	for _, u := range uop.Topo(r.u.Arg().(uop.ReduceArg).Monoid.Info().Merge(sides[0], sides[1])...) {
		step += codegen.Weight(u)
	}
	return max(least, step*float64(bits.Len(uint(l.width()))-1))
}

// arithmetic is what the nest computes, but for the steps of one reduction.
func (l *laneSet) arithmetic(but *reduction) (cost float64) {
	for _, u := range l.nodes {
		if x := codegen.Weight(u); x > 0 {
			free := l.Facts.FreeRanges(u)
			cost += x * float64(l.count(free)) / l.by(free)
		}
	}
	for _, r := range l.reds {
		if r != but {
			cost += float64(r.work) / l.by(r.free.Or(l.Facts.Set(r.ranges...)))
		}
	}
	return cost
}

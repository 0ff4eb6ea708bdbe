package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// laneSet is which ranges run in lanes, and in how many at once.
type laneSet struct {
	*chooser
	vector rangeSet
	w      map[int]float64
}

func (c *chooser) laneSet(lanes *uop.UOp) *laneSet {
	l := &laneSet{chooser: c, w: map[int]float64{}}
	if lanes != nil {
		l.add(lanes, pow2(extent(lanes)))
	}
	for _, r := range c.reds {
		if lanes != nil && r.free.has(c.facts.rangeID(lanes)) || c.nested(r) {
			continue
		}
		if x := c.laneAxis(r); x != nil {
			if n := c.reducedAtOnce(extent(x)); n > 1 || c.anyLength() {
				l.add(x, n)
			}
		}
	}
	return l
}

func (l *laneSet) add(r *uop.UOp, n int) {
	id := l.facts.rangeID(r)
	l.vector = l.vector.with(id)
	l.w[id] = float64(min(l.width(), n))
	if l.anyLength() {
		l.w[id] = float64(min(l.width(), extent(r)))
	}
}

// by is how many evaluations of something over these ranges are one instruction.
func (l *laneSet) by(s rangeSet) float64 {
	f := 1.0
	s.and(l.vector).each(func(i int) { f = max(f, l.w[i]) })
	return f
}

// Lines that are a multiple of cacheWay bytes apart share the cacheWays places of one set of the nearest cache.
const cacheWay, cacheWays = 4 << 10, 8

// oneSet says that lanes a stride apart push each other out of the nearest cache before their neighbours are used, unless these can be used at once.
func (l *laneSet) oneSet(a *access, stride int) bool {
	return stride*a.bytes%cacheWay == 0 && (a.u == nil || !slices.ContainsFunc(l.g.axes, func(x *axis) bool {
		s, ok := l.stride(a, x.r)
		return ok && s == 1
	}))
}

// access is the cost of loads or stores, done once for each of the ranges.
func (l *laneSet) access(a *access, free rangeSet) float64 {
	n, f := float64(l.count(free)), l.by(free)
	gather, anywhere := false, false
	free.and(l.vector).each(func(i int) {
		s, ok := l.stride(a, l.facts.ranges[i])
		gather, anywhere = gather || !ok || s != 1 && s != 0, anywhere || !ok
	})
	near, lanes := 0, false // how many vectors hold the lanes of one
	free.and(l.vector).each(func(i int) {
		s, _ := l.stride(a, l.facts.ranges[i])
		near, lanes = max(near, abs(s)), true
	})
	if l.target.Turns && a.u != nil && lanes && !anywhere && gather && near > 0 && float64(near) <= f/2 {
		return n * 2 * float64(near) / f
	}
	gated := a.gated && !l.facts.freeRanges(a.u.At(1)).disjoint(l.vector)
	switch {
	case anywhere && gated && !l.anyLength(): // lane by lane, each with its place and its condition
		return n * 5
	case anywhere && !l.anyLength():
		return n * 2.5
	case gather && !l.anyLength() && f > cacheWays/2 && l.oneSet(a, near):
		return n * 6
	case gather && !l.anyLength():
		return n * 1.5
	case gated:
		return n * 3 / f
	}
	return n / f
}

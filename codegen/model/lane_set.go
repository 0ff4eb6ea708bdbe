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
	*chooser
	vector affine.RangeSet
	w      map[int]float64
}

func (c *chooser) laneSet(lanes *uop.UOp) *laneSet {
	l := &laneSet{chooser: c, w: map[int]float64{}}
	if lanes != nil {
		l.add(lanes, codegen.Pow2(codegen.Extent(lanes)))
	}
	for _, r := range c.reds {
		if lanes != nil && r.free.Has(c.Facts.RangeID(lanes)) || c.nested(r) {
			continue
		}
		if x := c.laneAxis(r); x != nil {
			if n := c.reducedAtOnce(codegen.Extent(x)); n > 1 || c.anyLength() {
				l.add(x, n)
			}
		}
	}
	return l
}

func (l *laneSet) add(r *uop.UOp, n int) {
	id := l.Facts.RangeID(r)
	l.vector = l.vector.With(id)
	l.w[id] = float64(min(l.width(), n))
	if l.anyLength() {
		l.w[id] = float64(min(l.width(), codegen.Extent(r)))
	}
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

// access is the cost of loads or stores, done once for each of the ranges.
func (l *laneSet) access(a *access, free affine.RangeSet) float64 {
	n, f := float64(l.count(free)), l.by(free)
	gather, anywhere := false, false
	free.And(l.vector).Each(func(i int) {
		s, ok := l.stride(a, l.Facts.Ranges[i])
		gather, anywhere = gather || !ok || s != 1 && s != 0, anywhere || !ok
	})
	near, lanes := 0, false // how many vectors hold the lanes of one
	free.And(l.vector).Each(func(i int) {
		s, _ := l.stride(a, l.Facts.Ranges[i])
		near, lanes = max(near, codegen.Abs(s)), true
	})
	if l.Target.Turns && a.u != nil && lanes && !anywhere && gather && near > 0 && float64(near) <= f/2 {
		return n * 2 * float64(near) / f
	}
	gated := a.gated && !l.Facts.FreeRanges(a.u.At(1)).Disjoint(l.vector)
	switch {
	case anywhere && gated && !l.anyLength(): // lane by lane, each with its place and its condition
		return n * 5
	case anywhere && !l.anyLength():
		return n * 2.5
	case gather && !l.anyLength() && f > cacheWays/2 && l.oneSet(a, near):
		return n * 6
	case gather && !l.anyLength():
		if turned := l.turning(a, near); turned > 0 && !gated {
			return n * min(turned, 1.5)
		}
		return n * 1.5
	case gated:
		return n * 3 / f
	}
	return n / f
}

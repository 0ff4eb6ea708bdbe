package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
)

// Machines with vectors of any length are interpreters: starting an instruction costs as much as many lanes. So
// lanes belong on a long axis, where few instructions have lanes at all: gates that differ between them cost most.

// Nanoseconds to start an instruction, and of each lane: densely, or apart; instructions that find out where a gate
// holds.
const (
	startCost    = 15
	denseCost    = 0.5
	stridedCost  = 1
	gateInstrs   = 5
	divideInstrs = 4
)

// anyCost estimates the nest's time, in units of the machine's longest vectors.
func (l *laneSet) anyCost() float64 {
	cost := 0.0
	var inside []*access
	for _, r := range l.reds {
		own := l.Facts.Set(r.ranges...)
		over := r.free.Or(own)
		cost += l.instrs(over, over, denseCost, 1)
		if !own.Disjoint(l.vector) { // folding lanes
			cost += startCost * 12 * float64(l.count(r.free))
		}
		for _, a := range r.loads {
			cost += l.anyAccess(a, over)
		}
		inside = append(inside, r.loads...)
	}
	for _, u := range l.nodes {
		if x := codegen.Weight(u); x > 0 {
			free := l.Facts.FreeRanges(u)
			cost += l.instrs(free, free, denseCost, x)
		}
	}
	for _, a := range slices.Concat(l.loads, l.outs) {
		if !slices.Contains(inside, a) {
			cost += l.anyAccess(a, a.over)
		}
	}
	return cost / float64(l.width())
}

// instrs is the cost of n instructions done for all of over, in lanes where they depend on an axis of lanes.
func (l *laneSet) instrs(over, depends affine.RangeSet, each, n float64) float64 {
	f := l.by(over)
	cost := float64(startCost)
	if !depends.Disjoint(l.vector) {
		cost += each * f
	}
	return n * cost * float64(l.count(over)) / f
}

// anyAccess is the cost of a load or store done for all of over.
func (l *laneSet) anyAccess(a *access, over affine.RangeSet) float64 {
	each := denseCost
	a.free.And(l.vector).Each(func(i int) {
		if !l.dense(a, l.Facts.Ranges[i]) {
			each = stridedCost
		}
	})
	cost := l.instrs(over, a.free, each, 1)
	if !a.plain {
		cost += l.instrs(over, a.free, 2*denseCost, divideInstrs)
	}
	if a.gated {
		cost += l.instrs(over, l.Facts.FreeRanges(a.u.At(1)), 2*denseCost, gateInstrs)
	}
	return cost
}

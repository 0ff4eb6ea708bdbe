package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/uop"
)

// streamer chooses for nests in which little is used twice.
type streamer struct {
	*chooser
	lanes int // that an axis of outputs gets; 0: as many as streamLanes says
}

// stream gives directives for nests in which little is used twice: what counts is that lanes run along contiguous
// memory. Lanes are an axis of the outputs, or the axes of reductions, or both where a reduction is finished
// before the lanes of the outputs begin.
func (c *streamer) stream() []codegen.Directive {
	if len(c.g.Axes) == 0 && len(c.reds) == 0 {
		return nil
	}
	best, least := (*uop.UOp)(nil), c.laneSet(nil).cost()
	for _, a := range c.g.Axes {
		if codegen.Extent(a.Range) < 4 || !c.mayVector(a.Range) {
			continue
		}
		if cost := c.laneSet(a.Range).cost(); cost <= least {
			best, least = a.Range, cost
		}
	}
	if directives := c.sweeps(best); directives != nil && c.legal(directives) {
		return directives
	}
	return c.streamAlong(best, least)
}

// streamAlong gives the directives with lanes along an axis of outputs (nil: none), with which the nest takes so long.
func (c *streamer) streamAlong(best *uop.UOp, cost float64) []codegen.Directive {
	var directives []codegen.Directive
	var order []string
	sizes := map[string]int{}
	var inner []string // the lanes last
	other, between := c.acrossLines(best), c.between(best)
	for _, a := range c.g.Axes {
		n, lanes := codegen.Extent(a.Range), lineBlock
		switch a.Range {
		case best:
			lanes = c.streamLanes(a.Range)
		case between:
			lanes = n
		case other:
		default:
			order = append(order, a.Name)
			sizes[a.Name] = n
			continue
		}
		outer, in := c.cut(&directives, a.Name, n, lanes)
		if a.Range == best {
			inner = append(inner, in)
			directives = append(directives, codegen.Directive{Verb: codegen.Vectors, Name: in})
		} else {
			if a.Range == between || c.turns(best) && len(c.nodes) < 2*fewNodes { // more would be much text, of which little is turning
				directives = append(directives, codegen.Directive{Verb: codegen.Tiles, Name: in})
			}
			inner = append([]string{in}, inner...)
		}
		if outer != "" {
			order = append(order, outer)
			sizes[outer] = codegen.CeilDiv(n, lanes)
		}
	}
	if other != nil && c.pastCaches(best) { // innermost: what follows on what was just read comes next
		if i := slices.Index(order, c.name(other)+".0"); i >= 0 {
			order = append(slices.Delete(order, i, i+1), c.name(other)+".0")
		}
	}
	for _, r := range c.reds {
		c.laneDirectives(&directives, r, best)
	}
	peeled := func(name string) bool {
		return slices.ContainsFunc(directives, func(m codegen.Directive) bool {
			return m.Verb == codegen.Split && m.Tail == codegen.Peel && m.Name+".0" == name
		})
	}
	outside, free := c.outside(order, best), 0
	for _, name := range order[:outside] { // a peeled axis cannot be fused, merged outputs keep their order
		if !c.apart(c.axisOf(name)) || c.again(order[:free], name) || free > 0 && (peeled(order[0]) || peeled(name)) {
			break
		}
		free++
	}
	if n := len(order) - 1; best == nil && free > n && n > 0 && c.count(c.outs[0].over) >= sizes[order[n]]*shareAxes/4 {
		free = n // what is one with others is divided at each element
	}
	serial := order
	if total := cost * float64(c.width()); total > threadWork {
		serial = c.spread(&directives, order, sizes, free)
	}
	if inner != nil {
		outside -= len(order) - len(serial)
		directives = append(directives, codegen.Directive{Verb: codegen.Order, Axes: slices.Concat(serial[:outside], inner, serial[outside:])})
	}
	return c.stageSharedSubexprs(directives, serial, best)
}

// lineBlock is how many elements of a cache line are used while it is at hand.
const lineBlock = 16

// acrossLines is the axis along which something lies densely, forwards or backwards, that the lanes read from a cache line each, as in a transpose; or
// nil. It is split, so that all of these lines are used before they go.
func (c *streamer) acrossLines(lanes *uop.UOp) *uop.UOp {
	if lanes == nil || c.fixed || len(c.reds) > 0 || c.anyLength() {
		return nil
	}
	least := 2*lineBlock + 1
	if c.turns(lanes) { // which takes so much less time that part of a block may be done twice
		least = lineBlock
	}
	for _, l := range c.loads {
		if s, ok := c.stride(l, lanes); !ok || codegen.Abs(s)*l.bytes < 64 {
			continue
		}
		for _, a := range c.g.Axes {
			if apart, ok := c.stride(l, a.Range); ok && codegen.Abs(apart) == 1 && codegen.Extent(a.Range) >= least && c.mayVector(a.Range) {
				return a.Range
			}
		}
	}
	return nil
}

// between is a short axis whose elements lie between those of neighbouring lanes in all outputs, as the parts of complex numbers do; or nil.
// All are computed together: then vectors are stored that lanes share.
func (c *streamer) between(lanes *uop.UOp) *uop.UOp {
	if lanes == nil || !c.Target.Turns || len(c.reds) > 0 {
		return nil
	}
	for _, a := range c.g.Axes {
		n := codegen.Extent(a.Range)
		if n >= 2 && n <= 4 && c.mayVector(a.Range) && !slices.ContainsFunc(c.outs, func(o *access) bool {
			apart, ok := c.stride(o, lanes)
			return !c.dense(o, a.Range) || !ok || apart != n
		}) {
			return a.Range
		}
	}
	return nil
}

// turns says that rows which lanes read begin at lines of the cache, all or none of them: then blocks are loaded by rows and turned. Else
// each of these loads would touch two lines, and reading one by one, which does not conflict in the cache there, is no slower.
func (c *streamer) turns(lanes *uop.UOp) bool {
	return c.Target.Turns && !slices.ContainsFunc(c.loads, func(l *access) bool {
		s, ok := c.stride(l, lanes)
		return ok && codegen.Abs(s)*l.bytes >= 64 && codegen.Abs(s)*l.bytes%64 != 0
	})
}

// pastCaches says that outputs are so large, and that lanes write whole lines of the cache, which are then never written twice.
func (c *streamer) pastCaches(lanes *uop.UOp) bool {
	const line = 64
	for _, a := range c.outs {
		if !c.dense(a, lanes) || c.count(a.over)*a.bytes < codegen.PastCaches {
			return false
		}
		for _, x := range c.g.Axes {
			if s, ok := c.stride(a, x.Range); !ok || x.Range != lanes && s*a.bytes%line != 0 {
				return false
			}
		}
	}
	return true
}

// again says that a reduction would be computed again for each iteration of an axis, if that became one with the loops outside of it.
func (c *streamer) again(outside []string, name string) bool {
	var open affine.RangeSet
	for _, o := range outside {
		open = open.With(c.Facts.RangeID(c.axisOf(o)))
	}
	next := c.Facts.RangeID(c.axisOf(name))
	return slices.ContainsFunc(c.reds, func(r *reduction) bool { return !r.free.Disjoint(open) && !r.free.Has(next) })
}

// outside is how many of the loops in an order lie outside of the lanes. Inside of them lie those behind all that a reduction in lanes depends
// on: it would be computed again for each of their iterations.
func (c *streamer) outside(order []string, lanes *uop.UOp) int {
	n := len(order)
	for _, r := range c.reds {
		if lanes == nil || !r.free.Has(c.Facts.RangeID(lanes)) {
			continue
		}
		last := n
		for last > 0 && !r.free.Has(c.Facts.RangeID(c.axisOf(order[last-1]))) {
			last--
		}
		n = last
	}
	return n
}

// streamLanes is how many lanes an axis of outputs gets.
func (c *streamer) streamLanes(r *uop.UOp) int {
	n := codegen.Extent(r)
	if c.lanes > 0 {
		return min(c.lanes, n)
	}
	if c.anyLength() {
		return n
	}
	w := c.width()
	if n < w {
		return codegen.Pow2(n)
	}
	switch some, few := len(c.nodes) < someNodes, len(c.nodes) < fewNodes; {
	case c.acrossLines(r) != nil && c.turns(r): // blocks are turned in registers, which takes vectors of the machine's own length
		return w
	case few && n >= 4*w && slices.ContainsFunc(c.reds, func(red *reduction) bool { // accumulators hide the latency of an update
		return red.free.Has(c.Facts.RangeID(r)) && red.work >= 8*n
	}):
		return 4 * w
	case some && n >= 2*w && 8*codegen.CeilDiv(n, 2*w)*2 <= 9*codegen.CeilDiv(n, w): // the last of them may overlap the one before
		return 2 * w
	}
	return w
}

// A nest of fewer than fewNodes operations may do four vectors at a time, one of fewer than someNodes two: what it costs to go from one
// to the next, and the loops of short sums, are then paid for so much less often.
const fewNodes, someNodes = 60, 200

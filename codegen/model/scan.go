package model

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// runner chooses for nests with a scan.
type runner struct{ *chooser }

// running gives directives for a nest with a scan: threads share the other axes; lanes lie along one of them where the outputs
// are contiguous along it; and where none is, several rows go together, because each merge waits for the one before.
func (c *runner) running() (directives []codegen.Directive) {
	lanes, wide := c.runningLanes()
	var order, tail []string
	sizes, all := map[string]int{}, 1
	for _, a := range c.g.Axes {
		name, n := a.Name, codegen.Extent(a.Range)
		all *= n
		if a.Range == lanes {
			verb, inner := codegen.Tiles, ""
			if c.anyLength() || c.outs[0].index.Coeff(a.Range) == 1 {
				verb = codegen.Vectors
			}
			name, inner = c.cut(&directives, name, n, wide)
			directives = append(directives, codegen.Directive{Verb: verb, Name: inner})
			tail, n = append(tail, inner), codegen.CeilDiv(n, wide)
		}
		switch {
		case c.Runs(a.Range): // the last one
			tail = append(tail, name)
		case name != "":
			order, sizes[name] = append(order, name), n
		}
	}
	for _, r := range c.reds {
		c.laneDirectives(&directives, r, lanes)
	}
	if 4*all > threadWork {
		order = c.spread(&directives, order, sizes, len(order))
	}
	return append(directives, codegen.Directive{Verb: codegen.Order, Axes: append(order, tail...)})
}

// rowsTogether is how many rows hide the latency of a merge.
const rowsTogether = 4

// heldTogether is how many values recurrences of rows that go together hold: these hide latency as well, and take registers.
const heldTogether = 8

// together is how many rows, or lanes of a vector, are worth going together: a power of two.
func (c *runner) together() int {
	if c.Held == 0 {
		return rowsTogether
	}
	return codegen.Pow2(min(rowsTogether, max(1, heldTogether/c.Held)))
}

// runningLanes chooses the axis for lanes, or for rows that go together, and how many: the contiguous one or else the longest.
func (c *runner) runningLanes() (axis *uop.UOp, n int) {
	if c.Keyed {
		return nil, 0
	}
	contiguous := false
	for _, a := range c.g.Axes {
		if c.Runs(a.Range) || !c.mayVector(a.Range) {
			continue
		}
		next := !c.anyLength() && c.outs[0].index.Coeff(a.Range) == 1 && codegen.Extent(a.Range) >= 4
		if axis == nil || next || !contiguous && codegen.Extent(a.Range) > codegen.Extent(axis) {
			axis, contiguous = a.Range, contiguous || next
		}
	}
	switch {
	case axis == nil:
		return nil, 0
	case c.anyLength():
		return axis, codegen.Extent(axis)
	case contiguous:
		n = min(c.width(), codegen.Pow2(codegen.Extent(axis)))
		for k := c.together(); k > 1; k /= 2 {
			if codegen.Extent(axis) >= k*n {
				n *= k
				break
			}
		}
	default:
		for n = min(c.together(), codegen.Extent(axis)); n > 2 && c.sameSet(axis) && n*c.streams() > cacheWays; n /= 2 {
		}
	}
	if c.Held > 0 && contiguous && !c.fixed {
		return axis, n // a step is much to do: whole vectors, of which the last goes over some lanes again, are fewer than parts of vectors
	}
	for codegen.Extent(axis)%n != 0 && (c.fixed || codegen.Extent(axis) < 4*n) { // no element is computed twice where that counts, or costs
		n--
	}
	if n == 1 {
		return nil, 0
	}
	return axis, n
}

// sameSet says that elements of neighbouring rows lie in one set of the nearest cache.
func (c *runner) sameSet(row *uop.UOp) bool {
	return codegen.Abs(c.outs[0].index.Coeff(row))*c.outs[0].bytes%cacheWay == 0
}

// streams is how many arrays are read or written.
func (c *runner) streams() int {
	seen := map[*uop.UOp]bool{}
	for _, l := range c.loads {
		seen[l.u.At(0)] = true
	}
	return len(c.outs) + len(seen)
}

// running gives each row of a scan to an invocation of its own. Narrow elements of one word of memory belong to one
// invocation: where they are not neighbours in a row, one does all.
func (g *gridder) running() []codegen.Directive {
	words := g.words()
	for _, a := range g.g.Axes {
		if words > 1 && !g.mayVector(a.Range) &&
			slices.ContainsFunc(g.outs, func(o *access) bool { return o.index.Coeff(a.Range) != 1 || codegen.Extent(a.Range)%words != 0 }) {
			return nil
		}
	}
	return g.invocations(g.mayVector)
}

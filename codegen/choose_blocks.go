package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// blocks gives moves for a softmax-weighted sum whose weights are reductions themselves: a block of weights is
// computed into scratch with lanes along the outer reduction, then used; blocks are merged by the
// monoid. No array of all weights exists.
func (c *chooser) blocks() []Move {
	outer, inner := c.weighted()
	if outer == nil || c.anyLength() {
		return nil
	}
	j := outer.ranges[0]
	block := blockSize(extent(j))
	lane := c.valueAxis(outer, inner)
	if lane == nil || extent(j) < 2*block {
		return nil
	}
	n, jn := outer.name, c.name(j)
	moves := []Move{{Verb: Split, Name: jn, N: block, Tail: Peel}, {Verb: Nest, Name: n, Axes: []string{jn + ".1"}}}
	var batch, inside []string
	rows, row := "", ""
	sizes := map[string]int{}
	along := c.rowAxis(inner, j)
	for _, a := range c.g.axes {
		size := extent(a.r)
		switch {
		case a.r == lane:
		case a.r == along:
			rows, row = c.cut(&moves, a.name, size, 4)
			moves = append(moves, Move{Verb: Tiles, Name: row})
			sizes[rows] = ceilDiv(size, 4)
		case inner.free.has(c.facts.rangeID(a.r)):
			batch = append(batch, a.name)
			sizes[a.name] = size
		default:
			inside = append(inside, a.name)
		}
	}
	if row == "" {
		return nil
	}
	o, l := c.cut(&moves, c.name(lane), extent(lane), min(4*c.width(), pow2(extent(lane))))
	if o != "" {
		inside = append(inside, o)
	}
	inside = append(inside, l)
	moves = append(moves, Move{Verb: Vectors, Name: l}, Move{Verb: Vectors, Name: jn + ".1"})
	batch = c.shareBlocks(&moves, batch, rows, sizes)
	loops := slices.Clone(batch)
	if rows != "" {
		loops = append(loops, rows)
	}
	moves = append(moves, Move{Verb: Order, Axes: append(append(append(loops, jn+".0"), row), inside...)})
	return append(c.blockStages(moves, inner, j, batch),
		Move{Verb: Stage, Name: n + "s", At: jn + ".0", Axes: []string{row, jn + ".1"}, Tile: row, Vector: jn + ".1"},
		Move{Verb: Stage, Name: n + "w", At: row, Axes: []string{jn + ".1"}, Vector: jn + ".1"},
		Move{Verb: Carry, Name: n, Axes: append([]string{row}, inside...)})
}

// blockSize is how many of n weights make a block.
func blockSize(n int) int {
	for b := 64; b >= 16; b /= 2 {
		if n%b == 0 {
			return b
		}
	}
	return 64
}

// blockStages packs the operands of the weights that do not lie densely along them, once for each batch.
func (c *chooser) blockStages(moves []Move, inner *reduction, j *uop.UOp, batch []string) []Move {
	at, jn := Root, c.name(j)
	if len(batch) > 0 {
		at = batch[len(batch)-1]
	}
	for _, a := range inner.loads {
		if s, ok := c.stride(a, j); c.depends(a, j) && a.plain && (!ok || s != 1) {
			layout := []string{jn + ".0"}
			for _, x := range inner.ranges {
				layout = append(layout, c.name(x))
			}
			moves = append(moves, Move{Verb: Stage, Name: a.name, At: at, Axes: append(layout, jn+".1"), Vector: jn + ".1"})
		}
	}
	return moves
}

// weighted finds a softmax reduction over one range with one other inside.
func (c *chooser) weighted() (outer, inner *reduction) {
	for _, r := range c.reds {
		if r.u.Arg().(uop.ReduceArg).Monoid != uop.SumExp || len(r.ranges) != 1 || len(c.reds) != 2 {
			continue
		}
		for _, o := range c.reds {
			if o != r && o.free.has(c.facts.rangeID(r.ranges[0])) {
				return r, o
			}
		}
	}
	return nil, nil
}

// valueAxis is the axis of outputs that the weights do not depend on and that lies densely.
func (c *chooser) valueAxis(outer, inner *reduction) *uop.UOp {
	for _, a := range slices.Backward(c.g.axes) {
		s, ok := c.stride(c.outs[0], a.r)
		if ok && s == 1 && extent(a.r) >= 4 && outer.free.has(c.facts.rangeID(a.r)) && !inner.free.has(c.facts.rangeID(a.r)) && c.mayVector(a.r) {
			return a.r
		}
	}
	return nil
}

// rowAxis is the longest axis of outputs whose weights differ and are made of the same terms: each of them is loaded once for
// several rows. What else they are made of, such as a mask, does not matter.
func (c *chooser) rowAxis(inner *reduction, j *uop.UOp) (best *uop.UOp) {
	for _, a := range c.g.axes {
		shared := slices.ContainsFunc(inner.loads, func(l *access) bool { return c.depends(l, j) && !c.depends(l, a.r) })
		if shared && inner.free.has(c.facts.rangeID(a.r)) && (best == nil || extent(a.r) > extent(best)) {
			best = a.r
		}
	}
	return best
}

// shareBlocks puts batches on threads where there are many, else rows.
func (c *chooser) shareBlocks(moves *[]Move, batch []string, rows string, sizes map[string]int) []string {
	total := 1
	for _, b := range batch {
		total *= sizes[b]
	}
	switch {
	case !c.target.Threads || len(c.groups) > 1:
	case total >= 16:
		return c.spread(moves, batch, sizes, len(batch))
	case rows != "":
		*moves = append(*moves, Move{Verb: Threads, Name: rows})
	case len(batch) > 0:
		*moves = append(*moves, Move{Verb: Threads, Name: batch[0]})
	}
	return batch
}

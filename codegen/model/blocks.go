package model

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// blocker chooses for sums with exponential weights.
type blocker struct{ *chooser }

// blocks gives directives for a softmax-weighted sum whose weights are reductions themselves: a block of weights is
// computed into scratch with lanes along the outer reduction, then used; blocks are merged by the
// monoid. No array of all weights exists.
func (c *blocker) blocks() []codegen.Directive {
	outer, inner := c.weighted()
	if outer == nil || c.anyLength() {
		return nil
	}
	return c.blocksOf(outer, inner)
}

// blocksOf gives them for a reduction and the one inside that its weights are made of.
func (c *blocker) blocksOf(outer, inner *reduction) []codegen.Directive {
	j := outer.ranges[0]
	lane, along := c.valueAxis(outer, inner), c.rowAxis(inner, j)
	if lane == nil || along == nil || c.Owners(j) != 1 {
		return nil
	}
	n, jn := outer.name, c.name(j)
	b := c.blocking(codegen.Extent(lane), codegen.Extent(along), codegen.Extent(j))
	directives := []codegen.Directive{{Verb: codegen.Split, Name: jn, N: b.terms, Tail: codegen.Guard}, {Verb: codegen.Split, Name: jn + ".1", N: b.lanes},
		{Verb: codegen.Nest, Name: n, Axes: []string{jn + ".1.0", jn + ".1.1"}}}
	var batch, inside []string
	rows, row := "", ""
	sizes := map[string]int{}
	for _, a := range c.g.Axes {
		size := codegen.Extent(a.Range)
		switch {
		case a.Range == lane:
		case a.Range == along:
			rows, row = c.cut(&directives, a.Name, size, b.rows)
			directives = append(directives, codegen.Directive{Verb: codegen.Tiles, Name: row})
			sizes[rows] = codegen.CeilDiv(size, b.rows)
		case inner.free.Has(c.Facts.RangeID(a.Range)):
			batch = append(batch, a.Name)
			sizes[a.Name] = size
		default:
			inside = append(inside, a.Name)
		}
	}
	inside = append(inside, c.valueLanes(&directives, lane, b)...)
	directives = append(directives, codegen.Directive{Verb: codegen.Vectors, Name: jn + ".1.1"})
	batch = c.shareBlocks(&directives, batch, rows, sizes)
	loops := slices.Clone(batch)
	if rows != "" {
		loops = append(loops, rows)
	}
	directives = append(directives, codegen.Directive{Verb: codegen.Order, Axes: slices.Concat(loops, []string{jn + ".0", row}, inside)})
	return append(c.blockStages(directives, inner, j, batch),
		codegen.Directive{Verb: codegen.Stage, Name: n + "s", At: jn + ".0", Axes: []string{row, jn + ".1.0", jn + ".1.1"}, Tile: row, Vector: jn + ".1.1"},
		codegen.Directive{Verb: codegen.Stage, Name: n + "w", At: row, Axes: []string{jn + ".1.0", jn + ".1.1"}, Vector: jn + ".1.1"},
		codegen.Directive{Verb: codegen.Carry, Name: n, Axes: append([]string{row}, inside...)})
}

// blocking is how much of a weighted sum is at hand at once.
type blocking struct {
	values int // vectors of values: one weight is used for all of them
	rows   int // of weights, for which what is loaded is used
	lanes  int // weights of a row whose products are added up in registers
	terms  int // weights of a row before blocks are merged
}

// blocking fills the registers by rows times vectors, of values and of products. Merging costs as much as some dozens of terms do, so a
// block has as many as keep scores and weights within half of the first cache, and ends near the sum's own end.
func (c *blocker) blocking(values, rows, terms int) (b blocking) {
	w := c.width()
	b.values = mostVectors(codegen.CeilDiv(values, w))
	u := max(b.values, 4)
	b.rows = min(max(1, (c.Target.Registers-1-u)/u), rows)
	most := max(c.Target.L1/2/(8*b.rows), 4*w)
	least := math.Inf(1)
	for u := 4; u > 0; u-- {
		lanes := u * w
		n := codegen.CeilDiv(codegen.CeilDiv(terms, codegen.CeilDiv(terms, most)), lanes) * lanes
		step := max(float64(b.rows*u)/2, float64(b.rows+u)/2, 4) + 0.7
		if cost := float64(codegen.CeilDiv(terms, n)*n) * step / float64(u); cost < least {
			least, b.lanes, b.terms = cost, lanes, n
		}
	}
	return b
}

// mostVectors is how many of n vectors go together: up to six, and as few as possible more than there are.
func mostVectors(n int) int {
	if n <= 6 {
		return n
	}
	best := 4
	for _, u := range []int{5, 6, 3} {
		if codegen.CeilDiv(n, u)*u < codegen.CeilDiv(n, best)*best {
			best = u
		}
	}
	return best
}

// valueLanes splits the axis of values, and gives its loops.
func (c *blocker) valueLanes(directives *[]codegen.Directive, lane *uop.UOp, b blocking) (inside []string) {
	n, w, name := codegen.Extent(lane), c.width(), c.name(lane)
	if n > w && n%w != 0 && n <= b.values*w && !c.fixed { // the last vector moves inwards
		*directives = append(*directives, codegen.Directive{Verb: codegen.Split, Name: name, N: w, Tail: codegen.Shift}, codegen.Directive{Verb: codegen.Tiles, Name: name + ".0"}, codegen.Directive{Verb: codegen.Vectors, Name: name + ".1"})
		return []string{name + ".0", name + ".1"}
	}
	lanes := b.values * w
	if n%w != 0 {
		lanes = min(4*w, codegen.Pow2(n))
	}
	o, l := c.cut(directives, name, n, lanes)
	if o != "" {
		inside = append(inside, o)
	}
	*directives = append(*directives, codegen.Directive{Verb: codegen.Vectors, Name: l})
	return append(inside, l)
}

// blockStages packs the operands of the weights that do not lie densely along them, once for each batch.
func (c *blocker) blockStages(directives []codegen.Directive, inner *reduction, j *uop.UOp, batch []string) []codegen.Directive {
	jn := c.name(j)
	for _, a := range inner.loads {
		if c.depends(a, j) && a.plain && !c.dense(a, j) {
			layout := []string{jn + ".0", jn + ".1.0"}
			for _, x := range inner.ranges {
				layout = append(layout, c.name(x))
			}
			directives = append(directives, codegen.Directive{Verb: codegen.Stage, Name: a.name, At: innermost(batch), Axes: append(layout, jn+".1.1"), Vector: jn + ".1.1"})
		}
	}
	return directives
}

// weighted finds a softmax reduction over one range with one other inside.
func (c *blocker) weighted() (outer, inner *reduction) {
	for _, r := range c.reds {
		if r.u.Arg().(uop.ReduceArg).Monoid != uop.SumExp || len(r.ranges) != 1 || len(c.reds) != 2 {
			continue
		}
		for _, o := range c.reds {
			if o != r && o.free.Has(c.Facts.RangeID(r.ranges[0])) {
				return r, o
			}
		}
	}
	return nil, nil
}

// valueAxis is the axis of outputs that the weights do not depend on and that lies densely.
func (c *blocker) valueAxis(outer, inner *reduction) *uop.UOp {
	for _, a := range slices.Backward(c.g.Axes) {
		if c.dense(c.outs[0], a.Range) && codegen.Extent(a.Range) >= 4 && outer.free.Has(c.Facts.RangeID(a.Range)) && !inner.free.Has(c.Facts.RangeID(a.Range)) && c.mayVector(a.Range) {
			return a.Range
		}
	}
	return nil
}

// rowAxis is the longest axis of outputs whose weights differ and are made of the same terms: each of them is loaded once for
// several rows. What else they are made of, such as a mask, does not matter.
func (c *blocker) rowAxis(inner *reduction, j *uop.UOp) (best *uop.UOp) {
	for _, a := range c.g.Axes {
		shared := slices.ContainsFunc(inner.loads, func(l *access) bool { return c.depends(l, j) && !c.depends(l, a.Range) })
		if shared && inner.free.Has(c.Facts.RangeID(a.Range)) && (best == nil || codegen.Extent(a.Range) > codegen.Extent(best)) {
			best = a.Range
		}
	}
	return best
}

// shareBlocks puts batches on threads where there are enough, else rows: then each thread packs for all batches.
func (c *blocker) shareBlocks(directives *[]codegen.Directive, batch []string, rows string, sizes map[string]int) []string {
	total := 1
	for _, b := range batch {
		total *= sizes[b]
	}
	if total >= 8 || rows == "" || !c.Threaded(c.g) {
		return c.spread(directives, batch, sizes, len(batch))
	}
	*directives = append(*directives, codegen.Directive{Verb: codegen.Threads, Name: rows})
	return batch
}

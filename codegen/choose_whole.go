package codegen

// Memory gives most to a thread that goes through neighbours. Where a nest has parts of a matrix that follow each other (the schedule
// makes them, see Target.WholeRows, or there are several matrices), a thread goes through its parts row after row, and sums are carried
// in the first cache. Where these are many, some rows go together, so that sums are read and written less often.
const wholeLanes = 4 // vectors of a row that are in registers at once

// WholeSums is how many bytes of sums there may be for each byte of a row: to add up more takes longer than is saved.
const WholeSums = 4

// whole gives directives for such a nest, or nil.
func (c *chooser) whole() []Directive {
	if c.fixed || len(c.reds) != 1 || len(c.reds[0].ranges) != 1 || !c.threaded(c.g) || c.nested(c.reds[0]) {
		return nil
	}
	for _, l := range c.reds[0].loads {
		if m := c.wholeRows(l); m != nil {
			return m
		}
	}
	return nil
}

func (c *chooser) wholeRows(l *access) (out []Directive) {
	r := c.reds[0]
	x := r.ranges[0]
	row, ok := c.stride(l, x)
	if !ok || !l.plain || l.gated || c.count(l.free)*l.bytes < c.target.WholeRows {
		return nil
	}
	var parts []string
	var times []*axis
	var columns *axis
	n, held, size := 1, 1, max(1, r.u.DType().Size()) // parts; sums of a column, and bytes of one
	for _, a := range c.g.axes {
		s, ok := c.stride(l, a.r)
		switch {
		case !ok || !c.apart(a.r) || !r.free.has(c.facts.rangeID(a.r)):
			return nil
		case s == 0:
			times, held = append(times, a), held*extent(a.r)
		case s == 1 && columns == nil:
			columns = a
		case s > row:
			parts, n = append(parts, a.name), n*extent(a.r)
		default:
			return nil
		}
	}
	if columns == nil || row != extent(columns.r) || n < leastShares || held*size > WholeSums*l.bytes || !c.mayVector(columns.r) {
		return nil
	}
	lanes := c.width() * max(1, min(wholeLanes, (c.target.Registers-wholeLanes)/(held+1)))
	if row <= lanes {
		return nil
	}
	outer, lane := c.cut(&out, columns.name, row, lanes)
	out = append(out, Directive{Verb: Vectors, Name: lane})
	sums := []string{outer}
	for _, a := range times {
		out, sums = append(out, Directive{Verb: Tiles, Name: a.name}), append(sums, a.name)
	}
	sums = append(sums, lane)
	step := c.name(x)
	if row*held*size > c.target.L1/4 {
		together := rowsRead(extent(x), c.target.ReadsAhead)
		out = append(out, Directive{Verb: Split, Name: step, N: together, Tail: rest(extent(x), together, Guard)})
		step += ".0"
	}
	shared := thread(&out, parts)
	return append(out, Directive{Verb: Order, Axes: append([]string{shared, step}, sums...)},
		Directive{Verb: Carry, Name: r.name, Axes: sums})
}

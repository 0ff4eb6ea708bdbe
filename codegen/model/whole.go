package model

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
)

// Memory gives most to a thread that goes through neighbours. Where a nest has parts of a matrix that follow each other (the schedule
// makes them, see Target.WholeRows, or there are several matrices), a thread goes through its parts row after row, and sums are carried
// in the first cache. Where these are many, some rows go together, so that sums are read and written less often.
const wholeLanes = 4 // vectors of a row that are in registers at once

// whole gives directives for such a nest, or nil.
func (c *streamer) whole() []codegen.Directive {
	if c.fixed || len(c.reds) != 1 || len(c.reds[0].ranges) != 1 || !c.Threaded(c.g) {
		return nil
	}
	for _, l := range c.reds[0].loads {
		if m := c.wholeRows(l); m != nil {
			return m
		}
	}
	return nil
}

func (c *streamer) wholeRows(l *access) (out []codegen.Directive) {
	r := c.reds[0]
	x := r.ranges[0]
	row, ok := c.stride(l, x)
	if !ok || !l.plain || l.gated || c.count(l.free)*l.bytes < c.Target.WholeRows {
		return nil
	}
	var parts []string
	var times []*nest.Axis
	var columns *nest.Axis
	n, held, size := 1, 1, max(1, r.u.DType().Size()) // parts; sums of a column, and bytes of one
	for _, a := range c.g.Axes {
		s, ok := c.stride(l, a.Range)
		switch {
		case !ok || !c.apart(a.Range) || !r.free.Has(c.Facts.RangeID(a.Range)):
			return nil
		case s == 0:
			times, held = append(times, a), held*codegen.Extent(a.Range)
		case s == 1 && columns == nil:
			columns = a
		case s > row:
			parts, n = append(parts, a.Name), n*codegen.Extent(a.Range)
		default:
			return nil
		}
	}
	if columns == nil || row != codegen.Extent(columns.Range) || n < leastShares || held*size > codegen.WholeSums*l.bytes || !c.mayVector(columns.Range) {
		return nil
	}
	lanes := c.width() * max(1, min(wholeLanes, (c.Target.Registers-wholeLanes)/(held+1)))
	if row <= lanes {
		return nil
	}
	outer, lane := c.cut(&out, columns.Name, row, lanes)
	out = append(out, codegen.Directive{Verb: codegen.Vectors, Name: lane})
	sums := []string{outer}
	for _, a := range times {
		out, sums = append(out, codegen.Directive{Verb: codegen.Tiles, Name: a.Name}), append(sums, a.Name)
	}
	sums = append(sums, lane)
	step := c.name(x)
	if row*held*size > c.Target.L1/4 {
		together := rowsRead(codegen.Extent(x), c.Target.ReadsAhead)
		out = append(out, codegen.Directive{Verb: codegen.Split, Name: step, N: together, Tail: rest(codegen.Extent(x), together, codegen.Guard)})
		step += ".0"
	}
	shared := thread(&out, parts)
	return append(out, codegen.Directive{Verb: codegen.Order, Axes: append([]string{shared, step}, sums...)},
		codegen.Directive{Verb: codegen.Carry, Name: r.name, Axes: sums})
}

package model

import (
	"math"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// Operands that lie apart along the reduction touch a new page with every step: beyond some, the processor looks up
// addresses all the time. Then the reduction goes in blocks, and what a block of results needs of such an operand is
// copied together.

// pageBytes is the usual page of memory; fewPages have their addresses at hand, manyPages no longer fit the tables.
const pageBytes, fewPages, manyPages = 4096, 64, 1024

// apartPages is the number of pages from which on what blocks need is copied. Addresses are at hand a while longer; but lines that lie whole
// fractions of a page apart share few places of a cache, and are gone before they are used again.
const apartPages = 320

// pages is how many pages a reduction's steps touch of an operand that is not packed.
func (c *view) pages(l *access, r *reduction) int {
	most := 0
	for _, x := range r.ranges {
		if s, _ := c.stride(l, x); codegen.Abs(s)*l.bytes >= 256 {
			most = max(most, codegen.Extent(x)*min(codegen.Abs(s)*l.bytes, pageBytes)/pageBytes)
		}
	}
	return most
}

// pageCost is the time of each step of a reduction that finding an operand's pages takes, in cycles.
func (c *view) pageCost(l *access, r *reduction) float64 {
	switch n := c.pages(l, r); {
	case n > manyPages:
		return 5
	case n > fewPages:
		return 2
	}
	return 0
}

// Steps of the reduction, and rows of results, in a block; and how few blocks are too few for threads.
const blockSteps, blockRows, leastBlocks = 256, 512, 8

// apart is the operand that lies apart, if the nest is one that blocks can be made of: a product of two
// operands.
func (p *arranger) apart() *access {
	t := p.t
	if len(t.r.ranges) != 1 || len(p.reds) != 1 || len(t.r.loads) != 2 || len(p.packs) != 1 || len(p.boxes) > 0 || len(p.inner) != 1 || p.fixed {
		return nil
	}
	for _, l := range t.r.loads {
		if !p.depends(l, t.v) && l.plain && !l.gated && p.pages(l, t.r) > apartPages {
			return l
		}
	}
	return nil
}

// blocked arranges loops in blocks of rows, columns and steps where an operand lies apart: both operands are staged
// for a block of steps, and threads take blocks of results. It says whether it did.
func (p *arranger) blocked() bool {
	l := p.apart()
	if l == nil {
		return false
	}
	x := p.t.r.ranges[0]
	var batch []loop
	var rows, columns *loop
	for i, o := range p.serial {
		switch {
		case o.r == p.t.v:
			columns = &p.serial[i]
		case o.block > 1:
			rows = &p.serial[i]
		case p.batch(o.r):
			batch = append(batch, o)
		default:
			return false
		}
	}
	if rows == nil || columns == nil {
		return false
	}
	steps := codegen.CeilDiv(p.steps(x), codegen.CeilDiv(p.steps(x), blockSteps))
	width := max(1, p.Target.L2/2/(steps*columns.block*p.packs[0].held()))
	near := p.near(l, x, steps)
	times := 1
	for _, o := range batch {
		times *= o.n
	}
	high := max(1, blockRows/rows.block)
	blocks := func() int { return times * codegen.CeilDiv(columns.n, width) * codegen.CeilDiv(rows.n, high) }
	for most := high; blocks() < shareAxes/2 && high > max(1, most/4); { // enough blocks for threads
		high = max(1, high/2)
	}
	if blocks() < leastBlocks {
		high, width = p.smallBlocks(times, rows.n, columns.n, min(width, columns.n), near)
	}
	even := func(l *loop, n int) (outer, inner loop) {
		n = codegen.CeilDiv(l.n, codegen.CeilDiv(l.n, n))
		return p.cutLoop(*l, n, rest(l.n, n, codegen.Shift))
	}
	co, column := even(columns, width)
	ro, row := even(rows, high)
	ci, ri := column.name, row.name
	name := p.name(x)
	p.out = append(p.out, codegen.Directive{Verb: codegen.Split, Name: name, N: steps, Tail: codegen.Guard})
	all, tile := thread(&p.out, names(append(batch, co, ro))), p.inner[0]
	p.out = append(p.out,
		codegen.Directive{Verb: codegen.Order, Axes: []string{all, name + ".0", ri, ci, tile, p.lane}},
		codegen.Directive{Verb: codegen.Stage, Name: p.packs[0].staged(), At: name + ".0", Axes: []string{ci, name + ".1", p.lane}, Vector: p.lane})
	if !near {
		p.out = append(p.out, codegen.Directive{Verb: codegen.Stage, Name: l.staged(), At: ri, Axes: []string{name + ".1", tile}, Tile: tile})
	}
	p.out = append(p.out, codegen.Directive{Verb: codegen.Carry, Name: p.t.r.name, Axes: []string{ri, ci, tile, p.lane}})
	return true
}

// near says that a block of steps reads an operand from few pages, and of each a tile's rows side by side: a copy would be no denser.
func (p *arranger) near(l *access, x *uop.UOp, steps int) bool {
	row, ok := p.stride(l, p.t.axes[0])
	step, _ := p.stride(l, x)
	return ok && row == 1 && steps*codegen.Abs(step)*l.bytes <= fewPages*pageBytes
}

// smallBlocks divides results of which there are few, times over, into at least leastBlocks blocks of so many rows and columns of
// tiles, up to most columns, so that least is copied and computed: each block copies its operands, but for rows that are near, and blocks
// that do not divide a whole overlap.
func (p *arranger) smallBlocks(times, rows, columns, most int, near bool) (high, width int) {
	t, least := p.t, math.Inf(1)
	row, tile := float64(t.n[0]), float64(t.n[0]*t.u)/2 // cycles of a step
	if near {
		row = 0
	}
	for h := 1; h <= rows; h++ {
		for w := 1; w <= most; w++ {
			blocks := times * codegen.CeilDiv(rows, h) * codegen.CeilDiv(columns, w)
			if blocks < leastBlocks && h*w > 1 {
				continue
			}
			cost := float64(blocks) * (float64(h*w)*tile + float64(h)*row + float64(w*t.u))
			if cost < least {
				high, width, least = h, w, cost
			}
		}
	}
	return high, width
}

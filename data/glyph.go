package data

import (
	"math"
	"slices"
)

// A glyph is one digit of one face as a field of signed distances to its outline, positive
// inside, so that moving the threshold makes its strokes thicker or thinner. Everything
// from the outline on is integer arithmetic: the same bits on every platform.
type glyph struct {
	w, h   int     // of the field, margin included
	top    int     // cap height of the field in cells: what a picture is scaled by
	field  []int32 // signed distances in 1/64 cell
	cx, cy int     // centre of the outline's box, in 1/65536 cell
}

const (
	glyphHeight = 160 // cells per em
	margin      = 24  // cells around the outline; beyond it everything is outside
)

// newGlyph rasters the outline of a digit and measures distances to it.
func newGlyph(outline []segment) glyph {
	lines := flatten(outline)
	lo, hi := lines[0][0], lines[0][0]
	for _, l := range lines {
		lo = point{min(lo.x, l[0].x), min(lo.y, l[0].y)}
		hi = point{max(hi.x, l[0].x), max(hi.y, l[0].y)}
	}
	for i := range lines {
		for j := range lines[i] {
			lines[i][j].x += margin*64 - lo.x
			lines[i][j].y += margin*64 - lo.y
		}
	}
	g := glyph{
		w: (hi.x-lo.x+63)/64 + 2*margin, h: (hi.y-lo.y+63)/64 + 2*margin, top: (hi.y - lo.y + 32) / 64,
		cx: margin<<16 + (hi.x-lo.x)<<9, cy: margin<<16 + (hi.y-lo.y)<<9,
	}
	g.field = distances(fill(lines, g.w, g.h), g.w, g.h)
	return g
}

// point is in 1/64 cell, y down.
type point struct{ x, y int }

// flatten turns an outline into straight lines; quadratic curves, the only ones in these fonts,
// become eight each.
func flatten(outline []segment) [][2]point {
	var lines [][2]point
	var start, at point
	to := func(p point) {
		lines = append(lines, [2]point{at, p})
		at = p
	}
	for _, s := range outline {
		switch s.kind {
		case moveTo:
			if len(lines) > 0 {
				to(start)
			}
			start = s.args[0]
			at = start
		case lineTo:
			to(s.args[0])
		case curveTo:
			a, b, c := at, s.args[0], s.args[1]
			for t := 1; t <= 8; t++ {
				u := 8 - t
				to(point{(u*u*a.x + 2*u*t*b.x + t*t*c.x) / 64, (u*u*a.y + 2*u*t*b.y + t*t*c.y) / 64})
			}
		}
	}
	to(start)
	return lines
}

// fill says which cells have their centre inside the outline, by the nonzero winding rule.
func fill(lines [][2]point, w, h int) []bool {
	inside := make([]bool, w*h)
	type crossing struct{ x, dir int }
	for y := range h {
		var row []crossing
		cy := 64*y + 32
		for _, l := range lines {
			a, b, dir := l[0], l[1], 1
			if a.y > b.y {
				a, b, dir = b, a, -1
			}
			if a.y <= cy && cy < b.y {
				row = append(row, crossing{a.x + (b.x-a.x)*(cy-a.y)/(b.y-a.y), dir})
			}
		}
		slices.SortStableFunc(row, func(a, b crossing) int { return a.x - b.x })
		winding, next := 0, 0
		for x := range w {
			for next < len(row) && row[next].x <= 64*x+32 {
				winding += row[next].dir
				next++
			}
			inside[y*w+x] = winding != 0
		}
	}
	return inside
}

// distances returns for each cell the distance to the nearest cell of the other kind, in 1/64
// cell, positive inside, less half a cell so that the outline is at 0.
func distances(inside []bool, w, h int) []int32 {
	out := make([]int32, w*h)
	for _, kind := range []bool{true, false} {
		square := nearest(inside, kind, w, h)
		for i, in := range inside {
			if in == kind {
				continue
			}
			d := int32(64*math.Sqrt(float64(square[i]))) - 32 // Sqrt is exactly rounded everywhere
			if !in {
				d = -d
			}
			out[i] = d
		}
	}
	return out
}

// nearest returns for each cell the squared distance to the nearest cell of the given kind, in
// two sweeps: along columns, then over the columns of a row.
func nearest(inside []bool, kind bool, w, h int) []int {
	const far = 1 << 14
	column := make([]int, w*h)
	for x := range w {
		for _, back := range []bool{false, true} {
			d := far
			for i := range h {
				y := i
				if back {
					y = h - 1 - i
				}
				if d = min(d+1, far); inside[y*w+x] == kind {
					d = 0
				}
				if p := &column[y*w+x]; back {
					*p = min(*p, d)
				} else {
					*p = d
				}
			}
		}
	}
	out := make([]int, w*h)
	for y := range h {
		row := column[y*w : (y+1)*w]
		for x := range w {
			best := row[x] * row[x]
			// Columns further away than the best distance cannot improve it.
			for dx := 1; dx*dx < best && (x-dx >= 0 || x+dx < w); dx++ {
				if x-dx >= 0 {
					best = min(best, dx*dx+row[x-dx]*row[x-dx])
				}
				if x+dx < w {
					best = min(best, dx*dx+row[x+dx]*row[x+dx])
				}
			}
			out[y*w+x] = best
		}
	}
	return out
}

// at interpolates the distance at a place given in 1/65536 cell; the result is in 1/64 cell.
func (g *glyph) at(x, y int) int {
	x, y = x-1<<15, y-1<<15 // values sit at the centres of cells
	ix, iy := x>>16, y>>16
	if ix < 0 || iy < 0 || ix >= g.w-1 || iy >= g.h-1 {
		return -64 * margin
	}
	fx, fy := x>>8&0xff, y>>8&0xff
	p := g.field[iy*g.w+ix:]
	q := p[g.w:]
	up := int(p[0])*(256-fx) + int(p[1])*fx
	down := int(q[0])*(256-fx) + int(q[1])*fx
	return (up*(256-fy) + down*fy) >> 16
}

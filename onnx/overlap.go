package onnx

import "math"

// box is y1 x1 y2 x2, and its area.
type box struct{ y1, x1, y2, x2, area float64 }

func boxOf(y1, x1, y2, x2 float64) box { return box{y1, x1, y2, x2, float64((y2 - y1) * (x2 - x1))} }

// overlaps says that the area of two boxes' intersection over that of their union is more than most.
func (a *box) overlaps(b *box, most float64) bool {
	h, w := min(a.y2, b.y2)-max(a.y1, b.y1), min(a.x2, b.x2)-max(a.x1, b.x1)
	if h <= 0 || w <= 0 {
		return 0 > most
	}
	both := float64(h * w)
	return both/(a.area+b.area-both) > most
}

// kept are boxes of which no two overlap by more than most. Those that may overlap another are found by where they are: in a grid of cells, and in
// coarser ones for larger boxes, each of half as many cells along either axis. A box is in the cell of its upper left corner, of the finest grid in
// which it reaches no further than the next cells. So each is in one place, however large and however many there are.
type kept struct {
	most   float64
	plain  bool // boxes that do not even touch overlap by more than most
	lo, by [2]float64
	fine   int    // the finest grid has 2^fine cells along either axis
	grids  []grid // the finest first
}

// grid are boxes in lists, one for each cell.
type grid struct {
	boxes []box
	next  []int32 // the box before in the same cell, or -1
	last  []int32 // of each cell, or -1
}

// finest is the logarithm of the most cells along an axis.
const finest = 9

// keeping is nothing kept yet of boxes.
func keeping(boxes []box, most float64) *kept {
	k := &kept{most: most, plain: most < 0}
	for 1<<(2*k.fine) < 8*len(boxes) && k.fine < finest && !k.plain {
		k.fine++
	}
	k.grids = make([]grid, k.fine+1)
	lo, hi := [2]float64{math.Inf(1), math.Inf(1)}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, b := range boxes {
		if b.sound() {
			lo, hi = [2]float64{min(lo[0], b.y1), min(lo[1], b.x1)}, [2]float64{max(hi[0], b.y2), max(hi[1], b.x2)}
		}
	}
	k.lo = lo
	for i := range lo {
		k.by[i] = float64(int(1)<<k.fine) / (hi[i] - lo[i])
	}
	return k
}

// sound says that a box is finite and has an area. No other overlaps any: the area of their intersection is 0 or no number, or the one of their
// union is infinite.
func (b *box) sound() bool {
	return b.y1 < b.y2 && b.x1 < b.x2 && b.y1 >= -math.MaxFloat64 && b.x1 >= -math.MaxFloat64 && b.y2 <= math.MaxFloat64 && b.x2 <= math.MaxFloat64
}

// cell is where a coordinate is in the finest grid. It never falls where the coordinate rises, whatever is infinite on the way.
func (k *kept) cell(axis int, v float64) int {
	at, end := (v-k.lo[axis])*k.by[axis], 1<<k.fine-1
	switch {
	case !(at > 0):
		return 0
	case at >= float64(end):
		return end
	}
	return int(at)
}

// keep adds a box unless it overlaps one that is there.
func (k *kept) keep(b *box) bool {
	if k.plain {
		g := &k.grids[0]
		if g.any(b, k.most) {
			return false
		}
		g.boxes = append(g.boxes, *b)
		return true
	}
	if !b.sound() {
		return true
	}
	y1, x1, y2, x2 := k.cell(0, b.y1), k.cell(1, b.x1), k.cell(0, b.y2), k.cell(1, b.x2)
	for i := range k.grids {
		g := &k.grids[i]
		fromY, fromX, toY, toX := max(y1>>i-1, 0), max(x1>>i-1, 0), y2>>i, x2>>i
		if (toY-fromY+1)*(toX-fromX+1) >= len(g.boxes) {
			if g.any(b, k.most) {
				return false
			}
			continue
		}
		for y := fromY; y <= toY; y++ {
			for x := fromX; x <= toX; x++ {
				for j := g.last[y<<(k.fine-i)|x]; j >= 0; j = g.next[j] {
					if g.boxes[j].overlaps(b, k.most) {
						return false
					}
				}
			}
		}
	}
	i := 0
	for y2>>i-y1>>i > 1 || x2>>i-x1>>i > 1 {
		i++
	}
	k.grids[i].add(b, k.fine-i, y1>>i<<(k.fine-i)|x1>>i)
	return true
}

// any says that one of the boxes, which are looked at one after the other, overlaps b.
func (g *grid) any(b *box, most float64) bool {
	for i := range g.boxes {
		if g.boxes[i].overlaps(b, most) {
			return true
		}
	}
	return false
}

func (g *grid) add(b *box, fine, cell int) {
	if g.last == nil {
		g.last = make([]int32, 1<<(2*fine))
		for i := range g.last {
			g.last[i] = -1
		}
	}
	g.boxes, g.next = append(g.boxes, *b), append(g.next, g.last[cell])
	g.last[cell] = int32(len(g.boxes) - 1)
}

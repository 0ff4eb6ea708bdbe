package model

import (
	"maps"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Costs and limits of a tile of registers in one invocation. Processors that play a graphics processor gather
// every element on its own, so for them a load is dear.
const (
	loadCost     = 6.0
	softwareCost = 30.0
	maxTileNodes = 3000 // instances of values, for the size of the source
	worthTiling  = 4    // iterations of a reduction
)

// piece is a value that is computed once for each element of a tile of the axes it depends on.
type piece struct {
	free   affine.RangeSet
	weight float64
}

// tileFactors chooses how many neighbours along each axis of the outputs one invocation computes, so that what it
// loads is used often. Along the axes in whole, tiles are made of so many elements or a multiple. nil where nothing is gained.
func (g *gridder) tileFactors(shared map[*uop.UOp]bool, whole map[*uop.UOp]int) map[*uop.UOp]int {
	pieces, results := g.pieces()
	if len(pieces) == 0 {
		return nil
	}
	tile := maps.Clone(whole)
	most := g.registers()
	threads := 1
	for _, a := range g.g.Axes {
		if shared[a.Range] {
			threads *= codegen.Extent(a.Range)
		}
	}
	now := g.tileCost(pieces, tile)
	for {
		var best *uop.UOp
		factor, cost := 0, now*0.97
		for _, a := range g.g.Axes {
			if !shared[a.Range] {
				continue
			}
			old := tile[a.Range]
			for _, f := range g.factors(a.Range, max(1, old)) {
				if w := whole[a.Range]; w > 0 && (f%w != 0 || codegen.Extent(a.Range)%f != 0) {
					continue
				}
				tile[a.Range] = f
				if c := g.tileCost(pieces, tile); c < cost && g.instances(results, tile) <= most && g.instances(pieces, tile) <= maxTileNodes && threads/tileSize(tile) >= g.sizes.least {
					best, factor, cost = a.Range, f, c
				}
			}
			tile[a.Range] = old
		}
		if best == nil {
			break
		}
		tile[best], now = factor, cost
	}
	maps.DeleteFunc(tile, func(_ *uop.UOp, f int) bool { return f <= 1 })
	return tile
}

// registers is how many results an invocation may hold: drivers take long over large kernels (a second for 256
// results on llvmpipe), so small ones get small tiles.
func (g *gridder) registers() int {
	work := 0
	for _, r := range g.outerReductions() {
		work = max(work, r.work)
	}
	most := 16
	for _, w := range []int{1 << 21, 1 << 24, 1 << 27, 1 << 29} {
		if work >= w {
			most *= 2
		}
	}
	return min(most*g.sizes.values/100, g.Target.Registers)
}

// factors are the next possible sizes of a tile along an axis: divisors, or sizes whose last tile is moved inwards
// where computing an element twice is allowed.
func (g *gridder) factors(r *uop.UOp, above int) (out []int) {
	n := codegen.Extent(r)
	for f := above + 1; f <= min(n, g.Target.Registers/4) && (len(out) == 0 || f <= 2*above); f++ {
		if n%f == 0 || !g.fixed && n >= 8*f && f&(f-1) == 0 {
			out = append(out, f)
		}
	}
	return out
}

// pieces lists what the reductions of the nest evaluate, with how often, and the results they carry.
func (g *gridder) pieces() (out, results []piece) {
	regs := 0
	reg := func(d dtype.DType) *uop.UOp {
		regs++
		return g.Table.Make(uop.Reg, d, uop.RegArg{ID: regs - 1})
	}
	for _, r := range g.outerReductions() {
		if g.count(g.Facts.Set(r.ranges...)) < worthTiling {
			continue
		}
		g.piecesOf(r, 1, &out)
		for _, free := range g.PartRanges(r.u, reg) {
			results = append(results, piece{free, 1})
		}
	}
	return out, results
}

func (g *gridder) piecesOf(r *reduction, times float64, out *[]piece) {
	times *= float64(g.count(g.Facts.Set(r.ranges...)))
	body, _ := codegen.ReduceParts(r.u)
	uop.Walk(body, func(u *uop.UOp) bool { return u.Op() == uop.Reduce }, func(u *uop.UOp) {
		w := codegen.Weight(u)
		if u.Op() == uop.Load {
			if w = loadCost; g.Target.CPUBacked {
				w = softwareCost
			}
		}
		if w > 0 {
			*out = append(*out, piece{g.Facts.FreeRanges(u), w * times})
		}
	})
	*out = append(*out, piece{r.free, float64(len(body)) * times})
	for _, n := range g.within(r) {
		g.piecesOf(n, times, out)
	}
}

// tileCost is what one element costs.
func (g *gridder) tileCost(pieces []piece, tile map[*uop.UOp]int) (cost float64) {
	for _, p := range pieces {
		cost += p.weight * float64(g.instances([]piece{p}, tile))
	}
	return cost / float64(tileSize(tile))
}

// tileSize is how many elements a tile has.
func tileSize(tile map[*uop.UOp]int) int {
	n := 1
	for _, f := range tile {
		n *= max(1, f)
	}
	return n
}

// instances is how many copies of some pieces a tile has.
func (g *gridder) instances(pieces []piece, tile map[*uop.UOp]int) (all int) {
	for _, p := range pieces {
		n := 1
		for r, f := range tile {
			if p.free.Has(g.Facts.RangeID(r)) {
				n *= max(1, f)
			}
		}
		all += n
	}
	return all
}

// tileAxes gives the directives for a tile: each axis is cut, the outer parts are invocations, the inner ones registers.
func (g *gridder) tileAxes(shared map[*uop.UOp]bool, tile map[*uop.UOp]int) (directives []codegen.Directive) {
	var outer, inner, others []string
	for _, a := range g.g.Axes {
		switch f := tile[a.Range]; {
		case !shared[a.Range]:
			others = append(others, a.Name)
		case f <= 1:
			outer = append(outer, a.Name)
		default:
			o, i := g.cut(&directives, a.Name, codegen.Extent(a.Range), f)
			if o != "" {
				outer = append(outer, o)
			}
			inner = append(inner, i)
		}
	}
	g.tiled = true
	return slices.Concat(directives, each(codegen.Threads, outer), each(codegen.Tiles, inner),
		[]codegen.Directive{{Verb: codegen.Order, Axes: slices.Concat(outer, inner, others)}})
}

// shortLoop is a number of iterations after which entering and leaving a loop costs a software adapter little.
const shortLoop = 16

// longInside makes the longest loop of a sum the innermost one, where that would be short, as those of windows are: it is
// entered seldom, and what decides whether windows lie outside is decided outside. The last directive is the order.
func (g *gridder) longInside(directives []codegen.Directive) {
	order := &directives[len(directives)-1]
	for _, r := range g.outerReductions() {
		n := len(r.ranges)
		long := slices.MaxFunc(r.ranges, func(x, y *uop.UOp) int { return codegen.Extent(x) - codegen.Extent(y) })
		if n == 1 || codegen.Extent(r.ranges[n-1]) >= shortLoop || codegen.Extent(long) < 2*codegen.Extent(r.ranges[n-1]) ||
			slices.ContainsFunc(r.ranges, func(x *uop.UOp) bool { return g.Owners(x) > 1 }) {
			continue
		}
		r.ranges = append(slices.DeleteFunc(slices.Clone(r.ranges), func(x *uop.UOp) bool { return x == long }), long)
		for _, x := range r.ranges {
			order.Axes = append(order.Axes, g.name(x))
		}
	}
}

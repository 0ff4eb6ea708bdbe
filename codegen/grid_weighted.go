package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Sizes for sums with exponential weights: terms whose exponents an invocation computes before it weighs with them, and
// elements that share a weight or a term. A browser's compiler takes seconds where more than two rows are kept.
const (
	weightBlock = 16
	weightRows  = 2
	manyRows    = 4 // where there are registers
	weightCols  = 32
)

// weighted gives directives for a sum of terms with weights exp(s), where s is a reduction itself: s is computed once for a
// block of terms, for several rows of them at once, and each weight is used for several elements.
func (g *gridder) weighted() (directives []Directive) {
	i := slices.IndexFunc(g.reds, func(r *reduction) bool {
		return r.u.Arg().(uop.ReduceArg).Monoid == uop.SumExp && len(r.ranges) == 1 && extent(r.ranges[0]) >= 2*weightBlock
	})
	if i < 0 || g.words() > 1 || g.fixedOrder() {
		return nil
	}
	r := g.reds[i]
	k := g.name(r.ranges[0])
	parts, _ := reduceParts(r.u)
	of := g.facts.freeRanges(parts[0])
	inner := slices.ContainsFunc(uop.Topo(parts[0]), func(u *uop.UOp) bool {
		return u.Op() == uop.Reduce && g.facts.freeRanges(u).has(g.facts.rangeID(r.ranges[0]))
	})
	if !inner || g.owners(r.ranges[0]) > 1 {
		return nil
	}
	rows := weightRows
	if g.target.Registers >= 2*weightCols*manyRows {
		rows = manyRows
	}
	var threads, tiles []string
	row, col := -1, -1 // the last axes of each kind
	for i, a := range g.g.axes {
		switch {
		case !g.mayVector(a.r):
			return nil
		case of.has(g.facts.rangeID(a.r)):
			row = i
		default:
			col = i
		}
	}
	for i, a := range g.g.axes {
		n := 1
		if i == row {
			n = rows
		} else if i == col {
			n = weightCols
		}
		if n = min(n, pow2(extent(a.r))); n == 1 {
			threads = append(threads, a.name)
			continue
		}
		outer, tile := g.cut(&directives, a.name, extent(a.r), n)
		if outer != "" {
			threads = append(threads, outer)
		}
		tiles = append(tiles, tile)
		directives = append(directives, Directive{Verb: Tiles, Name: tile})
	}
	tail := Exact
	if extent(r.ranges[0])%weightBlock != 0 {
		tail = Peel
	}
	directives = append(directives, Directive{Verb: Split, Name: k, N: weightBlock, Tail: tail}, Directive{Verb: Nest, Name: r.name, Axes: []string{k + ".1"}})
	for _, name := range threads {
		directives = append(directives, Directive{Verb: Threads, Name: name})
	}
	return append(directives, Directive{Verb: Order, Axes: slices.Concat(threads, tiles)},
		Directive{Verb: Stage, Name: r.name + "s", At: k + ".0", Axes: []string{k + ".1"}, Vector: k + ".1"})
}

package model

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// longSum is from how many terms on a sum of floats is done in two steps: added one by one, the terms of a sum of
// n lose digits in proportion to n, in blocks to the square root of n.
const longSum = 512

// leastInner is how many terms a block has at least: shorter ones cost more time (a sixth of a product on SwiftShader, with
// 32) than they save digits.
const leastInner = 128

// blocks nests long sums of floats.
func (g *gridder) blocks() (out []codegen.Directive) {
	cut := map[*uop.UOp]bool{}
	for _, r := range g.outerReductions() {
		a := r.u.Arg().(uop.ReduceArg)
		n := g.count(g.Facts.Set(r.ranges...))
		if a.Monoid.Info().Exact || !r.u.DType().IsFloat() || n < longSum {
			continue
		}
		if slices.ContainsFunc(r.ranges, func(x *uop.UOp) bool { return cut[x] || g.Owners(x) > 1 }) {
			continue // other reductions run over the same loops
		}
		for _, x := range r.ranges {
			cut[x] = true
		}
		out = append(out, g.block(r, n)...)
	}
	return out
}

// block chooses the inner axes of a sum: the last ones, if their number comes near the square root, else a part of
// the largest.
func (g *gridder) block(r *reduction, n int) []codegen.Directive {
	root := max(math.Sqrt(float64(n)), leastInner)
	far := func(inner int) float64 { return math.Abs(math.Log(float64(inner) / root)) }
	best, at := math.Log(8), -1
	inner := 1
	for i := len(r.ranges) - 1; i > 0; i-- {
		inner *= codegen.Extent(r.ranges[i])
		if d := far(inner); d < best {
			best, at = d, i
		}
	}
	if at > 0 {
		m := codegen.Directive{Verb: codegen.Nest, Name: r.name}
		for _, x := range r.ranges[at:] {
			m.Axes = append(m.Axes, g.name(x))
		}
		return []codegen.Directive{m}
	}
	large := slices.MaxFunc(r.ranges, func(x, y *uop.UOp) int { return codegen.Extent(x) - codegen.Extent(y) })
	best, f := math.Log(8), 0
	for d := 2; d < codegen.Extent(large); d++ {
		if x := far(d); codegen.Extent(large)%d == 0 && x < best {
			best, f = x, d
		}
	}
	if f == 0 {
		if f = codegen.Pow2(int(root)); 2*f > codegen.Extent(large) {
			return nil
		}
	}
	name := g.name(large)
	return []codegen.Directive{{Verb: codegen.Split, Name: name, N: f, Tail: rest(codegen.Extent(large), f, codegen.Peel)}, {Verb: codegen.Nest, Name: r.name, Axes: []string{name + ".1"}}}
}

package fuzz

import "math"

// spoil puts a number that hardly makes sense in place of an argument. The op must refuse it in words, or mean the same on
// each device.
func (g *generator) spoil(o *Op) {
	*o = o.rename(func(v int) int { return v }) // an op before may have the same lists
	wild := func() int {
		return pick(g.Rand, -1, 0, -7, 1, 6, 1<<31, -1<<31, 1<<40, math.MaxInt64, math.MinInt64)
	}
	var at []int
	for i, a := range o.Args {
		switch {
		case a.Kind == Int, a.Kind == Float, len(a.List) > 0 && (a.Kind == Ints || a.Kind == Slice || a.Kind == ConvA || a.Kind == PoolA):
			at = append(at, i)
		}
	}
	if len(at) == 0 || o.mutates() || o.Name == realizeOp {
		return
	}
	switch a := &o.Args[pick(g.Rand, at...)]; a.Kind {
	case Int:
		a.N = wild()
	case Float:
		a.X = pick(g.Rand, math.NaN(), inf, -inf, 0, -1, 1e300, -1e-300)
	default:
		a.List[g.N(len(a.List))] = wild()
	}
}

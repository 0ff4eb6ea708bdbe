package fuzz

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
)

// axesOr is some axes, or none, which means all.
func (g *generator) axesOr(x int) Arg {
	if g.rank(x) == 0 || g.One(4) {
		return list()
	}
	if g.One(2) {
		return list(g.axis(x))
	}
	return list(g.someAxes(x)...)
}

var reductions = []maker{
	over("Sum"), over("Sum"), over("Sum"), over("Max"), over("Min"), over("Mean"), over("Prod"),
	over("SumKeep"), over("MaxKeep"), over("MinKeep"), over("MeanKeep"), over("SumKeep"), over("MaxKeep"),
	over("Any"), over("All"), over("CountNonZero"), over("AnyKeep"), over("AllKeep"), over("CountNonZeroKeep"),
	floating(over("LogSumExp")), floating(over("LogSumExpKeep")),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "Var", "Std", "VarKeep"), x, num(g.N(2)), list(g.axis(x)))
	})),
	full(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "ArgMax", "ArgMin", "ArgMaxKeep", "ArgMinKeep"), x, list(g.axis(x)))
	}),
	floating(full(func(g *generator, x int) (Op, bool) {
		name := pick(g.Rand, "VarMean", "StdMean", "VarMeanKeep", "StdMeanKeep")
		return out(g.N(2), name, x, num(g.N(2)), list(g.axis(x)))
	})),
	full(func(g *generator, x int) (Op, bool) {
		return out(g.N(2), pick(g.Rand, "MaxIndexKeep", "MinIndexKeep", "MedianKeep", "ModeKeep"), x, num(g.axis(x)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		return out(g.N(2), pick(g.Rand, "MaxIndex", "MinIndex", "Median", "Mode"), x, num(g.axis(x)))
	}),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("Norm", x, flt(pick(g.Rand, 1.0, 2, 2, 3)), list(g.axis(x)))
	})),
	func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 2 {
			return none, false
		}
		return on("Trace", x)
	},
}

func over(name string) maker {
	return func(g *generator, x int) (Op, bool) {
		if name == "Prod" && g.numel(x) > 40 {
			return none, false
		}
		if g.numel(x) == 0 && name != "Sum" {
			return none, false
		}
		return on(name, x, g.axesOr(x))
	}
}

var scans = []maker{
	ranked(func(g *generator, x int) (Op, bool) { return on("CumSum", x, num(g.axis(x))) }),
	ranked(func(g *generator, x int) (Op, bool) { return on("CumSum", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return on("CumProd", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return out(g.N(2), "CumMax", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return out(g.N(2), "CumMin", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return out(0, "CumMax", x, num(g.axis(x))) }),
	floating(full(func(g *generator, x int) (Op, bool) { return on("LogCumSumExp", x, num(g.axis(x))) })),
	full(func(g *generator, x int) (Op, bool) { return out(g.N(2), "Sort", x, num(g.axis(x)), boolean(g.One(2))) }),
	full(func(g *generator, x int) (Op, bool) { return on("ArgSort", x, num(g.axis(x)), boolean(g.One(2))) }),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		return out(g.N(2), "TopK", x, num(g.In(1, g.dim(x, a))), num(a), boolean(g.One(2)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		return out(g.N(2), pick(g.Rand, "KthValue", "KthValueKeep"), x, num(g.In(1, g.dim(x, a))), num(a))
	}),
}

// index is a value of indices into n places: a leaf most often.
func (g *generator) index(n int, shape ...int) int {
	if g.One(3) {
		for v := len(g.prog.Ops) - 1; v >= 0; v-- {
			if g.info[v].index && !g.info[v].dead && g.prog.Ops[v].Leaf.Top <= n && slices.Equal(g.t(v).Shape(), shape) {
				return v
			}
		}
	}
	return g.places(n, shape...)
}

// list of indices along an axis.
func (g *generator) listOf(n int) int { return g.index(n, pick(g.Rand, 1, 2, 3, 5, 8)) }

func with(s []int, axis, n int) []int {
	s = slices.Clone(s)
	if axis < 0 {
		axis += len(s)
	}
	s[axis] = n
	return s
}

func (g *generator) merging() Arg { return Arg{Kind: Enum, N: g.N(6), S: "Merging"} }

var indexing = []maker{
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		return on("IndexSelect", x, num(a), val(g.listOf(g.dim(x, a))))
	}),
	full(gather), full(gather),
	full(func(g *generator, x int) (Op, bool) {
		o, _ := on("At", x)
		a := g.axis(x)
		o = g.atAxis(o, x, a, val(g.listOf(g.dim(x, a))))
		return o, true
	}),
	full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		i := g.listOf(g.dim(x, 0))
		j := g.index(g.dim(x, 1), g.t(i).Shape()...)
		o, _ := on("At", x, val(i), val(j))
		if g.rank(x) > 2 && g.One(2) {
			o.Args = append(o.Args, g.stepped(g.dim(x, 2)))
		}
		return o, true
	}),
	full(func(g *generator, x int) (Op, bool) {
		n := g.dim(x, 0)
		return on("At", x, Arg{Kind: Slice, List: []int{g.In(-n, n-1), g.In(-n, n-1), g.N(n)}})
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		s := with(g.t(x).Shape(), a, g.In(1, g.dim(x, a)+3))
		return on(pick(g.Rand, "ScatterAdd", "Scatter"), x, num(a), val(g.index(g.dim(x, a), s...)), val(g.of(x, s)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		s := with(g.t(x).Shape(), a, g.In(1, g.dim(x, a)+3))
		return on("ScatterReduce", x, num(a), val(g.index(g.dim(x, a), s...)), val(g.of(x, s)), g.merging(), boolean(g.One(2)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		i := g.listOf(g.dim(x, a))
		src := g.of(x, with(g.t(x).Shape(), a, g.numel(i)))
		switch g.N(3) {
		case 0:
			return on("IndexAdd", x, num(a), val(i), val(src), num(g.In(1, 2)))
		case 1:
			return on("IndexCopy", x, num(a), val(i), val(src))
		}
		return on("IndexReduce", x, num(a), val(i), val(src), g.merging(), boolean(g.One(2)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		return on("IndexFill", x, num(a), val(g.listOf(g.dim(x, a))), num(g.In(-1, 2)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		o, _ := on("WithAt", x, g.scalar(x))
		return g.anyIndex(o, x), true
	}),
	full(func(g *generator, x int) (Op, bool) { return on("WithAt", x, g.scalar(x), val(g.exactMask(x))) }),
	full(func(g *generator, x int) (Op, bool) { return on("Take", x, val(g.index(g.numel(x), g.In(1, 9)))) }),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		s := with(slices.Repeat([]int{1}, g.rank(x)), a, g.In(1, 4))
		return on("TakeAlong", x, num(a), val(g.index(g.dim(x, a), s...)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 1 {
			return none, false
		}
		return on("SearchSorted", x, val(g.same(x)), boolean(g.One(2)))
	}),
}

func (g *generator) exactMask(x int) int { return g.typedLeaf(dtype.Bool, g.t(x).Shape()) }

// anyIndex appends indices of a random form.
func (g *generator) anyIndex(o Op, x int) Op {
	n := g.dim(x, 0)
	switch g.N(4) {
	case 0:
		o.Args = append(o.Args, num(g.In(-n, n-1)))
	case 1:
		o.Args = append(o.Args, g.stepped(n))
	case 2:
		o.Args = append(o.Args, val(g.listOf(n)))
	default:
		o.Args = append(o.Args, Arg{Kind: Dots}, num(g.N(g.dim(x, -1))))
	}
	return o
}

func gather(g *generator, x int) (Op, bool) {
	s := g.t(x).Shape()
	a := g.axis(x)
	for i := range s {
		if g.One(3) {
			s[i] = g.In(1, s[i])
		}
	}
	s = with(s, a, g.In(1, 9))
	return on("Gather", x, num(a), val(g.index(g.dim(x, a), s...)))
}

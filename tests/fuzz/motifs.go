package fuzz

import "slices"

// Kernels that keep a value inside themselves, for a reduction and for its user, go wrong where movement stands around it.
// Such chains hardly come by chance, so some are drawn as a whole.

// motifs are chains of families: m moves, s is kept in between, r reduces, c scans, e costs much, j joins, b meets another
// value, o the one that the chain began with, w a small leaf, n takes one of an axis, x expands, i gathers, g asks for
// gradients, d is one of the ops beside the common ones, l one of matrices.
var motifs = []string{"jonxwig", "jonxwig", "jonxwbg", "jonxwbg", "jonxig", "jmmowbg", "mmobg", "msm", "mmsm", "mmsm", "mmsm", "sms", "ssm", "msmm", "mmrbm", "mmrm", "smr", "eccm", "eccm", "ecm", "emsm",
	"jmmi", "bjmmbi", "bjmmbi", "bjmmi", "mjmb", "dg", "dg", "mdg", "dmg", "dmmg", "ddg", "lg", "mlmg", "mmdmm", "mmdm"}

var motifFamilies = map[byte][]maker{
	'm': coreMoves, 's': staged, 'r': reductions, 'c': running, 'e': costly, 'j': joined, 'b': {arithmetic}, 'i': {full(gather)},
	'd': slices.Concat(more, losses, norms, signals, picking, arranging), 'l': linear,
	'n': {first, first, full(narrow)}, 'x': {widened}, 'w': {weighed}, 'g': {(*generator).gradientsOf},
}

// coreMoves are the ways to move that everything else is made of.
var coreMoves = []maker{
	func(g *generator, x int) (Op, bool) { return on("Permute", x, list(g.Perm(g.rank(x))...)) },
	func(g *generator, x int) (Op, bool) { return on("Reshape", x, list(g.refactor(g.numel(x))...)) },
	ranked(func(g *generator, x int) (Op, bool) { return on("Flip", x, list(g.axis(x))) }),
	ranked(func(g *generator, x int) (Op, bool) { return on("Flip", x, list(g.axis(x))) }),
	ranked(roll), ranked(roll), ranked(repeat), ranked(repeat), full(narrow),
	first, widened,
	ranked(func(g *generator, x int) (Op, bool) {
		lo, hi := g.paddings(x)
		return on("Pad", x, slice(lo...), slice(hi...))
	}),
	full(func(g *generator, x int) (Op, bool) {
		o, _ := on("At", x)
		a := g.axis(x)
		return g.atAxis(o, x, a, g.stepped(g.dim(x, a))), true
	}),
}

// first takes one of an axis.
var first = full(func(g *generator, x int) (Op, bool) { return on("Narrow", x, num(g.axis(x)), num(0), num(1)) })

// widened expands the axes of size 1.
func widened(g *generator, x int) (Op, bool) {
	s := g.t(x).Shape()
	for i, n := range s {
		if n == 1 {
			s[i] = g.In(2, 5)
		}
	}
	return on("Expand", x, list(s...))
}

// weighed meets a new leaf of the last axes, or of none.
func weighed(g *generator, x int) (Op, bool) {
	s := g.t(x).Shape()
	return on(pick(g.Rand, "Add", "Mul", "Sub"), x, val(g.typedLeaf(g.kind(x), s[g.N(len(s)+1):])))
}

var running = []maker{
	full(func(g *generator, x int) (Op, bool) { return on("CumSum", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return on("CumProd", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return out(0, "CumMax", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return out(0, "CumMin", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return out(0, "Sort", x, num(g.axis(x)), boolean(g.One(2))) }),
}

var costly = []maker{
	floating(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "Sin", "Exp", "Tanh", "Sigmoid", "Cos"), x)
	}),
	floating(func(g *generator, x int) (Op, bool) { return on("Softplus", x, flt(1)) }),
}

var joined = []maker{
	func(g *generator, x int) (Op, bool) {
		return Op{Name: "Stack", Args: []Arg{num(g.N(g.rank(x) + 1)), vals(x, x)}}, true
	},
	func(g *generator, x int) (Op, bool) {
		return Op{Name: "Stack", Args: []Arg{num(0), vals(x, g.same(x))}}, true
	},
	ranked(func(g *generator, x int) (Op, bool) {
		return Op{Name: "Cat", Args: []Arg{num(g.axis(x)), vals(x, x)}}, true
	}),
}

// staged are ops whose results a kernel may keep in between.
var staged = []maker{
	floating(full(func(g *generator, x int) (Op, bool) { return on("Softmax", x, num(g.axis(x))) })),
	floating(full(func(g *generator, x int) (Op, bool) { return on("LogSoftmax", x, num(g.axis(x))) })),
	ranked(func(g *generator, x int) (Op, bool) { return on("CumSum", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return on("CumProd", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return out(0, "CumMax", x, num(g.axis(x))) }),
	full(func(g *generator, x int) (Op, bool) { return out(0, "CumMin", x, num(g.axis(x))) }),
	full(against("SumKeep")), full(against("MaxKeep")), full(against("MinKeep")), full(against("MeanKeep")),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("LayerNorm", x, Arg{Kind: Nil}, Arg{Kind: Nil}, flt(0.125), list(g.dim(x, -1)))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		if o, _ := on(pick(g.Rand, "Softplus", "ELU"), x, flt(1)); g.add(o) {
			return against("SumKeep")(g, len(g.prog.Ops)-1)
		}
		return none, false
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		if o, _ := on(pick(g.Rand, "Sin", "Exp", "Tanh"), x); g.add(o) {
			return out(0, "CumMax", len(g.prog.Ops)-1, num(g.axis(x)))
		}
		return none, false
	})),
}

// against puts a value beside its own reduction.
func against(name string) maker {
	return func(g *generator, x int) (Op, bool) {
		o, _ := on(name, x, list(g.axis(x)))
		if !g.add(o) {
			return none, false
		}
		return on(pick(g.Rand, "Sub", "Mul", "Add"), x, val(len(g.prog.Ops)-1))
	}
}

// motif adds all of a chain but its last op, which it proposes.
func motif(g *generator, x int) (Op, bool) {
	chain := pick(g.Rand, motifs...)
	g.inMotif = true
	if g.One(3) {
		x = g.newLeaf(pick(g.Rand, nil, nil, []int{1}, []int{2}, []int{3}))
	}
	origin := x
	for i := range chain {
		if chain[i] == 'o' {
			o, _ := on(pick(g.Rand, "Mul", "Mul", "Add", "Sub"), origin, val(x))
			if !g.add(o) {
				return none, false
			}
			x = len(g.prog.Ops) - 1
			continue
		}
		o, ok := pick(g.Rand, motifFamilies[chain[i]]...)(g, x)
		for tries := 0; !ok && tries < 4; tries++ {
			o, ok = pick(g.Rand, motifFamilies[chain[i]]...)(g, x)
		}
		if !ok || i == len(chain)-1 {
			return o, ok
		}
		if !g.add(o) {
			return none, false
		}
		x = len(g.prog.Ops) - 1
	}
	return none, false
}

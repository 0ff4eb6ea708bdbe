package fuzz

// Kernels that keep a value inside themselves, for a reduction and for its user, go wrong where movement stands around it.
// Such chains hardly come by chance, so some are drawn as a whole.

// motifs are chains of families: m moves, s is staged, r reduces.
var motifs = []string{"msm", "msm", "mmsm", "mmsm", "sms", "ssm", "msmm", "sm", "mrm", "mmrm", "smr", "jmm", "jmmi", "mjm"}

var motifFamilies = map[byte][]maker{
	'm': moves, 's': staged, 'r': reductions, 'j': joins, 'i': {gather},
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
	for i := range chain {
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

package fuzz

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
)

// arranging are the ways to move elements that coreMoves do not have, and to join and to cut.
var arranging = []maker{
	full(func(g *generator, x int) (Op, bool) {
		return on("ExpandAs", x, val(g.newLeaf(g.widerShape(x))))
	}),
	full(func(g *generator, x int) (Op, bool) {
		return Op{Name: "Broadcast", Args: []Arg{vals(x, g.like(x))}, Out: g.N(2)}, true
	}),
	full(func(g *generator, x int) (Op, bool) {
		n := g.In(1, 4)
		return out(g.N(n), "SplitEvenly", x, num(g.axis(x)), num(n))
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		n := g.In(1, 3)
		return out(g.N((g.dim(x, a)+n-1)/n), "SplitEvery", x, num(a), num(n))
	}),
	ranked(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		n := g.dim(x, a)
		return out(g.N(3), "SplitAt", x, num(a), list(g.In(-n, n), g.In(0, n)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		return out(g.N(g.dim(x, a)), "Unbind", x, num(a))
	}),
	ranked(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		sizes := g.refactor(g.dim(x, a))
		if g.One(3) && g.dim(x, a) > 0 {
			sizes[g.N(len(sizes))] = -1
		}
		return on("Unflatten", x, num(a), list(sizes...))
	}),
	func(g *generator, x int) (Op, bool) { return on("AtLeast", x, num(g.In(1, 3))) },
	ranked(func(g *generator, x int) (Op, bool) { return on("Diag", x) }),
	ranked(func(g *generator, x int) (Op, bool) {
		p := g.Perm(g.rank(x) + 1)
		return on("DiagMatrix", x, num(g.In(-2, 2)), num(p[0]), num(p[1]))
	}),
	ranked(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		p := g.Perm(g.rank(x))
		return on("DiagonalOf", x, num(g.In(-2, 2)), num(p[0]), num(p[1]))
	}),
	ranked(func(g *generator, x int) (Op, bool) { return on("T", x) }),
	func(g *generator, x int) (Op, bool) {
		name := pick(g.Rand, "HStack", "VStack", "DStack")
		return Op{Name: name, Args: []Arg{vals(x, g.same(x))}}, true
	},
	func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 1 {
			x = g.newLeaf([]int{g.In(0, 5)})
		}
		y := g.of(x, []int{g.In(1, 4)})
		if g.One(2) {
			return Op{Name: pick(g.Rand, "Meshgrid", "MeshgridXY"), Args: []Arg{vals(x, y)}, Out: g.N(2)}, true
		}
		return Op{Name: "CartesianProduct", Args: []Arg{vals(x, y)}}, true
	},
	func(g *generator, x int) (Op, bool) {
		if g.rank(x) > 2 {
			return none, false
		}
		return Op{Name: "BlockDiag", Args: []Arg{vals(x, g.of(x, []int{g.In(1, 3), g.In(1, 3)}))}}, true
	},
	func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		return on("ChannelShuffle", x, num(g.groups(g.dim(x, 1))))
	},
	ranked(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "FFTShift", "IFFTShift"), x, list(g.someAxes(x)...))
	}),
	full(func(g *generator, x int) (Op, bool) { // what Im2Col makes, Fold can take
		if g.rank(x) != 4 {
			return none, false
		}
		p := Arg{Kind: PoolA, List: []int{g.In(1, 3), g.In(1, 2), g.N(2), g.In(1, 2), 2, 0, 0}}
		if o, _ := on("Im2Col", x, p); !g.add(o) {
			return none, false
		}
		return on("Fold", len(g.prog.Ops)-1, slice(g.dim(x, 2), g.dim(x, 3)), p)
	}),
	func(g *generator, x int) (Op, bool) {
		return Op{Name: "TriangleIndices", Args: []Arg{num(g.In(0, 5)), num(g.In(0, 5)), num(g.In(-3, 3)), boolean(g.One(2))}}, true
	},
	func(g *generator, x int) (Op, bool) {
		return Op{Name: pick(g.Rand, "OnesLike", "ZerosLike"), Args: []Arg{val(x)}}, true
	},
	func(g *generator, x int) (Op, bool) {
		return Op{Name: "FullLike", Args: []Arg{val(x), g.scalar(x)}}, true
	},
	func(g *generator, x int) (Op, bool) {
		return Op{Name: pick(g.Rand, "Ones", "Zeros"), Args: []Arg{list(g.shape()...)}}, true
	},
	func(g *generator, x int) (Op, bool) { return Op{Name: "Scalar", Args: []Arg{g.scalar(x)}}, true },
	func(g *generator, x int) (Op, bool) {
		if g.One(2) {
			return Op{Name: "Arange", Args: []Arg{num(g.N(20))}}, true
		}
		from, step := g.In(-4, 4), pick(g.Rand, 1, 2, 3, 0.5, 0.1, -1, -0.25)
		return Op{Name: "ArangeOf", Args: []Arg{typ(pick(g.Rand, g.kinds...)), num(from), flt(float64(from) + step*float64(g.N(9))), flt(step)}}, true
	},
	func(g *generator, x int) (Op, bool) {
		return Op{Name: "LinspaceOf", Args: []Arg{typ(pick(g.Rand, g.kinds...)), flt(float64(g.In(-4, 4))), flt(float64(g.In(-4, 9)) / 2), num(g.N(9))}}, true
	},
	func(g *generator, x int) (Op, bool) {
		return Op{Name: "Linspace", Args: []Arg{flt(float64(g.In(-4, 4))), flt(float64(g.In(-4, 9)) / 2), num(g.N(9))}}, true
	},
}

// widerShape is one that x can be expanded to.
func (g *generator) widerShape(x int) []int {
	s := g.t(x).Shape()
	for i, n := range s {
		if n == 1 {
			s[i] = g.In(1, 4)
		}
	}
	if g.One(3) {
		s = slices.Insert(s, 0, g.In(1, 3))
	}
	return s
}

// picking are ops on places and on masks.
var picking = []maker{
	full(func(g *generator, x int) (Op, bool) {
		k := g.In(1, min(2, g.rank(x)))
		n := g.In(1, 5)
		var at []int
		for i := range k {
			at = append(at, g.index(g.dim(x, i), n))
		}
		values := g.of(x, append([]int{n}, g.t(x).Shape()[k:]...))
		return on("IndexPut", x, Arg{Kind: ValsSl, List: at}, val(values), boolean(g.One(2)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		n := g.numel(x)
		if g.risky && g.One(2) { // too few where the mask has many
			n = max(1, n/2)
		}
		return on("MaskedScatter", x, val(g.mask(x)), val(g.of(x, []int{n})))
	}),
	func(g *generator, x int) (Op, bool) { return on("IsIn", x, val(g.of(x, []int{g.In(0, 4)}))) },
	full(func(g *generator, x int) (Op, bool) {
		edges := g.leaf(&Leaf{Type: g.kind(x), Shape: []int{g.In(2, 5)}, Fill: Rising})
		w := Arg{Kind: Nil}
		if g.One(3) {
			w = val(g.same(x))
		}
		return on("Histogram", x, val(edges), w)
	}),
	full(floating(func(g *generator, x int) (Op, bool) {
		lo, hi := g.In(-2, 1), g.In(-1, 3)
		if g.One(3) {
			hi = lo
		}
		return on("HistogramEdges", x, num(g.In(1, 5)), flt(float64(lo)), flt(float64(hi)), boolean(g.One(2)))
	})),
	full(floating(func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 2 {
			return none, false
		}
		ids := g.index(g.dim(x, 0), g.shortShape()...)
		return on("Embedding", x, val(ids), g.embedding(x))
	})),
	full(floating(func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 2 {
			return none, false
		}
		mode, weights := g.N(3), Arg{Kind: Nil}
		bags := Arg{Kind: Enum, N: mode, S: "BagMode"}
		if g.One(2) {
			s := []int{g.In(1, 3), g.In(1, 4)}
			if mode == 0 && g.One(2) {
				weights = val(g.of(x, s))
			}
			return on("EmbeddingBag", x, val(g.index(g.dim(x, 0), s...)), Arg{Kind: Nil}, weights, bags, g.embedding(x))
		}
		offsets := g.leaf(&Leaf{Type: dtype.I32, Shape: []int{3}, Fill: Rising})
		return on("EmbeddingBag", x, val(g.index(g.dim(x, 0), 5)), val(offsets), weights, bags, g.embedding(x))
	})),
	full(floating(func(g *generator, x int) (Op, bool) {
		o, ok := pooled("MaxPoolIndex")(g, x)
		if !ok || !g.add(Op{Name: o.Name, Args: o.Args}) {
			return none, false
		}
		y := len(g.prog.Ops) - 1
		o.Out = 1
		if !g.add(o) {
			return none, false
		}
		return on("MaxUnpool", y, val(len(g.prog.Ops)-1), o.Args[1])
	})),
}

// embedding are options that change little most often.
func (g *generator) embedding(x int) Arg {
	a := Arg{Kind: EmbedA, List: []int{-1, 0}, Reals: []float64{0, 0}}
	if g.One(3) {
		a.List[0] = g.N(g.dim(x, 0))
	}
	if g.One(4) {
		a.List[1] = 1
	}
	if g.One(4) {
		a.Reals[0], a.Reals[1] = 1.5, pick(g.Rand, 0, 1.0, 2)
	}
	return a
}

// shortShape has one axis or two, now and then none.
func (g *generator) shortShape() []int {
	return pick(g.Rand, []int{}, []int{g.In(1, 5)}, []int{g.In(1, 5)}, []int{g.In(1, 3), g.In(1, 4)}, []int{0})
}

// reading are ops whose result's shape depends on values: they read them at once.
var reading = []maker{
	func(g *generator, x int) (Op, bool) { return on("NonZero", x) },
	func(g *generator, x int) (Op, bool) {
		op, ok := on("Keccak", x, Arg{Kind: Enum, N: g.N(6), S: "KeccakKind"})
		return op, ok && !g.kind(x).IsFloat() // devices differ in the last bits of floats, and in the sign of zero
	},
	func(g *generator, x int) (Op, bool) { return on("MaskedSelect", x, val(g.mask(x))) },
	func(g *generator, x int) (Op, bool) {
		return out(g.N(3), pick(g.Rand, "Unique", "UniqueRuns"), x)
	},
	ranked(func(g *generator, x int) (Op, bool) {
		return out(g.N(3), pick(g.Rand, "UniqueAlong", "UniqueRunsAlong"), x, num(g.axis(x)))
	}),
	func(g *generator, x int) (Op, bool) {
		w := Arg{Kind: Nil}
		ids := g.places(g.In(1, 6), g.In(0, 9))
		if g.kind(x).IsFloat() && g.One(2) {
			w = val(g.of(x, g.t(ids).Shape()))
		}
		return on("BinCount", ids, w, num(g.N(8)))
	},
	func(g *generator, x int) (Op, bool) {
		n := g.In(1, 5)
		ids := g.index(n, g.shortShape()...)
		if g.One(2) {
			return on("OneHotMax", ids)
		}
		return on("OneHot", ids, num(pick(g.Rand, n, n+2)))
	},
	ranked(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		return on("RepeatEach", x, val(g.places(4, pick(g.Rand, 1, g.dim(x, a), g.dim(x, a)))), num(a))
	}),
}

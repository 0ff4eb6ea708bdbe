package fuzz

import (
	"github.com/weft-ml/weft/dtype"
)

// lossOptions are a reduction, and now and then a weight.
func (g *generator) lossOptions(weight ...int) Arg {
	a := Arg{Kind: LossA, N: g.N(3)}
	if len(weight) > 0 && g.One(3) {
		a.List = []int{g.filled(weight[0], Positive, weight[1:]...)}
	}
	return a
}

// filled is a new leaf of x's type.
func (g *generator) filled(x int, f Fill, shape ...int) int {
	return g.leaf(&Leaf{Type: g.kind(x), Shape: shape, Fill: f})
}

// sided is a leaf of 1 and −1, now and then 0.
func (g *generator) sided(x int, shape []int) Arg { return val(g.filled(x, Signs, shape...)) }

// plain takes values of any shape, full ones most often.
func plain(f maker) maker {
	return func(g *generator, x int) (Op, bool) {
		if (g.rank(x) == 0 || g.numel(x) == 0) && !g.sparse && !g.One(4) {
			return none, false
		}
		return f(g, x)
	}
}

var losses = []maker{
	floating(plain(func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		return on("BCE", g.filled(x, Shares, s...), val(g.filled(x, Shares, s...)), g.lossOptions(x))
	})),
	floating(plain(func(g *generator, x int) (Op, bool) { // of a value that is made one between 0 and 1
		if o, _ := on("Sigmoid", x); !g.add(o) {
			return none, false
		}
		return on("BCE", len(g.prog.Ops)-1, val(g.filled(x, Shares, g.t(x).Shape()...)), g.lossOptions())
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		l := g.lossOptions(append([]int{x}, s...)...)
		if g.One(3) {
			l.List = []int{-1, g.filled(x, Positive, s[len(s)-1])}
		}
		return on("BCEWithLogits", x, val(g.filled(x, Shares, s...)), l)
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) > 3 {
			return none, false
		}
		axis := min(1, g.rank(x)-1)
		n := g.dim(x, axis)
		s := g.t(x).Shape()
		s = append(s[:axis], s[axis+1:]...)
		l := g.lossOptions(x, n)
		if g.One(4) {
			l.Reals = []float64{float64(g.N(n))}
		}
		if axis == g.rank(x)-1 && g.One(2) {
			l.S = "last"
		}
		o, _ := on("NLL", x, val(g.index(n, s...)), l)
		if g.One(2) {
			o.Name = "CrossEntropy"
			if g.One(2) {
				o.Args[2].X = 0.25
			}
		}
		return o, true
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		return on("CosineEmbedding", x, val(g.same(x)), g.sided(x, s[:len(s)-1]), flt(pick(g.Rand, 0, 0.5)), g.lossOptions())
	})),
	floating(plain(func(g *generator, x int) (Op, bool) {
		return on("HingeEmbedding", x, g.sided(x, g.t(x).Shape()), flt(1), g.lossOptions())
	})),
	floating(plain(func(g *generator, x int) (Op, bool) {
		return on("MarginRanking", x, val(g.same(x)), g.sided(x, g.t(x).Shape()), flt(0.5), g.lossOptions())
	})),
	floating(plain(func(g *generator, x int) (Op, bool) {
		return on("SoftMargin", x, g.sided(x, g.t(x).Shape()), g.lossOptions())
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		return on("MultiLabelSoftMargin", x, val(g.filled(x, Shares, s...)), g.lossOptions(x, s[len(s)-1]))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) > 2 {
			return none, false
		}
		s := g.t(x).Shape()
		n := s[len(s)-1]
		return on("MultiMargin", x, val(g.index(n, s[:len(s)-1]...)), flt(float64(g.In(1, 2))), flt(1), g.lossOptions(x, n))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) > 2 {
			return none, false
		}
		return on("MultiLabelMargin", x, val(g.index(g.dim(x, g.rank(x)-1), g.t(x).Shape()...)), g.lossOptions())
	})),
	floating(plain(func(g *generator, x int) (Op, bool) {
		return on("PoissonNLL", x, val(g.filled(x, g.counts(), g.t(x).Shape()...)), boolean(true), boolean(g.One(2)), flt(0.125), g.lossOptions())
	})),
	floating(plain(func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		return on("PoissonNLL", g.filled(x, Positive, s...), val(g.filled(x, Positive, s...)), boolean(false), boolean(g.One(2)), flt(0.125), g.lossOptions())
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		v := s
		switch g.N(3) {
		case 0:
			v = with(s, -1, 1)
		case 1:
			v = s[:len(s)-1]
		}
		return on("GaussianNLL", x, val(g.same(x)), val(g.filled(x, Positive, v...)), boolean(g.One(2)), flt(0.125), g.lossOptions())
	})),
	floating(plain(func(g *generator, x int) (Op, bool) {
		log := g.One(2)
		f := Shares
		if log {
			f = Quarters
		}
		l := g.lossOptions()
		l.N = g.N(4)
		return on("KLDiv", x, val(g.filled(x, f, g.t(x).Shape()...)), boolean(log), l)
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		k := Arg{Kind: TripletA, N: g.N(2), Reals: []float64{1, pick(g.Rand, 1.0, 2, 2, 3), 0.125}}
		return on("TripletMargin", x, val(g.same(x)), val(g.same(x)), k, g.lossOptions())
	})),
	floating(func(g *generator, x int) (Op, bool) { // log-probabilities
		if !g.One(2) {
			return none, false
		}
		time, n, classes, length := g.In(1, 4), g.In(1, 2), g.In(2, 4), g.In(0, 2)
		if o, _ := on("LogSoftmax", g.of(x, []int{time, n, classes}), num(2)); !g.add(o) {
			return none, false
		}
		t := len(g.prog.Ops) - 1
		targets, inputs, lengths := g.index(classes, n, length), g.index(time+1, n), g.index(length+1, n)
		return on("CTC", t, val(targets), val(inputs), val(lengths), Arg{Kind: CTCA, List: []int{g.N(classes), g.N(3), g.N(2)}})
	}),
}

// counts is a fill of small whole numbers, or of positive ones.
func (g *generator) counts() Fill { return pick(g.Rand, Positive, Counted, Halves) }

var norms = []maker{
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		n := g.dim(x, 1)
		w, b := Arg{Kind: Nil}, Arg{Kind: Nil}
		if g.One(2) {
			w = val(g.of(x, []int{n}))
		}
		if g.One(2) {
			b = val(g.of(x, []int{n}))
		}
		return on("BatchNorm", x, val(g.of(x, []int{n})), val(g.filled(x, Positive, n)), w, b, flt(0.125))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		return out(g.N(2), "ChannelMoments", x, num(g.N(2)))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		w := Arg{Kind: Nil}
		if g.rank(x) > 1 && g.One(2) {
			w = val(g.of(x, []int{g.dim(x, 1)}))
		}
		return on("InstanceNorm", x, w, w, flt(0.125))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("LocalResponseNorm", x, num(g.In(1, 4)), flt(0.5), flt(pick(g.Rand, 0.75, 0.5, 1)), flt(1))
	})),
	floating(plain(func(g *generator, x int) (Op, bool) {
		n := 1
		if g.rank(x) > 1 && g.One(2) {
			n = g.dim(x, 1)
		}
		return on("PReLU", x, val(g.of(x, []int{n})))
	})),
	floating(func(g *generator, x int) (Op, bool) {
		p := pick(g.Rand, 0, 1, 2, 3, inf, -inf, 0.5)
		return on(pick(g.Rand, "NormKeep", "Norm"), x, flt(p), g.axesOr(x))
	}),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "MaxPool2D", "AvgPool2D"), x, num(g.In(1, 3)))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		o, ok := pooled("LpPool")(g, x)
		o.Args = append([]Arg{o.Args[0], flt(pick(g.Rand, 1.0, 2, 3))}, o.Args[1:]...)
		return o, ok
	})),
	full(func(g *generator, x int) (Op, bool) {
		sizes := list(g.In(1, 5))
		if g.rank(x) > 1 && g.One(2) {
			sizes.List = append(sizes.List, g.In(1, 4))
		}
		if g.One(2) {
			return out(g.N(2), "AdaptiveMaxPool", x, sizes)
		}
		return on("AdaptiveAvgPool", x, sizes)
	}),
	floating(full(func(g *generator, x int) (Op, bool) {
		sizes := []int{g.In(1, 7)}
		if g.rank(x) > 1 && g.One(2) {
			sizes = append(sizes, g.In(1, 6))
		}
		r := Arg{Kind: ResizeA, List: []int{g.N(5), g.N(2), g.N(2)}}
		if g.One(3) {
			for range sizes {
				r.Reals = append(r.Reals, pick(g.Rand, 0, 0.5, 1.5, 2))
			}
		}
		return on("Resize", x, slice(sizes...), r)
	})),
	floating(func(g *generator, x int) (Op, bool) { // positions of quarters, some outside
		n := g.In(1, 2)
		y := g.of(x, []int{n, g.In(1, 2), g.In(1, 4), g.In(1, 4)})
		grid := g.leaf(&Leaf{Type: g.kind(x), Shape: []int{n, g.In(1, 3), g.In(1, 3), 2}, Fill: pick(g.Rand, Smooth, Smooth, Quarters, Halves)})
		return on("GridSample", y, val(grid), Arg{Kind: SampleA, List: []int{pick(g.Rand, 0, 2, 2, 3), g.N(3), g.N(2)}})
	}),
	floating(func(g *generator, x int) (Op, bool) {
		n := g.In(1, 2)
		return Op{Name: "AffineGrid", Args: []Arg{val(g.of(x, []int{n, 2, 3})), slice(n, 1, g.In(1, 3), g.In(1, 4)), boolean(g.One(2))}}, true
	}),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		return on("ChannelDropout", x, flt(pick(g.Rand, 0.0, 0, 1)))
	})),
}

// drawn are random numbers: the same on each device.
var drawn = []maker{
	func(g *generator, x int) (Op, bool) {
		seed := Arg{Kind: SeedA, N: g.N(1 << 20)}
		s := list(g.shape()...)
		switch g.N(11) {
		case 10:
			return Op{Name: "RandomBits", Args: []Arg{seed, s}}, true
		case 8:
			lo := g.In(-9, 9)
			return Op{Name: "RandIntOf", Args: []Arg{seed, typ(pick(g.Rand, dtype.I32, dtype.U8, dtype.I64, dtype.I8)), num(lo), num(lo + g.In(1, 99)), s}}, true
		case 9:
			return Op{Name: "Normal", Args: []Arg{seed, num(g.In(-2, 2)), flt(0.5), s}}, true
		case 0:
			return Op{Name: "Rand", Args: []Arg{seed, s}}, true
		case 1:
			return Op{Name: "Randn", Args: []Arg{seed, s}}, true
		case 2:
			lo := g.In(-9, 9)
			return Op{Name: "RandInt", Args: []Arg{seed, num(lo), num(lo + g.In(1, 99)), s}}, true
		case 3:
			return Op{Name: "RandPerm", Args: []Arg{seed, num(g.N(30))}}, true
		case 4:
			return Op{Name: "Uniform", Args: []Arg{seed, num(g.In(-2, 0)), num(g.In(1, 3)), s}}, true
		case 5:
			return Op{Name: pick(g.Rand, "GlorotUniform", "ScaledUniform"), Args: []Arg{seed, list(g.In(1, 4), g.In(1, 5))}}, true
		case 6:
			return Op{Name: pick(g.Rand, "KaimingUniform", "KaimingNormal"), Args: []Arg{seed, flt(0.5), list(g.In(1, 4), g.In(1, 5))}}, true
		}
		return Op{Name: "RandOf", Args: []Arg{seed, typ(pick(g.Rand, dtype.F32, dtype.F16, dtype.BF16, dtype.F64)), s}}, true
	},
	floating(func(g *generator, x int) (Op, bool) {
		seed := Arg{Kind: SeedA, N: g.N(1 << 20)}
		switch g.N(9) {
		case 6:
			return on("Bernoulli", g.filled(x, Shares, g.t(x).Shape()...), seed)
		case 7:
			return on("AlphaDropout", x, seed, flt(pick(g.Rand, 0.25, 0.5)))
		case 8:
			return on("GumbelSoftmax", x, seed, num(g.axis(x)), Arg{Kind: GumbelA, N: g.N(2), X: 0.5})
		case 4:
			return on("Categorical", x, seed, num(g.axis(x)))
		case 5:
			k := g.In(1, 6)
			n := pick(g.Rand, []int{k}, []int{g.In(1, 4), k})
			return on("Multinomial", g.filled(x, Positive, n...), seed, num(g.In(0, k)), Arg{Kind: SamplingA, N: g.N(2)})
		case 0:
			return Op{Name: pick(g.Rand, "RandLike", "RandnLike"), Args: []Arg{val(x), seed}}, true
		case 1:
			return on("RReLU", x, seed, flt(0.125), flt(pick(g.Rand, 0.125, 0.5)))
		case 2:
			return on("ChannelDropout", x, seed, flt(0.5))
		}
		return on("Dropout", x, seed, flt(pick(g.Rand, 0.25, 0.5)))
	}),
}

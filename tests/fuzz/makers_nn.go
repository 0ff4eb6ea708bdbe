package fuzz

import (
	"github.com/weft-ml/weft/dtype"
)

var casts = []maker{
	to, to, to,
	func(g *generator, x int) (Op, bool) {
		d := g.kind(x)
		var same []dtype.DType
		for _, o := range dtype.All {
			if o.Size() == d.Size() && o != dtype.Bool && o != d {
				same = append(same, o)
			}
		}
		if d == dtype.Bool || len(same) == 0 || !g.info[x].fixed {
			return none, false
		}
		return on("Bitcast", x, typ(pick(g.Rand, same...)))
	},
}

func to(g *generator, x int) (Op, bool) {
	d := pick(g.Rand, dtype.F32, dtype.F32, dtype.I32, pick(g.Rand, g.kinds...), dtype.Bool)
	if len(g.kinds) > 4 {
		d = pick(g.Rand, dtype.All...)
	}
	return on("To", x, typ(d))
}

var products = []maker{
	ranked(func(g *generator, x int) (Op, bool) {
		return on("MatMul", x, val(g.of(x, []int{g.dim(x, -1), g.size()})))
	}),
	ranked(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		return on("MatMul", x, val(g.of(x, append(g.t(x).Shape()[:g.rank(x)-2], g.dim(x, -1), g.In(1, 9)))))
	}),
	ranked(func(g *generator, x int) (Op, bool) {
		return on("Linear", x, val(g.of(x, []int{g.In(1, 9), g.dim(x, -1)})), Arg{Kind: Nil})
	}),
	func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 2 {
			return none, false
		}
		a, b := g.dim(x, 0), g.dim(x, 1)
		switch g.N(5) {
		case 0:
			return einsum("ij,jk->ik", x, g.of(x, []int{b, g.In(1, 9)}))
		case 1:
			return einsum("ij,kj->ki", x, g.of(x, []int{g.In(1, 5), b}))
		case 2:
			return einsum("ij,ij->j", x, g.of(x, []int{a, b}))
		case 3:
			return einsum("ij,k->jki", x, g.of(x, []int{g.In(1, 4)}))
		}
		return einsum("ij->ji", x)
	},
	convolution, convolution, convolution, wideConvolution,
	full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 3 {
			return none, false
		}
		n := g.rank(x) - 2
		o := []int{g.In(1, 3), g.N(2), g.In(1, 2), g.groups(g.dim(x, 1)), 0}
		w := []int{g.dim(x, 1), pick(g.Rand, 1, 2, 3)}
		for range n {
			w = append(w, g.In(1, 3))
		}
		if o[0] > 1 && g.One(2) {
			o[4] = 1
		}
		return on("ConvTranspose", x, val(g.of(x, w)), Arg{Kind: Nil}, Arg{Kind: ConvA, List: o})
	}),
	full(pooled("MaxPool")), full(pooled("AvgPool")), full(pooled("SumPool")),
	full(func(g *generator, x int) (Op, bool) {
		o, ok := pooled("MaxPoolIndex")(g, x)
		o.Out = g.N(2)
		return o, ok
	}),
	full(func(g *generator, x int) (Op, bool) { return on("Outer", x, val(g.of(x, []int{g.In(1, 5)}))) }),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		return Op{Name: "ScaledDotProduct", Args: []Arg{val(x), val(g.same(x)), val(g.same(x)), {Kind: AttnA, N: g.N(2)}}}, true
	})),
	floating(func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 2 || g.dim(x, 0) != g.dim(x, 1) || g.dim(x, 0) > 5 {
			return none, false
		}
		return on(pick(g.Rand, "Det", "Inv"), x)
	}),
}

func einsum(formula string, ts ...int) (Op, bool) {
	return Op{Name: "Einsum", Args: []Arg{{Kind: Text, S: formula}, vals(ts...)}}, true
}

// groups divides the channels.
func (g *generator) groups(channels int) int {
	if n := pick(g.Rand, 1, 1, 1, 2, 3, channels); n > 0 && channels%n == 0 {
		return n
	}
	return 1
}

var convolution = full(func(g *generator, x int) (Op, bool) {
	if g.rank(x) < 3 || g.rank(x) > 4 {
		return none, false
	}
	c := g.dim(x, 1)
	o := []int{g.In(1, 2), g.N(3), pick(g.Rand, 1, 1, 2), g.groups(c), 0}
	w := []int{o[3] * pick(g.Rand, 1, 2, 3, 5), c / o[3]}
	for range g.rank(x) - 2 {
		w = append(w, g.In(1, 3))
	}
	b := Arg{Kind: Nil}
	if g.One(3) {
		b = val(g.of(x, []int{w[0]}))
	}
	return on(pick(g.Rand, "Conv", "Conv2D"), x, val(g.of(x, w)), b, Arg{Kind: ConvA, List: o})
})

// wideConvolution has so many channels that they are cut into blocks, which most often do not divide them.
func wideConvolution(g *generator, _ int) (Op, bool) {
	if !g.One(3) {
		return none, false
	}
	in, outs, side, k := pick(g.Rand, 17, 26, 33, 50, 65, 100), pick(g.Rand, 8, 16, 17, 33, 40), pick(g.Rand, 3, 4, 5, 7), pick(g.Rand, 1, 1, 3)
	for in*outs*side*side*k*k > 150_000 {
		if outs > in {
			outs = outs/2 + 1
		} else {
			in = in/2 + 1
		}
	}
	x := g.typedLeaf(dtype.F32, []int{1, in, side, side})
	w := g.typedLeaf(dtype.F32, []int{outs, in, k, k})
	return on("Conv2D", x, val(w), Arg{Kind: Nil}, Arg{Kind: ConvA, List: []int{1, k / 2, 1, 1, 0}})
}

func pooled(name string) maker {
	return func(g *generator, x int) (Op, bool) {
		size := g.In(1, 3)
		return on(name, x, Arg{Kind: PoolA, List: []int{size, pick(g.Rand, 0, 1, 2), g.N(size/2 + 1), pick(g.Rand, 1, 1, 2), g.In(1, min(2, g.rank(x))), g.N(2), g.N(2)}})
	}
}

var layers = []maker{
	floating(full(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "Softmax", "Softmax", "LogSoftmax", "Softmin"), x, num(g.axis(x)))
	})),
	floating(full(func(g *generator, x int) (Op, bool) { return on("Softmax", x, num(g.axis(x))) })),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("LayerNorm", x, Arg{Kind: Nil}, Arg{Kind: Nil}, flt(0.125), list(g.dim(x, -1)))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("RMSNorm", x, Arg{Kind: Nil}, flt(0.125), list(g.dim(x, -1)))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("Normalize", x, flt(2), flt(0.125), list(g.axis(x)))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "MSE", "L1"), x, val(g.same(x)), Arg{Kind: LossA, N: g.N(3)})
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "Huber", "SmoothL1"), x, val(g.same(x)), flt(1), Arg{Kind: LossA, N: g.N(3)})
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 2 {
			return none, false
		}
		return on("CrossEntropy", x, val(g.index(g.dim(x, 1), g.dim(x, 0))), Arg{Kind: LossA, N: g.N(3)})
	})),
	floating(full(func(g *generator, x int) (Op, bool) { return on("GLU", x, num(g.axis(x))) })),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		return on("GroupNorm", x, num(g.groups(g.dim(x, 1))), Arg{Kind: Nil}, Arg{Kind: Nil}, flt(0.125))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		return on("CosineSimilarity", x, val(g.same(x)), num(g.axis(x)), flt(0.125))
	})),
	full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 1 {
			return none, false
		}
		return on("CumulativeTrapezoid", x, flt(0.5), num(0))
	}),
}

var joins = []maker{
	ranked(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		y := g.of(x, with(g.t(x).Shape(), a, g.In(0, 5)))
		list := []int{x, y}
		if g.One(3) {
			list = []int{y, x, x}
		}
		return Op{Name: "Cat", Args: []Arg{num(a), vals(list...)}}, true
	}),
	func(g *generator, x int) (Op, bool) {
		list := []int{x, g.same(x)}
		if g.One(4) {
			list = append(list, x)
		}
		return Op{Name: "Stack", Args: []Arg{num(g.N(g.rank(x) + 1)), vals(list...)}}, true
	},
	func(g *generator, x int) (Op, bool) {
		return Op{Name: "Stack", Args: []Arg{num(g.N(g.rank(x) + 1)), vals(x, x)}}, true
	},
}

var gradients = []maker{gradient, gradient, gradient}

// gradient asks for the gradient of a value, summed, with respect to something that it depends on.
var gradient = floating(func(g *generator, y int) (Op, bool) {
	to := g.sources(y)
	if len(to) == 0 {
		return none, false
	}
	x := vals(pick(g.Rand, to...))
	if g.One(3) {
		x.List = append(x.List, pick(g.Rand, to...))
	}
	k := g.N(len(x.List))
	if g.numel(y) != 1 {
		if g.One(2) {
			seed := g.of(y, g.t(y).Shape())
			return out(k, gradWith, y, val(seed), x)
		}
		o, _ := on("Sum", y, list())
		if !g.add(o) {
			return none, false
		}
		y = len(g.prog.Ops) - 1
	}
	return out(k, gradOp, y, x)
})

// effects realize something, or assign.
var effects = []maker{
	func(g *generator, x int) (Op, bool) {
		if g.info[x].leaf && g.info[x].version == 0 {
			return none, false
		}
		o := Op{Name: realizeOp, Args: []Arg{val(x)}}
		if y := g.choose(); y != x && (!g.info[y].leaf || g.info[y].version > 0) && g.One(2) {
			o.Args = append(o.Args, val(y))
		}
		return o, true
	},
	func(g *generator, x int) (Op, bool) {
		if !g.flow || g.numel(x) == 0 {
			return none, false
		}
		t := g.of(x, g.t(x).Shape())
		if !g.info[t].leaf || g.info[t].index || t == x {
			return none, false
		}
		return on(assignOp, t, val(x))
	},
	func(g *generator, x int) (Op, bool) {
		if !g.flow || g.rank(x) == 0 || g.numel(x) == 0 || !g.info[x].leaf || g.info[x].index {
			return none, false
		}
		o, _ := on(setAtOp, x, g.scalar(x))
		return g.anyIndex(o, x), true
	},
	func(g *generator, x int) (Op, bool) {
		if !g.flow || g.numel(x) == 0 || !g.info[x].leaf || g.info[x].index {
			return none, false
		}
		fill := pick(g.Rand, int(Quarters), int(Counted), int(Small))
		return on(assignBytesOp, x, Arg{Kind: Bytes, List: append([]int{int(g.kind(x)), fill, g.N(1 << 20)}, g.t(x).Shape()...)})
	},
}

package fuzz

import (
	"slices"
	"strings"

	"github.com/weft-ml/weft/dtype"
)

// axisNames name the axes of formulas.
const axisNames = "abcdefgh"

// halved is a formula's side for x, where some axes are made of two, and the sizes of the second ones.
func (g *generator) halved(x int) (left []string, names []string, sizes Arg) {
	sizes.Kind = SizesA
	for i, n := range g.t(x).Shape() {
		name := axisNames[i : i+1]
		if k := pick(g.Rand, 2, 3); n > 0 && n%k == 0 && g.One(2) {
			inner := strings.ToUpper(name)
			left, names = append(left, "("+name+" "+inner+")"), append(names, name, inner)
			sizes.S, sizes.List = sizes.S+inner, append(sizes.List, k)
			continue
		}
		left, names = append(left, name), append(names, name)
	}
	return left, names, sizes
}

// side writes names in another order, some of them merged.
func (g *generator) side(names []string) string {
	var out []string
	for _, i := range g.Perm(len(names)) {
		if len(out) > 0 && g.One(3) {
			last := strings.Trim(out[len(out)-1], "()")
			out[len(out)-1] = "(" + last + " " + names[i] + ")"
			continue
		}
		out = append(out, names[i])
	}
	if g.One(4) {
		out = append(out, "1")
	}
	return strings.Join(out, " ")
}

// formulas are moves that name axes.
var formulas = []maker{
	func(g *generator, x int) (Op, bool) {
		if g.rank(x) > len(axisNames) {
			return none, false
		}
		left, names, sizes := g.halved(x)
		return on("Rearrange", x, Arg{Kind: Text, S: strings.Join(left, " ") + " -> " + g.side(names)}, sizes)
	},
	func(g *generator, x int) (Op, bool) {
		if g.rank(x) > len(axisNames) {
			return none, false
		}
		left, names, sizes := g.halved(x)
		sizes.S, sizes.List = sizes.S+"n", append(sizes.List, g.In(1, 3))
		return on("EinRepeat", x, Arg{Kind: Text, S: strings.Join(left, " ") + " -> " + g.side(append(names, "n", "2"))}, sizes)
	},
	full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) > len(axisNames) {
			return none, false
		}
		left, names, sizes := g.halved(x)
		names = slices.DeleteFunc(names, func(string) bool { return g.One(3) })
		by := pick(g.Rand, "Sum", "Max", "Min", "Mean", "Any", "All")
		return on("EinReduce", x, Arg{Kind: Text, S: strings.Join(left, " ") + " -> " + g.side(names)}, Arg{Kind: ReduceA, S: by}, sizes)
	}),
}

// sized are ops to sizes that are named, of lists and along any axes.
var sized = []maker{
	ranked(func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		more := g.One(2)
		for i, n := range s {
			switch {
			case g.One(3):
				s[i] = -1
			case more:
				s[i] = n + g.N(3)
			default:
				s[i] = g.In(min(n, 1), n)
			}
		}
		if more {
			return on("PadTo", x, list(s...))
		}
		return on("ShrinkTo", x, list(s...))
	}),
	func(g *generator, x int) (Op, bool) { return on("NonZeroSized", x, num(g.N(7)), num(g.In(-1, 3))) },
	func(g *generator, x int) (Op, bool) {
		return on("MaskedSelectSized", x, val(g.mask(x)), num(g.N(7)), g.scalar(x))
	},
	func(g *generator, x int) (Op, bool) {
		return Op{Name: pick(g.Rand, "USum", "UProd"), Args: []Arg{vals(x, g.like(x)), g.scalar(x)}}, true
	},
	func(g *generator, x int) (Op, bool) {
		n := g.In(1, 5)
		return on("OneHot", g.index(n, g.shortShape()...), num(n+g.N(2)))
	},
	func(g *generator, x int) (Op, bool) {
		bytes := g.typedLeaf(dtype.U8, []int{g.In(1, 3), g.In(0, 9)})
		return on("Unpack4", bytes, typ(pick(g.Rand, dtype.U8, dtype.I8, dtype.I32, dtype.F32, dtype.F16)))
	},
	func(g *generator, x int) (Op, bool) {
		return on("Pack4", g.typedLeaf(pick(g.Rand, dtype.I32, dtype.I8, dtype.U8, dtype.I64), []int{g.In(1, 3), 2 * g.N(5)}))
	},
	func(g *generator, x int) (Op, bool) {
		s := g.shortShape()
		key := val(g.typedLeaf(dtype.U64, s))
		return on("Threefry", g.typedLeaf(dtype.U64, s), key)
	},
	floating(func(g *generator, x int) (Op, bool) {
		if g.One(2) {
			return on("SELUWith", x, flt(pick(g.Rand, 0.5, 1.5)), flt(pick(g.Rand, 1.0, 2)))
		}
		return on("HardSigmoidWith", x, flt(pick(g.Rand, 0.25, 0.125)), flt(pick(g.Rand, 0.5, 0)))
	}),
	floating(full(func(g *generator, x int) (Op, bool) {
		axes := g.someAxes(x)
		if len(axes) == 0 {
			return none, false
		}
		var shape []int
		for _, a := range slices.Sorted(slices.Values(axes)) {
			shape = append(shape, g.dim(x, a))
		}
		w := Arg{Kind: Nil}
		if g.One(2) {
			w = val(g.of(x, shape))
		}
		switch g.N(3) {
		case 0:
			return on("RMSNormAlong", x, slice(axes...), w, flt(0.125))
		case 1:
			return on("BatchNormAlong", x, slice(axes...), val(g.of(x, shape)), val(g.filled(x, Positive, shape...)), w, w, flt(0.125))
		}
		return on("LayerNormAlong", x, slice(axes...), w, w, flt(0.125))
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 || g.kind(x).IsNarrow() {
			return none, false
		}
		if g.One(2) {
			p := g.Perm(g.rank(x))
			return on("MatrixNormKeep", x, Arg{Kind: Enum, N: pick(g.Rand, 0, 2, 4), S: "MatrixNormKind"}, num(p[0]), num(p[1]))
		}
		return on("NewtonSchulz", x, num(g.In(0, 2)), Arg{Kind: NewtonA, Reals: []float64{1.5, -0.5, 0}}, flt(0.125))
	})),
	full(func(g *generator, x int) (Op, bool) { // with padding that is another on either side
		o, ok := pooled(pick(g.Rand, "MaxPool", "AvgPool", "SumPool"))(g, x)
		p := &o.Args[1]
		p.List = append(slices.Clone(p.List), pick(g.Rand, -1, g.N(p.List[0])))
		if p.List[7] < 0 {
			p.List[2] = 0
		}
		return o, ok
	}),
	full(func(g *generator, x int) (Op, bool) {
		o, ok := convolution(g, x)
		if ok {
			c := &o.Args[len(o.Args)-1]
			c.List = append(slices.Clone(c.List), 1)
			c.List[1] = 0
		}
		return o, ok
	}),
}

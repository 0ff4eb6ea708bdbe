package fuzz

import (
	"slices"
)

// maker proposes an op on a value, or says that there is none.
type maker func(g *generator, x int) (Op, bool)

// family is a list of makers that are drawn alike.
type family struct {
	weight int
	makers []maker
}

// families are all ops. A third of them moves elements.
var families = []family{
	{62, moves},
	{17, []maker{motif}},
	{16, unaries},
	{15, binaries},
	{10, reductions},
	{6, scans},
	{9, indexing},
	{6, products},
	{5, casts},
	{7, layers},
	{4, joins},
	{5, gradients},
	{4, effects},
	{6, arranging},
	{5, picking},
	{3, formulas},
	{4, sized},
	{10, more},
	{6, losses},
	{6, norms},
	{5, signals},
	{5, linear},
	{2, drawn},
	{4, functional},
	{4, varying},
}

var familyWeights = func() int {
	n := 0
	for _, f := range families {
		n += f.weight
	}
	return n
}()

// propose draws an op.
func (g *generator) propose() (Op, bool) {
	if g.eager && g.One(5) {
		return pick(g.Rand, reading...)(g, g.choose())
	}
	n := g.N(familyWeights)
	for _, f := range families {
		if n -= f.weight; n < 0 {
			return pick(g.Rand, f.makers...)(g, g.choose())
		}
	}
	panic("BUG: no family")
}

// on is an op with a value as first operand.
func on(name string, x int, args ...Arg) (Op, bool) {
	return Op{Name: name, Args: append([]Arg{val(x)}, args...)}, true
}

// out is on for one of several results.
func out(k int, name string, x int, args ...Arg) (Op, bool) {
	o, ok := on(name, x, args...)
	o.Out = k
	return o, ok
}

var none = Op{}

// with axes only.
func ranked(f maker) maker {
	return func(g *generator, x int) (Op, bool) {
		if g.rank(x) == 0 {
			return none, false
		}
		return f(g, x)
	}
}

// full is for values with axes, none of them empty most often.
func full(f maker) maker {
	return func(g *generator, x int) (Op, bool) {
		if g.rank(x) == 0 || g.numel(x) == 0 && !(g.sparse && g.One(2)) {
			return none, false
		}
		return f(g, x)
	}
}

// floating is for floats.
func floating(f maker) maker {
	return func(g *generator, x int) (Op, bool) {
		if !g.kind(x).IsFloat() {
			return none, false
		}
		return f(g, x)
	}
}

var moves = []maker{
	func(g *generator, x int) (Op, bool) { return on("Permute", x, list(g.Perm(g.rank(x))...)) },
	func(g *generator, x int) (Op, bool) { return on("Permute", x, list(g.Perm(g.rank(x))...)) },
	ranked(func(g *generator, x int) (Op, bool) { return on("Flip", x, list(g.someAxes(x)...)) }),
	ranked(func(g *generator, x int) (Op, bool) { return on("Flip", x, list(g.axis(x))) }),
	func(g *generator, x int) (Op, bool) { return on("Reshape", x, list(g.refactor(g.numel(x))...)) },
	func(g *generator, x int) (Op, bool) { return on("Reshape", x, list(g.refactor(g.numel(x))...)) },
	func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		for i, n := range s {
			if n == 1 {
				s[i] = g.size()
			}
		}
		if g.One(3) {
			s = append([]int{g.In(1, 4)}, s...)
		}
		return on("Expand", x, list(s...))
	},
	func(g *generator, x int) (Op, bool) {
		s := slices.Insert(g.t(x).Shape(), g.N(g.rank(x)+1), 1)
		return on("Reshape", x, list(s...))
	},
	ranked(func(g *generator, x int) (Op, bool) {
		lo, hi := g.paddings(x)
		return on("Pad", x, slice(lo...), slice(hi...))
	}),
	ranked(func(g *generator, x int) (Op, bool) {
		lo, hi := g.paddings(x)
		return on("PadWith", x, num(g.In(-1, 2)), slice(lo...), slice(hi...))
	}),
	full(func(g *generator, x int) (Op, bool) {
		lo, hi := make([]int, g.rank(x)), make([]int, g.rank(x))
		for i := range lo {
			lo[i], hi[i] = g.N(min(3, g.dim(x, i))), g.N(min(3, g.dim(x, i)))
		}
		return on("PadMode", x, Arg{Kind: Enum, N: g.In(1, 3), S: "PadMode"}, slice(lo...), slice(hi...))
	}),
	full(func(g *generator, x int) (Op, bool) {
		lo, hi := make([]int, g.rank(x)), make([]int, g.rank(x))
		for i := range lo {
			n := g.dim(x, i)
			lo[i] = g.N(n)
			if g.One(2) {
				lo[i] = 0
			}
			hi[i] = lo[i] + 1 + g.N(n-lo[i])
		}
		return on("Shrink", x, slice(lo...), slice(hi...))
	}),
	full(narrow), full(narrow),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		o, _ := on("At", x)
		return g.atAxis(o, x, a, g.stepped(g.dim(x, a))), true
	}),
	ranked(basicIndex), ranked(basicIndex),
	ranked(roll), ranked(roll), ranked(roll),
	ranked(repeat), ranked(repeat),
	ranked(func(g *generator, x int) (Op, bool) {
		return on("RepeatInterleave", x, num(g.In(1, 3)), num(g.axis(x)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		return on("Unfold", x, num(a), num(g.In(1, min(5, g.dim(x, a)))), num(g.In(1, 3)))
	}),
	func(g *generator, x int) (Op, bool) { return on("Unsqueeze", x, num(g.N(g.rank(x)+1))) },
	func(g *generator, x int) (Op, bool) { return on("Squeeze", x) },
	ranked(func(g *generator, x int) (Op, bool) { return on("Tril", x, num(g.In(-2, 2))) }),
	ranked(func(g *generator, x int) (Op, bool) { return on("Triu", x, num(g.In(-2, 2))) }),
	ranked(func(g *generator, x int) (Op, bool) { return on("Diagonal", x, num(g.In(-1, 1))) }),
	ranked(func(g *generator, x int) (Op, bool) { return on("DiagEmbed", x) }),
	ranked(func(g *generator, x int) (Op, bool) { return on("MoveAxis", x, num(g.axis(x)), num(g.axis(x))) }),
	ranked(func(g *generator, x int) (Op, bool) { return on("Transpose", x, num(g.axis(x)), num(g.axis(x))) }),
	ranked(func(g *generator, x int) (Op, bool) { return on("Flatten", x) }),
	ranked(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		return on("Rot90", x, num(g.In(-1, 3)), num(0), num(1))
	}),
	func(g *generator, x int) (Op, bool) { return on("Contiguous", x) },
	func(g *generator, x int) (Op, bool) { return on("Clone", x) },
	full(func(g *generator, x int) (Op, bool) { return on("Select", x, num(g.axis(x)), num(0)) }),
	full(func(g *generator, x int) (Op, bool) {
		n := g.In(1, 3)
		return out(g.N(n), "Chunk", x, num(g.axis(x)), num(n))
	}),
	full(func(g *generator, x int) (Op, bool) {
		a := g.axis(x)
		cut := g.N(g.dim(x, a) + 1)
		return out(g.N(2), "Split", x, num(a), list(cut, g.dim(x, a)-cut))
	}),
	ranked(func(g *generator, x int) (Op, bool) { return on("Diff", x, num(1), num(g.axis(x))) }),
	func(g *generator, x int) (Op, bool) { return on("PixelShuffle", x, num(2)) },
	func(g *generator, x int) (Op, bool) { return on("PixelUnshuffle", x, num(2)) },
	ranked(func(g *generator, x int) (Op, bool) {
		size, stride := g.In(1, 3), g.In(1, 3)
		return on("Im2Col", x, Arg{Kind: PoolA, List: []int{size, stride, g.N(size/2 + 1), g.In(1, 2), 0, 0, 0}})
	}),
}

func narrow(g *generator, x int) (Op, bool) {
	a := g.axis(x)
	from := g.N(g.dim(x, a))
	return on("Narrow", x, num(a), num(from), num(1+g.N(g.dim(x, a)-from)))
}

// roll goes round more than once now and then.
func roll(g *generator, x int) (Op, bool) {
	by := g.In(-5, 9)
	if g.One(4) {
		by = g.In(-40, 40)
	}
	if g.rank(x) > 1 && g.One(3) {
		p := g.Perm(g.rank(x))
		return on("Roll", x, slice(by, g.In(-3, 3)), slice(p[0], p[1]))
	}
	return on("Roll", x, slice(by), slice(g.axis(x)))
}

func repeat(g *generator, x int) (Op, bool) {
	counts := make([]int, g.rank(x))
	for i := range counts {
		counts[i] = pick(g.Rand, 1, 1, 2, 2, 3)
	}
	if g.One(5) {
		counts = append([]int{2}, counts...)
	}
	return on("Repeat", x, list(counts...))
}

// someAxes is one or more axes.
func (g *generator) someAxes(x int) []int {
	p := g.Perm(g.rank(x))
	return p[:1+g.N(len(p))]
}

// paddings are small, now and then negative.
func (g *generator) paddings(x int) (lo, hi []int) {
	lo, hi = make([]int, g.rank(x)), make([]int, g.rank(x))
	for i := range lo {
		if g.One(2) {
			lo[i], hi[i] = pick(g.Rand, 0, 0, 1, 2, 3, -1), pick(g.Rand, 0, 0, 1, 2, 5, -1)
		}
	}
	return lo, hi
}

// refactor is a random shape of n elements.
func (g *generator) refactor(n int) []int {
	if n == 0 {
		return []int{0, g.In(1, 3)}
	}
	shape := make([]int, g.In(1, 4))
	for i := range shape {
		shape[i] = 1
	}
	for p := 2; n > 1; p++ {
		for ; n%p == 0; n /= p {
			shape[g.N(len(shape))] *= p
		}
	}
	return shape
}

// stepped is a range of an axis with a step.
func (g *generator) stepped(n int) Arg {
	switch g.N(4) {
	case 0:
		return span(end, begin, -g.In(1, 3))
	case 1:
		return span(g.N(n), end, g.In(1, 3))
	case 2:
		return span(g.In(-n, n), g.In(-n, n), pick(g.Rand, 1, 1, 2, -1, -2))
	}
	return span(begin, end, g.In(1, 4))
}

// atAxis indexes one axis and takes the others whole.
func (g *generator) atAxis(o Op, x, a int, index Arg) Op {
	if a < 0 {
		a += g.rank(x)
	}
	for range a {
		o.Args = append(o.Args, Arg{Kind: Whole})
	}
	o.Args = append(o.Args, index)
	return o
}

// basicIndex mixes all indices without tensors.
func basicIndex(g *generator, x int) (Op, bool) {
	o, _ := on("At", x)
	dots := g.One(4)
	for a := range g.rank(x) {
		if dots && g.One(3) {
			o.Args = append(o.Args, Arg{Kind: Dots})
			break
		}
		n := g.dim(x, a)
		switch g.N(6) {
		case 0:
			if n == 0 {
				return none, false
			}
			o.Args = append(o.Args, num(g.In(-n, n-1)))
		case 1, 2:
			o.Args = append(o.Args, g.stepped(n))
		case 3:
			o.Args = append(o.Args, Arg{Kind: Axis}, Arg{Kind: Whole})
		default:
			o.Args = append(o.Args, Arg{Kind: Whole})
		}
	}
	return o, true
}

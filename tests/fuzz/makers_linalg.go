package fuzz

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
)

// Matrices are small: the algorithms are a few kernels a row, and rounding grows from step to step.

// matrixOf is a square matrix that has a clear inverse: a leaf, or x·xᵀ + n·1; where the generator is risky it may be singular.
func (g *generator) matrixOf(x int) (int, bool) {
	d := g.kind(x)
	if d.IsNarrow() && !g.One(3) { // few digits
		d = dtype.F32
	}
	if g.kind(x) == d && g.rank(x) >= 2 && g.dim(x, -2) <= 4 && g.dim(x, -1) <= 6 && g.info[x].known && g.One(2) {
		return g.gramOf(x)
	}
	s := []int{g.In(1, 4)}
	s = append(s, s[0])
	if g.One(20) {
		s = []int{0, 0}
	}
	if g.One(4) {
		s = append([]int{g.In(1, 3)}, s...)
	}
	f := Definite
	if g.risky && g.One(2) {
		f = pick(g.Rand, Small, Signs, Quarters, Edges)
	}
	return g.leaf(&Leaf{Type: d, Shape: s, Fill: f}), true
}

// gramOf is x·xᵀ + n·1.
func (g *generator) gramOf(x int) (int, bool) {
	n := g.dim(x, -2)
	if o, _ := on("T", x); !g.add(o) {
		return 0, false
	}
	if o, _ := on("MatMul", x, val(len(g.prog.Ops)-1)); !g.add(o) {
		return 0, false
	}
	m := len(g.prog.Ops) - 1
	if !g.add(Op{Name: "Eye", Args: []Arg{num(n)}}) {
		return 0, false
	}
	if o, _ := on("Mul", len(g.prog.Ops)-1, num(n)); !g.add(o) {
		return 0, false
	}
	if o, _ := on("Add", m, val(len(g.prog.Ops)-1)); !g.add(o) {
		return 0, false
	}
	return len(g.prog.Ops) - 1, g.kind(m) == g.kind(x)
}

func matrix(f maker) maker {
	return floating(func(g *generator, x int) (Op, bool) {
		m, ok := g.matrixOf(x)
		if !ok {
			return none, false
		}
		return f(g, m)
	})
}

// small is for matrices of up to three rows.
func small(f maker) maker {
	return func(g *generator, m int) (Op, bool) {
		if g.dim(m, -1) > 3 {
			return none, false
		}
		return f(g, m)
	}
}

// sides are right sides for a matrix.
func (g *generator) sides(m int) int {
	s := g.t(m).Shape()
	s[len(s)-1] = g.In(1, 3)
	if g.One(3) {
		s = s[len(s)-2:]
	}
	return g.of(m, s)
}

var linear = []maker{
	matrix(func(g *generator, m int) (Op, bool) { return on(pick(g.Rand, "Inv", "Cholesky", "Det", "LogDet"), m) }),
	matrix(func(g *generator, m int) (Op, bool) { return on("Inv", m) }),
	matrix(func(g *generator, m int) (Op, bool) { return on("Cholesky", m) }),
	matrix(func(g *generator, m int) (Op, bool) { return out(g.N(2), "SlogDet", m) }),
	matrix(func(g *generator, m int) (Op, bool) { return on("Solve", m, val(g.sides(m))) }),
	matrix(func(g *generator, m int) (Op, bool) {
		s := g.t(m).Shape()
		return on("Solve", m, val(g.of(m, s[:len(s)-1])))
	}),
	matrix(func(g *generator, m int) (Op, bool) {
		return on("SolveTriangular", m, val(g.sides(m)), boolean(g.One(2)), boolean(g.One(3)))
	}),
	matrix(func(g *generator, m int) (Op, bool) { return on("CholeskySolve", m, val(g.sides(m))) }),
	matrix(func(g *generator, m int) (Op, bool) { return on("MatrixPower", m, num(g.In(-2, 4))) }),
	matrix(func(g *generator, m int) (Op, bool) {
		if g.dim(m, -1) > 2 {
			return none, false
		}
		return on("MatrixExp", m)
	}),
	matrix(func(g *generator, m int) (Op, bool) { return out(g.N(2), "QR", m, boolean(g.One(2))) }),
	matrix(func(g *generator, m int) (Op, bool) { return out(g.N(3), "LU", m) }),
	matrix(func(g *generator, m int) (Op, bool) {
		if g.rank(m) != 2 || g.dim(m, -1) == 0 {
			return none, false
		}
		if g.One(2) {
			return on("TensorInv", m, num(1))
		}
		return on("TensorSolve", m, val(g.of(m, []int{g.dim(m, -1)})))
	}),
	matrix(small(func(g *generator, m int) (Op, bool) { return on("Lstsq", m, val(g.sides(m))) })),
	matrix(small(func(g *generator, m int) (Op, bool) { return out(g.N(3), "SVD", m, boolean(g.One(2))) })),
	matrix(small(func(g *generator, m int) (Op, bool) { return out(g.N(2), "Eigh", m, boolean(g.One(2))) })),
	matrix(small(func(g *generator, m int) (Op, bool) { return out(0, "Eigh", m, boolean(g.One(2))) })),
	matrix(small(func(g *generator, m int) (Op, bool) { return on("Eigvalsh", m, boolean(g.One(2))) })),
	matrix(small(func(g *generator, m int) (Op, bool) { return on("SingularValues", m) })),
	matrix(small(func(g *generator, m int) (Op, bool) {
		return on(pick(g.Rand, "PInv", "MatrixRank"), m, flt(-1), flt(-1))
	})),
	matrix(small(func(g *generator, m int) (Op, bool) {
		return on("Cond", m, Arg{Kind: Enum, N: g.N(8), S: "MatrixNormKind"})
	})),
	floating(full(func(g *generator, x int) (Op, bool) { // matrices that are not square
		if g.rank(x) < 2 || g.dim(x, -1) > 3 || g.dim(x, -2) > 3 {
			return none, false
		}
		switch g.N(5) {
		case 0:
			return out(g.N(2), "QR", x, boolean(g.One(2)))
		case 3:
			return out(g.N(3), "LU", x)
		case 1:
			return out(g.N(3), "SVD", x, boolean(g.One(2)))
		case 2:
			return on("PInv", x, flt(-1), flt(-1))
		}
		return on("SingularValues", x)
	})),
	floating(full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) < 2 {
			return none, false
		}
		p := g.Perm(g.rank(x))
		kind := pick(g.Rand, 0, 2, 3, 4, 5)
		if g.dim(x, p[0]) < 4 && g.dim(x, p[1]) < 4 {
			kind = g.N(8)
		}
		return on("MatrixNorm", x, Arg{Kind: Enum, N: kind, S: "MatrixNormKind"}, num(p[0]), num(p[1]))
	})),
	func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		if len(s) == 0 {
			s = []int{3}
		}
		a := g.N(len(s))
		s[a] = 3
		y := g.of(x, s)
		return on("Cross", y, val(g.of(x, s)), num(a))
	},
	func(g *generator, x int) (Op, bool) {
		return on("Kron", x, val(g.of(x, pick(g.Rand, []int{}, []int{2}, []int{1, 3}, []int{2, 2}))))
	},
	ranked(func(g *generator, x int) (Op, bool) { return on("Dot", x, val(g.of(x, []int{g.dim(x, -1)}))) }),
	ranked(func(g *generator, x int) (Op, bool) {
		a := g.N(g.rank(x))
		return on("TensorDot", x, val(g.of(x, []int{g.In(1, 3), g.dim(x, a)})), slice(a), slice(1))
	}),
	ranked(func(g *generator, x int) (Op, bool) {
		s := g.t(x).Shape()
		slices.Reverse(s)
		p := g.Perm(len(s))
		o := make([]int, len(p))
		for i, a := range p {
			o[i] = len(p) - 1 - a
		}
		return on("TensorDot", x, val(g.of(x, s)), slice(p...), slice(o...))
	}),
	full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 1 || g.info[x].most > 8 {
			return none, false
		}
		return on("Vander", x, num(g.N(5)), boolean(g.One(2)))
	}),
	full(floating(func(g *generator, x int) (Op, bool) {
		if g.rank(x) > 2 {
			return none, false
		}
		switch n := g.dim(x, -1); g.N(4) {
		case 0:
			return on("CorrCoef", x)
		case 1:
			counts := g.leaf(&Leaf{Type: dtype.I32, Shape: []int{n}, Fill: Positive})
			return on("Cov", x, num(g.N(2)), val(counts), Arg{Kind: Nil})
		case 2:
			w := g.leaf(&Leaf{Type: g.kind(x), Shape: []int{n}, Fill: Positive})
			return on("Cov", x, num(g.N(2)), Arg{Kind: Nil}, val(w))
		}
		return on("Cov", x, num(g.N(2)), Arg{Kind: Nil}, Arg{Kind: Nil})
	})),
	full(floating(func(g *generator, x int) (Op, bool) {
		p := pick(g.Rand, 0, 1, 2, 2, 3, inf)
		if g.rank(x) < 2 || g.One(2) {
			return on("PairwiseDistance", x, val(g.same(x)), flt(p), flt(pick(g.Rand, 0, 0.125)))
		}
		s := g.t(x).Shape()
		s[len(s)-2] = g.In(1, 4)
		return on("CDist", x, val(g.of(x, s)), flt(p))
	})),
	full(floating(func(g *generator, x int) (Op, bool) {
		if g.rank(x) == 2 && g.dim(x, 0) < 6 && g.One(2) {
			return on("PDist", x, flt(pick(g.Rand, 1, 2, 3, inf)))
		}
		if g.rank(x) == 0 {
			return none, false
		}
		return on("Renorm", x, flt(pick(g.Rand, 1, 2, inf)), num(g.N(g.rank(x))), flt(pick(g.Rand, 0.5, 2)))
	})),
	full(floating(func(g *generator, x int) (Op, bool) {
		if g.rank(x) == 0 {
			return none, false
		}
		s := g.t(x).Shape()
		n := g.In(1, 3)
		y := g.of(x, append(s[:len(s)-1:len(s)-1], n))
		b := Arg{Kind: Nil}
		if g.One(2) {
			b = val(g.of(x, []int{2}))
		}
		return on("Bilinear", x, val(y), val(g.of(x, []int{2, g.dim(x, -1), n})), b)
	})),
	full(func(g *generator, x int) (Op, bool) {
		if g.rank(x) != 1 || g.dim(x, 0) > 6 {
			return none, false
		}
		return on("Combinations", x, num(g.In(1, 4)), boolean(g.One(2)))
	}),
	full(func(g *generator, x int) (Op, bool) {
		if !g.kind(x).IsInt() {
			return none, false
		}
		return out(g.N(2), "UnravelIndex", x, list(2, 3))
	}),
}

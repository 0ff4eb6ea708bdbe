package fuzz

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// like is a value that broadcasts with x: one of that shape, or a new leaf, now and then with fewer axes.
func (g *generator) like(x int) int {
	if !g.One(3) {
		for tries := 0; tries < 6; tries++ {
			v := g.N(len(g.prog.Ops))
			if g.usable(v) && v != x && slices.Equal(g.t(v).Shape(), g.t(x).Shape()) && (g.kind(v) == g.kind(x) || g.One(4)) {
				return v
			}
		}
	}
	if g.One(8) {
		return x
	}
	s := g.t(x).Shape()
	for i := range s {
		if g.One(4) {
			s[i] = 1
		}
	}
	if len(s) > 0 && g.One(5) {
		s = s[1:]
	}
	return g.typedLeaf(g.sameKind(x), s)
}

// sameKind is most often the type of x.
func (g *generator) sameKind(x int) dtype.DType {
	if g.One(8) {
		return pick(g.Rand, g.kinds...)
	}
	return g.kind(x)
}

// same is a value of exactly x's type and shape.
func (g *generator) same(x int) int { return g.of(x, g.t(x).Shape()) }

// of is a value of x's type with a shape: an old one, or a leaf.
func (g *generator) of(x int, shape []int) int {
	if g.One(2) {
		for v := len(g.prog.Ops) - 1; v >= 0; v-- {
			if g.usable(v) && slices.Equal(g.t(v).Shape(), shape) && g.kind(v) == g.kind(x) && g.One(2) {
				return v
			}
		}
	}
	return g.typedLeaf(g.kind(x), shape)
}

// scalar is a number that a program might write.
func (g *generator) scalar(x int) Arg {
	switch odd := g.One(30); {
	case odd && g.kind(x).IsFloat():
		return flt(pick(g.Rand, math.NaN(), inf, -inf, math.Copysign(0, -1), 3e38, -3e38, 1e-30, 65519, 1<<24+1, -0.1))
	case odd:
		return num(pick(g.Rand, math.MaxInt32, math.MinInt32, 255, 256, -129, 127, 1<<40, math.MaxInt64, math.MinInt64, 31, 32, 64))
	case g.kind(x).IsFloat():
		return flt(pick(g.Rand, 0, 1, -1, 2, 0.5, -0.5, 3, 0.25, -2))
	}
	return num(pick(g.Rand, 0, 1, 2, 3, 5, -1, -2))
}

// operand is a value or a number for a binary op with x.
func (g *generator) operand(x int) Arg {
	if g.One(4) {
		return g.scalar(x)
	}
	return val(g.like(x))
}

func names(list ...string) []maker {
	var out []maker
	for _, n := range list {
		out = append(out, func(g *generator, x int) (Op, bool) { return on(n, x) })
	}
	return out
}

var unaries = slices.Concat(
	names("Neg", "Abs", "Sign", "ReLU", "Square", "Trunc", "Floor", "Ceil", "Round", "Neg", "ReLU", "Abs"),
	[]maker{
		floating(func(g *generator, x int) (Op, bool) {
			return on(pick(g.Rand, "Exp", "Sin", "Cos", "Tanh", "Sigmoid", "SiLU", "GELU", "GELUTanh", "Erf", "Atan", "Softsign", "Mish",
				"LogSigmoid", "Sinc", "TanhShrink", "Expm1", "Asinh", "QuickGELU", "Frac", "SELU", "Sinh", "Cosh", "Exp2", "Erfc", "Tan"), x)
		}),
		floating(func(g *generator, x int) (Op, bool) {
			return on(pick(g.Rand, "Exp", "Sin", "Tanh", "Sigmoid", "Cos"), x)
		}),
		floating(func(g *generator, x int) (Op, bool) {
			return on(pick(g.Rand, "Erf", "SiLU", "Sinh", "Cosh", "Expm1", "TanhShrink", "SELU", "Exp2", "Atan", "Asinh", "Acosh"), x)
		}),
		floating(func(g *generator, x int) (Op, bool) {
			return on(pick(g.Rand, "Log", "Sqrt", "Rsqrt", "Reciprocal", "Log1p", "Log2", "Log10", "Acos", "Asin", "Atanh", "Acosh", "ErfInv"), x)
		}),
		floating(func(g *generator, x int) (Op, bool) {
			return on(pick(g.Rand, "Softplus", "ELU", "CELU", "LeakyReLU", "HardShrink", "SoftShrink"), x, flt(pick(g.Rand, 1, 0.5, 2)))
		}),
		func(g *generator, x int) (Op, bool) { return on(pick(g.Rand, "HardSigmoid", "HardSwish", "ReLU6"), x) },
		func(g *generator, x int) (Op, bool) { return on("Clamp", x, num(g.In(-2, 0)), num(g.In(0, 3))) },
		func(g *generator, x int) (Op, bool) { return on("Pow", x, num(g.In(0, 3))) },
		func(g *generator, x int) (Op, bool) {
			return on(pick(g.Rand, "IsNaN", "IsInf", "IsFinite", "SignBit", "LogicalNot", "Not"), x)
		},
		func(g *generator, x int) (Op, bool) { return on("Threshold", x, flt(0.5), flt(2)) },
	})

var binaries = slices.Concat(
	[]maker{arithmetic, arithmetic, arithmetic, arithmetic, arithmetic, comparison, comparison},
	[]maker{
		func(g *generator, x int) (Op, bool) {
			return on(pick(g.Rand, "Div", "FloorDiv", "Mod", "Fmod", "TruncDiv", "RSub", "RDiv"), x, g.operand(x))
		},
		floating(func(g *generator, x int) (Op, bool) {
			return on(pick(g.Rand, "Div", "Atan2", "Hypot", "LogAddExp", "CopySign", "Xlogy", "FMax", "FMin", "Pow", "Heaviside"), x, g.operand(x))
		}),
		func(g *generator, x int) (Op, bool) {
			if g.kind(x).IsFloat() {
				return none, false
			}
			return on(pick(g.Rand, "And", "Or", "Xor", "LogicalXor"), x, val(g.like(x)))
		},
		func(g *generator, x int) (Op, bool) {
			if !g.kind(x).IsInt() {
				return none, false
			}
			return on(pick(g.Rand, "Shl", "Shr"), x, num(g.N(6)))
		},
		func(g *generator, x int) (Op, bool) { return on("Where", g.mask(x), val(x), g.operand(x)) },
		func(g *generator, x int) (Op, bool) { return on("Where", g.mask(x), g.operand(x), val(x)) },
		func(g *generator, x int) (Op, bool) { return on("MaskedFill", x, val(g.mask(x)), g.scalar(x)) },
		floating(func(g *generator, x int) (Op, bool) { return on("Lerp", x, val(g.same(x)), flt(0.25)) }),
		floating(func(g *generator, x int) (Op, bool) {
			return on("AddCMul", x, val(g.same(x)), val(g.same(x)), flt(0.5))
		}),
	})

func arithmetic(g *generator, x int) (Op, bool) {
	return on(pick(g.Rand, "Add", "Sub", "Mul", "Maximum", "Minimum", "Add", "Mul"), x, g.operand(x))
}

func comparison(g *generator, x int) (Op, bool) {
	return on(pick(g.Rand, "Lt", "Gt", "Le", "Ge", "Eq", "Ne"), x, g.operand(x))
}

// mask is a bool value that broadcasts with x; one is made of x now and then.
func (g *generator) mask(x int) int {
	for v := len(g.prog.Ops) - 1; v >= 0; v-- {
		if g.usable(v) && g.kind(v) == dtype.Bool && slices.Equal(g.t(v).Shape(), g.t(x).Shape()) && g.One(2) {
			return v
		}
	}
	if o, _ := on(pick(g.Rand, "Gt", "Le", "Eq"), x, num(g.In(-1, 1))); g.One(2) && g.info[x].known && g.add(o) {
		return len(g.prog.Ops) - 1
	}
	s := g.t(x).Shape()
	for i := range s {
		if g.One(3) {
			s[i] = 1
		}
	}
	return g.typedLeaf(dtype.Bool, s)
}

// add adds an op that another one needs.
func (g *generator) add(o Op) bool {
	ok := false
	if err := tensor.Try(func() { ok = g.try(o) }); err != nil {
		return false
	}
	return ok
}

package fuzz

import (
	"github.com/weft-ml/weft/dtype"
)

// more are elementwise ops and reductions beside the common ones.
var more = []maker{
	floating(func(g *generator, x int) (Op, bool) { // where they have a value
		return on(pick(g.Rand, "Acos", "Asin", "Atanh", "ErfInv"), g.filled(x, Shares, g.t(x).Shape()...))
	}),
	floating(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "Log", "Log2", "Log10", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Lgamma", "Digamma"), g.filled(x, Positive, g.t(x).Shape()...))
	}),
	floating(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "GELU", "GELUTanh", "Erf", "Atan", "Softsign", "Mish", "LogSigmoid", "Sinc", "TanhShrink", "Asinh", "QuickGELU", "SiLU"), x)
	}),
	floating(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "Expm1", "Frac", "SELU", "Sinh", "Cosh", "Exp2", "Erfc", "Tan", "Rsqrt", "Reciprocal", "Acosh"), x)
	}),
	floating(func(g *generator, x int) (Op, bool) { return on(pick(g.Rand, "Digamma", "Lgamma"), x) }),
	floating(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "Ndtr", "LogNdtr", "I0", "I0e", "I1", "I1e"), x)
	}),
	floating(func(g *generator, x int) (Op, bool) { // of bits that every device has alike
		x = g.filled(x, pick(g.Rand, Halves, Signs, Quarters, Counted), g.t(x).Shape()...)
		switch g.N(3) {
		case 0:
			return on("NextAfter", x, flt(pick(g.Rand, -1., 0, 2)))
		case 1:
			return on("Ldexp", x, num(g.In(-3, 3)))
		}
		return out(g.N(2), "Frexp", x)
	}),
	floating(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "Atan2", "Hypot", "LogAddExp", "CopySign", "Xlogy", "FMax", "FMin", "Heaviside"), x, g.operand(x))
	}),
	floating(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "Deg2Rad", "Rad2Deg", "IsPosInf", "IsNegInf"), x)
	}),
	floating(func(g *generator, x int) (Op, bool) {
		lo := float64(g.In(-2, 0))
		return on("HardTanh", x, flt(lo), flt(lo+float64(g.In(0, 3))))
	}),
	floating(func(g *generator, x int) (Op, bool) {
		if g.info[x].most > 1 {
			x = g.filled(x, Shares, g.t(x).Shape()...)
		}
		return on("Logit", x, flt(pick(g.Rand, -1, 0, 0.125)))
	}),
	func(g *generator, x int) (Op, bool) {
		return on("NanToNum", x, flt(2), flt(pick(g.Rand, 8, inf)), flt(pick(g.Rand, -8, 0.5)))
	},
	func(g *generator, x int) (Op, bool) { return on("RoundTo", x, num(g.In(-1, 2))) },
	floating(func(g *generator, x int) (Op, bool) {
		return on("SoftplusUpTo", x, flt(pick(g.Rand, 1, 0.5, 2)), flt(pick(g.Rand, 20, 1, 0.5)))
	}),
	floating(func(g *generator, x int) (Op, bool) {
		return on("AddCDiv", x, val(g.same(x)), val(g.filled(x, pick(g.Rand, Positive, Halves, Counted), g.t(x).Shape()...)), flt(0.5))
	}),
	floating(func(g *generator, x int) (Op, bool) { return on("LogAddExp2", x, g.operand(x)) }),
	func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "LogicalAnd", "LogicalOr", "LogicalXor"), x, g.operand(x))
	},
	func(g *generator, x int) (Op, bool) { return on("RPow", x, num(g.In(0, 3))) },
	floating(func(g *generator, x int) (Op, bool) { return on("RPow", x, flt(pick(g.Rand, 0.5, 2, 3, 1.5))) }),
	func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "IsClose", "AllClose"), x, g.operand(x), flt(pick(g.Rand, 0, 0.5)), flt(pick(g.Rand, 0, 0.25, 2)), boolean(g.One(2)))
	},
	func(g *generator, x int) (Op, bool) {
		d := typ(pick(g.Rand, dtype.F32, dtype.I32, pick(g.Rand, g.kinds...)))
		if g.rank(x) == 0 || g.numel(x) == 0 || g.One(2) {
			if g.numel(x) <= 40 && g.One(3) {
				return on("ProdOf", x, d, g.axesOr(x))
			}
			return on("SumOf", x, d, g.axesOr(x))
		}
		return on(pick(g.Rand, "CumSumOf", "CumProdOf"), x, d, num(g.axis(x)))
	},
	plain(func(g *generator, x int) (Op, bool) {
		if g.numel(x) > 40 {
			return none, false
		}
		return on("ProdKeep", x, g.axesOr(x))
	}),
	floating(full(func(g *generator, x int) (Op, bool) { return on("StdKeep", x, num(g.N(2)), list(g.axis(x))) })),
	floating(plain(nanned(func(g *generator, x int) (Op, bool) {
		return on(pick(g.Rand, "NanSum", "NanMean", "NanSumKeep", "NanMeanKeep"), x, g.axesOr(x))
	}))),
	floating(full(nanned(func(g *generator, x int) (Op, bool) {
		return out(g.N(2), pick(g.Rand, "NanMedian", "NanMedianKeep"), x, num(g.axis(x)))
	}))),
	floating(full(nanned(func(g *generator, x int) (Op, bool) {
		q := Arg{Kind: Floats}
		for range g.In(1, 3) {
			q.Reals = append(q.Reals, pick(g.Rand, 0, 0.25, 0.5, 0.75, 1, 0.1, 0.9))
		}
		return on(pick(g.Rand, "Quantile", "QuantileKeep"), x, q, num(g.axis(x)), Arg{Kind: Enum, N: g.N(5), S: "Interpolation"}, boolean(g.One(2)))
	}))),
}

// nanned takes a leaf with NaN now and then.
func nanned(f maker) maker {
	return func(g *generator, x int) (Op, bool) {
		if g.One(2) {
			y := g.leaf(&Leaf{Type: g.kind(x), Shape: g.t(x).Shape(), Fill: Edges})
			if o, _ := on("Clamp", y, num(-4), num(4)); g.add(o) {
				x = len(g.prog.Ops) - 1
			}
		}
		return f(g, x)
	}
}

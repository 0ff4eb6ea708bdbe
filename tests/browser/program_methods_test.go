package browser_test

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

type (
	one  = *tensor.Tensor
	some = []*tensor.Tensor
)

// What a method does to errors of rounding, by which the maker of programs avoids what two right devices answer differently:
// a comparison of two sums that are equal but for their last bit.
const (
	exact  = 'e' // of exact elements exact ones, rounded as IEEE says; of rounded ones such that are about as good
	smooth = 's' // rounds; a little error stays little
	touchy = 't' // rounds, and makes much of little errors: of exact elements only
	step0  = 'd' // jumps: of exact elements only
	kink   = 'k' // exact, but its gradient jumps
)

// method is a method of a tensor, or of the engine, and what Go's callers write for it.
type method struct {
	name  string
	class rune
	args  func(m *maker, x one) []any // mostly right ones
	apply func(x one, a *arguments) some
}

func plain(name string, class rune, f func(one) one) method {
	return method{name, class, func(*maker, one) []any { return nil }, func(x one, a *arguments) some { a.end(); return some{f(x)} }}
}

func pair(name string, class rune, f func(one, any) one) method {
	return method{name, class, func(m *maker, x one) []any { return []any{m.operand(x)} }, func(x one, a *arguments) some { y := a.operand(); a.end(); return some{f(x, y)} }}
}

func reduction(name string, class rune, f, keep func(one, ...int) one) method {
	return method{name, class, func(m *maker, x one) []any { return m.over(x) }, func(x one, a *arguments) some {
		axes, kept, _ := a.over()
		if a.end(); kept {
			return some{keep(x, axes...)}
		}
		return some{f(x, axes...)}
	}}
}

func spread(name string, f, keep func(one, float64, ...int) one) method {
	return method{name, touchy, func(m *maker, x one) []any {
		if m.odds(3) {
			return []any{object{{"axis", m.axis(x)}, {"correction", float64(m.IntN(5)) / 2}}}
		}
		return m.over(x)
	}, func(x one, a *arguments) some {
		axes, kept, correction := a.over("correction")
		if a.end(); kept {
			return some{keep(x, correction, axes...)}
		}
		return some{f(x, correction, axes...)}
	}}
}

// axial takes an axis or none, also by its name.
func axial(name string, class rune, otherwise []int, f func(x one, axis ...int) one) method {
	return method{name, class, func(m *maker, x one) []any {
		if m.odds(4) {
			return []any{object{{"axis", m.axis(x)}}}
		}
		return m.perhaps(m.axis(x))
	}, func(x one, a *arguments) some {
		axes := otherwise
		if a.given() {
			if _, named := a.list[a.taken].(object); named {
				axes = []int{a.options("axis")("axis").integer()}
			} else {
				axes = []int{a.integer()}
			}
		}
		a.end()
		return some{f(x, axes...)}
	}}
}

// typed1 takes an axis and the type to compute in.
func typed1(name string, class rune, f func(one, int) one, of func(one, dtype.DType, int) one) method {
	return method{name, class, func(m *maker, x one) []any { return m.perhaps(m.axis(x)) }, func(x one, a *arguments) some {
		axis := a.integer(-1)
		if a.given() {
			d := a.dtype()
			a.end()
			return some{of(x, d, axis)}
		}
		a.end()
		return some{f(x, axis)}
	}}
}

// along is axial for what takes one axis in Go.
func along(name string, class rune, f func(one, int) one) method {
	return axial(name, class, []int{-1}, func(x one, axis ...int) one { return f(x, axis[0]) })
}

func severalAxes(name string, class rune, f func(x one, axes ...int) one) method {
	return method{name, class, func(m *maker, x one) []any { return m.perhaps(m.axes(x)) }, func(x one, a *arguments) some { axes := a.integers(); a.end(); return some{f(x, axes...)} }}
}

func numbered(name string, class rune, otherwise float64, f func(one, float64) one) method {
	return method{name, class, func(m *maker, _ one) []any { return m.perhaps(float64(m.IntN(4)+1) / 4) }, func(x one, a *arguments) some { v := a.number(otherwise); a.end(); return some{f(x, v)} }}
}

// counted takes an integer that is 0 unless given.
func counted(name string, class rune, f func(one, int) one) method {
	return method{name, class, func(m *maker, _ one) []any { return m.perhaps(float64(m.IntN(3) - 1)) }, func(x one, a *arguments) some { n := a.integer(0); a.end(); return some{f(x, n)} }}
}

// lossOptions takes the options of losses.
func lossOptions(a *arguments) tensor.Loss {
	o := a.options("reduction", "weight", "ignore", "smoothing", "posWeight")
	l := tensor.Loss{Weight: o("weight").maybe(), Ignore: o("ignore").integers(), Smoothing: o("smoothing").number(0), PosWeight: o("posWeight").maybe()}
	if how := o("reduction"); how.given() {
		switch how.next() {
		case "mean":
		case "sum":
			l.Reduction = tensor.SumLoss
		case "none":
			l.Reduction = tensor.NoneLoss
		default:
			refuse("no such reduction")
		}
	}
	return l
}

// loss takes a target.
func loss(name string, class rune, f func(x, y one, o ...tensor.Loss) one) method {
	return method{name, class, func(m *maker, x one) []any {
		args := []any{m.like(x)}
		if m.odds(3) {
			args = append(args, object{{"reduction", []any{"mean", "sum", "none"}[m.IntN(3)]}})
		}
		return args
	}, func(x one, a *arguments) some {
		y := a.tensor()
		l := lossOptions(a)
		a.end()
		return some{f(x, y, l)}
	}}
}

func join(lists ...[]method) (all []method) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// methods are what programs call.
var methods = join(elementwise, reducing, moving, picking, layers, functional, making)

var elementwise = []method{
	plain("neg", exact, one.Neg), plain("abs", kink, one.Abs), plain("sign", step0, one.Sign), plain("square", exact, one.Square), plain("reciprocal", touchy, one.Reciprocal),
	plain("sqrt", touchy, one.Sqrt), plain("rsqrt", touchy, one.Rsqrt), plain("exp", smooth, one.Exp), plain("exp2", smooth, one.Exp2), plain("expm1", smooth, one.Expm1),
	plain("log", touchy, one.Log), plain("log2", touchy, one.Log2), plain("log10", touchy, one.Log10), plain("log1p", touchy, one.Log1p), plain("sin", smooth, one.Sin),
	plain("cos", smooth, one.Cos), plain("tan", touchy, one.Tan), plain("asin", touchy, one.Asin), plain("acos", touchy, one.Acos), plain("atan", smooth, one.Atan),
	plain("sinh", smooth, one.Sinh), plain("cosh", smooth, one.Cosh), plain("tanh", smooth, one.Tanh), plain("asinh", smooth, one.Asinh), plain("acosh", touchy, one.Acosh),
	plain("relu", kink, one.ReLU), plain("relu6", kink, one.ReLU6), plain("sigmoid", smooth, one.Sigmoid), plain("logSigmoid", smooth, one.LogSigmoid),
	plain("silu", smooth, one.SiLU), plain("gelu", smooth, one.GELU), plain("geluTanh", smooth, one.GELUTanh), plain("selu", touchy, one.SELU), plain("mish", smooth, one.Mish),
	plain("softsign", touchy, one.Softsign), plain("hardSigmoid", touchy, one.HardSigmoid), plain("hardSwish", touchy, one.HardSwish),
	plain("floor", step0, one.Floor), plain("ceil", step0, one.Ceil), plain("round", step0, one.Round), plain("trunc", step0, one.Trunc),
	plain("isNaN", step0, one.IsNaN), plain("isInf", step0, one.IsInf), plain("isFinite", step0, one.IsFinite), plain("not", step0, one.LogicalNot),
	plain("contiguous", exact, one.Contiguous), plain("detach", exact, one.Detach), plain("clone", exact, one.Clone), plain("t", exact, one.T),
	pair("add", exact, one.Add), pair("sub", exact, one.Sub), pair("mul", exact, one.Mul), pair("div", touchy, one.Div), pair("floorDiv", step0, one.FloorDiv), pair("mod", step0, one.Mod),
	pair("pow", touchy, one.Pow), pair("maximum", kink, one.Maximum), pair("minimum", kink, one.Minimum), pair("atan2", touchy, one.Atan2),
	pair("eq", step0, one.Eq), pair("ne", step0, one.Ne), pair("lt", step0, one.Lt), pair("gt", step0, one.Gt), pair("le", step0, one.Le), pair("ge", step0, one.Ge),
	pair("and", step0, one.And), pair("or", step0, one.Or), pair("xor", step0, one.Xor), pair("logicalAnd", step0, one.LogicalAnd), pair("logicalOr", step0, one.LogicalOr),
	numbered("leakyRelu", kink, 0.01, one.LeakyReLU), numbered("elu", touchy, 1, one.ELU), method{"softplus", smooth, func(m *maker, _ one) []any { return m.perhaps(float64(m.IntN(4)+1) / 4) }, func(x one, a *arguments) some {
		beta := a.number(1)
		if a.given() {
			limit := a.number(math.NaN())
			a.end()
			return some{x.SoftplusUpTo(beta, limit)}
		}
		a.taken++
		a.end()
		return some{x.Softplus(beta)}
	}},
	{"clamp", kink, func(m *maker, _ one) []any { return [][]any{{-1., 2.}, {nil, 1.}, {0.}, {0.5, 0.25}}[m.IntN(4)] }, func(x one, a *arguments) some {
		lo, hi := a.limit(), a.limit()
		a.end()
		return some{x.Clamp(lo, hi)}
	}},
	{"lerp", touchy, func(m *maker, x one) []any { return []any{m.like(x), 0.25} }, func(x one, a *arguments) some {
		end, w := a.tensor(), a.operand()
		a.end()
		return some{x.Lerp(end, w)}
	}},
	{"to", step0, func(m *maker, _ one) []any { return []any{m.dtype()} }, func(x one, a *arguments) some { d := a.dtype(); a.end(); return some{x.To(d)} }},
	{"bitcast", step0, func(m *maker, _ one) []any { return []any{m.dtype()} }, func(x one, a *arguments) some { d := a.dtype(); a.end(); return some{x.Bitcast(d)} }},
	{"where", step0, func(m *maker, x one) []any { return []any{m.operand(x), m.operand(x)} }, func(x one, a *arguments) some {
		y, z := a.operand(), a.operand()
		a.end()
		return some{x.Where(y, z)}
	}},
	{"maskedFill", step0, func(m *maker, x one) []any { return []any{m.mask(), 2.5} }, func(x one, a *arguments) some {
		mask, v := a.tensor(), a.operand()
		a.end()
		return some{x.MaskedFill(mask, v)}
	}},
}

var reducing = []method{
	reduction("sum", smooth, one.Sum, one.SumKeep), reduction("prod", touchy, one.Prod, one.ProdKeep), reduction("mean", smooth, one.Mean, one.MeanKeep),
	reduction("max", kink, one.Max, one.MaxKeep), reduction("min", kink, one.Min, one.MinKeep), spread("var", one.Var, one.VarKeep), spread("std", one.Std, one.StdKeep),
	severalAxes("any", step0, one.Any), severalAxes("all", step0, one.All), severalAxes("logSumExp", smooth, one.LogSumExp),
	axial("argMax", step0, nil, one.ArgMax), axial("argMin", step0, nil, one.ArgMin),
	along("softmax", smooth, one.Softmax), along("logSoftmax", smooth, one.LogSoftmax), typed1("cumSum", smooth, one.CumSum, one.CumSumOf), typed1("cumProd", touchy, one.CumProd, one.CumProdOf),
	{"norm", touchy, func(m *maker, x one) []any { return [][]any{{}, {1.}, {2., m.axis(x)}, {odd{"inf"}}}[m.IntN(4)] }, func(x one, a *arguments) some {
		p := 2.
		if a.given() {
			var ok bool
			if p, ok = asNumber(a.next()); !ok {
				refuse("no number")
			}
		} else {
			a.taken++
		}
		axes := a.integers()
		keep := a.flag(false)
		if a.end(); keep {
			return some{x.NormKeep(p, axes...)}
		}
		return some{x.Norm(p, axes...)}
	}},
}

var moving = []method{
	{"reshape", exact, func(m *maker, x one) []any { return []any{m.factors(x)} }, func(x one, a *arguments) some { s := a.shape(-1); a.end(); return some{x.Reshape(s...)} }},
	{"expand", exact, func(m *maker, x one) []any { return []any{m.wider(x)} }, func(x one, a *arguments) some { s := a.shape(-1); a.end(); return some{x.Expand(s...)} }},
	{"permute", exact, func(m *maker, x one) []any { return []any{m.order(x)} }, func(x one, a *arguments) some { s := a.list32(math.MinInt32); a.end(); return some{x.Permute(s...)} }},
	{"transpose", exact, func(m *maker, x one) []any { return m.perhaps(m.axis(x), m.axis(x)) }, func(x one, a *arguments) some {
		i, j := a.integer(-2), a.integer(-1)
		a.end()
		return some{x.Transpose(i, j)}
	}},
	{"moveAxis", exact, func(m *maker, x one) []any { return []any{m.axis(x), m.axis(x)} }, func(x one, a *arguments) some {
		i, j := a.integer(), a.integer()
		a.end()
		return some{x.MoveAxis(i, j)}
	}},
	severalAxes("flip", exact, one.Flip), severalAxes("squeeze", exact, one.Squeeze), severalAxes("flatten", exact, one.Flatten),
	{"unsqueeze", exact, func(m *maker, x one) []any { return []any{m.axis(x)} }, func(x one, a *arguments) some { n := a.integer(); a.end(); return some{x.Unsqueeze(n)} }},
	{"shrink", exact, func(m *maker, x one) []any {
		lo, hi := []any{}, []any{}
		for _, n := range x.Shape() {
			from := m.IntN(n + 1)
			lo, hi = append(lo, float64(from)), append(hi, float64(from+m.IntN(n-from+1)))
		}
		return []any{lo, hi}
	}, func(x one, a *arguments) some {
		lo, hi := a.list32(math.MinInt32), a.list32(math.MinInt32)
		a.end()
		return some{x.Shrink(lo, hi)}
	}},
	{"pad", exact, func(m *maker, x one) []any {
		lo, hi := []any{}, []any{}
		for range x.Shape() {
			lo, hi = append(lo, float64(m.IntN(4)-1)), append(hi, float64(m.IntN(3)))
		}
		return append([]any{lo, hi}, m.perhaps(1.5)...)
	}, func(x one, a *arguments) some {
		lo, hi := a.list32(math.MinInt32), a.list32(math.MinInt32)
		if !a.given() {
			a.end()
			return some{x.Pad(lo, hi)}
		}
		v := a.next()
		if _, ok := asNumber(v); !ok {
			refuse("no number")
		}
		s, _ := asScalar(v)
		a.end()
		return some{x.PadWith(s, lo, hi)}
	}},
	{"roll", exact, func(m *maker, x one) []any { return []any{float64(m.IntN(5) - 2), m.axis(x)} }, func(x one, a *arguments) some {
		by := asIntegers(a.next())
		axes := a.integers()
		a.end()
		return some{x.Roll(by, axes)}
	}},
	{"repeat", exact, func(m *maker, x one) []any {
		counts := []any{}
		for range x.Shape() {
			counts = append(counts, float64(m.IntN(3)))
		}
		return []any{counts}
	}, func(x one, a *arguments) some { n := a.list32(0); a.end(); return some{x.Repeat(n...)} }},
	counted("tril", exact, one.Tril), counted("triu", exact, one.Triu), method{"diagonal", exact, func(m *maker, _ one) []any { return m.perhaps(float64(m.IntN(3) - 1)) }, func(x one, a *arguments) some {
		offset, first, second := a.integer(0), a.integer(-2), a.integer(-1)
		a.end()
		return some{x.DiagonalOf(offset, first, second)}
	}},
	{"split", exact, func(m *maker, x one) []any {
		axis := m.axis(x)
		n := 3
		if x.Rank() > 0 {
			n = x.Dim(int(axis))
		}
		k := m.IntN(n + 1)
		return []any{axis, []any{float64(k), float64(n - k)}}
	}, func(x one, a *arguments) some {
		axis := a.integer()
		s := a.list32(0)
		a.end()
		return x.Split(axis, s...)
	}},
	{"chunk", exact, func(m *maker, x one) []any { return []any{m.axis(x), float64(1 + m.IntN(3))} }, func(x one, a *arguments) some {
		axis, n := a.integer(), a.integer()
		if a.end(); n < 1 || n > 65536 {
			refuse("%d parts", n)
		}
		return x.Chunk(axis, n)
	}},
}

var picking = []method{
	{"at", exact, func(m *maker, x one) []any { return m.index(x) }, func(x one, a *arguments) some { return some{x.At(a.index()...)} }},
	{"withAt", exact, func(m *maker, x one) []any { return append([]any{m.operand(x)}, m.index(x)...) }, func(x one, a *arguments) some { v := a.operand(); return some{x.WithAt(v, a.index()...)} }},
	{"setAt", exact, func(m *maker, x one) []any { return append([]any{m.number()}, m.index(x)...) }, func(x one, a *arguments) some { v := a.operand(); return some{x.SetAt(v, a.index()...)} }},
	{"assign", exact, func(m *maker, x one) []any { return []any{m.operand(x)} }, func(x one, a *arguments) some { v := a.operand(); a.end(); return some{x.Assign(v)} }},
	plain("own", exact, one.Own),
	{"gather", exact, func(m *maker, x one) []any { return []any{m.axis(x), m.ids(x)} }, func(x one, a *arguments) some {
		axis, ids := a.integer(), a.tensor()
		a.end()
		return some{x.Gather(axis, ids)}
	}},
	{"indexSelect", exact, func(m *maker, x one) []any { return []any{m.axis(x), m.ids(x)} }, func(x one, a *arguments) some {
		axis, ids := a.integer(), a.tensor()
		a.end()
		return some{x.IndexSelect(axis, ids)}
	}},
	{"take", exact, func(m *maker, x one) []any { return []any{m.ids(x)} }, func(x one, a *arguments) some { ids := a.tensor(); a.end(); return some{x.Take(ids)} }},
	{"scatterAdd", smooth, func(m *maker, x one) []any { return []any{m.axis(x), m.ids(x), m.operand(x)} }, func(x one, a *arguments) some {
		axis, ids := a.integer(), a.tensor()
		v := a.operand()
		a.end()
		return some{x.ScatterAdd(axis, ids, v)}
	}},
	{"sort", step0, func(m *maker, x one) []any { return m.perhaps(m.axis(x), m.odds(2)) }, func(x one, a *arguments) some {
		axis, down := a.integer(-1), a.flag(false)
		a.end()
		v, i := x.Sort(axis, down)
		return some{v, i}
	}},
	{"argSort", step0, func(m *maker, x one) []any { return m.perhaps(m.axis(x), m.odds(2)) }, func(x one, a *arguments) some {
		axis, down := a.integer(-1), a.flag(false)
		a.end()
		return some{x.ArgSort(axis, down)}
	}},
	{"topK", step0, func(m *maker, x one) []any {
		return append([]any{float64(m.IntN(3))}, m.perhaps(m.axis(x), m.odds(2))...)
	}, func(x one, a *arguments) some {
		k, axis, largest := a.integer(), a.integer(-1), a.flag(true)
		if a.end(); k < 0 {
			refuse("%d of them", k)
		}
		v, i := x.TopK(k, axis, largest)
		return some{v, i}
	}},
}

var layers = []method{
	{"matmul", smooth, func(m *maker, x one) []any { return []any{m.inner(x)} }, func(x one, a *arguments) some { w := a.tensor(); a.end(); return some{x.MatMul(w)} }},
	{"dot", smooth, func(m *maker, x one) []any { return []any{m.inner(x)} }, func(x one, a *arguments) some { w := a.tensor(); a.end(); return some{x.Dot(w)} }},
	{"outer", exact, func(m *maker, x one) []any { return []any{m.any()} }, func(x one, a *arguments) some { w := a.tensor(); a.end(); return some{x.Outer(w)} }},
	{"linear", smooth, func(m *maker, x one) []any { return append([]any{m.any()}, m.perhaps(nil)...) }, func(x one, a *arguments) some {
		w, b := a.tensor(), a.maybe()
		a.end()
		return some{x.Linear(w, b)}
	}},
	{"maxPool2d", kink, func(m *maker, x one) []any { return m.window() }, func(x one, a *arguments) some { p := pool(a); return some{x.MaxPool(p)} }},
	{"avgPool2d", smooth, func(m *maker, x one) []any { return m.window() }, func(x one, a *arguments) some { p := pool(a); return some{x.AvgPool(p)} }},
	{"conv2d", smooth, func(m *maker, x one) []any { return append([]any{m.any(), nil}, m.perhaps(object{{"padding", 1.}})...) }, func(x one, a *arguments) some {
		w, b, o := a.tensor(), a.maybe(), a.options("stride", "padding", "dilation", "groups", "outputPadding")
		c := tensor.Conv{Strides: o("stride").integers(), Paddings: o("padding").integers(), Dilations: o("dilation").integers(), OutputPadding: o("outputPadding").integers(), Groups: o("groups").integer(1)}
		a.end()
		return some{x.Conv2D(w, b, c)}
	}},
	{"layerNorm", touchy, func(m *maker, x one) []any { return m.perhaps(m.lastSize(x)) }, func(x one, a *arguments) some {
		shape := lastAxes(x, a)
		w, b, eps := a.maybe(), a.maybe(), least0(a, 1e-5)
		a.end()
		return some{x.LayerNorm(w, b, eps, shape...)}
	}},
	{"rmsNorm", touchy, func(m *maker, x one) []any { return m.perhaps(m.lastSize(x)) }, func(x one, a *arguments) some {
		shape := lastAxes(x, a)
		w, eps := a.maybe(), least0(a, 1e-6)
		a.end()
		return some{x.RMSNorm(w, eps, shape...)}
	}},
	loss("crossEntropy", smooth, one.CrossEntropy), loss("mse", smooth, one.MSE), loss("l1", touchy, one.L1), loss("bce", touchy, one.BCE), loss("bceWithLogits", smooth, one.BCEWithLogits),
	{"huber", touchy, func(m *maker, x one) []any { return append([]any{m.like(x)}, m.perhaps(0.5)...) }, func(x one, a *arguments) some {
		y, d := a.tensor(), a.number(1)
		l := lossOptions(a)
		a.end()
		return some{x.Huber(y, d, l)}
	}},
	{"grad", touchy, func(m *maker, x one) []any { return []any{[]any{m.float(), m.float()}} }, func(x one, a *arguments) some {
		ws := a.tensors()
		if a.given() {
			seed := a.tensor()
			a.end()
			return x.GradWith(seed, ws...)
		}
		a.end()
		return x.Grad(ws...)
	}},
}

func pool(a *arguments) tensor.Pool {
	p := tensor.Pool{Size: asIntegers(a.next()), Axes: 2}
	o := a.options("stride", "padding", "dilation", "axes", "ceil", "excludePadding")
	if n := o("axes").integer(0); n != 0 {
		p.Axes = n
	}
	p.Ceil, p.ExcludePadding = o("ceil").flag(false), o("excludePadding").flag(false)
	p.Stride, p.Padding, p.Dilation = o("stride").integers(), o("padding").integers(), o("dilation").integers()
	a.end()
	return p
}

func lastAxes(x one, a *arguments) []int {
	if a.given() && a.list[a.taken] == nil {
		a.taken++
	} else if s := a.integers(); len(s) > 0 {
		return s
	}
	if x.Rank() == 0 {
		return nil
	}
	return []int{x.Dim(-1)}
}

func least0(a *arguments, otherwise float64) float64 {
	v := a.number(otherwise)
	if v < 0 {
		refuse("%v is below 0", v)
	}
	return v
}

package torchops

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/tensor"
)

// reducer is a method over axes, none meaning all.
type reducer func(x T, axes ...int) T

// reduce applies f to the axes of dim, and gives them back with size 1 for keepdim. An empty list means all.
func (c *call) reduce(x T, f reducer) T {
	axes := c.axesOrAll("dim")
	if x.Rank() == 0 && len(axes) > 0 { // axis 0 of a scalar
		return f(x.Reshape(1), axes...).Reshape()
	}
	y := f(x, axes...)
	if !c.Bool("keepdim") {
		return y
	}
	return keep(x, y, axes)
}

// keep gives reduced axes back with size 1.
func keep(x, y T, axes []int) T {
	s := x.Shape()
	for i := range s {
		if len(axes) == 0 {
			s[i] = 1
		}
	}
	for _, a := range axes {
		if a < 0 {
			a += len(s)
		}
		if a < len(s) { // of a scalar, axis 0 is none
			s[a] = 1
		}
	}
	return y.Reshape(s...)
}

// some is the input, which must not have an axis of size 0 that is reduced: torch has no extreme of nothing.
func (c *call) some() T {
	x, axes := c.T("input"), c.axesOrAll("dim")
	for i, n := range x.Shape() {
		if n == 0 && (len(axes) == 0 || slices.Contains(axes, i) || slices.Contains(axes, i-x.Rank())) {
			c.refuse("axis %d has no elements", i)
		}
	}
	return x
}

// vector is x with at least one axis, for methods along an axis of scalars.
func vector(x T) T {
	if x.Rank() == 0 {
		return x.Reshape(1)
	}
	return x
}

// scalar is y, which was made of vector(x), without the axis that x has not.
func scalar(x, y T) T {
	if x.Rank() == 0 {
		return y.Reshape()
	}
	return y
}

// inType converts the input before the reduction, as torch's dtype argument does.
func (c *call) inType(name string) T {
	x := c.T(name)
	if d, ok := c.DType("dtype"); ok {
		return x.To(d)
	}
	return x
}

func reduction(signature string, f reducer) op {
	return one(signature, func(c *call) T { return c.reduce(c.T("input"), f) })
}

// truths is a row for all and any, to which an empty list of axes means none.
func truths(f reducer) op {
	return one("input, dim=None, keepdim=False", func(c *call) T {
		if list, ok := c.value("dim").([]any); ok && len(list) == 0 {
			return c.T("input").Ne(0)
		}
		return c.reduce(c.T("input"), f)
	})
}

func typedReduction(f reducer) op {
	return one("input, dim=None, keepdim=False, dtype=None", func(c *call) T { return c.asked(c.reduce(c.inType("input"), f)) })
}

// asked gives a result the dtype that was asked for, if one was: small integers add up in 32 bits unless it was.
func (c *call) asked(x T) T {
	if d, ok := c.DType("dtype"); ok {
		return x.To(d)
	}
	return x
}

var reduceOps = map[string]op{
	"torch.sum": typedReduction(T.Sum), "torch.prod": typedReduction(T.Prod), "torch.mean": typedReduction(T.Mean),
	"torch.nansum": typedReduction(T.NanSum), "torch.nanmean": typedReduction(T.NanMean),
	"torch.amax":      one("input, dim=None, keepdim=False", func(c *call) T { return c.reduce(c.some(), T.Max) }),
	"torch.amin":      one("input, dim=None, keepdim=False", func(c *call) T { return c.reduce(c.some(), T.Min) }),
	"torch.any":       truths(T.Any),
	"torch.all":       truths(T.All),
	"torch.logsumexp": reduction("input, dim, keepdim=False", T.LogSumExp),
	"torch.count_nonzero": one("input, dim=None", func(c *call) T {
		if c.T("input").Rank() == 0 {
			return c.T("input").CountNonZero()
		}
		return c.T("input").CountNonZero(c.axesOrAll("dim")...)
	}),
	"torch.var":      one(spread, spreadOf(T.Var)),
	"torch.std":      one(spread, spreadOf(T.Std)),
	"torch.var_mean": two(spread, func(c *call) (T, T) { return spreadOf(T.Var)(c), c.reduce(c.T("input"), T.Mean) }),
	"torch.std_mean": two(spread, func(c *call) (T, T) { return spreadOf(T.Std)(c), c.reduce(c.T("input"), T.Mean) }),
	"torch.aminmax": two("input, *, dim=None, keepdim=False", func(c *call) (T, T) {
		return c.reduce(c.some(), T.Min), c.reduce(c.some(), T.Max)
	}),
	"torch.max":    {"input, dim=None, keepdim=False", best(T.Max, T.MaxIndex, T.Maximum)},
	"torch.min":    {"input, dim=None, keepdim=False", best(T.Min, T.MinIndex, T.Minimum)},
	"torch.argmax": one("input, dim=None, keepdim=False", argBest(T.ArgMax)),
	"torch.argmin": one("input, dim=None, keepdim=False", argBest(T.ArgMin)),
	"torch.median": {"input, dim=None, keepdim=False", middle(T.Median)}, "torch.nanmedian": {"input, dim=None, keepdim=False", middle(T.NanMedian)},
	"torch.quantile":    one("input, q, dim=None, keepdim=False, *, interpolation='linear'", quantile(false)),
	"torch.nanquantile": one("input, q, dim=None, keepdim=False, *, interpolation='linear'", quantile(true)),
	"torch.norm":        one("input, p='fro', dim=None, keepdim=False, dtype=None", norm("p")),
	"torch.dist":        one("input, other, p=2", func(c *call) T { return c.T("input").Sub(c.T("other")).Norm(c.Float("p")) }),
	"torch.cdist": one("x1, x2, p=2.0, compute_mode=None", func(c *call) T {
		if c.Float("p") < 0 {
			c.refuse("p is %v", c.Float("p"))
		}
		return c.T("x1").CDist(c.T("x2"), c.Float("p"))
	}),
	"torch.cov": one("input, *, correction=1, fweights=None, aweights=None", func(c *call) T {
		return c.T("input").Cov(c.Float("correction"), c.OptT("fweights"), c.OptT("aweights"))
	}),
	"torch.corrcoef": one("input", func(c *call) T { return c.T("input").CorrCoef() }),
	functional + "normalize": one("input, p=2.0, dim=1, eps=1e-12", func(c *call) T {
		return c.T("input").Normalize(c.order("p"), c.Float("eps"), c.axesOrAll("dim")...)
	}),
	functional + "pairwise_distance": one("x1, x2, p=2.0, eps=1e-6, keepdim=False", func(c *call) T {
		y := c.T("x1").PairwiseDistance(c.T("x2"), c.Float("p"), c.Float("eps"))
		if c.Bool("keepdim") {
			return y.Unsqueeze(-1)
		}
		return y
	}),
	functional + "cosine_similarity": one("x1, x2, dim=1, eps=1e-8", func(c *call) T {
		return c.T("x1").CosineSimilarity(c.T("x2"), c.Int("dim"), c.Float("eps"))
	}),
	functional + "softmax":     one("input, dim=None, dtype=None", along(T.Softmax)),
	functional + "log_softmax": one("input, dim=None, dtype=None", along(T.LogSoftmax)),
	functional + "softmin":     one("input, dim=None, dtype=None", along(T.Softmin)),
	"torch.softmax":            one("input, dim=None, dtype=None", along(T.Softmax)),
	"torch.log_softmax":        one("input, dim=None, dtype=None", along(T.LogSoftmax)),
}

const spread = "input, dim=None, *, correction=1, keepdim=False"

func spreadOf(f func(x T, correction float64, axes ...int) T) func(c *call) T {
	return func(c *call) T {
		return c.reduce(c.T("input"), func(x T, axes ...int) T { return f(x, c.Float("correction"), axes...) })
	}
}

// best is max or min: over everything, along an axis with the index, or of two tensors.
func best(all reducer, along func(x T, axis int) (T, T), of func(x T, v any) T) func(c *call) []any {
	return func(c *call) []any {
		if c.None("dim") {
			return []any{all(c.some())}
		}
		if c.IsTensor("dim") {
			return []any{of(c.T("input"), c.T("dim"))}
		}
		v, i := along(vector(c.T("input")), c.Int("dim"))
		return c.kept(v, i)
	}
}

// kept gives the axis dim of results along it back where keepdim is set.
func (c *call) kept(ts ...T) []any {
	out := make([]any, len(ts))
	for i, t := range ts {
		switch {
		case c.T("input").Rank() == 0:
			t = t.Reshape()
		case c.Bool("keepdim"):
			t = keep(c.T("input"), t, c.Ints("dim"))
		}
		out[i] = t
	}
	return out
}

func argBest(f func(x T, axis ...int) T) func(c *call) T {
	return func(c *call) T {
		x := c.some()
		if c.None("dim") {
			y := f(x)
			if c.Bool("keepdim") {
				return keep(x, y, nil)
			}
			return y
		}
		return c.kept(f(vector(x), c.Int("dim")))[0].(T)
	}
}

// middle is the median of everything, or along an axis with the index.
func middle(f func(x T, axis int) (T, T)) func(c *call) []any {
	return func(c *call) []any {
		if x := c.T("input"); c.None("dim") {
			if x.Numel() == 0 {
				return []any{tensor.Full(math.NaN(), x.DType())}
			}
			v, _ := f(x.Flatten(), 0)
			return []any{v}
		}
		v, i := f(c.T("input"), c.Int("dim"))
		return c.kept(v, i)
	}
}

var interpolations = map[string]tensor.Interpolation{"linear": tensor.BetweenLinear, "lower": tensor.BetweenLower,
	"higher": tensor.BetweenHigher, "nearest": tensor.BetweenNearest, "midpoint": tensor.BetweenMidpoint}

func quantile(skip bool) func(c *call) T {
	return func(c *call) T {
		x, axis := c.T("input"), 0
		if c.None("dim") {
			x = x.Flatten()
		} else {
			axis = c.Int("dim")
		}
		var q []float64
		single := true
		if c.IsTensor("q") {
			v, err := tensor.Data[float64](c.dev.ctx, c.T("q"))
			c.fails(err)
			q, single = v, c.T("q").Rank() == 0
		} else {
			q = c.Floats("q")
		}
		y := x.Quantile(q, axis, choice(c, "interpolation", interpolations), skip)
		if c.Bool("keepdim") {
			s := keptShape(c.T("input"), c.axesOrAll("dim"))
			y = y.Reshape(append([]int{len(q)}, s...)...)
		}
		if single {
			return y.Select(0, 0)
		}
		return y
	}
}

func keptShape(x T, axes []int) []int {
	s := x.Shape()
	for i := range s {
		if len(axes) == 0 {
			s[i] = 1
		}
	}
	for _, a := range axes {
		if a < 0 {
			a += len(s)
		}
		s[a] = 1
	}
	return s
}

// order is the p of a vector norm.
func (c *call) order(name string) float64 {
	switch v := c.value(name).(type) {
	case nil:
		return 2
	case string:
		if v != "fro" {
			c.refuse("no norm %s", v)
		}
		return 2
	}
	return c.Float(name)
}

// norm is torch.norm: a vector norm, or the nuclear norm of matrices.
func norm(name string) func(c *call) T {
	return func(c *call) T {
		if c.value(name) == "nuc" {
			return matrixNorm(c, c.inType("input"), name)
		}
		return c.reduce(c.inType("input"), func(x T, axes ...int) T { return x.Norm(c.order(name), axes...) })
	}
}

// along is a method along an axis; without one torch takes 0 for 0, 1 or 3 axes and 1 otherwise.
func along(f func(x T, axis int) T) func(c *call) T {
	return func(c *call) T {
		x := c.inType("input")
		if x.Rank() == 0 {
			return f(x.Reshape(1), 0).Reshape()
		}
		if c.None("dim") {
			if r := x.Rank(); r == 0 || r == 1 || r == 3 {
				return f(x, 0)
			}
			return f(x, 1)
		}
		return f(x, c.Int("dim"))
	}
}

// matrixKinds are torch's names of matrix norms.
func matrixKind(c *call, v any) tensor.MatrixNormKind {
	switch v {
	case "fro", nil:
		return tensor.Frobenius
	case "nuc":
		return tensor.Nuclear
	}
	p, ok := v.(float64)
	if i, is := v.(int); is {
		p, ok = float64(i), true
	}
	if ok {
		switch p {
		case math.Inf(1):
			return tensor.RowSum
		case math.Inf(-1):
			return tensor.LeastRowSum
		case 1:
			return tensor.ColumnSum
		case -1:
			return tensor.LeastColumn
		case 2:
			return tensor.Spectral
		case -2:
			return tensor.LeastValue
		}
	}
	panic(&tensor.ArgumentError{Op: c.op, Reason: "unknown order of a matrix norm"})
}

func matrixNorm(c *call, x T, name string) T {
	axes := []int{-2, -1}
	if a := c.axesOrAll("dim"); len(a) == 2 {
		axes = a
	}
	y := x.MatrixNorm(matrixKind(c, c.value(name)), axes[0], axes[1])
	if c.Bool("keepdim") {
		return keep(x, y, axes)
	}
	return y
}

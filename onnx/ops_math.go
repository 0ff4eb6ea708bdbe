package onnx

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

type t = *tensor.Tensor // short, for the tables of operators

// unary is an operator that works on each element and keeps the type.
func unary(f func(x t) t) operator {
	return func(c *call) []*Value { return c.one(f(c.t(0)), c.elem(0)) }
}

// wideUnary is one of floats that is computed in at least 32 bits.
func wideUnary(f func(x t) t) operator {
	return unary(func(x t) t { return f(wide(x)) })
}

// activation is a wideUnary with the number attributes of a node.
func activation(f func(c *call, x t) t) operator {
	return func(c *call) []*Value { return c.one(f(c, wide(c.t(0))), c.elem(0)) }
}

func relu(x t) t {
	if x.IsFloat() {
		return x.ReLU()
	}
	return x.Maximum(0)
}

// predicate is an operator that asks about each element.
func predicate(f func(c *call, x t) t) operator {
	return func(c *call) []*Value { return c.one(f(c, c.t(0)), Bool) }
}

func isInf(c *call, x t) t {
	negative, positive := c.attrBool("detect_negative", true), c.attrBool("detect_positive", true)
	switch {
	case negative && positive:
		return x.IsInf()
	case negative:
		return x.IsNegInf()
	case positive:
		return x.IsPosInf()
	}
	return x.IsNaN().LogicalAnd(false)
}

func elu(x t, alpha float64) t { return x.Gt(0).Where(x, x.Minimum(0).Expm1().Mul(alpha)) }

func gelu(c *call, x t) t {
	if c.attrString("approximate", "none") == "tanh" {
		return x.GELUTanh()
	}
	return x.GELU()
}

func swish(x t, alpha float64) t { return x.Mul(x.Mul(alpha).Sigmoid()) }

func shrink(c *call, x t) t {
	lambd, bias := c.attrFloat("lambd", 0.5), c.attrFloat("bias", 0)
	return x.Lt(-lambd).Where(x.Add(bias), x.Gt(lambd).Where(x.Sub(bias), tensor.ZerosLike(x)))
}

func thresholded(c *call, x t) t {
	return x.Gt(c.attrFloat("alpha", 1)).Where(x, tensor.ZerosLike(x))
}

func softmaxLike(f func(x t, axis int) t) operator {
	return func(c *call) []*Value {
		x := c.t(0)
		if c.opset >= 13 {
			axis := c.axis(c.attrInt("axis", -1), max(1, x.Rank()))
			if x.Rank() == 0 {
				return c.one(f(x.Reshape(1), 0).Reshape(), c.elem(0))
			}
			return c.one(f(x, axis), c.elem(0))
		}
		rows, columns := matrixAt(c, x.Shape(), c.attrInt("axis", 1))
		return c.one(f(x.Reshape(rows, columns), 1).Reshape(x.Shape()...), c.elem(0))
	}
}

// matrixAt are the sizes of an array as a matrix: the axes before one are rows.
func matrixAt(c *call, shape []int, axis int) (rows, columns int) {
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis > len(shape) {
		c.fail("axis %d is outside of %d axes", axis, len(shape))
	}
	return count(shape[:axis]), count(shape[axis:])
}

func hardmax(x t, axis int) t {
	n := x.Dim(axis)
	at := x.ArgMaxKeep(axis)
	shape := slices.Repeat([]int{1}, x.Rank())
	if axis < 0 {
		axis += x.Rank()
	}
	shape[axis] = n
	return at.Eq(tensor.Arange(n).To(at.DType()).Reshape(shape...))
}

// binary is an operator on pairs of elements of one type.
func pairwise(f func(x, y t) t) operator {
	return func(c *call) []*Value {
		x, y := c.pair()
		return c.one(f(x, y), c.elem(0))
	}
}

// pair are both operands of a binary operator. Before version 7 the second was laid along an axis that an attribute names.
func (c *call) pair() (x, y t) {
	x, y = c.t(0), c.t(1)
	if c.opset < 7 && c.node.domain == "" && c.attrBool("broadcast", false) && y.Rank() < x.Rank() {
		axis := c.attrInt("axis", x.Rank()-y.Rank())
		axis = c.axis(axis, x.Rank()+1)
		shape := y.Shape()
		for len(shape) < x.Rank()-axis {
			shape = append(shape, 1)
		}
		y = y.Reshape(shape...)
	}
	return x, y
}

func compare(f func(x, y t) t) operator {
	return func(c *call) []*Value {
		x, y := c.pair()
		return c.one(f(x, y), Bool)
	}
}

func divide(x, y t) t {
	if x.IsFloat() {
		return x.Div(y)
	}
	return x.TruncDiv(y)
}

func pow(c *call) []*Value {
	x, y := c.t(0), c.t(1)
	e := c.elem(0)
	switch {
	case !x.IsFloat() && y.IsFloat():
		if v := c.array(1); v.known && count(v.shape) == 1 && len(v.shape) <= x.Rank() {
			if p := c.float(1); p == math.Trunc(p) && p >= 0 && p <= 64 {
				return c.one(x.Pow(int(p)), e)
			}
		}
		return c.one(nearlyWhole(x.To(dtype.F64).Pow(y.To(dtype.F64))), e)
	case x.IsFloat():
		if v := c.array(1); v.known && count(v.shape) == 1 && len(v.shape) <= x.Rank() {
			if p := c.float(1); p == math.Trunc(p*2)/2 && math.Abs(p) <= 4 {
				return c.one(wide(x).Pow(p), e)
			}
		}
		return c.one(wide(x).Pow(y.To(wide(x).DType())), e)
	}
	return c.one(x.Pow(y.To(x.DType())), e)
}

// nearlyWhole is a power as an integer type is to have it: what lies within the error of Pow (some units in the last place) of a whole number
// is that number, and 10 to the 2 is not cut down to 99.
func nearlyWhole(v t) t {
	whole := v.Round()
	return v.Sub(whole).Abs().Le(whole.Abs().Mul(0x1p-46)).Where(whole, v)
}

func mod(c *call) []*Value {
	x, y := c.pair()
	if c.attrBool("fmod", false) {
		return c.one(x.Fmod(y), c.elem(0))
	}
	return c.one(x.Mod(y), c.elem(0))
}

// bitShift shifts; by less than nothing or by the width and more it shifts everything out.
func bitShift(c *call) []*Value {
	x, y := c.t(0), c.t(1)
	width := x.DType().Bits()
	over := y.Lt(0).LogicalOr(y.Ge(width))
	out, all := x, x
	switch d := c.attrString("direction", ""); d {
	case "LEFT":
		out, all = x.Shl(y), tensor.ZerosLike(x)
	case "RIGHT":
		out = x.Shr(y)
		if all = tensor.ZerosLike(x); !x.DType().IsUnsigned() {
			all = x.Shr(width - 1)
		}
	default:
		c.fail("its direction is %.20q; it must be LEFT or RIGHT", d)
	}
	return c.one(over.Where(all, out), c.elem(0))
}

func equal(c *call) []*Value {
	if c.value(0).elem == String {
		return c.textPairs(func(a, b string) bool { return a == b })
	}
	return compare(func(x, y t) t { return x.Eq(y) })(c)
}

// variadic merges any number of operands from the left.
func variadic(f func(x, y t) t) operator {
	return func(c *call) []*Value {
		x := c.t(0)
		for i := 1; i < len(c.in); i++ {
			x = f(x, c.t(i))
		}
		return c.one(x, c.elem(0))
	}
}

func meanOf(c *call) []*Value {
	x := wide(c.t(0))
	for i := 1; i < len(c.in); i++ {
		x = x.Add(wide(c.t(i)))
	}
	return c.one(x.Div(len(c.in)), c.elem(0))
}

func clip(c *call) []*Value {
	x := c.t(0)
	if c.opset < 11 {
		lo, hi := c.attrFloat("min", math.Inf(-1)), c.attrFloat("max", math.Inf(1))
		return c.one(x.Clamp(lo, hi), c.elem(0))
	}
	if c.has(1) {
		x = x.Maximum(c.t(1).Reshape())
	}
	if c.has(2) {
		x = x.Minimum(c.t(2).Reshape())
	}
	return c.one(x, c.elem(0))
}

func prelu(c *call) []*Value {
	x, slope := c.t(0), c.t(1)
	if c.opset < 7 && slope.Rank() == 1 && x.Rank() > 2 {
		slope = slope.Reshape(append([]int{slope.Numel()}, slices.Repeat([]int{1}, x.Rank()-2)...)...)
	}
	return c.one(x.Lt(0).Where(x.Mul(slope), x), c.elem(0))
}

func erf(x t) t { return x.Erf() }

func init() {
	register("", map[string]operator{
		"Abs": unary(t.Abs), "Neg": unary(t.Neg), "Sign": unary(t.Sign), "Ceil": unary(t.Ceil), "Floor": unary(t.Floor), "Round": unary(t.Round),
		"Sqrt": wideUnary(t.Sqrt), "Exp": wideUnary(t.Exp), "Log": wideUnary(t.Log), "Sin": wideUnary(t.Sin), "Cos": wideUnary(t.Cos),
		"Tan": wideUnary(t.Tan), "Asin": wideUnary(t.Asin), "Acos": wideUnary(t.Acos), "Atan": wideUnary(t.Atan), "Sinh": wideUnary(t.Sinh),
		"Cosh": wideUnary(t.Cosh), "Tanh": wideUnary(t.Tanh), "Asinh": wideUnary(t.Asinh), "Acosh": wideUnary(t.Acosh), "Atanh": wideUnary(t.Atanh),
		"Erf": wideUnary(erf), "Reciprocal": wideUnary(t.Reciprocal), "Relu": unary(relu), "Sigmoid": wideUnary(t.Sigmoid),
		"Softsign": wideUnary(t.Softsign), "Mish": wideUnary(t.Mish), "BitwiseNot": unary(t.Not),
		"Not":   predicate(func(_ *call, x t) t { return x.LogicalNot() }),
		"IsNaN": predicate(func(_ *call, x t) t { return x.IsNaN() }), "IsInf": predicate(isInf),

		"Softplus":  wideUnary(func(x t) t { return x.Softplus(1) }),
		"LeakyRelu": activation(func(c *call, x t) t { return x.LeakyReLU(c.attrFloat("alpha", 0.01)) }),
		"Elu":       activation(func(c *call, x t) t { return elu(x, c.attrFloat("alpha", 1)) }),
		"Celu": activation(func(c *call, x t) t {
			a := c.attrFloat("alpha", 1)
			return x.Maximum(0).Add(x.Div(a).Expm1().Mul(a).Minimum(0))
		}),
		"Selu": activation(func(c *call, x t) t {
			return elu(x, c.attrFloat("alpha", 1.6732632)).Mul(c.attrFloat("gamma", 1.0507010))
		}),
		"HardSigmoid": activation(func(c *call, x t) t {
			return x.Mul(c.attrFloat("alpha", 0.2)).Add(c.attrFloat("beta", 0.5)).Clamp(0, 1)
		}),
		"HardSwish": activation(func(c *call, x t) t { return x.Mul(x.Mul(1.0/6).Add(0.5).Clamp(0, 1)) }),
		"Gelu":      activation(gelu), "Shrink": activation(shrink), "ThresholdedRelu": activation(thresholded),
		"Swish": activation(func(c *call, x t) t { return swish(x, c.attrFloat("alpha", 1)) }),
		"PRelu": prelu, "Clip": clip,
		"Softmax": softmaxLike(t.Softmax), "LogSoftmax": softmaxLike(t.LogSoftmax), "Hardmax": softmaxLike(hardmax),

		"Add": pairwise(func(x, y t) t { return x.Add(y) }), "Sub": pairwise(func(x, y t) t { return x.Sub(y) }),
		"Mul": pairwise(func(x, y t) t { return x.Mul(y) }), "Div": pairwise(divide), "Pow": pow, "Mod": mod,
		"And": pairwise(func(x, y t) t { return x.LogicalAnd(y) }), "Or": pairwise(func(x, y t) t { return x.LogicalOr(y) }),
		"Xor":        pairwise(func(x, y t) t { return x.LogicalXor(y) }),
		"BitwiseAnd": pairwise(func(x, y t) t { return x.And(y) }), "BitwiseOr": pairwise(func(x, y t) t { return x.Or(y) }),
		"BitwiseXor": pairwise(func(x, y t) t { return x.Xor(y) }), "BitShift": bitShift,
		"Equal": equal, "Less": compare(func(x, y t) t { return x.Lt(y) }), "Greater": compare(func(x, y t) t { return x.Gt(y) }),
		"LessOrEqual":    compare(func(x, y t) t { return x.Le(y) }),
		"GreaterOrEqual": compare(func(x, y t) t { return x.Ge(y) }),
		"Max":            variadic(func(x, y t) t { return x.Maximum(y) }), "Min": variadic(func(x, y t) t { return x.Minimum(y) }),
		"Sum": variadic(func(x, y t) t { return x.Add(y) }), "Mean": meanOf,
	})
}

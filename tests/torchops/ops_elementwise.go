package torchops

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// T is short for the tensor type in these tables.
type T = *tensor.Tensor

// unary is a row for a method without arguments.
func unary(f func(x T) T) op { return one("input", func(c *call) T { return f(c.T("input")) }) }

// dual is a row for a method of two operands. The first may be a number if the second is a tensor.
func dual(f func(x T, v any) T) op {
	return one("input, other", func(c *call) T { return f(c.left("input", "other"), c.Operand("other")) })
}

// left is the first operand, a number made a tensor beside the second.
func (c *call) left(first, second string) T {
	if c.IsTensor(first) {
		return c.T(first)
	}
	x := c.T(second)
	d := x.DType()
	switch v := c.value(first).(type) {
	case float64:
		if !d.IsFloat() {
			d = dtype.F32
		}
		return tensor.Full(v, d)
	case int:
		if d == dtype.Bool {
			d = dtype.I64
		}
		return tensor.Full(v, d)
	}
	return tensor.Full(c.value(first), d)
}

var elementwiseOps = merge(unaryOps, binaryOps, activationOps, otherElementwise)

var unaryOps = map[string]op{
	"torch.abs": unary(T.Abs), "torch.neg": unary(T.Neg), "torch.square": unary(T.Square), "torch.sqrt": unary(T.Sqrt),
	"torch.rsqrt": unary(T.Rsqrt), "torch.reciprocal": unary(T.Reciprocal), "torch.exp": unary(T.Exp), "torch.exp2": unary(T.Exp2),
	"torch.expm1": unary(T.Expm1), "torch.log": unary(T.Log), "torch.log2": unary(T.Log2), "torch.log10": unary(T.Log10),
	"torch.log1p": unary(T.Log1p), "torch.sin": unary(T.Sin), "torch.cos": unary(T.Cos), "torch.tan": unary(T.Tan),
	"torch.asin": unary(T.Asin), "torch.acos": unary(T.Acos), "torch.atan": unary(T.Atan), "torch.sinh": unary(T.Sinh),
	"torch.cosh": unary(T.Cosh), "torch.tanh": unary(T.Tanh), "torch.asinh": unary(T.Asinh), "torch.acosh": unary(T.Acosh),
	"torch.atanh": unary(T.Atanh), "torch.erf": unary(T.Erf), "torch.erfc": unary(T.Erfc), "torch.erfinv": unary(T.ErfInv),
	"torch.lgamma": unary(T.Lgamma), "torch.digamma": unary(T.Digamma), "torch.sigmoid": unary(T.Sigmoid), "torch.sinc": unary(T.Sinc),
	"torch.deg2rad": unary(T.Deg2Rad), "torch.rad2deg": unary(T.Rad2Deg), "torch.ceil": unary(T.Ceil), "torch.floor": unary(T.Floor),
	"torch.trunc": unary(T.Trunc), "torch.frac": unary(T.Frac), "torch.sign": unary(T.Sign), "torch.isnan": unary(T.IsNaN),
	"torch.isinf": unary(T.IsInf), "torch.isfinite": unary(T.IsFinite), "torch.isposinf": unary(T.IsPosInf),
	"torch.isneginf": unary(T.IsNegInf), "torch.signbit": unary(T.SignBit), "torch.logical_not": unary(T.LogicalNot),
	"torch.bitwise_not": unary(T.Not), "torch.clone": unary(T.Clone),
	"torch.round": one("input, *, decimals=0", func(c *call) T {
		if n := c.Int("decimals"); n != 0 {
			return c.T("input").RoundTo(n)
		}
		return c.T("input").Round()
	}),
	"torch.logit": one("input, eps=None", func(c *call) T {
		if eps, ok := c.OptFloat("eps"); ok {
			return c.T("input").Logit(eps)
		}
		return c.T("input").Logit(-1)
	}),
	"torch.nan_to_num": one("input, nan=0.0, posinf=None, neginf=None", nanToNum),
}

func nanToNum(c *call) T {
	x := c.T("input")
	nan, _ := c.OptFloat("nan")
	hi, ok := c.OptFloat("posinf")
	if !ok {
		hi = x.Greatest()
	}
	lo, ok := c.OptFloat("neginf")
	if !ok {
		lo = -x.Greatest()
	}
	return x.NanToNum(nan, hi, lo)
}

var binaryOps = map[string]op{
	"torch.add": one("input, other, *, alpha=1", add), "torch.Tensor.add": one("input, other, *, alpha=1", add),
	"torch.sub":  one("input, other, *, alpha=1", func(c *call) T { return c.numbers().left("input", "other").Sub(c.scaled("other")) }),
	"torch.rsub": one("input, other, alpha=1", func(c *call) T { return c.numbers().scaled("input").(T).RSub(c.Operand("other")) }),
	"torch.mul":  dual(T.Mul), "torch.true_divide": one("dividend, divisor", func(c *call) T { return c.left("dividend", "divisor").Div(c.Operand("divisor")) }),
	"torch.div":     one("input, other, *, rounding_mode=None", divide),
	"torch.maximum": dual(T.Maximum), "torch.minimum": dual(T.Minimum), "torch.fmax": dual(T.FMax), "torch.fmin": dual(T.FMin),
	"torch.atan2": dual(T.Atan2), "torch.hypot": dual(T.Hypot), "torch.copysign": dual(T.CopySign),
	"torch.logaddexp": dual(T.LogAddExp), "torch.logaddexp2": dual(T.LogAddExp2), "torch.fmod": dual(T.Fmod),
	"torch.remainder": dual(T.Mod), "torch.floor_divide": dual(T.FloorDiv), "torch.xlogy": dual(T.Xlogy),
	"torch.heaviside": one("input, values", func(c *call) T { return c.T("input").Heaviside(c.Operand("values")) }),
	"torch.pow":       one("base, exponent", func(c *call) T { return power(c) }),
	"torch.eq":        dual(T.Eq), "torch.ne": dual(T.Ne), "torch.lt": dual(T.Lt), "torch.le": dual(T.Le), "torch.gt": dual(T.Gt),
	"torch.ge": dual(T.Ge), "torch.bitwise_and": dual(T.And), "torch.bitwise_or": dual(T.Or), "torch.bitwise_xor": dual(T.Xor),
	"torch.bitwise_left_shift": dual(T.Shl), "torch.bitwise_right_shift": dual(T.Shr), "torch.logical_and": dual(T.LogicalAnd),
	"torch.logical_or": dual(T.LogicalOr), "torch.logical_xor": dual(T.LogicalXor),
	"torch.lerp":    one("input, end, weight", func(c *call) T { return c.T("input").Lerp(c.T("end"), c.Operand("weight")) }),
	"torch.addcmul": one("input, tensor1, tensor2, *, value=1", func(c *call) T { return c.T("input").AddCMul(c.T("tensor1"), c.T("tensor2"), c.Operand("value")) }),
	"torch.addcdiv": one("input, tensor1, tensor2, *, value=1", func(c *call) T { return c.T("input").AddCDiv(c.T("tensor1"), c.T("tensor2"), c.Operand("value")) }),
	"torch.isclose": one("input, other, rtol=1e-05, atol=1e-08, equal_nan=False", isClose),
	"torch.allclose": {"input, other, rtol=1e-05, atol=1e-08, equal_nan=False", func(c *call) []any {
		return []any{c.truth(isClose(c).All())}
	}},
	"torch.equal": {"input, other", func(c *call) []any {
		x, y := c.T("input"), c.T("other")
		if !sameShape(x, y) {
			return []any{false}
		}
		return []any{c.truth(x.Eq(y).All())}
	}},
}

func sameShape(x, y T) bool {
	if x.Rank() != y.Rank() {
		return false
	}
	for i, n := range x.Shape() {
		if y.Dim(i) != n {
			return false
		}
	}
	return true
}

// truth reads a single bool.
func (c *call) truth(x T) bool {
	v, err := x.Item(c.dev.ctx)
	c.fails(err)
	return v != 0
}

// numbers refuses bools where torch subtracts: there Weft takes one beside a number.
func (c *call) numbers() *call {
	for _, name := range []string{"input", "other"} {
		_, truth := c.value(name).(bool)
		if truth || c.IsTensor(name) && c.T(name).DType() == dtype.Bool {
			c.refuse("%s is bool", name)
		}
	}
	return c
}

// scaled is an operand times alpha.
func (c *call) scaled(name string) any {
	v := c.Operand(name)
	if a := c.value("alpha"); a == 1 {
		return v
	}
	if x, ok := v.(T); ok {
		return x.Mul(c.Operand("alpha"))
	}
	return c.Float(name) * c.Float("alpha")
}

func add(c *call) T { return c.left("input", "other").Add(c.scaled("other")) }

func divide(c *call) T {
	x, y := c.left("input", "other"), c.Operand("other")
	if c.None("rounding_mode") {
		return x.Div(y)
	}
	if c.Str("rounding_mode") == "floor" {
		return x.FloorDiv(y)
	}
	return x.TruncDiv(y)
}

func power(c *call) T {
	if c.IsTensor("base") {
		return c.T("base").Pow(c.Operand("exponent"))
	}
	return c.T("exponent").RPow(c.Operand("base"))
}

func isClose(c *call) T {
	return c.T("input").IsClose(c.Operand("other"), c.Float("rtol"), c.Float("atol"), c.Bool("equal_nan"))
}

const functional = "torch.nn.functional."

// withFloat is a row for a method with one number.
func withFloat(signature, name string, f func(x T, v float64) T) op {
	return one(signature, func(c *call) T { return f(c.T("input"), c.Float(name)) })
}

var activationOps = map[string]op{
	functional + "relu": unary(T.ReLU), functional + "relu6": unary(T.ReLU6), functional + "selu": unary(T.SELU),
	functional + "silu": unary(T.SiLU), functional + "mish": unary(T.Mish), functional + "softsign": unary(T.Softsign),
	functional + "hardsigmoid": unary(T.HardSigmoid), functional + "hardswish": unary(T.HardSwish), functional + "logsigmoid": unary(T.LogSigmoid),
	functional + "tanhshrink": unary(T.TanhShrink), functional + "tanh": unary(T.Tanh), functional + "sigmoid": unary(T.Sigmoid),
	"torch.relu": unary(T.ReLU), "torch.selu": unary(T.SELU),
	functional + "leaky_relu": withFloat("input, negative_slope=0.01", "negative_slope", T.LeakyReLU),
	functional + "elu":        withFloat("input, alpha=1.0", "alpha", T.ELU),
	functional + "celu":       withFloat("input, alpha=1.0", "alpha", T.CELU),
	functional + "hardshrink": withFloat("input, lambd=0.5", "lambd", T.HardShrink),
	functional + "softshrink": one("input, lambd=0.5", func(c *call) T {
		if c.Float("lambd") < 0 {
			c.refuse("a limit of %v", c.Float("lambd"))
		}
		return c.T("input").SoftShrink(c.Float("lambd"))
	}),
	functional + "hardtanh": one("input, min_val=-1.0, max_val=1.0", func(c *call) T {
		if c.Float("min_val") > c.Float("max_val") {
			c.refuse("the lower limit is above the upper one")
		}
		return c.T("input").HardTanh(c.Float("min_val"), c.Float("max_val"))
	}),
	functional + "softplus": one("input, beta=1, threshold=20", func(c *call) T {
		return c.T("input").SoftplusUpTo(c.Float("beta"), c.Float("threshold"))
	}),
	functional + "threshold": one("input, threshold, value", func(c *call) T {
		return c.T("input").Threshold(c.Float("threshold"), c.Float("value"))
	}),
	functional + "gelu": one("input, approximate='none'", func(c *call) T {
		if c.Str("approximate") == "tanh" {
			return c.T("input").GELUTanh()
		}
		if a := c.Str("approximate"); a != "none" {
			c.refuse("approximate %s", a)
		}
		return c.T("input").GELU()
	}),
	functional + "prelu": one("input, weight", func(c *call) T { return c.T("input").PReLU(c.T("weight")) }),
	functional + "glu":   one("input, dim=-1", func(c *call) T { return c.T("input").GLU(c.Int("dim")) }),
	functional + "rrelu": one("input, lower=0.125, upper=0.3333333333333333, training=False", func(c *call) T {
		lo, hi := c.Float("lower"), c.Float("upper")
		if lo > hi {
			c.refuse("the lower slope is above the upper one")
		}
		if c.Bool("training") {
			return c.T("input").RReLU(lo, hi)
		}
		return c.T("input").LeakyReLU((lo + hi) / 2)
	}),
	functional + "dropout":   one("input, p=0.5, training=True", dropout(T.Dropout)),
	functional + "dropout1d": one("input, p=0.5, training=True", dropout(T.ChannelDropout)),
	functional + "dropout2d": one("input, p=0.5, training=True", dropout(T.ChannelDropout)),
	functional + "dropout3d": one("input, p=0.5, training=True", dropout(T.ChannelDropout)),
}

func dropout(f func(x T, p float64) T) func(c *call) T {
	return func(c *call) T {
		if !c.Bool("training") {
			return c.T("input")
		}
		return f(c.T("input"), c.Float("p"))
	}
}

var otherElementwise = map[string]op{
	"torch.where": one("condition, input, other", func(c *call) T {
		return c.T("condition").Where(c.Operand("input"), c.Operand("other"))
	}),
	"torch.masked_fill": one("input, mask, value", func(c *call) T {
		return c.T("input").MaskedFill(c.T("mask"), c.Operand("value"))
	}),
	"torch.clamp": one("input, min=None, max=None", func(c *call) T {
		return c.T("input").Clamp(c.OptOperand("min"), c.OptOperand("max"))
	}),
	"torch.Tensor.to": one("self, dtype", func(c *call) T {
		d, _ := c.DType("dtype")
		return c.T("self").To(d)
	}),
}

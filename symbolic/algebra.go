package symbolic

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

var (
	law  = rewrite.Law
	step = rewrite.Step

	x, y, z = rewrite.Any("x"), rewrite.Any("y"), rewrite.Any("z")
	a, b    = rewrite.Any("a"), rewrite.Any("b") // conditions
	c, k    = rewrite.Const("c"), rewrite.Const("k")
	s, t    = rewrite.TypeOf("s"), rewrite.TypeOf("t")

	zero, one, minus = rewrite.Int(0), rewrite.Int(1), rewrite.Int(-1)

	minusZero = rewrite.Literal("-0.0", func(d dtype.DType) (uop.Value, bool) {
		return uop.FloatValue(d, math.Copysign(0, -1)), d.IsFloat()
	})
	least = rewrite.Literal("least", func(d dtype.DType) (uop.Value, bool) { return uop.Least(d), true })
	ones  = rewrite.Literal("~0", func(d dtype.DType) (uop.Value, bool) {
		if d == dtype.Bool || d.IsUnsigned() {
			_, hi := uop.IntLimits(d)
			return hi, true
		}
		return ^uop.Value(0), d.IsInt()
	})
)

var (
	exact   = rewrite.Exact
	integer = rewrite.Integer
)

func float(m *rewrite.Match) bool   { return m.Root.DType().IsFloat() }
func boolean(m *rewrite.Match) bool { return m.Root.DType() == dtype.Bool }

// exactOperands is exact for comparisons, whose result is bool.
func exactOperands(m *rewrite.Match) bool { return !m.Root.At(0).DType().IsFloat() }

// Algebra are laws that hold bit for bit on the values of every type they are not restricted to; NaN counts as
// one value. They make the graph smaller or move constants to the right and together.
var Algebra = rewrite.Join("algebra", arithmetic, bits, conditions, conversions)

var arithmetic = rewrite.Rules("arithmetic",
	step("fold", rewrite.OneOf(foldable...), fold),
	step("constant right", rewrite.OneOf(uop.Add, uop.Mul, uop.Max, uop.And, uop.Or, uop.Xor, uop.Equal), constantRight),

	law("add zero", x.Add(zero), x).If(exact), // −0 + 0 is 0
	law("add minus zero", x.Add(minusZero), x).If(float),
	law("add negative", x.Add(x.Neg()), zero).If(integer), // inf − inf is NaN
	law("add and subtract", x.Add(y).Add(y.Neg()), x).If(integer),
	law("subtract and add", x.Add(y.Neg()).Add(y), x).If(integer),
	law("gather added constants", x.Add(c).Add(k), x.Add(c.Add(k))).If(exact),
	law("factor", x.Mul(c).Add(x.Mul(k)), x.Mul(c.Add(k))).If(exact),
	law("factor one", x.Mul(c).Add(x), x.Mul(c.Add(one))).If(integer),

	law("mul one", x.Mul(one), x),
	law("mul zero", x.Mul(zero), zero).If(exact), // NaN·0, inf·0, −1·0
	law("mul minus one", x.Mul(minus), x.Neg()),
	law("gather factors", x.Mul(c).Mul(k), x.Mul(c.Mul(k))).If(exact),
	law("mul of negatives", x.Neg().Mul(y.Neg()), x.Mul(y)),
	law("negative times constant", x.Neg().Mul(c), x.Mul(c.Neg())),
	law("negate twice", x.Neg().Neg(), x),
	law("negate product", x.Mul(c).Neg(), x.Mul(c.Neg())),
	law("negate difference", x.Add(y.Neg()).Neg(), y.Add(x.Neg())).If(integer),

	law("div one", x.Div(one), x),
	law("div minus one", x.Div(minus), x.Neg()),
	step("divide by a power of two", x.Div(c), divideByPower),
	law("idiv one", x.IDiv(one), x),
	law("mod one", x.Mod(one), zero),
	law("idiv of zero", zero.IDiv(x), zero),
	law("mod of zero", zero.Mod(x), zero),
	law("idiv by zero", x.IDiv(zero), zero),
	law("mod by zero", x.Mod(zero), zero),

	law("max with itself", x.Max(x), x),
	law("max twice", x.Max(y).Max(y), x.Max(y)),
	law("max with least", x.Max(least), x),
	law("gather maxima", x.Max(c).Max(k), x.Max(c.Max(k))),
	law("trunc twice", x.Trunc().Trunc(), x.Trunc()),
	law("round twice", x.RoundEven().RoundEven(), x.RoundEven()),

	law("muladd by one", x.MulAdd(one, y), x.Add(y)),
	law("muladd by zero", x.MulAdd(zero, y), y).If(exact),
	law("muladd with minus zero", x.MulAdd(y, minusZero), x.Mul(y)).If(float),
	law("muladd with zero", x.MulAdd(y, zero), x.Mul(y)).If(exact),
)

var bits = rewrite.Rules("bits",
	law("and with itself", x.And(x), x),
	law("and with zero", x.And(zero), zero).If(exact),
	law("and with ones", x.And(ones), x).If(exact),
	law("gather and", x.And(c).And(k), x.And(c.And(k))),
	law("and twice", x.And(y).And(y), x.And(y)),
	law("or with itself", x.Or(x), x),
	law("or with zero", x.Or(zero), x).If(exact),
	law("or with ones", x.Or(ones), ones).If(exact),
	law("gather or", x.Or(c).Or(k), x.Or(c.Or(k))),
	law("or twice", x.Or(y).Or(y), x.Or(y)),
	law("and absorbs or", x.And(x.Or(y)), x),
	law("or absorbs and", x.Or(x.And(y)), x),
	law("xor with itself", x.Xor(x), zero).If(exact),
	law("xor with zero", x.Xor(zero), x).If(exact),
	law("xor twice", x.Xor(y).Xor(y), x).If(exact),
	law("gather xor", x.Xor(c).Xor(k), x.Xor(c.Xor(k))).If(exact),
	law("shl by zero", x.Shl(zero), x).If(exact),
	law("shr by zero", x.Shr(zero), x).If(exact),

	law("bool sum", x.Add(y), x.Or(y)).If(boolean),
	law("bool product", x.Mul(y), x.And(y)).If(boolean),
	law("bool max", x.Max(y), x.Or(y)).If(boolean),
	law("bool negative", x.Neg(), x).If(boolean),
)

var conditions = rewrite.Rules("conditions",
	law("less than itself", x.Less(x), zero),
	law("equal to itself", x.Equal(x), one).If(exactOperands), // NaN is not
	law("less of negatives", x.Neg().Less(y.Neg()), y.Less(x)).If(not(exactOperands)),
	law("equal of negatives", x.Neg().Equal(y.Neg()), x.Equal(y)),
	law("equal to true", x.Equal(one), x).If(boolOperands),
	law("equal to false", x.Equal(zero), x.Not()).If(boolOperands),
	law("false less than", zero.Less(x), x).If(boolOperands),
	law("less than true", x.Less(one), x.Not()).If(boolOperands),

	law("where true", one.Where(x, y), x),
	law("where false", zero.Where(x, y), y),
	law("where same", a.Where(x, x), x),
	law("where not", a.Not().Where(x, y), a.Where(y, x)),
	law("where in then", a.Where(a.Where(x, y), z), a.Where(x, z)),
	law("where in else", a.Where(x, a.Where(y, z)), a.Where(x, z)),
	law("where and", a.Where(b.Where(x, y), y), a.And(b).Where(x, y)),
	law("where or", a.Where(x, b.Where(x, y)), a.Or(b).Where(x, y)),
	law("where true else false", a.Where(one, zero), a).If(boolean),
	law("where false else true", a.Where(zero, one), a.Not()).If(boolean),
	law("where else false", a.Where(x, zero), a.And(x)).If(boolean),
	law("where then true", a.Where(one, x), a.Or(x)).If(boolean),
	law("where then false", a.Where(zero, x), a.Not().And(x)).If(boolean),
	law("where else true", a.Where(x, one), a.Not().Or(x)).If(boolean),
)

var conversions = rewrite.Rules("conversions",
	law("cast of cast", x.Cast(s).Cast(t), x.Cast(t)).If(passesThrough),
	law("cast of choice", a.Where(c, k).Cast(t), a.Where(c.Cast(t), k.Cast(t))),
	law("bitcast of bitcast", x.Bitcast(s).Bitcast(t), x.Bitcast(t)).If(keepsBits),
)

func not(f rewrite.Cond) rewrite.Cond { return func(m *rewrite.Match) bool { return !f(m) } }

func boolOperands(m *rewrite.Match) bool { return m.Root.At(0).DType() == dtype.Bool }

// passesThrough reports that the middle type s changes nothing on the way from x to t: it holds every value
// of x's type, or all three are integers and t keeps no more bits than s.
func passesThrough(m *rewrite.Match) bool {
	from, mid, to := m.Get(x).DType(), m.Type(s), m.Type(t)
	if from.IsInt() && mid.IsInt() && to.IsInt() && typeBits(to) <= typeBits(mid) {
		return true
	}
	if !holds(mid, from) {
		return false
	}
	// From floats, integers saturate; from integers, they wrap.
	return !mid.IsFloat() || from.IsFloat() || !to.IsInt() || holds(to, from)
}

// holds reports whether every value of type d is one of type wide.
func holds(wide, d dtype.DType) bool {
	switch {
	case wide == d || d == dtype.Bool:
		return true
	case wide == dtype.Bool:
		return false
	case d.IsFloat():
		return wide == dtype.F64 || wide == dtype.F32 && d != dtype.F64
	case wide.IsFloat():
		return typeBits(d) <= wide.Digits()
	case d.IsUnsigned() == wide.IsUnsigned():
		return typeBits(d) <= typeBits(wide)
	}
	return d.IsUnsigned() && typeBits(d) < typeBits(wide)
}

// keepsBits excludes bits seen as floats on the way: which NaN it was may be forgotten there.
func keepsBits(m *rewrite.Match) bool { return !m.Type(s).IsFloat() }

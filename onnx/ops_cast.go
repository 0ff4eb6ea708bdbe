package onnx

import (
	"math"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func cast(c *call) []*Value {
	if a := c.attr("to"); a != nil && a.kind == attrString { // before version 6
		return c.castTo(elemNamed(string(a.s)))
	}
	return c.castTo(Elem(c.attrInt("to", 0)))
}

// elemNamed is a type by its name in the format, 0 if there is none.
func elemNamed(name string) Elem {
	switch name {
	case "FLOAT":
		return Float32
	case "DOUBLE":
		return Float64
	}
	for e, row := range elems {
		if row.name != "" && strings.EqualFold(row.name, name) {
			return Elem(e)
		}
	}
	return 0
}

func castLike(c *call) []*Value { return c.castTo(c.value(1).elem) }

func (c *call) castTo(e Elem) []*Value {
	v := c.value(0)
	switch {
	case v.kind != IsTensor:
		c.fail("a %v is no array", v)
	case e == v.elem:
		return []*Value{v}
	case v.elem == String:
		return []*Value{c.parsed(v, e)}
	case e == String:
		return []*Value{c.printed(v)}
	case e.DType() == dtype.Void:
		c.fail("it is to give %v, which tensors do not hold", e)
	}
	return c.one(c.convert(c.t(0), v.elem, e), e)
}

// convert converts elements of type from, in their carrier, to type e, in its carrier.
func (c *call) convert(x t, from, e Elem) t {
	d := e.DType()
	switch row := e.row(); {
	case row.small != nil:
		return row.small.round(toF32(x), c.attrBool("saturate", true)).To(d)
	case e == F8E8M0:
		return c.powers(toF32(x))
	case e == Int4 || e == Int2 || e == Uint4 || e == Uint2:
		if x.IsFloat() {
			x = x.To(dtype.I32)
		}
		x = x.To(d)
		if x.DType() == dtype.U8 {
			return x.And(1<<row.bits - 1)
		}
		return x.Shl(8 - row.bits).Shr(8 - row.bits)
	}
	return x.To(d)
}

func toF32(x t) t {
	if x.DType() == dtype.F32 {
		return x
	}
	return x.To(dtype.F32)
}

// round rounds float32 to the nearest number of the format, of two the even one. Above the greatest it is the greatest if it is to saturate,
// else infinite or NaN.
func (m *minifloat) round(x t, saturate bool) t {
	exp := x.Bitcast(dtype.I32).Shr(23).And(255).Maximum(127 + 1 - m.bias)
	unit := exp.Sub(m.mantissa).Shl(23).Bitcast(dtype.F32)
	y := x.Div(unit).Round().Mul(unit)
	over := y.Abs().Gt(m.most)
	switch {
	case !m.nan: // what it makes of NaN is −0
		y = x.IsNaN().Where(math.Copysign(0, -1), y).To(dtype.F32)
		return over.Where(y.Gt(0).Where(m.most, -m.most), y).To(dtype.F32)
	case saturate:
		return over.Where(y.Gt(0).Where(m.most, -m.most), y).To(dtype.F32)
	case m.inf:
		return over.Where(y.Gt(0).Where(math.Inf(1), math.Inf(-1)), y).To(dtype.F32)
	}
	return over.Where(math.NaN(), y).To(dtype.F32)
}

// powers rounds to powers of two.
func (c *call) powers(x t) t {
	bits := x.Bitcast(dtype.I32).And(0x7fffffff)
	exp, frac := bits.Shr(23), bits.And(0x7fffff)
	switch mode := c.attrString("round_mode", "up"); mode {
	case "up":
		exp = exp.Add(frac.Gt(0).To(dtype.I32))
	case "nearest":
		exp = exp.Add(frac.Gt(0x400000).LogicalOr(frac.Eq(0x400000).LogicalAnd(exp.And(1).Eq(1))).To(dtype.I32))
	case "down":
	default:
		c.fail("its rounding is %.40q", mode)
	}
	y := exp.Eq(0).Where(1<<22, exp.Minimum(254).Shl(23)).To(dtype.I32).Bitcast(dtype.F32)
	bad := x.IsNaN()
	if !c.attrBool("saturate", true) {
		bad = bad.LogicalOr(exp.Gt(254))
	}
	return bad.Where(math.NaN(), y).To(dtype.F32)
}

// parsed reads numbers that are written out.
func (c *call) parsed(v *Value, e Elem) *Value {
	list := make([]float64, len(v.strs))
	ints := make([]int64, len(v.strs))
	for i, s := range v.strs {
		s = strings.TrimSpace(s)
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			ints[i], list[i] = n, float64(n)
			continue
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !math.IsInf(f, 0) {
			c.fail("%.80q is no number", s)
		}
		list[i], ints[i] = f, int64(f)
	}
	switch {
	case e.DType() == dtype.Void:
		c.fail("it is to give %v, which tensors do not hold", e)
	case e == Int64 || e == Uint64:
		return &Value{elem: e, shape: v.shape, raw: little(ints, 8), known: true}
	case e.narrow():
		t := tensor.FromNode(c.r.tensor(&Value{elem: Float32, shape: v.shape, raw: rawOf(dtype.F32, list)}).Node(), c.r.eng)
		return c.out(c.convert(t, Float32, e), e)
	}
	return &Value{elem: e, shape: v.shape, raw: rawOf(e.DType(), list), known: true}
}

// printed writes numbers out.
func (c *call) printed(v *Value) *Value {
	c.texts(count(v.shape), 8*count(v.shape))
	raw := c.r.host(v)
	out := make([]string, count(v.shape))
	if list, ok := integersOf(v.elem, raw); ok {
		for i, n := range list {
			switch {
			case v.elem == Bool:
				out[i] = map[bool]string{true: "True", false: "False"}[n != 0]
			case v.elem == Uint64:
				out[i] = strconv.FormatUint(uint64(n), 10)
			default:
				out[i] = strconv.FormatInt(n, 10)
			}
		}
		return &Value{elem: String, shape: v.shape, strs: out, known: true}
	}
	bits := 32
	if v.elem == Float64 {
		bits = 64
	}
	for i, f := range numbersOf(v.elem, raw) {
		switch {
		case f != f:
			out[i] = "NaN"
		case math.IsInf(f, 1):
			out[i] = "INF"
		case math.IsInf(f, -1):
			out[i] = "-INF"
		default:
			out[i] = strconv.FormatFloat(f, 'g', -1, bits)
		}
	}
	return &Value{elem: String, shape: v.shape, strs: out, known: true}
}

func bitCast(c *call) []*Value {
	from, e := c.elem(0), Elem(c.attrInt("to", 0))
	if from.DType() == dtype.Void || e.DType() == dtype.Void || from.bits() != e.bits() {
		c.fail("%v has not the bits of %v", from, e)
	}
	if from == e {
		return []*Value{c.value(0)}
	}
	if from.narrow() || e.narrow() {
		c.fail("the bits of %v as %v: not yet", from, e)
	}
	x, d := c.t(0), e.DType()
	if from == Bool {
		x = x.To(dtype.U8)
	}
	if e == Bool {
		return c.one(x.Bitcast(dtype.U8).Ne(0), e)
	}
	return c.one(x.Bitcast(d), e)
}

func init() {
	register("", map[string]operator{"Cast": cast, "CastLike": castLike, "BitCast": bitCast})
}

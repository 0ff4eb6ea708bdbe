package uop

import (
	"math"

	"github.com/weft-ml/weft/dtype"
)

// Value is one element of any type: the bits of a float64 for floats (already rounded to
// the type), a sign- or zero-extended 64-bit integer for integers, 0 or 1 for bool.
type Value uint64

// FloatValue rounds f to d, if that is a type of floats.
func FloatValue(d dtype.DType, f float64) Value {
	if d.IsFloat() {
		f = d.Round(f)
	}
	return Value(math.Float64bits(f))
}

// IntValue wraps i to d; for Bool it is i ≠ 0.
func IntValue(d dtype.DType, i int64) Value {
	switch d {
	case dtype.Bool:
		return boolValue(i != 0)
	case dtype.I8:
		return Value(int64(int8(i)))
	case dtype.I16:
		return Value(int64(int16(i)))
	case dtype.I32:
		return Value(int64(int32(i)))
	case dtype.U8:
		return Value(uint8(i))
	case dtype.U16:
		return Value(uint16(i))
	case dtype.U32:
		return Value(uint32(i))
	}
	return Value(i)
}

// ValueOf converts a Go number to an element of type d (floats to integers saturate, NaN is 0).
func ValueOf[T int | int64 | float64 | bool](d dtype.DType, v T) Value {
	switch v := any(v).(type) {
	case bool:
		if v {
			return convert(dtype.Bool, d, 1)
		}
		return convert(dtype.Bool, d, 0)
	case int:
		return convert(dtype.I64, d, Value(v))
	case int64:
		return convert(dtype.I64, d, Value(v))
	case float64:
		return convert(dtype.F64, d, Value(math.Float64bits(v)))
	}
	panic("BUG: unreachable")
}

// Float reads a value of a float type.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v)) }

// Int reads a value of an integer type.
func (v Value) Int() int64 { return int64(v) }

// Bool reads a value of type bool.
func (v Value) Bool() bool { return v != 0 }

func boolValue(b bool) Value {
	if b {
		return 1
	}
	return 0
}

// args are the operands of one evaluation: their type, the result's type, the values.
type args struct {
	from, to dtype.DType
	x, y, z  Value
}

// Eval applies an elementwise op to values of type from; to is the type of the result.
func Eval(o Op, from, to dtype.DType, v ...Value) Value {
	var all [3]Value
	copy(all[:], v)
	return Apply(o, from, to, all[0], all[1], all[2])
}

// Apply is Eval for who has many to evaluate. What the op does not take is 0.
func Apply(o Op, from, to dtype.DType, x, y, z Value) Value {
	return table[o].Eval(args{from, to, x, y, z})
}

func (a args) float(f func(x float64) float64) Value { return FloatValue(a.from, f(a.x.Float())) }

// BinaryLog is the logarithm to base 2. Near 1 math.Log2 adds an exponent of 1 to the logarithm of half the number, which is
// nearly -1: few digits are left.
func BinaryLog(x float64) float64 {
	if x > 0.75 && x < 1.5 {
		return math.Log(x) * math.Log2E
	}
	return math.Log2(x)
}

func (a args) arith(f func(x, y float64) float64, i func(x, y int64) int64) Value {
	if a.from.IsFloat() {
		return FloatValue(a.from, f(a.x.Float(), a.y.Float()))
	}
	return IntValue(a.from, i(a.x.Int(), a.y.Int()))
}

func evalNeg(a args) Value {
	if a.from.IsFloat() {
		return FloatValue(a.from, -a.x.Float())
	}
	return IntValue(a.from, -a.x.Int())
}
func evalSqrt(a args) Value      { return a.float(math.Sqrt) }
func evalExp2(a args) Value      { return a.float(math.Exp2) }
func evalLog2(a args) Value      { return a.float(BinaryLog) }
func evalSin(a args) Value       { return a.float(math.Sin) }
func evalTrunc(a args) Value     { return a.float(math.Trunc) }
func evalRoundEven(a args) Value { return a.float(math.RoundToEven) }
func evalAdd(a args) Value {
	if a.from == dtype.Bool {
		return a.x | a.y
	}
	return a.arith(func(x, y float64) float64 { return x + y }, func(x, y int64) int64 { return x + y })
}
func evalMul(a args) Value {
	return a.arith(func(x, y float64) float64 { return x * y }, func(x, y int64) int64 { return x * y })
}
func evalDiv(a args) Value {
	return FloatValue(a.from, a.x.Float()/a.y.Float())
}
func evalIDiv(a args) Value {
	if a.y == 0 {
		return 0
	}
	if a.from == dtype.U64 {
		return a.x / a.y
	}
	x, y := a.x.Int(), a.y.Int()
	if y == -1 {
		return IntValue(a.from, -x)
	}
	q := x / y
	if x%y != 0 && (x < 0) != (y < 0) {
		q--
	}
	return IntValue(a.from, q)
}
func evalMod(a args) Value {
	if a.y == 0 || a.y == ^Value(0) && !a.from.IsUnsigned() {
		return 0
	}
	if a.from == dtype.U64 {
		return a.x % a.y
	}
	x, y := a.x.Int(), a.y.Int()
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return IntValue(a.from, r)
}
func evalMax(a args) Value {
	if a.from == dtype.U64 {
		return max(a.x, a.y)
	}
	return a.arith(func(x, y float64) float64 {
		if x != x || y != y {
			return math.NaN()
		}
		return max(x, y)
	}, func(x, y int64) int64 { return max(x, y) })
}
func evalAnd(a args) Value { return a.x & a.y }
func evalOr(a args) Value  { return a.x | a.y }
func evalXor(a args) Value { return a.x ^ a.y }

// shiftMask takes a shift count modulo the width; Index is evaluated in 64 bits.
func shiftMask(d dtype.DType) uint64 {
	if d == dtype.Index {
		return 63
	}
	return uint64(d.Bits() - 1)
}

func evalShl(a args) Value {
	return IntValue(a.from, a.x.Int()<<(uint64(a.y)&shiftMask(a.from)))
}
func evalShr(a args) Value {
	n := uint64(a.y) & shiftMask(a.from)
	if a.from.IsUnsigned() {
		return a.x >> n
	}
	return IntValue(a.from, a.x.Int()>>n)
}
func evalLess(a args) Value {
	switch {
	case a.from.IsFloat():
		return boolValue(a.x.Float() < a.y.Float())
	case a.from.IsUnsigned():
		return boolValue(a.x < a.y)
	}
	return boolValue(a.x.Int() < a.y.Int())
}
func evalEqual(a args) Value {
	if a.from.IsFloat() {
		return boolValue(a.x.Float() == a.y.Float())
	}
	return boolValue(a.x == a.y)
}
func evalWhere(a args) Value {
	if a.x != 0 {
		return a.y
	}
	return a.z
}
func evalMulAdd(a args) Value {
	if a.from.IsFloat() {
		return FloatValue(a.from, mulAdd(a.from, a.x.Float(), a.y.Float(), a.z.Float()))
	}
	return IntValue(a.from, a.x.Int()*a.y.Int()+a.z.Int())
}

func evalDot2(a args) Value {
	x, y := a.x.Int(), a.y.Int()
	return IntValue(a.from, int64(int16(x))*int64(int16(y))+int64(int16(x>>16))*int64(int16(y>>16)))
}

func evalDot4(a args) Value {
	sum := int64(0)
	for i := range 4 {
		sum += int64(uint8(a.x>>(8*i))) * int64(int8(a.y>>(8*i)))
	}
	return IntValue(a.from, sum)
}

func evalDotBF16(a args) Value {
	half := func(v Value, shift int) float64 { return float64(math.Float32frombits(uint32(v.Int()) >> shift << 16)) }
	product := func(shift int) float64 { return FloatValue(a.to, half(a.x, shift)*half(a.y, shift)).Float() }
	return FloatValue(a.to, product(0)+product(16))
}

// mulAdd is x·y + z to be rounded once to d. For the types below float64 the product is exact; the sum is
// rounded to odd, so that rounding it again to d is rounding once.
func mulAdd(d dtype.DType, x, y, z float64) float64 {
	if d == dtype.F64 {
		return math.FMA(x, y, z)
	}
	p := float64(x * y)
	s := p + z
	back := s - p
	rest := (p - (s - back)) + (z - back)
	if rest == 0 || rest != rest || math.IsInf(s, 0) {
		return s
	}
	b := math.Float64bits(s)
	if (rest < 0) != (s < 0) {
		b--
	}
	return math.Float64frombits(b | 1)
}

func evalCast(a args) Value { return convert(a.from, a.to, a.x) }

// convert is the cast: floats to integers truncate and saturate, NaN becomes 0; integers
// wrap; anything to bool is "not zero".
func convert(from, to dtype.DType, v Value) Value {
	switch {
	case to == dtype.Bool && from.IsFloat():
		return boolValue(v.Float() != 0)
	case to.IsFloat() && from.IsFloat():
		return FloatValue(to, v.Float())
	case to.IsFloat() && from == dtype.U64:
		if to == dtype.F32 {
			return FloatValue(to, float64(float32(uint64(v))))
		}
		return FloatValue(to, float64(uint64(v)))
	case to.IsFloat():
		if to == dtype.F32 {
			return FloatValue(to, float64(float32(v.Int())))
		}
		return FloatValue(to, float64(v.Int()))
	case from.IsFloat():
		return saturate(to, v.Float())
	}
	return IntValue(to, v.Int())
}

func saturate(to dtype.DType, f float64) Value {
	if f != f {
		return 0
	}
	lo, hi := IntLimits(to)
	f = math.Trunc(f)
	if to.IsUnsigned() {
		switch {
		case f <= 0:
			return 0
		case f >= float64(uint64(hi)):
			return hi
		}
		return Value(uint64(f))
	}
	switch {
	case f <= float64(lo.Int()):
		return lo
	case f >= float64(hi.Int()):
		return hi
	}
	return Value(int64(f))
}

// IntLimits gives the least and greatest value of an integer type (or bool).
func IntLimits(d dtype.DType) (lo, hi Value) {
	bits := d.Bits()
	switch {
	case d == dtype.Bool:
		return 0, 1
	case d == dtype.Index:
		lo := int64(math.MinInt64)
		return Value(lo), Value(math.MaxInt64)
	case d.IsUnsigned():
		return 0, ^Value(0) >> (64 - bits)
	}
	lo64 := int64(-1) << (bits - 1)
	return Value(lo64), Value(-(lo64 + 1))
}

func evalBitcast(a args) Value { return FromBits(a.to, ToBits(a.from, a.x)) }

// ToBits gives the stored bits of a value, zero-extended.
func ToBits(d dtype.DType, v Value) uint64 {
	switch {
	case d.IsFloat():
		return d.Encode(v.Float())
	case d == dtype.Bool:
		return uint64(v) & 1
	case d.Size() == 0:
		return uint64(v)
	}
	return uint64(v) & (^uint64(0) >> (64 - d.Bits()))
}

// FromBits reads stored bits.
func FromBits(d dtype.DType, b uint64) Value {
	if d.IsFloat() {
		return Value(math.Float64bits(d.Decode(b)))
	}
	return IntValue(d, int64(b))
}

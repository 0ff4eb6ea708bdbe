package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// In this file and its neighbours an operand of type any is a *Tensor or a Go number: a bool, any
// integer type, float32 or float64; anything else is a *TypeError. Numbers are weak: with a tensor
// they take its type, except that a float with an integer or bool tensor gives float32.

// Add is t + v; on bools it is or.
func (t *Tensor) Add(v any) *Tensor {
	return elementwise("Add", nil, func(u []*uop.UOp) *uop.UOp { return u[0].Add(u[1]) }, t, v)
}

// Sub is t − v; bools are refused.
func (t *Tensor) Sub(v any) *Tensor { return subtract("Sub", t, v) }

// RSub is v − t.
func (t *Tensor) RSub(v any) *Tensor { return subtract("RSub", v, t) }

func subtract(op string, x, y any) *Tensor {
	return elementwise(op, func(d dtype.DType) dtype.DType {
		if d == dtype.Bool {
			failType(op, []dtype.DType{d}, "bools have no difference; use Xor")
		}
		return d
	}, func(u []*uop.UOp) *uop.UOp { return u[0].Sub(u[1]) }, x, y)
}

// Mul is t · v; on bools it is and.
func (t *Tensor) Mul(v any) *Tensor {
	return elementwise("Mul", nil, func(u []*uop.UOp) *uop.UOp { return u[0].Mul(u[1]) }, t, v)
}

// USum is the sum of operands, each a *Tensor or a number, from the first to the last: vs[0] + vs[1] + …, as Add has it.
func USum(vs ...any) *Tensor { return merged("USum", vs, (*Tensor).Add) }

// UProd is the product of operands, each a *Tensor or a number, from the first to the last: vs[0] · vs[1] · …, as Mul has it.
func UProd(vs ...any) *Tensor { return merged("UProd", vs, (*Tensor).Mul) }

// merged merges operands from the left. A number at the front is merged with the first tensor, whose type it takes.
func merged(op string, vs []any, f func(t *Tensor, v any) *Tensor) *Tensor {
	checkParts(op, nil, len(vs))
	at := slices.IndexFunc(vs, func(v any) bool { _, ok := v.(*Tensor); return ok })
	if at < 0 {
		if len(vs) == 0 {
			failArg(op, "nothing to merge")
		}
		return merged(op, append([]any{Scalar(vs[0])}, vs[1:]...), f)
	}
	out := vs[at].(*Tensor)
	out.given()
	for i, v := range vs {
		if i != at {
			out = f(out, v)
		}
	}
	return out
}

// Div is t / v; integers become float32.
func (t *Tensor) Div(v any) *Tensor { return divide("Div", t, v) }

// RDiv is v / t.
func (t *Tensor) RDiv(v any) *Tensor { return divide("RDiv", v, t) }

func divide(op string, x, y any) *Tensor {
	return elementwise(op, floating, func(u []*uop.UOp) *uop.UOp { return u[0].Div(u[1]) }, x, y)
}

// FloorDiv is the quotient rounded down, of the type of the operands; integers by zero give 0.
func (t *Tensor) FloorDiv(v any) *Tensor {
	return elementwise("FloorDiv", intsAtLeast, func(u []*uop.UOp) *uop.UOp {
		x, y := u[0], u[1]
		if !x.DType().IsFloat() {
			return x.IDiv(y)
		}
		wide := dtype.Accumulator(x.DType())
		a, b := x.Cast(wide), y.Cast(wide)
		q := a.Sub(mod(a, b)).Div(b).RoundEven() // exact, unlike the rounded quotient
		below := a.Less(a.Int(0)).And(b.Int(0).Less(b)).Or(a.Int(0).Less(a).And(b.Less(b.Int(0))))
		q = finite(a).And(absolute(b).Equal(b.Const(infinity(wide)))).Where(below.Where(q.Int(-1), q.Int(0)), q)
		q = q.Equal(q.Int(0)).Where(a.Div(b).Mul(q.Int(0)), q) // 0 with the sign of the quotient
		return b.Equal(b.Int(0)).Where(a.Div(b), q).Cast(x.DType()).Detach()
	}, t, v)
}

// TruncDiv is the quotient rounded toward zero, of the type of the operands; integers by zero give 0.
func (t *Tensor) TruncDiv(v any) *Tensor {
	return elementwise("TruncDiv", intsAtLeast, func(u []*uop.UOp) *uop.UOp {
		x, y := u[0], u[1]
		if x.DType().IsFloat() {
			return x.Div(y).Trunc()
		}
		q := x.IDiv(y) // one too low where the signs differ and something remains
		if x.DType().IsUnsigned() {
			return q
		}
		zero := x.Int(0)
		up := x.Less(zero).Xor(y.Less(zero)).And(x.Mod(y).Equal(zero).Not())
		return up.Where(q.Add(x.Int(1)), q)
	}, t, v)
}

// intsAtLeast makes bools integers.
func intsAtLeast(d dtype.DType) dtype.DType {
	if d == dtype.Bool {
		return dtype.I32
	}
	return d
}

// Mod is t − v·FloorDiv(t, v): it has the sign of v. Integers by zero give 0, floats NaN.
func (t *Tensor) Mod(v any) *Tensor {
	return elementwise("Mod", intsAtLeast, func(u []*uop.UOp) *uop.UOp {
		return widely(u, (*uop.UOp).Mod, func(x, y *uop.UOp) *uop.UOp {
			return mod(x, y).Derive(x, x.Int(1), y, floor(x.Div(y)).Neg())
		})
	}, t, v)
}

// Fmod is the remainder of t by v with the sign of t, t − v·q for the whole number q that leaves less than v. Integers by zero give 0, floats NaN. It is
// exact whatever the quotient is, also where that is beyond the largest float.
func (t *Tensor) Fmod(v any) *Tensor {
	return elementwise("Fmod", intsAtLeast, func(u []*uop.UOp) *uop.UOp {
		return widely(u, fmodInt, func(x, y *uop.UOp) *uop.UOp {
			return fmod(x, y).Derive(x, x.Int(1), y, x.Div(y).Trunc().Neg())
		})
	}, t, v)
}

// widely applies ints to integers, and floats to floats of at least 32 bits.
func widely(u []*uop.UOp, ints, floats func(x, y *uop.UOp) *uop.UOp) *uop.UOp {
	d := u[0].DType()
	if !d.IsFloat() {
		return ints(u[0], u[1])
	}
	wide := dtype.Accumulator(d)
	return floats(u[0].Cast(wide), u[1].Cast(wide)).Cast(d)
}

func fmodInt(x, y *uop.UOp) *uop.UOp {
	if x.DType().IsUnsigned() {
		return x.Mod(y)
	}
	m := x.Mod(y) // has the sign of y
	zero := x.Int(0)
	off := m.Equal(zero).Not().And(x.Less(zero).Xor(y.Less(zero)))
	return off.Where(m.Sub(y), m)
}

// fmod is the remainder of floats, with the sign of x.
func fmod(x, y *uop.UOp) *uop.UOp {
	a, b := absolute(x), absolute(y)
	r := longRemainder(a, b)
	r = b.Equal(b.Int(0)).Or(finite(a).Not()).Where(x.Float(math.NaN()), r)
	return r.Equal(r.Int(0)).And(x.Equal(x.Int(0))).Where(x, withSign(r, x))
}

// longRemainder is that of a ≥ 0 by b > 0, by long division: a digit of the quotient is one bit shorter than a float's, and there are as many as from
// the least float to the largest. A digit is off by one at most, to the upper side, and what it leaves has no more digits than b: so each
// step is exact. Divisors beyond the largest float leave everything.
func longRemainder(a, b *uop.UOp) *uop.UOp {
	d := b.DType()
	digit := d.Digits() - 1
	divisors := []*uop.UOp{b}
	info, _ := dtype.Finfo(d)
	all := d.Digits() + 1 - 2*int(math.Log2(info.Normal)) // powers of two, denormal ones included
	if d.Size() == 8 {
		all = 3 * digit // the rest is farRemainder's
	}
	for n := digit; n < all; n += digit {
		v := divisors[len(divisors)-1] // the selection keeps compilers that reorder products from making one constant of all, which overflows
		divisors = append(divisors, v.Less(v.Float(info.Max*math.Ldexp(1, -digit))).Where(v.Mul(v.Float(math.Ldexp(1, digit))), v.Const(infinity(d))))
	}
	by := func(a *uop.UOp, divisors []*uop.UOp) *uop.UOp {
		for _, v := range slices.Backward(divisors) {
			r := a.Div(v).Trunc().Neg().MulAdd(v, a)
			r = r.Less(r.Int(0)).Where(r.Add(v), r)
			a = a.Less(v).Where(a, r)
		}
		return a
	}
	far := func() *uop.UOp { return by(a, divisors[2:]) }
	if d.Size() == 8 {
		far = func() *uop.UOp { return farRemainder(a, b) }
	}
	a = a.Less(divisors[2]).Where(a, far()) // mostly the quotient has two digits at most
	return by(a, divisors[:2])
}

// farRemainder is that of float64 a > b > 0 whose quotient is large: with the integers of 53 bits m and n that are their digits, it is that of m·2^k
// by n, times a power of two. 2^k comes of the bits of k by squares and doubles, whose remainders lie within ±n/2: so a product of two is its
// rounded value and what that leaves out, and the sum of this and the distance of that from the nearest multiple of n is a float.
func farRemainder(a, b *uop.UOp) *uop.UOp {
	const bias, frac, up = 1023, 52, 54
	d, one := dtype.F64, a.Int(1)
	// What lies so low that it may be denormal is scaled up first.
	split := func(x *uop.UOp) (mantissa, exponent *uop.UOp) {
		low := x.Less(x.Float(math.Ldexp(1, up-bias)))
		w := low.Where(x.Mul(x.Float(math.Ldexp(1, up))), x).Bitcast(dtype.I64)
		e := w.Shr(w.Int(frac))
		return w.Sub(e.Shl(w.Int(frac))).Add(a.Float(1 << frac).Bitcast(dtype.I64)).Bitcast(d), e.Sub(low.Where(e.Int(up), e.Int(0)))
	}
	m, ea := split(a)
	n, eb := split(b)
	shift := a.Float(1.5 * math.Ldexp(1, frac))
	half := n.Mul(n.Float(0.5))
	within := func(r *uop.UOp) *uop.UOp { // of |r| < 3n/2
		r = half.Less(r).Where(r.Sub(n), r)
		return r.Less(half.Neg()).Where(r.Add(n), r)
	}
	product := func(x, y *uop.UOp) *uop.UOp {
		p := x.Mul(y)
		rest := x.MulAdd(y, p.Neg())
		q := p.Div(n).Add(shift).Sub(shift) // the nearest integer
		return within(q.Neg().MulAdd(n, p).Add(rest))
	}
	const first = 5 // bits of k that are looked at one by one; the power of two that the others stand for is below 2⁶⁶
	k := ea.Sub(eb)
	r := product(k.Shr(k.Int(first)).Add(k.Int(bias)).Shl(k.Int(frac)).Bitcast(d), one)
	for i := first - 1; i >= 0; i-- {
		r = product(r, r)
		r = k.Shr(k.Int(i)).And(k.Int(1)).Equal(k.Int(0)).Where(r, within(r.Add(r)))
	}
	r = product(product(m, one), r)
	r = r.Less(r.Int(0)).Where(r.Add(n), r)
	// In two steps, for the power may be denormal; the result is a multiple of the last digit of b, and exact.
	power := func(e *uop.UOp) *uop.UOp { return e.Add(e.Int(bias)).Shl(e.Int(frac)).Bitcast(d) }
	c := eb.Sub(eb.Int(bias + frac))
	e := c.Shr(c.Int(1))
	return r.Mul(power(e)).Mul(power(c.Sub(e)))
}

// nearRemainder is that of a ≥ 0 by b > 0 where the quotient has at most twice the digits of the type. The rounded quotient leaves a first
// remainder, exact and of either sign, that may still be longer than b.
func nearRemainder(a, b *uop.UOp) *uop.UOp {
	first := a.Div(b).Trunc().Neg().MulAdd(b, a)
	r := rest(absolute(first), b)
	return first.Less(first.Int(0)).And(r.Equal(r.Int(0)).Not()).Where(b.Sub(r), r)
}

// rest is the remainder of a ≥ 0 by b > 0 with one rounding. The rounded quotient may be off by one, which the two selects
// mend.
func rest(a, b *uop.UOp) *uop.UOp {
	r := a.Div(b).Trunc().Neg().MulAdd(b, a)
	return r.Less(r.Int(0)).Where(r.Add(b), b.Equal(b.Int(0)).Not().And(r.Less(b).Not()).Where(r.Sub(b), r))
}

func mod(x, y *uop.UOp) *uop.UOp {
	r := fmod(x, y)
	zero := r.Int(0)
	off := r.Equal(zero).Not().And(r.Less(zero).Xor(y.Less(zero)))
	return off.Where(r.Add(y), r)
}

// Neg is −t.
func (t *Tensor) Neg() *Tensor {
	if t.DType() == dtype.Bool {
		failType("Neg", []dtype.DType{t.DType()}, "bools have no negative; use LogicalNot")
	}
	return t.like(t.node().Neg())
}

// Abs is the absolute value.
func (t *Tensor) Abs() *Tensor {
	u := t.node()
	switch {
	case t.DType() == dtype.Bool || t.DType().IsUnsigned():
		return t.same()
	case t.DType().IsFloat():
		return t.like(absolute(u).Derive(u, sign(u)))
	}
	return t.like(u.Less(u.Int(0)).Where(u.Neg(), u))
}

// absolute makes −0 to 0.
func absolute(u *uop.UOp) *uop.UOp {
	zero := u.Int(0)
	return u.Less(zero).Where(u.Neg(), u.Equal(zero).Where(zero, u))
}

// Sign is −1, 0 or 1; of NaN it is 0, as PyTorch has it.
func (t *Tensor) Sign() *Tensor {
	if t.DType() == dtype.Bool {
		return t.same()
	}
	return t.like(sign(t.node()).Detach())
}

func sign(u *uop.UOp) *uop.UOp {
	zero := u.Int(0)
	s := zero.Less(u).Where(u.Int(1), zero)
	if u.DType().IsUnsigned() {
		return s
	}
	return u.Less(zero).Where(u.Int(-1), s)
}

// Square is t·t; bools become int32.
func (t *Tensor) Square() *Tensor {
	if t.DType() == dtype.Bool {
		t = t.To(dtype.I32)
	}
	return t.Mul(t)
}

// Reciprocal is 1/t.
func (t *Tensor) Reciprocal() *Tensor { return t.RDiv(1) }

// Sqrt is the square root; NaN below zero.
func (t *Tensor) Sqrt() *Tensor { return t.float((*uop.UOp).Sqrt) }

// Rsqrt is 1/√t.
func (t *Tensor) Rsqrt() *Tensor {
	return t.float(func(x *uop.UOp) *uop.UOp { return x.Int(1).Div(x.Sqrt()) })
}

// Maximum is the larger of both; NaN if one is. Equals share the gradient; where there is a NaN both get all of it. A number beyond what t's type, an
// integer one, holds becomes the nearest that it does.
func (t *Tensor) Maximum(v any) *Tensor {
	return elementwise("Maximum", nil, func(u []*uop.UOp) *uop.UOp { return u[0].Max(u[1]) }, t, t.limit("Maximum", v))
}

// Minimum is the smaller of both; NaN if one is. Equals share the gradient; where there is a NaN both get all of it. A number beyond what t's type, an
// integer one, holds becomes the nearest that it does.
func (t *Tensor) Minimum(v any) *Tensor {
	return elementwise("Minimum", nil, func(u []*uop.UOp) *uop.UOp { return u[0].Min(u[1]) }, t, t.limit("Minimum", v))
}

// Clamp limits to lo … hi; nil is no limit. NaN stays, and a limit that is NaN gives NaN. Where lo is above hi the result is
// hi. A number beyond what t's type, an integer one, holds becomes the nearest that it does. The gradient passes strictly inside
// limits that are numbers; an element that is equal to a limit of a tensor shares its gradient with it.
func (t *Tensor) Clamp(lo, hi any) *Tensor {
	if lo == nil && hi == nil {
		failArg("Clamp", "needs a limit")
	}
	vs := []any{t}
	for _, v := range []any{lo, hi} {
		if v != nil {
			vs = append(vs, t.limit("Clamp", v))
		}
	}
	return elementwise("Clamp", nil, func(u []*uop.UOp) *uop.UOp {
		x, rest := u[0], u[1:]
		out := x
		below, above := x.Home().True().Not(), x.Home().True().Not()
		if lo != nil {
			below = orNaN(x.Less(rest[0]), rest[0])
			out = below.Where(rest[0], out)
			rest = rest[1:]
		}
		if hi != nil {
			above = orNaN(rest[0].Less(out), rest[0])
			out = above.Where(rest[0], out)
		}
		if !x.DType().IsFloat() {
			return out
		}
		one, zero, half := x.Int(1), x.Int(0), x.Float(0.5)
		inside := below.Or(above).Where(zero, one)
		pairs := []*uop.UOp{x, inside}
		edge := func(limit any, v, outside *uop.UOp) {
			at := x.Equal(v)
			if _, ok := limit.(*Tensor); ok {
				pairs[1] = at.Where(half.Mul(pairs[1]), pairs[1])
				pairs = append(pairs, v, at.Where(half.Mul(inside), outside.Where(one, zero)))
			} else {
				pairs[1] = at.Or(x.Equal(x).Not()).Where(zero, pairs[1])
			}
		}
		if lo != nil {
			edge(lo, u[1], below.And(above.Not()))
		}
		if hi != nil {
			edge(hi, u[len(u)-1], above)
		}
		return out.Derive(pairs...)
	}, vs...)
}

// limit is a limit of t's elements.
func (t *Tensor) limit(op string, v any) any {
	d := t.DType()
	switch beyond := toOperand(op, v).beyond(d); {
	case beyond == 0:
		return v
	case beyond < 0 && d.IsUnsigned():
		return 0
	case beyond < 0:
		return uop.Least(d).Int()
	case d.IsUnsigned():
		return uint64(uop.IntValue(d, -1))
	}
	return ^uop.Least(d).Int()
}

// orNaN is hit, or true where limit is NaN.
func orNaN(hit, limit *uop.UOp) *uop.UOp {
	if v, ok := limit.ConstValue(); !limit.DType().IsFloat() || ok && v.Float() == v.Float() {
		return hit
	}
	return hit.Or(limit.Equal(limit).Not())
}

// Lerp is t + w·(end − t).
func (t *Tensor) Lerp(end *Tensor, w any) *Tensor {
	return elementwise("Lerp", floating, func(u []*uop.UOp) *uop.UOp {
		d := u[0].DType()
		wide := dtype.Accumulator(d)
		x, y, w := u[0].Cast(wide), u[1].Cast(wide), u[2].Cast(wide)
		near := x.Add(w.Mul(y.Sub(x)))
		far := y.Sub(y.Sub(x).Mul(w.Int(1).Sub(w))) // meets end for w = 1
		return absolute(w).Less(w.Float(0.5)).Where(near, far).Cast(d)
	}, t, end, w)
}

// CopySign is |t| with the sign of v, −0 included.
func (t *Tensor) CopySign(v any) *Tensor {
	return elementwise("CopySign", floating, func(u []*uop.UOp) *uop.UOp {
		x, s := u[0], signBit(u[1])
		a := absolute(x)
		return s.Where(a.Neg(), a).Derive(x, sign(x).Mul(s.Where(x.Int(-1), x.Int(1))))
	}, t, v)
}

// unsignedOf is the unsigned type as wide as d.
func unsignedOf(d dtype.DType) dtype.DType {
	return map[int]dtype.DType{1: dtype.U8, 2: dtype.U16, 4: dtype.U32, 8: dtype.U64}[d.Size()]
}

// signBit is true where a float has its sign set.
func signBit(u *uop.UOp) *uop.UOp {
	b := u.Bitcast(unsignedOf(u.DType()))
	half := b.Const(uop.Value(1) << (b.DType().Bits() - 1))
	return b.Less(half).Not()
}

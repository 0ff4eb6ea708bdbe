package c

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// vec says whether a value has one element per lane here.
func (r *renderer) vec(u *uop.UOp) bool { return r.n > 0 && r.vary(u) }

var binary = map[uop.Op]string{
	uop.Add: "+", uop.Mul: "*", uop.Div: "/", uop.IDiv: "/", uop.Mod: "%", uop.And: "&", uop.Or: "|", uop.Xor: "^",
	uop.Shl: "<<", uop.Shr: ">>", uop.Less: "<", uop.Equal: "==",
}

// expr spells a scalar.
func (r *renderer) expr(u *uop.UOp) string {
	d := u.DType()
	switch u.Op() {
	case uop.Const:
		v, _ := u.ConstValue()
		return constant(d, v)
	case uop.Range:
		return rangeName(u)
	case uop.Reg:
		return regName(u)
	case uop.Var:
		return r.variable(u)
	case uop.Load:
		s := fmt.Sprintf("%s[%s]", r.pointer(u.At(0)), r.expr(u.At(2)))
		if d == dtype.Bool {
			s = "(" + s + " != 0)"
		}
		if c, ok := u.At(1).ConstValue(); ok && c.Bool() {
			return s
		}
		return fmt.Sprintf("(%s ? %s : %s)", r.expr(u.At(1)), s, constant(d, 0))
	case uop.Neg:
		return r.wrap(d, "-"+r.expr(u.At(0)))
	case uop.Sqrt, uop.Trunc, uop.RoundEven:
		suffix := ""
		if d == dtype.F32 {
			suffix = "f"
		}
		return fmt.Sprintf("__builtin_%s%s(%s)", builtin(u.Op()), suffix, r.expr(u.At(0)))
	case uop.Exp2:
		return exp2OfOne[elem(d)] + "(" + r.expr(u.At(0)) + ")"
	case uop.Sin:
		return r.sinOfOne(d) + "(" + r.expr(u.At(0)) + ")"
	case uop.Cast:
		if u.At(0).DType() == dtype.F16 {
			return "weft_single(" + r.expr(u.At(0)) + ")"
		}
		if d == dtype.F16 {
			return "weft_half(" + r.expr(u.At(0)) + ")"
		}
		return fmt.Sprintf("((%s)%s)", scalar(d), r.expr(u.At(0)))
	case uop.Bitcast:
		return r.bitcast(u)
	case uop.Max:
		return fmt.Sprintf("max_%s(%s, %s)", elem(d), r.expr(u.At(0)), r.expr(u.At(1)))
	case uop.Where:
		return fmt.Sprintf("(%s ? %s : %s)", r.expr(u.At(0)), r.expr(u.At(1)), r.expr(u.At(2)))
	case uop.MulAdd:
		a, b, c := r.expr(u.At(0)), r.expr(u.At(1)), r.expr(u.At(2))
		if d.IsFloat() {
			return fmt.Sprintf("weft_fma_%s(%s, %s, %s)", elem(d), a, b, c)
		}
		return r.wrap(d, fmt.Sprintf("%s * %s + %s", r.factor(d, a), b, c))
	}
	if isDot(u) {
		return fmt.Sprintf("weft_%s(%s, %s)", u.Op(), r.expr(u.At(0)), r.expr(u.At(1)))
	}
	if u.Op() == uop.Or {
		if text, ok := r.oneWord(u); ok {
			return text
		}
	}
	op, ok := binary[u.Op()]
	if !ok {
		panic(fmt.Sprintf("BUG: C cannot spell %s of %s", u.Op(), d))
	}
	if u.Op() == uop.Add && u.At(1).Op() == uop.Neg {
		return r.wrap(d, r.expr(u.At(0))+" - "+r.expr(u.At(1).At(0)))
	}
	a := r.expr(u.At(0))
	if u.Op() == uop.Mul {
		a = r.factor(d, a)
	}
	return r.wrap(d, a+" "+op+" "+r.expr(u.At(1)))
}

// factor keeps a product of two 16-bit numbers from being computed as int, where it may overflow.
func (r *renderer) factor(d dtype.DType, a string) string {
	if d == dtype.U16 {
		return "(uint32_t)" + a
	}
	return a
}

// wrap takes the result of C's arithmetic, which is at least int, back to a narrow type.
func (r *renderer) wrap(d dtype.DType, s string) string {
	if d.IsInt() && d != dtype.Index && d.Size() < 4 {
		return fmt.Sprintf("((%s)(%s))", scalar(d), s)
	}
	return "(" + s + ")"
}

func (r *renderer) bitcast(u *uop.UOp) string {
	from, to := u.At(0).DType(), u.DType()
	x := r.expr(u.At(0))
	if from == dtype.F32 || from == dtype.F64 || to == dtype.F32 || to == dtype.F64 {
		return fmt.Sprintf("bits_%s_%s(%s)", from.Short(), to.Short(), x)
	}
	return fmt.Sprintf("((%s)%s)", scalar(to), x)
}

// variable reads the uniform block of 32-bit words.
func (r *renderer) variable(u *uop.UOp) string {
	for i, v := range r.p.Vars {
		if v != u {
			continue
		}
		switch d := u.DType(); d {
		case dtype.F32:
			return fmt.Sprintf("bits_i32_f32(var[%d])", i)
		case dtype.F64:
			return fmt.Sprintf("((double)bits_i32_f32(var[%d]))", i)
		default:
			return fmt.Sprintf("((%s)var[%d])", scalar(d), i)
		}
	}
	panic(fmt.Sprintf("BUG: variable %s is not among the kernel's", u.Arg().(uop.VarArg).Name))
}

package wgsl

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// wideExpr spells an op that gives or takes 64-bit integers, which are pairs of words; "" where the op is spelled
// like any other.
func (r *renderer) wideExpr(u *uop.UOp) string {
	d := u.DType()
	x := u.At(0)
	call := func(name string) string {
		s := r.use(name) + "("
		for i, v := range u.Src() {
			if i > 0 {
				s += ", "
			}
			s += r.expr(v)
		}
		return s + ")"
	}
	signed := "u64"
	if x.DType() == dtype.I64 {
		signed = "i64"
	}
	switch u.Op() {
	case uop.Add:
		return call("add64")
	case uop.Neg:
		return call("neg64")
	case uop.Mul:
		return call("mul64")
	case uop.MulAdd:
		return fmt.Sprintf("%s(%s(%s, %s), %s)", r.use("add64"), r.use("mul64"), r.expr(x), r.expr(u.At(1)), r.expr(u.At(2)))
	case uop.IDiv: // the dividend is not negative
		return call("div64")
	case uop.Mod:
		return call("mod64")
	case uop.Max:
		return call("max_" + signed)
	case uop.Less:
		return call("less_" + signed)
	case uop.Equal:
		return fmt.Sprintf("all(%s == %s)", r.expr(x), r.expr(u.At(1)))
	case uop.Shl, uop.Shr:
		name := "shl64"
		if u.Op() == uop.Shr {
			name = "shr_" + signed
		}
		n := r.expr(u.At(1))
		if wide(u.At(1).DType()) {
			n += ".x"
		} else {
			n = "u32(" + n + ")"
		}
		return fmt.Sprintf("%s(%s, %s)", r.use(name), r.expr(x), n)
	case uop.Cast:
		return r.wideCast(x.DType(), d, r.expr(x))
	case uop.Bitcast:
		if wide(x.DType()) && wide(d) {
			return r.expr(x)
		}
		panic(&UnsupportedBits{x.DType(), d})
	}
	return "" // and, or, xor, where
}

// UnsupportedBits says that bits cannot be read as another type.
type UnsupportedBits struct{ From, To dtype.DType }

func (e *UnsupportedBits) Error() string {
	return fmt.Sprintf("BUG: WGSL cannot read the bits of %s as %s", e.From, e.To)
}

// wideCast converts to or from a pair of words.
func (r *renderer) wideCast(from, to dtype.DType, x string) string {
	switch {
	case wide(from) && wide(to):
		return x
	case from == dtype.F32:
		return fmt.Sprintf("%s(%s)", r.use("f32_to_"+to.Short()), x)
	case to == dtype.F32:
		return fmt.Sprintf("%s(%s)", r.use(from.Short()+"_to_f32"), x)
	case to == dtype.Index: // what does not fit is far outside of every array
		return fmt.Sprintf("%s(%s)", r.use(from.Short()+"_to_index"), x)
	case wide(to) && value(from) == "i32":
		return fmt.Sprintf("%s(%s)", r.use("extend"), x)
	case wide(to):
		return fmt.Sprintf("vec2<u32>(%s, 0u)", x)
	}
	x += ".x"
	if value(to) == "i32" {
		x = "bitcast<i32>(" + x + ")"
	}
	return narrow(to, x)
}

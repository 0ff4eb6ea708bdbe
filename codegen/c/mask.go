package c

import (
	"fmt"

	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// classOf is the natural width of a mask: that of what was compared.
func (r *renderer) classOf(u *uop.UOp) int {
	for {
		switch u.Op() {
		case uop.Less, uop.Equal:
			if _, bits := r.narrow(u); bits > 0 {
				return bits
			}
			return elemBits[elem(u.At(0).DType())]
		case uop.Reg:
			if c := r.class[u]; c > 0 {
				return c
			}
			return 8
		case uop.And, uop.Or, uop.Xor:
			if r.vec(u.At(0)) {
				u = u.At(0)
			} else {
				u = u.At(1)
			}
		default:
			return 8
		}
	}
}

// maskOf spells a bool per lane as 0 or −1 in integers of so many bits.
func (r *renderer) maskOf(u *uop.UOp, bits int) string {
	want := maskElem(bits)
	if !r.vec(u) {
		return r.splat(want, "-("+r.expr(u)+")")
	}
	have := r.classOf(u)
	cast := func(s string) string { return r.convert(s, maskElem(have), want) }
	switch u.Op() {
	case uop.Reg:
		return cast(regName(u))
	case uop.Less, uop.Equal:
		op := binary[u.Op()]
		if text, bits := r.narrow(u); bits > 0 {
			return cast(text)
		}
		return cast(fmt.Sprintf("((%s)(%s %s %s))", r.vtype(maskElem(have)), r.vexpr(u.At(0)), op, r.vexpr(u.At(1))))
	case uop.And, uop.Or, uop.Xor:
		return fmt.Sprintf("(%s %s %s)", r.maskOf(u.At(0), bits), binary[u.Op()], r.maskOf(u.At(1), bits))
	case uop.Load:
		return cast(fmt.Sprintf("((%s)(%s != %s))", r.vtype("i8"), r.vload(u), r.splat("u8", "0")))
	}
	panic(fmt.Sprintf("BUG: C cannot spell %s of bool", u.Op()))
}

// narrow spells a comparison of indices in integers of so many bits, as wide as a lane of a whole vector, where 64 bits would take several:
// one of what is 32 bits wide, with a constant at most, in these; that of p + s·lane with q + t·lane as one of (s−t)·lane with q − p. No
// bits: it is no such comparison.
func (r *renderer) narrow(u *uop.UOp) (text string, bits int) {
	a, b := u.At(0), u.At(1)
	if a.DType() != dtype.Index {
		return "", 0
	}
	if x, y := r.word(a), r.word(b); x != "" && y != "" {
		return fmt.Sprintf("((%s)(%s %s %s))", r.vtype("i32"), x, binary[u.Op()], y), 32
	}
	step, bound, ok := r.steady(u)
	bits = min(max(512/r.n, 8), 32)
	most := 1<<(bits-1) - 1
	if !ok || max(step, -step)*r.n > most {
		return "", 0
	}
	m := maskElem(bits)
	return fmt.Sprintf("((%s)(%s() * %s %s %s))", r.vtype(m), r.helper("iota", m), r.splat(m, fmt.Sprint(step)), binary[u.Op()],
		r.splat(m, fmt.Sprintf("weft_clip(%s, %d)", r.expr(bound), most))), bits
}

// steady says of a comparison of indices that it is one of step·lane with a bound.
func (r *renderer) steady(u *uop.UOp) (step int, bound *uop.UOp, ok bool) {
	a, b := u.At(0), u.At(1)
	p, s, ok := affine.Strided(a.Home(), a, r.lane, r.vary)
	q, t, also := affine.Strided(a.Home(), b, r.lane, r.vary)
	if !ok || !also {
		return 0, nil, false
	}
	return s - t, q.Sub(p), true
}

// together spells what is true only where a condition is the same in all lanes, holding or not; "" where nothing says that at once.
func (r *renderer) together(u *uop.UOp, holds bool) string {
	if m := r.masks[u]; m != nil {
		u = m
	}
	switch op := u.Op(); {
	case op == uop.And || op == uop.Or:
		a, b := r.together(u.At(0), holds), r.together(u.At(1), holds)
		switch {
		case a != "" && b != "" && holds == (op == uop.And):
			return "(" + a + " & " + b + ")"
		case holds == (op == uop.And):
			return ""
		case a == "" || b == "":
			return a + b
		}
		return "(" + a + " | " + b + ")"
	case op != uop.Less && op != uop.Equal || u.At(0).DType() != dtype.Index:
		return ""
	}
	step, bound, ok := r.steady(u)
	if !ok || step == 0 {
		return ""
	}
	lo, hi := min(0, step*(r.n-1)), max(0, step*(r.n-1))
	x := r.expr(bound)
	switch {
	case u.Op() == uop.Less && holds:
		return fmt.Sprintf("(%s > %d)", x, hi)
	case u.Op() == uop.Less:
		return fmt.Sprintf("(%s <= %d)", x, lo)
	case holds:
		return ""
	}
	return fmt.Sprintf("((%[1]s < %[2]d) | (%[1]s > %[3]d))", x, lo, hi)
}

// word spells an index in 32 bits, if it is known to be no wider.
func (r *renderer) word(u *uop.UOp) string {
	if v, ok := u.ConstValue(); ok && int64(int32(v.Int())) == v.Int() {
		return r.splat("i32", fmt.Sprint(v.Int()))
	}
	if x := fromWord(u); x != nil {
		return r.vexpr(x)
	}
	return ""
}

// fromWord is the int32 that an index is, or nil.
func fromWord(u *uop.UOp) *uop.UOp {
	if u.Op() == uop.Cast && u.At(0).DType() == dtype.I32 {
		return u.At(0)
	}
	return nil
}

package c

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// classOf is the natural width of a mask: that of what was compared.
func (r *renderer) classOf(u *uop.UOp) int {
	for {
		switch u.Op() {
		case uop.Less, uop.Equal:
			if _, _, bits := r.narrow(u); bits > 0 {
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
		if rest, stride, bits := r.narrow(u); bits > 0 {
			m := maskElem(bits)
			return cast(fmt.Sprintf("((%s)(%s %s %s))", r.vtype(m), r.steps(m, stride), op, r.splat(m, r.clipped(bits, rest))))
		}
		return cast(fmt.Sprintf("((%s)(%s %s %s))", r.vtype(maskElem(have)), r.vexpr(u.At(0)), op, r.vexpr(u.At(1))))
	case uop.And, uop.Or, uop.Xor:
		return fmt.Sprintf("(%s %s %s)", r.maskOf(u.At(0), bits), binary[u.Op()], r.maskOf(u.At(1), bits))
	case uop.Load:
		return cast(fmt.Sprintf("((%s)(%s != %s))", r.vtype("i8"), r.vload(u), r.splat("u8", "0")))
	}
	panic(fmt.Sprintf("BUG: C cannot spell %s of bool", u.Op()))
}

// narrow writes a comparison of indices, p + s·lane with q + t·lane, as one of stride·lane with rest, in integers of so many
// bits: as wide as a lane of a whole vector, where 64 bits would take several vectors. No bits: it is no such comparison.
func (r *renderer) narrow(u *uop.UOp) (rest *uop.UOp, stride, bits int) {
	a, b := u.At(0), u.At(1)
	if a.DType() != dtype.Index {
		return nil, 0, 0
	}
	p, s, ok := codegen.Strided(a.Home(), a, r.lane, r.vary)
	q, t, also := codegen.Strided(b.Home(), b, r.lane, r.vary)
	if !ok || !also {
		return nil, 0, 0
	}
	stride = s - t
	for bits = min(max(512/r.n, 8), 32); max(stride, -stride)*r.n >= 1<<(bits-1); bits *= 2 {
		if bits == 32 {
			return nil, 0, 0
		}
	}
	return q.Sub(p), stride, bits
}

// steps is stride·lane.
func (r *renderer) steps(e string, stride int) string {
	return "(" + r.helper("iota", e) + "() * " + r.splat(e, fmt.Sprint(stride)) + ")"
}

// clipped is an index, or the end of the range of integers of so many bits: a multiple of lanes compares with either alike.
func (r *renderer) clipped(bits int, u *uop.UOp) string {
	name := fmt.Sprintf("clip_%d", bits)
	r.define(name, fmt.Sprintf("static inline int64_t %[1]s(int64_t x) { return x < -%[2]d ? -%[2]d : x > %[2]d ? %[2]d : x; }\n", name, 1<<(bits-1)-1))
	return name + "(" + r.expr(u) + ")"
}

// all is the name of a function that says whether a mask of bytes holds in every lane.
func (r *renderer) all() string {
	name := "all_" + r.vtype("i8")
	words := max(r.n/8, 1)
	r.define(name, fmt.Sprintf("static inline int %[1]s(i8x%[2]d m) { int%[3]d_t x[%[4]d]; __builtin_memcpy(x, &m, sizeof m); return (%[5]s) == -1; }\n",
		name, r.n, min(64, 8*r.n), words, strings.ReplaceAll(each(words, func(i int) string { return fmt.Sprintf("x[%d]", i) }), ",", " &")))
	return name
}

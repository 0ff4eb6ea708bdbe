package c

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sums of products of pairs of 16 bits. Where the machine has no instruction that the prelude names, lanes take the
// pairs apart by shifts.

// dotInstructions are the machine's: WEFT_DOT2_t multiplies, WEFT_DOT2ADD_t adds to what was there as well.
const dotInstructions = `#if defined(__x86_64__) && defined(__GNUC__)
typedef short weft_i16x8 __attribute__((vector_size(16)));
typedef short weft_i16x16 __attribute__((vector_size(32)));
typedef short weft_i16x32 __attribute__((vector_size(64)));
typedef int weft_i32x16 __attribute__((vector_size(64)));
#define WEFT_DOT2_i32x4(a, b) __builtin_ia32_pmaddwd128((weft_i16x8)(a), (weft_i16x8)(b))
#if defined(__AVX2__)
#define WEFT_DOT2_i32x8(a, b) __builtin_ia32_pmaddwd256((weft_i16x16)(a), (weft_i16x16)(b))
#endif
#if defined(__AVX512BW__) && defined(__clang__)
#define WEFT_DOT2_i32x16(a, b) __builtin_ia32_pmaddwd512((weft_i16x32)(a), (weft_i16x32)(b))
#elif defined(__AVX512BW__)
#define WEFT_DOT2_i32x16(a, b) __builtin_ia32_pmaddwd512_mask((weft_i16x32)(a), (weft_i16x32)(b), (weft_i32x16){0}, (unsigned short)-1)
#endif
#if defined(__AVX512VNNI__) && !defined(__clang__)
#define WEFT_DOT2ADD_i32x16(c, a, b) __builtin_ia32_vpdpwssd_v16si(c, a, b)
#endif
#if (defined(__AVX512VNNI__) && defined(__AVX512VL__) || defined(__AVXVNNI__)) && !defined(__clang__)
#define WEFT_DOT2ADD_i32x8(c, a, b) __builtin_ia32_vpdpwssd_v8si(c, a, b)
#define WEFT_DOT2ADD_i32x4(c, a, b) __builtin_ia32_vpdpwssd_v4si(c, a, b)
#endif
#endif
static inline int32_t weft_dot2(int32_t a, int32_t b) {
	return (int32_t)((uint32_t)((int16_t)a * (int16_t)b) + (uint32_t)((a >> 16) * (b >> 16)));
}
`

// dots spells a Dot2, alone or added to something; "" is neither.
func (r *renderer) dots(u *uop.UOp) string {
	sum, dot := (*uop.UOp)(nil), u
	if u.Op() == uop.Add {
		sum, dot = u.At(0), u.At(1)
		if dot.Op() != uop.Dot2 {
			sum, dot = dot, sum
		}
	}
	if dot.Op() != uop.Dot2 || !r.vary(dot) {
		return ""
	}
	name, a, b := r.helper("dot2", "i32"), r.vexpr(dot.At(0)), r.vexpr(dot.At(1))
	if sum == nil {
		return fmt.Sprintf("%s(%s, %s)", name, a, b)
	}
	return fmt.Sprintf("%s_add(%s, %s, %s)", name, r.vexpr(sum), a, b)
}

// dotHelper names both forms for vectors v.
func (r *renderer) dotHelper(name, v string) {
	r.define(name, fmt.Sprintf(`#ifdef WEFT_DOT2_%[2]s
#define %[1]s(a, b) ((%[2]s)WEFT_DOT2_%[2]s(a, b))
#else
static inline %[2]s %[1]s(%[2]s a, %[2]s b) { return ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16); }
#endif
#ifdef WEFT_DOT2ADD_%[2]s
#define %[1]s_add(c, a, b) ((%[2]s)WEFT_DOT2ADD_%[2]s(c, a, b))
#else
#define %[1]s_add(c, a, b) ((c) + %[1]s(a, b))
#endif
`, name, v))
}

// pairs spells words of two neighbours in memory, (x & 0xffff) | (y << 16) of loads x and y: what is read at once, widened to
// 16 bits, is the words of all lanes. Machines that C is compiled for have the low half first.
func (r *renderer) pairs(u *uop.UOp) (text string, ok bool) {
	lo, hi := u.At(0), u.At(1)
	if lo.Op() != uop.And || hi.Op() != uop.Shl || !lo.At(1).IsConst(0xffff) || !hi.At(1).IsConst(16) || lo.At(0).Op() != uop.Cast || hi.At(0).Op() != uop.Cast {
		return "", false
	}
	x, y := lo.At(0).At(0), hi.At(0).At(0)
	if x.Op() != uop.Load || y.Op() != uop.Load || x.At(0) != y.At(0) || x.DType() == dtype.U16 || x.DType().Size() > 2 || r.mask != "" || r.n < 2 {
		return "", false
	}
	for _, l := range []*uop.UOp{x, y} {
		if c, known := l.At(1).ConstValue(); !known || !c.Bool() {
			return "", false
		}
	}
	base, s, ok1 := codegen.Strided(x.Home(), x.At(2), r.lane, r.vary)
	next, t, ok2 := codegen.Strided(y.Home(), y.At(2), r.lane, r.vary)
	if !ok1 || !ok2 || s != 2 || t != 2 || r.expr(next) != r.expr(base.Add(base.Int(1))) {
		return "", false
	}
	words := r.vtype("i32")
	n := r.n
	r.n = 2 * n
	defer func() { r.n = n }()
	e := elem(x.DType())
	load := fmt.Sprintf("((%[1]s)*(const %[1]su *)(%[2]s + %[3]s))", r.vtype(e), r.pointer(x.At(0)), r.expr(base))
	return fmt.Sprintf("((%s)%s)", words, r.convert(load, e, "i16")), true
}

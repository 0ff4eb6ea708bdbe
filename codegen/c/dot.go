package c

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen/affine"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Sums of products of pairs of 16 bits, integers and bfloat16, and of fours of 8 bits. Where the machine has no instruction that the prelude names,
// lanes take the words apart by shifts.

// dotInstructions are the machine's: WEFT_DOT2_t multiplies, WEFT_DOT2ADD_t, WEFT_DOT4ADD_t and WEFT_DOTBF16ADD_t add to what was there
// as well. What compilers call that of bfloat16 takes operands of other types in each version, so it is named as the assembler does.
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
#if defined(__clang__)
#define WEFT_VNNI(name, bits, vector) __builtin_ia32_##name##bits
#else
#define WEFT_VNNI(name, bits, vector) __builtin_ia32_##name##_##vector
#endif
#if defined(__AVX512VNNI__)
#define WEFT_DOT2ADD_i32x16(c, a, b) WEFT_VNNI(vpdpwssd, 512, v16si)(c, a, b)
#define WEFT_DOT4ADD_i32x16(c, a, b) WEFT_VNNI(vpdpbusd, 512, v16si)(c, a, b)
#endif
#if defined(__AVX512VNNI__) && defined(__AVX512VL__) || defined(__AVXVNNI__)
#define WEFT_DOT2ADD_i32x8(c, a, b) WEFT_VNNI(vpdpwssd, 256, v8si)(c, a, b)
#define WEFT_DOT2ADD_i32x4(c, a, b) WEFT_VNNI(vpdpwssd, 128, v4si)(c, a, b)
#define WEFT_DOT4ADD_i32x8(c, a, b) WEFT_VNNI(vpdpbusd, 256, v8si)(c, a, b)
#define WEFT_DOT4ADD_i32x4(c, a, b) WEFT_VNNI(vpdpbusd, 128, v4si)(c, a, b)
#endif
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
#define WEFT_BF16_DOT(n, f, i) \
typedef float f __attribute__((vector_size(4 * n))); \
typedef int i __attribute__((vector_size(4 * n))); \
static inline f weft_dotbf16x##n(f c, i a, i b) { __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b)); return c; }
WEFT_BF16_DOT(4, weft_bf16_f32x4, weft_bf16_i32x4)
WEFT_BF16_DOT(8, weft_bf16_f32x8, weft_bf16_i32x8)
WEFT_BF16_DOT(16, weft_bf16_f32x16, weft_bf16_i32x16)
#define WEFT_DOTBF16ADD_f32x4(c, a, b) weft_dotbf16x4(c, (weft_bf16_i32x4)(a), (weft_bf16_i32x4)(b))
#define WEFT_DOTBF16ADD_f32x8(c, a, b) weft_dotbf16x8(c, (weft_bf16_i32x8)(a), (weft_bf16_i32x8)(b))
#define WEFT_DOTBF16ADD_f32x16(c, a, b) weft_dotbf16x16(c, (weft_bf16_i32x16)(a), (weft_bf16_i32x16)(b))
#endif
#endif
static inline float weft_dotbf16(int32_t a, int32_t b) {
#ifdef WEFT_DOTBF16ADD_f32x4
	return WEFT_DOTBF16ADD_f32x4((weft_bf16_f32x4){0}, ((weft_bf16_i32x4){a, 0, 0, 0}), ((weft_bf16_i32x4){b, 0, 0, 0}))[0];
#else
	return bits_u32_f32((uint32_t)a << 16) * bits_u32_f32((uint32_t)b << 16) + bits_u32_f32((uint32_t)a & 0xffff0000u) * bits_u32_f32((uint32_t)b & 0xffff0000u);
#endif
}
static inline int32_t weft_dot2(int32_t a, int32_t b) {
	return (int32_t)((uint32_t)((int16_t)a * (int16_t)b) + (uint32_t)((a >> 16) * (b >> 16)));
}
static inline int32_t weft_word(const void *p) { int32_t x; __builtin_memcpy(&x, p, 4); return x; }
static inline int32_t weft_dot4(int32_t a, int32_t b) {
#ifdef WEFT_DOT4ADD_i32x4
	typedef int v __attribute__((vector_size(16)));
	return WEFT_DOT4ADD_i32x4((v){0}, ((v){a, 0, 0, 0}), ((v){b, 0, 0, 0}))[0];
#else
	return (uint8_t)a * (int8_t)b + (uint8_t)(a >> 8) * (int8_t)(b >> 8) + (uint8_t)(a >> 16) * (int8_t)(b >> 16) + (uint8_t)(a >> 24) * (b >> 24);
#endif
}
`

// isDot says that u multiplies words and adds the products.
func isDot(u *uop.UOp) bool { return u.Op() == uop.Dot2 || u.Op() == uop.Dot4 || u.Op() == uop.DotBF16 }

// dots spells such a product of words, alone or added to something; "" is neither.
func (r *renderer) dots(u *uop.UOp) string {
	sum, dot := (*uop.UOp)(nil), u
	if u.Op() == uop.Add {
		sum, dot = u.At(0), u.At(1)
		if !isDot(dot) {
			sum, dot = dot, sum
		}
	}
	if !isDot(dot) || !r.vary(dot) {
		return ""
	}
	name, a, b := r.helper(dot.Op().String(), elem(dot.DType())), r.vexpr(dot.At(0)), r.vexpr(dot.At(1))
	if sum == nil {
		return fmt.Sprintf("%s(%s, %s)", name, a, b)
	}
	return fmt.Sprintf("%s_add(%s, %s, %s)", name, r.vexpr(sum), a, b)
}

// dotHelper names both forms for vectors v.
func (r *renderer) dotHelper(what, name, v string) {
	what = strings.ToUpper(what)
	alone := fmt.Sprintf("#ifdef WEFT_%[1]s_%[3]s\n#define %[2]s(a, b) ((%[3]s)WEFT_%[1]s_%[3]s(a, b))\n"+
		"#elif defined(WEFT_%[1]sADD_%[3]s)\n#define %[2]s(a, b) ((%[3]s)WEFT_%[1]sADD_%[3]s((%[3]s){0}, a, b))\n#else\n", what, name, v)
	product := "((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16)"
	switch what {
	case "DOTBF16":
		half := func(u, bits string) string { return fmt.Sprintf("((%s)(%s %s))", v, u, bits) }
		product = fmt.Sprintf("%s * %s + %s * %s", half("a", "<< 16"), half("b", "<< 16"), half("a", "& -65536"), half("b", "& -65536"))
	case "DOT4":
		product = "(a & 255) * ((b << 24) >> 24) + ((a >> 8) & 255) * ((b << 16) >> 24) + ((a >> 16) & 255) * ((b << 8) >> 24) + ((a >> 24) & 255) * (b >> 24)"
	}
	r.define(name, alone+fmt.Sprintf(`static inline %[3]s %[2]s(%[5]s a, %[5]s b) { return %[4]s; }
#endif
#ifdef WEFT_%[1]sADD_%[3]s
#define %[2]s_add(c, a, b) ((%[3]s)WEFT_%[1]sADD_%[3]s(c, a, b))
#else
#define %[2]s_add(c, a, b) ((c) + %[2]s(a, b))
#endif
`, what, name, v, product, r.vtype("i32")))
}

// word is an int32 whose parts are loads, the first one its lowest bits.
func word(u *uop.UOp) (loads []*uop.UOp) {
	parts := []*uop.UOp{u}
	for parts[0].Op() == uop.Or {
		parts = append([]*uop.UOp{parts[0].At(0), parts[0].At(1)}, parts[1:]...)
	}
	n := len(parts)
	if n != 2 && n != 4 || u.DType() != dtype.I32 {
		return nil
	}
	for i, p := range parts {
		switch {
		case i > 0 && p.Op() == uop.Shl && p.At(1).IsConst(i*32/n):
			p = p.At(0)
		case i == 0 && n == 4:
		case i == 0 && p.Op() == uop.And && p.At(1).IsConst(0xffff):
			p = p.At(0)
		default:
			return nil
		}
		if p.Op() != uop.Cast {
			return nil
		}
		if p = p.At(0); p.Op() == uop.Bitcast {
			p = p.At(0)
		}
		if p.Op() != uop.Load || p.DType() == dtype.U16 || p.DType().Size() > 4/n || len(loads) > 0 && p.At(0) != loads[0].At(0) {
			return nil
		}
		loads = append(loads, p)
	}
	return loads
}

// neighbours is where the parts of all lanes' words begin, if they lie one behind the other. Machines that C is compiled for have
// the low bits first.
func (r *renderer) neighbours(loads []*uop.UOp) (base *uop.UOp, ok bool) {
	vary, n := r.vary, len(loads)
	if vary == nil {
		vary = func(*uop.UOp) bool { return false }
	}
	for i, l := range loads {
		at, s, ok := affine.Strided(l.Home(), l.At(2), r.lane, vary)
		if !ok || s != 0 && s != n || (s == n) != r.vec(l.At(2)) {
			return nil, false
		}
		if i == 0 {
			base = at
			continue
		}
		apart, _, _ := affine.Strided(l.Home(), at.Sub(base), r.lane, vary)
		if d, known := apart.ConstInt(); !known || d != i {
			return nil, false
		}
	}
	return base, true
}

// words spells the words of all lanes that are neighbours in memory: what is read at once, of pairs widened to 16 bits. Where
// parts have gates, mostly all of them hold.
func (r *renderer) words(u *uop.UOp) (text string, ok bool) {
	loads := word(u)
	if loads == nil || r.mask != "" || r.n < 2 {
		return "", false
	}
	base, ok := r.neighbours(loads)
	if !ok {
		return "", false
	}
	gate := loads[0].At(1)
	for _, l := range loads[1:] {
		if c, known := gate.ConstValue(); known && c.Bool() {
			gate = l.At(1)
		} else if l.At(1).Op() != uop.Const && l.At(1) != gate {
			gate = gate.And(l.At(1))
		}
	}
	vector := r.vtype("i32")
	n, e, to := r.n, elem(loads[0].DType()), elem(loads[0].DType())
	if len(loads) == 2 {
		to = "i16"
	}
	r.n = len(loads) * n
	text = fmt.Sprintf("((%[1]s)*(const %[1]su *)(%[2]s + %[3]s))", r.vtype(e), r.pointer(loads[0].At(0)), r.expr(base))
	text = fmt.Sprintf("((%s)%s)", vector, r.convert(text, e, to))
	r.n = n
	if gate.Op() == uop.Const {
		return text, true
	}
	all := r.expr(gate)
	if r.vary(gate) {
		all = fmt.Sprintf("%s(%s)", r.helper("all", "i8"), r.maskOf(gate, 8))
	}
	return fmt.Sprintf("(%s ? %s : (%s | %s))", all, text, r.vexpr(u.At(0)), r.vexpr(u.At(1))), true
}

// oneWord spells a word whose parts are neighbours in memory and as wide there.
func (r *renderer) oneWord(u *uop.UOp) (text string, ok bool) {
	loads := word(u)
	if len(loads) == 0 || len(loads)*loads[0].DType().Size() != 4 {
		return "", false
	}
	for _, l := range loads {
		if c, known := l.At(1).ConstValue(); !known || !c.Bool() {
			return "", false
		}
	}
	base, ok := r.neighbours(loads)
	if !ok {
		return "", false
	}
	return fmt.Sprintf("weft_word(%s + %s)", r.pointer(loads[0].At(0)), r.expr(base)), true
}

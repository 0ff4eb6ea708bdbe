package c

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Exponentials on machines that split off the nearest integer and multiply by a power of two in an instruction each: half the
// operations of what others compose, with the same polynomial between them, and the same bits. Where the result is 0 nothing
// is multiplied: a product that underflows takes a hundred times as long.

// vectorInstructions are the machine's: WEFT_FRACTION_t leaves of x what lies beyond the nearest integer, WEFT_SCALE_t is
// p·2^k, 0 where x lies below −150, WEFT_MAX_t the larger of two numbers, NaN if one is.
const vectorInstructions = `#if defined(__AVX512DQ__) && defined(__AVX512VL__) && defined(__GNUC__) && !defined(__clang__)
typedef float weft_f4 __attribute__((vector_size(16)));
typedef float weft_f8 __attribute__((vector_size(32)));
typedef float weft_f16 __attribute__((vector_size(64)));
#define WEFT_SPLAT4(x) x, x, x, x
#define WEFT_FRACTION_f32x4(x) __builtin_ia32_reduceps128_mask(x, 0, (weft_f4){0}, (unsigned char)-1)
#define WEFT_FRACTION_f32x8(x) __builtin_ia32_reduceps256_mask(x, 0, (weft_f8){0}, (unsigned char)-1)
#define WEFT_FRACTION_f32x16(x) __builtin_ia32_reduceps512_mask_round(x, 0, (weft_f16){0}, (unsigned short)-1, 4)
#define WEFT_SCALE_f32x4(p, k, x) __builtin_ia32_scalefps128_mask(p, k, (weft_f4){0}, __builtin_ia32_cmpps128_mask(x, (weft_f4){WEFT_SPLAT4(-150)}, 21, (unsigned char)-1))
#define WEFT_SCALE_f32x8(p, k, x) __builtin_ia32_scalefps256_mask(p, k, (weft_f8){0}, __builtin_ia32_cmpps256_mask(x, (weft_f8){WEFT_SPLAT4(-150), WEFT_SPLAT4(-150)}, 21, (unsigned char)-1))
#define WEFT_SCALE_f32x16(p, k, x) __builtin_ia32_scalefps512_mask(p, k, (weft_f16){0}, __builtin_ia32_cmpps512_mask(x, (weft_f16){WEFT_SPLAT4(-150), WEFT_SPLAT4(-150), WEFT_SPLAT4(-150), WEFT_SPLAT4(-150)}, 21, (unsigned short)-1, 4), 4)
#define WEFT_MAX_f32x16(a, b) __builtin_ia32_maxps512_mask(b, a, b, __builtin_ia32_cmpps512_mask(b, b, 7, (unsigned short)-1, 4), 4)
#endif
`

// exp2Helper names 2^x of vectors of n lanes; of one number it is the first lane of four.
func (r *renderer) exp2Helper(e string, n int) string {
	if n == 1 {
		name := "exp2_" + e
		four := r.exp2Helper(e, 4)
		r.define(name, fmt.Sprintf("static inline %[1]s %[2]s(%[1]s x) { return %[3]s((%[4]s){x, x, x, x})[0]; }\n", byElem[e], name, four, r.vtypeN(e, 4)))
		return name
	}
	v := r.vtypeN(e, n)
	name := "exp2_" + v
	if r.helpers[name] {
		return name
	}
	t := uop.NewArena()
	x, f := t.Make(uop.Reg, dtype.F32, uop.RegArg{ID: 0}), t.Make(uop.Reg, dtype.F32, uop.RegArg{ID: 1})
	oldN, mask, vary := r.n, r.mask, r.vary
	r.n, r.mask, r.vary = n, "", func(u *uop.UOp) bool { return u.Op() != uop.Const }
	composed, near := r.vexpr(codegen.Legalize(t, legal, x.Exp2())[0]), r.vexpr(codegen.Exp2Near(f))
	r.n, r.mask, r.vary = oldN, mask, vary
	r.define(name, fmt.Sprintf("#ifdef WEFT_SCALE_%[1]s\nstatic inline %[1]s %[2]s(%[1]s v0) { %[1]s v1 = WEFT_FRACTION_%[1]s(v0); return (%[1]s)WEFT_SCALE_%[1]s(%[3]s, v0 - v1, v0); }\n"+
		"#else\nstatic inline %[1]s %[2]s(%[1]s v0) { return %[4]s; }\n#endif\n", v, name, near, composed))
	return name
}

// maxHelper names the larger of two vectors' elements; NaN wins.
func (r *renderer) maxHelper(e string, float bool) string {
	v := r.vtype(e)
	name, cond := "max_"+v, "b > a"
	if float {
		cond = "(b > a) | (b != b)"
	}
	if !r.helpers[name] {
		r.define(name, fmt.Sprintf("#ifdef WEFT_MAX_%[1]s\nstatic inline %[1]s %[2]s(%[1]s a, %[1]s b) { return (%[1]s)WEFT_MAX_%[1]s(a, b); }\n"+
			"#else\nstatic inline %[1]s %[2]s(%[1]s a, %[1]s b) { return %[3]s((%[4]s)(%[5]s), b, a); }\n#endif\n",
			v, name, r.helper("sel", e), r.vtype(maskElem(elemBits[e])), cond))
	}
	return name
}

package c

import (
	"fmt"

	"github.com/weft-ml/weft/uop"
)

// lessInstructions are the machine's for WEFT_LESS_type(a, b, x, y), which is x where a < b and else y, and for WEFT_MIN_type(a, b), which is
// just a < b ? a : b, NaN and zeros included, as WEFT_MORE_type(a, b) is a < b ? b : a. gcc 12 makes two instructions of a choice by a mask beside
// the comparison. WEFT_MAX_type is the greater one, where NaN wins.
const lessInstructions = `#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__)
#define WEFT_LESS_f32x16(a, b, x, y) __builtin_ia32_blendmps_512_mask(y, x, __builtin_ia32_cmpps512_mask(a, b, 17, (unsigned short)-1, 4))
#define WEFT_LESS_i32x16(a, b, x, y) __builtin_ia32_blendmd_512_mask(y, x, __builtin_ia32_cmpd512_mask(a, b, 1, (unsigned short)-1))
#define WEFT_LESS_f64x8(a, b, x, y) __builtin_ia32_blendmpd_512_mask(y, x, __builtin_ia32_cmppd512_mask(a, b, 17, (unsigned char)-1, 4))
#define WEFT_MIN_f32x16(a, b) __builtin_ia32_minps512_mask(a, b, (f32x16){0}, (unsigned short)-1, 4)
#define WEFT_MIN_f64x8(a, b) __builtin_ia32_minpd512_mask(a, b, (f64x8){0}, (unsigned char)-1, 4)
#define WEFT_MORE_f32x16(a, b) __builtin_ia32_maxps512_mask(b, a, (f32x16){0}, (unsigned short)-1, 4)
#define WEFT_MORE_f64x8(a, b) __builtin_ia32_maxpd512_mask(b, a, (f64x8){0}, (unsigned char)-1, 4)
#define WEFT_MAX_f32x16(a, b) ({ f32x16 weft_a = a, weft_b = b; __builtin_ia32_blendmps_512_mask(__builtin_ia32_maxps512_mask(weft_b, weft_a, weft_a, (unsigned short)-1, 4), weft_b, __builtin_ia32_cmpps512_mask(weft_b, weft_b, 3, (unsigned short)-1, 4)); })
#define WEFT_MAX_f64x8(a, b) ({ f64x8 weft_a = a, weft_b = b; __builtin_ia32_blendmpd_512_mask(__builtin_ia32_maxpd512_mask(weft_b, weft_a, weft_a, (unsigned char)-1, 4), weft_b, __builtin_ia32_cmppd512_mask(weft_b, weft_b, 3, (unsigned char)-1, 4)); })
#endif
#if defined(__x86_64__) && defined(__GNUC__) && defined(__AVX__)
#define WEFT_MIN_f32x8(a, b) __builtin_ia32_minps256(a, b)
#define WEFT_MIN_f64x4(a, b) __builtin_ia32_minpd256(a, b)
#define WEFT_MORE_f32x8(a, b) __builtin_ia32_maxps256(b, a)
#define WEFT_MORE_f64x4(a, b) __builtin_ia32_maxpd256(b, a)
#define WEFT_MAX_f32x8(a, b) ({ f32x8 weft_a = a, weft_b = b; __builtin_ia32_blendvps256(__builtin_ia32_maxps256(weft_b, weft_a), weft_b, (f32x8)(weft_b != weft_b)); })
#define WEFT_MAX_f64x4(a, b) ({ f64x4 weft_a = a, weft_b = b; __builtin_ia32_blendvpd256(__builtin_ia32_maxpd256(weft_b, weft_a), weft_b, (f64x4)(weft_b != weft_b)); })
#endif
`

// lesser spells the choice u by a comparison of elements from, whose lanes are as wide as those of its values.
func (r *renderer) lesser(e, from string, u *uop.UOp) string {
	cond, yes, no := u.At(0), u.At(1), u.At(2)
	v, w, m := r.vtype(e), r.vtype(from), r.vtype(maskElem(elemBits[e]))
	a, b := r.vexpr(cond.At(0)), r.vexpr(cond.At(1))
	extreme := func(name, macro, x, y string) string {
		r.define(name, fmt.Sprintf("#ifdef %[5]s_%[1]s\n#define %[2]s(a, b) %[5]s_%[1]s(a, b)\n#else\n"+
			"static inline %[1]s %[2]s(%[1]s a, %[1]s b) { return %[3]s((%[4]s)(a < b), %[6]s, %[7]s); }\n#endif\n", v, name, r.helper("sel", e), m, macro, x, y))
		return fmt.Sprintf("%s(%s, %s)", name, a, b)
	}
	switch {
	case cond.At(0) == yes && cond.At(1) == no:
		return extreme("min_"+v, "WEFT_MIN", "a", "b")
	case cond.At(0) == no && cond.At(1) == yes:
		return extreme("more_"+v, "WEFT_MORE", "b", "a")
	}
	name := "less_" + w + "_" + v
	if from == e {
		name = "less_" + v
	}
	r.define(name, fmt.Sprintf("#ifdef WEFT_LESS_%[1]s\n#define %[2]s(a, b, x, y) ((%[3]s)WEFT_LESS_%[1]s(a, b, (%[1]s)(x), (%[1]s)(y)))\n#else\n"+
		"static inline %[3]s %[2]s(%[1]s a, %[1]s b, %[3]s x, %[3]s y) { return %[4]s((%[5]s)(a < b), x, y); }\n#endif\n", w, name, v, r.helper("sel", e), m))
	return fmt.Sprintf("%s(%s, %s, %s, %s)", name, a, b, r.vexpr(yes), r.vexpr(no))
}

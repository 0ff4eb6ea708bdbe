package c

import "fmt"

// wideningInstructions are those of the machine for integers of twice the bits, or of four times, WEFT_WIDEN_from_to, and of half of them,
// WEFT_NARROW_from_to. Asked for a wider whole vector, gcc 12 converts its halves and puts them together; for a narrower one of words it permutes, in
// three steps.
const wideningInstructions = `#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#if defined(__AVX2__)
typedef char weft_c16 __attribute__((vector_size(16)));
typedef short weft_s8 __attribute__((vector_size(16)));
#define WEFT_WIDEN_i8x16_i16x16(x) __builtin_ia32_pmovsxbw256((weft_c16)(x))
#define WEFT_WIDEN_u8x16_u16x16(x) __builtin_ia32_pmovzxbw256((weft_c16)(x))
#define WEFT_WIDEN_u8x16_i16x16(x) __builtin_ia32_pmovzxbw256((weft_c16)(x))
#define WEFT_WIDEN_i16x8_i32x8(x) __builtin_ia32_pmovsxwd256((weft_s8)(x))
#define WEFT_WIDEN_u16x8_u32x8(x) __builtin_ia32_pmovzxwd256((weft_s8)(x))
#define WEFT_WIDEN_u16x8_i32x8(x) __builtin_ia32_pmovzxwd256((weft_s8)(x))
#endif
#if defined(__AVX512BW__)
typedef char weft_c32 __attribute__((vector_size(32)));
typedef short weft_s16 __attribute__((vector_size(32)));
typedef short weft_s32 __attribute__((vector_size(64)));
typedef int weft_i8 __attribute__((vector_size(32)));
typedef int weft_i16 __attribute__((vector_size(64)));
typedef long long weft_l8 __attribute__((vector_size(64)));
#define WEFT_WIDEN_i8x32_i16x32(x) __builtin_ia32_pmovsxbw512_mask((weft_c32)(x), (weft_s32){0}, -1)
#define WEFT_WIDEN_u8x32_u16x32(x) __builtin_ia32_pmovzxbw512_mask((weft_c32)(x), (weft_s32){0}, -1)
#define WEFT_WIDEN_u8x32_i16x32(x) __builtin_ia32_pmovzxbw512_mask((weft_c32)(x), (weft_s32){0}, -1)
#define WEFT_WIDEN_i8x16_i32x16(x) __builtin_ia32_pmovsxbd512_mask((weft_c16)(x), (weft_i16){0}, (unsigned short)-1)
#define WEFT_WIDEN_u8x16_u32x16(x) __builtin_ia32_pmovzxbd512_mask((weft_c16)(x), (weft_i16){0}, (unsigned short)-1)
#define WEFT_WIDEN_u8x16_i32x16(x) __builtin_ia32_pmovzxbd512_mask((weft_c16)(x), (weft_i16){0}, (unsigned short)-1)
#define WEFT_WIDEN_i32x8_i64x8(x) __builtin_ia32_pmovsxdq512_mask((weft_i8)(x), (weft_l8){0}, (unsigned char)-1)
#define WEFT_WIDEN_u32x8_u64x8(x) __builtin_ia32_pmovzxdq512_mask((weft_i8)(x), (weft_l8){0}, (unsigned char)-1)
#define WEFT_WIDEN_u32x8_i64x8(x) __builtin_ia32_pmovzxdq512_mask((weft_i8)(x), (weft_l8){0}, (unsigned char)-1)
#define WEFT_NARROW_i32x16_i16x16(x) __builtin_ia32_pmovdw512_mask((weft_i16)(x), (weft_s16){0}, (unsigned short)-1)
#define WEFT_NARROW_u32x16_u16x16(x) __builtin_ia32_pmovdw512_mask((weft_i16)(x), (weft_s16){0}, (unsigned short)-1)
#define WEFT_WIDEN_i16x16_i32x16(x) __builtin_ia32_pmovsxwd512_mask((weft_s16)(x), (weft_i16){0}, (unsigned short)-1)
#define WEFT_WIDEN_u16x16_u32x16(x) __builtin_ia32_pmovzxwd512_mask((weft_s16)(x), (weft_i16){0}, (unsigned short)-1)
#define WEFT_WIDEN_u16x16_i32x16(x) __builtin_ia32_pmovzxwd512_mask((weft_s16)(x), (weft_i16){0}, (unsigned short)-1)
#endif
#endif
`

// convert goes from one width to another in steps of two: of wider ones gcc 12 makes one conversion a lane. Between integers each step
// is exact or cuts off high bits, as all of them together do; small integers become floats by way of 32 bits.
func (r *renderer) convert(x, from, to string) string {
	for from != to {
		next := step(from, to)
		x = fmt.Sprintf("%s(%s)", r.conversion(from, next), x)
		from = next
	}
	return x
}

// step is the next element type on the way of a conversion.
func step(from, to string) string {
	a, b := elemBits[from], elemBits[to]
	float := to[0] == 'f'
	switch {
	case from[0] == 'f' && !float && b < 32: // the value lies within its limits
		return "i32"
	case float && a < 32: // signed, because not all machines convert unsigned ones
		return "i32"
	case from[0] != 'f' && !float && b > 2*a && (a != 8 || b != 32):
		return fmt.Sprintf("%c%d", from[0], 2*a)
	case from[0] != 'f' && !float && 2*b < a:
		return fmt.Sprintf("%c%d", from[0], a/2)
	}
	return to
}

// conversion is the name of one step for all lanes.
func (r *renderer) conversion(from, to string) string {
	v, w := r.vtype(from), r.vtype(to)
	name := "to_" + v + "_" + w
	if elemBits[to] > elemBits[from] && to[0] != 'f' && from[0] != 'f' {
		plain := fmt.Sprintf("__builtin_convertvector(x, %s)", w)
		if between := fmt.Sprintf("%c16", from[0]); elemBits[from] == 8 && elemBits[to] == 32 {
			plain = r.conversion(between, to) + "(" + r.conversion(from, between) + "(x))"
		}
		r.define(name, fmt.Sprintf("#ifdef WEFT_WIDEN_%[2]s_%[3]s\n#define %[1]s(x) ((%[3]s)WEFT_WIDEN_%[2]s_%[3]s(x))\n#else\n"+
			"#define %[1]s(x) %[4]s\n#endif\n", name, v, w, plain))
		return name
	}
	r.define(name, fmt.Sprintf("#ifdef WEFT_NARROW_%[2]s_%[3]s\n#define %[1]s(x) ((%[3]s)WEFT_NARROW_%[2]s_%[3]s(x))\n#else\n"+
		"#define %[1]s(x) __builtin_convertvector(x, %[3]s)\n#endif\n", name, v, w))
	return name
}

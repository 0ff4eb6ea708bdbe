package c

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Float16 lies in words of 16 bits. Most machines convert from and to float32, rounding to even; elsewhere arithmetic on bits does
// the same, a number at a time.

// halfInstructions are the machine's, weft_half and weft_single what converts one number. Clang would compare numbers that were converted as
// the halves they come from, lane by lane; what an instruction in assembly gives it takes as it is.
const halfInstructions = `#if defined(__F16C__)
typedef short weft_h4 __attribute__((vector_size(8)));
typedef short weft_h8 __attribute__((vector_size(16)));
typedef float weft_f4 __attribute__((vector_size(16)));
typedef float weft_f8 __attribute__((vector_size(32)));
#if defined(__clang__)
static inline weft_f8 weft_single8(weft_h8 h) { weft_f8 f; __asm__("vcvtph2ps %1, %0" : "=x"(f) : "x"(h)); return f; }
#else
static inline weft_f8 weft_single8(weft_h8 h) { return __builtin_ia32_vcvtph2ps256(h); }
#endif
static inline weft_f4 weft_single4(weft_h4 h) { return __builtin_shufflevector(weft_single8((weft_h8){h[0], h[1], h[2], h[3], 0, 0, 0, 0}), (weft_f8){0}, 0, 1, 2, 3); }
#define WEFT_SINGLE_f32x4(h) weft_single4((weft_h4)(h))
#define WEFT_SINGLE_f32x8(h) weft_single8((weft_h8)(h))
#define WEFT_HALF_u16x8(x) __builtin_ia32_vcvtps2ph256(x, 0)
static inline float weft_single(uint16_t h) { return __builtin_ia32_vcvtph2ps((weft_h8){(short)h, 0, 0, 0, 0, 0, 0, 0})[0]; }
static inline uint16_t weft_half(float x) { return (uint16_t)__builtin_ia32_vcvtps2ph((weft_f4){x, 0, 0, 0}, 0)[0]; }
#if defined(__AVX512F__)
typedef short weft_h16 __attribute__((vector_size(32)));
typedef float weft_f16 __attribute__((vector_size(64)));
#if defined(__clang__)
static inline weft_f16 weft_single16(weft_h16 h) { weft_f16 f; __asm__("vcvtph2ps %1, %0" : "=v"(f) : "v"(h)); return f; }
#else
static inline weft_f16 weft_single16(weft_h16 h) { return __builtin_ia32_vcvtph2ps512_mask(h, (weft_f16){0}, (unsigned short)-1, 4); }
#endif
#define WEFT_SINGLE_f32x16(h) weft_single16((weft_h16)(h))
#define WEFT_HALF_u16x16(x) __builtin_ia32_vcvtps2ph512_mask(x, 0, (weft_h16){0}, (unsigned short)-1)
#endif
#elif defined(__aarch64__)
static inline float weft_single(uint16_t h) { __fp16 x; __builtin_memcpy(&x, &h, 2); return x; }
static inline uint16_t weft_half(float f) { __fp16 x = (__fp16)f; uint16_t h; __builtin_memcpy(&h, &x, 2); return h; }
#else
static inline float weft_single(uint16_t h) {
	uint32_t a = h & 0x7fff, b;
	if (a < 0x400) { float f = (float)a * 0x1p-24f; b = bits_f32_u32(f); }
	else b = (a << 13) + (a < 0x7c00 ? 112u << 23 : 0x7f800000u - (0x7c00u << 13));
	return bits_u32_f32(b | (uint32_t)(h & 0x8000) << 16);
}
static inline uint16_t weft_half(float x) {
	uint32_t b = bits_f32_u32(x), a = b & 0x7fffffff, h;
	if (a > 0x7f800000) h = 0x7e00;
	else if (a >= 0x477ff000) h = 0x7c00;
	else if (a < 0x38800000) h = bits_f32_u32(bits_u32_f32(a) + 0.5f) - 0x3f000000;
	else h = (a + ((a >> 13) & 1) + 0xfff - 0x38000000) >> 13;
	return (uint16_t)(h | ((b >> 16) & 0x8000));
}
#endif
`

// halfCast spells a conversion between float16 and float32 of all lanes; ok is false for others.
func (r *renderer) halfCast(u *uop.UOp) (text string, ok bool) {
	switch {
	case u.At(0).DType() == dtype.F16:
		return fmt.Sprintf("%s(%s)", r.halfHelper("single", "u16", "f32"), r.vexpr(u.At(0))), true
	case u.DType() == dtype.F16:
		return fmt.Sprintf("%s(%s)", r.halfHelper("half", "f32", "u16"), r.vexpr(u.At(0))), true
	}
	return "", false
}

// halfHelper names the conversion of vectors.
func (r *renderer) halfHelper(what, from, to string) string {
	v, w := r.vtype(from), r.vtype(to)
	name := "weft_" + what + "_" + w
	macro := map[string]string{"single": "WEFT_SINGLE_", "half": "WEFT_HALF_"}[what] + w
	r.define(name, fmt.Sprintf(`#ifdef %[1]s
#define %[2]s(x) ((%[4]s)%[1]s(x))
#else
static inline %[4]s %[2]s(%[3]s x) { return (%[4]s){%[5]s}; }
#endif
`, macro, name, v, w, each(r.n, func(i int) string { return fmt.Sprintf("weft_%s(x[%d])", what, i) })))
	return name
}

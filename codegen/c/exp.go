package c

import "fmt"

// expInstructions is 2^x as package codegen composes it where there is no instruction, bit by bit: the same polynomial of the distance to the
// nearest integer. Processors with vectors of 64 bytes round to it, and multiply by its power, in one instruction each; where the
// result is 0 nothing is multiplied, for a product that underflows takes a hundred times as long. Those with vectors of 32 bytes have no such
// instructions, and 64 bits are composed there. Of 32 bits, where all lanes lie within ±125, factor and result are normal, so that the power is an
// addition to the bits of the exponent and nothing needs a limit; elsewhere it is the composition.
const expInstructions = `static inline float weft_exp2(float x) {
	float c = x > 129.0f ? 129.0f : x;
	c = c < -150.0f ? -254.0f : c;
	float s = c + 12583166.0f;
	uint32_t b;
	__builtin_memcpy(&b, &s, 4);
	float f = c - (float)((int32_t)b - 1262485758), p = 0x1.41fbb2p-13f, u, v;
	p = weft_fma_f32(p, f, 0x1.5f3e52p-10f);
	p = weft_fma_f32(p, f, 0x1.3b2d4cp-7f);
	p = weft_fma_f32(p, f, 0x1.c6aee8p-5f);
	p = weft_fma_f32(p, f, 0x1.ebfbdcp-3f);
	p = weft_fma_f32(p, f, 0x1.62e43p-1f);
	p = weft_fma_f32(p, f, 1.0f);
	uint32_t half = b >> 1, e = half << 23, g = (b - half) << 23;
	__builtin_memcpy(&u, &e, 4);
	__builtin_memcpy(&v, &g, 4);
	return p * u * v;
}
static inline double weft_exp2d(double x) {
	double c = x > 1025.0 ? 1025.0 : x;
	c = c < -1075.0 ? -2046.0 : c;
	uint64_t b = bits_f64_u64(c + 0x1.80000000007fep52);
	double f = c - (double)((int64_t)b - 0x43380000000007fe), p = 2.5625436903018908674e-11;
#define F(c) p = weft_fma_f64(p, f, c);
	F(4.456570545123288261e-10) F(7.0549744667375947927e-9) F(1.0178051941734150958e-7) F(1.3215486594941975935e-6) F(0.000015252733854318800576) F(0.0001540353039364068784) F(0.0013333558146390692358) F(0.0096181291076283295774) F(0.055504108664821687114) F(0.24022650695910071507) F(0.69314718055994530855) F(1.0)
#undef F
	uint64_t half = b >> 1;
	return p * bits_u64_f64(half << 52) * bits_u64_f64((b - half) << 52);
}
#if defined(__x86_64__) && defined(__GNUC__) && defined(__AVX512F__)
typedef float weft_f16 __attribute__((vector_size(64)));
static inline weft_f16 weft_exp2_16(weft_f16 x) {
#define W(c) ((weft_f16){c, c, c, c, c, c, c, c, c, c, c, c, c, c, c, c})
#if defined(__clang__)
	weft_f16 c = __builtin_ia32_minps512(W(129.0f), x, 4);
#else
	weft_f16 c = __builtin_ia32_minps512_mask(W(129.0f), x, W(0.0f), (unsigned short)-1, 4);
#endif
	unsigned short some = __builtin_ia32_cmpps512_mask(c, W(-150.0f), 21, (unsigned short)-1, 4);
	weft_f16 k = __builtin_ia32_rndscaleps_mask(c, 8, W(0.0f), (unsigned short)-1, 4), f = c - k, p = W(0x1.41fbb2p-13f);
#define F(c) p = __builtin_ia32_vfmaddps512_mask(p, f, W(c), (unsigned short)-1, 4);
	F(0x1.5f3e52p-10f) F(0x1.3b2d4cp-7f) F(0x1.c6aee8p-5f) F(0x1.ebfbdcp-3f) F(0x1.62e43p-1f) F(1.0f)
	return __builtin_ia32_scalefps512_mask(p, k, W(0.0f), some, 4);
#undef F
#undef W
}
#define WEFT_EXP2_f32x16(x) ((f32x16)weft_exp2_16((weft_f16)(x)))
#define WEFT_EXP2_f32x8(x) ({ f32x8 weft_x = x; weft_f16 weft_y = weft_exp2_16(__builtin_shufflevector(weft_x, weft_x, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7)); __builtin_shufflevector(weft_y, weft_y, 0, 1, 2, 3, 4, 5, 6, 7); })
#define WEFT_EXP2_f32x4(x) ({ f32x4 weft_x = x; weft_f16 weft_y = weft_exp2_16(__builtin_shufflevector(weft_x, weft_x, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3)); __builtin_shufflevector(weft_y, weft_y, 0, 1, 2, 3); })
typedef double weft_d8 __attribute__((vector_size(64)));
static inline weft_d8 weft_exp2_d8(weft_d8 x) {
#define W(c) ((weft_d8){c, c, c, c, c, c, c, c})
#if defined(__clang__)
	weft_d8 c = __builtin_ia32_minpd512(W(1025.0), x, 4);
#else
	weft_d8 c = __builtin_ia32_minpd512_mask(W(1025.0), x, W(0.0), (unsigned char)-1, 4);
#endif
	unsigned char some = __builtin_ia32_cmppd512_mask(c, W(-1075.0), 21, (unsigned char)-1, 4);
	weft_d8 k = __builtin_ia32_rndscalepd_mask(c, 8, W(0.0), (unsigned char)-1, 4), f = c - k, p = W(2.5625436903018908674e-11);
#define F(c) p = __builtin_ia32_vfmaddpd512_mask(p, f, W(c), (unsigned char)-1, 4);
	F(4.456570545123288261e-10) F(7.0549744667375947927e-9) F(1.0178051941734150958e-7) F(1.3215486594941975935e-6) F(0.000015252733854318800576) F(0.0001540353039364068784) F(0.0013333558146390692358) F(0.0096181291076283295774) F(0.055504108664821687114) F(0.24022650695910071507) F(0.69314718055994530855) F(1.0)
	return __builtin_ia32_scalefpd512_mask(p, k, W(0.0), some, 4);
#undef F
#undef W
}
#define WEFT_EXP2_f64x8(x) ((f64x8)weft_exp2_d8((weft_d8)(x)))
#define WEFT_EXP2_f64x4(x) ({ f64x4 weft_x = x; weft_d8 weft_y = weft_exp2_d8(__builtin_shufflevector(weft_x, weft_x, 0, 1, 2, 3, 0, 1, 2, 3)); __builtin_shufflevector(weft_y, weft_y, 0, 1, 2, 3); })
#define WEFT_EXP2_f64x2(x) ({ f64x2 weft_x = x; weft_d8 weft_y = weft_exp2_d8(__builtin_shufflevector(weft_x, weft_x, 0, 1, 0, 1, 0, 1, 0, 1)); __builtin_shufflevector(weft_y, weft_y, 0, 1); })
#elif defined(__x86_64__) && defined(__GNUC__) && defined(__AVX2__) && defined(WEFT_FMA_f32x8)
#define WEFT_EXP2_OF(n, same, signs) \
typedef float weft_f##n __attribute__((vector_size(4 * n))); \
typedef int32_t weft_i##n __attribute__((vector_size(4 * n))); \
typedef uint32_t weft_u##n __attribute__((vector_size(4 * n))); \
static inline weft_f##n weft_exp2_near_##n(weft_f##n f) { \
	weft_f##n p = same(0x1.41fbb2p-13f); \
	p = WEFT_FMA_f32x##n(p, f, same(0x1.5f3e52p-10f)); \
	p = WEFT_FMA_f32x##n(p, f, same(0x1.3b2d4cp-7f)); \
	p = WEFT_FMA_f32x##n(p, f, same(0x1.c6aee8p-5f)); \
	p = WEFT_FMA_f32x##n(p, f, same(0x1.ebfbdcp-3f)); \
	p = WEFT_FMA_f32x##n(p, f, same(0x1.62e43p-1f)); \
	return WEFT_FMA_f32x##n(p, f, same(1.0f)); \
} \
static __attribute__((noinline, cold)) weft_f##n weft_exp2_far_##n(weft_f##n x) { \
	weft_i##n high = x > 129.0f; \
	weft_f##n c = (weft_f##n)(((weft_i##n)same(129.0f) & high) | ((weft_i##n)x & ~high)); \
	weft_i##n low = c < -150.0f; \
	c = (weft_f##n)(((weft_i##n)same(-254.0f) & low) | ((weft_i##n)c & ~low)); \
	weft_u##n b = (weft_u##n)(c + 12583166.0f), half = b >> 1; \
	weft_f##n p = weft_exp2_near_##n(c - __builtin_convertvector((weft_i##n)b - 1262485758, weft_f##n)); \
	return p * (weft_f##n)(half << 23) * (weft_f##n)((b - half) << 23); \
} \
static inline weft_f##n weft_exp2_##n(weft_f##n x) { \
	weft_f##n size = (weft_f##n)((weft_u##n)x & 0x7fffffffu); \
	if (__builtin_expect(signs((weft_f##n)(size <= 125.0f)) != (1 << n) - 1, 0)) \
		return weft_exp2_far_##n(x); \
	weft_f##n s = x + 12582912.0f; \
	return (weft_f##n)((weft_u##n)weft_exp2_near_##n(x - (s - 12582912.0f)) + ((weft_u##n)s << 23)); \
}
#define WEFT_SAME_4(c) ((weft_f4){c, c, c, c})
#define WEFT_SAME_8(c) ((weft_f8){c, c, c, c, c, c, c, c})
WEFT_EXP2_OF(4, WEFT_SAME_4, __builtin_ia32_movmskps)
WEFT_EXP2_OF(8, WEFT_SAME_8, __builtin_ia32_movmskps256)
#define WEFT_EXP2_f32x8(x) ((f32x8)weft_exp2_8((weft_f8)(x)))
#define WEFT_EXP2_f32x4(x) ((f32x4)weft_exp2_4((weft_f4)(x)))
#define WEFT_EXP2_f32x2(x) ({ f32x2 weft_x = x; weft_f4 weft_y = weft_exp2_4(__builtin_shufflevector(weft_x, weft_x, 0, 1, 0, 1)); __builtin_shufflevector(weft_y, weft_y, 0, 1); })
#endif
`

// exp2 is the name of a function of vectors of e, f32 or f64.
func (r *renderer) exp2(e string) string {
	v := r.vtype(e)
	name := "exp2_" + v
	r.define(name, fmt.Sprintf("#ifdef WEFT_EXP2_%[1]s\n#define %[2]s(x) WEFT_EXP2_%[1]s(x)\n#else\n"+
		"static inline %[1]s %[2]s(%[1]s x) { return (%[1]s){%[3]s}; }\n#endif\n", v, name, each(r.n, numbered(exp2OfOne[e]+"(x[%d])"))))
	return name
}

// exp2OfOne are the names of the functions of numbers.
var exp2OfOne = map[string]string{"f32": "weft_exp2", "f64": "weft_exp2d"}

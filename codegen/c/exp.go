package c

import "fmt"

// expInstructions is 2^x of 32 bits as package codegen composes it where there is no instruction, bit by bit: the same polynomial of
// the distance to the nearest integer. Processors with vectors of 64 bytes round to it, and multiply by its power, in one instruction
// each; where the result is 0 nothing is multiplied, for a product that underflows takes a hundred times as long.
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
#endif
`

// exp2 is the name of a function of vectors of f32.
func (r *renderer) exp2() string {
	v := r.vtype("f32")
	name := "exp2_" + v
	r.define(name, fmt.Sprintf("#ifdef WEFT_EXP2_%[1]s\n#define %[2]s(x) WEFT_EXP2_%[1]s(x)\n#else\n"+
		"static inline %[1]s %[2]s(%[1]s x) { return (%[1]s){%[3]s}; }\n#endif\n", v, name, each(r.n, numbered("weft_exp2(x[%d])"))))
	return name
}

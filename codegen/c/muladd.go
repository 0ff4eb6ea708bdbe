package c

// softMulAdd is a·b + c rounded once, where the processor has no instruction for it. Numbers of 32 bits are computed in 64, where
// the product is exact and the sum is rounded to odd, so that rounding it again is rounding once. Numbers of 64 bits are
// computed in integers of 128, with a last bit that stands for all that is cut off: exact also where the
// result is denormal or the product overflows. A compiler that knows no such integers has to find fma in its library.
const softMulAdd = `static inline float weft_fma_f32(float a, float b, float c) {
	double p = (double)a * b, z = c, s = p + z, back = s - p, rest = (p - (s - back)) + (z - back);
	uint64_t u;
	__builtin_memcpy(&u, &s, 8);
	if (rest == rest && rest != 0 && !(u & 1)) {
		u += ((rest > 0) == (s > 0)) ? 1 : -1;
		__builtin_memcpy(&s, &u, 8);
	}
	return (float)s;
}
#if defined(__SIZEOF_INT128__)
typedef unsigned __int128 weft_u128;
static inline int weft_clz(weft_u128 x) {
	return x >> 64 ? __builtin_clzll((uint64_t)(x >> 64)) : 64 + __builtin_clzll((uint64_t)x);
}
static __attribute__((noinline, unused)) double weft_fma_f64(double a, double b, double c) {
	const uint64_t one = (uint64_t)1 << 52;
	uint64_t x, y, z;
	__builtin_memcpy(&x, &a, 8);
	__builtin_memcpy(&y, &b, 8);
	__builtin_memcpy(&z, &c, 8);
	int ex = x >> 52 & 0x7ff, ey = y >> 52 & 0x7ff, ez = z >> 52 & 0x7ff;
	if (ex == 0x7ff || ey == 0x7ff || a == 0 || b == 0) return a * b + c;
	if (ez == 0x7ff) return c;
	if (c == 0) return a * b;
	weft_u128 p = (weft_u128)(ex ? (x & (one - 1)) | one : x & (one - 1)) * (ey ? (y & (one - 1)) | one : y & (one - 1));
	weft_u128 q = ez ? (z & (one - 1)) | one : z & (one - 1);
	int e = (ex ? ex : 1) + (ey ? ey : 1) - 2150, f = (ez ? ez : 1) - 1075;
	uint64_t sp = (x ^ y) >> 63, sq = z >> 63;
	int n = weft_clz(p) - 3; /* the highest bits at place 124 */
	p <<= n, e -= n;
	n = weft_clz(q) - 3;
	q <<= n, f -= n;
	if (e < f || (e == f && p < q)) {
		weft_u128 t = p; p = q; q = t;
		int g = e; e = f; f = g;
		uint64_t u = sp; sp = sq; sq = u;
	}
	int d = e - f;
	q = d > 126 ? 1 : (q >> d) | ((q & (((weft_u128)1 << d) - 1)) != 0);
	p = sp == sq ? p + q : p - q;
	if (!p) return 0;
	int cut = 127 - weft_clz(p) - 52; /* bits that go */
	if (cut < -1074 - e) cut = -1074 - e;
	if (cut > 126) return sp ? -0.0 : 0.0;
	uint64_t m;
	if (cut <= 0) {
		m = (uint64_t)p << -cut;
	} else {
		weft_u128 rest = p & (((weft_u128)1 << cut) - 1), half = (weft_u128)1 << (cut - 1);
		m = (uint64_t)(p >> cut);
		m += rest > half || (rest == half && (m & 1));
	}
	if (m >= one) { /* one more in the exponent where rounding made it the next power of two */
		int biased = e + cut + 1075 + (int)(m >> 53);
		m = biased >= 0x7ff ? (uint64_t)0x7ff << 52 : (uint64_t)biased << 52 | (m >> (m >> 53) & (one - 1));
	}
	m |= sp << 63;
	__builtin_memcpy(&a, &m, 8);
	return a;
}
#else
#define weft_fma_f64(a, b, c) __builtin_fma(a, b, c)
#endif
`

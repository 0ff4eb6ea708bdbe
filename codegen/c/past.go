package c

// pastInstructions are WEFT_PAST(p, x), which writes a whole line of the cache past it if that is what 64 bytes at p are, and
// WEFT_PASSED(), after which other threads see what was written so.
const pastInstructions = `#if defined(__x86_64__) && defined(__GNUC__) && defined(__AVX512F__)
typedef float weft_line __attribute__((vector_size(64)));
typedef float weft_lineu __attribute__((vector_size(64), aligned(1), may_alias));
#if defined(__clang__)
#define WEFT_LINE(p, x) __builtin_nontemporal_store(x, (weft_line *)(p))
#else
#define WEFT_LINE(p, x) __builtin_ia32_movntps512((float *)(p), x)
#endif
static inline void weft_past(void *p, weft_line x) {
	if ((uintptr_t)p & 63) *(weft_lineu *)p = x;
	else WEFT_LINE(p, x);
}
#define WEFT_PAST(p, x) weft_past(p, (weft_line)(x))
#define WEFT_PASSED() __builtin_ia32_sfence()
#else
typedef float weft_lineu __attribute__((vector_size(64), aligned(1), may_alias));
#define WEFT_PAST(p, x) (*(weft_lineu *)(p) = (weft_lineu)(x))
#define WEFT_PASSED() ((void)0)
#endif
`

package c

// maskedInstructions are the machine's loads of some lanes, WEFT_LDM_type(p, m) with a mask of lanes as wide as the elements:
// the others are 0 and their memory is not touched. Compilers make a condition for each lane otherwise.
// WEFT_STORE_type(p, v, n) stores the first n lanes. WEFT_SIGNS_type(m) has a bit for each lane of a mask.
const maskedInstructions = `#if defined(__x86_64__) && defined(__GNUC__)
typedef int weft_i4 __attribute__((vector_size(16)));
typedef int weft_i8 __attribute__((vector_size(32)));
typedef long long weft_q2 __attribute__((vector_size(16)));
typedef long long weft_q4 __attribute__((vector_size(32)));
#if defined(__AVX512F__) && defined(__AVX512DQ__)
typedef int weft_di __attribute__((vector_size(64)));
typedef long long weft_dq __attribute__((vector_size(64)));
#define WEFT_LDM_f32x16(p, m) __builtin_ia32_loadups512_mask((const float *)(p), (f32x16){0}, __builtin_ia32_cvtd2mask512((weft_di)(m)))
#define WEFT_LDM_i32x16(p, m) ((i32x16)__builtin_ia32_loaddqusi512_mask((const int *)(p), (weft_di){0}, __builtin_ia32_cvtd2mask512((weft_di)(m))))
#define WEFT_LDM_u32x16(p, m) ((u32x16)__builtin_ia32_loaddqusi512_mask((const int *)(p), (weft_di){0}, __builtin_ia32_cvtd2mask512((weft_di)(m))))
#define WEFT_LDM_f64x8(p, m) __builtin_ia32_loadupd512_mask((const double *)(p), (f64x8){0}, __builtin_ia32_cvtq2mask512((weft_dq)(m)))
#define WEFT_LDM_i64x8(p, m) ((i64x8)__builtin_ia32_loaddqudi512_mask((const long long *)(p), (weft_dq){0}, __builtin_ia32_cvtq2mask512((weft_dq)(m))))
#define WEFT_LDM_u64x8(p, m) ((u64x8)__builtin_ia32_loaddqudi512_mask((const long long *)(p), (weft_dq){0}, __builtin_ia32_cvtq2mask512((weft_dq)(m))))
#define WEFT_SIGNS_i32x16(m) __builtin_ia32_cvtd2mask512((weft_di)(m))
#define WEFT_SIGNS_i64x8(m) __builtin_ia32_cvtq2mask512((weft_dq)(m))
#endif
#if defined(__AVX__)
typedef float weft_float4 __attribute__((vector_size(16)));
typedef float weft_float8 __attribute__((vector_size(32)));
typedef double weft_double4 __attribute__((vector_size(32)));
#define WEFT_SIGNS_i32x4(m) __builtin_ia32_movmskps((weft_float4)(m))
#define WEFT_SIGNS_i32x8(m) __builtin_ia32_movmskps256((weft_float8)(m))
#define WEFT_SIGNS_i64x4(m) __builtin_ia32_movmskpd256((weft_double4)(m))
#endif
#if defined(__AVX512VL__) && defined(__AVX512DQ__)
#define WEFT_LDM_f32x8(p, m) __builtin_ia32_loadups256_mask((const float *)(p), (f32x8){0}, __builtin_ia32_cvtd2mask256((weft_i8)(m)))
#define WEFT_LDM_f32x4(p, m) __builtin_ia32_loadups128_mask((const float *)(p), (f32x4){0}, __builtin_ia32_cvtd2mask128((weft_i4)(m)))
#define WEFT_LDM_i32x8(p, m) ((i32x8)__builtin_ia32_loaddqusi256_mask((const int *)(p), (weft_i8){0}, __builtin_ia32_cvtd2mask256((weft_i8)(m))))
#define WEFT_LDM_i32x4(p, m) ((i32x4)__builtin_ia32_loaddqusi128_mask((const int *)(p), (weft_i4){0}, __builtin_ia32_cvtd2mask128((weft_i4)(m))))
#define WEFT_LDM_f64x4(p, m) __builtin_ia32_loadupd256_mask((const double *)(p), (f64x4){0}, __builtin_ia32_cvtq2mask256((weft_q4)(m)))
#elif defined(__AVX2__)
#define WEFT_LDM_f32x8(p, m) __builtin_ia32_maskloadps256((const f32x8 *)(p), (weft_i8)(m))
#define WEFT_LDM_f32x4(p, m) __builtin_ia32_maskloadps((const f32x4 *)(p), (weft_i4)(m))
#define WEFT_LDM_i32x8(p, m) ((i32x8)__builtin_ia32_maskloadd256((const weft_i8 *)(p), (weft_i8)(m)))
#define WEFT_LDM_i32x4(p, m) ((i32x4)__builtin_ia32_maskloadd((const weft_i4 *)(p), (weft_i4)(m)))
#define WEFT_LDM_f64x4(p, m) __builtin_ia32_maskloadpd256((const f64x4 *)(p), (weft_q4)(m))
#endif
#endif
#if defined(__x86_64__) && defined(__GNUC__) && defined(__AVX512F__)
#define WEFT_STORE_f32x16(p, v, n) __builtin_ia32_storeups512_mask((float *)(p), v, (unsigned short)((1 << (n)) - 1))
#else
#define WEFT_STORE_f32x16(p, v, n) __builtin_memcpy(p, &(v), 4 * (n))
#endif
`

package c

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
)

// Products of matrices by AMX: eight tile registers of sixteen rows of 64 bytes. Four hold a block of results, two rows of the first
// factor, two rows of words of the second one. What the instructions touch is what the configuration says, rows of as many bytes as
// there are: what is left of the rows or the lanes has a configuration of its own. To load one takes hundreds of cycles, so it
// stays until another is wanted or the kernel ends.
// The intrinsics would cost reading immintrin.h, a third of a second a run of the compiler.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18, and volume 2, TDPBSSD, TDPBF16PS.

const matrixInstructions = `#define WEFT_MATRIX_ARGS int64_t *tiles, void *restrict c, const int32_t *a, int64_t arow, const int32_t *b, int64_t brow, int32_t rows, int32_t cols, int32_t steps, int32_t block
#if defined(__x86_64__) && defined(__AMX_INT8__) && defined(__AMX_BF16__)
typedef struct { uint8_t palette, start, none[14]; uint16_t bytes[16]; uint8_t rows[16]; } weft_tiles;
static inline void weft_tile(weft_tiles *t, int i, int rows, int words) { if (rows > 0 && words > 0) { t->rows[i] = rows; t->bytes[i] = 4 * words; } }
static inline void weft_configure(int64_t *now, int r0, int r1, int c0, int c1, int words) {
	int64_t want = r0 | r1 << 8 | c0 << 16 | (int64_t)c1 << 24 | (int64_t)words << 32;
	if (*now == want) return;
	*now = want;
	weft_tiles t = {.palette = 1};
	weft_tile(&t, 0, r0, c0); weft_tile(&t, 1, r0, c1); weft_tile(&t, 2, r1, c0); weft_tile(&t, 3, r1, c1);
	weft_tile(&t, 4, r0, words); weft_tile(&t, 5, r1, words); weft_tile(&t, 6, words, c0); weft_tile(&t, 7, words, c1);
	__asm__ volatile("ldtilecfg %0" :: "m"(t));
}
static inline void weft_release(int64_t *now) { if (*now) __asm__ volatile("tilerelease" ::); }
#define WEFT_TILES int64_t __attribute__((cleanup(weft_release))) tiles = 0
#define WEFT_TILE_ZERO(i) __asm__ volatile("tilezero %%tmm" #i ::)
#define WEFT_TILE_LOAD(i, p, n) __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #i :: "r"((const void *)(p)), "r"((int64_t)(n) * 4) : "memory")
#define WEFT_TILE_STORE(i, p, n) __asm__ volatile("tilestored %%tmm" #i ", (%0,%1,1)" :: "r"((void *)(p)), "r"((int64_t)(n) * 4) : "memory")
#define WEFT_TILE_PUT(i, y, x) WEFT_TILE_STORE(i, d + (y) * cols + (x), cols)
#define WEFT_TILE_NONE(i, y, x) WEFT_TILE_ZERO(i)
#define WEFT_EACH_TILE(what, two, right) what(0, 0, 0); if (right) what(1, 0, 16); if (two) what(2, 16, 0); if (two && right) what(3, 16, 16)
#define WEFT_MATRIX(name, what) \
static inline void name##_step(const int32_t *a, int64_t arow, const int32_t *b, int64_t brow, int two, int right) { \
	WEFT_TILE_LOAD(6, b, brow); WEFT_TILE_LOAD(4, a, arow); \
	__asm__ volatile(what " %%tmm6, %%tmm4, %%tmm0" ::); \
	if (two) { WEFT_TILE_LOAD(5, a + 16 * arow, arow); __asm__ volatile(what " %%tmm6, %%tmm5, %%tmm2" ::); } \
	if (right) { WEFT_TILE_LOAD(7, b + 16, brow); __asm__ volatile(what " %%tmm7, %%tmm4, %%tmm1" ::); } \
	if (two && right) __asm__ volatile(what " %%tmm7, %%tmm5, %%tmm3" ::); \
} \
static void name(WEFT_MATRIX_ARGS) { \
	for (int j = 0; j < cols; j += 32) for (int i = 0; i < rows; i += 32) { \
		int r = rows - i < 32 ? rows - i : 32, n = cols - j < 32 ? cols - j : 32, two = r > 16, right = n > 16; \
		int r0 = two ? 16 : r, c0 = right ? 16 : n; \
		int32_t *d = (int32_t *)c + i * cols + j; \
		const int32_t *x = a + i * arow, *y = b + j; \
		weft_configure(tiles, r0, r - r0, c0, n - c0, block); \
		WEFT_EACH_TILE(WEFT_TILE_NONE, two, right); \
		for (int k = 0; k < steps; k += block) name##_step(x + k, arow, y + k * brow, brow, two, right); \
		WEFT_EACH_TILE(WEFT_TILE_PUT, two, right); \
	} \
}
#define WEFT_MATRIX_i8_i8 WEFT_MATRIX(weft_matrix_i8_i8, "tdpbssd")
#define WEFT_MATRIX_i8_u8 WEFT_MATRIX(weft_matrix_i8_u8, "tdpbsud")
#define WEFT_MATRIX_u8_i8 WEFT_MATRIX(weft_matrix_u8_i8, "tdpbusd")
#define WEFT_MATRIX_u8_u8 WEFT_MATRIX(weft_matrix_u8_u8, "tdpbuud")
#define WEFT_MATRIX_bf16_bf16 WEFT_MATRIX(weft_matrix_bf16_bf16, "tdpbf16ps")
#else
#define WEFT_TILES int64_t tiles = 0
#define WEFT_MATRIX(name, T, sum) \
static void name(WEFT_MATRIX_ARGS) { \
	for (int i = 0; i < rows; i++) for (int j = 0; j < cols; j++) { \
		T s = 0; \
		for (int k = 0; k < steps; k++) { int32_t x = a[i * arow + k], y = b[k * brow + j]; sum; } \
		((T *)c)[i * (int64_t)cols + j] = s; \
	} \
}
#define WEFT_FOUR(X, Y) s += (X)x * (Y)y + (X)(x >> 8) * (Y)(y >> 8) + (X)(x >> 16) * (Y)(y >> 16) + (X)(x >> 24) * (Y)(y >> 24)
#define WEFT_HIGH(x) bits_u32_f32((uint32_t)(x) & 0xffff0000u)
#define WEFT_MATRIX_i8_i8 WEFT_MATRIX(weft_matrix_i8_i8, int32_t, WEFT_FOUR(int8_t, int8_t))
#define WEFT_MATRIX_i8_u8 WEFT_MATRIX(weft_matrix_i8_u8, int32_t, WEFT_FOUR(int8_t, uint8_t))
#define WEFT_MATRIX_u8_i8 WEFT_MATRIX(weft_matrix_u8_i8, int32_t, WEFT_FOUR(uint8_t, int8_t))
#define WEFT_MATRIX_u8_u8 WEFT_MATRIX(weft_matrix_u8_u8, int32_t, WEFT_FOUR(uint8_t, uint8_t))
#define WEFT_MATRIX_bf16_bf16 WEFT_MATRIX(weft_matrix_bf16_bf16, float, s += WEFT_HIGH((uint32_t)x << 16) * WEFT_HIGH((uint32_t)y << 16) + WEFT_HIGH(x) * WEFT_HIGH(y))
#endif
`

// matrixTypes is how the prelude calls the types of factors.
var matrixTypes = map[dtype.DType]string{dtype.I8: "i8", dtype.U8: "u8", dtype.BF16: "bf16"}

// matrix spells a product of matrices.
func (r *renderer) matrix(s *codegen.MatrixProduct, depth int) {
	types := matrixTypes[s.Types[0]] + "_" + matrixTypes[s.Types[1]]
	r.define("weft_matrix_"+types, "WEFT_MATRIX_"+types+"\n")
	r.tiles = true
	r.line(depth, "weft_matrix_%s(&tiles, %s, %s + %s, %d, %s + %s, %d, %d, %d, %d, %d);", types, r.pointer(s.Acc), r.pointer(s.A), r.expr(s.ABase), s.ARow,
		r.pointer(s.B), r.expr(s.BBase), s.BRow, s.Rows, s.Cols, s.Steps, s.Block)
}

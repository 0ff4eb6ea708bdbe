package c

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// tableInstructions are the machine's for WEFT_TABLE(p, x): the bytes at the places x of 256 that begin at p. One instruction selects from
// 128 bytes in two registers.
const tableInstructions = `#if defined(__x86_64__) && defined(__GNUC__) && defined(__AVX512VBMI__)
typedef char weft_b64 __attribute__((vector_size(64)));
typedef char weft_b64u __attribute__((vector_size(64), aligned(1), may_alias));
#ifdef __clang__
#define WEFT_OF128(p, x) __builtin_ia32_vpermi2varqi512(*(const weft_b64u *)(p), x, *(const weft_b64u *)((p) + 64))
#define WEFT_CHOOSE(m, a, b) __builtin_ia32_selectb_512(m, a, b)
#else
#define WEFT_OF128(p, x) __builtin_ia32_vpermt2varqi512_mask(x, *(const weft_b64u *)(p), *(const weft_b64u *)((p) + 64), (unsigned long long)-1)
#define WEFT_CHOOSE(m, a, b) __builtin_ia32_blendmb_512_mask(b, a, m)
#endif
#define WEFT_TABLE(p, x) WEFT_CHOOSE(__builtin_ia32_cvtb2mask512(x), WEFT_OF128((p) + 128, x), WEFT_OF128(p, x))
#endif
`

// tableBytes is how many bytes WEFT_TABLE looks up at once.
const tableBytes = 64

// placed is the integer type in whose lanes bytes are looked up, one in each.
func (r *renderer) placed() (e string, ok bool) {
	e, ok = map[int]string{64: "u8", 32: "i16", 16: "i32", 8: "i64"}[r.n]
	return e, ok
}

// lookedUp spells what a table holds for a byte, in lanes of type placed.
func (r *renderer) lookedUp(load *uop.UOp) string {
	e, _ := r.placed()
	b, of := codegen.LooksUp(load), elem(load.DType())
	place := ""
	if b.Op() == uop.Cast && elem(b.At(0).DType()) == e { // whose lowest bits it is
		place = r.vexpr(b.At(0))
	} else {
		place = r.convert(r.vexpr(b), "u8", e)
	}
	v, bits := r.vtype(e), elemBits[e]
	name := fmt.Sprintf("table_%s_%s", of, v)
	value, mask := fmt.Sprintf("(%s)WEFT_TABLE(p, (weft_b64)x)", v), ""
	switch {
	case bits == 8:
	case of == "i8":
		value = fmt.Sprintf("((%[1]s)((%[1]s)%[2]s << %[3]d) >> %[3]d)", v, value, bits-8)
	default:
		value = fmt.Sprintf("(%s & 255)", value)
	}
	if bits > 8 {
		mask = " & 255"
	}
	r.define(name, fmt.Sprintf("static inline %[1]s %[2]s(const %[3]s *p, %[1]s x) {\n#ifdef WEFT_TABLE\nreturn %[4]s;\n#else\nreturn (%[1]s){%[5]s};\n#endif\n}\n",
		v, name, byElem[of], value, each(r.n, func(i int) string { return fmt.Sprintf("p[x[%d]%s]", i, mask) })))
	return fmt.Sprintf("%s(%s, %s)", name, r.pointer(load.At(0)), place)
}

// looksUp says that a load of one element per lane is from a table of bytes, and vectors are those of machines that may look them up at once.
func (r *renderer) looksUp(load *uop.UOp) bool {
	_, ok := r.placed()
	return ok && r.p.VectorBytes == tableBytes && load.Op() == uop.Load && r.mask == "" && codegen.LooksUp(load) != nil && r.vary(load.At(2))
}

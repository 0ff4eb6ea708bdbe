// Package c spells lowered kernels in C with the vector extensions of GCC and Clang.
//
// It knows the language and what its compilers lack. It refuses to know why a kernel looks as it does.
//
//	p, err := lower.Lower(spec, directives, c.Target(c.Machine{VectorBytes: 64}))
//	k, err := c.Render(p) // k.Source, k.Entry; compiled after c.Prelude
package c

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Machine is what the code generator should know of the processor; zero values stand for the usual.
type Machine struct {
	VectorBytes int  // bytes of a vector register: 16, 32 or 64
	Registers   int  // vector registers
	L1, L2      int  // bytes of the caches of one core
	NoFMA       bool // it has no instruction for a multiply-add
	Dot4        bool // it multiplies fours of bytes and adds the products
	Tables      bool // it looks bytes up in a table of 256
	DotBF16     bool // it multiplies pairs of bfloat16 and adds the products in float32
	NoOpt       bool
	Matrix      *codegen.MatrixUnit // or nil: the matrices that it multiplies
}

// What looking one number up in a table of bytes takes, in operations of a vector: where the machine does so for a whole vector, and else for each lane.
const tableSteps, laneSteps = 6, 3

// Target describes C on a machine to the lowering.
func Target(m Machine) *codegen.Target {
	def := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&m.VectorBytes, 16)
	regs := 16
	if m.VectorBytes == 64 {
		regs = 32
	}
	def(&m.Registers, regs)
	def(&m.L1, 32<<10)
	def(&m.L2, 512<<10)
	line := 0.0
	if m.VectorBytes == 32 { // measured on such machines, of which the second cache gives half as much in a cycle as of those with wider vectors
		line = 3
	}
	whole := 2 << 20
	if m.NoOpt {
		whole = 0
	}
	lookup := laneSteps * m.VectorBytes / 4
	if m.Tables {
		lookup = tableSteps
	}
	if m.NoOpt {
		lookup = 0
	}
	return &codegen.Target{
		Name: "c", Lookup: lookup, Compiling: 1 << 31, LineCycles: line, SplitLoads: m.VectorBytes == 32, Prefetch: m.VectorBytes == 32, VectorLen: func(d dtype.DType) int {
			if d.Size() == 0 {
				return 0
			}
			return m.VectorBytes / d.Size()
		},
		Registers: m.Registers, L1: m.L1, L2: m.L2,
		Has: func(o uop.Op, d dtype.DType) bool {
			return m.has(o, d) || o == uop.Exp2 && (d == dtype.F32 && m.VectorBytes >= 32 || d == dtype.F64 && m.VectorBytes == 64) && !m.NoFMA ||
				o == uop.Sin && d.IsFloat() && !d.IsNarrow() && !m.NoFMA && !m.NoOpt ||
				(o == uop.Trunc || o == uop.RoundEven) && d.IsFloat() && !d.IsNarrow() && m.VectorBytes >= 32
		},
		Matrix:   m.Matrix,
		Branches: true, SoftFMA: m.NoFMA, NoOpt: m.NoOpt, WordLoads: true, Turns: true, TileLoops: !m.NoOpt, ReadsAhead: 8, WholeRows: whole, Masks: m.VectorBytes == 64, LongSteps: m.VectorBytes == 64, Unroll: codegen.Unroll{Copies: 4, Ops: 600, Whole: true},
		Nests:   codegen.NestLimits{Most: 12, Flops: 480_000, Bytes: 240_000, Before: 64, Rows: 8}, // what runtime/native has one thread do
		Streams: !m.NoOpt && m.VectorBytes == 64 && m.Registers >= 32,                              // what its blocks are made for
	}
}

// has: arithmetic of C's own types; narrow floats are words that can be moved and selected; truth values are
// masks. There is no library of functions.
func (m Machine) has(o uop.Op, d dtype.DType) bool {
	switch {
	case d == dtype.F16 && o == uop.Cast:
		return true
	case d.IsNarrow():
		return o == uop.Where || o == uop.Bitcast
	case d == dtype.Bool:
		return o == uop.And || o == uop.Or || o == uop.Xor || o == uop.Bitcast
	}
	switch {
	case uop.Info(o).Trait == uop.Function || o == uop.Trunc || o == uop.RoundEven:
		return false
	case o == uop.Dot2:
		return d == dtype.I32
	case o == uop.Dot4:
		return d == dtype.I32 && m.Dot4
	case o == uop.DotBF16:
		return d == dtype.I32 && m.DotBF16
	}
	return true
}

// Render writes a kernel. The entry's name is a hash of the text, so equal kernels have equal names. What a kernel is called is no part of it:
// loops over elements differ in nothing but their length, which a launch says.
func Render(p *codegen.Program) (k plan.Kernel, err error) {
	if p.Foreign != nil {
		return foreign(p), nil
	}
	r := &renderer{}
	defer func() {
		if x := recover(); x != nil {
			panic(fmt.Errorf("c: kernel %s: %v\n%s", p.Name, x, codegen.Dump(p)))
		}
	}()
	r.write(p, nil)
	if counts := r.now; r.again() {
		r = &renderer{}
		r.write(p, counts)
	}
	text := "(char *const *buf, const int32_t *var, char *scratch, int32_t lo, int32_t hi) {\n" + map[bool]string{true: "\tWEFT_TILES;\n"}[r.tiles] + r.out.String() + "}\n"
	head := r.head2.String()
	entry := codegen.Entry(head, text)
	k = plan.Kernel{
		Name: p.Name, Kinds: p.Kinds, Entry: entry, Scratch: p.Scratch, Threads: int32(max(1, p.Threads)), Before: p.Before,
		Flops: p.Flops, Bytes: p.Bytes, Directives: p.Directives,
		Source: head + "void " + entry + text,
	}
	for _, q := range p.Params {
		n := int64(q.DType.Size())
		for _, d := range q.Dims {
			n *= int64(d)
		}
		k.Binds = append(k.Binds, plan.Bind{Write: q.Write, Bytes: n})
	}
	return k, nil
}

// write writes the text of a kernel, of which something is known to be repeated so often.
func (r *renderer) write(p *codegen.Program, before map[string]int) {
	*r = renderer{p: p, params: map[*uop.UOp]string{}, helpers: map[string]bool{}, class: map[*uop.UOp]int{}, lanesOf: map[*uop.UOp]bool{}, turned: map[*uop.UOp]string{}, later: map[*codegen.Store]string{}, reads: map[*uop.UOp]bool{}, assigned: map[*uop.UOp]bool{}, masks: map[*uop.UOp]*uop.UOp{},
		repeated: repeated{now: map[string]int{}, before: before}}
	r.head()
	codegen.Visit(p.Body, func(s codegen.Stmt) {
		switch s := s.(type) {
		case *codegen.Set:
			for _, x := range s.Regs {
				r.assigned[x] = true
			}
		case *codegen.HorizontalReduce:
			for _, x := range s.Regs {
				r.assigned[x] = true
			}
		}
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() == uop.Load {
				r.reads[u.At(0)] = true
			}
		}
	})
	r.block(p.Body, 1)
	if r.past512 {
		r.line(1, "WEFT_PASSED();")
	}
}

// Prelude stands once before the kernels of a module.
//
// GCC carries operands ("predictive commoning") that neighbouring iterations share (the columns of a
// convolution's window) from one to the next in registers that there are not: a fifth of the time went into spills.
//
// No macro names an argument twice: calls within each other would be text of twice the length with each.
//
// Multiply-adds of vectors are one instruction by name. Clang is able to join those of lanes, but where a vector's lanes are stored apart, it keeps
// the accumulators apart as well, through all loops.
const Prelude = `#include <stdint.h>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-predictive-commoning")
#endif
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__) || defined(__FP_FAST_FMA)
#define weft_fma_f32(a, b, c) __builtin_fmaf(a, b, c)
#define weft_fma_f64(a, b, c) __builtin_fma(a, b, c)
#else
` + softMulAdd + `#endif
#if defined(__clang__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_fma) && defined(weft_fma_f32)
#define WEFT_FMA_f32x2 __builtin_elementwise_fma
#define WEFT_FMA_f32x4 __builtin_elementwise_fma
#define WEFT_FMA_f32x8 __builtin_elementwise_fma
#define WEFT_FMA_f32x16 __builtin_elementwise_fma
#define WEFT_FMA_f64x2 __builtin_elementwise_fma
#define WEFT_FMA_f64x4 __builtin_elementwise_fma
#define WEFT_FMA_f64x8 __builtin_elementwise_fma
#endif
#if __has_builtin(__builtin_elementwise_sqrt)
#define WEFT_SQRT_f32x2 __builtin_elementwise_sqrt
#define WEFT_SQRT_f32x4 __builtin_elementwise_sqrt
#define WEFT_SQRT_f32x8 __builtin_elementwise_sqrt
#define WEFT_SQRT_f32x16 __builtin_elementwise_sqrt
#define WEFT_SQRT_f64x2 __builtin_elementwise_sqrt
#define WEFT_SQRT_f64x4 __builtin_elementwise_sqrt
#define WEFT_SQRT_f64x8 __builtin_elementwise_sqrt
#endif
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__AVX512F__)
typedef float weft_all16 __attribute__((vector_size(64)));
typedef double weft_all8 __attribute__((vector_size(64)));
#define WEFT_TRUNC_f32x16(a) __builtin_ia32_rndscaleps_mask(a, 11, (weft_all16){0}, (unsigned short)-1, 4)
#define WEFT_RINT_f32x16(a) __builtin_ia32_rndscaleps_mask(a, 8, (weft_all16){0}, (unsigned short)-1, 4)
#define WEFT_TRUNC_f64x8(a) __builtin_ia32_rndscalepd_mask(a, 11, (weft_all8){0}, (unsigned char)-1, 4)
#define WEFT_RINT_f64x8(a) __builtin_ia32_rndscalepd_mask(a, 8, (weft_all8){0}, (unsigned char)-1, 4)
#endif
#if defined(__AVX__)
#define WEFT_TRUNC_f32x8(a) __builtin_ia32_roundps256(a, 11)
#define WEFT_RINT_f32x8(a) __builtin_ia32_roundps256(a, 8)
#define WEFT_TRUNC_f64x4(a) __builtin_ia32_roundpd256(a, 11)
#define WEFT_RINT_f64x4(a) __builtin_ia32_roundpd256(a, 8)
#define WEFT_TRUNC_f32x4(a) __builtin_ia32_roundps(a, 11)
#define WEFT_RINT_f32x4(a) __builtin_ia32_roundps(a, 8)
#define WEFT_TRUNC_f64x2(a) __builtin_ia32_roundpd(a, 11)
#define WEFT_RINT_f64x2(a) __builtin_ia32_roundpd(a, 8)
#endif
#endif
#if defined(__x86_64__) && defined(__GNUC__) && defined(__FMA__) && !defined(WEFT_FMA_f32x4)
#define WEFT_FMA_f32x4(a, b, c) __builtin_ia32_vfmaddps(a, b, c)
#define WEFT_FMA_f32x8(a, b, c) __builtin_ia32_vfmaddps256(a, b, c)
#define WEFT_FMA_f64x2(a, b, c) __builtin_ia32_vfmaddpd(a, b, c)
#define WEFT_FMA_f64x4(a, b, c) __builtin_ia32_vfmaddpd256(a, b, c)
#if defined(__AVX512F__)
#define WEFT_FMA_f32x16(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4)
#define WEFT_FMA_f64x8(a, b, c) __builtin_ia32_vfmaddpd512_mask(a, b, c, (unsigned char)-1, 4)
#endif
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(WEFT_SQRT_f32x4)
#if defined(__AVX512F__) && defined(__clang__)
#define WEFT_SQRT_f32x16(a) __builtin_ia32_sqrtps512(a, 4)
#define WEFT_SQRT_f64x8(a) __builtin_ia32_sqrtpd512(a, 4)
#elif defined(__AVX512F__)
#define WEFT_SQRT_f32x16(a) __builtin_ia32_sqrtps512_mask(a, (weft_all16){0}, (unsigned short)-1, 4)
#define WEFT_SQRT_f64x8(a) __builtin_ia32_sqrtpd512_mask(a, (weft_all8){0}, (unsigned char)-1, 4)
#endif
#if defined(__AVX__)
#define WEFT_SQRT_f32x8(a) __builtin_ia32_sqrtps256(a)
#define WEFT_SQRT_f64x4(a) __builtin_ia32_sqrtpd256(a)
#endif
#define WEFT_SQRT_f32x4(a) __builtin_ia32_sqrtps(a)
#define WEFT_SQRT_f64x2(a) __builtin_ia32_sqrtpd(a)
#endif
static inline int64_t weft_clip(int64_t x, int64_t n) { return x < -n ? -n : x > n ? n : x; }
#define WEFT_BITS(name, from, to) static inline to name(from x) { to y; __builtin_memcpy(&y, &x, sizeof y); return y; }
WEFT_BITS(bits_f32_i32, float, int32_t)
WEFT_BITS(bits_f32_u32, float, uint32_t)
WEFT_BITS(bits_i32_f32, int32_t, float)
WEFT_BITS(bits_u32_f32, uint32_t, float)
WEFT_BITS(bits_f64_i64, double, int64_t)
WEFT_BITS(bits_f64_u64, double, uint64_t)
WEFT_BITS(bits_i64_f64, int64_t, double)
WEFT_BITS(bits_u64_f64, uint64_t, double)
#define WEFT_MAX(t, T) static inline T max_##t(T a, T b) { return a > b ? a : b; }
WEFT_MAX(i8, int8_t) WEFT_MAX(u8, uint8_t) WEFT_MAX(i16, int16_t) WEFT_MAX(u16, uint16_t) WEFT_MAX(i32, int32_t)
#define WEFT_FMAX(t, T) static inline T max_##t(T a, T b) { T m = b > a ? b : a; return b != b ? b : m; }
WEFT_FMAX(f32, float) WEFT_FMAX(f64, double)
WEFT_MAX(u32, uint32_t) WEFT_MAX(i64, int64_t) WEFT_MAX(u64, uint64_t)
` + pastInstructions + lessInstructions + maskedInstructions + registerInstructions + wideningInstructions + tableInstructions + halfInstructions + dotInstructions + expInstructions + matrixInstructions

func indent(n int) string { return strings.Repeat("\t", n) }

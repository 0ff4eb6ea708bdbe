package c

import (
	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Where a loop's accumulators fill most of the registers, what C compilers do with the others decides the time. GCC lets several
// multiply-adds load the same vector each, which takes the processor's loads where lanes begin anywhere in a cache line; and both GCC and Clang keep
// what neighbouring steps of a window share from one step to the next, in registers that there are not. So such a vector is named as a
// value in a register, and each step's places as unknown. Neither is an instruction.
const registerInstructions = `#if defined(__GNUC__) && defined(__x86_64__)
#define WEFT_UNKNOWN(x) __asm__("" : "+r"(x))
#define WEFT_IN_REGISTER16(x) __asm__("" : "+x"(x))
#if defined(__AVX__)
#define WEFT_IN_REGISTER32(x) __asm__("" : "+x"(x))
#endif
#if defined(__AVX512F__)
#define WEFT_IN_REGISTER64(x) __asm__("" : "+v"(x))
#endif
#elif defined(__GNUC__) && defined(__aarch64__)
#define WEFT_UNKNOWN(x) __asm__("" : "+r"(x))
#define WEFT_IN_REGISTER16(x) __asm__("" : "+w"(x))
#else
#define WEFT_UNKNOWN(x)
#endif
#if !defined(WEFT_IN_REGISTER16)
#define WEFT_IN_REGISTER16(x)
#endif
#if !defined(WEFT_IN_REGISTER32)
#define WEFT_IN_REGISTER32(x)
#endif
#if !defined(WEFT_IN_REGISTER64)
#define WEFT_IN_REGISTER64(x)
#endif
`

// inRegister are the vectors that a block of many accumulators loads and uses more than once, if registers hold all that is alive at a time.
func (r *renderer) inRegister(stmts []codegen.Stmt) map[*uop.UOp]bool {
	accumulators := sets(stmts)
	if r.n == 0 || r.mask != "" || accumulators < crowded {
		return nil
	}
	uses, last := map[*uop.UOp]int{}, map[*uop.UOp]int{}
	for i, s := range stmts {
		for _, x := range codegen.Exprs(s) {
			for _, u := range uop.Topo(x) {
				if u.Op() == uop.Reg {
					uses[u]++
					last[u] = i
				}
			}
		}
	}
	out := map[*uop.UOp]bool{}
	alive, most := map[*uop.UOp]bool{}, 0
	for i, s := range stmts {
		if l, ok := s.(*codegen.Let); ok && l.Reg.DType().IsFloat() && !l.Reg.DType().IsNarrow() {
			alive[l.Reg] = true
			if l.Value.Op() == uop.Load && uses[l.Reg] > 1 && r.vary(l.Value) && r.n*elemBits[elem(l.Reg.DType())] == 8*r.p.VectorBytes {
				out[l.Reg] = true
			}
		}
		most = max(most, len(alive))
		for u := range alive {
			if last[u] <= i {
				delete(alive, u)
			}
		}
	}
	if accumulators+most > r.p.Registers {
		return nil
	}
	return out
}

// sharedPlaces are the places from which steps of many accumulators that are written one after the other load.
func (r *renderer) sharedPlaces(l *codegen.Loop) (out []*uop.UOp) {
	if sets(l.Body) < crowded {
		return nil
	}
	inside, seen := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}
	codegen.Visit(l.Body, func(s codegen.Stmt) {
		if l, ok := s.(*codegen.Let); ok {
			inside[l.Reg] = true
		}
	})
	codegen.Visit(l.Body, func(s codegen.Stmt) {
		for _, x := range codegen.Exprs(s) {
			for _, u := range uop.Topo(x) {
				if u.Op() == uop.Reg && u.DType() == dtype.Index && !inside[u] && !seen[u] && !r.lanesOf[u] {
					seen[u] = true
					out = append(out, u)
				}
			}
		}
	})
	return out
}

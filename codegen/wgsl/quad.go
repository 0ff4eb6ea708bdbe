package wgsl

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Arrays whose loads come in groups of four neighbours are read by four: one access, and in browsers one check of the
// index, instead of four. All loads of an array must lend themselves to it, for it has one type; and nothing may write it
// while the kernel runs.

// quad is four neighbours: those from base + 4·at on, base being a multiple of 4.
type quad struct {
	slot int
	base *uop.UOp
	at   int
}

// leastOfFour is how many of four neighbours are used on average, at least, where they are loaded together.
const leastOfFour = 3

// findQuads decides which arrays are read by four.
func (r *renderer) findQuads() {
	single, four := map[quad]bool{}, map[quad]bool{} // elements (at not divided), and what they lie in
	loads, groups := make([]int, len(r.p.Params)), make([]int, len(r.p.Params))
	for i, q := range r.p.Params {
		if size := q.DType.Size(); q.Write || size != 4 && !(r.half && q.DType == dtype.F16) || elements(q)%4 != 0 {
			loads[i] = -1 << 40
		}
	}
	codegen.Visit(r.p.Body, func(s codegen.Stmt) {
		if l, ok := s.(*codegen.Let); ok && l.Reg.DType() == dtype.Index && !r.mutable[l.Reg] {
			r.scope.Define(l.Reg, l.Value)
		}
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() != uop.Load || u.At(0).Arg().(uop.ParamArg).Scratch {
				continue
			}
			slot := u.At(0).Arg().(uop.ParamArg).Slot
			base, c := offset(u.At(2))
			if gate, ok := u.At(1).ConstValue(); !ok || !gate.Bool() || r.multiple(base, 0) < 4 || !r.constantIndex(base) {
				loads[slot] = -1 << 40
				continue
			}
			if e := (quad{slot, base, c}); !single[e] {
				single[e] = true
				loads[slot]++
			}
			if q := (quad{slot, base, c >> 2}); !four[q] {
				four[q] = true
				groups[slot]++
			}
		}
	})
	for i := range loads {
		r.arrays[i].four = loads[i] > 0 && loads[i] >= leastOfFour*groups[i]
	}
}

// constantIndex says that an index keeps its value where it is in scope.
func (r *renderer) constantIndex(u *uop.UOp) bool {
	return u == nil || !slices.ContainsFunc(uop.Topo(u), func(x *uop.UOp) bool { return r.mutable[x] || x.Op() == uop.Load })
}

// loadQuad spells an element of an array that is read by four. The four have a name until the block ends.
func (r *renderer) loadQuad(u *uop.UOp) string {
	base, c := offset(u.At(2))
	q := quad{u.At(0).Arg().(uop.ParamArg).Slot, base, c >> 2}
	name, ok := r.quadNames[q]
	if !ok {
		index := fmt.Sprint(q.at)
		if base != nil {
			if index = "(" + r.expr(base) + " >> 2u)"; q.at != 0 {
				index = fmt.Sprintf("%s + %d", index, q.at)
			}
		}
		name = fmt.Sprintf("q%d", r.quadCount)
		r.quadCount++
		r.line(r.depth, "let %s = load_%s(%s);", name, r.arrays[q.slot].name, index)
		r.quadNames[q] = name
		r.quadOrder = append(r.quadOrder, q)
	}
	return fmt.Sprintf("%s.%c", name, "xyzw"[c&3])
}

// forgetQuads drops the names of a block that ends, all but the first n.
func (r *renderer) forgetQuads(n int) {
	for _, q := range r.quadOrder[n:] {
		delete(r.quadNames, q)
	}
	r.quadOrder = r.quadOrder[:n]
}

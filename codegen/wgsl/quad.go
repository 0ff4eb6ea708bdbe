package wgsl

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// four spells a load of four neighbours as one access: in browsers there is one check of the index, instead of four.
func (r *renderer) four(s *codegen.Four, depth int) {
	index := fmt.Sprint(s.At)
	if !s.Base.IsConst(0) {
		if index = "(" + r.expr(s.Base) + " >> 2u)"; s.At != 0 {
			index = fmt.Sprintf("%s + %d", index, s.At)
		}
	}
	name := fmt.Sprintf("q%d", r.quads)
	r.quads++
	for i, g := range s.Regs {
		if r.parts[g] = fmt.Sprintf("%s.%c", name, "xyzw"[i]); g.DType() == dtype.F16 {
			r.parts[g] = "f32(" + r.parts[g] + ")"
		}
	}
	r.line(depth, "let %s = load_%s(%s);", name, r.array(s.Buf).name, index)
}

// register spells a register: a name of its own, or a part of four.
func (r *renderer) register(u *uop.UOp) string {
	if p, ok := r.parts[u]; ok {
		return p
	}
	return regName(u)
}

package wgsl

import (
	"fmt"
	"strings"

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
		if r.parts[g] = fmt.Sprintf("%s.%c", name, "xyzw"[i]); g.DType() == dtype.F16 && r.array(s.Buf) != nil {
			r.parts[g] = "f32(" + r.parts[g] + ")"
		}
	}
	if r.array(s.Buf) == nil {
		r.line(depth, "let %s = %s[%s];", name, r.local[s.Buf], index)
		return
	}
	r.line(depth, "let %s = load_%s(%s);", name, r.array(s.Buf).name, index)
}

// storeFour puts four stores that fill four neighbours of an array of fours together.
func (r *renderer) storeFour(stmts []codegen.Stmt, depth int) bool {
	first := stmts[0].(*codegen.Store)
	base, c := offset(first.Index[0])
	if !r.fours[first.Buf] || len(stmts) < 4 || r.multiple(base, c) < 4 {
		return false
	}
	var values []string
	for i, s := range stmts[:4] {
		s, ok := s.(*codegen.Store)
		if !ok || s.Buf != first.Buf {
			return false
		}
		if b, k := offset(s.Index[0]); b != base || k != c+i {
			return false
		}
		values = append(values, r.expr(s.Value))
	}
	r.line(depth, "%s[%s >> 2u] = vec4<%s>(%s);", r.local[first.Buf], r.expr(first.Index[0]), value(first.Buf.DType()), strings.Join(values, ", "))
	return true
}

// register spells a register: a name of its own, or a part of four.
func (r *renderer) register(u *uop.UOp) string {
	if p, ok := r.parts[u]; ok {
		return p
	}
	return regName(u)
}

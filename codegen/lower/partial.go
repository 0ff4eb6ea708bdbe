package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Of a sum over nested loops that one invocation does, an inner loop adds into a register of its own, and the outer one
// into what was there: added one by one, the terms of a sum of n lose digits in proportion to n, and many equal ones, as
// the background of pictures gives them, all in the same direction. Directives that cut sums into blocks do more, but not where
// several reductions share loops.

const (
	leastPartial = 8 // terms of an inner loop
	mostPartial  = 8 // registers of an inner loop
)

// partial gives the inner loops of reductions registers of their own.
func (b *builder) partial(stmts []codegen.Stmt, inReduction bool) (out []codegen.Stmt) {
	for _, s := range stmts {
		l, isLoop := s.(*codegen.Loop)
		reduces := isLoop && l.Reduce && l.Kind == codegen.Serial
		var regs []*uop.UOp
		if reduces && inReduction && codegen.Extent(l.Range) >= leastPartial {
			regs = slices.DeleteFunc(sums(l.Body), func(r *uop.UOp) bool { return declared(stmts, r) })
		}
		if inside := codegen.Body(s); inside != nil {
			s = codegen.WithBody(s, b.partial(inside, reduces || inReduction && !isLoop))
		}
		if len(regs) == 0 || len(regs) > mostPartial {
			out = append(out, s)
			continue
		}
		around, body := b.ownSums(regs, codegen.Body(s))
		out = slices.Concat(out, around[:len(regs)], []codegen.Stmt{codegen.WithBody(s, body)}, around[len(regs):])
	}
	return out
}

// sums lists the registers of floats that statements do nothing with but add to them, once.
func sums(stmts []codegen.Stmt) (out []*uop.UOp) {
	adds, uses := map[*uop.UOp]int{}, map[*uop.UOp]int{}
	other := map[*uop.UOp]bool{} // declared or assigned in other ways
	codegen.Visit(stmts, func(s codegen.Stmt) {
		if let, ok := s.(*codegen.Let); ok {
			other[let.Reg] = true
		}
		set, ok := s.(*codegen.Set)
		if ok && len(set.Regs) == 1 && set.Regs[0].DType() == dtype.F32 && addsTo(set.Regs[0], set.Values[0]) {
			if r := set.Regs[0]; adds[r] == 0 {
				out = append(out, r)
			}
			adds[set.Regs[0]]++
		} else if codegen.Body(s) == nil {
			codegen.Writes(s, other)
		}
		uop.Walk(codegen.Exprs(s), func(*uop.UOp) bool { return false }, func(u *uop.UOp) {
			if u.Op() == uop.Reg {
				uses[u]++
			}
		})
	})
	return slices.DeleteFunc(out, func(r *uop.UOp) bool { return adds[r] != 1 || uses[r] != 1 || other[r] })
}

// declared says that a register is declared among statements: it already belongs to what comes after.
func declared(stmts []codegen.Stmt, r *uop.UOp) bool {
	return slices.ContainsFunc(stmts, func(s codegen.Stmt) bool { let, ok := s.(*codegen.Let); return ok && let.Reg == r })
}

// addsTo says that a value is r and something that does not depend on r.
func addsTo(r, v *uop.UOp) bool {
	var rest []*uop.UOp
	switch {
	case v.Op() == uop.Add && v.At(0) == r:
		rest = []*uop.UOp{v.At(1)}
	case v.Op() == uop.Add && v.At(1) == r:
		rest = []*uop.UOp{v.At(0)}
	case v.Op() == uop.MulAdd && v.At(2) == r:
		rest = []*uop.UOp{v.At(0), v.At(1)}
	default:
		return false
	}
	for _, u := range uop.Topo(rest...) {
		if u == r {
			return false
		}
	}
	return true
}

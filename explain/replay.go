package explain

import (
	"fmt"

	"github.com/weft-ml/weft/rewrite"
	"github.com/weft-ml/weft/uop"
)

// element reports that u stands for the element of a node of the graph: what is loaded is no parameter. Nothing below it is the
// kernel's.
func element(u *uop.UOp) bool {
	return u.Op() == uop.Load && u.At(0).Op() != uop.Param
}

// next is the first law that applies in the expressions of roots: to elements where they are met, to others when their operands are
// done; nil where none does.
func next(roots []*uop.UOp, laws ...*uop.Map[*rewrite.Event]) *rewrite.Event {
	var found *rewrite.Event
	walk(roots, func(u *uop.UOp) bool {
		for _, m := range laws {
			if e, ok := m.Get(u); ok {
				found = e
				return false
			}
		}
		return true
	})
	return found
}

// walk visits the expressions of roots, operands first, and nothing below elements, until visit says no.
func walk(roots []*uop.UOp, visit func(u *uop.UOp) bool) {
	type frame struct {
		u    *uop.UOp
		next int
	}
	var seen uop.Map[bool]
	for _, r := range roots {
		stack := []frame{{u: r}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if f.next == 0 {
				if known, _ := seen.Get(f.u); known {
					stack = stack[:len(stack)-1]
					continue
				}
			}
			if src := f.u.Src(); !element(f.u) && f.next < len(src) {
				f.next++
				stack = append(stack, frame{u: src[f.next-1]})
				continue
			}
			seen.Set(f.u, true)
			if !visit(f.u) {
				return
			}
			stack = stack[:len(stack)-1]
		}
	}
}

// replace puts a node in the place of another, everywhere but below elements.
func (s *Story) replace(roots []*uop.UOp, old, by *uop.UOp) []*uop.UOp {
	return s.mapped(roots, func(u *uop.UOp) *uop.UOp {
		if u == old {
			return by
		}
		return nil
	})
}

// mapped puts what f gives, where that is not nil, in the place of nodes.
func (s *Story) mapped(roots []*uop.UOp, f func(u *uop.UOp) *uop.UOp) []*uop.UOp {
	var done uop.Map[*uop.UOp]
	get := func(u *uop.UOp) *uop.UOp { v, _ := done.Get(u); return v }
	walk(roots, func(u *uop.UOp) bool {
		v := f(u)
		switch {
		case v != nil:
		case element(u):
			v = u
		default:
			v = u.WithSrc(s.table, get)
		}
		done.Set(u, v)
		return true
	})
	out := make([]*uop.UOp, len(roots))
	for i, r := range roots {
		out[i] = get(r)
	}
	return out
}

// named puts a name in the place of the node of each element: its number in the graph, and what it is.
func (s *Story) named(roots []*uop.UOp) []*uop.UOp {
	return s.mapped(roots, func(u *uop.UOp) *uop.UOp {
		if !element(u) {
			return nil
		}
		node := u.At(0)
		src := append([]*uop.UOp{s.table.Make(uop.Var, node.DType(), uop.VarArg{Name: s.nameOf(node)})}, u.Src()[1:]...)
		return s.table.Make(uop.Load, u.DType(), u.Arg(), src...)
	})
}

func (s *Story) nameOf(u *uop.UOp) string {
	if i, ok := s.name.Get(u); ok {
		return fmt.Sprintf("%v of node %%%d", u, i)
	}
	return u.String()
}

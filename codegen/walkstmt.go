package codegen

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Exprs lists the expressions of one statement, not those of statements inside it.
func Exprs(s Stmt) []*uop.UOp {
	switch s := s.(type) {
	case *If:
		return []*uop.UOp{s.Cond}
	case *Let:
		return []*uop.UOp{s.Value}
	case *Set:
		return s.Values
	case *HorizontalReduce:
		return s.Values
	case *Store:
		return append([]*uop.UOp{s.Value}, s.Index...)
	case *MatrixProduct:
		return []*uop.UOp{s.ABase, s.BBase}
	case *Four:
		return []*uop.UOp{s.Base}
	case *Prefetch:
		return []*uop.UOp{s.Index}
	}
	return nil
}

// Body gives the statements inside a statement.
func Body(s Stmt) []Stmt {
	switch s := s.(type) {
	case *If:
		return s.Body
	case *Loop:
		return s.Body
	}
	return nil
}

// Visit calls f with every statement, outer ones first.
func Visit(stmts []Stmt, f func(Stmt)) {
	for _, s := range stmts {
		f(s)
		Visit(Body(s), f)
	}
}

// Bound says that compilers leave the loads of a body in their places, behind stores to what may be the same memory or in conditions.
func Bound(body []Stmt) bool {
	return slices.ContainsFunc(body, func(s Stmt) bool {
		switch s := s.(type) {
		case *If:
			return true
		case *Store:
			return !s.Buf.Arg().(uop.ParamArg).Scratch
		}
		return Bound(Body(s))
	})
}

// WithBody is a copy of a loop or condition with another body.
func WithBody(s Stmt, body []Stmt) Stmt {
	switch s := s.(type) {
	case *If:
		return &If{s.Cond, body}
	case *Loop:
		c := *s
		c.Body = body
		return &c
	}
	panic("BUG: a statement without a body")
}

// MapExprs is a copy of one statement, without its body, with expressions and names mapped.
func MapExprs(s Stmt, f func(*uop.UOp) *uop.UOp) Stmt {
	all := func(list []*uop.UOp) []*uop.UOp {
		out := make([]*uop.UOp, len(list))
		for i, u := range list {
			out[i] = f(u)
		}
		return out
	}
	switch s := s.(type) {
	case *If:
		return &If{f(s.Cond), nil}
	case *Let:
		return &Let{f(s.Reg), f(s.Value)}
	case *Set:
		return &Set{all(s.Regs), all(s.Values)}
	case *HorizontalReduce:
		return &HorizontalReduce{all(s.Regs), s.Monoid, s.Range, all(s.Values)}
	case *Store:
		return &Store{f(s.Buf), all(s.Index), f(s.Value)}
	case *MatrixProduct:
		c := *s
		c.Acc, c.A, c.B, c.ABase, c.BBase = f(s.Acc), f(s.A), f(s.B), f(s.ABase), f(s.BBase)
		return &c
	case *Four:
		return &Four{[4]*uop.UOp{f(s.Regs[0]), f(s.Regs[1]), f(s.Regs[2]), f(s.Regs[3])}, f(s.Buf), f(s.Base), s.At}
	case *Prefetch:
		return &Prefetch{f(s.Buf), f(s.Index), s.Write}
	case *Splat:
		return &Splat{f(s.Of)}
	case *Alloc:
		return &Alloc{f(s.Buf), s.N, s.Shared}
	case *Loop:
		c := *s
		c.Body = nil
		return &c
	case *Sync, *Team:
		return s
	case *SubgroupReduce:
		return &SubgroupReduce{f(s.Reg), s.Op}
	}
	panic("BUG: unknown statement")
}

// MapStmts maps every expression of a tree.
func MapStmts(stmts []Stmt, f func(*uop.UOp) *uop.UOp) []Stmt {
	out := make([]Stmt, len(stmts))
	for i, s := range stmts {
		out[i] = MapExprs(s, f)
		if b := Body(s); b != nil {
			out[i] = WithBody(out[i], MapStmts(b, f))
		}
	}
	return out
}

// Writes are the registers that statements assign (not those they declare) and the buffers they store to.
func Writes(s Stmt, into map[*uop.UOp]bool) {
	switch s := s.(type) {
	case *Set:
		for _, r := range s.Regs {
			into[r] = true
		}
	case *HorizontalReduce:
		for _, r := range s.Regs {
			into[r] = true
		}
	case *SubgroupReduce:
		into[s.Reg] = true
	case *Store:
		into[s.Buf] = true
	case *MatrixProduct:
		into[s.Acc] = true
	}
	for _, x := range Body(s) {
		Writes(x, into)
	}
}

// Rewriter maps expressions, remembering results.
type Rewriter struct {
	Table *uop.Table
	Done  uop.Map[*uop.UOp]
	Fold  func(*uop.UOp) *uop.UOp
}

// Do maps an expression, operands first: each node of new operands is folded.
func (w *Rewriter) Do(u *uop.UOp) *uop.UOp {
	get := func(u *uop.UOp) *uop.UOp { v, _ := w.Done.Get(u); return v }
	return Remember(&w.Done, u, func(u *uop.UOp) *uop.UOp {
		if len(u.Src()) == 0 {
			return w.Fold(u)
		}
		return w.Fold(Remake(w.Table, u, MapAll(u.Src(), get)))
	})
}

// Pure says that statements only compute: under a condition that no lane fulfils they can be left out.
func Pure(stmts []Stmt) bool {
	return !slices.ContainsFunc(stmts, func(s Stmt) bool {
		switch s.(type) {
		case *Let, *Set:
			return false
		}
		return true
	})
}

// GroupSize is how many invocations a workgroup has: as many as nested Lane loops need.
func GroupSize(stmts []Stmt) int {
	n := 1
	for _, s := range stmts {
		inner := GroupSize(Body(s))
		if l, ok := s.(*Loop); ok && l.Kind == Lane {
			inner *= Extent(l.Range)
		}
		n = max(n, inner)
	}
	return n
}

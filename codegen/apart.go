package codegen

import "github.com/weft-ml/weft/uop"

// Apart is a copy whose nodes lie in a table of their own: it can be kept without keeping what else a compile made.
func (p *Program) Apart() *Program {
	t := uop.NewArena()
	w := &Rewriter{Table: t, Fold: func(u *uop.UOp) *uop.UOp { return Remake(t, u, u.Src()) }}
	q := *p
	q.Vars, q.Body = MapAll(p.Vars, w.Do), moved(p.Body, w.Do)
	return &q
}

// moved maps every expression of a tree, and the ranges of its loops as well.
func moved(stmts []Stmt, f func(*uop.UOp) *uop.UOp) []Stmt {
	out := make([]Stmt, len(stmts))
	for i, s := range stmts {
		switch s := s.(type) {
		case *Loop:
			c := *s
			if c.Range = f(s.Range); s.Count != nil {
				c.Count = f(s.Count)
			}
			c.Splats, c.Body = MapAll(s.Splats, f), moved(s.Body, f)
			out[i] = &c
		case *If:
			out[i] = &If{f(s.Cond), moved(s.Body, f)}
		case *Team:
			out[i] = &Team{f(s.Lane), f(s.ID), f(s.Count), s.Most}
		default:
			out[i] = MapExprs(s, f)
		}
	}
	return out
}

package evaluate

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// code numbers the nodes of a tree of statements: threads keep a value for each number.
type code struct {
	number map[*uop.UOp]int
	nodes  []*uop.UOp
	src    [][]int
	order  map[*uop.UOp][]int // what an expression needs, operands first
	writes map[*codegen.Loop]*written
	teams  []*codegen.Team
	each   []*codegen.Let // names outside of Lane loops whose values differ between invocations
}

// written is what a loop changes of what was there before it.
type written struct{ regs, scratch []int }

func compile(body []codegen.Stmt) *code {
	c := &code{number: map[*uop.UOp]int{}, order: map[*uop.UOp][]int{}, writes: map[*codegen.Loop]*written{}}
	codegen.Visit(body, func(s codegen.Stmt) {
		for _, u := range codegen.Exprs(s) {
			c.expression(u)
		}
		for _, u := range names(s) {
			c.add(u)
		}
		if l, ok := s.(*codegen.Loop); ok {
			c.add(l.Range)
			c.writes[l] = c.written(l)
		}
		c.perInvocation(s)
	})
	return c
}

// perInvocation notes what is computed from the number of an invocation.
func (c *code) perInvocation(s codegen.Stmt) {
	if t, ok := s.(*codegen.Team); ok {
		c.teams = append(c.teams, t)
	}
	let, ok := s.(*codegen.Let)
	if !ok || len(c.teams) == 0 {
		return
	}
	for _, u := range uop.Topo(let.Value) {
		team := slices.ContainsFunc(c.teams, func(t *codegen.Team) bool { return u == t.Lane || u == t.ID })
		if team || slices.ContainsFunc(c.each, func(l *codegen.Let) bool { return l.Reg == u }) {
			c.each = append(c.each, let)
			return
		}
	}
}

// names are the registers and arrays of a statement itself.
func names(s codegen.Stmt) []*uop.UOp {
	switch s := s.(type) {
	case *codegen.Let:
		return []*uop.UOp{s.Reg}
	case *codegen.Set:
		return s.Regs
	case *codegen.HorizontalReduce:
		return s.Regs
	case *codegen.Store:
		return []*uop.UOp{s.Buf}
	case *codegen.MatrixProduct:
		return []*uop.UOp{s.Acc, s.A, s.B}
	case *codegen.Four:
		return append(s.Regs[:len(s.Regs):len(s.Regs)], s.Buf)
	case *codegen.Alloc:
		return []*uop.UOp{s.Buf}
	case *codegen.Team:
		return []*uop.UOp{s.Lane, s.ID, s.Count}
	case *codegen.SubgroupReduce:
		return []*uop.UOp{s.Reg}
	}
	return nil
}

func (c *code) add(u *uop.UOp) int {
	if n, ok := c.number[u]; ok {
		return n
	}
	var src []int
	for _, x := range u.Src() {
		src = append(src, c.number[x])
	}
	n := len(c.nodes)
	c.number[u] = n
	c.nodes, c.src = append(c.nodes, u), append(c.src, src)
	return n
}

func (c *code) expression(u *uop.UOp) {
	if c.order[u] != nil {
		return
	}
	list := []int{}
	for _, x := range uop.Topo(u) {
		n := c.add(x)
		switch x.Op() {
		case uop.Range, uop.Reg, uop.Param: // others give them values
		default:
			list = append(list, n)
		}
	}
	c.order[u] = list
}

// written collects what a loop assigns and did not declare.
func (c *code) written(l *codegen.Loop) *written {
	own, all := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}
	var order []*uop.UOp
	codegen.Visit(l.Body, func(s codegen.Stmt) {
		switch s.(type) {
		case *codegen.Let, *codegen.Four, *codegen.Alloc, *codegen.Team:
			for _, u := range names(s) {
				own[u] = true
			}
			return
		}
		for _, u := range names(s) {
			if !all[u] {
				all[u] = true
				order = append(order, u)
			}
		}
	})
	w := &written{}
	for _, u := range order {
		switch {
		case own[u]:
		case u.Op() == uop.Reg:
			w.regs = append(w.regs, c.add(u))
		case u.Arg().(uop.ParamArg).Scratch:
			w.scratch = append(w.scratch, c.add(u))
		}
	}
	return w
}

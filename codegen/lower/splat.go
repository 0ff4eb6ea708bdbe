package lower

import (
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// mostWide is how large scratch may become, in bytes, whose elements lie in all lanes.
const mostWide = 256 << 10

// splats says which scalars vectors are computed with, so that a language repeats each in all lanes once, where it is declared
// or before the loop that uses it, and not at every use (Splat, Loop.Splats). Where a splat is slow, scratch of which only
// such scalars are read holds them repeated. It expects names for what is used twice, and changes no value.
func (b *builder) splats(stmts []codegen.Stmt) []codegen.Stmt {
	p := &splatter{assigned: map[*uop.UOp]bool{}, scalars: map[*uop.UOp]bool{}, wanted: map[*codegen.Loop][]*uop.UOp{}, varies: map[*codegen.Loop]func(*uop.UOp) bool{}}
	for _, s := range stmts {
		codegen.Writes(s, p.assigned)
	}
	p.find(stmts, nil, nil)
	if b.Target.Broad {
		p.wide(stmts)
	}
	return p.block(stmts)
}

type splatter struct {
	assigned map[*uop.UOp]bool // registers that change after their declaration, and buffers
	scalars  map[*uop.UOp]bool // registers that vectors are computed with, and wide scratch
	wanted   map[*codegen.Loop][]*uop.UOp
	varies   map[*codegen.Loop]func(*uop.UOp) bool
}

// varying is Varying, remembered.
func (p *splatter) varying(l *codegen.Loop) func(*uop.UOp) bool {
	if p.varies[l] == nil {
		p.varies[l] = codegen.Varying(l)
	}
	return p.varies[l]
}

// find looks for scalars among the operands of vectors; v is the Vector loop that is open, loops are the others.
func (p *splatter) find(stmts []codegen.Stmt, v *codegen.Loop, loops []*codegen.Loop) {
	for _, s := range stmts {
		for _, u := range codegen.Exprs(s) {
			if v != nil && p.varying(v)(u) {
				p.operands(u, p.varying(v), loops)
			}
		}
		switch s := s.(type) {
		case *codegen.If:
			p.find(s.Body, v, loops)
		case *codegen.Loop:
			if s.Kind == codegen.Vector {
				p.find(s.Body, s, loops)
			} else {
				p.find(s.Body, v, append(slices.Clip(loops), s))
			}
		}
	}
}

func (p *splatter) operands(u *uop.UOp, vary func(*uop.UOp) bool, loops []*codegen.Loop) {
	for _, x := range uop.Topo(u) {
		if !vary(x) || x.Op() == uop.Load {
			continue
		}
		for _, s := range x.Src() {
			if s.Op() != uop.Reg || vary(s) || s.DType() == dtype.Index || s.DType() == dtype.Bool {
				continue
			}
			p.scalars[s] = true
			for _, l := range loops {
				if !slices.Contains(p.wanted[l], s) {
					p.wanted[l] = append(p.wanted[l], s)
				}
			}
		}
	}
}

// wide finds the scratch of which nothing is wanted but elements for all lanes.
func (p *splatter) wide(stmts []codegen.Stmt) {
	whole, other, sizes := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}, map[*uop.UOp]int{}
	p.reads(stmts, nil, func(u *uop.UOp, all bool) {
		if all {
			whole[u] = true
		} else {
			other[u] = true
		}
	})
	codegen.Visit(stmts, func(s codegen.Stmt) {
		if a, ok := s.(*codegen.Alloc); ok {
			sizes[a.Buf] = a.N
		}
	})
	for buf := range whole {
		if !other[buf] && 16*sizes[buf] <= mostWide && buf.DType() != dtype.Bool {
			p.scalars[buf] = true
		}
	}
}

// reads tells of every load from scratch whether its element is wanted in all lanes.
func (p *splatter) reads(stmts []codegen.Stmt, v *codegen.Loop, f func(buf *uop.UOp, all bool)) {
	for _, s := range stmts {
		for _, u := range uop.Topo(codegen.Exprs(s)...) {
			if u.Op() == uop.Load && u.At(0).Arg().(uop.ParamArg).Scratch {
				f(u.At(0), v != nil && !p.varying(v)(u) && u.At(1).IsConst(1))
			}
		}
		switch s := s.(type) {
		case *codegen.If:
			p.reads(s.Body, v, f)
		case *codegen.Loop:
			if s.Kind == codegen.Vector {
				p.reads(s.Body, s, f)
			} else {
				p.reads(s.Body, v, f)
			}
		}
	}
}

func (p *splatter) block(stmts []codegen.Stmt) []codegen.Stmt {
	var out []codegen.Stmt
	for _, s := range stmts {
		switch s := s.(type) {
		case *codegen.If:
			out = append(out, &codegen.If{Cond: s.Cond, Body: p.block(s.Body)})
			continue
		case *codegen.Loop:
			c := *s
			c.Splats, c.Body = p.constant(s), p.block(s.Body)
			out = append(out, &c)
			continue
		}
		out = append(out, s)
		switch s := s.(type) {
		case *codegen.Let:
			if p.scalars[s.Reg] && !p.assigned[s.Reg] {
				out = append(out, &codegen.Splat{Of: s.Reg})
			}
		case *codegen.Alloc:
			if p.scalars[s.Buf] {
				out = append(out, &codegen.Splat{Of: s.Buf})
			}
		}
	}
	return out
}

// constant are the registers that change, but not in this loop.
func (p *splatter) constant(l *codegen.Loop) []*uop.UOp {
	inside := map[*uop.UOp]bool{}
	codegen.Visit(l.Body, func(s codegen.Stmt) {
		codegen.Writes(s, inside)
		if s, ok := s.(*codegen.Let); ok {
			inside[s.Reg] = true
		}
	})
	return slices.DeleteFunc(slices.Clone(p.wanted[l]), func(u *uop.UOp) bool { return inside[u] || !p.assigned[u] })
}

package wgsl

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/uop"
)

// A compiler does not carry a load over a store that may be to the same memory, nor out of a condition, so each copy of a loop's body
// would wait for its own loads. Those that depend on nothing the body does are made for all copies first.

// mostAhead is how many loads of one body are: each takes a register for each copy.
const mostAhead = 4

// ahead gives the loads of a body that can be made before it, and what of the body their indices need. There are none where nothing
// keeps a compiler from moving them itself.
func (r *renderer) ahead(body []codegen.Stmt) (lets []*codegen.Let, loads []*uop.UOp) {
	if !codegen.Bound(body) {
		return nil, nil
	}
	made := map[*uop.UOp]bool{}
	codegen.Visit(body, func(s codegen.Stmt) {
		codegen.Writes(s, made)
		switch s := s.(type) {
		case *codegen.Let:
			made[s.Reg] = true
		case *codegen.Four:
			for _, reg := range s.Regs {
				made[reg] = true
			}
		}
	})
	// early says that an expression is known before the body.
	early := func(x *uop.UOp) bool {
		for _, u := range uop.Topo(x) {
			if u.Op() == uop.Load || made[u] {
				return false
			}
		}
		return true
	}
	seen := map[*uop.UOp]bool{}
	for _, s := range body {
		if let, ok := s.(*codegen.Let); ok && !r.mutable[let.Reg] && early(let.Value) {
			delete(made, let.Reg)
			lets = append(lets, let)
			continue
		}
		for _, x := range codegen.Exprs(s) {
			for _, u := range uop.Topo(x) {
				if u.Op() == uop.Load && !seen[u] && len(loads) < mostAhead && r.keeps(u.At(0)) && always(u.At(1)) && early(u.At(2)) {
					seen[u] = true
					loads = append(loads, u)
				}
			}
		}
	}
	return needed(lets, loads), loads
}

// needed are the lets that the indices of loads depend on.
func needed(lets []*codegen.Let, loads []*uop.UOp) (out []*codegen.Let) {
	uses := map[*uop.UOp]bool{}
	use := func(x *uop.UOp) {
		for _, u := range uop.Topo(x) {
			uses[u] = true
		}
	}
	for _, u := range loads {
		use(u.At(2))
	}
	for _, let := range slices.Backward(lets) {
		if uses[let.Reg] {
			use(let.Value)
			out = append(out, let)
		}
	}
	slices.Reverse(out)
	return out
}

// always says that a load has no condition.
func always(gate *uop.UOp) bool {
	c, ok := gate.ConstValue()
	return ok && c.Bool()
}

// keeps says that the kernel writes nothing to where an array lies.
func (r *renderer) keeps(buf *uop.UOp) bool {
	if r.array(buf) == nil {
		return false
	}
	at := r.ways[buf.Arg().(uop.ParamArg).Slot].at
	for _, w := range r.ways {
		if w.at == at && w.write {
			return false
		}
	}
	return true
}

// copies writes some iterations of a loop one after the other.
func (r *renderer) copies(l *codegen.Loop, depth int) {
	v, n := rangeName(l.Range), extent(l.Range)
	rest := n % l.Copies
	if n > l.Copies {
		from := v + "_0"
		r.line(depth, "for (var %s: i32 = 0; %s < %d; %s += %d) {", from, from, n-rest, from, l.Copies)
		at := make([]string, l.Copies)
		for i := range at {
			at[i] = fmt.Sprintf("%s + %d", from, i)
		}
		r.together(l, at, depth+1)
		r.line(depth, "}")
	} else {
		rest = n
	}
	at := make([]string, rest)
	for i := range at {
		at[i] = fmt.Sprint(n - rest + i)
	}
	r.together(l, at, depth)
}

// together writes the iterations of a loop at some places, of which it makes the loads first that need not wait.
func (r *renderer) together(l *codegen.Loop, at []string, depth int) {
	lets, loads := r.ahead(l.Body)
	if len(at) == 1 {
		loads = nil
	}
	begin := func(i int) {
		r.line(depth, "{")
		r.line(depth+1, "let %s: i32 = %s;", rangeName(l.Range), at[i])
	}
	names := make([][]string, len(at))
	for i := range at {
		if len(loads) == 0 {
			break
		}
		for _, u := range loads {
			names[i] = append(names[i], fmt.Sprintf("a%d", r.loaded))
			r.line(depth, "var a%d: %s;", r.loaded, value(u.DType()))
			r.loaded++
		}
		begin(i)
		for _, let := range lets {
			r.stmt(let, depth+1)
		}
		for j, u := range loads {
			r.line(depth+1, "%s = %s;", names[i][j], r.load(u))
		}
		r.line(depth, "}")
	}
	for i := range at {
		for j, u := range loads {
			r.early[u] = names[i][j]
		}
		begin(i)
		r.block(l.Body, depth+1)
		r.line(depth, "}")
	}
	for _, u := range loads {
		delete(r.early, u)
	}
}

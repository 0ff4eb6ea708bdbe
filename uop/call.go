package uop

import "fmt"

// Body is a graph that was made once and stands in others as Calls, which are a node for each result however much the graph holds.
type Body struct {
	Name   string
	Params []*UOp // stand-ins of the arguments, no two of them equal; arguments may be equal, or made of each other
	Outs   []*UOp // results, as they follow from the stand-ins
	Kept   any    // what an engine keeps with it
}

// CallArg is one result of a body. The operands of the node are the arguments, of the shapes and types of the stand-ins.
type CallArg struct {
	*Body
	Out int
}

func (CallArg) arg() {}

// Call gives the results of the body for arguments, a node each.
func (b *Body) Call(args ...*UOp) []*UOp {
	for i, p := range b.Params {
		if a := args[i]; !a.shape.Equal(p.shape) || a.dtype != p.dtype {
			panic(fmt.Sprintf("BUG: %s is called with %v %v for %v %v", b.Name, a.dtype, a.shape, p.dtype, p.shape))
		}
	}
	outs := make([]*UOp, len(b.Outs))
	for i, o := range b.Outs {
		outs[i] = global.Make(Call, o.dtype, CallArg{b, i}, args...)
	}
	return outs
}

// Inlined are the results of the body as graphs over arguments.
func (b *Body) Inlined(args ...*UOp) []*UOp {
	with := map[*UOp]*UOp{}
	for i, p := range b.Params {
		with[p] = args[i]
	}
	return Substitute(global, with, b.Outs...)
}

// Inlined is the graph that u, a call or a loop, stands for.
func (u *UOp) Inlined() *UOp {
	if a, ok := u.arg.(LoopArg); ok {
		return a.Unrolled(u.src...)[a.Out]
	}
	a := u.arg.(CallArg)
	return a.Inlined(u.src...)[a.Out]
}

// Inline puts the graphs that calls stand for in their places in the graphs of roots.
func Inline(roots ...*UOp) []*UOp {
	for {
		with := map[*UOp]*UOp{}
		for _, u := range Topo(roots...) {
			if u.op == Call && with[u] == nil {
				with[u] = u.Inlined()
			}
		}
		if len(with) == 0 {
			return roots
		}
		roots = Substitute(global, with, roots...) // of what is called for what is called the outer one
	}
}

package engine

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// unrolls says that loops are written out, as graphs of all their steps: for devices that evaluate graphs, and where a graph is divided among several.
func (e *Engine) unrolls() bool { return e.machine.Evaluate != nil || e.several != nil }

// unroll is the graph that a loop stands for.
func (r *resolver) unroll(u *uop.UOp) *uop.UOp {
	a := u.Arg().(uop.LoopArg)
	return r.writtenOut(u, a.Unrolled, a.Results, a.Out)
}

// writtenOut is the graph that u, one of the results of a call or a loop, stands for; those of the others are found with it.
func (r *resolver) writtenOut(u *uop.UOp, graphs, results func(args ...*uop.UOp) []*uop.UOp, out int) *uop.UOp {
	if r.inlined == nil {
		r.inlined = map[*uop.UOp]*uop.UOp{}
	}
	if r.inlined[u] == nil {
		list := graphs(u.Src()...)
		for i, c := range results(u.Src()...) {
			r.inlined[c] = list[i]
		}
		r.inlined[u] = list[out] // of an older generation of nodes, perhaps
	}
	return r.inlined[u]
}

// step writes what a scan does in a step.
func (w *keyWriter) step(s *uop.Recurrence) {
	var body keyWriter
	for _, u := range slices.Concat(s.State, s.Items) {
		body.node(u)
	}
	for _, u := range uop.Topo(s.Next...) {
		if u.Op() != uop.Reg {
			body.node(u)
		}
	}
	for _, u := range s.Next {
		body.int(body.id(u))
	}
	w.text("step")
	w.int(len(s.State))
	w.text(string(body.buf))
}

// loop writes what a loop does in a step, with its stand-ins by number: once for all of its results.
func (w *keyWriter) loop(a uop.LoopArg) {
	if i := slices.Index(w.bodies, a.LoopBody); i >= 0 {
		w.int(-1 - i)
	} else {
		w.bodies = append(w.bodies, a.LoopBody)
		w.loopBody(a.LoopBody)
	}
	for _, n := range []int{a.Carried, a.Along, a.Steps, a.Out} {
		w.int(n)
	}
	if a.Back {
		w.int(1)
	} else {
		w.int(0)
	}
}

func (w *keyWriter) loopBody(a *uop.LoopBody) {
	var body keyWriter
	for i, p := range a.Params {
		for ; p.Op() == uop.Reshape; p = p.At(0) {
		}
		body.number(p)
		body.int(int(p.DType()))
		body.int(p.Shape().Numel())
		body.int(i)
	}
	for _, u := range uop.Topo(a.Pure...) {
		body.node(u)
	}
	for _, u := range a.Pure {
		body.int(body.id(u))
	}
	w.text(string(body.buf))
}

package tensor

import (
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/uop"
)

// Checkpoint is f(in…) of which nothing is kept for gradients but the arguments: what gradients need besides is computed again, when the gradient
// of the result has arrived (Griewank and Walther, 2000; Chen and others, 2016). Training of a deep network, with a checkpoint around
// each part of it, takes the memory of one part, and about a third more work. Values and gradients are the same, those of tensors
// that f uses besides its arguments, as weights, among them. Of several results each is computed again for itself.
//
//	for _, block := range blocks {
//		x = tensor.Checkpoint(func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{block.Forward(in[0])} }, x)[0]
//	}
func Checkpoint(f Fn, in ...*Tensor) []*Tensor {
	t := trace("Checkpoint", f, in, whole(in))
	outs := t.results()
	for i, o := range t.outs {
		if o.IsFloat() {
			outs[i] = t.checkpointed(o.node(), outs[i])
		}
	}
	return outs
}

// checkpointed is y, the function's value, with gradients that begin with the function itself. out is the graph on stand-ins.
func (t *traced) checkpointed(out *uop.UOp, y *Tensor) *Tensor {
	seed := uop.NewStandIn(out.DType(), out.Shape()...)
	var wrt, of []*uop.UOp // in the traced graph, and in the one of y
	for i, s := range t.stand {
		if s.DType().IsFloat() {
			wrt, of = append(wrt, s), append(of, t.in[i].node())
		}
	}
	again, apart := map[int]*uop.UOp{}, map[*uop.UOp]*uop.UOp{}
	for i, s := range t.stand {
		again[s.Slot()] = following(t.in[i].node(), seed)
	}
	for _, u := range besides(out) { // also arguments, so that no gradient reaches one of them through another
		s := uop.NewStandIn(u.DType(), u.Shape()...)
		apart[u], again[s.Slot()] = s, u
		wrt, of = append(wrt, s), append(of, u)
	}
	out = uop.Substitute(out.Home(), apart, out)[0]
	ds, reached := grad.FindAll([]*uop.UOp{out}, []*uop.UOp{seed}, wrt...)
	ds = uop.Fill(again, ds...)
	var pairs []*uop.UOp
	for i, d := range ds {
		if reached[i] {
			pairs = append(pairs, of[i], d)
		}
	}
	return y.named(uop.FunctionArg{Name: "checkpoint", Slot: seed.Slot()}, pairs...)
}

// besides lists the floats that a function uses besides its arguments: the largest nodes of its graph that do not depend on these.
func besides(out *uop.UOp) []*uop.UOp {
	depends, listed := map[*uop.UOp]bool{}, map[*uop.UOp]bool{}
	var list []*uop.UOp
	add := func(u *uop.UOp) {
		if !depends[u] && !listed[u] && u.DType().IsFloat() && u.Op() != uop.Const {
			listed[u] = true
			list = append(list, u)
		}
	}
	for _, u := range uop.Topo(out) {
		depends[u] = u.Op() == uop.Param && u.Slot() != 0
		for _, s := range u.Src() {
			depends[u] = depends[u] || depends[s]
		}
		if depends[u] {
			for _, s := range u.Src() {
				add(s)
			}
		}
	}
	add(out)
	return list
}

// following is x, but not before the first element of another array is known: one node more that only looks as if it needed that. What
// is computed from it is not the same as what was computed from x itself, so that it is computed again, and after the other array. The
// condition, that a number is none and yet below 0, never holds; no rule knows that, and should one learn it, the test of Checkpoint's
// memory fails.
func following(x, other *uop.UOp) *uop.UOp {
	n := other.Shape().Numel()
	if n == 0 {
		return x
	}
	first := other.Reshape(n).Shrink([]int{0}, []int{1}).Reshape()
	never := first.Equal(first).Not().And(first.Less(first.Int(0)))
	return never.Where(x.Int(0), x)
}

package tensor

import (
	"slices"

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
	args := make([]*Tensor, len(in))
	for i, x := range in {
		args[i] = x.named(uop.FunctionArg{Name: "argument"}) // a node that stands for this and for no equal constant
	}
	outs := slices.Clone(f(args...))
	for i, y := range outs {
		if y == nil {
			failArg("Checkpoint", "result %d of the function is nil", i)
		}
		if y.IsFloat() {
			outs[i] = y.checkpointed(args)
		}
	}
	return outs
}

// checkpointed is t, made of some arguments, with gradients that begin with its computation from these.
func (t *Tensor) checkpointed(args []*Tensor) *Tensor {
	u := t.node()
	seed := uop.NewStandIn(u.DType(), u.Shape()...)
	apart, again := map[*uop.UOp]*uop.UOp{}, map[int]*uop.UOp{} // stand-ins, and what is put in their place
	var wrt, of []*uop.UOp
	stand := func(x, later *uop.UOp) {
		if apart[x] != nil { // the same argument again
			return
		}
		s := uop.NewStandIn(x.DType(), x.Shape()...)
		apart[x], again[s.Slot()] = s, later
		if x.DType().IsFloat() {
			wrt, of = append(wrt, s), append(of, x)
		}
	}
	for _, a := range args {
		stand(a.node(), following(a.node(), seed))
	}
	out := uop.Substitute(u.Home(), apart, u)[0]
	clear(apart)
	for _, x := range besides(out) { // also apart, so that no gradient reaches one of them through another
		stand(x, x)
	}
	out = uop.Substitute(u.Home(), apart, out)[0]
	ds, reached := grad.FindAll([]*uop.UOp{out}, []*uop.UOp{seed}, wrt...)
	ds = uop.Fill(again, ds...)
	var pairs []*uop.UOp
	for i, d := range ds {
		if reached[i] {
			pairs = append(pairs, of[i], d)
		}
	}
	return t.named(uop.FunctionArg{Name: "checkpoint", Slot: seed.Slot()}, pairs...)
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

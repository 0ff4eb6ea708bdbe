package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/uop"
)

// Grad gives the gradient of t, which has one element, with respect to each tensor: of its shape and
// type, zeros where t does not depend on it. Nothing is changed; the results are as lazy as the rest.
// Realize drops a tensor's history (reading values does not). A gradient that would have to go through something that has
// been realized since is an *ArgumentError; Detach says that none is meant, and states, which are assigned, begin anew when they are realized. So
// is one with respect to a state that was assigned after t was built, as t depends on what it was before.
func (t *Tensor) Grad(ws ...*Tensor) []*Tensor {
	gs, _ := t.GradReached(ws...)
	return gs
}

// GradReached is Grad that also tells the zeros of a tensor that t does not depend on from a gradient that is 0: reached is true for each
// tensor from which a way leads to t that has derivatives. None leads through Detach, integers, comparisons, Sign and Round.
func (t *Tensor) GradReached(ws ...*Tensor) (gradients []*Tensor, reached []bool) {
	if t.Numel() != 1 {
		fail("Grad", shapes(t.shape()), "%d elements, not one; use GradWith", t.Numel())
	}
	return t.gradients("Grad", t.node().Int(1), ws, true)
}

// GradWith gives the gradient of Σ t·seed; seed has the shape of t.
func (t *Tensor) GradWith(seed *Tensor, ws ...*Tensor) []*Tensor {
	if !seed.shape().Equal(t.shape()) {
		fail("GradWith", shapesOf(t, seed), "the seed must have the shape of the tensor")
	}
	gs, _ := t.gradients("GradWith", seed.node().Cast(t.DType()), ws, true)
	return gs
}

// gradients are those of Σ t·seed, and of which tensors there is one. named says that the program named the tensors.
func (t *Tensor) gradients(op string, seed *uop.UOp, ws []*Tensor, named bool) (out []*Tensor, reached []bool) {
	if !t.IsFloat() {
		failType(op, []dtype.DType{t.DType()}, "only floats have a gradient")
	}
	nodes := make([]*uop.UOp, len(ws))
	for i, w := range ws {
		if !w.IsFloat() {
			failType(op, []dtype.DType{w.DType()}, "tensor %d has no gradient: it holds no floats", i)
		}
		nodes[i] = w.node()
	}
	if b := base(t.node()); b.Op() == uop.Buffer && !t.owned.Load() && !slices.ContainsFunc(nodes, func(w *uop.UOp) bool { return base(w) == b }) {
		failArg(op, "the tensor has been realized and its history is gone; ask for gradients before Realize, or realize both together")
	}
	out = make([]*Tensor, len(ws))
	gs, reached := grad.Find(t.node(), seed, nodes...)
	t.checkReached(op, ws, reached, named)
	for i, g := range gs {
		if !hasBuffer(g) { // a constant, which fits any device
			out[i] = newTensor(nowhere(g), nil)
			continue
		}
		e := ws[i].Engine()
		if e == nil {
			e = t.Engine()
		}
		out[i] = newTensor(g, e)
	}
	return out, reached
}

// nowhere is a graph of constants without the moves between devices that a gradient has where its tensor moved.
func nowhere(root *uop.UOp) *uop.UOp {
	var done uop.Map[*uop.UOp]
	get := func(u *uop.UOp) *uop.UOp { v, _ := done.Get(u); return v }
	for _, u := range uop.Topo(root) {
		if u.Op() == uop.Copy {
			done.Set(u, get(u.At(0)))
			continue
		}
		done.Set(u, u.WithSrc(u.Home(), get))
	}
	return get(root)
}

// hasBuffer reports whether a graph reads anything.
func hasBuffer(u *uop.UOp) bool {
	return below(u, func(u *uop.UOp) bool { return u.Op() == uop.Buffer })
}

// below reports whether a graph has a node that is asked for.
func below(u *uop.UOp, is func(u *uop.UOp) bool) bool {
	seen := uop.NewSeen()
	defer seen.Free()
	stack := []*uop.UOp{u}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if is(u) {
			return true
		}
		if seen.Enter(u) {
			stack = append(stack, u.Src()...)
		}
	}
	return false
}

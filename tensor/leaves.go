package tensor

import (
	"slices"
	"sync"
	"weak"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// wanted are the tensors that want a gradient, as far as they are in use.
var wanted struct {
	sync.Mutex
	list []weak.Pointer[Tensor]
	full int // the length at which those out of use are dropped
}

// RequireGrad says that t wants a gradient, so that Backward finds it; it returns t. Assignments leave that as it is. Layers say it of their
// parameters. t must hold floats. What is made of constants only, as Eye(3), is one node with all that is equal to it; from here on t is a variable
// of its own, so call it before t is used.
func (t *Tensor) RequireGrad() *Tensor {
	if !t.IsFloat() {
		failType("RequireGrad", []dtype.DType{t.DType()}, "only floats have a gradient")
	}
	if t.wants.Swap(true) {
		return t
	}
	if u := t.node(); !varies(u) {
		t.graph.CompareAndSwap(u, u.Mul(spread(own(uop.NewFloat(u.DType(), 1)), u.Shape())))
	}
	wanted.Lock()
	if len(wanted.list) >= wanted.full {
		kept := wanted.list[:0]
		for _, p := range wanted.list {
			if p.Value() != nil {
				kept = append(kept, p)
			}
		}
		clear(wanted.list[len(kept):])
		wanted.list, wanted.full = kept, 64+2*len(kept)
	}
	wanted.list = append(wanted.list, weak.Make(t))
	wanted.Unlock()
	return t
}

// varies says that a graph reads something that no equal graph reads: memory, an argument, or a constant of its own.
func varies(u *uop.UOp) bool {
	return slices.ContainsFunc(uop.Topo(u), func(u *uop.UOp) bool {
		switch u.Op() {
		case uop.Buffer, uop.Param:
			return true
		case uop.Const:
			return u.Arg().(uop.ConstArg).ID != 0
		}
		return false
	})
}

// Freeze takes RequireGrad back; it returns t. Optimisers train what they are made for, frozen or not.
func (t *Tensor) Freeze() *Tensor {
	t.wants.Store(false)
	wanted.Lock()
	defer wanted.Unlock()
	wanted.list = slices.DeleteFunc(wanted.list, func(p weak.Pointer[Tensor]) bool { return p.Value() == t })
	return t
}

// RequiresGrad reports whether t wants a gradient.
func (t *Tensor) RequiresGrad() bool { return t.wants.Load() }

// inUse are the tensors that want a gradient; wanted is locked.
func inUse() (ws []*Tensor) {
	for _, p := range wanted.list {
		if w := p.Value(); w != nil {
			ws = append(ws, w)
		}
	}
	return ws
}

// Backward adds the gradient of t, which has one element, to each tensor's Gradient; with none named, to those of the tensors that want one
// (see RequireGrad) and that t depends on. Where there are none of these that is an error.
func (t *Tensor) Backward(ws ...*Tensor) {
	if t.Numel() != 1 {
		fail("Backward", shapes(t.shape()), "%d elements, not one; give a seed", t.Numel())
	}
	t.backward("Backward", FullLike(t, 1), ws)
}

// BackwardWith is Backward for the gradient of Σ t·seed; seed has the shape of t.
func (t *Tensor) BackwardWith(seed *Tensor, ws ...*Tensor) {
	if !seed.shape().Equal(t.shape()) {
		fail("BackwardWith", shapesOf(t, seed), "the seed must have the shape of the tensor")
	}
	t.backward("BackwardWith", seed, ws)
}

func (t *Tensor) backward(op string, seed *Tensor, ws []*Tensor) {
	search := len(ws) == 0
	if search {
		wanted.Lock()
		ws = inUse()
		wanted.Unlock()
	}
	gs, reached := t.gradients(op, seed.node().Cast(t.DType()), ws, !search)
	any := false
	for i, g := range gs {
		if search && !reached[i] {
			continue
		}
		any = true
		if w := ws[i]; w.grad == nil {
			w.grad = g
		} else {
			w.grad = w.grad.Add(g)
		}
	}
	if search && !any {
		failArg(op, "the tensor depends on none that wants a gradient; mark those that do, or name them")
	}
}

// Gradient is what Backward has collected, nil before.
func (t *Tensor) Gradient() *Tensor { return t.grad }

// ClearGradient forgets what Backward has collected.
func (t *Tensor) ClearGradient() { t.grad = nil }

package tensor

import (
	"context"
	"slices"
	"sync"
	"weak"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// A program may assign a tensor again and again and never realize it, only read what is computed of it: a loop of training that reads its
// losses. Each value would be computed from all assignments so far. So an assignment that others wait for is late, and is carried out
// together with the next value that is computed from what the tensor was. It gets memory of its own: what was built on the elements before still
// finds them there. What a captured function reads or assigns stays where it is, as its runs look there: assignments to that pile up. Tensors
// that a value does not depend on stay alone: another goroutine may be about to assign them.
const (
	lateRead   = 2 // assignments to one tensor, each pending on the one before, from which on reading anything carries them out
	lateAssign = 4 // and from which on assigning does
)

// late are the tensors with late assignments.
var late struct {
	sync.Mutex
	list []weak.Pointer[Tensor]
}

// pends counts an assignment to t, which is about to get a graph for it.
func (t *Tensor) pends() {
	if !t.owned.Load() || inMemory(t.node()) {
		t.pending = 0
	}
	if t.pending++; t.pending == lateRead {
		late.Lock()
		late.list = append(late.list, weak.Make(t))
		late.Unlock()
	}
}

// computeLate is compute of tensors together with late assignments to others that they or a tensor below depend on. What is wrong with one of
// these only its readers are told.
func computeLate(ctx context.Context, ts []*Tensor, below ...*Tensor) error {
	list := takeLate(ts, below)
	if len(list) == 0 {
		return computeOwned(ctx, ts)
	}
	all := slices.Clone(ts)
	for _, m := range list {
		all = append(all, m.t)
	}
	if err := computeOwned(ctx, all); err != nil {
		return computeOwned(ctx, ts)
	}
	befores := make([]*uop.UOp, len(list))
	for i, m := range list {
		befores[i] = m.before
	}
	past := pastOf(maxPast, befores...)
	past.Late = true
	for _, m := range list {
		m.before.SetRealized(m.after.Realized())
		engine.SetPast(m.after.Realized(), past)
	}
	return nil
}

// shifted is a late assignment that has got other memory: as it was before, which others may be built on, and as it is.
type shifted struct {
	t             *Tensor
	before, after *uop.UOp
}

// takeLate gives other memory to the late assignments of which computing ts and below would use the memory, but those to ts, whose own memory is to
// be written.
func takeLate(ts, below []*Tensor) (list []shifted) {
	if recorder() != nil {
		return nil
	}
	late.Lock()
	defer late.Unlock()
	if len(late.list) == 0 {
		return nil
	}
	uses := buffersOf(slices.Concat(ts, below))
	left := late.list[:0]
	for _, w := range late.list {
		t := w.Value()
		if t == nil || slices.Contains(ts, t) {
			continue
		}
		u := t.given()
		before := u
		for before.Op() == uop.Reshape {
			before = before.At(0)
		}
		if before.Op() != uop.After || before.Realized() != nil || engine.Bound(bufferOf(before)) {
			continue
		}
		if used, _ := uses.Get(bufferOf(before)); !used {
			left = append(left, w)
			continue
		}
		empty, err := t.Engine().Empty(t.DType(), before.Shape())
		if err != nil {
			continue // there is no memory for it
		}
		b := bufferOf(empty)
		after := b.After(b.Store(before.At(1).At(1)))
		if t.graph.CompareAndSwap(u, after.Reshape(u.Shape()...)) {
			engine.Assigns(after)
			list = append(list, shifted{t, before, after})
		}
	}
	clear(late.list[len(left):])
	late.list = left
	return list
}

// buffersOf are the arrays that computing tensors would read or write.
func buffersOf(ts []*Tensor) *uop.Map[bool] {
	found := &uop.Map[bool]{}
	var stack []*uop.UOp
	for _, t := range ts {
		stack = append(stack, t.given())
	}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if done, _ := found.Get(u); done || u.Realized() != nil {
			continue
		}
		found.Set(u, true)
		stack = append(stack, u.Src()...)
	}
	return found
}

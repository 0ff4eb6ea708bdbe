package tensor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// RunInto is Run whose results take no new memory: result i becomes the content of dst[i], a tensor of its shape and type. It gives
// dst, with a new tensor where dst[i] is nil, so that a loop may begin with no tensors and hand on what it got:
//
//	outs := make([]*tensor.Tensor, 1)
//	for … {
//		outs, err = c.RunInto(ctx, outs, x)
//	}
//
// It is an assignment (see Assign): in the memory of dst[i] if that belongs to it alone, in memory of its own from now on if not, so
// that no other tensor changes. What was built on dst[i] before and not realized is an *engine.StaleError afterwards. A result is no
// tensor that goes in: not an input, nor one that the function reads or assigns.
func (c *Captured) RunInto(ctx context.Context, dst []*Tensor, inputs ...*Tensor) ([]*Tensor, error) {
	if err := c.check("RunInto", inputs); err != nil {
		return nil, err
	}
	if err := c.checkInto(dst); err != nil {
		return nil, err
	}
	all := append(slices.Clone(c.states), inputs...)
	for _, d := range dst {
		if d != nil {
			all = append(all, d)
		}
	}
	outs, err := c.play(ctx, "RunInto", all, dst, inputs)
	var into *engine.IntoError
	if errors.As(err, &into) {
		return nil, &ArgumentError{Op: "RunInto", Reason: fmt.Sprintf("result %d: %s", into.Result, into.Reason), At: caller()}
	}
	if err != nil {
		return nil, err
	}
	ts, from := make([]*Tensor, len(outs)), sources(inputs)
	for i, u := range outs {
		if dst[i] == nil {
			ts[i] = c.result(i, u, from)
			ts[i].owned.Store(c.plan.Own(i))
			continue
		}
		engine.SetPast(u, nil)
		c.past[i].remember(u, from)
		ts[i] = dst[i]
		ts[i].graph.Store(u)
		ts[i].owned.Store(true)
	}
	return ts, nil
}

// checkInto checks what is known of results before any is computed.
func (c *Captured) checkInto(dst []*Tensor) error {
	if len(dst) != len(c.past) {
		return &ArgumentError{Op: "RunInto", Reason: fmt.Sprintf("%d tensors for the %d results of the captured function; give nil for those that are to be new", len(dst), len(c.past)), At: caller()}
	}
	for i, d := range dst {
		if d == nil {
			continue
		}
		if c.sizes[i] != nil || d.given().Sizes() != nil {
			return &ArgumentError{Op: "RunInto", Reason: fmt.Sprintf("result %d or the tensor for it has a size that varies; give nil for it", i), At: caller()}
		}
		shape, of := c.plan.Result(i)
		if !d.shape().Equal(shape) {
			return &ShapeError{Op: "RunInto", Shapes: shapes(d.shape()), Reason: fmt.Sprintf("result %d has shape %v", i, []int(shape)), At: caller()}
		}
		if d.DType() != of {
			return &TypeError{Op: "RunInto", Types: []dtype.DType{d.DType()}, Reason: fmt.Sprintf("result %d is %v; give a tensor of that type", i, of), At: caller()}
		}
		if on := d.Engine(); on != nil && on != c.eng {
			if on.Name() == c.eng.Name() {
				return &ArgumentError{Op: "RunInto", Reason: fmt.Sprintf("the captured function, or the tensor for result %d, belongs to %s", i, otherEngine(on.Name())), At: caller()}
			}
			return &ArgumentError{Op: "RunInto", Reason: fmt.Sprintf("the tensor for result %d lies on %s, the captured function runs on %s; give one there", i, d.Device(), c.eng.Name()), At: caller()}
		}
	}
	return nil
}

// places are the nodes of tensors that are in memory. Of one that has none of its own the elements stay, as others may have them.
func places(dst []*Tensor) []*uop.UOp {
	list := make([]*uop.UOp, len(dst))
	for i, d := range dst {
		if d == nil {
			continue
		}
		list[i] = d.node()
		if !d.owned.Load() {
			engine.Share(list[i])
		}
	}
	return list
}

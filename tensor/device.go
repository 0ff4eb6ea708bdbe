package tensor

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// On gives t on the device of this name. It is lazy and differentiable like the rest; when it is computed, the
// elements go through the host.
func (t *Tensor) On(device string) *Tensor {
	e, err := engine.Use(device)
	if err != nil {
		failDevice("On", err)
	}
	if t.Engine() == e {
		return t.same()
	}
	if t.constant() {
		return newTensor(t.node(), nil).store("On", e, nowhere(t.node()))
	}
	engine.Crossed.Store(true)
	return newTensor(t.node().Copy(e.Name()), e)
}

// realizeOn computes nodes on e, after what they need from other devices has been brought there.
func realizeOn(ctx context.Context, e *engine.Engine, nodes []*uop.UOp) error {
	if rec := recorder(); rec != nil { // which notes them, wherever they lie
		return rec.eng.Realize(ctx, nodes...)
	}
	if engine.Crossed.Load() {
		if err := bring(ctx, e, nodes); err != nil {
			return err
		}
	}
	return e.Realize(ctx, nodes...)
}

// bring computes the operands of Copy nodes on their devices and puts their elements on e.
func bring(ctx context.Context, e *engine.Engine, nodes []*uop.UOp) error {
	for _, c := range crossings(nodes, e.Name()) {
		src := c.At(0)
		name, leaf := deviceBelow(src)
		from := engine.Holder(leaf) // which may be one beside that of this name
		if from == nil {
			var err error
			if from, err = engine.UseContext(ctx, name); err != nil {
				return err
			}
		}
		if err := realizeOn(ctx, from, []*uop.UOp{src}); err != nil {
			return err
		}
		raw := make([]byte, src.Shape().Numel()*src.DType().Size())
		if err := from.Read(ctx, src, raw); err != nil {
			return err
		}
		there, err := e.FromBytesCut(src.DType(), src.Shape(), raw, c.Arg().(uop.DeviceArg).Cut)
		if err != nil {
			return fmt.Errorf("move a tensor from %s to %s: %w", from.Name(), e.Name(), err)
		}
		c.SetRealized(there)
	}
	return nil
}

// crossings are the Copy nodes below nodes of a device that bring something from another and have not been carried out, the topmost on
// each way.
func crossings(nodes []*uop.UOp, device string) []*uop.UOp {
	var out []*uop.UOp
	var seen uop.Map[bool]
	stack := append([]*uop.UOp{}, nodes...)
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if done, _ := seen.Get(u); done || u.Realized() != nil {
			continue
		}
		seen.Set(u, true)
		if u.Op() == uop.Copy {
			from, _ := deviceBelow(u.At(0))
			if cut := from == device && strings.Contains(device, "+"); from != "" && !cut { // on the same devices it is cut otherwise
				out = append(out, u)
				continue
			}
		}
		stack = append(stack, u.Src()...)
	}
	return out
}

// deviceBelow is the device that a graph is computed on, and a node that says so.
func deviceBelow(u *uop.UOp) (name string, leaf *uop.UOp) {
	var seen uop.Map[bool]
	stack := []*uop.UOp{u}
	for len(stack) > 0 {
		u := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if done, _ := seen.Get(u); done {
			continue
		}
		seen.Set(u, true)
		switch a := u.Arg().(type) {
		case uop.BufferArg:
			return a.Device, u
		case uop.DeviceArg:
			return a.Device, u
		}
		stack = append(stack, u.Src()...)
	}
	return "", u
}

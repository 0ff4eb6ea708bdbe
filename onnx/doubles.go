package onnx

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Some devices have no float64 (WEBGPU). A model that asks for some there goes node by node, and what takes, makes or goes through float64 is computed in
// the program, by the same evaluator as shapes, which computes in float64 itself: slowly, and exactly what the graph says. Everything else stays on the
// device.

// mostDoubles are the elements that one node may compute in the program for lack of float64.
const mostDoubles = 1 << 24

// lacksDoubles says that something failed because the device has no float64.
func lacksDoubles(err error) bool {
	d, ok := engine.Lacking(err)
	return ok && d == dtype.F64
}

// isByNode says that this model is known to need float64 where a device has none.
func (m *Model) isByNode(e *engine.Engine) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.byNode[e.Name()]
}

// goByNode notes that, and says so.
func (m *Model) goByNode(e *engine.Engine) {
	e.Say("onnx: %s computes in float64, which %s lacks: such nodes are computed in the program, slowly; a model exported in float32 is not", m.name, e.Name())
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byNode == nil {
		m.byNode = map[string]bool{}
	}
	m.byNode[e.Name()] = true
}

// call computes the outputs of values in the order of the inputs.
func (m *Model) call(ctx context.Context, e *engine.Engine, args []*Value) ([]*Value, error) {
	if !m.isByNode(e) {
		outs, ok, err := m.runner(ctx, e).pieces(m.whole(), args)
		if err == nil && !ok {
			outs, err = m.runner(ctx, e).byNode(m.whole(), args)
		}
		if !lacksDoubles(err) {
			return outs, err
		}
		m.goByNode(e)
	}
	r := m.runner(ctx, e)
	r.noDoubles = true
	return r.byNode(m.whole(), args)
}

// aroundDoubles computes a node for a device that has no float64.
func (c *call) aroundDoubles(f operator) ([]*Value, error) {
	if !slices.ContainsFunc(c.in, hasDoubles) {
		outs, err := c.run(f)
		if err == nil && !c.throughDoubles(outs) || err != nil && !lacksDoubles(err) {
			return outs, err
		}
	}
	return c.run(func(c *call) []*Value {
		own := *c
		own.in = make([]*Value, len(c.in))
		for i, v := range c.in {
			own.in[i] = c.r.inProgram(v)
		}
		outs := f(&own)
		for i, v := range outs {
			outs[i] = own.evaluated(v)
		}
		return outs
	})
}

// apart is a value that a node with graphs makes around what these give: computed in the program where the device has not got its type.
func (c *call) apart(v *Value) *Value {
	if c.r.noDoubles && hasDoubles(v) {
		return c.evaluated(v)
	}
	return v
}

// hasDoubles says whether a value is of float64, or has such items.
func hasDoubles(v *Value) bool {
	return v != nil && (v.kind == IsTensor && v.elem == Float64 || slices.ContainsFunc(v.items, hasDoubles))
}

// throughDoubles says whether float64 comes between the node's inputs and what it gives.
func (c *call) throughDoubles(outs []*Value) bool {
	seen := map[*uop.UOp]bool{}
	for _, v := range c.in {
		if v != nil && v.t != nil {
			seen[v.t.Node()] = true
		}
	}
	var meets func(u *uop.UOp) bool
	meets = func(u *uop.UOp) bool {
		if seen[u] {
			return false
		}
		seen[u] = true
		return u.DType() == dtype.F64 || slices.ContainsFunc(u.Src(), meets)
	}
	return slices.ContainsFunc(outs, func(v *Value) bool {
		return hasDoubles(v) || v != nil && v.t != nil && meets(v.t.Node())
	})
}

// inProgram is a value whose elements lie in the program's memory.
func (r *runner) inProgram(v *Value) *Value {
	if v == nil || v.kind == IsTensor && v.elem == String {
		return v
	}
	own := &Value{kind: v.kind, elem: v.elem, shape: v.shape, known: v.known}
	if v.kind == IsTensor {
		own.raw = r.host(v)
	}
	for _, item := range v.items {
		own.items = append(own.items, r.inProgram(item))
	}
	return own
}

// evaluated is what a node gives, computed in the program.
func (c *call) evaluated(v *Value) *Value {
	if v == nil || v.kind == IsTensor && (v.elem == String || v.raw != nil) {
		return v
	}
	own := &Value{kind: v.kind, elem: v.elem, shape: v.shape, known: v.known}
	if v.kind == IsTensor {
		var ok bool
		if own.raw, ok = c.r.evaluate(v.t.Node(), mostDoubles); !ok {
			c.notYet(fmt.Sprintf("%v of float64 on %s, which has none: more than %d elements, or what the program does not compute (indices that are checked, random numbers)", v, c.r.eng.Name(), mostDoubles))
		}
	}
	for _, item := range v.items {
		own.items = append(own.items, c.evaluated(item))
	}
	return own
}

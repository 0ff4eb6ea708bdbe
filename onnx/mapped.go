package onnx

import (
	"slices"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/vmap"
)

// mostMapped is how many elements a value of a loop's body has in all rounds together at most, where they are computed at once.
const mostMapped = 1 << 24

// mapped is Scan of a body whose rounds do not depend on each other, as distances from each of many rows: the state that it hands on is the
// one that it is given. All rounds are computed at once then. It is nil where the body is another one.
func (c *call) mapped(g *graphProto, state, walked []*Value, p scanPlan, length int) []*Value {
	for i := range state {
		if !g.handsOn(i) {
			return nil
		}
	}
	if given := slices.Concat(state, walked); length < 2 || !slices.ContainsFunc(given, func(v *Value) bool { return !v.isKnown() }) {
		return nil
	}
	k, with := len(state), map[*uop.UOp]*uop.UOp{}
	args := slices.Clone(state)
	for i, v := range walked {
		x := c.r.tensor(v).MoveAxis(c.axis(p.axes[i], len(v.shape)), 0)
		if p.back[i] == 1 {
			x = x.Flip(0)
		}
		u := uop.NewStandIn(x.DType(), x.Shape()[1:]...)
		with[u] = x.Node()
		args = append(args, &Value{elem: v.elem, shape: u.Shape(), t: tensor.FromNode(u, c.r.eng)})
	}
	outs := c.traced(g, args)
	var ys []*uop.UOp
	for _, v := range outs[min(k, len(outs)):] {
		if v.kind != IsTensor || v.elem == String {
			return nil
		}
		ys = append(ys, c.r.tensor(v).Node())
	}
	if len(ys) == 0 || slices.ContainsFunc(uop.Topo(ys...), func(u *uop.UOp) bool { return u.Shape().Numel() > mostMapped/length }) {
		return nil
	}
	results := slices.Clone(state)
	for j, u := range vmap.Batch(length, with, ys...) {
		v := outs[k+j]
		if u == nil { // it is the same in each round
			u = ys[j].Reshape(append([]int{1}, v.shape...)...).Expand(append([]int{length}, v.shape...)...)
		}
		y := tensor.FromNode(u, c.r.eng)
		if p.outBack[j] == 1 {
			y = y.Flip(0)
		}
		y = y.MoveAxis(0, c.axis(p.outAxes[j], len(v.shape)+1))
		results = append(results, c.apart(&Value{elem: v.elem, shape: y.Shape(), t: y}))
	}
	return results
}

// traced runs a graph of a node for arguments that have no values yet; it gives nil where it needs some, or other random numbers in each round.
func (c *call) traced(g *graphProto, args []*Value) (outs []*Value) {
	trace, random := c.r.trace, c.r.random
	c.r.trace, c.r.random = true, false
	defer func() {
		if c.r.random {
			outs = nil
		}
		c.r.trace, c.r.random = trace, random || c.r.random
		if p := recover(); p != nil {
			if _, need := p.(*needValue); !need {
				panic(p)
			}
			outs = nil
		}
	}()
	return c.body(g, args...)
}

// handsOn says that a graph gives its i-th input as its i-th output.
func (g *graphProto) handsOn(i int) bool {
	name := g.outputs[i].name
	for name != g.inputs[i].name {
		at := slices.IndexFunc(g.nodes, func(n *nodeProto) bool { return slices.Contains(n.out, name) })
		if at < 0 || g.nodes[at].op != "Identity" || g.nodes[at].domain != "" || len(g.nodes[at].in) != 1 {
			return false
		}
		name = g.nodes[at].in[0]
	}
	return true
}

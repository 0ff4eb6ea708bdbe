package onnx

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/sizes"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// A model that is given inputs of ever new sizes, such as a cache that grows or sentences of any length, would compile a plan for each. The
// first two combinations of sizes have plans of their own; from the third on, graphs that differ in sizes alone share one plan, with room for the
// most (package sizes), whose inputs and results are copied to and from arrays with that room.

// common is a plan for many sizes, that of a sizes.Graph.
type common struct {
	mu   sync.Mutex
	plan *tensor.Captured // nil: there is none yet
}

// instance is a case of a common plan.
type instance struct {
	*sizes.Instance
	family *sizes.Family
	checks *checks // nil: the plan has them
}

// checks are those that results depend on, taken out of their graphs: indices of cases have to be within other bounds each.
type checks struct {
	args []uop.CheckArg
	on   [][]int // by result: which of them it depends on
}

// apart gives graphs without checks, behind them the greatest code of each check, and what they check; nil: nothing.
func apart(nodes []*uop.UOp) ([]*uop.UOp, *checks) {
	out := &checks{}
	var codes []*uop.UOp
	bare, on := map[*uop.UOp]*uop.UOp{}, map[*uop.UOp][]int{}
	for _, u := range uop.Topo(nodes...) {
		for _, s := range u.Src() {
			for _, i := range on[s] {
				if !slices.Contains(on[u], i) {
					on[u] = append(on[u], i)
				}
			}
		}
		if u.Op() != uop.Check {
			bare[u] = u.WithSrc(u.Home(), func(s *uop.UOp) *uop.UOp { return bare[s] })
			continue
		}
		bare[u] = bare[u.At(0)]
		if code, a := bare[u.At(1)], u.Arg().(uop.CheckArg); code.Shape().Numel() > 0 {
			code = code.Reshape(code.Shape().Numel()).Reduce(uop.MaxOf, 0)
			i := slices.Index(codes, code)
			if i < 0 {
				i = len(codes)
				codes, out.args = append(codes, code), append(out.args, a)
			}
			if !slices.Contains(on[u], i) {
				on[u] = append(on[u], i)
			}
		}
	}
	if len(codes) == 0 {
		return nil, nil
	}
	list := make([]*uop.UOp, len(nodes), len(nodes)+len(codes))
	for i, u := range nodes {
		list[i] = bare[u]
		out.on = append(out.on, on[u])
	}
	return append(list, codes...), out
}

// checked are results that depend on codes, which come behind them.
func (c *checks) checked(e *engine.Engine, got []*tensor.Tensor) []*tensor.Tensor {
	outs, codes := slices.Clone(got[:len(c.on)]), got[len(c.on):]
	for i, on := range c.on {
		u := outs[i].Node()
		for _, k := range on {
			u = u.Check(codes[k].Node(), c.args[k])
		}
		outs[i] = tensor.FromNode(u, e)
	}
	return outs
}

// instance finds a common plan for a case, or makes it; nil: the case is to have a plan of its own.
func (o *piece) instance(e *engine.Engine, key string, stand, nodes []*uop.UOp) *instance {
	kind := e.Name()
	for _, u := range stand {
		kind += fmt.Sprint(" ", u.DType(), len(u.Shape()))
	}
	if x := o.instanceOf(e, kind, key, sizes.Case{Ins: stand, Roots: nodes}); x != nil {
		return x
	}
	bare, c := apart(nodes)
	if c == nil {
		return nil
	}
	x := o.instanceOf(e, kind+" and codes", key, sizes.Case{Ins: stand, Roots: bare, Codes: len(c.args)})
	if x != nil {
		x.checks = c
	}
	return x
}

func (o *piece) instanceOf(e *engine.Engine, kind, key string, c sizes.Case) *instance {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.owners[key] {
		return nil
	}
	f := o.families[kind]
	if f == nil {
		f = &sizes.Family{Compiling: e.Compiling()}
		if o.families == nil || len(o.families) >= mostFamilies {
			o.families = map[string]*sizes.Family{}
		}
		o.families[kind] = f
	}
	x := f.Instance(key, c)
	if x == nil {
		return nil
	}
	if x.Plan == nil {
		x.Plan = &common{}
	}
	return &instance{x, f, nil}
}

// mostFamilies is how many kinds of inputs, of other ranks and types, are told apart.
const mostFamilies = 16

// own has a case of a common plan get a plan of its own, because the other cannot be played: the device has no memory for its room, say, or cannot copy
// to it. It says whether p is such a case.
func (o *piece) own(p *planned) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.instance == nil {
		return false
	}
	if o.owners == nil || len(o.owners) >= mostPlans {
		o.owners = map[string]bool{}
	}
	o.owners[p.key] = true
	o.plans = slices.DeleteFunc(o.plans, func(q *planned) bool { return q == p })
	return true
}

// again says that a case of a common plan has come so often that it is to have a plan of its own.
func (o *piece) again(p *planned) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.instance == nil || !p.instance.family.Again(p.key) {
		return false
	}
	o.plans = slices.DeleteFunc(o.plans, func(q *planned) bool { return q == p })
	return true
}

// captured is the plan, made at the first use that is not cut short.
func (x *common) captured(ctx context.Context, e *engine.Engine, g *sizes.Graph) (plan *tensor.Captured, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.plan != nil {
		return x.plan, nil
	}
	ins := make([]*tensor.Tensor, len(g.Ins))
	for i, u := range g.Ins {
		s, err := e.StandIn(u.DType(), u.Shape())
		if err != nil {
			return nil, err
		}
		ins[i] = tensor.FromNode(s, e)
	}
	x.plan, err = tensor.Capture(ctx, filled(e, g.Ins, g.Roots), ins...)
	return x.plan, err
}

// filled is the function that puts its arguments in the place of stand-ins.
func filled(e *engine.Engine, stand, nodes []*uop.UOp) func(in ...*tensor.Tensor) []*tensor.Tensor {
	return func(in ...*tensor.Tensor) (list []*tensor.Tensor) {
		values := map[int]*uop.UOp{}
		for i, t := range in {
			values[stand[i].Slot()] = t.Node()
		}
		for _, u := range uop.Fill(values, nodes...) {
			list = append(list, tensor.FromNode(u, e))
		}
		return list
	}
}

// run plays the plan for inputs of a case.
func (x *instance) run(ctx context.Context, e *engine.Engine, ins []*tensor.Tensor) (outs []*tensor.Tensor, err error) {
	plan, err := x.Plan.(*common).captured(ctx, e, x.Graph)
	if err != nil {
		return nil, err
	}
	if err := tensor.Realize(ctx, ins...); err != nil {
		return nil, err
	}
	wide, err := refit(ctx, e, ins, func(i int) (count, shape uop.Shape) { return x.In(i, x.N) })
	if err != nil {
		return nil, err
	}
	for i, d := range x.Types() {
		u, err := e.FromValues(d, x.Numbers[i])
		if err != nil {
			return nil, err
		}
		wide = append(wide, tensor.FromNode(u, e))
	}
	with := tensor.Values{}
	for i, v := range x.Vars {
		with[tensor.NewVariable(v.Name, v.Lo, v.Hi)] = x.N[i]
	}
	got, err := plan.With(with).Run(ctx, wide...)
	if err != nil {
		return nil, err
	}
	outs, err = refit(ctx, e, got, func(i int) (count, shape uop.Shape) {
		count, _ = x.Out(i, x.N)
		return count, count
	})
	if err == nil && x.checks != nil {
		outs = x.checks.checked(e, outs)
	}
	return outs, err
}

// refit gives tensors other shapes, as far as theirs are others.
func refit(ctx context.Context, e *engine.Engine, ts []*tensor.Tensor, want func(i int) (count, shape uop.Shape)) ([]*tensor.Tensor, error) {
	out := slices.Clone(ts)
	var fits []engine.Fit
	var at []int
	for i, t := range ts {
		if count, shape := want(i); !shape.Equal(t.Shape()) {
			fits, at = append(fits, engine.Fit{Array: t.Node(), Count: count, Shape: shape}), append(at, i)
		}
	}
	if len(fits) == 0 {
		return out, nil
	}
	us, err := e.Refit(ctx, fits)
	if err != nil {
		return nil, err
	}
	for i, u := range us {
		out[at[i]] = tensor.FromNode(u, e)
	}
	return out, nil
}

package onnx

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// planned is a plan for some shapes of inputs.
type planned struct {
	key      string
	stop     int              // the node that needs a value which the plan gives, or the end
	end      int              // of the graph
	plan     *tensor.Captured // nil: random numbers, say, are others in each run, so each builds its graph
	args     []int            // the inputs that are arguments
	outs     []*Value         // of each output: its type and shape, and its value where that is known
	from     []int            // of each output: the number of the plan's result; known: its value is known; below: that of an input
	same     bool             // no output has to be computed
	instance *instance        // of a plan for many sizes, in the place of plan
}

// known marks an output whose value is known, inputs below it one that is an input.
const known = -1

const (
	mostPlans   = 32
	mostSpecial = 64 // elements of an input whose values decide about a plan
)

// Call computes the outputs of the model's inputs.
func (m *Model) Call(ctx context.Context, in map[string]*Value) (map[string]*Value, error) {
	args := make([]*Value, len(m.inputs))
	for i, p := range m.inputs {
		args[i] = in[p.Name]
	}
	args, err := m.arguments(args)
	if err != nil {
		return nil, err
	}
	for name := range in {
		if !slices.ContainsFunc(m.inputs, func(p Port) bool { return p.Name == name }) {
			return nil, &Error{File: m.name, Reason: fmt.Sprintf("there is no input %q; the inputs are %s", name, portNames(m.inputs))}
		}
	}
	outs, err := m.callOn(ctx, args)
	if err != nil {
		return nil, err
	}
	got := make(map[string]*Value, len(outs))
	for i, p := range m.outputs {
		got[p.Name] = outs[i]
	}
	return got, nil
}

// CallInOrder is Call with the inputs in the order of Inputs, nil where one is not given, and the outputs in that of Outputs.
func (m *Model) CallInOrder(ctx context.Context, in []*Value) ([]*Value, error) {
	args, err := m.arguments(in)
	if err != nil {
		return nil, err
	}
	return m.callOn(ctx, args)
}

func (m *Model) callOn(ctx context.Context, args []*Value) ([]*Value, error) {
	e, err := m.engineFor(ctx, args)
	if err != nil {
		return nil, &Error{File: m.name, Err: err}
	}
	outs, err := m.call(ctx, e, args)
	if err != nil {
		var own *Error
		if !errors.As(err, &own) {
			err = &Error{File: m.name, Err: err}
		}
		return nil, err
	}
	return outs, nil
}

// Ahead takes memory for the results of the next run now, if that is like the last one. It is for whoever waits for that run.
func (m *Model) Ahead() {
	o := m.whole()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.plans) > 0 && o.plans[0].plan != nil {
		o.plans[0].plan.Ahead()
	}
}

// arguments are inputs of the types that the model takes.
func (m *Model) arguments(in []*Value) ([]*Value, error) {
	if len(in) != len(m.inputs) {
		return nil, &Error{File: m.name, Reason: fmt.Sprintf("%d inputs are given, and there are %d: %s", len(in), len(m.inputs), portNames(m.inputs))}
	}
	args := make([]*Value, len(m.inputs))
	for i, p := range m.inputs {
		v := in[i]
		if v == nil && !(p.Type != nil && p.Type.Kind == IsOptional) {
			return nil, &Error{File: m.name, Reason: fmt.Sprintf("input %q (%v) is not given", p.Name, p.Type)}
		}
		if v == nil {
			v = Optional(nil)
		}
		v = p.Type.fitting(v.loose())
		if why := p.Type.refuses(v); why != "" {
			return nil, &Error{File: m.name, Reason: fmt.Sprintf("input %q is to be %v: %s", p.Name, p.Type, why)}
		}
		args[i] = v
	}
	return args, nil
}

// loose is a value as one that is no constant of any model.
func (v *Value) loose() *Value {
	if v.fixed == 0 && len(v.items) == 0 {
		return v
	}
	own := *v
	own.fixed, own.items = 0, nil
	for _, item := range v.items {
		own.items = append(own.items, item.loose())
	}
	return &own
}

func portNames(ps []Port) string {
	var list []string
	for _, p := range ps {
		list = append(list, fmt.Sprintf("%q", p.Name))
	}
	return strings.Join(list, ", ")
}

// fitting is one number with as many axes as the type has; other values are as they were.
func (t *Type) fitting(v *Value) *Value {
	if t == nil || t.Kind != IsTensor || v.kind != IsTensor || !t.Ranked || len(t.Dims) == len(v.shape) || len(t.Dims) > 1 || len(v.shape) > 1 || count(v.shape) != 1 {
		return v
	}
	own := *v
	own.shape = slices.Repeat([]int{1}, len(t.Dims))
	if own.t != nil {
		own.t = own.t.Reshape(own.shape...)
	}
	return &own
}

// refuses says why a value is not of the type, or "".
func (t *Type) refuses(v *Value) string {
	if t == nil || t.Kind != v.kind && t.Kind != IsOptional {
		if t == nil {
			return ""
		}
		return "what is given is a " + v.String()
	}
	if t.Kind == IsOptional && v.kind != IsOptional {
		return t.Of.refuses(v)
	}
	if t.Kind != IsTensor {
		for _, item := range v.items {
			if why := t.Of.refuses(item); why != "" {
				return why
			}
		}
		return ""
	}
	if t.Elem != 0 && t.Elem != v.elem {
		return fmt.Sprintf("what is given is %v; convert it", v)
	}
	if t.Ranked && len(t.Dims) != len(v.shape) {
		return fmt.Sprintf("what is given has the shape %v", v.shape)
	}
	if t.Ranked {
		for i, d := range t.Dims {
			if d.Size >= 0 && d.Name == "" && d.Size != v.shape[i] {
				return fmt.Sprintf("what is given has the shape %v", v.shape)
			}
		}
	}
	return ""
}

func (m *Model) engineFor(ctx context.Context, args []*Value) (*engine.Engine, error) {
	for _, v := range args {
		if v.t != nil && v.t.Engine() != nil {
			return v.t.Engine(), nil
		}
	}
	return engine.UseContext(ctx, m.opts.Device)
}

// key says which plan is for these inputs.
func (o *piece) key(ctx context.Context, e *engine.Engine, args []*Value) (string, error) {
	b := append(make([]byte, 0, 128), e.Name()...)
	for i, v := range args {
		b = strconv.AppendInt(append(b, ' '), int64(v.elem), 10)
		for _, n := range v.shape {
			b = strconv.AppendInt(append(b, ','), int64(n), 10)
		}
		if v.fixed > 0 {
			b = strconv.AppendInt(append(b, '#'), int64(v.fixed), 10)
			continue
		}
		if !o.decides(i, v) {
			continue
		}
		raw, err := o.elements(ctx, i, v)
		if err != nil {
			return "", err
		}
		v.raw = raw
		b = append(append(b, '='), raw...)
	}
	return string(b), nil
}

// elements are those of a small input. What the last run was given too, and nobody has assigned since, is not read again.
func (o *piece) elements(ctx context.Context, i int, v *Value) ([]byte, error) {
	if v.raw != nil || v.t == nil {
		return v.Bytes(ctx)
	}
	u := v.t.Node()
	o.mu.Lock()
	last := o.read[i]
	o.mu.Unlock()
	if last.node == u && engine.Current(u) == u {
		return last.raw, nil
	}
	raw, err := v.Bytes(ctx)
	if u = v.t.Node(); err == nil && leafOf(u).Op() == uop.Buffer {
		o.mu.Lock()
		o.read[i] = readInput{u, raw}
		o.mu.Unlock()
	}
	return raw, err
}

func (o *piece) find(key string) *planned {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.plans, func(p *planned) bool { return p.key == key })
	if i < 0 {
		return nil
	}
	p := o.plans[i]
	o.plans = slices.Insert(slices.Delete(o.plans, i, i+1), 0, p)
	return p
}

func (o *piece) keep(p *planned) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.plans = slices.Insert(o.plans, 0, p)
	o.plans = o.plans[:min(len(o.plans), mostPlans)]
}

// specialize has the values of small inputs decide about plans, and says whether that is something new. Only sizes, switches and their like do: other
// values are seldom the same again.
func (o *piece) specialize(need *needValue, args []*Value) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := false
	for _, i := range need.inputs {
		if count(args[i].shape) > need.most {
			return false
		}
		found = found || !o.special[i]
	}
	for _, i := range need.inputs {
		o.special[i] = true
	}
	return found
}

// decides says that the value of an input decides about the plan.
func (o *piece) decides(i int, v *Value) bool {
	if count(v.shape) > mostSpecial {
		return false
	}
	if o.at > 0 && v.known && v.raw != nil { // no other run finds another one
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.special[i]
}

// plan builds the graph for inputs of these shapes, up to where it needs a value, and captures it. A *needValue is that of inputs that decide from now on.
func (o *piece) plan(ctx context.Context, e *engine.Engine, key string, args []*Value) (*planned, error) {
	p := &planned{stop: len(o.g.nodes), end: len(o.g.nodes)}
	r := &runner{m: o.m, ctx: ctx, eng: e, trace: true, raws: map[*uop.UOp][]byte{}, slots: map[int]int{}}
	in := make([]*Value, len(args))
	var ins []*tensor.Tensor
	var stand []*uop.UOp
	for i, v := range args {
		if v.fixed > 0 {
			in[i] = v
			r.knows(v)
			continue
		}
		if v.raw != nil && o.decides(i, v) {
			in[i] = &Value{elem: v.elem, shape: v.shape, raw: v.raw, known: true}
			continue
		}
		u := uop.NewStandIn(v.elem.DType(), v.shape...)
		r.slots[u.Slot()], stand = i, append(stand, u)
		in[i] = &Value{elem: v.elem, shape: v.shape, t: tensor.FromNode(u, e)}
		t, err := v.place(e)
		if err != nil {
			return nil, err
		}
		p.args, ins = append(p.args, i), append(ins, t)
	}
	outs, err := r.top(o, in)
	var need *needValue
	if errors.As(err, &need) {
		if o.specialize(need, args) {
			return nil, need
		}
		p.stop, outs, err = r.whole.at, nil, nil
		for _, name := range o.behind(p.stop).ins {
			outs = append(outs, r.whole.get(name))
		}
	}
	if err != nil {
		return nil, err
	}
	if need != nil && need.long || len(ins) == 0 || r.random || slices.ContainsFunc(outs, func(v *Value) bool { return v.kind != IsTensor }) {
		return p, nil
	}
	nodes, err := p.sort(r, outs)
	if err != nil {
		return nil, err
	}
	if p.same = len(nodes) == 0; p.same {
		return p, nil
	}
	if p.instance = o.instance(e, key, stand, nodes); p.instance != nil {
		return p, nil
	}
	p.plan, err = tensor.Capture(ctx, filled(e, stand, nodes), ins...)
	return p, err
}

// sort says where outputs come from, and gives what has to be computed.
func (p *planned) sort(r *runner, outs []*Value) (nodes []*uop.UOp, err error) {
	for _, v := range outs {
		from := known
		switch {
		case v.elem == String, v.fixed > 0:
		case v.raw != nil:
			w := &Value{elem: v.elem, shape: v.shape, raw: v.raw, known: true}
			if count(v.shape) > mostSpecial {
				if w.t, err = w.place(r.eng); err != nil { // once for all runs
					return nil, err
				}
			}
			v = w
		case leafOf(v.t.Node()).Slot() != 0:
			from -= 1 + r.slots[v.t.Node().Slot()]
			v = &Value{elem: v.elem, shape: v.shape}
		case leafOf(v.t.Node()).Op() == uop.Buffer: // a constant in another shape
			v = &Value{elem: v.elem, shape: v.shape, t: v.t}
		default:
			from = len(nodes)
			nodes = append(nodes, v.t.Node())
			v = &Value{elem: v.elem, shape: v.shape}
		}
		p.outs, p.from = append(p.outs, v), append(p.from, from)
	}
	return nodes, nil
}

// place is the value as a tensor on a device.
func (v *Value) place(e *engine.Engine) (*tensor.Tensor, error) {
	if v.t != nil {
		var t *tensor.Tensor
		err := tensor.Try(func() {
			if t = v.t; t.Engine() == nil {
				t = t.On(e.Name())
			}
		})
		return t, err
	}
	u, err := e.FromBytes(v.elem.DType(), v.shape, v.raw)
	if err != nil {
		return nil, err
	}
	return tensor.FromNode(u, e), nil
}

// tensors are some of the values as tensors on a device.
func tensors(e *engine.Engine, which []int, vs []*Value) ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, len(which))
	var err error
	for i, n := range which {
		if out[i], err = vs[n].place(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *planned) run(ctx context.Context, e *engine.Engine, args []*Value) ([]*Value, error) {
	var ins, got []*tensor.Tensor
	var err error
	if !p.same {
		if ins, err = tensors(e, p.args, args); err != nil {
			return nil, err
		}
	}
	switch {
	case p.same:
	case p.instance != nil:
		if got, err = p.instance.run(ctx, e, ins); err != nil {
			return nil, err
		}
		for i, from := range p.from {
			if from >= 0 {
				got[from] = got[from].Reshape(p.outs[i].shape...)
			}
		}
	default:
		if got, err = p.plan.Run(ctx, ins...); err != nil {
			return nil, err
		}
	}
	outs := make([]*Value, len(p.outs))
	for i, v := range p.outs {
		switch from := p.from[i]; {
		case from >= 0:
			outs[i] = &Value{elem: v.elem, shape: v.shape, t: got[from]}
		case from == known:
			outs[i] = v
		case p.stop < p.end && slices.Equal(args[known-1-from].shape, v.shape): // no result: it stays where it lies
			own := *args[known-1-from]
			own.known = false
			outs[i] = &own
		default:
			in, err := args[known-1-from].place(e)
			if err != nil {
				return nil, err
			}
			outs[i] = &Value{elem: v.elem, shape: v.shape, t: in.Reshape(v.shape...)}
		}
	}
	return outs, nil
}

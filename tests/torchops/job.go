package torchops

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// device is where cases run.
type device struct {
	*engine.Engine
	ctx context.Context
}

// input copies a Ref to the device.
func (d *device) input(r *Ref) *tensor.Tensor {
	t, ok := dtype.Parse(r.DType)
	if !ok {
		panic(&missingType{r.DType})
	}
	u, err := d.FromBytes(t, r.Shape, r.Bytes)
	if err != nil {
		panic(&callError{err})
	}
	return tensor.FromNode(u, d.Engine)
}

// read gives a realized node's elements.
func (d *device) read(u *uop.UOp) (array, error) {
	a := array{u.DType(), u.Shape(), make([]byte, u.Shape().Numel()*u.DType().Size())}
	return a, d.Read(d.ctx, u, a.bytes)
}

// own is the node to realize for t. A constant, whose node all devices share, is assigned to a buffer of this one.
func (d *device) own(t *tensor.Tensor) *uop.UOp {
	for _, u := range uop.Topo(t.Node()) {
		if u.Op() == uop.Buffer {
			return t.Node()
		}
	}
	u, err := d.Empty(t.DType(), t.Shape())
	if err != nil {
		panic(&callError{err})
	}
	return tensor.FromNode(u, d.Engine).Assign(tensor.FromNode(t.Node(), d.Engine)).Node()
}

// complexTensor marks an output as complex: its last axis is (real, imaginary).
type complexTensor struct{ *tensor.Tensor }

// leaf is one array that a case must produce.
type leaf struct {
	path string
	node *uop.UOp
	want array
	rule rule
}

// job is a case whose graph is built.
type job struct {
	c      *Case
	dev    *device
	leaves []leaf
	whole  []leaf // outputs that are only tested by Check
}

// Status is what became of a case.
type Status uint8

// The outcomes.
const (
	Passed Status = iota
	Failed
	NotYet
)

// Result is the outcome of one case.
type Result struct {
	Case   *Case
	Status Status
	Reason string
}

func failed(c *Case, format string, a ...any) *Result {
	return &Result{c, Failed, fmt.Sprintf(format, a...)}
}

// prepare builds the graph of a case. It gives either a job or the result.
func (d *device) prepare(c *Case) (j *job, r *Result) {
	row, ok := lookUp(c.Op)
	if !ok {
		return nil, &Result{c, NotYet, "no such op"}
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *missingType:
			j, r = nil, &Result{c, NotYet, p.Error()}
		case *bindError:
			j, r = nil, failed(c, "%v", p)
		default:
			j, r = nil, failed(c, "panic: %v\n%s", p, stack())
		}
	}()
	var out []any
	var call *call
	inputs := map[string]*tensor.Tensor{}
	err := attempt(func() {
		call = d.bind(c, row, inputs)
		out = row.run(call)
	})
	switch {
	case err != nil && c.Fail:
		return nil, &Result{c, Passed, ""}
	case err != nil:
		return nil, refused(c, err)
	case c.Fail:
		return nil, d.mustFail(c, out)
	}
	j = &job{c: c, dev: d}
	var outs []*tensor.Tensor
	if r := j.addOutputs(out, &outs); r != nil {
		return nil, r
	}
	if r := j.addAfter(call); r != nil {
		return nil, r
	}
	if err := attempt(func() { r = d.addGradients(j, outs, inputs) }); err != nil {
		return nil, failed(c, "gradient: %v", err)
	}
	return j, r
}

// attempt runs f and gives the typed errors of building graphs, and errors of the world.
func attempt(f func()) (err error) {
	defer func() {
		p := recover()
		if e, ok := p.(*callError); ok {
			err = e
		} else if p != nil {
			panic(p)
		}
	}()
	return tensor.Try(f)
}

func stack() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") {
			lines = lines[i+2:]
			break
		}
	}
	return strings.Join(lines[:min(12, len(lines))], "\n")
}

// bind decodes the arguments and gives them their names.
func (d *device) bind(c *Case, row op, inputs map[string]*tensor.Tensor) *call {
	c.walkRefs(func(path string, r *Ref) { inputs[path] = d.input(r) })
	args := make([]any, len(c.Args))
	for i, v := range c.Args {
		args[i] = place(fmt.Sprint(i), v, inputs)
	}
	kwargs := make(map[string]any, len(c.Kwargs))
	for key, v := range c.Kwargs {
		kwargs[key] = place(key, v, inputs)
	}
	call := bind(c.Op, parseSignature(row.signature), args, kwargs)
	call.dev = d
	return call
}

// place puts the input tensors where the Refs are.
func place(path string, v any, inputs map[string]*tensor.Tensor) any {
	switch v := v.(type) {
	case *Ref:
		return operand{inputs[path], v.Complex}
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = place(fmt.Sprintf("%s.%d", path, i), x, inputs)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, x := range v {
			out[key] = place(path+"."+key, x, inputs)
		}
		return out
	}
	return v
}

// mustFail computes the outputs of a call that has not failed yet and should.
func (d *device) mustFail(c *Case, out []any) *Result {
	var err error
	for _, v := range out {
		if t, ok := v.(*tensor.Tensor); ok && err == nil {
			own := d.own(t)
			if err = d.Realize(d.ctx, own); err == nil {
				_, err = d.read(own) // what values tell comes to who reads them
			}
		}
	}
	if err != nil {
		return &Result{c, Passed, ""}
	}
	return failed(c, "no error; torch: %s", c.Note)
}

// addGradients differentiates Σ out·cot with respect to the inputs that have a recorded gradient.
func (d *device) addGradients(j *job, outs []*tensor.Tensor, inputs map[string]*tensor.Tensor) *Result {
	c := j.c
	if len(c.Grads) == 0 {
		return nil
	}
	var loss *tensor.Tensor
	for i, v := range c.Cot {
		ref, ok := v.(*Ref)
		if !ok {
			continue
		}
		part := outs[i].Mul(d.input(ref)).Sum().To(dtype.F32) // the value is never computed
		if loss == nil {
			loss = part
		} else {
			loss = loss.Add(part)
		}
	}
	if loss == nil {
		return failed(c, "gradients without an upstream gradient")
	}
	paths := sorted(c.Grads)
	var wrt []*uop.UOp
	for _, path := range paths {
		if inputs[path] == nil {
			return failed(c, "gradient of %s, which is no input", path)
		}
		wrt = append(wrt, inputs[path].Node())
	}
	for i, g := range grad.Of(loss.Node(), uop.NewInt(dtype.F32, 1), wrt...) {
		want, _ := hostArray(c.Grads[paths[i]])
		if err := sameForm(array{g.DType(), g.Shape(), nil}, want, rule{}); err != nil {
			return failed(c, "gradient of %s: %v", paths[i], err)
		}
		own := d.own(tensor.FromNode(g, d.Engine))
		j.leaves = append(j.leaves, leaf{"gradient of " + paths[i], own, want, rule{rtol: c.GRTol, atol: c.GATol}})
	}
	return nil
}

// finish compares a job whose nodes are realized.
func (d *device) finish(j *job) *Result {
	for _, l := range j.leaves {
		got, err := d.read(l.node)
		if err == nil {
			err = compare(got, l.want, l.rule)
		}
		if err != nil {
			return failed(j.c, "%s: %v", l.path, err)
		}
	}
	if len(j.c.Check) > 0 {
		if err := d.checkWhole(j); err != nil {
			return failed(j.c, "%v", err)
		}
	}
	return &Result{j.c, Passed, ""}
}

func (d *device) checkWhole(j *job) error {
	var ref *Ref
	j.c.walkRefs(func(path string, r *Ref) { ref = r })
	if ref == nil || len(j.whole) == 0 {
		return fmt.Errorf("the checks need an input and outputs")
	}
	in, _ := hostArray(ref)
	var got, want []array
	for _, l := range j.whole {
		a, err := d.read(l.node)
		if err != nil {
			return fmt.Errorf("%s: %w", l.path, err)
		}
		got, want = append(got, a), append(want, l.want)
	}
	for _, name := range j.c.Check {
		if err := check(name, in, got, want, j.whole[0].rule); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

package nn

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Optimizer changes the parameters of a model against the gradients of a loss. What its steps depend on,
// the learning rate among it, lies on the device, so that no step needs a kernel that the one before
// it did not have. Its own state is saved and loaded like that of a model.
type Optimizer struct {
	Rate  *tensor.Tensor              // the learning rate, a scalar; SetRate changes it, also to 0, which the settings take for their default
	Count *tensor.Tensor              // how many steps were taken, a scalar
	Slots map[string][]*tensor.Tensor // what it remembers of each parameter

	// Clip changes the gradients of each step before anything else does, as the method Apply of a Clip; nil: as they are.
	Clip func(grads []*tensor.Tensor) []*tensor.Tensor

	params []*tensor.Tensor `weft:"-"`
	model  []*tensor.Tensor `weft:"-"` // all tensors of the model, parameters among them
	next   Rule             `weft:"-"`
}

// A Rule gives the new value of a parameter, as a graph, and keeps what it remembers in the slots of c. See NewOptimizer.
type Rule func(c *Change) *tensor.Tensor

// Change is one parameter within one step of an optimiser.
type Change struct {
	Parameter, Gradient *tensor.Tensor
	Rate                *tensor.Tensor // the learning rate, a scalar of the parameter's type
	Count               *tensor.Tensor // of steps, a scalar: 1 in the first; float32, of a float64 parameter float64, as narrow floats cannot count far
	Index               int            // of the parameter among Params
	slots               map[string][]*tensor.Tensor
	unbiased            map[float64]*tensor.Tensor // see unbias; of all parameters of the type
}

// Slot is what is remembered under a name, as it was after the last step: zeros at first.
func (c *Change) Slot(name string) *tensor.Tensor {
	s, ok := c.slots[name]
	if !ok {
		panic(&tensor.ArgumentError{Op: "Slot", Reason: "the optimiser was made without a slot " + name, At: tensor.Caller()})
	}
	return s[c.Index]
}

// Keep remembers v, of the parameter's shape, under a name in the type of the slot, which is the parameter's, and gives back what is remembered.
func (c *Change) Keep(name string, v *tensor.Tensor) *tensor.Tensor {
	slot := c.Slot(name)
	v = v.To(slot.DType())
	slot.Assign(v)
	return v
}

// RuleOptions are the settings of NewOptimizer.
type RuleOptions struct {
	Rate  float64  // learning rate; 0 means 1e-3
	Slots []string // names of what is remembered of each parameter: tensors of its shape and type that begin as zeros
}

// NewOptimizer makes an optimiser with a rule of one's own for the parameters of a model, and realizes the model. The rule is called for each
// parameter once a step, or once for all steps of a captured function:
//
//	sign, err := nn.NewOptimizer(ctx, model, func(c *nn.Change) *tensor.Tensor {
//		m := c.Keep("mean", c.Slot("mean").Lerp(c.Gradient, 0.1))
//		return c.Parameter.Sub(m.Sign().Mul(c.Rate))
//	}, nn.RuleOptions{Rate: 1e-4, Slots: []string{"mean"}})
func NewOptimizer(ctx context.Context, model any, next Rule, o RuleOptions) (*Optimizer, error) {
	if err := checked("NewOptimizer", number("Rate", o.Rate)); err != nil {
		return nil, err
	}
	return newOptimizer(ctx, model, or(o.Rate, 1e-3), o.Slots, next)
}

// newOptimizer makes an optimiser for the parameters of a model, with named slots that begin as zeros. It
// realizes the model.
func newOptimizer(ctx context.Context, model any, rate float64, slots []string, next Rule) (*Optimizer, error) {
	o := &Optimizer{Slots: map[string][]*tensor.Tensor{}, params: Parameters(model), next: next}
	if len(o.params) == 0 {
		return nil, fmt.Errorf("nn: nothing to train: %T has no exported tensors of float type", model)
	}
	for _, p := range o.params {
		p.RequireGrad()
	}
	if err := Realize(ctx, model); err != nil {
		return nil, fmt.Errorf("nn: realize the model: %w", err)
	}
	for _, s := range State(model) {
		o.model = append(o.model, s.Tensor)
	}
	wide := dtype.F32
	for _, p := range o.params {
		if p.DType() == dtype.F64 {
			wide = dtype.F64
		}
	}
	at := o.params[0].Device()
	o.Rate = tensor.Full(rate, wide).On(at)
	o.Count = tensor.Full(0, wide).On(at)
	for _, name := range slots {
		for _, p := range o.params {
			o.Slots[name] = append(o.Slots[name], tensor.ZerosLike(p).On(p.Device()))
		}
	}
	if err := Realize(ctx, o); err != nil {
		return nil, fmt.Errorf("nn: make the state of the optimiser: %w", err)
	}
	return o, nil
}

// Params are the parameters that the optimiser trains.
func (o *Optimizer) Params() []*tensor.Tensor { return o.params }

// Step takes one step against the gradients of loss, a scalar. The loss, its gradients, the parameters, the
// state of the optimiser and whatever else the model assigned on the way are computed together, as one
// plan. Other tensors that were built on the parameters cannot be computed afterwards, as these have new
// elements: those to be read, such as parts of the loss, are computed with it. What is wrong with the graph of the loss panics, as in Update. A step that could not be
// computed stays assigned: what reads the parameters next carries it out, if the reason is gone.
//
//	opt.Update(loss)
//	err := opt.Realize(ctx, loss, part)
func (o *Optimizer) Step(ctx context.Context, loss *tensor.Tensor) error {
	o.Update(loss)
	return o.Realize(ctx, loss)
}

// Update is Step without computing: it assigns lazily. It is for captured functions, which compute all that
// they assign. A loss that depends on none of the parameters is an *ArgumentError. Where it depends on some of them, the others have the
// gradient 0, so that weight decay and momentum still move them, where PyTorch leaves them as they are; Select makes an optimiser without them.
func (o *Optimizer) Update(loss *tensor.Tensor) { o.Apply(slopes(loss, o.params)) }

// slopes are the gradients of a loss that depends on one of the parameters at least.
func slopes(loss *tensor.Tensor, params []*tensor.Tensor) []*tensor.Tensor {
	grads, reached := loss.GradReached(params...)
	if !slices.Contains(reached, true) {
		panic(&tensor.ArgumentError{Op: "Update", Reason: fmt.Sprintf("the loss depends on none of the optimiser's %d parameters, so nothing would be trained; "+
			"make the optimiser for the model that the loss is computed with, without Detach, integers, comparisons, Sign or Round on the way", len(params)), At: tensor.Caller()})
	}
	return grads
}

// Apply assigns new values to the parameters, lazily, given a gradient for each in the order of Params.
func (o *Optimizer) Apply(grads []*tensor.Tensor) {
	if len(grads) != len(o.params) {
		panic(&tensor.ArgumentError{Op: "Apply", Reason: fmt.Sprintf("%d gradients for %d parameters", len(grads), len(o.params)), At: tensor.Caller()})
	}
	if o.Clip != nil {
		grads = o.Clip(grads)
	}
	o.Count.Assign(o.Count.Add(1))
	values := make([]*tensor.Tensor, len(o.params))
	same := map[dtype.DType]Change{} // what parameters of a type have in common
	for i, p := range o.params {
		d := p.DType()
		c, ok := same[d]
		if !ok {
			c = Change{Rate: o.Rate.To(d), Count: o.Count.To(dtype.Accumulator(d)), slots: o.Slots, unbiased: map[float64]*tensor.Tensor{}}
			same[d] = c
		}
		c.Parameter, c.Gradient, c.Index = p, grads[i].To(d), i
		values[i] = o.next(&c)
	}
	// All at once: a rule may read any parameter as it was.
	for i, p := range o.params {
		p.Assign(values[i].To(p.DType()))
	}
}

// Collected are the gradients that Backward has added up for the parameters, in the order of Params, zeros where it reached one not at
// all, and forgets them there: losses of several batches make one step.
//
//	for _, b := range batches { loss(b).Backward() }
//	opt.Apply(opt.Collected())
func (o *Optimizer) Collected() []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(o.params))
	for i, p := range o.params {
		if out[i] = p.Gradient(); out[i] == nil {
			out[i] = tensor.ZerosLike(p)
		}
		p.ClearGradient()
	}
	return out
}

// Realize computes what Update or Apply assigned, together with other tensors such as the loss.
func (o *Optimizer) Realize(ctx context.Context, others ...*tensor.Tensor) error {
	all := append([]*tensor.Tensor{}, others...)
	all = append(all, o.model...)
	all = append(all, o.Count)
	for _, s := range State(o.Slots) {
		all = append(all, s.Tensor)
	}
	return tensor.Realize(ctx, all...)
}

// SetRate changes the learning rate of the steps that follow, captured ones among them. Nothing is
// compiled anew. A rate that is negative or not finite is an error, as where an optimiser is made.
func (o *Optimizer) SetRate(ctx context.Context, rate float64) error {
	if err := checked("SetRate", number("rate", rate)); err != nil {
		return err
	}
	var raw []byte
	if o.Rate.DType() == dtype.F64 {
		raw = binary.LittleEndian.AppendUint64(nil, math.Float64bits(rate))
	} else {
		raw = binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(rate)))
	}
	return tensor.Realize(ctx, o.Rate.AssignBytes(raw))
}

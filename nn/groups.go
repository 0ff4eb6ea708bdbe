package nn

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/tensor"
)

// Groups are optimisers, each of its own kind, rate and settings for some of the parameters of a model, that step together: one gradient,
// one plan. Their state is saved and loaded as that of a model.
//
//	isMatrix := func(p nn.Named) bool { return p.Tensor.Rank() >= 2 }
//	muon, err := nn.NewMuon(ctx, nn.Select(model, isMatrix), nn.MuonOptions{})
//	adam, err := nn.NewAdamW(ctx, nn.Select(model, func(p nn.Named) bool { return !isMatrix(p) }), nn.AdamOptions{})
//	opt, err := nn.NewGroups(ctx, model, muon, adam)
type Groups struct {
	Optimizers []*Optimizer
	// Clip changes the gradients of all groups together, as the method Apply of a Clip; the optimisers' own follow. nil: as they are.
	Clip func(grads []*tensor.Tensor) []*tensor.Tensor

	model []*tensor.Tensor `weft:"-"`
}

// Select lists the parameters of a model for which keep is true.
func Select(model any, keep func(p Named) bool) []*tensor.Tensor {
	var out []*tensor.Tensor
	for _, s := range State(model) {
		if s.Parameter && keep(s) {
			out = append(out, s.Tensor)
		}
	}
	return out
}

// NewGroups joins optimisers for parameters of a model, which it realizes. No parameter may belong to two of them; one that belongs to none
// is not trained.
func NewGroups(ctx context.Context, model any, optimizers ...*Optimizer) (*Groups, error) {
	g := &Groups{Optimizers: optimizers}
	var names []string
	for _, s := range State(model) {
		g.model = append(g.model, s.Tensor)
		names = append(names, s.Name)
	}
	owner := map[*tensor.Tensor]int{}
	for i, o := range optimizers {
		for _, p := range o.params {
			at := slices.Index(g.model, p)
			if at < 0 {
				return nil, fmt.Errorf("nn: optimiser %d trains a parameter of shape %v that the model does not have", i, p.Shape())
			}
			if k, ok := owner[p]; ok {
				return nil, fmt.Errorf("nn: %s is trained by optimisers %d and %d", names[at], k, i)
			}
			owner[p] = i
		}
	}
	if len(owner) == 0 {
		return nil, fmt.Errorf("nn: nothing to train: no optimisers")
	}
	if err := Realize(ctx, model); err != nil {
		return nil, fmt.Errorf("nn: realize the model: %w", err)
	}
	return g, nil
}

// Params are the parameters that are trained, group by group.
func (g *Groups) Params() []*tensor.Tensor {
	var all []*tensor.Tensor
	for _, o := range g.Optimizers {
		all = append(all, o.params...)
	}
	return all
}

// Step takes one step of all optimisers against the gradients of loss, a scalar. All of it is computed together, as one plan.
func (g *Groups) Step(ctx context.Context, loss *tensor.Tensor) error {
	g.Update(loss)
	return g.Realize(ctx, loss)
}

// Update is Step without computing: it assigns lazily. It is for captured functions. A loss that depends on no parameter of any group is an
// *ArgumentError.
func (g *Groups) Update(loss *tensor.Tensor) { g.Apply(slopes(loss, g.Params())) }

// Apply assigns new values to the parameters, lazily, given a gradient for each in the order of Params.
func (g *Groups) Apply(grads []*tensor.Tensor) {
	if n := len(g.Params()); len(grads) != n {
		panic(&tensor.ArgumentError{Op: "Apply", Reason: fmt.Sprintf("%d gradients for %d parameters", len(grads), n), At: tensor.Caller()})
	}
	if g.Clip != nil {
		grads = g.Clip(grads)
	}
	for _, o := range g.Optimizers {
		o.Apply(grads[:len(o.params)])
		grads = grads[len(o.params):]
	}
}

// Collected is that of all optimisers.
func (g *Groups) Collected() []*tensor.Tensor {
	var all []*tensor.Tensor
	for _, o := range g.Optimizers {
		all = append(all, o.Collected()...)
	}
	return all
}

// Realize computes what Update or Apply assigned, together with other tensors such as the loss.
func (g *Groups) Realize(ctx context.Context, others ...*tensor.Tensor) error {
	all := append(slices.Clone(others), g.model...)
	for _, s := range State(g) {
		all = append(all, s.Tensor)
	}
	return tensor.Realize(ctx, all...)
}

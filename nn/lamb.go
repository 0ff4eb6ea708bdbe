package nn

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

// LAMBOptions are the settings of NewLAMB.
type LAMBOptions struct {
	Rate         float64 // learning rate; 0 means 1e-3
	Beta1, Beta2 float64 // how long gradients and their squares are remembered; 0 means 0.9 and 0.999; a negative number: not at all
	Eps          float64 // 0 means 1e-6; a negative number: 0
	Decay        float64 // weight decay
	Maximize     bool    // climb instead of descending
}

// NewLAMB makes the optimiser of You and others (2020, algorithm 2), which scales Adam's step of each parameter to the size of the
// parameter, for large batches. It realizes the model.
func NewLAMB(ctx context.Context, model any, o LAMBOptions) (*Optimizer, error) {
	b1, b2, eps := share(o.Beta1, 0.9), share(o.Beta2, 0.999), share(o.Eps, 1e-6)
	if err := checked("LAMB", number("Rate", o.Rate), remembered("Beta1", b1), remembered("Beta2", b2), number("Eps", eps), number("Decay", o.Decay)); err != nil {
		return nil, err
	}
	return newOptimizer(ctx, model, or(o.Rate, 1e-3), []string{"first", "second"}, func(c *Change) *tensor.Tensor {
		p, g := c.Parameter, decayed(c, 0, o.Maximize)
		first := c.Keep("first", mix(c.Slot("first"), g, b1)).Div(unbias(c, b1))
		second := c.Keep("second", mix(c.Slot("second"), g.Square(), b2)).Div(unbias(c, b2))
		step := first.Div(second.Sqrt().Add(eps))
		if o.Decay != 0 {
			step = step.Add(p.Mul(o.Decay))
		}
		return p.Sub(step.Mul(c.Rate.Mul(trust(p.Norm(2), step.Norm(2), 1))))
	})
}

// trust is scale·a/b, or 1 where one of them is 0.
func trust(a, b *tensor.Tensor, scale float64) *tensor.Tensor {
	known := a.Gt(0).LogicalAnd(b.Gt(0))
	return known.Where(a.Mul(scale).Div(known.Where(b, 1)), 1)
}

// LARSOptions are the settings of NewLARS.
type LARSOptions struct {
	Rate       float64 // learning rate; 0 means 1e-3
	Momentum   float64 // share of the last step that is kept; 0 means 0.9
	NoMomentum bool    // keep nothing of the last step
	Decay      float64 // weight decay, added to the gradient; 0 means 1e-4
	NoDecay    bool    // no weight decay
	Trust      float64 // the size of a step relative to that of the parameter; 0 means 1e-3
	Nesterov   bool    // look ahead along the momentum
	Maximize   bool    // climb instead of descending
}

// NewLARS makes the optimiser of You, Gitman and Ginsburg (2017, algorithm 1): stochastic gradient descent with momentum whose rate for
// each parameter is in proportion to the size of the parameter over that of its gradient. It realizes the model.
func NewLARS(ctx context.Context, model any, o LARSOptions) (*Optimizer, error) {
	momentum, decay, scale := or(o.Momentum, 0.9), or(o.Decay, 1e-4), or(o.Trust, 1e-3)
	if o.NoMomentum {
		momentum = 0
	}
	if o.NoDecay {
		decay = 0
	}
	if err := checked("LARS", number("Rate", o.Rate), number("Momentum", momentum), number("Decay", decay), number("Trust", scale)); err != nil {
		return nil, err
	}
	if o.Nesterov && momentum == 0 {
		return nil, fmt.Errorf("nn: LARS: Nesterov looks ahead along the momentum, and there is none")
	}
	var slots []string
	if momentum != 0 {
		slots = []string{"momentum"}
	}
	return newOptimizer(ctx, model, or(o.Rate, 1e-3), slots, func(c *Change) *tensor.Tensor {
		p, g := c.Parameter, decayed(c, 0, o.Maximize)
		size, slope := p.Norm(2), g.Norm(2)
		known := slope.Gt(0)
		local := trust(size, known.Where(slope.Add(size.Mul(decay)), 0), scale)
		step := g.Add(p.Mul(decay)).Mul(c.Rate.Mul(local))
		if momentum != 0 {
			m := c.Keep("momentum", c.Slot("momentum").Mul(momentum).Add(step))
			if o.Nesterov {
				step = step.Add(m.Mul(momentum))
			} else {
				step = m
			}
		}
		return p.Sub(step)
	})
}

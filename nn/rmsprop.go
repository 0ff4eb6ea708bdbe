package nn

import (
	"context"

	"github.com/weft-ml/weft/tensor"
)

// RMSPropOptions are the settings of NewRMSProp.
type RMSPropOptions struct {
	Rate     float64 // learning rate; 0 means 0.01
	Alpha    float64 // how long squares of gradients are remembered; 0 means 0.99; a negative number: not at all
	Eps      float64 // 0 means 1e-8; a negative number: 0
	Decay    float64 // weight decay, added to the gradient
	Momentum float64 // share of the last step that is kept
	Centered bool    // divide by the deviation of the gradients instead of their size
	Maximize bool    // climb instead of descending
}

// NewRMSProp makes the optimiser of Hinton (2012), which divides gradients by a running average of their size, for the
// parameters of a model, and realizes the model.
func NewRMSProp(ctx context.Context, model any, o RMSPropOptions) (*Optimizer, error) {
	alpha, eps := share(o.Alpha, 0.99), share(o.Eps, 1e-8)
	if err := checked("RMSProp", number("Rate", o.Rate), remembered("Alpha", alpha), number("Eps", eps), number("Momentum", o.Momentum), number("Decay", o.Decay)); err != nil {
		return nil, err
	}
	slots := []string{"square"}
	if o.Centered {
		slots = append(slots, "mean")
	}
	if o.Momentum != 0 {
		slots = append(slots, "momentum")
	}
	return newOptimizer(ctx, model, or(o.Rate, 0.01), slots, func(c *Change) *tensor.Tensor {
		g := decayed(c, o.Decay, o.Maximize)
		size := c.Keep("square", mix(c.Slot("square"), g.Square(), alpha))
		if o.Centered {
			size = size.Sub(c.Keep("mean", mix(c.Slot("mean"), g, alpha)).Square())
		}
		step := g.Div(size.Sqrt().Add(eps))
		if o.Momentum != 0 {
			step = c.Keep("momentum", c.Slot("momentum").Mul(o.Momentum).Add(step))
		}
		return c.Parameter.Sub(step.Mul(c.Rate))
	})
}

// mix is share·old + (1 − share)·new.
func mix(old, new *tensor.Tensor, share float64) *tensor.Tensor {
	return old.Mul(share).Add(new.Mul(1 - share))
}

// AdagradOptions are the settings of NewAdagrad.
type AdagradOptions struct {
	Rate      float64 // learning rate; 0 means 0.01
	RateDecay float64 // the rate of step t is divided by 1 + (t − 1)·RateDecay
	Decay     float64 // weight decay, added to the gradient
	Start     float64 // the sums of squares begin here
	Eps       float64 // 0 means 1e-10; a negative number: 0
	Maximize  bool    // climb instead of descending
}

// NewAdagrad makes the optimiser of Duchi, Hazan and Singer (2011), which divides gradients by the root of the sum of all their
// squares, for the parameters of a model, and realizes the model.
func NewAdagrad(ctx context.Context, model any, o AdagradOptions) (*Optimizer, error) {
	eps := share(o.Eps, 1e-10)
	if err := checked("Adagrad", number("Rate", o.Rate), number("RateDecay", o.RateDecay), number("Start", o.Start), number("Eps", eps), number("Decay", o.Decay)); err != nil {
		return nil, err
	}
	return newOptimizer(ctx, model, or(o.Rate, 0.01), []string{"sum"}, func(c *Change) *tensor.Tensor {
		g := decayed(c, o.Decay, o.Maximize)
		before := c.Slot("sum")
		if o.Start != 0 {
			before = c.Count.Eq(1).Where(o.Start, before)
		}
		sum := c.Keep("sum", before.Add(g.Square()).To(c.Parameter.DType()))
		rate := c.Rate.Div(c.Count.Sub(1).Mul(o.RateDecay).Add(1))
		return c.Parameter.Sub(g.Mul(rate).Div(sum.Sqrt().Add(eps)))
	})
}

// AdadeltaOptions are the settings of NewAdadelta.
type AdadeltaOptions struct {
	Rate     float64 // learning rate; 0 means 1
	Rho      float64 // how long squares are remembered; 0 means 0.9; a negative number: not at all
	Eps      float64 // 0 means 1e-6; a negative number: 0
	Decay    float64 // weight decay, added to the gradient
	Maximize bool    // climb instead of descending
}

// NewAdadelta makes the optimiser of Zeiler (2012), which scales gradients by the ratio of the sizes of past steps and past
// gradients, for the parameters of a model, and realizes the model.
func NewAdadelta(ctx context.Context, model any, o AdadeltaOptions) (*Optimizer, error) {
	rho, eps := share(o.Rho, 0.9), share(o.Eps, 1e-6)
	if err := checked("Adadelta", number("Rate", o.Rate), remembered("Rho", rho), number("Eps", eps), number("Decay", o.Decay)); err != nil {
		return nil, err
	}
	return newOptimizer(ctx, model, or(o.Rate, 1), []string{"square", "steps"}, func(c *Change) *tensor.Tensor {
		g := decayed(c, o.Decay, o.Maximize)
		square := c.Keep("square", mix(c.Slot("square"), g.Square(), rho))
		step := c.Slot("steps").Add(eps).Sqrt().Div(square.Add(eps).Sqrt()).Mul(g)
		c.Keep("steps", mix(c.Slot("steps"), step.Square(), rho))
		return c.Parameter.Sub(step.Mul(c.Rate))
	})
}

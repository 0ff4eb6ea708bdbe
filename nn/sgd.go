package nn

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

// SGDOptions are the settings of NewSGD.
type SGDOptions struct {
	Rate      float64 // learning rate; 0 means 1e-3
	Momentum  float64 // share of the last step that is kept
	Dampening float64 // share of the gradient that does not enter the momentum
	Decay     float64 // weight decay, added to the gradient
	Nesterov  bool    // look ahead along the momentum
	Maximize  bool    // climb instead of descending
}

// NewSGD makes an optimiser by stochastic gradient descent for the parameters of a model, and realizes the
// model.
func NewSGD(ctx context.Context, model any, o SGDOptions) (*Optimizer, error) {
	if err := checked("SGD", number("Rate", o.Rate), number("Momentum", o.Momentum), number("Decay", o.Decay)); err != nil {
		return nil, err
	}
	if o.Nesterov && o.Momentum == 0 {
		return nil, fmt.Errorf("nn: SGD: Nesterov looks ahead along the momentum, and Momentum is 0")
	}
	if o.Nesterov && o.Dampening != 0 {
		return nil, fmt.Errorf("nn: SGD: Nesterov looks ahead along the whole momentum, and Dampening is %v", o.Dampening)
	}
	var slots []string
	if o.Momentum != 0 {
		slots = []string{"momentum"}
	}
	return newOptimizer(ctx, model, or(o.Rate, 1e-3), slots, func(c *Change) *tensor.Tensor {
		g := decayed(c, o.Decay, o.Maximize)
		if o.Momentum != 0 {
			m := c.Slot("momentum").Mul(o.Momentum).Add(g.Mul(1 - o.Dampening))
			if o.Dampening != 0 { // the first step begins with the whole gradient
				m = c.Count.Eq(1).Where(g, m)
			}
			c.Keep("momentum", m)
			if g = m; o.Nesterov {
				g = decayed(c, o.Decay, o.Maximize).Add(m.Mul(o.Momentum))
			}
		}
		return c.Parameter.Sub(g.Mul(c.Rate))
	})
}

// decayed is the gradient to descend along, with weight decay in it.
func decayed(c *Change, decay float64, maximize bool) *tensor.Tensor {
	g := c.Gradient
	if maximize {
		g = g.Neg()
	}
	if decay != 0 {
		g = g.Add(c.Parameter.Mul(decay))
	}
	return g
}

// share is or of a number that may be 0 on purpose: negative numbers stand for that.
func share(v, otherwise float64) float64 { return max(or(v, otherwise), 0) }

// or is v, or what stands for a field that was left 0.
func or(v, otherwise float64) float64 {
	if v == 0 {
		return otherwise
	}
	return v
}

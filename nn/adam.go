package nn

import (
	"context"
	"math"

	"github.com/weft-ml/weft/tensor"
)

// AdamOptions are the settings of NewAdam and NewAdamW.
type AdamOptions struct {
	Rate         float64 // learning rate; 0 means 1e-3
	Beta1, Beta2 float64 // how long gradients and their squares are remembered; 0 means 0.9 and 0.999; a negative number: not at all
	Eps          float64 // 0 means 1e-8; a negative number: 0
	Decay        float64 // weight decay; 0 means none for NewAdam and 0.01 for NewAdamW
	NoDecay      bool    // NewAdamW without weight decay
	AMSGrad      bool    // divide by the largest second moment so far
	Maximize     bool    // climb instead of descending
}

// NewAdam makes the optimiser of Kingma and Ba (2015) for the parameters of a model, and realizes the
// model. Weight decay is added to the gradient.
func NewAdam(ctx context.Context, model any, o AdamOptions) (*Optimizer, error) {
	return newAdam(ctx, model, o, false)
}

// NewAdamW is NewAdam with weight decay apart from the gradient (Loshchilov and Hutter, 2019).
func NewAdamW(ctx context.Context, model any, o AdamOptions) (*Optimizer, error) {
	o.Decay = or(o.Decay, 0.01)
	if o.NoDecay {
		o.Decay = 0
	}
	return newAdam(ctx, model, o, true)
}

func newAdam(ctx context.Context, model any, o AdamOptions, apart bool) (*Optimizer, error) {
	b1, b2, eps := share(o.Beta1, 0.9), share(o.Beta2, 0.999), share(o.Eps, 1e-8)
	name := "Adam"
	if apart {
		name = "AdamW"
	}
	if err := checked(name, number("Rate", o.Rate), remembered("Beta1", b1), remembered("Beta2", b2), number("Eps", eps), number("Decay", o.Decay)); err != nil {
		return nil, err
	}
	slots := []string{"first", "second"}
	if o.AMSGrad {
		slots = append(slots, "largest")
	}
	return newOptimizer(ctx, model, or(o.Rate, 1e-3), slots, func(c *Change) *tensor.Tensor {
		p, g := c.Parameter, c.Gradient
		if o.Maximize {
			g = g.Neg()
		}
		if apart && o.Decay != 0 {
			p = p.Sub(p.Mul(c.Rate.Mul(o.Decay)))
		} else if o.Decay != 0 {
			g = g.Add(p.Mul(o.Decay))
		}
		first := c.Keep("first", c.Slot("first").Mul(b1).Add(g.Mul(1-b1)))
		second := c.Keep("second", c.Slot("second").Mul(b2).Add(g.Mul(g).Mul(1-b2)))
		if o.AMSGrad {
			second = c.Keep("largest", c.Slot("largest").Maximum(second))
		}
		// The sums begin at 0; dividing by 1 − βᵗ takes that out.
		root := second.Sqrt().Div(unbias(c, b2).Sqrt()).Add(eps)
		return p.Sub(first.Mul(c.Rate.Div(unbias(c, b1))).Div(root))
	})
}

// unbias is 1 − βᵗ, exact to the last bits also for small t.
func unbias(c *Change, beta float64) *tensor.Tensor {
	v := c.unbiased[beta]
	if v == nil {
		v = c.Count.Mul(math.Log(beta)).Expm1().Neg()
		c.unbiased[beta] = v
	}
	return v
}

package nn

import (
	"context"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// MomentOptions are the settings of NewAdamax, NewNAdam and NewRAdam.
type MomentOptions struct {
	Rate          float64 // learning rate; 0 means 1e-3, for NewAdamax and NewNAdam 2e-3
	Beta1, Beta2  float64 // how long gradients and their sizes are remembered; 0 means 0.9 and 0.999; a negative number: not at all
	Eps           float64 // 0 means 1e-8; a negative number: 0
	Decay         float64 // weight decay
	Apart         bool    // take the weight decay apart from the gradient, as NewAdamW does
	MomentumDecay float64 // NewNAdam: how fast the momentum comes to Beta1; 0 means 0.004; a negative number: it stays at Beta1/2
	Maximize      bool    // climb instead of descending
}

// filled has the defaults and is checked.
func (o MomentOptions) filled(optimiser string) (MomentOptions, error) {
	o.Beta1, o.Beta2, o.Eps = share(o.Beta1, 0.9), share(o.Beta2, 0.999), share(o.Eps, 1e-8)
	o.MomentumDecay = share(o.MomentumDecay, 0.004)
	return o, checked(optimiser, number("Rate", o.Rate), remembered("Beta1", o.Beta1), remembered("Beta2", o.Beta2), number("Eps", o.Eps),
		number("Decay", o.Decay), number("MomentumDecay", o.MomentumDecay))
}

// begin gives the parameter and the gradient with the weight decay in one of them.
func (o MomentOptions) begin(c *Change) (p, g *tensor.Tensor) {
	if !o.Apart {
		return c.Parameter, decayed(c, o.Decay, o.Maximize)
	}
	g = decayed(c, 0, o.Maximize)
	if o.Decay == 0 {
		return c.Parameter, g
	}
	return c.Parameter.Sub(c.Parameter.Mul(c.Rate.Mul(o.Decay))), g
}

// NewAdamax makes the variant of Adam that divides by the largest recent gradient (Kingma and Ba, 2015) for the parameters
// of a model, and realizes the model.
func NewAdamax(ctx context.Context, model any, o MomentOptions) (*Optimizer, error) {
	o, err := o.filled("Adamax")
	if err != nil {
		return nil, err
	}
	return newOptimizer(ctx, model, or(o.Rate, 2e-3), []string{"first", "largest"}, func(c *Change) *tensor.Tensor {
		p, g := o.begin(c)
		first := c.Keep("first", mix(c.Slot("first"), g, o.Beta1))
		largest := c.Keep("largest", c.Slot("largest").Mul(o.Beta2).Maximum(g.Abs().Add(o.Eps)))
		return p.Sub(first.Mul(c.Rate.Div(unbias(c, o.Beta1))).Div(largest))
	})
}

// NewNAdam makes Adam with Nesterov's momentum (Dozat, 2016) for the parameters of a model, and realizes the model.
func NewNAdam(ctx context.Context, model any, o MomentOptions) (*Optimizer, error) {
	o, err := o.filled("NAdam")
	if err != nil {
		return nil, err
	}
	momentum := func(t *tensor.Tensor) *tensor.Tensor { // Beta1·(1 − 0.96^(t·decay)/2)
		return t.Mul(o.MomentumDecay * math.Log(0.96)).Exp().Mul(-0.5).Add(1).Mul(o.Beta1)
	}
	all, err := newOptimizer(ctx, model, or(o.Rate, 2e-3), []string{"first", "second", "products"}, func(c *Change) *tensor.Tensor {
		p, g := o.begin(c)
		now, next := momentum(c.Count), momentum(c.Count.Add(1))
		// The product of all momenta so far is one number, kept as logarithms that begin at 0.
		logs := c.Keep("products", c.Slot("products").Add(now.Log()))
		product := logs.Exp()
		first := c.Keep("first", mix(c.Slot("first"), g, o.Beta1))
		second := c.Keep("second", mix(c.Slot("second"), g.Square(), o.Beta2))
		root := second.Div(unbias(c, o.Beta2)).Sqrt().Add(o.Eps)
		ahead := g.Mul(now.RSub(1)).Div(product.RSub(1)).Add(first.Mul(next).Div(product.Mul(next).RSub(1)))
		return p.Sub(ahead.Mul(c.Rate).Div(root))
	})
	if err != nil {
		return nil, err
	}
	for i, p := range all.params { // narrow floats would lose the sum of logarithms
		if wide := dtype.Accumulator(p.DType()); wide != p.DType() {
			all.Slots["products"][i] = tensor.ZerosLike(p).To(wide).On(p.Device())
		}
	}
	return all, Realize(ctx, all)
}

// NewRAdam makes Adam that waits until the size of gradients is known well enough to divide by (Liu and others, 2020), for the
// parameters of a model, and realizes the model.
func NewRAdam(ctx context.Context, model any, o MomentOptions) (*Optimizer, error) {
	o, err := o.filled("RAdam")
	if err != nil {
		return nil, err
	}
	limit := 2/(1-o.Beta2) - 1
	return newOptimizer(ctx, model, or(o.Rate, 1e-3), []string{"first", "second"}, func(c *Change) *tensor.Tensor {
		p, g := o.begin(c)
		first := c.Keep("first", mix(c.Slot("first"), g, o.Beta1))
		second := c.Keep("second", mix(c.Slot("second"), g.Square(), o.Beta2))
		bias := unbias(c, o.Beta2)
		length := c.Count.Mul(bias.RSub(1)).Mul(2).Div(bias).RSub(limit) // of the average, in steps
		known := length.Gt(5)
		l := known.Where(length, limit)
		share := l.Sub(4).Mul(l.Sub(2)).Mul(limit).Div(l.Mul((limit - 4) * (limit - 2)))
		factor := known.Where(share.Mul(bias).Sqrt().Div(second.Sqrt().Add(o.Eps)), 1)
		return p.Sub(first.Mul(c.Rate.Div(unbias(c, o.Beta1))).Mul(factor))
	})
}

package nn

import (
	"context"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// RpropOptions are the settings of NewRprop.
type RpropOptions struct {
	Rate     float64 // the first step of each element; 0 means 0.01
	Shrink   float64 // what steps are multiplied by where the sign of the gradient has changed; 0 means 0.5
	Grow     float64 // and where it has not; 0 means 1.2
	Least    float64 // the smallest step; 0 means 1e-6; a negative number: 0
	Most     float64 // the largest step; 0 means 50
	Maximize bool    // climb instead of descending
}

// NewRprop makes the optimiser of Riedmiller and Braun (1993) for the parameters of a model, and realizes the model. It looks at the signs of
// gradients only, and each element has a step of its own; so it is for gradients of all examples, not of batches.
func NewRprop(ctx context.Context, model any, o RpropOptions) (*Optimizer, error) {
	shrink, grow, least, most := or(o.Shrink, 0.5), or(o.Grow, 1.2), share(o.Least, 1e-6), or(o.Most, 50)
	if err := checked("Rprop", number("Rate", o.Rate), remembered("Shrink", shrink), number("Grow", grow), number("Least", least)); err != nil {
		return nil, err
	}
	return newOptimizer(ctx, model, or(o.Rate, 0.01), []string{"gradient", "step"}, func(c *Change) *tensor.Tensor {
		g := decayed(c, 0, o.Maximize)
		turn := g.Mul(c.Slot("gradient")).Sign()
		factor := turn.Gt(0).Where(grow, turn.Lt(0).Where(shrink, tensor.Full(1, dtype.Accumulator(g.DType()))))
		step := c.Keep("step", c.Count.Eq(1).Where(c.Rate, c.Slot("step")).Mul(factor).Clamp(least, most))
		g = c.Keep("gradient", turn.Lt(0).Where(0, g))
		return c.Parameter.Sub(g.Sign().Mul(step))
	})
}

// ASGDOptions are the settings of NewASGD.
type ASGDOptions struct {
	Rate     float64 // learning rate; 0 means 0.01
	Shrink   float64 // how much parameters shrink, and with Power the rate falls; 0 means 1e-4; a negative number: not at all
	Power    float64 // of the number of steps, by which the rate falls; 0 means 0.75; a negative number: it stays
	Start    float64 // after how many steps averaging begins; 0 means 1e6; a negative number: at once
	Decay    float64 // weight decay, added to the gradient
	Maximize bool    // climb instead of descending
}

// NewASGD makes gradient descent with the averages of Polyak and Juditsky (1992) for the parameters of a model, and realizes the model. The
// averages are the slot "mean": whoever evaluates the model takes them.
func NewASGD(ctx context.Context, model any, o ASGDOptions) (*Optimizer, error) {
	shrink, power, start := share(o.Shrink, 1e-4), share(o.Power, 0.75), share(o.Start, 1e6)
	if err := checked("ASGD", number("Rate", o.Rate), number("Shrink", shrink), number("Start", start), number("Decay", o.Decay)); err != nil {
		return nil, err
	}
	return newOptimizer(ctx, model, or(o.Rate, 0.01), []string{"mean"}, func(c *Change) *tensor.Tensor {
		before := c.Count.Sub(1)
		rate := c.Rate.Mul(before.Mul(c.Rate).Mul(shrink).Add(1).Pow(-power))
		p := c.Parameter.Mul(rate.Mul(-shrink).Add(1)).Sub(decayed(c, o.Decay, o.Maximize).Mul(rate))
		mean := c.Slot("mean")
		c.Keep("mean", mean.Add(p.Sub(mean).Div(before.Sub(start).Maximum(1))))
		return p
	})
}

// AdafactorOptions are the settings of NewAdafactor.
type AdafactorOptions struct {
	Rate     float64 // learning rate, of parameters of size 1; 0 means 0.01
	Power    float64 // how fast averages of squares forget less: the share of the new ones is the number of steps to it; 0 means −0.8; a positive number: 0, squares of earlier gradients do not count
	Eps      float64 // the least root of an average of squares; 0 means the precision of the parameter's type; a negative number: 0
	Least    float64 // the least size that a parameter counts as; 0 means 1e-3; a negative number: 0
	Clip     float64 // the size that updates are scaled down to; 0 means 1
	Decay    float64 // weight decay, apart from the gradient
	Maximize bool    // climb instead of descending
}

// NewAdafactor makes the optimiser of Shazeer and Stern (2018) for the parameters of a model, and realizes the model. Of the squares of a
// matrix's gradients it remembers averages of rows and of columns only, of one with more axes those of the matrices in the last two.
func NewAdafactor(ctx context.Context, model any, o AdafactorOptions) (*Optimizer, error) {
	power, least, clip, rate := -share(-o.Power, 0.8), share(o.Least, 1e-3), or(o.Clip, 1), or(o.Rate, 0.01)
	if err := checked("Adafactor", number("Rate", rate), number("Least", least), number("Clip", clip), number("Decay", o.Decay)); err != nil {
		return nil, err
	}
	all, err := newOptimizer(ctx, model, rate, nil, func(c *Change) *tensor.Tensor {
		eps := share(o.Eps, math.Ldexp(1, 1-c.Parameter.DType().Digits()))
		g, share := decayed(c, 0, o.Maximize), c.Count.Pow(power)
		mixed := func(name string, v *tensor.Tensor) *tensor.Tensor { return c.Keep(name, c.Slot(name).Lerp(v, share)) }
		var squares *tensor.Tensor
		if g.Rank() < 2 {
			squares = mixed("rows", g.Square())
		} else {
			rows, columns := mixed("rows", g.Square().MeanKeep(-1)), mixed("columns", g.Square().MeanKeep(-2))
			squares = rows.MatMul(columns).Div(rows.MeanKeep(-2).Clamp(eps, nil))
		}
		size := func(x *tensor.Tensor) *tensor.Tensor { return x.Square().Mean().Sqrt() }
		step := squares.Clamp(eps*eps, nil).Rsqrt().Mul(g)
		scale := c.Rate.Minimum(c.Count.Rsqrt()).Mul(size(c.Parameter).Maximum(least)).Div(size(step).Div(clip).Maximum(1))
		return c.Parameter.Mul(c.Rate.Mul(-o.Decay).Add(1)).Sub(step.Mul(scale))
	})
	if err != nil {
		return nil, err
	}
	for _, p := range all.params {
		rows, columns := p, tensor.Zeros(1)
		if p.Rank() >= 2 {
			rows, columns = p.MeanKeep(-1), p.MeanKeep(-2)
		}
		all.Slots["rows"] = append(all.Slots["rows"], tensor.ZerosLike(rows).On(p.Device()))
		all.Slots["columns"] = append(all.Slots["columns"], tensor.ZerosLike(columns).On(p.Device()))
	}
	return all, Realize(ctx, all)
}

package main

import "github.com/weft-ml/weft/tensor"

// Operations of one name that are several functions of package tensor, by their options.

// last are the sizes of the last axes; nothing is the last one.
func (c *call) last(x one, shape []int) []int {
	if len(shape) > 0 || x.Rank() == 0 {
		return shape
	}
	return []int{x.Dim(-1)}
}

// over takes the axes of a norm, of which the shape of the last ones is no part.
func (c *call) over(shape []int) []int {
	axes := c.integers()
	if len(axes) > 0 && len(shape) > 0 {
		c.fail("takes the shape of the last axes, or axes, not both")
	}
	return axes
}

func opLayerNorm(c *call) one {
	x, shape, w, b, eps := c.tensor(), c.integers(), c.tensor(), c.tensor(), c.number()
	if axes := c.over(shape); len(axes) > 0 {
		return x.LayerNormAlong(axes, w, b, eps)
	}
	return x.LayerNorm(w, b, eps, c.last(x, shape)...)
}

func opRmsNorm(c *call) one {
	x, shape, w, eps := c.tensor(), c.integers(), c.tensor(), c.number()
	if axes := c.over(shape); len(axes) > 0 {
		return x.RMSNormAlong(axes, w, eps)
	}
	return x.RMSNorm(w, eps, c.last(x, shape)...)
}

func opBatchNorm(c *call) one {
	x, mean, variance, w, b, eps := c.tensor(), c.tensor(), c.tensor(), c.tensor(), c.tensor(), c.number()
	if axes := c.integers(); len(axes) > 0 {
		return x.BatchNormAlong(axes, mean, variance, w, b, eps)
	}
	return x.BatchNorm(mean, variance, w, b, eps)
}

// opHardSigmoid is exact at its limits without options, which round alpha.
func opHardSigmoid(c *call) one {
	x, alpha, beta := c.tensor(), c.number(), c.number()
	if alpha == 1./6 && beta == 0.5 {
		return x.HardSigmoid()
	}
	return x.HardSigmoidWith(alpha, beta)
}

// foldings are the reductions of einReduce, in the order of their words.
var foldings = []func(one, ...int) one{one.Sum, one.Mean, one.Max, one.Min, one.Prod, one.Any, one.All, one.LogSumExp}

func opEinReduce(c *call) one {
	x, formula, how := c.tensor(), c.text(), c.word()
	return x.EinReduce(formula, foldings[how], c.sizes())
}

func opMaskedSelect(c *call) one {
	x, mask, size := c.tensor(), c.tensor(), c.integer(-1)
	if size >= 0 {
		return x.MaskedSelectSized(mask, size, c.operand())
	}
	return c.got(x.MaskedSelect(c.ctx, mask))
}

func opNonZero(c *call) one {
	x, size := c.tensor(), c.integer(-1)
	if size >= 0 {
		return x.NonZeroSized(size, c.integer())
	}
	return c.got(x.NonZero(c.ctx))
}

func opNewtonSchulz(c *call) one {
	x, steps, given := c.tensor(), c.integer(), c.numbers()
	coefficients := [3]float64{3.4445, -4.775, 2.0315}
	if n := copy(coefficients[:], given); len(given) > 0 && (n != 3 || len(given) != 3) {
		c.fail("takes 3 coefficients, not %d", len(given))
	}
	return x.NewtonSchulz(steps, coefficients, c.number())
}

func opHash(c *call) one {
	sum, err := c.tensor().Hash(c.ctx)
	if err != nil {
		panic(raised{err})
	}
	return tensor.Of(sum[:])
}

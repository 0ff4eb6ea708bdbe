package main

import (
	"context"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// memoryCases are limited by the memory that results go to: new each time, as of a program that drops them, or the same.
var memoryCases = []benchCase{
	{name: "elementwise-16m", about: "nine elementwise operations on 2²⁴ numbers, a new result each time", bytes: 8 << 24, byBytes: true,
		prepare: kernelCase(nine, []int{1 << 24})},
	{name: "elementwise-16m-into", about: "the same into one tensor (Captured.RunInto)", bytes: 8 << 24, byBytes: true,
		prepare: intoCase(nine, 1<<24)},
}

// nine is a chain of as many operations.
func nine(in ...*tensor.Tensor) *tensor.Tensor {
	return in[0].Mul(2).Add(1).ReLU().Mul(in[0]).Sub(3).Abs().Add(0.5).Sqrt().Neg()
}

// intoCase is kernelCase of a function of one input, whose results are written into one tensor.
func intoCase(f func(in ...*tensor.Tensor) *tensor.Tensor, shape ...int) func(ctx context.Context) (once, error) {
	return func(ctx context.Context) (once, error) {
		x := tensor.Randn(shape...)
		if err := x.Realize(ctx); err != nil {
			return nil, err
		}
		var c *tensor.Captured
		outs := make([]*tensor.Tensor, 1)
		return func(ctx context.Context) (err error) {
			if c == nil {
				c, err = tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(in...)} }, x)
				if err != nil {
					return err
				}
			}
			if outs, err = c.RunInto(ctx, outs, x); err != nil {
				return err
			}
			e, err := engine.UseContext(ctx, "")
			if err != nil {
				return err
			}
			return e.Sync(ctx)
		}, nil
	}
}

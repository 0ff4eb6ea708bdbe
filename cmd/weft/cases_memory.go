package main

import (
	"context"

	"github.com/weft-ml/weft/tensor"
)

// memoryCases are limited by the memory that results go to: new each time, as of a program that drops them, or the same.
var memoryCases = []benchCase{
	{name: "elementwise-16m", about: "nine elementwise operations on 2²⁴ numbers, a new result each time", bytes: 8 << 24, byBytes: true,
		prepare: kernelCase(nine, []int{1 << 24})},
	{name: "elementwise-16m-into", about: "the same into one tensor (Captured.RunInto)", bytes: 8 << 24, byBytes: true,
		prepare: intoCase(nine, 1<<24)},
	{name: "sum-16m", about: "the sum of 2²⁴ numbers", bytes: 4 << 24, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Sum() }, []int{1 << 24})},
	{name: "sum-columns", about: "the sums of the columns of a 4096×4096 matrix", bytes: 4 << 24, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Sum(0) }, []int{4096, 4096})},
}

// nine is a chain of as many operations.
func nine(in ...*tensor.Tensor) *tensor.Tensor {
	return in[0].Mul(2).Add(1).ReLU().Mul(in[0]).Sub(3).Abs().Add(0.5).Sqrt().Neg()
}

// intoCase is kernelCase of a function of one input, whose results are written into one tensor.
func intoCase(f func(in ...*tensor.Tensor) *tensor.Tensor, shape ...int) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		w, err := kernelCase(f, shape)(ctx)
		if err == nil {
			w.into = true
		}
		return w, err
	}
}

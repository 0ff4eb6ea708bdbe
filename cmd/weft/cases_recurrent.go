package main

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// recurrentCases are layers over sequences. How long compiling takes should not depend on a sequence's length.
var recurrentCases = []benchCase{
	recurrentCase("lstm-256", nn.LSTMCell, 256, false), recurrentCase("lstm-train-64", nn.LSTMCell, 64, true),
	recurrentCase("lstm-train-256", nn.LSTMCell, 256, true), recurrentCase("gru-train-64", nn.GRUCell, 64, true),
	{name: "loop-filter", about: "a filter of second order over 20,000 numbers", flops: 20000 * 9, prepare: kernelCase(filtered, []int{20000})},
	{name: "loop-averages", about: "moving averages of 64 series over 10,000 steps, with gradient", bytes: 4 * 4 * 640000, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return averages(in[0]).Square().Sum().Grad(in[0])[0] }, []int{10000, 64})},
	{name: "loop-states", about: "a selective state space layer of 64 channels and 16 states over 1,000 steps, batch 4", flops: 1000 * 4 * 64 * 16 * 6,
		prepare: kernelCase(selective, []int{1000, 4, 64}, []int{1000, 4, 16}, []int{1000, 4, 16}, []int{64, 16})},
	{name: "loop-life", about: "1,000 generations of the game of life on 256×256 cells", flops: 1000 * 256 * 256 * 11, prepare: kernelCase(life, []int{256, 256})},
}

// filtered is a list behind a low-pass filter, in the transposed direct form II.
func filtered(in ...*tensor.Tensor) *tensor.Tensor {
	_, out := tensor.Scan(func(s, x []*tensor.Tensor) (next, out []*tensor.Tensor) {
		y := x[0].Mul(0.2).Add(s[0])
		return []*tensor.Tensor{x[0].Mul(0.4).Add(y.Mul(0.3)).Add(s[1]), x[0].Mul(0.2).Sub(y.Mul(0.1))}, []*tensor.Tensor{y}
	}, []*tensor.Tensor{tensor.Zeros(), tensor.Zeros()}, in, tensor.ScanOptions{})
	return out[0]
}

func averages(x *tensor.Tensor) *tensor.Tensor {
	s, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		return []*tensor.Tensor{s[0].Mul(0.99).Add(in[0].Mul(0.01))}, nil
	}, []*tensor.Tensor{tensor.Zeros(x.Dim(1))}, []*tensor.Tensor{x}, tensor.ScanOptions{})
	return s[0]
}

// selective is the recurrence of Mamba (Gu and Dao 2023).
func selective(in ...*tensor.Tensor) *tensor.Tensor {
	rate := in[3].Exp().Neg()
	_, out := tensor.Scan(func(s, x []*tensor.Tensor) (next, out []*tensor.Tensor) {
		step := x[0].Sigmoid().Unsqueeze(-1)
		h := s[0].Mul(step.Mul(rate).Exp()).Add(step.Mul(x[0].Unsqueeze(-1)).Mul(x[1].Unsqueeze(1)))
		return []*tensor.Tensor{h}, []*tensor.Tensor{h.Mul(x[2].Unsqueeze(1)).Sum(-1)}
	}, []*tensor.Tensor{tensor.Zeros(in[0].Dim(1), in[0].Dim(2), rate.Dim(1))}, in[:3], tensor.ScanOptions{})
	return out[0]
}

// life is what lives after 1,000 generations.
func life(in ...*tensor.Tensor) *tensor.Tensor {
	s, _ := tensor.Scan(func(s, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
		alive := s[0].To(dtype.I32)
		rows := alive.Roll([]int{1}, []int{0}).Add(alive).Add(alive.Roll([]int{-1}, []int{0}))
		n := rows.Roll([]int{1}, []int{1}).Add(rows).Add(rows.Roll([]int{-1}, []int{1}))
		return []*tensor.Tensor{n.Eq(3).Or(s[0].And(n.Eq(4)))}, nil
	}, []*tensor.Tensor{in[0].Gt(0)}, nil, tensor.ScanOptions{Steps: 1000})
	return s[0].Select(0, -1).To(dtype.F32)
}

// recurrentCase measures a layer from 32 to 64 numbers on sequences of some length, batch 16, or a training step of it.
func recurrentCase(name string, kind nn.CellKind, steps int, train bool) benchCase {
	const batch, in, hidden = 16, 32, 64
	gates := 4.0
	what := "an LSTM"
	if kind == nn.GRUCell {
		gates, what = 3, "a GRU"
	}
	flops := 2 * gates * batch * hidden * (in + hidden) * float64(steps)
	about := fmt.Sprintf("%s of %d over %d×%d×%d", what, hidden, steps, batch, in)
	if train {
		flops, about = 3*flops, "a training step of "+about
	}
	return benchCase{name: name, about: about, flops: flops, prepare: func(ctx context.Context) (*work, error) {
		tensor.Seed(1)
		net := nn.NewRecurrent(kind, in, hidden, 1, false)
		layer := func(in ...*tensor.Tensor) *tensor.Tensor {
			y, _ := net.Forward(in[0], nn.States{}, train)
			return y
		}
		if !train {
			return forward(ctx, net, single(layer), []int{steps, batch, in})
		}
		opt, err := nn.NewSGD(ctx, net, nn.SGDOptions{})
		if err != nil {
			return nil, err
		}
		x := tensor.Randn(steps, batch, in)
		return training(net, opt, func(in ...*tensor.Tensor) *tensor.Tensor {
			y := layer(in...)
			return y.Mul(y).Mean()
		}, x), x.Realize(ctx)
	}}
}

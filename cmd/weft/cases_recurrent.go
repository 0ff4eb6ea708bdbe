package main

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// recurrentCases are layers over sequences. How long compiling takes should not depend on a sequence's length.
var recurrentCases = []benchCase{
	recurrentCase("lstm-256", nn.LSTMCell, 256, false), recurrentCase("lstm-train-64", nn.LSTMCell, 64, true),
	recurrentCase("lstm-train-256", nn.LSTMCell, 256, true), recurrentCase("gru-train-64", nn.GRUCell, 64, true),
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

// Package nn is what networks are made of: layers, optimisers, learning-rate schedules, and state in
// files. A layer is a plain struct with exported tensors and a Forward method; a model is a struct of
// layers, and its parameters are found by walking it.
//
// It knows tensors and files and refuses to know graphs, kernels and devices.
//
//	type Net struct{ Hidden, Out *nn.Linear }
//
//	net := &Net{nn.NewLinear(784, 256), nn.NewLinear(256, 10)}
//	opt, err := nn.NewAdam(ctx, net, nn.AdamOptions{})
//	loss := net.Out.Forward(net.Hidden.Forward(x).ReLU()).CrossEntropy(y)
//	err = opt.Step(ctx, loss)
package nn

import (
	"context"

	"github.com/weft-ml/weft/tensor"
)

// Realize computes every tensor of a model and gives each memory of its own, so that training can change
// it in place. Constructors of layers are lazy; optimisers and Load call this, and code that neither
// trains nor loads calls it once to draw the random weights.
func Realize(ctx context.Context, model any) error {
	var ts []*tensor.Tensor
	for _, s := range State(model) {
		s.Tensor.Own()
		ts = append(ts, s.Tensor)
	}
	if len(ts) == 0 {
		return nil
	}
	return tensor.Realize(ctx, ts...)
}

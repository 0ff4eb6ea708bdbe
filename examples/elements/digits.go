package main

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

const (
	digitSteps = 900
	digitBatch = 64
)

// reader reads digits of 28×28: two convolutions, each followed by a pool, and a linear layer.
type reader struct {
	One, Two *nn.Conv2d
	Out      *nn.Linear
}

// forward gives the logits of the ten digits for pictures x[n, 28, 28] of bytes.
func (r *reader) forward(x *tensor.Tensor) *tensor.Tensor {
	x = x.To(dtype.F32).Div(255).Unsqueeze(1)
	x = r.One.Forward(x).ReLU().MaxPool2D(2)
	x = r.Two.Forward(x).ReLU().MaxPool2D(2)
	return r.Out.Forward(x.Reshape(x.Dim(0), -1))
}

// digits is a function of a picture that gives the probabilities of the ten digits.
func digits(ctx context.Context, o options) (*tensor.Captured, error) {
	set, err := o.set()
	if err != nil {
		return nil, err
	}
	tensor.Seed(1)
	r := &reader{nn.NewConv2d(1, 12, 5, tensor.Conv{}), nn.NewConv2d(12, 24, 3, tensor.Conv{}), nn.NewLinear(24*5*5, data.Classes)}
	images := tensor.FromBytes(dtype.U8, []int{set.Train.N, set.Train.H, set.Train.W}, set.Train.Images)
	labels := tensor.FromBytes(dtype.U8, []int{set.Train.N}, set.Train.Labels)
	if err := tensor.Realize(ctx, images, labels); err != nil {
		return nil, err
	}
	err = learn(ctx, o, "digits", r, digitSteps, func() *tensor.Tensor {
		some := tensor.RandInt(0, set.Train.N, digitBatch)
		return r.forward(images.At(some)).CrossEntropy(labels.At(some))
	})
	if err != nil {
		return nil, err
	}
	test := set.Test
	right := r.forward(tensor.FromBytes(dtype.U8, []int{test.N, test.H, test.W}, test.Images)).ArgMax(-1).
		Eq(tensor.FromBytes(dtype.U8, []int{test.N}, test.Labels).To(dtype.I32)).To(dtype.F32).Mean()
	share, err := right.Item(ctx)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.out, "digits    %.2f %% of %d others are right (%s)\n", 100*share, test.N, set.Name)
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{r.forward(in[0]).Softmax(-1)}
	}, tensor.Zeros(1, 28, 28).To(dtype.U8))
	if err != nil {
		return nil, err
	}
	return c.Named([]string{"image"}, []string{"probabilities"}), nil
}

// set are the pictures to learn from.
func (o options) set() (*data.Set, error) {
	if o.mnist == "" {
		return data.Synthetic(1, 20_000, 2_000), nil
	}
	set, err := data.LoadMNIST(o.mnist)
	if err == nil && (set.Train.H != 28 || set.Train.W != 28) {
		err = fmt.Errorf("%s has pictures of %d × %d; give those of 28 × 28", o.mnist, set.Train.H, set.Train.W)
	}
	return set, err
}

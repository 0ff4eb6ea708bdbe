package main

import (
	"context"
	"fmt"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/choose"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// convnet reads digits: two 5×5 convolutions of 32, batch norm and pool, two 3×3 of 64, batch norm and
// pool, and a linear layer.
type convnet struct {
	Conv1, Conv2 *nn.Conv2d
	Norm1        *nn.BatchNorm
	Conv3, Conv4 *nn.Conv2d
	Norm2        *nn.BatchNorm
	Out          *nn.Linear
}

// smallest is the least height and width that leave a pixel after all convolutions and pools.
const smallest = 20

func newConvnet(h, w int) *convnet {
	left := func(n int) int { return ((max(n, smallest)-8)/2 - 4) / 2 }
	return &convnet{
		Conv1: nn.NewConv2d(1, 32, 5, tensor.Conv{}), Conv2: nn.NewConv2d(32, 32, 5, tensor.Conv{}), Norm1: nn.NewBatchNorm(32),
		Conv3: nn.NewConv2d(32, 64, 3, tensor.Conv{}), Conv4: nn.NewConv2d(64, 64, 3, tensor.Conv{}), Norm2: nn.NewBatchNorm(64),
		Out: nn.NewLinear(64*left(h)*left(w), data.Classes),
	}
}

// Forward gives the logits of the ten digits for pictures x[n,h,w], one byte a pixel. Small pictures
// get a margin.
func (m *convnet) Forward(x *tensor.Tensor, training bool) *tensor.Tensor {
	n, h, w := x.Dim(0), x.Dim(1), x.Dim(2)
	if gh, gw := max(smallest-h, 0), max(smallest-w, 0); gh+gw > 0 {
		x = x.Pad([]int{0, gh / 2, gw / 2}, []int{0, gh - gh/2, gw - gw/2})
	}
	x = x.To(dtype.F32).Mul(1.0 / 255).Unsqueeze(1).Contiguous()
	x = m.Conv2.Forward(m.Conv1.Forward(x).ReLU()).ReLU()
	x = m.Norm1.Forward(x, training).MaxPool2D(2)
	x = m.Conv4.Forward(m.Conv3.Forward(x).ReLU()).ReLU()
	x = m.Norm2.Forward(x, training).MaxPool2D(2)
	return m.Out.Forward(x.Reshape(n, -1))
}

// stepWork is about what a step of training takes (DEBUG=1 prints it for each plan), for choosing a device.
func stepWork(batch int) choose.Work {
	return choose.Work{Launches: 55, Flops: 92e6 * int64(batch), Bytes: 1.45e6 * int64(batch)}
}

// digits is a network in training, and the pictures that it learns from.
type digits struct {
	eng            *engine.Engine
	h, w           int
	capture        bool
	net            *convnet
	opt            *nn.Optimizer
	images, labels *tensor.Tensor // one byte a pixel and a label
	rate           nn.Schedule
	taken          int // steps

	step, predict *tensor.Captured // made at their first use
}

// The learning rate begins near 0, grows with the square of the step to peakRate, and falls in a line to 0 at the end. Adam's
// first steps go by the signs of gradients, whatever their size: at full rate one rectifier that another rounding
// switches moves some weight by twice the rate, and 20 steps later losses differ in the second digit.
const (
	peakRate = 2e-3
	warmUp   = 100 // steps; not a share of them, so that short runs are the beginnings of long ones
)

func learningRate(steps int) nn.Schedule {
	return func(t int) float64 {
		if up := float64(t+1) / warmUp; t < warmUp {
			return peakRate * up * up
		}
		return peakRate * float64(steps-t) / float64(steps-warmUp)
	}
}

// newDigits makes the network with random weights of a seed, and copies the pictures to the device.
func newDigits(ctx context.Context, e *engine.Engine, s data.Split, o trainOptions) (*digits, error) {
	d := &digits{eng: e, h: s.H, w: s.W, capture: !o.NoCapture, rate: learningRate(o.Steps)}
	tensor.Seed(uint32(o.Seed) ^ uint32(o.Seed>>32))
	err := tensor.Try(func() {
		d.images = tensor.FromBytes(dtype.U8, []int{s.N, s.H, s.W}, s.Images)
		d.labels = tensor.FromBytes(dtype.U8, []int{s.N}, s.Labels)
		d.net = newConvnet(s.H, s.W)
	})
	if err != nil {
		return nil, err
	}
	if d.opt, err = nn.NewAdam(ctx, d.net, nn.AdamOptions{Rate: peakRate}); err != nil {
		return nil, err
	}
	return d, nil
}

// learn is one step as a function of the numbers of pictures; it gives the loss.
func (d *digits) learn(in ...*tensor.Tensor) []*tensor.Tensor {
	loss := d.net.Forward(d.images.At(in[0]), true).CrossEntropy(d.labels.At(in[0]))
	d.opt.Update(loss)
	return []*tensor.Tensor{loss}
}

func (d *digits) says(in ...*tensor.Tensor) []*tensor.Tensor {
	return []*tensor.Tensor{d.net.Forward(in[0], false).Softmax(-1)}
}

func (d *digits) Step(ctx context.Context, batch []int32) (float64, error) {
	var numbers, loss *tensor.Tensor
	err := tensor.Try(func() { numbers = tensor.Of(batch) })
	if err != nil {
		return 0, err
	}
	if err := d.opt.SetRate(ctx, d.rate(d.taken)); err != nil {
		return 0, fmt.Errorf("set the learning rate: %w", err)
	}
	d.taken++
	if d.capture {
		loss, err = d.replay(ctx, &d.step, d.learn, numbers)
	} else {
		if err = tensor.Try(func() { loss = d.learn(numbers)[0] }); err == nil {
			err = d.opt.Realize(ctx, loss)
		}
	}
	if err != nil {
		return 0, err
	}
	return loss.Item(ctx)
}

// replay runs a captured function, which it captures at first.
func (d *digits) replay(ctx context.Context, c **tensor.Captured, f func(...*tensor.Tensor) []*tensor.Tensor, in ...*tensor.Tensor) (*tensor.Tensor, error) {
	if *c == nil {
		var err error
		if *c, err = tensor.Capture(ctx, f, in...); err != nil {
			return nil, fmt.Errorf("capture: %w", err)
		}
	}
	out, err := (*c).Run(ctx, in...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func (d *digits) pictures(images []byte) (x *tensor.Tensor, err error) {
	n := len(images) / (d.h * d.w)
	return x, tensor.Try(func() { x = tensor.FromBytes(dtype.U8, []int{n, d.h, d.w}, images) })
}

func (d *digits) Predict(ctx context.Context, images []byte) ([][data.Classes]float32, error) {
	x, err := d.pictures(images)
	if err != nil {
		return nil, err
	}
	var probs *tensor.Tensor
	if d.capture {
		probs, err = d.replay(ctx, &d.predict, d.says, x)
	} else {
		err = tensor.Try(func() { probs = d.says(x)[0] })
	}
	if err != nil {
		return nil, err
	}
	flat, err := tensor.Data[float32](ctx, probs)
	if err != nil {
		return nil, err
	}
	out := make([][data.Classes]float32, len(flat)/data.Classes)
	for i := range out {
		copy(out[i][:], flat[i*data.Classes:])
	}
	return out, nil
}

func (d *digits) Save(ctx context.Context, path string) error { return nn.Save(ctx, path, d.net) }
func (d *digits) Device() string                              { return d.eng.Name() }
func (d *digits) PeakBytes() int64                            { return d.eng.Stats().PeakBytes }

//go:build !lean

package main

import (
	"context"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// stage is convolutions with ReLU, then batch norm and a pool of 2.
type stage struct {
	Convs []*nn.Conv2d
	Norm  *nn.BatchNorm
}

// convnet reads digits: two stages and a linear layer.
type convnet struct {
	Stages []stage
	Out    *nn.Linear
}

// widths are the channels of the two stages; deep networks have two convolutions in each.
type widths struct {
	channels [2]int
	deep     bool
}

// newConvnet makes a network with random weights for pictures of h by w. Deep with 32 and 64 channels it is that of
// the command line: 5×5 convolutions in the first stage, 3×3 in the second.
func newConvnet(size widths, h, w int) *convnet {
	m := &convnet{}
	h, w = max(h, smallest), max(w, smallest)
	in := 1
	for i, kernel := range []int{5, 3} {
		s := stage{}
		layers := 1
		if size.deep {
			layers = 2
		}
		for range layers {
			s.Convs = append(s.Convs, nn.NewConv2d(in, size.channels[i], kernel, tensor.Conv{}))
			in, h, w = size.channels[i], h-kernel+1, w-kernel+1
		}
		s.Norm = nn.NewBatchNorm(in)
		h, w = h/2, w/2
		m.Stages = append(m.Stages, s)
	}
	m.Out = nn.NewLinear(in*h*w, data.Classes)
	return m
}

// smallest is the least height and width that leave a pixel after all convolutions and pools.
const smallest = 20

// Forward gives the logits of the ten digits for pictures x[n,h,w], one byte a pixel. Small pictures get a margin.
func (m *convnet) Forward(x *tensor.Tensor, training bool) *tensor.Tensor {
	n, h, w := x.Dim(0), x.Dim(1), x.Dim(2)
	if gh, gw := max(smallest-h, 0), max(smallest-w, 0); gh+gw > 0 {
		x = x.Pad([]int{0, gh / 2, gw / 2}, []int{0, gh - gh/2, gw - gw/2})
	}
	x = x.To(dtype.F32).Mul(1.0 / 255).Unsqueeze(1).Contiguous()
	for _, s := range m.Stages {
		for _, c := range s.Convs {
			x = c.Forward(x).ReLU()
		}
		x = s.Norm.Forward(x, training).MaxPool2D(2)
	}
	return m.Out.Forward(x.Reshape(n, -1))
}

// learner is a network, its optimiser and the plans of both.
type learner struct {
	net  *convnet
	opt  *nn.Optimizer
	step *tensor.Captured         // made at its first use
	says map[int]*tensor.Captured // by the number of pictures
}

func newLearner(ctx context.Context, size widths, h, w int, seed uint32, rate float64) (*learner, error) {
	tensor.Seed(seed)
	l := &learner{net: newConvnet(size, h, w), says: map[int]*tensor.Captured{}}
	var err error
	l.opt, err = nn.NewAdam(ctx, l.net, nn.AdamOptions{Rate: rate})
	return l, err
}

// learn queues one step and gives its loss, which is not read yet.
func (l *learner) learn(ctx context.Context, s data.Split) (*tensor.Tensor, error) {
	x, y := pictures(s), tensor.FromBytes(dtype.U8, []int{s.N}, s.Labels)
	if l.step == nil {
		var err error
		l.step, err = tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
			loss := l.net.Forward(in[0], true).CrossEntropy(in[1])
			l.opt.Update(loss)
			return []*tensor.Tensor{loss}
		}, x, y)
		if err != nil {
			return nil, err
		}
	}
	out, err := l.step.Run(ctx, x, y)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func pictures(s data.Split) *tensor.Tensor {
	return tensor.FromBytes(dtype.U8, []int{s.N, s.H, s.W}, s.Images)
}

// read gives the probabilities of the ten digits for each picture.
func (l *learner) read(ctx context.Context, s data.Split) ([][]float32, error) {
	x := pictures(s)
	if l.says[s.N] == nil {
		c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{l.net.Forward(in[0], false).Softmax(-1)}
		}, x)
		if err != nil {
			return nil, err
		}
		l.says[s.N] = c
	}
	out, err := l.says[s.N].Run(ctx, x)
	if err != nil {
		return nil, err
	}
	flat, err := tensor.Data[float32](ctx, out[0])
	if err != nil {
		return nil, err
	}
	rows := make([][]float32, s.N)
	for i := range rows {
		rows[i] = flat[i*data.Classes : (i+1)*data.Classes]
	}
	return rows, nil
}

// part is pictures lo … hi−1.
func part(s data.Split, lo, hi int) data.Split {
	size := s.H * s.W
	return data.Split{Images: s.Images[lo*size : hi*size], Labels: s.Labels[lo:hi], N: hi - lo, H: s.H, W: s.W}
}

// best is the digit with the greatest probability.
func best(p []float32) int {
	at := 0
	for i, v := range p {
		if v > p[at] {
			at = i
		}
	}
	return at
}

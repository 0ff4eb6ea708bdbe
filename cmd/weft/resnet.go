package main

import (
	"context"
	"math"
	"time"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// resnetCase compiles ResNet-18 in a process of its own, which nothing has warmed up.
func resnetCase(ctx context.Context, b *bench) (*benchResult, error) {
	if b.o.Child {
		return compileResnet(ctx, b)
	}
	return inChild(ctx, "compile-resnet18", "NULL")
}

// compileResnet schedules and generates the forward pass for one picture of 224×224. The weights are
// undefined: nothing runs.
func compileResnet(ctx context.Context, b *bench) (*benchResult, error) {
	e, err := engine.UseContext(ctx, b.device)
	if err != nil {
		return nil, err
	}
	net := newResnet(func(_, _ float64, shape ...int) *tensor.Tensor { return tensor.Empty(dtype.F32, shape...) })
	x := tensor.Empty(dtype.F32, 1, 3, 224, 224)
	y := net.forward(x, false)
	before := e.Stats()
	start := time.Now()
	if err := tensor.Realize(ctx, y); err != nil {
		return nil, err
	}
	ms := time.Since(start).Seconds() * 1e3
	s := e.Stats()
	return &benchResult{Case: "compile-resnet18", Device: e.Name(), CompileMS: ms, Kernels: s.Kernels - before.Kernels,
		Launches: s.Launches - before.Launches, PeakBytes: s.PeakBytes, Threads: 1}, nil
}

// resnet is ResNet-18 (He and others, 2015).
type resnet struct {
	Stem   convNorm
	Blocks []block
	Out    *nn.Linear
}

// convNorm is a convolution followed by batch norm.
type convNorm struct {
	Conv *nn.Conv2d
	Norm *nn.BatchNorm
}

// block adds two convolutions to what comes in, which Short fits to their shape if need be.
type block struct {
	First, Second convNorm
	Short         *convNorm
}

// filling gives tensors with values between two bounds.
type filling = func(low, high float64, shape ...int) *tensor.Tensor

func newConvNorm(f filling, in, out, size, stride int) convNorm {
	bound := math.Sqrt(6 / float64(in*size*size)) // keeps the size of what goes through
	return convNorm{
		&nn.Conv2d{Weight: f(-bound, bound, out, in, size, size), Options: tensor.Conv{Stride: stride, Padding: size / 2}},
		&nn.BatchNorm{Weight: f(0.5, 1, out), Bias: f(-0.1, 0.1, out), RunningMean: f(-0.1, 0.1, out), RunningVar: f(0.5, 1.5, out), Eps: 1e-5, Momentum: 0.1},
	}
}

func (c convNorm) forward(x *tensor.Tensor, training bool) *tensor.Tensor {
	return c.Norm.Forward(c.Conv.Forward(x), training)
}

func newResnet(f filling) *resnet {
	r := &resnet{Stem: newConvNorm(f, 3, 64, 7, 2)}
	in := 64
	for stage, out := range []int{64, 128, 256, 512} {
		for i := range 2 {
			stride := 1
			if stage > 0 && i == 0 {
				stride = 2
			}
			b := block{First: newConvNorm(f, in, out, 3, stride), Second: newConvNorm(f, out, out, 3, 1)}
			if in != out {
				short := newConvNorm(f, in, out, 1, stride)
				b.Short = &short
			}
			r.Blocks = append(r.Blocks, b)
			in = out
		}
	}
	r.Out = &nn.Linear{Weight: f(-0.04, 0.04, 1000, 512), Bias: f(-0.04, 0.04, 1000)}
	return r
}

func (r *resnet) forward(x *tensor.Tensor, training bool) *tensor.Tensor {
	x = r.Stem.forward(x, training).ReLU().MaxPool(tensor.Pool{Size: []int{3}, Stride: []int{2}, Padding: []int{1}})
	for _, b := range r.Blocks {
		y := b.Second.forward(b.First.forward(x, training).ReLU(), training)
		if b.Short != nil {
			x = b.Short.forward(x, training)
		}
		x = y.Add(x).ReLU()
	}
	return r.Out.Forward(x.Mean(2, 3))
}

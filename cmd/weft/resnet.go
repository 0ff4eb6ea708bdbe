package main

import (
	"context"
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
	net := newResnet()
	x := tensor.Empty(dtype.F32, 1, 3, 224, 224)
	y := net.forward(x)
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
	stem   convNorm
	blocks []block
	out    *nn.Linear
}

// convNorm is a convolution followed by batch norm.
type convNorm struct {
	conv *nn.Conv2d
	norm *nn.BatchNorm
}

// block adds two convolutions to what comes in, which short fits to their shape if need be.
type block struct {
	first, second convNorm
	short         *convNorm
}

func newConvNorm(in, out, size, stride int) convNorm {
	f := func(shape ...int) *tensor.Tensor { return tensor.Empty(dtype.F32, shape...) }
	return convNorm{
		&nn.Conv2d{Weight: f(out, in, size, size), Options: tensor.Conv{Stride: stride, Padding: size / 2}},
		&nn.BatchNorm{Weight: f(out), Bias: f(out), RunningMean: f(out), RunningVar: f(out), Eps: 1e-5, Momentum: 0.1},
	}
}

func (c convNorm) forward(x *tensor.Tensor) *tensor.Tensor {
	return c.norm.Forward(c.conv.Forward(x), false)
}

func newResnet() *resnet {
	r := &resnet{stem: newConvNorm(3, 64, 7, 2)}
	in := 64
	for stage, out := range []int{64, 128, 256, 512} {
		for i := range 2 {
			stride := 1
			if stage > 0 && i == 0 {
				stride = 2
			}
			b := block{first: newConvNorm(in, out, 3, stride), second: newConvNorm(out, out, 3, 1)}
			if in != out {
				short := newConvNorm(in, out, 1, stride)
				b.short = &short
			}
			r.blocks = append(r.blocks, b)
			in = out
		}
	}
	r.out = &nn.Linear{Weight: tensor.Empty(dtype.F32, 1000, 512), Bias: tensor.Empty(dtype.F32, 1000)}
	return r
}

func (r *resnet) forward(x *tensor.Tensor) *tensor.Tensor {
	x = r.stem.forward(x).ReLU().MaxPool(tensor.Pool{Size: []int{3}, Stride: []int{2}, Padding: []int{1}})
	for _, b := range r.blocks {
		y := b.second.forward(b.first.forward(x).ReLU())
		if b.short != nil {
			x = b.short.forward(x)
		}
		x = y.Add(x).ReLU()
	}
	return r.out.Forward(x.Mean(2, 3))
}

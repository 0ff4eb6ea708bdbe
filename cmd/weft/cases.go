package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

var benchCases = slices.Concat(baseCases, windowCases, memoryCases, narrowCases, attentionCases, pictureCases, recurrentCases, linalgCases)

var baseCases = []benchCase{
	{name: "limits", about: "what the processor can do: multiply-adds and copying", special: limitsCase},
	matmulCase(256), matmulCase(512), matmulCase(1024), matmulCase(2048),
	{name: "conv2d-56", about: "64 filters 3×3 over 1×64×56×56", flops: 2 * 64 * 64 * 9 * 56 * 56, bytes: 4 * (2*64*56*56 + 64*64*9),
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].Conv2D(in[1], nil, tensor.Conv{Padding: 1})
		}, []int{1, 64, 56, 56}, []int{64, 64, 3, 3})},
	{name: "softmax-1024", about: "softmax of the rows of 1024×1024", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Softmax(-1) }, []int{1024, 1024})},
	{name: "layernorm-1024", about: "layer norm of the rows of 1024×1024", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].LayerNorm(in[1], in[2], 1e-5, 1024)
		}, []int{1024, 1024}, []int{1024}, []int{1024})},
	{name: "chain-1m", about: "nine elementwise operations on 2²⁰ numbers", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(nine, []int{1 << 20})},
	{name: "cumsum-1m", about: "running sum of 2²⁰ numbers", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].CumSum(0) }, []int{1 << 20})},
	{name: "cumsum-rows", about: "running sums along the rows of 4096×256", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].CumSum(1) }, []int{4096, 256})},
	{name: "cumsum-columns", about: "running sums along the columns of 4096×256", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].CumSum(0) }, []int{4096, 256})},
	{name: "mlp-step", about: "a training step of 784-256-10 at batch 64", flops: 2 * 64 * (2*784*256 + 3*256*10), prepare: mlpCase},
	{name: "embedding-step", about: "a training step of a table of 8192 rows of 64, two layers and 1024 classes, 512 tokens",
		flops: 3 * 2 * 512 * (64*256 + 256*1024), prepare: embeddingCase},
	{name: "mnist-convnet", about: "a training step of weft train mnist at batch 512", flops: convnetFlops(512), prepare: convnetCase},
	{name: "compile-resnet18", about: "scheduling and code generation of ResNet-18, in a fresh process", special: resnetCase},
}

// limitsCase prints the peaks that the other cases are compared with.
func limitsCase(ctx context.Context, b *bench) (*benchResult, error) {
	e, err := b.fresh(ctx, b.options.Threads)
	if err != nil {
		return nil, err
	}
	return &benchResult{Case: "limits", Device: e.Name(), GFlops: b.peaks.all, GBps: b.peaks.copy, OfPeak: 1,
		Threads: max(e.Info().Threads, 1), OneThreadGFlops: b.peaks.one}, nil
}

func matmulCase(n int) benchCase {
	return benchCase{name: fmt.Sprintf("matmul-%d", n), about: fmt.Sprintf("product of two %d×%d matrices", n, n),
		flops: 2 * float64(n) * float64(n) * float64(n), bytes: 12 * float64(n) * float64(n),
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(in[1]) }, []int{n, n}, []int{n, n})}
}

// once is one run of a case.
type once = func(ctx context.Context) error

// kernelCase measures f on random inputs of these shapes.
func kernelCase(f func(in ...*tensor.Tensor) *tensor.Tensor, shapes ...[]int) func(ctx context.Context) (once, error) {
	return kernelsCase(func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(in...)} }, shapes...)
}

// kernelsCase is kernelCase of a function of several results.
func kernelsCase(f func(in ...*tensor.Tensor) []*tensor.Tensor, shapes ...[]int) func(ctx context.Context) (once, error) {
	return func(ctx context.Context) (once, error) {
		in := make([]*tensor.Tensor, len(shapes))
		for i, s := range shapes {
			in[i] = tensor.Randn(s...)
		}
		if err := tensor.Realize(ctx, in...); err != nil {
			return nil, err
		}
		return replayed(f, in...), nil
	}
}

// replayed captures f at the first run, so that this one shows the time of compiling, and replays it.
func replayed(f func(in ...*tensor.Tensor) []*tensor.Tensor, in ...*tensor.Tensor) once {
	var c *tensor.Captured
	return func(ctx context.Context) error {
		if c == nil {
			var err error
			if c, err = tensor.Capture(ctx, f, in...); err != nil {
				return err
			}
		}
		if _, err := c.Run(ctx, in...); err != nil {
			return err
		}
		e, err := engine.UseContext(ctx, "")
		if err != nil {
			return err
		}
		return e.Sync(ctx)
	}
}

// mlp is the network of mlp-step.
type mlp struct{ Hidden, Out *nn.Linear }

func mlpCase(ctx context.Context) (once, error) {
	tensor.Seed(1)
	net := &mlp{nn.NewLinear(784, 256), nn.NewLinear(256, 10)}
	opt, err := nn.NewAdam(ctx, net, nn.AdamOptions{})
	if err != nil {
		return nil, err
	}
	x, y := tensor.Rand(64, 784), tensor.RandInt(0, 10, 64)
	if err := tensor.Realize(ctx, x, y); err != nil {
		return nil, err
	}
	return replayed(func(in ...*tensor.Tensor) []*tensor.Tensor {
		loss := net.Out.Forward(net.Hidden.Forward(in[0]).ReLU()).CrossEntropy(in[1])
		opt.Update(loss)
		return []*tensor.Tensor{loss}
	}, x, y), nil
}

// words is the network of embedding-step.
type words struct {
	Table       *nn.Embedding
	Hidden, Out *nn.Linear
}

func embeddingCase(ctx context.Context) (once, error) {
	const tokens, rows, classes = 512, 8192, 1024
	tensor.Seed(1)
	net := &words{nn.NewEmbedding(rows, 64), nn.NewLinear(64, 256), nn.NewLinear(256, classes)}
	opt, err := nn.NewSGD(ctx, net, nn.SGDOptions{})
	if err != nil {
		return nil, err
	}
	x, y := tensor.RandInt(0, rows, tokens), tensor.RandInt(0, classes, tokens)
	if err := tensor.Realize(ctx, x, y); err != nil {
		return nil, err
	}
	return replayed(func(in ...*tensor.Tensor) []*tensor.Tensor {
		loss := net.Out.Forward(net.Hidden.Forward(net.Table.Forward(in[0])).ReLU()).CrossEntropy(in[1])
		opt.Update(loss)
		return []*tensor.Tensor{loss}
	}, x, y), nil
}

// convnetFlops counts the multiply-adds of the products of a step at a batch, forward and twice as many backward.
func convnetFlops(batch float64) float64 {
	forward := 24*24*32*25 + 20*20*32*32*25 + 8*8*64*32*9 + 6*6*64*64*9 + 576*10.0
	return 3 * 2 * batch * forward
}

func convnetCase(ctx context.Context) (once, error) {
	const batch = 512
	e, err := engine.UseContext(ctx, "")
	if err != nil {
		return nil, err
	}
	d, err := newDigits(ctx, e, data.Synthetic(1, batch, 0).Train, trainOptions{Seed: 1})
	if err != nil {
		return nil, err
	}
	return replayed(d.learn, tensor.Arange(batch)), nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

var benchCases = slices.Concat(baseCases, windowCases, memoryCases, orderCases, narrowCases, attentionCases, pictureCases, linalgCases,
	networkCases, recurrentCases, modelCases)

var baseCases = []benchCase{
	{name: "limits", about: "what the processor can do: multiply-adds and copying", special: limitsCase},
	matmulCase(256), matmulCase(512), matmulCase(1024), matmulCase(2048),
	{name: "conv2d-56", about: "64 filters 3×3 over 1×64×56×56", flops: 2 * 64 * 64 * 9 * 56 * 56, bytes: 4 * (2*64*56*56 + 64*64*9),
		prepare: layerCase(1, func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].Conv2D(in[1], nil, tensor.Conv{Padding: 1})
		}, []int{1, 64, 56, 56}, []int{64, 64, 3, 3})},
	{name: "softmax-1024", about: "softmax of the rows of 1024×1024", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Softmax(-1) }, []int{1024, 1024})},
	{name: "layernorm-1024", about: "layer norm of the rows of 1024×1024", bytes: 8 << 20, byBytes: true,
		prepare: layerCase(2, func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].LayerNorm(in[1], in[2], 1e-5, 1024)
		}, []int{1024, 1024}, []int{1024}, []int{1024})},
	{name: "groupnorm", about: "group norm of 16×64×32×32, 8 groups", bytes: 8 << 20, byBytes: true,
		prepare: layerCase(2, func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].GroupNorm(8, in[1], in[2], 1e-5)
		}, []int{16, 64, 32, 32}, []int{64}, []int{64})},
	{name: "batchnorm", about: "batch norm of 16×64×32×32 by the statistics of the batch", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			mean, variance := in[0].ChannelMoments(0)
			return in[0].BatchNorm(mean, variance, in[1], in[2], 1e-5)
		}, []int{16, 64, 32, 32}, []int{64}, []int{64})},
	{name: "chain-1m", about: "nine elementwise operations on 2²⁰ numbers", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(nine, []int{1 << 20})},
	{name: "gelu-1m", about: "GELU of 2²⁰ numbers", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].GELU() }, []int{1 << 20})},
	{name: "sin-1m", about: "sines of 2²⁰ numbers", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Sin() }, []int{1 << 20})},
	{name: "pow-1m", about: "powers of 2²⁰ numbers with exponents of their own", bytes: 12 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Abs().Pow(in[1]) }, []int{1 << 20}, []int{1 << 20})},
	{name: "cumsum-1m", about: "running sum of 2²⁰ numbers", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].CumSum(0) }, []int{1 << 20})},
	{name: "cumsum-rows", about: "running sums along the rows of 4096×256", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].CumSum(1) }, []int{4096, 256})},
	{name: "cumsum-columns", about: "running sums along the columns of 4096×256", bytes: 8 << 20, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].CumSum(0) }, []int{4096, 256})},
	{name: "mlp-step", about: "a training step of 784-256-10 at batch 64", flops: 2 * 64 * (2*784*256 + 3*256*10), prepare: mlpCase},
	{name: "embedding-step", about: "a training step of a table of 8192 rows of 64, two layers and 1024 classes, 512 tokens",
		flops: 3 * 2 * 512 * (64*256 + 256*1024), prepare: embeddingCase},
	{name: "mnist-convnet", about: "a training step of weft train mnist at batch 512", flops: convnetFlops(512), prepare: convnetCase(512)},
	{name: "mnist-convnet-64", about: "a training step of weft train mnist at batch 64", flops: convnetFlops(64), prepare: convnetCase(64)},
	{name: "compile-resnet18", about: "scheduling and code generation of ResNet-18, in a fresh process", special: resnetCase},
}

// limitsCase prints the peaks that the other cases are compared with.
var errNoLimits = errors.New("limits are measured of the processor, on the device CPU")

func limitsCase(ctx context.Context, b *bench) (*benchResult, error) {
	e, err := b.fresh(ctx, b.options.Threads)
	if err != nil {
		return nil, err
	}
	if b.peaks == (peaks{}) {
		return nil, errNoLimits
	}
	return &benchResult{Case: "limits", Device: e.Name(), GFlops: b.peaks.all, GBps: b.peaks.copy, OfPeak: 1,
		Threads: max(e.Info().Threads, 1), OneThreadGFlops: b.peaks.one}, nil
}

func matmulCase(n int) benchCase {
	return benchCase{name: fmt.Sprintf("matmul-%d", n), about: fmt.Sprintf("product of two %d×%d matrices", n, n),
		flops: 2 * float64(n) * float64(n) * float64(n), bytes: 12 * float64(n) * float64(n),
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(in[1]) }, []int{n, n}, []int{n, n})}
}

// kernelCase measures f on random inputs of these shapes.
func kernelCase(f func(in ...*tensor.Tensor) *tensor.Tensor, shapes ...[]int) func(ctx context.Context) (*work, error) {
	return kernelsCase(single(f), shapes...)
}

// layerCase is kernelCase of a layer, the last n of whose operands are weights.
func layerCase(n int, f func(in ...*tensor.Tensor) *tensor.Tensor, shapes ...[]int) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		w, err := kernelCase(f, shapes...)(ctx)
		if err == nil {
			w.weights = n
		}
		return w, err
	}
}

// single is f as a function of several results.
func single(f func(in ...*tensor.Tensor) *tensor.Tensor) func(in ...*tensor.Tensor) []*tensor.Tensor {
	return func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(in...)} }
}

// kernelsCase is kernelCase of a function of several results.
func kernelsCase(f func(in ...*tensor.Tensor) []*tensor.Tensor, shapes ...[]int) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		in := make([]*tensor.Tensor, len(shapes))
		for i, s := range shapes {
			in[i] = tensor.Randn(s...)
		}
		if err := tensor.Realize(ctx, in...); err != nil {
			return nil, err
		}
		return &work{f: f, in: in}, nil
	}
}

// mlp is the network of mlp-step.
type mlp struct{ Hidden, Out *nn.Linear }

func mlpCase(ctx context.Context) (*work, error) {
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
	return training(net, opt, func(in ...*tensor.Tensor) *tensor.Tensor {
		return net.Out.Forward(net.Hidden.Forward(in[0]).ReLU()).CrossEntropy(in[1])
	}, x, y), nil
}

// words is the network of embedding-step.
type words struct {
	Table       *nn.Embedding
	Hidden, Out *nn.Linear
}

func embeddingCase(ctx context.Context) (*work, error) {
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
	return training(net, opt, func(in ...*tensor.Tensor) *tensor.Tensor {
		return net.Out.Forward(net.Hidden.Forward(net.Table.Forward(in[0])).ReLU()).CrossEntropy(in[1])
	}, x, y), nil
}

// convnetFlops counts the multiply-adds of the products of a step at a batch, forward and twice as many backward.
func convnetFlops(batch float64) float64 {
	forward := 24*24*32*25 + 20*20*32*32*25 + 8*8*64*32*9 + 6*6*64*64*9 + 576*10.0
	return 3 * 2 * batch * forward
}

// pictured is what weft train mnist reads besides the numbers of pictures.
type pictured struct {
	Net            *convnet
	Images, Labels *tensor.Tensor
}

func convnetCase(batch int) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		e, err := engine.UseContext(ctx, "")
		if err != nil {
			return nil, err
		}
		d, err := newDigits(ctx, e, data.Synthetic(1, batch, 0).Train, trainOptions{Seed: 1})
		if err != nil {
			return nil, err
		}
		// Adam's first steps go by signs: at peakRate a rectifier that another rounding switches is seen in the second digit of the third loss.
		if err := d.opt.SetRate(ctx, peakRate/20); err != nil {
			return nil, err
		}
		return &work{f: d.learn, in: []*tensor.Tensor{tensor.Arange(batch)}, model: &pictured{d.net, d.images, d.labels}}, nil
	}
}

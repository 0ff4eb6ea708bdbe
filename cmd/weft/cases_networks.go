package main

import (
	"context"
	"math"

	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// networkCases are whole networks and their building blocks, with random weights.
var networkCases = []benchCase{
	{name: "lstm-step", about: "a step of an LSTM's cell of 256, batch 64", flops: 2 * 64 * 4 * 256 * 2 * 256, prepare: cellCase},
	{name: "lstm-64", about: "64 steps of an LSTM of 256, batch 16", flops: 64 * 2 * 16 * 4 * 256 * 2 * 256, prepare: lstmCase},
	{name: "transformer-block", about: "a transformer's block of 512, 8 heads, 2048 wide, over 4×128 tokens",
		flops: 2*4*128*(4*512*512+2*512*2048) + 4*4*128*128*512, prepare: transformerCase},
	{name: "transformer-step", about: "a training step of a transformer of three layers of 128, 4 heads, 512 wide, 65 words, 8×64 tokens",
		flops: 3 * 2 * 8 * 64 * (3*12*128*128 + 3*2*64*128 + 65*128), prepare: writerCase},
	{name: "resnet18", about: "ResNet-18 of a picture of 224×224", flops: 2 * 1.814e9, prepare: resnetForward(1)},
	{name: "resnet18-step", about: "a training step of ResNet-18, 8 pictures of 224×224", flops: 3 * 2 * 8 * 1.814e9, prepare: resnetStep(8)},
	{name: "bottleneck", about: "a block of MobileNetV2 at 28×28: 32 channels to 192, 3×3 in each of these, and back to 32, clamped to 0 … 6 between",
		flops: 2 * 28 * 28 * (2*32*192 + 9*192), prepare: bottleneckCase},
	{name: "sampler", about: "50 steps of a sampler with coefficients of their own, written out: a network of 128 for 256 points", flops: 50 * 2 * 256 * (2*128 + 128*128 + 128*2),
		prepare: samplerCase},
	{name: "gpt2-token", about: "a token through the 12 blocks of a network like GPT-2 small, 255 tokens before it", flops: 2 * 12 * 12 * 768 * 768,
		bytes: 4 * 12 * (12*768*768 + 2*768*255), byBytes: true, prepare: gptCase},
}

func cellCase(ctx context.Context) (*work, error) {
	tensor.Seed(1)
	cell := nn.NewCell(nn.LSTMCell, 256, 256)
	return forward(ctx, cell, func(in ...*tensor.Tensor) []*tensor.Tensor {
		s := cell.Forward(in[0], nn.States{H: in[1], C: in[2]})
		return []*tensor.Tensor{s.H, s.C}
	}, []int{64, 256}, []int{64, 256}, []int{64, 256})
}

func lstmCase(ctx context.Context) (*work, error) {
	tensor.Seed(1)
	net := nn.NewRecurrent(nn.LSTMCell, 256, 256, 1, false)
	return forward(ctx, net, func(in ...*tensor.Tensor) []*tensor.Tensor {
		out, last := net.Forward(in[0], nn.States{}, false)
		return []*tensor.Tensor{out, last.H, last.C}
	}, []int{64, 16, 256})
}

func bottleneckCase(ctx context.Context) (*work, error) {
	tensor.Seed(1)
	const side, channels, wide = 28, 32, 192
	type block struct{ Widen, Each, Narrow *nn.Conv }
	net := &block{nn.NewConv2d(channels, wide, 1, tensor.Conv{}), nn.NewConv2d(wide, wide, 3, tensor.Conv{Padding: 1, Groups: wide}), nn.NewConv2d(wide, channels, 1, tensor.Conv{})}
	return forward(ctx, net, func(in ...*tensor.Tensor) []*tensor.Tensor {
		x := net.Widen.Forward(in[0]).ReLU6()
		return []*tensor.Tensor{in[0].Add(net.Narrow.Forward(net.Each.Forward(x).ReLU6()))}
	}, []int{1, channels, side, side})
}

func samplerCase(ctx context.Context) (*work, error) {
	tensor.Seed(1)
	const steps, size = 50, 128
	type sampler struct{ In, Mid, Out *nn.Linear }
	net := &sampler{nn.NewLinear(2, size), nn.NewLinear(size, size), nn.NewLinear(size, 2)}
	return forward(ctx, net, func(in ...*tensor.Tensor) []*tensor.Tensor {
		x := in[0]
		for t := steps; t > 0; t-- {
			at := float64(t) / steps
			keep := math.Exp(-0.04 * at)
			h := net.In.Forward(x).Add(at).SiLU()
			noise := net.Out.Forward(net.Mid.Forward(h).SiLU())
			x = x.Sub(noise.Mul((1 - keep) / math.Sqrt(1-math.Exp(-at)))).Div(math.Sqrt(keep))
		}
		return []*tensor.Tensor{x}
	}, []int{256, 2})
}

func transformerCase(ctx context.Context) (*work, error) {
	tensor.Seed(1)
	block := nn.NewTransformerLayer(512, 8, 2048, false)
	block.SelfAttention.BatchFirst, block.NormFirst, block.GELU = true, true, true
	return forward(ctx, block, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{block.Forward(in[0], nil, nn.Attending{}, nn.Attending{})}
	}, []int{4, 128, 512})
}

// writer is a transformer that says which word comes next.
type writer struct {
	Words, Places *nn.Embedding
	Layers        []*nn.TransformerLayer
	Norm          *nn.LayerNorm
	Head          *nn.Linear
}

func writerCase(ctx context.Context) (*work, error) {
	const words, size, batch, length = 65, 128, 8, 64
	tensor.Seed(1)
	net := &writer{Words: nn.NewEmbedding(words, size), Places: nn.NewEmbedding(length, size), Norm: nn.NewLayerNorm(size), Head: nn.NewLinear(size, words)}
	for range 3 {
		l := nn.NewTransformerLayer(size, 4, 4*size, false)
		l.SelfAttention.BatchFirst, l.NormFirst, l.GELU = true, true, true
		net.Layers = append(net.Layers, l)
	}
	opt, err := nn.NewAdam(ctx, net, nn.AdamOptions{})
	if err != nil {
		return nil, err
	}
	x, y := tensor.RandInt(0, words, batch, length), tensor.RandInt(0, words, batch*length)
	return training(net, opt, func(in ...*tensor.Tensor) *tensor.Tensor {
		h := net.Words.Forward(in[0]).Add(net.Places.Weight)
		for _, l := range net.Layers {
			h = l.Forward(h, nil, nn.Attending{Causal: true}, nn.Attending{})
		}
		return net.Head.Forward(net.Norm.Forward(h)).Reshape(-1, words).CrossEntropy(in[1])
	}, x, y), tensor.Realize(ctx, x, y)
}

// forward is a function of a model and of random inputs of these shapes.
func forward(ctx context.Context, model any, f func(in ...*tensor.Tensor) []*tensor.Tensor, shapes ...[]int) (*work, error) {
	if err := nn.Realize(ctx, model); err != nil {
		return nil, err
	}
	w, err := kernelsCase(f, shapes...)(ctx)
	if err != nil {
		return nil, err
	}
	w.model = model
	return w, nil
}

func resnetForward(batch int) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		tensor.Seed(1)
		net := newResnet(tensor.Uniform)
		return forward(ctx, net, func(in ...*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{net.forward(in[0], false)}
		}, []int{batch, 3, 224, 224})
	}
}

func resnetStep(batch int) func(ctx context.Context) (*work, error) {
	return func(ctx context.Context) (*work, error) {
		tensor.Seed(1)
		net := newResnet(tensor.Uniform)
		opt, err := nn.NewSGD(ctx, net, nn.SGDOptions{Momentum: 0.9})
		if err != nil {
			return nil, err
		}
		x, y := tensor.Randn(batch, 3, 224, 224), tensor.RandInt(0, 1000, batch)
		return training(net, opt, func(in ...*tensor.Tensor) *tensor.Tensor {
			return net.forward(in[0], true).CrossEntropy(in[1])
		}, x, y), tensor.Realize(ctx, x, y)
	}
}

// gptBlock is a block of a decoder (Radford and others, 2019).
type gptBlock struct {
	Norm     *nn.LayerNorm
	Heads    *nn.Linear // queries, keys and values of all heads
	Out      *nn.Linear
	FeedNorm *nn.LayerNorm
	Up, Down *nn.Linear
}

// The sizes of GPT-2 small.
const gptBlocks, gptHeads, gptHead = 12, 12, 64

func gptCase(ctx context.Context) (*work, error) {
	const size, past = gptHeads * gptHead, 255
	tensor.Seed(1)
	net := make([]*gptBlock, gptBlocks)
	for i := range net {
		net[i] = &gptBlock{nn.NewLayerNorm(size), nn.NewLinear(size, 3*size), nn.NewLinear(size, size),
			nn.NewLayerNorm(size), nn.NewLinear(size, 4*size), nn.NewLinear(4*size, size)}
	}
	cache := []int{gptBlocks, gptHeads, past, gptHead}
	return forward(ctx, net, func(in ...*tensor.Tensor) []*tensor.Tensor {
		x := in[0]
		var keys, values []*tensor.Tensor
		for i, b := range net {
			var k, v *tensor.Tensor
			x, k, v = b.forward(x, in[1].Select(0, i), in[2].Select(0, i))
			keys, values = append(keys, k), append(values, v)
		}
		return []*tensor.Tensor{x, tensor.Stack(0, keys...), tensor.Stack(0, values...)}
	}, []int{1, size}, cache, cache)
}

// forward gives a token's vector x[1, size] after the block, and its key and value, to be added to those before it.
func (b *gptBlock) forward(x, keys, values *tensor.Tensor) (out, k, v *tensor.Tensor) {
	h := b.Heads.Forward(b.Norm.Forward(x)).Reshape(3, gptHeads, 1, gptHead)
	q, k, v := h.Select(0, 0), h.Select(0, 1), h.Select(0, 2)
	a := tensor.ScaledDotProduct(q, tensor.Cat(1, keys, k), tensor.Cat(1, values, v), tensor.Attention{})
	x = x.Add(b.Out.Forward(a.Reshape(1, -1)))
	return x.Add(b.Down.Forward(b.Up.Forward(b.FeedNorm.Forward(x)).GELUTanh())), k, v
}

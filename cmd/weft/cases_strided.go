package main

import "github.com/weft-ml/weft/tensor"

// windowCases are kernels whose windows overlap or run backwards, and what masks and flattened axes do to others.
var windowCases = []benchCase{
	gradCase("maxpool-grad", "the gradient of a 3×3 maximum pool of stride 2 over 8×64×112×112", func(x *tensor.Tensor) *tensor.Tensor {
		return x.MaxPool(tensor.Pool{Size: []int{3}, Stride: []int{2}, Padding: []int{1}, Axes: 2})
	}, 8, 64, 112, 112),
	gradCase("maxpool-grad-odd", "the gradient of a 3×3 maximum pool of stride 2 over 4×32×55×55", func(x *tensor.Tensor) *tensor.Tensor {
		return x.MaxPool(tensor.Pool{Size: []int{3}, Stride: []int{2}, Axes: 2})
	}, 4, 32, 55, 55),
	gradCase("im2col-grad", "the gradient of columns of 3×3 windows over 4×32×56×56, padded", func(x *tensor.Tensor) *tensor.Tensor {
		return x.Im2Col(tensor.Pool{Size: []int{3, 3}, Stride: []int{1, 1}, Padding: []int{1, 1}})
	}, 4, 32, 56, 56),
	{name: "repeat-cropped", about: "each of 64×5000 elements three times, without the last", bytes: 4 * 64 * 4 * 5000, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].RepeatInterleave(3, 1).Narrow(1, 0, 3*5000-1).Contiguous()
		}, []int{64, 5000})},
	gradCase("avgpool-grad", "the gradient of a 3×3 average pool of stride 2 over 8×64×56×56", func(x *tensor.Tensor) *tensor.Tensor {
		return x.AvgPool(tensor.Pool{Size: []int{3}, Stride: []int{2}, Padding: []int{1}, Axes: 2})
	}, 8, 64, 56, 56),
	gradCase("resize-grad", "the gradient of bilinear resizing of 8×64×28×28 to twice the size", func(x *tensor.Tensor) *tensor.Tensor {
		return x.Resize([]int{56, 56}, tensor.Resize{Mode: tensor.ResizeLinear})
	}, 8, 64, 28, 28),
	{name: "conv-transpose", about: "a transposed convolution 4×4 of stride 2, 64 to 32 channels, of 4×64×28×28", flops: 2 * 4 * 64 * 32 * 16 * 28 * 28,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].ConvTranspose(in[1], nil, tensor.Conv{Stride: 2, Padding: 1})
		}, []int{4, 64, 28, 28}, []int{64, 32, 4, 4})},
	convGradCase("conv-grad-stride", 2, nil),
	convGradCase("conv-grad-norm", 1, func(x *tensor.Tensor) *tensor.Tensor { return x.GroupNorm(8, nil, nil, 1e-5).ReLU() }),
	gradCase("gates-grad", "the gradient of the gates of an LSTM's cell of 256, batch 64", func(x *tensor.Tensor) *tensor.Tensor {
		g := x.Chunk(1, 4)
		c := g[0].Sigmoid().Mul(g[1].Tanh()).Add(g[2].Sigmoid())
		return g[3].Sigmoid().Mul(c.Tanh())
	}, 64, 1024),
	{name: "transpose-4096", about: "the transpose of a 4096×4096 matrix", bytes: 8 << 24, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Transpose(0, 1).Contiguous() }, []int{4096, 4096})},
	{name: "depthwise-56", about: "a depthwise convolution 3×3 of 128 channels over 1×128×56×56", flops: 2 * 128 * 9 * 56 * 56, bytes: 8 * 128 * 56 * 56,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].Conv2D(in[1], nil, tensor.Conv{Padding: 1, Groups: 128})
		}, []int{1, 128, 56, 56}, []int{128, 1, 3, 3})},
}

// gradCase measures the gradient of f at an input of a shape.
func gradCase(name, about string, f func(x *tensor.Tensor) *tensor.Tensor, shape ...int) benchCase {
	n := 1.0
	for _, s := range shape {
		n *= float64(s)
	}
	return benchCase{name: name, about: about, bytes: 12 * n, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			y := f(in[0])
			return y.Mul(y).Sum().Grad(in[0])[0]
		}, shape)}
}

// convGradCase measures both gradients of a convolution 3×3 behind a function.
func convGradCase(name string, stride int, before func(x *tensor.Tensor) *tensor.Tensor) benchCase {
	about := "both gradients of a convolution 3×3 of 48 channels over 16×48×28×28"
	if stride > 1 {
		about += ", stride 2"
	}
	if before != nil {
		about += ", behind a group norm"
	}
	out := float64(28 / stride * 28 / stride)
	return benchCase{name: name, about: about, flops: 3 * 2 * 16 * 48 * 48 * 9 * out,
		prepare: kernelsCase(func(in ...*tensor.Tensor) []*tensor.Tensor {
			x := in[0]
			if before != nil {
				x = before(x)
			}
			y := x.Conv2D(in[1], nil, tensor.Conv{Stride: stride, Padding: 1})
			return y.Mul(y).Sum().Grad(in[0], in[1])
		}, []int{16, 48, 28, 28}, []int{48, 48, 3, 3})}
}

package main

import (
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

// pictureCases are convolutions, pools and products as layers of known networks have them: small pictures of many channels, channels
// apart, single rows times large matrices.
var pictureCases = []benchCase{
	convCase("conv-7", 1, 512, 512, 7, conv{size: 3, pad: 1}), convCase("conv-7-b8", 8, 512, 512, 7, conv{size: 3, pad: 1}),
	convCase("conv-14", 1, 256, 256, 14, conv{size: 3, pad: 1}), convCase("conv-14-b8", 8, 256, 256, 14, conv{size: 3, pad: 1}),
	convCase("conv-28", 1, 128, 128, 28, conv{size: 3, pad: 1}), convCase("conv-28-b8", 8, 128, 128, 28, conv{size: 3, pad: 1}),
	convCase("conv-56-b8", 8, 64, 64, 56, conv{size: 3, pad: 1}), convCase("conv-2-b64", 64, 512, 512, 2, conv{size: 3, pad: 1}),
	convCase("conv-dilated", 1, 960, 256, 28, conv{size: 3, pad: 24, dilation: 24}), convCase("conv-dilated-12", 1, 960, 256, 65, conv{size: 3, pad: 12, dilation: 12}),
	convCase("conv-odd-14", 1, 100, 90, 14, conv{size: 3, pad: 1}), convCase("conv-odd-7", 1, 200, 72, 7, conv{size: 3, pad: 1}),
	convCase("conv-stride-14", 1, 128, 256, 28, conv{size: 3, pad: 1, stride: 2}),
	convCase("conv-stride-7", 1, 256, 512, 14, conv{size: 3, pad: 1, stride: 2}),
	convCase("conv-stem", 1, 3, 64, 224, conv{size: 7, pad: 3, stride: 2}), convCase("conv-stem-b8", 8, 3, 64, 224, conv{size: 7, pad: 3, stride: 2}),
	convCase("conv-stride-32", 8, 3, 64, 64, conv{size: 4, pad: 1, stride: 2}),
	convCase("conv-1x1-56", 1, 256, 64, 56, conv{size: 1}), convCase("conv-1x1-14", 1, 1024, 256, 14, conv{size: 1}),
	convCase("conv-1x1-7", 1, 512, 2048, 7, conv{size: 1}), convCase("conv-1x1-b8", 8, 256, 64, 56, conv{size: 1}),
	convCase("conv-1x1-stride", 1, 256, 512, 56, conv{size: 1, stride: 2}),
	convCase("depthwise-112", 1, 32, 32, 112, conv{size: 3, pad: 1, groups: 32}),
	convCase("depthwise-28", 1, 192, 192, 28, conv{size: 3, pad: 1, groups: 192}),
	convCase("depthwise-14", 1, 384, 384, 14, conv{size: 3, pad: 1, groups: 384}), convCase("depthwise-7", 1, 960, 960, 7, conv{size: 3, pad: 1, groups: 960}),
	convCase("depthwise-b8", 8, 128, 128, 56, conv{size: 3, pad: 1, groups: 128}),
	convCase("depthwise-5", 1, 120, 120, 28, conv{size: 5, pad: 2, groups: 120}),
	convCase("depthwise-stride", 1, 96, 96, 112, conv{size: 3, pad: 1, stride: 2, groups: 96}),
	{name: "conv1d", about: "a convolution of size 9, 64 to 64 channels, over 4×64×1024", flops: 2 * 4 * 64 * 64 * 9 * 1024,
		prepare: layerCase(1, func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].Conv2D(in[1], nil, tensor.Conv{Padding: 4})
		}, []int{4, 64, 1024}, []int{64, 64, 9})},
	{name: "conv1d-audio", about: "a convolution of size 3, 80 to 384 channels, over 1×80×3000", flops: 2 * 80 * 384 * 3 * 3000,
		prepare: layerCase(1, func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].Conv2D(in[1], nil, tensor.Conv{Padding: 1})
		}, []int{1, 80, 3000}, []int{384, 80, 3})},
	convTransposeCase("conv-transpose-2", 1, 128, 64, 28, 2, tensor.Conv{Stride: 2}),
	convTransposeCase("conv-transpose-4", 1, 256, 128, 14, 4, tensor.Conv{Stride: 2, Padding: 1}),
	convTransposeCase("conv-transpose-3", 1, 64, 64, 56, 3, tensor.Conv{Padding: 1}),
	convTransposeCase("conv-transpose-wide", 1, 64, 64, 56, 3, tensor.Conv{Stride: 2, Padding: 2}),
	convTransposeCase("conv-transpose-pixels", 8, 100, 64, 1, 4, tensor.Conv{}),
	{name: "conv-transpose-1d", about: "a transposed convolution of size 8 and stride 4, 128 to 64 channels, over 1×128×200", flops: 2 * 128 * 64 * 8 * 200,
		prepare: layerCase(1, func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].ConvTranspose(in[1], nil, tensor.Conv{Stride: 4, Padding: 2})
		}, []int{1, 128, 200}, []int{128, 64, 8})},
	convTransposeCase("conv-transpose-odd", 4, 64, 32, 28, 3, tensor.Conv{Stride: 2, Padding: 1, OutputPadding: []int{1, 1}}),
	poolCase("maxpool-overlap", 1, 64, 112, func(x *tensor.Tensor, p tensor.Pool) *tensor.Tensor { return x.MaxPool(p) }, tensor.Pool{Size: []int{3}, Stride: []int{2}, Padding: []int{1}, Axes: 2}),
	poolCase("maxpool-same", 1, 192, 28, func(x *tensor.Tensor, p tensor.Pool) *tensor.Tensor { return x.MaxPool(p) }, tensor.Pool{Size: []int{3}, Stride: []int{1}, Padding: []int{1}, Axes: 2}),
	poolCase("avgpool-overlap", 8, 64, 56, func(x *tensor.Tensor, p tensor.Pool) *tensor.Tensor { return x.AvgPool(p) }, tensor.Pool{Size: []int{3}, Stride: []int{2}, Padding: []int{1}, Axes: 2}),
	{name: "resize-2x", about: "bilinear resizing of 1×64×56×56 to twice the size", bytes: 4 * 64 * 5 * 56 * 56, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].Resize([]int{112, 112}, tensor.Resize{Mode: tensor.ResizeLinear})
		}, []int{1, 64, 56, 56})},
	{name: "resize-224", about: "bilinear resizing of 8×3×300×400 to 224×224", bytes: 4 * 8 * 3 * (300*400 + 224*224), byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].Resize([]int{224, 224}, tensor.Resize{Mode: tensor.ResizeLinear})
		}, []int{8, 3, 300, 400})},
	productCase("batch-products", []int{64, 64, 256}, []int{64, 256, 64}), productCase("batch-scores", []int{96, 128, 64}, []int{96, 64, 128}),
	productCase("product-odd", []int{1000, 333}, []int{333, 777}),
	productCase("product-100", []int{100, 784}, []int{784, 1024}), productCase("product-64", []int{64, 512}, []int{512, 512}),
	{name: "matvec-4096", about: "product of a 4096×4096 matrix and a column", flops: 2 << 24, bytes: 4 << 24, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(in[1]) }, []int{4096, 4096}, []int{4096})},
	productCase("row-vocabulary", []int{1, 768}, []int{768, 50257}), productCase("row-4096", []int{1, 4096}, []int{4096, 4096}),
	productCase("rows-4096", []int{8, 4096}, []int{4096, 4096}), productCase("row-1000", []int{1, 512}, []int{512, 1000}),
	{name: "row-linear", about: "a row of 768 times the transpose of 50257×768", flops: 2 * 768 * 50257, bytes: 4 * 768 * 50257, byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(in[1].Transpose(0, 1)) }, []int{1, 768}, []int{50257, 768})},
	linearCase("linear-4", 4, 512, 2048), linearCase("linear-16", 16, 512, 2048), linearCase("linear-64", 64, 512, 2048),
	linearCase("linear-512", 512, 512, 2048), linearCase("linear-odd", 50, 300, 1001),
	convStepCase("conv-grad-7", 8, 512, 512, 7, conv{size: 3, pad: 1}), convStepCase("conv-grad-14", 8, 256, 256, 14, conv{size: 3, pad: 1}),
	convStepCase("conv-grad-28", 8, 128, 128, 28, conv{size: 3, pad: 1}), convStepCase("conv-grad-56", 8, 64, 64, 56, conv{size: 3, pad: 1}),
	convStepCase("conv-grad-dilated", 8, 24, 128, 64, conv{size: 5, dilation: 4}),
	convStepCase("conv-grad-far", 1, 960, 256, 28, conv{size: 3, pad: 24, dilation: 24}),
	convStepCase("conv-grad-coprime", 8, 64, 64, 56, conv{size: 3, pad: 1, stride: 3, dilation: 2}),
	convStepCase("conv-grad-1x1", 8, 256, 64, 28, conv{size: 1}), convStepCase("depthwise-grad", 8, 128, 128, 28, conv{size: 3, pad: 1, groups: 128}),
	convStepCase("conv-grad-stem", 4, 3, 64, 224, conv{size: 7, pad: 3, stride: 2}), convStepCase("conv-grad-stride-56", 8, 64, 64, 56, conv{size: 3, pad: 1, stride: 2}),
	convStepCase("conv-grad-1x1-stride", 8, 64, 128, 56, conv{size: 1, stride: 2}), convStepCase("depthwise-grad-stride", 8, 64, 64, 56, conv{size: 3, pad: 1, stride: 2, groups: 64}),
}

// conv says what a convolution looks like; 0 for stride, groups and dilation is 1.
type conv struct{ size, pad, stride, groups, dilation int }

func (c conv) options() tensor.Conv {
	return tensor.Conv{Stride: max(1, c.stride), Padding: c.pad, Groups: max(1, c.groups), Dilation: max(1, c.dilation)}
}

// work is what a convolution computes and its operands' shapes.
func (c conv) work(batch, in, out, side int) (flops float64, x, w []int) {
	to := c.to(side)
	x, w = []int{batch, in, side, side}, []int{out, in / max(1, c.groups), c.size, c.size}
	return 2 * float64(batch) * float64(w[0]*w[1]*w[2]*w[3]) * float64(to*to), x, w
}

// to is the side of the result.
func (c conv) to(side int) int {
	return (side+2*c.pad-max(1, c.dilation)*(c.size-1)-1)/max(1, c.stride) + 1
}

func (c conv) about(x, w []int) string {
	s := fmt.Sprintf("a convolution %d×%d of %d×%d×%d×%d to %d channels", c.size, c.size, x[0], x[1], x[2], x[3], w[0])
	if c.stride > 1 {
		s += fmt.Sprintf(", stride %d", c.stride)
	}
	if c.groups > 1 {
		s += ", depthwise"
	}
	if c.dilation > 1 {
		s += fmt.Sprintf(", dilation %d", c.dilation)
	}
	return s
}

func convCase(name string, batch, in, out, side int, c conv) benchCase {
	flops, x, w := c.work(batch, in, out, side)
	return benchCase{name: name, about: c.about(x, w), flops: flops, prepare: layerCase(1, func(in ...*tensor.Tensor) *tensor.Tensor {
		return in[0].Conv2D(in[1], nil, c.options())
	}, x, w)}
}

// convStepCase measures both gradients of a convolution, given the gradient of its result.
func convStepCase(name string, batch, in, out, side int, c conv) benchCase {
	flops, x, w := c.work(batch, in, out, side)
	return benchCase{name: name, about: "both gradients of " + c.about(x, w), flops: 2 * flops,
		prepare: kernelsCase(func(in ...*tensor.Tensor) []*tensor.Tensor {
			return in[0].Conv2D(in[1], nil, c.options()).Mul(in[2]).Sum().Grad(in[0], in[1])
		}, x, w, []int{batch, out, c.to(side), c.to(side)})}
}

func convTransposeCase(name string, batch, in, out, side, size int, o tensor.Conv) benchCase {
	return benchCase{name: name, about: fmt.Sprintf("a transposed convolution %d×%d of stride %d of %d×%d×%d×%d to %d channels", size, size, max(1, o.Stride), batch, in, side, side, out),
		flops: 2 * float64(batch*in*out*size*size*side*side),
		prepare: layerCase(1, func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].ConvTranspose(in[1], nil, o)
		}, []int{batch, in, side, side}, []int{in, out, size, size})}
}

// linearCase is a linear layer without a bias.
func linearCase(name string, rows, in, out int) benchCase {
	return benchCase{name: name, about: fmt.Sprintf("a linear layer from %d to %d of %d rows", in, out, rows), flops: 2 * float64(rows*in*out),
		bytes: 4 * float64(in*out+rows*(in+out)), prepare: layerCase(1, func(in ...*tensor.Tensor) *tensor.Tensor {
			return in[0].MatMul(in[1].Transpose(0, 1))
		}, []int{rows, in}, []int{out, in})}
}

func poolCase(name string, batch, channels, side int, f func(x *tensor.Tensor, p tensor.Pool) *tensor.Tensor, p tensor.Pool) benchCase {
	to := (side+2*p.Padding[0]-p.Size[0])/p.Stride[0] + 1
	return benchCase{name: name, about: fmt.Sprintf("a pool of windows of %d, stride %d, over %d×%d×%d×%d", p.Size[0], p.Stride[0], batch, channels, side, side),
		bytes: 4 * float64(batch*channels*(side*side+to*to)), byBytes: true,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return f(in[0], p) }, []int{batch, channels, side, side})}
}

func productCase(name string, a, b []int) benchCase {
	flops, bytes := 2*float64(b[len(b)-1]), 4.0
	for _, n := range a {
		flops *= float64(n)
	}
	for _, n := range b {
		bytes *= float64(n)
	}
	rows := a[len(a)-2]
	return benchCase{name: name, about: fmt.Sprintf("product of %v and %v", a, b), flops: flops, bytes: bytes, byBytes: rows < 8,
		prepare: kernelCase(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].MatMul(in[1]) }, a, b)}
}

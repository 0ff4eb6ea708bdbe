package nn

import (
	"slices"

	"github.com/weft-ml/weft/tensor"
)

// Conv slides filters over x[n,in,s…], of any number of spatial axes.
type Conv struct {
	Weight, Bias *tensor.Tensor // [out, in/groups, k…], [out]; Bias may be nil
	Options      tensor.Conv    // stride, padding and so on
}

// Conv2d is Conv, most often of two axes.
type Conv2d = Conv

// NewConv makes a layer of out filters of the sizes given, one for each spatial axis, with weights uniform in ±1/√(in/groups·sizes).
func NewConv(in, out int, size []int, o tensor.Conv) *Conv {
	shape := append([]int{out, in / max(o.Groups, 1)}, size...)
	fan := volume(shape[1:])
	return &Conv{uniform(fan, shape...), uniform(fan, out), o}
}

// NewConv1d is NewConv for one spatial axis: x[n,in,s].
func NewConv1d(in, out, size int, o tensor.Conv) *Conv { return NewConv(in, out, cube(1, size), o) }

// NewConv2d is NewConv for two, with filters of size×size: x[n,in,h,w].
func NewConv2d(in, out, size int, o tensor.Conv) *Conv { return NewConv(in, out, cube(2, size), o) }

// NewConv3d is NewConv for three: x[n,in,d,h,w].
func NewConv3d(in, out, size int, o tensor.Conv) *Conv { return NewConv(in, out, cube(3, size), o) }

// Forward returns out[n,out,…].
func (l *Conv) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Conv(l.Weight, l.Bias, l.Options) }

// ConvTranspose is the transpose of a Conv: each element of x[n,in,s…] adds a filter, times its value, to the result.
type ConvTranspose struct {
	Weight, Bias *tensor.Tensor // [in, out/groups, k…], [out]; Bias may be nil
	Options      tensor.Conv    // stride, padding, output padding and so on
}

// NewConvTranspose makes a layer with filters of the sizes given, one for each spatial axis, uniform in ±1/√(out/groups·sizes).
func NewConvTranspose(in, out int, size []int, o tensor.Conv) *ConvTranspose {
	shape := append([]int{in, out / max(o.Groups, 1)}, size...)
	fan := volume(shape[1:])
	return &ConvTranspose{uniform(fan, shape...), uniform(fan, out), o}
}

// NewConvTranspose1d is NewConvTranspose for one spatial axis: x[n,in,s].
func NewConvTranspose1d(in, out, size int, o tensor.Conv) *ConvTranspose {
	return NewConvTranspose(in, out, cube(1, size), o)
}

// NewConvTranspose2d is NewConvTranspose for two, with filters of size×size: x[n,in,h,w].
func NewConvTranspose2d(in, out, size int, o tensor.Conv) *ConvTranspose {
	return NewConvTranspose(in, out, cube(2, size), o)
}

// NewConvTranspose3d is NewConvTranspose for three: x[n,in,d,h,w].
func NewConvTranspose3d(in, out, size int, o tensor.Conv) *ConvTranspose {
	return NewConvTranspose(in, out, cube(3, size), o)
}

// Forward returns [n,out,(s−1)·stride − paddings + dilation·(k−1) + output padding + 1 …].
func (l *ConvTranspose) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.ConvTranspose(l.Weight, l.Bias, l.Options)
}

func cube(n, size int) []int { return slices.Repeat([]int{size}, n) }

func volume(size []int) int {
	n := 1
	for _, k := range size {
		n *= k
	}
	return n
}

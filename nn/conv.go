package nn

import "github.com/weft-ml/weft/tensor"

// Conv2d slides filters over x[n,in,h,w].
type Conv2d struct {
	Weight, Bias *tensor.Tensor // [out, in/groups, kh, kw], [out]; Bias may be nil
	Options      tensor.Conv    // stride, padding and so on
}

// NewConv2d makes a layer of out filters of size×size with weights uniform in ±1/√(in·size²).
func NewConv2d(in, out, size int, o tensor.Conv) *Conv2d {
	in /= max(o.Groups, 1)
	fan := in * size * size
	return &Conv2d{uniform(fan, out, in, size, size), uniform(fan, out), o}
}

// Forward returns out[n,out,…].
func (l *Conv2d) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.Conv2D(l.Weight, l.Bias, l.Options)
}

package nn

import (
	"fmt"

	"github.com/weft-ml/weft/tensor"
)

// Sequential is layers one after the other. An element is anything with a method Forward(x) or Forward(x, training), or a function of
// a tensor, as (*tensor.Tensor).ReLU:
//
//	net := nn.Sequential{nn.NewLinear(784, 256), (*tensor.Tensor).ReLU, &nn.Dropout{P: 0.1}, nn.NewLinear(256, 10)}
//	y := net.Forward(x, true)
//
// Its tensors are named by index: "0.weight". An error in a layer says which it was.
type Sequential []any

// Forward returns what the last layer makes of what the one before it made of … x.
func (l Sequential) Forward(x *tensor.Tensor, training bool) *tensor.Tensor {
	for i := range l {
		x = l.apply(i, x, training)
	}
	return x
}

func (l Sequential) apply(i int, x *tensor.Tensor, training bool) *tensor.Tensor {
	defer func() {
		if p := recover(); p != nil {
			panic(tensor.InLayer(p, "nn.Sequential", i))
		}
	}()
	switch f := l[i].(type) {
	case interface {
		Forward(x *tensor.Tensor) *tensor.Tensor
	}:
		return f.Forward(x)
	case interface {
		Forward(x *tensor.Tensor, training bool) *tensor.Tensor
	}:
		return f.Forward(x, training)
	case func(x *tensor.Tensor) *tensor.Tensor:
		return f(x)
	}
	panic(&tensor.ArgumentError{Op: "Sequential", Reason: fmt.Sprintf(
		"a %T is no layer: it has no Forward(x) or Forward(x, training), nor is it a function of a tensor", l[i]), At: tensor.Caller()})
}

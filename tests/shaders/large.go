package main

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// large are graphs of the sizes of real work, for which kernels look otherwise than for the small cases: tiles staged in
// workgroup memory, sums by whole workgroups, more workgroups than a dimension has. They are never computed.
var large = []struct {
	name  string
	build func(leaf func(shape ...int) *tensor.Tensor) *tensor.Tensor
}{
	{"product", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor {
		return leaf(1024, 1024).MatMul(leaf(1024, 1024))
	}},
	{"product with bias and ReLU", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor {
		return leaf(512, 784).Linear(leaf(300, 784), leaf(300)).ReLU()
	}},
	{"product of ragged sizes", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor { return leaf(1001, 513).MatMul(leaf(513, 259)) }},
	{"products", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor {
		return leaf(12, 256, 64).MatMul(leaf(12, 64, 256))
	}},
	{"product with a vector", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor { return leaf(2048, 2048).MatMul(leaf(2048)) }},
	{"convolution", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor {
		return leaf(8, 64, 32, 32).Conv2D(leaf(64, 64, 3, 3), leaf(64), tensor.Conv{Padding: 1}).ReLU()
	}},
	{"attention", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor {
		return tensor.ScaledDotProduct(leaf(8, 256, 64), leaf(8, 256, 64), leaf(8, 256, 64), tensor.Attention{Causal: true})
	}},
	{"softmax of long rows", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor { return leaf(4, 50257).Softmax(-1) }},
	{"layer norm", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor {
		return leaf(512, 768).LayerNorm(leaf(768), leaf(768), 1e-5, 768)
	}},
	{"sum of all", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor { return leaf(1 << 24).Sum() }},
	{"largest of all", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor { return leaf(1 << 20).ArgMax() }},
	{"sums of columns", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor { return leaf(4096, 1000).Sum(0) }},
	{"running sums", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor { return leaf(64, 4096).CumSum(-1) }},
	{"more workgroups than a dimension has", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor { return leaf(5_000_011).Tanh() }},
	{"gradients of a network", func(leaf func(...int) *tensor.Tensor) *tensor.Tensor {
		x, w, b, v := leaf(64, 1, 28, 28), leaf(16, 1, 5, 5), leaf(16), leaf(10, 16*12*12)
		y := x.Conv2D(w, b, tensor.Conv{}).ReLU().MaxPool(tensor.Pool{Size: []int{2, 2}}).Reshape(64, -1).Linear(v, nil)
		gs := y.LogSoftmax(-1).Mean().Grad(w, b, v)
		return gs[0].Sum().Add(gs[1].Sum()).Add(gs[2].Sum())
	}},
}

// planLarge plans the large graphs of f32 and of f16.
func planLarge(e *engine.Engine, see func(*engine.View)) (n int, err error) {
	for _, g := range large {
		for _, d := range []dtype.DType{dtype.F32, dtype.F16} {
			var node *uop.UOp
			err := tensor.Try(func() {
				node = g.build(func(shape ...int) *tensor.Tensor {
					u, err := e.Empty(d, shape)
					if err != nil {
						panic(err)
					}
					return tensor.FromNode(u, e)
				}).Node()
			})
			var view *engine.View
			if err == nil {
				view, err = e.Plan(node)
			}
			if err != nil {
				return n, fmt.Errorf("%s of %v: %w", g.name, d, err)
			}
			see(view)
			n++
		}
	}
	return n, nil
}

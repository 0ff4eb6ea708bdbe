package tensor_test

import (
	"testing"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Two constants of one value are two variables: each has the gradient of its own uses, also in a captured function, and of what is made of
// constants alone once it says that it wants one.
func TestEqualConstantsAreVariables(t *testing.T) {
	x := tensor.From([]float32{1, 2})
	for name, make := range map[string]func() *tensor.Tensor{
		"zeros":        func() *tensor.Tensor { return tensor.Zeros(2) },
		"ones":         func() *tensor.Tensor { return tensor.Ones(2) },
		"full":         func() *tensor.Tensor { return tensor.Full(2.5, dtype.F32, 2) },
		"like":         func() *tensor.Tensor { return tensor.ZerosLike(x) },
		"scalar":       func() *tensor.Tensor { return tensor.Scalar(2.0).Expand(2) },
		"made of them": func() *tensor.Tensor { return tensor.Ones(2).Mul(3).Sub(1) },
		"eye":          func() *tensor.Tensor { return tensor.Eye(2).RequireGrad().Select(0, 0) },
		"linspace":     func() *tensor.Tensor { return tensor.Linspace(1, 2, 2).RequireGrad() },
		"half":         func() *tensor.Tensor { return tensor.Zeros(2).To(dtype.F16) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := make(), make()
			l := x.Add(a).Mul(3).Add(b.Mul(5)).Sum()
			g := l.Grad(a, b)
			same(t, []float64{3, 3}, g[0].To(dtype.F32))
			same(t, []float64{5, 5}, g[1].To(dtype.F32))
		})
	}
	a, b := tensor.Scalar(2.0), tensor.Scalar(2.0)
	g := a.Mul(b).Grad(a, b)
	same(t, []float64{2}, g[0])
	same(t, []float64{2}, g[1])
	p, q := tensor.Zeros(2).RequireGrad(), tensor.Zeros(2).RequireGrad()
	x.Add(p).Mul(3).Add(q.Mul(5)).Sum().Backward()
	same(t, []float64{3, 3}, p.Gradient())
	same(t, []float64{5, 5}, q.Gradient())
}

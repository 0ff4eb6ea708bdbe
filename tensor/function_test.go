package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

func TestFunctionHasANameAndItsGradient(t *testing.T) {
	square := func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{in[0].Square(), in[0].Mul(in[1])} }
	x, y := f32(2, 3), f32(5, 7)
	plain := tensor.Function("both", square, tensor.FunctionOptions{})(x, y)
	same(t, []float64{4, 9}, plain[0])
	require.Contains(t, uop.Print(plain[0].Node()), " both ")
	same(t, []float64{4, 6}, plain[0].Sum().Grad(x)[0])
	// A gradient that is stated is the one that there is, also forward, for many and of itself.
	stated := tensor.Function("stated", square, tensor.FunctionOptions{Gradient: func(in, out, seeds []*tensor.Tensor) []*tensor.Tensor {
		return ts{seeds[0].Mul(out[0]).Add(seeds[1].Mul(100)), seeds[1].Sum().Expand(2)}
	}})
	out := stated(x, y)
	g := out[0].Add(out[1]).Sum().Grad(x, y)
	same(t, []float64{104, 109}, g[0])
	same(t, []float64{2, 2}, g[1])
	same(t, []float64{4, 6}, g[0].Sum().Grad(x)[0])
	_, moved := tensor.JVP(stated, ts{x, y}, ts{f32(1, 10), f32(1, 2)})
	same(t, []float64{4, 90}, moved[0])
	same(t, []float64{103, 1003}, moved[1])
	many := tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor {
		out := stated(in[0], y)
		return out[0].Add(out[1]).Sum().Grad(in[0])
	}, tensor.VmapOptions{})(tensor.Of([]float32{2, 3, 4, 5}, 2, 2))
	same(t, []float64{104, 109, 116, 125}, many[0])
	require.ErrorContains(t, tensor.Try(func() {
		tensor.Function("f", square, tensor.FunctionOptions{Gradient: func(in, out, seeds []*tensor.Tensor) []*tensor.Tensor {
			return ts{f32(1), nil}
		}})(x, y)
	}), "f [1] [2]: the gradient of argument 0 must have its shape")
	require.ErrorContains(t, tensor.Try(func() {
		tensor.Function("f", square, tensor.FunctionOptions{Gradient: func(in, out, seeds []*tensor.Tensor) []*tensor.Tensor {
			return nil
		}})(x, y)
	}), "f: 0 gradients for 2 arguments")
}

func TestRoundingThatLetsGradientsThrough(t *testing.T) {
	round := tensor.Function("round", func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{in[0].Round()} },
		tensor.FunctionOptions{Gradient: func(in, out, seeds []*tensor.Tensor) []*tensor.Tensor { return seeds }})
	x := f32(0.4, 1.6)
	y := round(x)[0].Square()
	same(t, []float64{0, 4}, y)
	same(t, []float64{0, 4}, y.Sum().Grad(x)[0])
}

func TestContiguousBackward(t *testing.T) {
	x := f32(1, 2, 3)
	g := x.ContiguousBackward().Square().Sum().Grad(x)[0]
	same(t, []float64{2, 4, 6}, g)
	require.Equal(t, uop.Contiguous, g.Node().Op())
	_, moved := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{in[0].ContiguousBackward().Square()} }, ts{x}, ts{f32(1, 1, 2)})
	same(t, []float64{2, 4, 12}, moved[0])
	require.True(t, tensor.Arange(2).ContiguousBackward() != nil)
}

func blur(x *tensor.Tensor) *tensor.Tensor {
	return tensor.Custom("blur", x.Shape(), func(k *tensor.Kernel) *tensor.Tensor {
		i, j := k.Range(3), k.Range(3)
		return k.Sum(k.Load(0, k.At(0).Add(i).Sub(1), k.At(1).Add(j).Sub(1)), i, j).Div(9)
	}, ts{x}, tensor.CustomOptions{})
}

func TestCustomKernels(t *testing.T) {
	for _, shape := range [][]int{{4, 5}, {1, 1}, {3, 7}, {17, 13}, {2, 64}, {0, 3}} {
		n := shape[0] * shape[1]
		x := tensor.Arange(n).To(tensor.Zeros().DType()).Mul(0.37).Sin().Reshape(shape...)
		y := blur(x)
		if n == 0 {
			same(t, nil, y)
			continue
		}
		want := x.AvgPool(tensor.Pool{Size: []int{3, 3}, Stride: []int{1}, Padding: []int{1}})
		near(t, values(t, want), y, 1e-6)
		w := x.Cos()
		near(t, values(t, want.Mul(w).Sum().Grad(x)[0]), y.Mul(w).Sum().Grad(x)[0], 1e-5)
	}
}

// A matrix product, the maxima of rows that are looked up, and what is refused.
func TestCustomReductions(t *testing.T) {
	a, b := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3), tensor.Of([]float32{1, 0, 2, 1, 0, 3}, 3, 2)
	product := func(in ...*tensor.Tensor) []*tensor.Tensor {
		return ts{tensor.Custom("product", []int{2, 2}, func(k *tensor.Kernel) *tensor.Tensor {
			j := k.Range(3)
			return k.Sum(k.Load(0, k.At(0), j).Mul(k.Load(1, j, k.At(1))), j)
		}, in, tensor.CustomOptions{})}
	}
	same(t, values(t, a.MatMul(b)), product(a, b)[0])
	_, moved := tensor.JVP(product, ts{a, b}, ts{a, nil})
	same(t, values(t, a.MatMul(b)), moved[0])
	many := tensor.Vmap(product, tensor.VmapOptions{In: []int{0, tensor.Same}})(tensor.Stack(0, a, a.Mul(2)), b)[0]
	same(t, values(t, tensor.Stack(0, a, a.Mul(2)).MatMul(b)), many)
	rows := tensor.Of([]int64{1, -1, 1 << 40, 0})
	looked := tensor.Custom("looked up", []int{4}, func(k *tensor.Kernel) *tensor.Tensor {
		j := k.Range(3)
		return k.Max(k.Load(0, k.Load(1, k.At(0)), j), j).Add(k.Prod(j.Add(1), j))
	}, ts{a, rows}, tensor.CustomOptions{})
	same(t, []float64{12, 6, 6, 9}, looked)
	// What is before is not fused with it, and its loads are those of a product: no index is looked up.
	c, d := a.On("INTERP"), b.On("INTERP")
	require.NoError(t, tensor.Realize(ctx, c, d))
	v, err := product(c.Add(1), d)[0].Schedule()
	require.NoError(t, err)
	require.Len(t, v.Plan.Kernels, 1) // of two nests, as small as they are
	require.NotContains(t, v.String(), "where")
	for want, body := range map[string]func(k *tensor.Kernel) *tensor.Tensor{
		"k [3 1 1]: the result varies with range 0":           func(k *tensor.Kernel) *tensor.Tensor { return k.Range(3) },
		"k: At(2) of a result with 2 axes":                    func(k *tensor.Kernel) *tensor.Tensor { return k.At(2) },
		"k: argument 1 of 1 is loaded":                        func(k *tensor.Kernel) *tensor.Tensor { return k.Load(1) },
		"k [2 3]: 1 indices for argument 0":                   func(k *tensor.Kernel) *tensor.Tensor { return k.Load(0, 1) },
		"k float32: index 1 of argument 0 is no integer":      func(k *tensor.Kernel) *tensor.Tensor { return k.Load(0, 1, 0.5) },
		"k: a reduction over what is no range of this kernel": func(k *tensor.Kernel) *tensor.Tensor { return k.Sum(k.At(0), k.At(0)) },
		"k: the body gives nil":                               func(k *tensor.Kernel) *tensor.Tensor { return nil },
	} {
		err := tensor.Try(func() { tensor.Custom("k", []int{2, 2}, body, ts{a}, tensor.CustomOptions{}) })
		require.ErrorContains(t, err, want)
	}
}

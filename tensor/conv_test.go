package tensor_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func noise(n int) []float32 {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(9) - 4)
	}
	return v
}

func draw(shape ...int) *tensor.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return tensor.Of(noise(n), shape...)
}

// naiveConv is the definition of a convolution over two axes.
func naiveConv(x, w []float64, xs, ws []int, stride, pad, dil, g int) ([]float64, []int) {
	oh := (xs[2]+2*pad-dil*(ws[2]-1)-1)/stride + 1
	ow := (xs[3]+2*pad-dil*(ws[3]-1)-1)/stride + 1
	var out []float64
	for n := range xs[0] {
		for o := range ws[0] {
			for i := range oh {
				for j := range ow {
					s := 0.0
					for c := range ws[1] {
						for a := range ws[2] {
							for b := range ws[3] {
								y, z := i*stride+a*dil-pad, j*stride+b*dil-pad
								if y < 0 || z < 0 || y >= xs[2] || z >= xs[3] {
									continue
								}
								ci := o/(ws[0]/g)*ws[1] + c
								s += x[((n*xs[1]+ci)*xs[2]+y)*xs[3]+z] * w[((o*ws[1]+c)*ws[2]+a)*ws[3]+b]
							}
						}
					}
					out = append(out, s)
				}
			}
		}
	}
	return out, []int{xs[0], ws[0], oh, ow}
}

func TestConv(t *testing.T) {
	for _, c := range []struct{ stride, pad, dil, g int }{{1, 0, 1, 1}, {2, 1, 1, 1}, {1, 2, 2, 2}, {3, 1, 1, 2}, {2, 0, 2, 1}} {
		x, w := draw(2, 4, 7, 8), draw(6, 4/c.g, 3, 2)
		want, shape := naiveConv(values(t, x), values(t, w), x.Shape(), w.Shape(), c.stride, c.pad, c.dil, c.g)
		got := x.Conv2D(w, nil, tensor.Conv{Stride: c.stride, Padding: c.pad, Dilation: c.dil, Groups: c.g})
		require.Equal(t, shape, got.Shape())
		same(t, want, got, c)
		same(t, want[:len(want)/2], x.At(0).Conv2D(w, nil, tensor.Conv{Stride: c.stride, Padding: c.pad, Dilation: c.dil, Groups: c.g}))
		// the gradient of the input is the transposed convolution of the seed
		seed := draw(got.Shape()...)
		g := got.GradWith(seed, x, w)
		o := tensor.Conv{Stride: c.stride, Padding: c.pad, Dilation: c.dil, Groups: c.g}
		back := seed.ConvTranspose(w, nil, o)
		more := []int{x.Dim(2) - back.Dim(2), x.Dim(3) - back.Dim(3)}
		o.OutputPadding = more
		same(t, values(t, g[0]), seed.ConvTranspose(w, nil, o), c)
		// ⟨w, ∂w⟩ = ⟨out, seed⟩, for each of the two
		same(t, values(t, got.Mul(seed).Sum()), g[1].Mul(w).Sum())
		same(t, values(t, got.Mul(seed).Sum()), g[0].Mul(x).Sum())
	}
	require.Equal(t, []int{2, 5, 6}, draw(2, 3, 8).Conv2D(draw(5, 3, 3), draw(5), tensor.Conv{}).Shape())
	require.Equal(t, []int{2, 5, 2, 3, 4}, draw(2, 3, 4, 5, 6).Conv2D(draw(5, 3, 3, 3, 3), draw(5), tensor.Conv{}).Shape())
	require.ErrorContains(t, tensor.Try(func() { draw(2, 3, 8, 8).Conv2D(draw(5, 4, 3, 3), nil, tensor.Conv{}) }), "3 channels, the filters take 4")
	require.ErrorContains(t, tensor.Try(func() { draw(2, 3, 2, 8).Conv2D(draw(5, 3, 3, 3), nil, tensor.Conv{}) }), "do not fit")
}

// Gradients of convolutions with strides, by their definition: of every stride against filters, padding, dilation and groups, and what
// is infinite in the gradient reaches only the elements that its window holds.
func TestGradientsOfStridedConv(t *testing.T) { onEach(t, gradientsOfStridedConv) }

func gradientsOfStridedConv(t *testing.T, device string) {
	for stride := 2; stride < 5; stride++ {
		for k := 1; k < 6; k++ {
			for _, c := range []struct{ n, pad, dil, g int }{{7, 0, 1, 1}, {8, 1, 1, 1}, {11, 2, 1, 2}, {12, 0, 2, 1}, {13, 1, 2, 2}, {9, 1, 3, 4}, {13, 4, 2, 1}, {5, 9, 4, 1}} {
				const in, out, m = 4, 8, 9 // m: the other axis, of windows of 3
				if c.n+2*c.pad < c.dil*(k-1)+1 {
					continue
				}
				x, w := draw(2, in, c.n, m).On(device), draw(out, in/c.g, k, 3).On(device)
				y := x.Conv2D(w, nil, tensor.Conv{Strides: []int{stride, 2}, Paddings: []int{c.pad, 1}, Dilations: []int{c.dil, 1}, Groups: c.g})
				rows, columns := y.Dim(2), y.Dim(3)
				g := values(t, draw(y.Shape()...))
				g[len(g)/3] = inf
				f := values(t, w)
				want := make([]float64, 2*in*c.n*m)
				for i := range g {
					b, o, a, e := i/(out*rows*columns), i/(rows*columns)%out, i/columns%rows, i%columns
					for ci := range in / c.g {
						for u := range k * 3 {
							r, s := a*stride+u/3*c.dil-c.pad, e*2+u%3-1
							if r >= 0 && r < c.n && s >= 0 && s < m {
								at := ((b*in+o/(out/c.g)*(in/c.g)+ci)*c.n+r)*m + s
								want[at] += g[i] * f[(o*(in/c.g)+ci)*k*3+u]
							}
						}
					}
				}
				seed := tensor.Of(g, y.Shape()...).To(dtype.F32).On(device)
				same(t, want, y.GradWith(seed, x)[0], stride, k, c)
			}
		}
	}
}

// A stride much longer than what it goes over, almost all of it padding.
func TestGradientOfHugeStride(t *testing.T) { onEach(t, gradientOfHugeStride) }

func gradientOfHugeStride(t *testing.T, device string) {
	const stride = 1 << 20
	for _, c := range []struct{ k, dilation int }{{1, 1}, {2, 1}, {3, 1}, {2, stride}, {2, 2 * stride}} {
		x, w := tensor.Of([]float32{1, 2, 4}, 1, 1, 3).On(device), tensor.Of([]float32{8, 16, 32}, 1, 1, 3).Narrow(2, 0, c.k).On(device)
		y := x.Conv2D(w, nil, tensor.Conv{Stride: stride, Dilation: c.dilation, Padding: stride})
		want, taken := make([]float64, y.Dim(2)), make([]float64, 3)
		for o := range want {
			for k := range c.k {
				if at := o*stride + k*c.dilation - stride; at >= 0 && at < 3 {
					want[o] += float64(int(8) << k << at)
					taken[at] += float64(int(8) << k)
				}
			}
		}
		same(t, want, y, c)
		same(t, taken, y.Sum().Grad(x)[0], c)
	}
}

func TestPools(t *testing.T) {
	x := tensor.Arange(16).Reshape(1, 1, 4, 4)
	same(t, []float64{5, 7, 13, 15}, x.MaxPool2D(2))
	same(t, []float64{2.5, 4.5, 10.5, 12.5}, x.AvgPool2D(2))
	v, i := x.MaxPoolIndex(tensor.Pool{Size: []int{3}, Stride: []int{2}, Padding: []int{1}})
	same(t, []float64{5, 7, 13, 15}, v)
	same(t, []float64{5, 7, 13, 15}, i)
	least := tensor.Full(-inf, dtype.F32, 1, 1, 2, 2) // padding is −inf too, and is never taken
	v, i = least.MaxPoolIndex(tensor.Pool{Size: []int{2}, Stride: []int{1}, Padding: []int{1}})

	same(t, slices.Repeat([]float64{-inf}, 9), v)
	same(t, []float64{0, 0, 1, 0, 0, 1, 2, 2, 3}, i)
	y := tensor.Ones(1, 1, 4, 4)
	p := tensor.Pool{Size: []int{3}, Stride: []int{2}, Padding: []int{1}}
	near(t, []float64{4. / 9, 6. / 9, 6. / 9, 1}, y.AvgPool(p), 1e-6)
	p.ExcludePadding = true
	near(t, []float64{1, 1, 1, 1}, y.AvgPool(p), 1e-6)
	same(t, []float64{2, 4, 5}, tensor.Arange(6).Reshape(1, 1, 6).MaxPool(tensor.Pool{Size: []int{3}, Stride: []int{2}, Ceil: true}))
	near(t, []float64{1, 3, 4.5}, tensor.Arange(6).Reshape(1, 1, 6).AvgPool(tensor.Pool{Size: []int{3}, Stride: []int{2}, Ceil: true}), 1e-6)
}

func TestNorms(t *testing.T) {
	x := draw(3, 4, 5)
	y := x.LayerNorm(nil, nil, 1e-5, 4, 5)
	near(t, []float64{0, 0, 0}, y.Mean(1, 2), 1e-6)
	near(t, []float64{1, 1, 1}, y.Var(0, 1, 2), 1e-4)
	near(t, values(t, y), x.GroupNorm(1, nil, nil, 1e-5), 1e-6)
	m, v := x.ChannelMoments(0)
	z := x.BatchNorm(m, v, draw(4), draw(4), 1e-5)
	near(t, values(t, draw(4)), z.Mean(0, 2), 1e-5)
	near(t, []float64{1, 1, 1}, x.RMSNorm(nil, 0, 4, 5).Square().Mean(1, 2), 1e-5)
	require.Error(t, tensor.Try(func() { x.LayerNorm(nil, nil, 1e-5, 4) }))
}

func TestAttention(t *testing.T) {
	q, k, v := draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 6)
	out := tensor.ScaledDotProduct(q, k, v, tensor.Attention{})
	want := q.MatMul(k.T()).Mul(0.5).Softmax(-1).MatMul(v)
	near(t, values(t, want), out, 1e-5)
	first := tensor.ScaledDotProduct(q, k, v, tensor.Attention{Causal: true}).At(tensor.All, 0)
	near(t, values(t, v.At(tensor.All, 0)), first, 1e-5)
}

// Gradients of products of narrow floats are added up in float32: of two products that cancel but for what bfloat16 cannot hold, the rest stays.
func TestNarrowGradientsAreAddedUpWide(t *testing.T) {
	bf := func(shape []int, v ...float32) *tensor.Tensor { return tensor.Of(v, shape...).To(dtype.BF16) }
	a, b := float32(1.0078125), float32(1.015625) // a² is b + 2⁻¹⁴
	seed := func(shape ...int) *tensor.Tensor { return bf(shape, a, -1) }
	for name, g := range map[string]*tensor.Tensor{
		"MatMul": func() *tensor.Tensor {
			w := bf([]int{1, 1}, 1)
			return bf([]int{2, 1}, a, b).MatMul(w).GradWith(seed(2, 1), w)[0]
		}(),
		"Einsum": func() *tensor.Tensor {
			w := bf([]int{1}, 1)
			return tensor.Einsum("ij,j->i", bf([]int{2, 1}, a, b), w).GradWith(seed(2), w)[0]
		}(),
		"Conv2D": func() *tensor.Tensor {
			w := bf([]int{1, 1, 1, 1}, 1)
			return bf([]int{2, 1, 1, 1}, a, b).Conv2D(w, nil, tensor.Conv{}).GradWith(seed(2, 1, 1, 1), w)[0]
		}(),
		"Conv2D's input": func() *tensor.Tensor {
			x := bf([]int{1, 1, 1, 1}, 1)
			return x.Conv2D(bf([]int{2, 1, 1, 1}, a, b), nil, tensor.Conv{}).GradWith(seed(1, 2, 1, 1), x)[0]
		}(),
		"ConvTranspose": func() *tensor.Tensor {
			w := bf([]int{1, 1, 1, 1}, 1)
			return bf([]int{2, 1, 1, 1}, a, b).ConvTranspose(w, nil, tensor.Conv{}).GradWith(seed(2, 1, 1, 1), w)[0]
		}(),
	} {
		got, err := tensor.Data[float32](t.Context(), g.To(dtype.F32))
		require.NoError(t, err, name)
		require.Equal(t, []float32{1. / (1 << 14)}, got, name)
	}
}

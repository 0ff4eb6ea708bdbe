package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// networks tries what networks are made of. Products, convolutions and pools run on numbers whose sums are exact
// in any order, so that a wrong element cannot hide in a tolerance.
func networks(s *suite) {
	s.products()
	s.narrowProducts()
	s.convolutions()
	s.pools()
	s.norms()
	s.attention()
	s.longAttention()
	s.losses()
}

func (s *suite) products() {
	sizes := [][3]int{{1, 1, 1}, {2, 3, 4}, {7, 7, 7}, {17, 33, 65}, {100, 257, 9}, {64, 64, 64}, {1, 100, 257}, {257, 100, 1}, {0, 5, 3}, {5, 0, 3},
		{65, 128, 64}, {128, 300, 130}, {33, 1, 33}, {8, 16, 32}, {96, 512, 96}}
	types := []dtype.DType{dtype.F64, dtype.F16, dtype.BF16, dtype.I32, dtype.I64, dtype.U8}
	for i, m := range sizes {
		for _, d := range []dtype.DType{dtype.F32, types[i%len(types)]} {
			s.one(fmt.Sprintf("matmul %v %v", m, d.Short()), tolerance["reduce"], func(in *Inputs) *uop.UOp {
				return in.view(d, Exact, m[0], m[1]).MatMul(in.view(d, Exact, m[1], m[2])).Node()
			})
		}
		s.one(fmt.Sprintf("linear %v", m), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			x, w, b := in.view(dtype.F32, Exact, m[0], m[1]), in.Tensor(dtype.F32, Exact, m[2], m[1]), in.Tensor(dtype.F32, Exact, m[2])
			return x.Linear(w, b).ReLU().Node()
		})
		s.one(fmt.Sprintf("matmul both transposed %v", m), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.Tensor(dtype.F32, Exact, m[1], m[0]).T().MatMul(in.Tensor(dtype.F32, Exact, m[2], m[1]).T()).Node()
		})
	}
	for _, b := range [][2][]int{{{3, 17, 16}, {3, 16, 9}}, {{2, 1, 5, 7}, {3, 7, 33}}, {{4, 9, 65}, {65}}, {{65}, {65, 9}}, {{33}, {33}}, {{2, 3, 8, 8}, {2, 3, 8, 8}}} {
		s.one(fmt.Sprintf("matmul %v %v", b[0], b[1]), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.view(dtype.F32, Exact, b[0]...).MatMul(in.view(dtype.F32, Exact, b[1]...)).Node()
		})
	}
	s.one("product of products", tolerance["reduce"], func(in *Inputs) *uop.UOp {
		x := in.view(dtype.F32, Powers, 17, 16)
		return x.MatMul(in.view(dtype.F32, Powers, 16, 33)).MatMul(in.view(dtype.F32, Powers, 33, 9)).Node()
	})
	s.one("einsum", tolerance["reduce"], func(in *Inputs) *uop.UOp {
		return tensor.Einsum("bij,kj->bki", in.view(dtype.F32, Exact, 3, 7, 17), in.view(dtype.F32, Exact, 9, 17)).Node()
	})
}

// windowed is one convolution.
type windowed struct {
	in, w []int
	o     tensor.Conv
}

var windowCases = []windowed{
	{[]int{1, 1, 5, 5}, []int{1, 1, 3, 3}, tensor.Conv{}},
	{[]int{2, 3, 9, 7}, []int{4, 3, 3, 3}, tensor.Conv{Padding: 1}},
	{[]int{2, 3, 17, 16}, []int{5, 3, 5, 5}, tensor.Conv{Stride: 2, Padding: 2}},
	{[]int{1, 4, 13, 13}, []int{8, 4, 3, 3}, tensor.Conv{Dilation: 2, Padding: 1}},
	{[]int{2, 6, 8, 9}, []int{9, 2, 3, 3}, tensor.Conv{Groups: 3, Padding: 1}},
	{[]int{2, 8, 7, 7}, []int{8, 1, 3, 3}, tensor.Conv{Groups: 8, Padding: 1, Stride: 2}},
	{[]int{3, 16, 6, 6}, []int{16, 16, 1, 1}, tensor.Conv{}},
	{[]int{1, 2, 11, 6}, []int{3, 2, 4, 3}, tensor.Conv{Strides: []int{3, 1}, Paddings: []int{2, 0}, Dilations: []int{1, 2}}},
	{[]int{4, 32, 12, 12}, []int{32, 32, 5, 5}, tensor.Conv{}},
	{[]int{2, 3, 33}, []int{5, 3, 7}, tensor.Conv{Stride: 2, Padding: 3}},
	{[]int{1, 2, 5, 6, 7}, []int{3, 2, 3, 3, 3}, tensor.Conv{Padding: 1}},
}

func (s *suite) convolutions() {
	for _, c := range windowCases {
		s.one(fmt.Sprintf("conv %v %v %+v", c.in, c.w, c.o), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.view(dtype.F32, Exact, c.in...).Conv2D(in.view(dtype.F32, Exact, c.w...), in.Tensor(dtype.F32, Exact, c.w[0]), c.o).Node()
		})
		s.one(fmt.Sprintf("conv %v %v %+v, ReLU, summed", c.in, c.w, c.o), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.view(dtype.F32, Exact, c.in...).Conv2D(in.view(dtype.F32, Exact, c.w...), nil, c.o).ReLU().Sum(-1).Node()
		})
		back := append([]int{}, c.w...) // of a transposed convolution: input channels first
		back[0], back[1] = c.in[1], 2
		s.one(fmt.Sprintf("conv transposed %v %v %+v", c.in, back, c.o), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.view(dtype.F32, Exact, c.in...).ConvTranspose(in.view(dtype.F32, Exact, back...), nil, c.o).Node()
		})
	}
	for _, d := range []dtype.DType{dtype.F64, dtype.F16, dtype.I32} {
		s.one(fmt.Sprintf("conv %v", d.Short()), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.view(d, Exact, 2, 3, 9, 9).Conv2D(in.view(d, Exact, 4, 3, 3, 3), nil, tensor.Conv{Padding: 1, Stride: 2}).Node()
		})
	}
}

var poolCases = []struct {
	in []int
	p  tensor.Pool
}{
	{[]int{1, 1, 4, 4}, tensor.Pool{Size: []int{2}, Axes: 2}},
	{[]int{2, 3, 17, 9}, tensor.Pool{Size: []int{3, 2}, Stride: []int{2, 2}, Padding: []int{1, 1}}},
	{[]int{2, 5, 8, 8}, tensor.Pool{Size: []int{3, 3}, Stride: []int{1, 1}, Dilation: []int{2, 2}}},
	{[]int{1, 2, 7, 7}, tensor.Pool{Size: []int{2, 2}, Ceil: true}},
	{[]int{1, 16, 12, 12}, tensor.Pool{Size: []int{2, 2}}},
	{[]int{2, 3, 33}, tensor.Pool{Size: []int{5}, Stride: []int{3}}},
}

func (s *suite) pools() {
	for _, c := range poolCases {
		s.one(fmt.Sprintf("max pool %v %+v", c.in, c.p), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.view(dtype.F32, Special, c.in...).MaxPool(c.p).Node()
		})
		s.one(fmt.Sprintf("max pool index %v %+v", c.in, c.p), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			_, i := in.view(dtype.F32, Exact, c.in...).MaxPoolIndex(c.p)
			return i.Node()
		})
		for _, skip := range []bool{false, true} {
			p := c.p
			p.ExcludePadding = skip
			s.one(fmt.Sprintf("average pool %v %+v", c.in, p), tolerance["rounded"], func(in *Inputs) *uop.UOp {
				return in.view(dtype.F32, Exact, c.in...).AvgPool(p).Node()
			})
		}
	}
}

func (s *suite) norms() {
	for _, shape := range [][]int{{1, 1}, {3, 7}, {17, 33}, {5, 100}, {33, 257}, {2, 3, 65}, {4, 1}, {1, 1000}, {257, 16}} {
		n := shape[len(shape)-1]
		rank := len(shape)
		for _, d := range []dtype.DType{dtype.F32, s.oneOf(dtype.F64, dtype.F16, dtype.BF16)} {
			s.add(fmt.Sprintf("softmax %v %v", shape, d.Short()), tolerance["smooth"], func(in *Inputs) []*uop.UOp {
				x := in.Varied(d, Smooth, shape...).Mul(3)
				return nodes(x.Softmax(-1), x.Softmax(0), x.LogSoftmax(-1), x.LogSumExp(rank-1))
			})
			s.add(fmt.Sprintf("layer norm %v %v", shape, d.Short()), tolerance["smooth"], func(in *Inputs) []*uop.UOp {
				x := in.Varied(d, Smooth, shape...)
				w, b := in.Tensor(d, Smooth, n), in.Tensor(d, Smooth, n)
				return nodes(x.LayerNorm(w, b, 1e-5, n), x.RMSNorm(w, 1e-5, n))
			})
			s.add(fmt.Sprintf("variance %v %v", shape, d.Short()), tolerance["smooth"], func(in *Inputs) []*uop.UOp {
				x := in.Varied(d, Smooth, shape...)
				return nodes(x.Var(0, -1), x.Var(0, 0), x.Std(0), x.Mean())
			})
		}
	}
	for _, shape := range [][]int{{2, 4, 5, 5}, {3, 6, 7}, {5, 16, 3, 3}} {
		c := shape[1]
		s.add(fmt.Sprintf("channel norms %v", shape), tolerance["smooth"], func(in *Inputs) []*uop.UOp {
			x, w, b := in.Varied(dtype.F32, Smooth, shape...), in.Tensor(dtype.F32, Smooth, c), in.Tensor(dtype.F32, Smooth, c)
			mean, variance := x.ChannelMoments(0)
			return nodes(x.BatchNorm(mean, variance, w, b, 1e-5), x.GroupNorm(2, w, b, 1e-5), x.InstanceNorm(w, b, 1e-5), mean, variance)
		})
	}
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		s.add(fmt.Sprintf("softmax of infinities %v", d.Short()), tolerance["smooth"], func(in *Inputs) []*uop.UOp {
			x := in.view(d, Special, 17, 9)
			low := tensor.Full(-inf, d, 5, 7)
			return nodes(x.Softmax(-1), low.Add(in.view(d, Exact, 5, 7)).Softmax(-1), x.Max(1), x.LogSumExp(1))
		})
	}
}

func (s *suite) attention() {
	for _, c := range []struct {
		q, k []int
		o    tensor.Attention
	}{
		{[]int{1, 1, 4}, []int{1, 1, 4}, tensor.Attention{}},
		{[]int{2, 7, 8}, []int{2, 9, 8}, tensor.Attention{}},
		{[]int{2, 3, 17, 16}, []int{2, 3, 17, 16}, tensor.Attention{Causal: true}},
		{[]int{1, 4, 33, 8}, []int{1, 2, 65, 8}, tensor.Attention{Grouped: true}},
		{[]int{1, 2, 100, 32}, []int{1, 2, 257, 32}, tensor.Attention{Scale: 0.3}},
	} {
		for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
			s.one(fmt.Sprintf("attention %v %v %+v %v", c.q, c.k, c.o, d.Short()), tolerance["smooth"], func(in *Inputs) *uop.UOp {
				q, k, v := in.Tensor(d, Smooth, c.q...), in.Tensor(d, Smooth, c.k...), in.Tensor(d, Smooth, c.k...)
				return tensor.ScaledDotProduct(q, k, v, c.o).Node()
			})
		}
	}
	s.one("attention with a mask", tolerance["smooth"], func(in *Inputs) *uop.UOp {
		q, k, v := in.Tensor(dtype.F32, Smooth, 2, 9, 8), in.Tensor(dtype.F32, Smooth, 2, 17, 8), in.Tensor(dtype.F32, Smooth, 2, 17, 5)
		return tensor.ScaledDotProduct(q, k, v, tensor.Attention{Mask: in.Tensor(dtype.Bool, Special, 9, 17)}).Node()
	})
}

func (s *suite) losses() {
	for _, c := range [][2]int{{1, 1}, {7, 10}, {33, 17}, {64, 100}} {
		n, k := c[0], c[1]
		s.add(fmt.Sprintf("losses %v", c), tolerance["smooth"], func(in *Inputs) []*uop.UOp {
			x, y := in.view(dtype.F32, Smooth, n, k), in.view(dtype.F32, Positive, n, k)
			ids := tensor.FromNode(in.Index(dtype.I32, k, false, n), in.engine)
			return nodes(x.CrossEntropy(ids), x.LogSoftmax(-1).NLL(ids, tensor.Loss{Reduction: tensor.SumLoss}), x.MSE(y), x.L1(y), x.SmoothL1(y, 1),
				x.BCEWithLogits(y.Mul(0.5)), x.CrossEntropy(y.Softmax(-1), tensor.Loss{Smoothing: 0.1}))
		})
	}
}

package devicetest

import (
	"fmt"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// narrowProducts tries products of narrow numbers at sizes that fit no tile, no vector and no pair: alone, in batches, with one row
// or column, transposed, of two types, and of narrow weights with wide activations. All sums are exact in any order.
func (s *suite) narrowProducts() {
	sizes := [][3]int{{7, 41, 33}, {33, 7, 65}, {64, 96, 130}, {50, 129, 64}, {1, 257, 96}, {96, 255, 1}, {3, 1, 17}, {19, 2, 5}}
	for i, m := range sizes {
		for j, d := range []dtype.DType{dtype.I8, dtype.U8, dtype.I16, dtype.F16, dtype.BF16} {
			e := []dtype.DType{dtype.U8, dtype.I8, dtype.I8, dtype.F32, dtype.F16}[j]
			s.one(fmt.Sprintf("narrow matmul %v %v", m, d.Short()), tolerance["reduce"], func(in *Inputs) *uop.UOp {
				return in.Tensor(d, Exact, m[0], m[1]).MatMul(in.Tensor(d, Exact, m[1], m[2])).Node()
			})
			s.one(fmt.Sprintf("narrow linear %v %v", m, d.Short()), tolerance["reduce"], func(in *Inputs) *uop.UOp {
				return in.Tensor(d, Exact, m[0], m[1]).Linear(in.Tensor(d, Exact, m[2], m[1]), nil).Node()
			})
			if (i+j)%2 == 0 {
				s.one(fmt.Sprintf("narrow matmul %v of %v and %v, transposed", m, d.Short(), e.Short()), tolerance["reduce"], func(in *Inputs) *uop.UOp {
					return in.Tensor(d, Exact, m[1], m[0]).T().MatMul(in.Tensor(e, Exact, m[1], m[2])).Node()
				})
				continue
			}
			s.one(fmt.Sprintf("%v weights %v", d.Short(), m), tolerance["reduce"], func(in *Inputs) *uop.UOp {
				return in.Tensor(dtype.F32, Exact, m[0], m[1]).MatMul(in.Tensor(d, Exact, m[1], m[2]).To(dtype.F32)).Node()
			})
			s.one(fmt.Sprintf("wide sums of %v %v", d.Short(), m), tolerance["reduce"], func(in *Inputs) *uop.UOp {
				wide := dtype.Accumulator(d)
				return in.Tensor(d, Exact, m[0], m[1]).To(wide).MatMul(in.Tensor(d, Exact, m[2], m[1]).To(wide).T()).Node()
			})
		}
	}
	for _, d := range []dtype.DType{dtype.I8, dtype.U8, dtype.F16, dtype.BF16} {
		s.one("narrow batches "+d.Short(), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.Tensor(d, Exact, 5, 19, 23).MatMul(in.Tensor(d, Exact, 5, 23, 70)).Node()
		})
		s.one("narrow convolution "+d.Short(), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.Tensor(d, Exact, 2, 7, 9, 11).Conv2D(in.Tensor(d, Exact, 13, 7, 3, 3), nil, tensor.Conv{Padding: 1}).Node()
		})
		s.one("narrow vector "+d.Short(), tolerance["reduce"], func(in *Inputs) *uop.UOp {
			return in.Tensor(d, Exact, 131, 77).MatMul(in.Tensor(d, Exact, 77)).Node()
		})
	}
	s.quantisedProducts()
}

// quantisedProducts tries what quantised networks multiply: bytes with and without a sign, all numbers of their types among them, less a
// zero point, in 32 bits: of rows and columns of any order, in batches, as vectors and as windows, where steps fill no word of four and where
// they do. All sums are exact.
func (s *suite) quantisedProducts() {
	b, u, wide := dtype.I8, dtype.U8, dtype.I32
	exact := tolerance["reduce"]
	for i, d := range [][2]dtype.DType{{u, b}, {b, b}, {u, u}, {b, u}} {
		for j, m := range [][3]int{{7, 41, 33}, {33, 8, 65}, {64, 96, 130}, {50, 131, 64}, {1, 258, 96}, {96, 255, 1}, {8, 64, 300}, {3, 5, 17}} {
			x := func(in *Inputs, shape ...int) *tensor.Tensor { return in.Tensor(d[0], Special, shape...).To(wide) }
			y := func(in *Inputs, shape ...int) *tensor.Tensor { return in.Tensor(d[1], Special, shape...).To(wide) }
			name := func(what string) string {
				return fmt.Sprintf("%s %v of %v and %v", what, m, d[0].Short(), d[1].Short())
			}
			s.one(name("quantised matmul"), exact, func(in *Inputs) *uop.UOp { return x(in, m[0], m[1]).MatMul(y(in, m[1], m[2])).Node() })
			s.one(name("quantised linear"), exact, func(in *Inputs) *uop.UOp {
				return x(in, m[0], m[1]).Sub(131).MatMul(y(in, m[2], m[1]).Sub(in.Tensor(d[1], Special, m[2], 1).To(wide)).T()).Node()
			})
			if (i+j)%2 == 0 {
				s.one(name("quantised transposed"), exact, func(in *Inputs) *uop.UOp {
					return x(in, m[1], m[0]).Sub(in.Tensor(d[0], Special).To(wide)).T().MatMul(y(in, m[1], m[2])).Node()
				})
				continue
			}
			s.one(name("quantised both transposed"), exact, func(in *Inputs) *uop.UOp {
				return x(in, m[1], m[0]).T().MatMul(y(in, m[2], m[1]).Add(7).T()).Node()
			})
			s.one(name("quantised batches"), exact, func(in *Inputs) *uop.UOp {
				return x(in, 3, m[0], m[1]).Sub(3).MatMul(y(in, 3, m[1], m[2])).To(d[0]).Node()
			})
		}
		for _, c := range []tensor.Conv{{Padding: 1}, {Stride: 2}, {Padding: 2, Dilation: 2}, {Groups: 2, Padding: 1}} {
			s.one(fmt.Sprintf("quantised convolution %v of %v and %v", c, d[0].Short(), d[1].Short()), exact, func(in *Inputs) *uop.UOp {
				x := in.Tensor(d[0], Special, 2, 18, 9, 11).To(wide)
				return x.Sub(5).Conv2D(in.Tensor(d[1], Special, 14, 18/max(1, c.Groups), 3, 3).To(wide), nil, c).Node()
			})
			s.one(fmt.Sprintf("narrow convolution %v of %v and %v", c, d[0].Short(), d[1].Short()), exact, func(in *Inputs) *uop.UOp {
				x := in.Tensor(d[0], Special, 1, 32, 14, 15).To(wide)
				return x.Conv2D(in.Tensor(d[1], Special, 6, 32/max(1, c.Groups), 3, 3).To(wide), nil, c).Node()
			})
		}
	}
}

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
}

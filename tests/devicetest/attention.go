package devicetest

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// longAttention are attentions of so many keys that their weights are worth no array, with every kind of mask, in sizes that
// fill no block, and where rows have nothing to attend to, scores are infinite and values are large, infinite or NaN.
func (s *suite) longAttention() {
	inf := math.Inf(1)
	type tensors struct{ q, k, v *tensor.Tensor }
	for _, c := range []struct {
		name       string
		q, k       []int
		e          int
		attend     func(in *Inputs, x tensors) *tensor.Tensor
		singleOnly bool // of float32
	}{
		{"plain", []int{2, 3, 37, 16}, []int{2, 3, 131, 16}, 20, func(_ *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{})
		}, false},
		{"causal", []int{1, 2, 160, 8}, []int{1, 2, 160, 8}, 33, func(_ *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Causal: true})
		}, false},
		{"causal, fewer queries", []int{3, 65, 8}, []int{3, 193, 8}, 8, func(_ *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Causal: true})
		}, true},
		{"bool for all heads", []int{2, 2, 40, 8}, []int{2, 2, 140, 8}, 8, func(in *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Mask: in.Tensor(dtype.Bool, Special, 1, 1, 40, 140)})
		}, true},
		{"added", []int{2, 2, 40, 8}, []int{2, 2, 128, 8}, 8, func(in *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Mask: in.Tensor(x.q.DType(), Smooth, 40, 128)})
		}, false},
		{"causal and added", []int{2, 64, 8}, []int{2, 128, 8}, 8, func(in *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Causal: true, Mask: in.Tensor(x.q.DType(), Smooth, 2, 1, 128)})
		}, true},
		{"heads in groups", []int{2, 6, 33, 8}, []int{2, 2, 135, 8}, 8, func(_ *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Grouped: true, Causal: true})
		}, false},
		{"by hand, divided at the end", []int{50, 8}, []int{150, 8}, 12, func(_ *Inputs, x tensors) *tensor.Tensor {
			p := x.q.MatMul(x.k.T())
			p = p.Sub(p.MaxKeep(-1)).Exp2()
			return p.Div(p.SumKeep(-1)).MatMul(x.v)
		}, false},
		{"the other way round", []int{40, 8}, []int{150, 8}, 12, func(_ *Inputs, x tensors) *tensor.Tensor {
			return x.v.T().MatMul(x.k.MatMul(x.q.T()).Softmax(0))
		}, true},
		{"heads last", []int{3, 40, 8}, []int{3, 150, 8}, 12, func(_ *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{}).Permute(1, 0, 2).Reshape(40, 36).Add(1)
		}, true},
		{"rows with nothing", []int{2, 37, 8}, []int{2, 130, 8}, 9, func(_ *Inputs, x tensors) *tensor.Tensor {
			rows := tensor.Arange(37).Reshape(37, 1).Mod(3).Ne(0).Expand(37, 130)
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Mask: rows})
		}, false},
		{"blocks of nothing", []int{2, 37, 8}, []int{2, 260, 8}, 9, func(_ *Inputs, x tensors) *tensor.Tensor {
			late := tensor.Arange(260).Ge(tensor.Arange(37).Mul(7).Reshape(37, 1))
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Mask: late})
		}, true},
		{"hidden values that are no numbers", []int{2, 130, 8}, []int{2, 130, 8}, 9, func(_ *Inputs, x tensors) *tensor.Tensor {
			odd := tensor.Arange(130).Reshape(130, 1)
			v := odd.Eq(70).Where(inf, odd.Eq(100).Where(math.NaN(), x.v))
			return tensor.ScaledDotProduct(x.q, x.k, v, tensor.Attention{Causal: true})
		}, false},
		{"infinite scores", []int{2, 40, 8}, []int{2, 130, 8}, 9, func(_ *Inputs, x tensors) *tensor.Tensor {
			at := tensor.Arange(130).Add(tensor.Arange(40).Reshape(40, 1))
			mask := at.Eq(50).Where(inf, at.Mod(5).Eq(1).Where(-inf, at.Eq(60).Where(math.NaN(), 0.0)))
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Mask: mask.To(x.q.DType())})
		}, true},
		{"large values", []int{2, 40, 8}, []int{2, 130, 8}, 9, func(_ *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q.Mul(0.01), x.k, x.v.Mul(0).Add(3e38), tensor.Attention{})
		}, true},
		{"far apart", []int{2, 40, 8}, []int{2, 130, 8}, 9, func(_ *Inputs, x tensors) *tensor.Tensor {
			return tensor.ScaledDotProduct(x.q, x.k, x.v, tensor.Attention{Mask: tensor.Arange(130).Mul(-3).To(x.q.DType()).Expand(40, 130)})
		}, true},
	} {
		types := []dtype.DType{dtype.F32, dtype.F64, dtype.F16}
		if c.singleOnly {
			types = types[:1]
		}
		for _, d := range types {
			s.one(fmt.Sprintf("long attention, %s, %v", c.name, d.Short()), tolerance["smooth"], func(in *Inputs) *uop.UOp {
				value := append(append([]int{}, c.k[:len(c.k)-1]...), c.e)
				return c.attend(in, tensors{in.Tensor(d, Smooth, c.q...), in.Tensor(d, Smooth, c.k...), in.Tensor(d, Smooth, value...)}).Node()
			})
		}
	}
}

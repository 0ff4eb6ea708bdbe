package nn

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Clip says how gradients are bounded: by value first, then by norm. Zeros bound nothing. Its method Apply is for the field Clip of
// optimisers:
//
//	opt.Clip = nn.Clip{Norm: 1}.Apply
type Clip struct {
	Value float64 // elements are brought into −Value … Value
	Norm  float64 // the largest norm of all gradients together; larger ones are scaled down to it (Pascanu and others, 2013)
	P     float64 // which norm: 0 means 2, the Euclidean one; +Inf the largest absolute value
}

// Apply gives the bounded gradients.
func (c Clip) Apply(grads []*tensor.Tensor) []*tensor.Tensor {
	if c.Value != 0 {
		grads = ClipValue(grads, c.Value)
	}
	if c.Norm != 0 {
		grads, _ = ClipNorm(grads, c.Norm, or(c.P, 2))
	}
	return grads
}

// ClipValue brings all elements of gradients into −limit … limit.
func ClipValue(grads []*tensor.Tensor, limit float64) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(grads))
	for i, g := range grads {
		out[i] = g.Clamp(-limit, limit)
	}
	return out
}

// ClipNorm scales gradients by limit / (norm + 1e-6) where their p-norm, of all together, is larger than limit; p +Inf is the largest
// absolute value. It also gives the norm as it was, a scalar.
func ClipNorm(grads []*tensor.Tensor, limit, p float64) (clipped []*tensor.Tensor, norm *tensor.Tensor) {
	norm = Norm(grads, p)
	scale := norm.Add(1e-6).RDiv(limit).Minimum(1)
	clipped = make([]*tensor.Tensor, len(grads))
	for i, g := range grads {
		clipped[i] = g.Mul(scale.To(g.DType()))
	}
	return clipped, norm
}

// Norm is the p-norm of all elements of several tensors together, a scalar, computed in float32, or in float64 where one of them is.
func Norm(ts []*tensor.Tensor, p float64) *tensor.Tensor {
	d := dtype.F32
	for _, t := range ts {
		if t.DType() == dtype.F64 {
			d = dtype.F64
		}
	}
	norms := make([]*tensor.Tensor, len(ts))
	for i, t := range ts {
		norms[i] = t.To(d).Norm(p)
	}
	if len(norms) == 0 {
		return tensor.Full(0, d)
	}
	if p == 0 || math.IsInf(p, -1) {
		panic(&tensor.ArgumentError{Op: "Norm", Reason: "norms of several tensors need p above 0", At: tensor.Caller()})
	}
	return tensor.Stack(0, norms...).Norm(p)
}

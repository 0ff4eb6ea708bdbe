package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
)

// Attention are the options of ScaledDotProduct.
type Attention struct {
	Mask      *Tensor    // bool: true where attention is allowed; float: added to the scores; nil: none
	Causal    bool       // query i sees keys up to i only
	Scale     float64    // of the scores; 0: 1/√(size of a head)
	Dropout   float64    // of the weights, in training
	Grouped   bool       // keys and values may have fewer heads (axis −3), each serving several of the queries'
	Generator *Generator // of Dropout; nil: the default one
}

// ScaledDotProduct is attention: softmax(q·kᵀ·scale + mask)·v for queries q[…,n,d], keys k[…,m,d] and values
// v[…,m,e]. A query that may attend to nothing gives NaN.
func ScaledDotProduct(q, k, v *Tensor, o Attention) *Tensor {
	const op = "ScaledDotProduct"
	if q.Rank() < 2 || k.Rank() < 2 || v.Rank() < 2 {
		fail(op, shapesOf(q, k, v), "needs two axes each")
	}
	if q.sizeAt(q.Rank()-1) != k.sizeAt(k.Rank()-1) || k.sizeAt(k.Rank()-2) != v.sizeAt(v.Rank()-2) {
		fail(op, shapes(q.room(), k.room(), v.room()), "queries and keys must have one size, keys and values one number")
	}
	if o.Grouped && q.Rank() > 2 {
		k, v = q.shareHeads(op, k), q.shareHeads(op, v)
	}
	x, d := q.wide()
	scale := o.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(max(1, q.Dim(-1))))
	}
	s := x.Mul(scale).MatMul(k.To(x.DType()).T())
	s = s.masked(op, o)
	p := s.Softmax(-1)
	if o.Dropout > 0 {
		p = o.Generator.orDefault().Dropout(p, o.Dropout)
	}
	return p.MatMul(v.To(x.DType())).To(d)
}

// shareHeads repeats the heads of k so that there is one for each of q's.
func (q *Tensor) shareHeads(op string, k *Tensor) *Tensor {
	n, m := q.Dim(-3), k.Dim(-3)
	if m == 0 || n%m != 0 {
		fail(op, shapesOf(q, k), "%d heads do not share %d", n, m)
	}
	return k.RepeatInterleave(n/m, -3)
}

func (t *Tensor) masked(op string, o Attention) *Tensor {
	low := math.Inf(-1)
	if o.Causal {
		keep := newTensor(above(t.Dim(-2), t.Dim(-1), 0), nil)
		t = keep.Where(t, low)
	}
	switch {
	case o.Mask == nil:
	case o.Mask.DType() == dtype.Bool:
		t = o.Mask.Where(t, low)
	case o.Mask.IsFloat():
		t = t.Add(o.Mask.To(t.DType()))
	default:
		failType(op, []dtype.DType{o.Mask.DType()}, "the mask must be bool or float")
	}
	return t
}

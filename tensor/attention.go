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
// v[…,m,e]. A query that a mask lets attend to nothing, by false or by −inf everywhere, gives 0, as do its gradients. Of bfloat16 the weights are
// rounded to it before they weigh values; on devices that multiply no matrices of it at once they may not be.
func ScaledDotProduct(q, k, v *Tensor, o Attention) *Tensor {
	const op = "ScaledDotProduct"
	if v.Rank() < 2 {
		fail(op, shapesOf(q, k, v), "needs two axes each")
	}
	p, d := q.attentionWeights(op, k, o)
	if k.sizeAt(k.Rank()-2) != v.sizeAt(v.Rank()-2) {
		fail(op, shapes(q.room(), k.room(), v.room()), "there must be one value for each key")
	}
	if o.Grouped && q.Rank() > 2 {
		v = q.shareHeads(op, v)
	}
	if d == dtype.BF16 && v.DType() == d {
		p = p.To(d).To(p.DType()) // so that the product is one of narrow numbers, which some machines have a unit for
	}
	return p.MatMul(v.To(p.DType())).To(d)
}

// AttentionWeights is what ScaledDotProduct weighs values with: softmax(q·kᵀ·scale + mask)[…,n,m] for queries q[…,n,d] and keys
// k[…,m,d]. The weights of a query are 0 where a mask lets it attend to nothing.
func AttentionWeights(q, k *Tensor, o Attention) *Tensor {
	p, d := q.attentionWeights("AttentionWeights", k, o)
	return p.To(d)
}

// attentionWeights are weights of at least 32 bits, and the type to return to.
func (q *Tensor) attentionWeights(op string, k *Tensor, o Attention) (*Tensor, dtype.DType) {
	if q.Rank() < 2 || k.Rank() < 2 {
		fail(op, shapesOf(q, k), "needs two axes each")
	}
	if q.sizeAt(q.Rank()-1) != k.sizeAt(k.Rank()-1) {
		fail(op, shapes(q.room(), k.room()), "queries and keys must have one size")
	}
	if o.Grouped && q.Rank() > 2 {
		k = q.shareHeads(op, k)
	}
	x, d := q.wide()
	scale := o.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(max(1, q.Dim(-1))))
	}
	var s *Tensor
	kt := k.To(x.DType()).T()
	if d == dtype.BF16 { // the product is one of narrow numbers, and scaled afterwards
		s = x.MatMul(kt).Mul(scale)
	} else {
		s = x.Mul(scale).MatMul(kt)
	}
	s = s.masked(op, o)
	p := s.softmax(s.Rank()-1, o.Mask != nil) // under a causal mask alone there is a key for every query
	if o.Dropout > 0 {
		p = o.Generator.orDefault().Dropout(p, o.Dropout)
	}
	return p, d
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

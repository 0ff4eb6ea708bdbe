package nn

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// MultiheadAttention lets each query take a mixture of values, by as many independent choices as there are heads.
type MultiheadAttention struct {
	Heads int

	Query, Key, Value, Out *Linear        // projections to and from the heads
	KeyBias, ValueBias     *tensor.Tensor // [1, 1, size]: one more key and value, learned; nil: none
	ZeroKey                bool           // one more key and value, zeros
	BatchFirst             bool           // inputs are [n, time, …] instead of [time, n, …]
	Dropout                float64        // of the weights, in training
}

// NewMultiheadAttention makes attention for vectors of a size that the heads divide.
func NewMultiheadAttention(size, heads int) *MultiheadAttention {
	return &MultiheadAttention{Heads: heads, Query: NewLinear(size, size), Key: NewLinear(size, size), Value: NewLinear(size, size),
		Out: NewLinear(size, size)}
}

// Attending are the options of MultiheadAttention.Forward. Masks are bool, true where attention is forbidden, or are added to the
// scores. Where a query may attend to no key its weights are 0, and Out's bias is what it gives: so PyTorch has it with
// need_weights=False.
type Attending struct {
	Mask        *tensor.Tensor // [queries, keys] or [n·heads, queries, keys]; nil: none
	PaddingMask *tensor.Tensor // [n, keys]; nil: none
	Causal      bool           // query i sees keys up to i only
	EachHead    bool           // give the weights of each head, not their mean
	Training    bool
}

// Forward returns the results for queries and, for each, the weights of the keys: [n, queries, keys], or [n, heads, queries,
// keys]. Inputs are [time, n, size], [n, time, size] with BatchFirst, or [time, size].
func (l *MultiheadAttention) Forward(query, key, value *tensor.Tensor, o Attending) (out, weights *tensor.Tensor) {
	return l.attend(query, key, value, o, l.BatchFirst)
}

func (l *MultiheadAttention) attend(query, key, value *tensor.Tensor, o Attending, batchFirst bool) (out, weights *tensor.Tensor) {
	single := query.Rank() == 2
	swap := func(x *tensor.Tensor) *tensor.Tensor { // to [n, time, size] and back
		switch {
		case single && x.Rank() == 2:
			return x.Unsqueeze(0)
		case single || batchFirst:
			return x
		}
		return x.Transpose(0, 1)
	}
	query, key, value = swap(query), swap(key), swap(value)
	if query.Rank() != 3 || query.Dim(-1)%max(l.Heads, 1) != 0 || l.Heads < 1 {
		panic(&tensor.ArgumentError{Op: "MultiheadAttention", Reason: fmt.Sprintf("queries %v for %d heads", query.Sizes(), l.Heads), At: tensor.Caller()})
	}
	q, k, v := l.Query.Forward(query), l.Key.Forward(key), l.Value.Forward(value)
	k, v, more := l.moreKeys(k, v)
	size := q.Dim(2) / l.Heads
	split := func(x *tensor.Tensor) *tensor.Tensor {
		s := x.Sizes() // any of which but the last may vary
		return x.ReshapeTo(s[0], s[1], l.Heads, size).Transpose(1, 2)
	}
	weights = tensor.AttentionWeights(split(q), split(k), l.masks(o, q, k, more))
	used := weights
	if o.Training && l.Dropout > 0 {
		used = weights.Dropout(l.Dropout)
	}
	out = used.MatMul(split(v)).Transpose(1, 2).ReshapeTo(q.Sizes()[0], q.Sizes()[1], q.Dim(2))
	out = l.Out.Forward(out)
	if !o.EachHead {
		weights = weights.Mean(1)
	}
	if single {
		return out.Select(0, 0), weights.Select(0, 0)
	}
	return swap(out), weights
}

// moreKeys appends the learned and the zero key and value, and says how many.
func (l *MultiheadAttention) moreKeys(k, v *tensor.Tensor) (_, _ *tensor.Tensor, more int) {
	if l.KeyBias != nil {
		n, size := k.Dim(0), k.Dim(2)
		k = tensor.Cat(1, k, l.KeyBias.Reshape(1, 1, size).Expand(n, 1, size))
		v = tensor.Cat(1, v, l.ValueBias.Reshape(1, 1, size).Expand(n, 1, size))
		more++
	}
	if l.ZeroKey {
		k, v = k.Pad([]int{0, 0}, []int{1, 0}), v.Pad([]int{0, 0}, []int{1, 0})
		more++
	}
	return k, v, more
}

// masks says what queries may attend to; the keys added at the end are always allowed.
func (l *MultiheadAttention) masks(o Attending, q, k *tensor.Tensor, more int) tensor.Attention {
	causal := o.Causal && o.Mask == nil
	if causal && more == 0 && o.PaddingMask == nil {
		return tensor.Attention{Causal: true}
	}
	if !causal && o.Mask == nil && o.PaddingMask == nil {
		return tensor.Attention{}
	}
	n, queries, keys := q.Dim(0), q.Dim(1), k.Dim(1)
	var forbidden, added *tensor.Tensor
	join := func(mask *tensor.Tensor) {
		switch mask = mask.Pad([]int{0}, []int{more}); {
		case mask.IsFloat() && added == nil:
			added = mask
		case mask.IsFloat():
			added = added.Add(mask)
		case forbidden == nil:
			forbidden = mask.To(dtype.Bool)
		default:
			forbidden = forbidden.Or(mask.To(dtype.Bool))
		}
	}
	if causal {
		join(tensor.Full(true, dtype.Bool, queries, keys-more).Triu(1))
	}
	if m := o.Mask; m != nil {
		if m.Rank() == 3 && m.Dim(0) == n*l.Heads {
			m = m.Reshape(n, l.Heads, queries, keys-more)
		}
		join(m)
	}
	if o.PaddingMask != nil {
		join(o.PaddingMask.Reshape(n, 1, 1, keys-more))
	}
	switch {
	case forbidden == nil:
		return tensor.Attention{Mask: added}
	case added == nil:
		return tensor.Attention{Mask: forbidden.Not()}
	}
	return tensor.Attention{Mask: forbidden.Where(math.Inf(-1), added)}
}

// TransformerLayer is a block of Vaswani and others (2017): attention among the inputs, attention to a memory (in
// decoders), and two linear layers, each added to its input and normalised.
type TransformerLayer struct {
	SelfAttention                 *MultiheadAttention
	CrossAttention                *MultiheadAttention // nil in encoders
	Widen, Narrow                 *Linear
	SelfNorm, CrossNorm, FeedNorm *LayerNorm // CrossNorm is nil in encoders
	NormFirst                     bool       // normalise what goes into each part instead of what comes out
	GELU                          bool       // between the linear layers, instead of ReLU
	Dropout                       float64    // of what each part adds, in training
	BatchFirst                    bool       // inputs and memory are [n, time, size] instead of [time, n, size]; so they are too where the attention says it
}

// NewTransformerLayer makes a block for vectors of a size; a decoder also attends to a memory.
func NewTransformerLayer(size, heads, wide int, decoder bool) *TransformerLayer {
	l := &TransformerLayer{SelfAttention: NewMultiheadAttention(size, heads), Widen: NewLinear(size, wide), Narrow: NewLinear(wide, size),
		SelfNorm: NewLayerNorm(size), FeedNorm: NewLayerNorm(size)}
	if decoder {
		l.CrossAttention, l.CrossNorm = NewMultiheadAttention(size, heads), NewLayerNorm(size)
	}
	return l
}

// Forward returns the block's output for x; memory, and how it is attended to, only counts in decoders.
func (l *TransformerLayer) Forward(x, memory *tensor.Tensor, self, cross Attending) *tensor.Tensor {
	x = l.part(x, l.SelfNorm, self.Training, func(x *tensor.Tensor) *tensor.Tensor {
		y, _ := l.SelfAttention.attend(x, x, x, self, l.BatchFirst || l.SelfAttention.BatchFirst)
		return y
	})
	if l.CrossAttention != nil {
		x = l.part(x, l.CrossNorm, self.Training, func(x *tensor.Tensor) *tensor.Tensor {
			y, _ := l.CrossAttention.attend(x, memory, memory, cross, l.BatchFirst || l.CrossAttention.BatchFirst)
			return y
		})
	}
	return l.part(x, l.FeedNorm, self.Training, func(x *tensor.Tensor) *tensor.Tensor {
		x = l.Widen.Forward(x)
		if l.GELU {
			x = x.GELU()
		} else {
			x = x.ReLU()
		}
		return l.Narrow.Forward(l.drop(x, self.Training))
	})
}

func (l *TransformerLayer) drop(x *tensor.Tensor, training bool) *tensor.Tensor {
	if training && l.Dropout > 0 {
		return x.Dropout(l.Dropout)
	}
	return x
}

// part adds f to its input, with the norm before or after.
func (l *TransformerLayer) part(x *tensor.Tensor, norm *LayerNorm, training bool, f func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if l.NormFirst {
		return x.Add(l.drop(f(norm.Forward(x)), training))
	}
	return norm.Forward(x.Add(l.drop(f(x), training)))
}

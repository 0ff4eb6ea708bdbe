package nn

import (
	"math"

	"github.com/weft-ml/weft/tensor"
)

// fresh is a tensor with memory of its own, to be filled with values at the first Realize.
func fresh(values *tensor.Tensor) *tensor.Tensor { return values.Clone() }

// uniform is the usual start of weights with so many inputs: uniform in ±1/√fanIn.
func uniform(fanIn int, shape ...int) *tensor.Tensor {
	b := 1 / math.Sqrt(float64(max(fanIn, 1)))
	return fresh(tensor.Uniform(-b, b, shape...))
}

// Linear is x[…,in] · Weight[out,in]ᵀ + Bias[out].
type Linear struct {
	Weight, Bias *tensor.Tensor // Bias may be nil
}

// NewLinear makes a layer with weights uniform in ±1/√in.
func NewLinear(in, out int) *Linear {
	return &Linear{uniform(in, out, in), uniform(in, out)}
}

// Forward returns x[…,in] · Weightᵀ + Bias.
func (l *Linear) Forward(x *tensor.Tensor) *tensor.Tensor { return x.Linear(l.Weight, l.Bias) }

// Embedding is a table of vectors, one for each of n indices.
type Embedding struct {
	Weight *tensor.Tensor // [n, d]
}

// NewEmbedding makes a table of n vectors of size d, normal with deviation 1.
func NewEmbedding(n, d int) *Embedding { return &Embedding{fresh(tensor.Randn(n, d))} }

// Forward returns the vectors of indices[…]: out[…,d].
func (l *Embedding) Forward(indices *tensor.Tensor) *tensor.Tensor {
	return l.Weight.Embedding(indices, tensor.EmbeddingOptions{})
}

// Dropout sets elements to 0 with probability P while training and scales up the others.
type Dropout struct{ P float64 }

// Forward returns x unless in training.
func (l *Dropout) Forward(x *tensor.Tensor, training bool) *tensor.Tensor {
	if !training {
		return x
	}
	return x.Dropout(l.P)
}

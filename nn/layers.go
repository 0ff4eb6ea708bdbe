package nn

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// fresh is a parameter with memory of its own, to be filled with values at the first Realize.
func fresh(values *tensor.Tensor) *tensor.Tensor { return values.Clone().RequireGrad() }

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

// Bilinear is Σ x[…,i]·Weight[out,i,j]·y[…,j] + Bias[out].
type Bilinear struct {
	Weight, Bias *tensor.Tensor // Bias may be nil
}

// NewBilinear makes a layer for vectors of two sizes, with weights uniform in ±1/√first.
func NewBilinear(first, second, out int) *Bilinear {
	return &Bilinear{uniform(first, out, first, second), uniform(first, out)}
}

// Forward returns out[…,out] for x[…,first] and y[…,second].
func (l *Bilinear) Forward(x, y *tensor.Tensor) *tensor.Tensor {
	return x.Bilinear(y, l.Weight, l.Bias)
}

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

// PReLU is x where positive and Weight·x elsewhere (He and others, 2015).
type PReLU struct {
	Weight *tensor.Tensor // [channels], for axis 1, or [1]
}

// NewPReLU makes a layer with a slope for each of n channels, or one for all (n = 1), all 0.25 at first.
func NewPReLU(n int) *PReLU { return &PReLU{fresh(tensor.Full(0.25, dtype.F32, n))} }

// Forward returns x with slopes; x[n,channels,…] where there is more than one.
func (l *PReLU) Forward(x *tensor.Tensor) *tensor.Tensor { return x.PReLU(l.Weight) }

// Upsample changes the sizes of all axes after the second of x[n,channels,s…] by interpolation.
type Upsample struct {
	Scale   float64       // new over old size: sizes are rounded down
	Sizes   []int         // the new sizes, instead of Scale
	Options tensor.Resize // how; the zero value takes the nearest element
}

// Forward returns x[n,channels,s'…].
func (l *Upsample) Forward(x *tensor.Tensor) *tensor.Tensor {
	o, sizes := l.Options, l.Sizes
	if (len(sizes) == 0) != (l.Scale > 0) || x.Rank() < 3 {
		panic(&tensor.ArgumentError{Op: "Upsample", Reason: fmt.Sprintf("input %v, scale %v, sizes %v; it needs axes after the second, and a scale or sizes",
			x.Shape(), l.Scale, l.Sizes), At: tensor.Caller()})
	}
	if len(sizes) == 0 {
		for _, n := range x.Shape()[2:] {
			sizes = append(sizes, int(float64(n)*l.Scale))
			o.Scales = append(o.Scales, l.Scale)
		}
	}
	return x.Resize(sizes, o)
}

// Flatten makes one axis of all from From on.
type Flatten struct {
	From int // 0 means 1: all but the first; a negative number: 0, all
}

// Forward returns x with fewer axes.
func (l *Flatten) Forward(x *tensor.Tensor) *tensor.Tensor {
	from := max(l.From, 0)
	if l.From == 0 {
		from = 1
	}
	return x.Reshape(append(x.Shape()[:min(from, x.Rank())], -1)...)
}

// MaxPool is the largest element of each window.
type MaxPool struct{ Options tensor.Pool }

// Forward returns the windows' maxima.
func (l *MaxPool) Forward(x *tensor.Tensor) *tensor.Tensor { return x.MaxPool(l.Options) }

// AvgPool is the average of each window.
type AvgPool struct{ Options tensor.Pool }

// Forward returns the windows' averages.
func (l *AvgPool) Forward(x *tensor.Tensor) *tensor.Tensor { return x.AvgPool(l.Options) }

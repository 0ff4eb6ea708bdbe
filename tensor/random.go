package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Each random function of the package is the method of its name of DefaultGenerator.

// Rand is uniform in 0 … 1, 1 excluded, of the default float type, float32.
func Rand(shape ...int) *Tensor { return defaultGenerator.Rand(shape...) }

// RandOf is Rand of a float type: each number is a random multiple of the type's precision.
func RandOf(d dtype.DType, shape ...int) *Tensor { return defaultGenerator.RandOf(d, shape...) }

// Randn is normal with mean 0 and deviation 1, of the default float type, float32, by the method of Box and Muller.
func Randn(shape ...int) *Tensor { return defaultGenerator.Randn(shape...) }

// Normal is Randn of another mean and deviation.
func Normal(mean, std float64, shape ...int) *Tensor {
	return defaultGenerator.Normal(mean, std, shape...)
}

// Uniform is Rand between other bounds, high excluded: what would be rounded to it is the number before it of the default float type.
// Where there is none between the bounds it is low.
func Uniform(low, high float64, shape ...int) *Tensor {
	return defaultGenerator.Uniform(low, high, shape...)
}

// ScaledUniform is uniform in ±1/√n, n the number of elements.
func ScaledUniform(shape ...int) *Tensor { return defaultGenerator.ScaledUniform(shape...) }

// GlorotUniform is uniform in ±√(6/(in+out)) for a weight of shape out, in, ….
func GlorotUniform(shape ...int) *Tensor { return defaultGenerator.GlorotUniform(shape...) }

// KaimingUniform is uniform for a weight of shape out, in, … before a leaky ReLU of this slope.
func KaimingUniform(slope float64, shape ...int) *Tensor {
	return defaultGenerator.KaimingUniform(slope, shape...)
}

// KaimingNormal is normal for a weight of shape out, in, … before a leaky ReLU of this slope.
func KaimingNormal(slope float64, shape ...int) *Tensor {
	return defaultGenerator.KaimingNormal(slope, shape...)
}

// RandLike is Rand of the shape and type of t, on its device.
func RandLike(t *Tensor) *Tensor { return defaultGenerator.RandLike(t) }

// RandnLike is Randn of the shape and type of t, on its device.
func RandnLike(t *Tensor) *Tensor { return defaultGenerator.RandnLike(t) }

// RandPerm is 0 … n−1 in random order, int32. Each place has 64 random bits that it is sorted by, so that hardly two are equal
// however many there are.
func RandPerm(n int) *Tensor { return defaultGenerator.RandPerm(n) }

// Dropout sets each element to 0 with probability p, to 32 bits, and divides the others by 1 − p. Whether a network
// is in training is its own affair: call it then only.
func (t *Tensor) Dropout(p float64) *Tensor { return defaultGenerator.Dropout(t, p) }

// ChannelDropout is Dropout of whole channels: the first two axes of t are kept or dropped as one.
func (t *Tensor) ChannelDropout(p float64) *Tensor { return defaultGenerator.ChannelDropout(t, p) }

// RReLU is t where positive and a random slope between lower and upper, drawn for each element, times t elsewhere.
func (t *Tensor) RReLU(lower, upper float64) *Tensor { return defaultGenerator.RReLU(t, lower, upper) }

// Rand is uniform in 0 … 1, 1 excluded, of the default float type, float32.
func (g *Generator) Rand(shape ...int) *Tensor { return g.RandOf(DefaultFloat(), shape...) }

// RandOf is Rand of a float type: each number is a random multiple of the type's precision.
func (g *Generator) RandOf(d dtype.DType, shape ...int) *Tensor { return g.uniform(nil, d, shape) }

func (g *Generator) uniform(e *engine.Engine, d dtype.DType, shape []int) *Tensor {
	checkSizes("Rand", shape)
	bits := d.Digits() - 1
	if bits < 0 {
		failType("Rand", []dtype.DType{d}, "needs a float type")
	}
	n := uop.Shape(shape).Numel()
	if d == dtype.F64 {
		w := g.words(e, 2*n)
		hi, lo := cut(w.node(), 0, 0, n), cut(w.node(), 0, n, 2*n)
		u := hi.Shr(hi.Int(6)).Cast(d).Mul(uop.NewFloat(d, 1<<26)).Add(lo.Shr(lo.Int(6)).Cast(d))
		return w.like(u.Mul(u.Float(math.Ldexp(1, -52))).Reshape(shape...))
	}
	w := g.words(e, n)
	u := w.node().Shr(w.node().Int(32 - bits)).Cast(dtype.F32)
	return w.like(u.Mul(u.Float(math.Ldexp(1, -bits))).Cast(d).Reshape(shape...))
}

// Randn is normal with mean 0 and deviation 1, of the default float type, float32, by the method of Box and Muller.
func (g *Generator) Randn(shape ...int) *Tensor { return g.normal(nil, DefaultFloat(), shape) }

// normal computes in float32, or in float64 for d = float64. The radius is finite: 1 less a random number is never 0.
func (g *Generator) normal(e *engine.Engine, d dtype.DType, shape []int) *Tensor {
	checkSizes("Randn", shape)
	n := uop.Shape(shape).Numel()
	r := g.uniform(e, dtype.Accumulator(d), []int{2 * n})
	angle, radius := r.Narrow(0, 0, n), r.Narrow(0, n, n)
	z := angle.Mul(2 * math.Pi).Cos().Mul(radius.RSub(1).Log().Mul(-2).Sqrt())
	return z.Reshape(shape...).To(d)
}

// Normal is Randn of another mean and deviation.
func (g *Generator) Normal(mean, std float64, shape ...int) *Tensor {
	return g.Randn(shape...).Mul(std).Add(mean)
}

// Uniform is Rand between other bounds, high excluded: what would be rounded to it is the number before it of the default float type.
// Where there is none between the bounds it is low.
func (g *Generator) Uniform(low, high float64, shape ...int) *Tensor {
	d := DefaultFloat()
	lo, hi := uop.FloatValue(d, low).Float(), uop.FloatValue(d, high).Float()
	if lo-lo != 0 || hi-hi != 0 {
		failArg("Uniform", "the bounds %v and %v must be finite %v numbers", low, high, d)
	}
	r := g.Rand(shape...)
	if span := high - low; math.Abs(span) <= r.Greatest() {
		r = r.Mul(span).Add(low)
	} else { // in halves, which do not overflow
		r = r.Mul(high/2 - low/2).Add(low / 2).Mul(2)
	}
	switch {
	case lo < hi && hi >= high:
		return r.Minimum(neighbour(d, hi, lo))
	case lo > hi && hi <= high:
		return r.Maximum(neighbour(d, hi, lo))
	}
	return r
}

// neighbour is the number of a float type that comes after f, one of that type, on the way to another.
func neighbour(d dtype.DType, f, to float64) float64 {
	if f == 0 {
		return math.Copysign(uop.FromBits(d, 1).Float(), to)
	}
	step := -1
	if (to > f) == (f > 0) {
		step = 1
	}
	return uop.FromBits(d, uop.ToBits(d, uop.FloatValue(d, f))+uint64(step)).Float()
}

// ScaledUniform is uniform in ±1/√n, n the number of elements.
func (g *Generator) ScaledUniform(shape ...int) *Tensor {
	return g.Uniform(-1, 1, shape...).Mul(1 / math.Sqrt(float64(max(1, uop.Shape(shape).Numel()))))
}

// fans are the inputs and outputs of a weight: axis 1 and axis 0, times the rest.
func fans(op string, shape []int) (in, out float64) {
	if len(shape) < 2 {
		fail(op, shapes(shape), "needs two axes")
	}
	rest := uop.Shape(shape[2:]).Numel()
	return float64(shape[1] * rest), float64(shape[0] * rest)
}

// GlorotUniform is uniform in ±√(6/(in+out)) for a weight of shape out, in, ….
func (g *Generator) GlorotUniform(shape ...int) *Tensor {
	in, out := fans("GlorotUniform", shape)
	b := math.Sqrt(6 / max(1, in+out))
	return g.Uniform(-b, b, shape...)
}

// KaimingUniform is uniform for a weight of shape out, in, … before a leaky ReLU of this slope.
func (g *Generator) KaimingUniform(slope float64, shape ...int) *Tensor {
	in, _ := fans("KaimingUniform", shape)
	b := math.Sqrt(6 / (1 + slope*slope) / max(1, in))
	return g.Uniform(-b, b, shape...)
}

// KaimingNormal is normal for a weight of shape out, in, … before a leaky ReLU of this slope.
func (g *Generator) KaimingNormal(slope float64, shape ...int) *Tensor {
	in, _ := fans("KaimingNormal", shape)
	return g.Normal(0, math.Sqrt(2/(1+slope*slope)/max(1, in)), shape...)
}

// RandLike is Rand of the shape and type of t, on its device.
func (g *Generator) RandLike(t *Tensor) *Tensor {
	return g.uniform(t.Engine(), floating(t.DType()), t.Shape())
}

// RandnLike is Randn of the shape and type of t, on its device.
func (g *Generator) RandnLike(t *Tensor) *Tensor {
	return g.normal(t.Engine(), floating(t.DType()), t.Shape())
}

// RandPerm is 0 … n−1 in random order, int32. Each place has 64 random bits that it is sorted by, so that hardly two are equal
// however many there are.
func (g *Generator) RandPerm(n int) *Tensor {
	checkSizes("RandPerm", []int{n})
	hi := g.words(nil, n)
	return hi.like(joined(hi.node(), g.words(hi.Engine(), n).node())).ArgSort(0, false)
}

// Dropout sets each element of t to 0 with probability p, to 32 bits, and divides the others by 1 − p.
func (g *Generator) Dropout(t *Tensor, p float64) *Tensor {
	if !(p >= 0 && p <= 1) {
		failArg("Dropout", "probability %v", p)
	}
	if p == 0 {
		return t.same()
	}
	if p == 1 { // also of NaN
		return t.sizing(Full(false, dtype.Bool, t.room()...)).Where(t.Div(1), 0)
	}
	drop := uint32(min(math.Round(math.Ldexp(p, 32)), 1<<32-1))
	return t.sizing(g.words(t.Engine(), t.room().Numel()).Reshape(t.room()...).Ge(drop)).Where(t.Div(1-p), 0)
}

// sizing is a mask for all that t has room for in the sizes of t.
func (t *Tensor) sizing(mask *Tensor) *Tensor {
	return mask.like(limited(mask.node(), t.given().Sizes()))
}

// ChannelDropout is Dropout of whole channels: the first two axes of t are kept or dropped as one.
func (g *Generator) ChannelDropout(t *Tensor, p float64) *Tensor {
	if t.Rank() < 2 {
		fail("ChannelDropout", shapes(t.shape()), "needs at least two axes")
	}
	s := ones(t.Rank())
	copy(s, t.Shape()[:2])
	return t.Mul(g.Dropout(t.like(Full(1, t.DType(), s...).node()), p))
}

// RReLU is t where positive and a random slope between lower and upper, drawn for each element, times t elsewhere.
func (g *Generator) RReLU(t *Tensor, lower, upper float64) *Tensor {
	return t.Gt(0).Where(t, t.Mul(g.RandLike(t).Mul(upper-lower).Add(lower)))
}

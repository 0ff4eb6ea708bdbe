package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Bernoulli is 1 with the probability that an element of t is, else 0, in the type of t, which has no gradient. A probability that is
// not between 0 and 1 is a *ValueError when the result is read.
func (t *Tensor) Bernoulli() *Tensor { return defaultGenerator.Bernoulli(t) }

// Gumbel are the options of GumbelSoftmax.
type Gumbel struct {
	Temperature float64 // 0 means 1
	Hard        bool    // 1 where the result is largest and 0 elsewhere, with the gradient of the soft result
}

// GumbelSoftmax draws from the categories along an axis, given logits, by a function that has a gradient: Softmax of (t + noise of
// Gumbel's distribution) / temperature (Jang, Gu and Poole, 2017).
func (t *Tensor) GumbelSoftmax(axis int, o Gumbel) *Tensor {
	return defaultGenerator.GumbelSoftmax(t, axis, o)
}

// AlphaDropout is Dropout for networks of SELU: elements are set to its least value, and all are shifted and scaled so that mean 0 and
// variance 1 stay (Klambauer and others, 2017).
func (t *Tensor) AlphaDropout(p float64) *Tensor { return defaultGenerator.AlphaDropout(t, p) }

// Bernoulli is 1 with the probability that an element of t is; see Tensor.Bernoulli.
func (g *Generator) Bernoulli(t *Tensor) *Tensor {
	const op = "Bernoulli"
	if !t.IsFloat() {
		failType(op, []dtype.DType{t.DType()}, "probabilities must be floats")
	}
	p := t.Detach()
	drawn := g.uniform(t.Engine(), dtype.Accumulator(t.DType()), t.Shape()).Lt(p).To(t.DType())
	if t.Numel() == 0 {
		return drawn
	}
	flat := p.Flatten()
	bad := flat.Ge(0).And(flat.Le(1)).Not()
	code := bad.Where(arange(flat.Dim(0)).Add(1), 0)
	const reason = "element %d is no probability: it must lie between 0 and 1"
	return drawn.like(drawn.node().Check(code.node().Reshape(t.shape()...), uop.CheckArg{Op: op, Reason: reason, At: caller()}))
}

// GumbelSoftmax draws from categories by a function that has a gradient; see Tensor.GumbelSoftmax.
func (g *Generator) GumbelSoftmax(t *Tensor, axis int, o Gumbel) *Tensor {
	const op = "GumbelSoftmax"
	axis = t.axis(op, axis)
	if o.Temperature == 0 {
		o.Temperature = 1
	}
	if !(o.Temperature > 0) {
		failArg(op, "temperature %v must be above 0", o.Temperature)
	}
	x, d := t.wide()
	soft := x.Sub(g.exponentialLog(t.Engine(), x.Detach())).Div(o.Temperature).Softmax(axis)
	if !o.Hard || t.Dim(axis) == 0 {
		return soft.To(d)
	}
	at := soft.Detach().ArgMax(axis).Unsqueeze(axis)
	hard := newTensor(alongAxis(iota(t.Dim(axis), dtype.I32), axis, t.shape()), nil).Eq(at).To(soft.DType())
	return hard.Add(soft.Sub(soft.Detach())).To(d)
}

// AlphaDropout is Dropout for networks of SELU; see Tensor.AlphaDropout.
func (g *Generator) AlphaDropout(t *Tensor, p float64) *Tensor {
	if !(p >= 0 && p <= 1) {
		failArg("AlphaDropout", "probability %v", p)
	}
	if p == 0 {
		return t.same()
	}
	const least = -1.7580993408473766 // −scale·alpha of SELU
	if p == 1 {
		return t.Div(1).Mul(0)
	}
	// Kept elements x and dropped ones have mean p·least and variance (1−p)(1 + p·least²) together.
	a := 1 / math.Sqrt((1-p)*(1+p*least*least))
	kept := g.Dropout(OnesLike(t).Detach(), p).Ne(0)
	return kept.Where(t.Mul(a).Sub(a*p*least), a*least*(1-p))
}

package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Sampling are the options of Multinomial. The zero value draws without putting back.
type Sampling struct {
	Replace bool // a category may be drawn more than once
}

// Multinomial draws n categories, with probabilities in proportion to the weights in the last axis of t, which has one axis or two:
// [k] gives [n], [rows, k] gives [rows, n], int32. Without Replace the categories of a row are different, in the order in which they
// are drawn. Weights that are negative, not finite, all 0, or, without Replace, fewer than n of them above 0 are a *ValueError when
// the result is read. A category of weight 0 is never drawn.
func (t *Tensor) Multinomial(n int, o Sampling) *Tensor { return defaultGenerator.Multinomial(t, n, o) }

// Categorical draws an index along an axis with the probabilities Softmax(t), int32; the axis goes. The elements are logits, or
// logarithms of probabilities: −inf is never drawn, unless all are.
func (t *Tensor) Categorical(axis int) *Tensor { return defaultGenerator.Categorical(t, axis) }

// Multinomial draws n categories, with probabilities in proportion to the weights in the last axis of t; see Tensor.Multinomial.
func (g *Generator) Multinomial(t *Tensor, n int, o Sampling) *Tensor {
	const op = "Multinomial"
	if t.Rank() < 1 || t.Rank() > 2 {
		fail(op, shapes(t.shape()), "needs weights of one axis or two")
	}
	if !t.IsFloat() {
		failType(op, []dtype.DType{t.DType()}, "weights must be floats")
	}
	k := t.Dim(-1)
	if n < 0 || k == 0 && n > 0 || !o.Replace && n > k {
		fail(op, shapes(t.shape()), "%d draws of %d categories", n, k)
	}
	if n == 0 {
		return t.like(spread(uop.NewInt(dtype.I32, 0), append(t.Shape()[:t.Rank()-1], 0)))
	}
	x, _ := t.wide()
	x = x.Detach().Reshape(-1, k)
	rows := x.Dim(0)
	checkSizes(op, []int{rows, n, k})
	need := 1
	var drawn *Tensor
	if o.Replace {
		drawn = g.drawReplaced(x, n)
	} else {
		need = n
		key := x.Log().Sub(g.exponentialLog(t.Engine(), x)) // the least of exponential times comes first: weights are rates
		_, drawn = x.Gt(0).Where(key, math.Inf(-1)).TopK(n, 1, true)
	}
	drawn = drawn.checkWeights(x, need)
	return drawn.Reshape(append(t.Shape()[:t.Rank()-1], n)...)
}

// drawReplaced finds where a random part of the sum of a row's weights falls: in the first category with a weight at which the running
// sum exceeds it, and in the last category with a weight where rounding leaves none.
func (g *Generator) drawReplaced(x *Tensor, n int) *Tensor {
	rows, k := x.Dim(0), x.Dim(1)
	sums := x.CumSum(1)
	part := g.fraction(x.Engine(), rows*n).Reshape(rows, n).To(x.DType()).Mul(sums.Narrow(1, k-1, 1))
	some := x.Gt(0)
	reached, _ := some.Where(sums, math.Inf(-1)).CumMax(1) // by categories with a weight, whatever rounding does
	found := reached.Contiguous().SearchSorted(part, true)
	return found.Lt(k).Where(found, some.Where(arange(k), 0).MaxKeep(1))
}

// fraction is n numbers above 0 and below 1, float32, of 32 random bits.
func (g *Generator) fraction(e *engine.Engine, n int) *Tensor {
	w := g.words(e, n)
	return w.To(dtype.F32).Add(0.5).Mul(math.Ldexp(1, -32)).Minimum(1 - math.Ldexp(1, -24))
}

// exponentialLog is the logarithm of exponentially distributed numbers of mean 1, one for each element of x and in its type.
func (g *Generator) exponentialLog(e *engine.Engine, x *Tensor) *Tensor {
	u := g.fraction(e, x.Numel()).Reshape(x.Shape()...).To(x.DType())
	return u.Neg().Log1p().Neg().Log()
}

// checkWeights has a row of weights x from which n different ones, or one, cannot be drawn reported where t, what was drawn, is read.
func (t *Tensor) checkWeights(x *Tensor, need int) *Tensor {
	if t.Numel() == 0 {
		return t
	}
	rows := x.Dim(0)
	bad := x.Ge(0).And(x.IsFinite()).All(1).LogicalNot().Or(x.Gt(0).To(dtype.I32).Sum(1).Lt(need))
	code := bad.Where(arange(rows).Add(1), 0) // of several rows the last is told
	const reason = "from the weights of row %d so many cannot be drawn: they must be finite, none negative, enough of them above 0"
	return t.like(t.node().Check(code.node(), uop.CheckArg{Op: "Multinomial", Reason: reason, At: caller()}))
}

// Categorical draws an index along an axis with the probabilities Softmax(t); see Tensor.Categorical. It is the largest of the sums of
// logits and numbers of Gumbel's distribution (Gumbel, 1954).
func (g *Generator) Categorical(t *Tensor, axis int) *Tensor {
	axis = t.axis("Categorical", axis)
	if t.Dim(axis) == 0 {
		fail("Categorical", shapes(t.shape()), "axis %d is empty", axis)
	}
	x, _ := t.wide()
	x = x.Detach()
	return x.Sub(g.exponentialLog(t.Engine(), x)).ArgMax(axis)
}

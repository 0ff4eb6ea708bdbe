package tensor

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
)

// positive is t where above 0, and 0 elsewhere.
func (t *Tensor) positive() *Tensor { return t.Clamp(0, nil) }

// HingeEmbedding is t where target is 1, and margin − t, at least 0, where it is −1; elsewhere it is both.
func (t *Tensor) HingeEmbedding(target *Tensor, margin float64, options ...Loss) *Tensor {
	o := lossOptions("HingeEmbedding", options)
	l := target.Eq(-1).Where(0, t).Add(target.Eq(1).Where(0, t.RSub(margin).positive()))
	return o.finish("HingeEmbedding", l)
}

// MarginRanking is margin − target·(t − other), at least 0: target is 1 where t should be the larger one, else −1.
func (t *Tensor) MarginRanking(other, target *Tensor, margin float64, options ...Loss) *Tensor {
	o := lossOptions("MarginRanking", options)
	if t.Rank() != other.Rank() || t.Rank() != target.Rank() {
		fail("MarginRanking", shapesOf(t, other, target), "all need as many axes")
	}
	return o.finish("MarginRanking", target.Neg().Mul(t.Sub(other)).Add(margin).positive())
}

// Triplet says how distances are taken in TripletMargin.
type Triplet struct {
	Margin float64
	P      float64 // the norm; 0: 2
	Eps    float64 // added to differences; 0: 1e-6; a negative number: 0
	Swap   bool    // the negative may be compared with the positive instead of the anchor
}

// TripletMargin is margin + distance(t, positive) − distance(t, negative), at least 0, of rows.
func (t *Tensor) TripletMargin(positive, negative *Tensor, k Triplet, options ...Loss) *Tensor {
	o := lossOptions("TripletMargin", options)
	k.P, k.Eps = cmp.Or(k.P, 2), max(cmp.Or(k.Eps, 1e-6), 0)
	near, far := t.PairwiseDistance(positive, k.P, k.Eps), t.PairwiseDistance(negative, k.P, k.Eps)
	if k.Swap {
		far = far.Minimum(positive.PairwiseDistance(negative, k.P, k.Eps))
	}
	return o.finish("TripletMargin", near.Sub(far).Add(k.Margin).positive())
}

// SoftMargin is log(1 + e^(−target·t)).
func (t *Tensor) SoftMargin(target *Tensor, options ...Loss) *Tensor {
	t.sameShape("SoftMargin", target)
	o := lossOptions("SoftMargin", options)
	return o.finish("SoftMargin", t.Mul(target).LogSigmoid().Neg())
}

// MultiLabelSoftMargin is the mean over classes (the last axis) of BCEWithLogits; a weight is one for each class.
func (t *Tensor) MultiLabelSoftMargin(target *Tensor, options ...Loss) *Tensor {
	const op = "MultiLabelSoftMargin"
	t.sameShape(op, target)
	o := lossOptions(op, options)
	l := target.Mul(t.LogSigmoid()).Add(target.RSub(1).Mul(t.Neg().LogSigmoid())).Neg()
	if o.Weight != nil {
		l = l.Mul(o.Weight)
	}
	return o.reduce(op, l.Mean(-1))
}

// MultiMargin is the mean over the other classes of (margin − t[target] + t[class], at least 0)^p, times the target's
// weight. Classes are the last axis, target their indices.
func (t *Tensor) MultiMargin(target *Tensor, p, margin float64, options ...Loss) *Tensor {
	const op = "MultiMargin"
	o := lossOptions(op, options)
	target = wideIndex(op, target)
	if t.Rank() < 1 || t.Rank() > 2 || !target.shape().Equal(t.shape()[:t.Rank()-1]) {
		fail(op, shapesOf(t, target), "needs [n, classes] and a class index for each of n")
	}
	if o.Weight != nil && !o.Weight.shape().Equal([]int{t.Dim(-1)}) {
		fail(op, shapesOf(t, o.Weight), "needs a weight for each class")
	}
	wide := target.like(within(op, "class", target.node(), 0, t.Dim(-1), fmt.Sprintf("%d classes", t.Dim(-1)))).Unsqueeze(-1)
	l := t.Sub(t.pickInside(op, -1, wide)).Add(margin).positive()
	if p != 1 {
		l = l.Pow(p)
	}
	if o.Weight != nil {
		l = l.Mul(o.Weight.rows(wide.Flatten()).Reshape(wide.Shape()...))
	}
	self := arange(t.Dim(-1)).To(wide.DType()).Eq(wide)
	return o.reduce(op, self.Where(0, l).Sum(-1).Div(t.Dim(-1)))
}

// MultiLabelMargin is the mean over all classes of (1 − t[target] + t[class], at least 0), summed over the targets of a sample and, for
// each, the classes that are no targets. Classes are the last axis of t; target has its shape and lists class indices, of which those
// from the first negative one on do not count.
func (t *Tensor) MultiLabelMargin(target *Tensor, options ...Loss) *Tensor {
	const op = "MultiLabelMargin"
	o := lossOptions(op, options)
	if o.Weight != nil {
		failArg(op, "takes no weight")
	}
	target = wideIndex(op, target)
	if t.Rank() < 1 || t.Rank() > 2 || !target.shape().Equal(t.shape()) {
		fail(op, shapesOf(t, target), "needs [n, classes] and as many class indices, the rest −1")
	}
	n := t.Dim(-1)
	if t.Numel() == 0 {
		return o.reduce(op, t.Sum(-1))
	}
	counts := target.Lt(0).CumSum(-1).Eq(0)
	at := counts.Where(target, 0)
	at = at.like(within(op, "class", at.node(), 0, n, fmt.Sprintf("%d classes", n)))
	classes := arange(n).To(at.DType())
	hit := at.Unsqueeze(-1).Eq(classes).And(counts.Unsqueeze(-1)) // [n, place in target, class]
	others := hit.Any(-2).LogicalNot().Unsqueeze(-2)
	top := hit.Where(t.Unsqueeze(-2), 0).Sum(-1).Unsqueeze(-1)
	l := t.Unsqueeze(-2).Sub(top).Add(1).positive()
	return o.reduce(op, counts.Unsqueeze(-1).And(others).Where(l, 0).Sum(-1, -2).Div(n))
}

// PoissonNLL is the negative log-likelihood of counts target for a rate eᵗ, or t where logInput is not set; full adds
// Stirling's approximation of the constant term.
func (t *Tensor) PoissonNLL(target *Tensor, logInput, full bool, eps float64, options ...Loss) *Tensor {
	var l *Tensor
	if logInput {
		l = t.Exp().Sub(target.Mul(t))
	} else {
		l = t.Sub(target.Mul(t.Add(eps).Log()))
	}
	if full {
		large := target.Gt(1)
		x := large.Where(target, 1)
		l = l.Add(large.Where(x.Mul(x.Log()).Sub(x).Add(x.Mul(2*math.Pi).Log().Mul(0.5)), 0))
	}
	return lossOptions("PoissonNLL", options).finish("PoissonNLL", l)
}

// GaussianNLL is the negative log-likelihood of target under normal distributions of mean t and the given variance, which
// counts as at least eps; full adds the constant term. variance has t's shape, or the last axis of size 1, or is without it.
func (t *Tensor) GaussianNLL(target, variance *Tensor, full bool, eps float64, options ...Loss) *Tensor {
	if variance.Rank() == t.Rank()-1 {
		variance = variance.Unsqueeze(-1)
	}
	if s := variance.room(); !s.Equal(t.room()) && (t.Rank() == 0 || !s.Equal(with(t.room(), t.Rank()-1, 1))) {
		fail("GaussianNLL", shapes(t.room(), s), "the variance must have the shape of the mean, or of its rows")
	}
	v := stated(variance.Clamp(eps, nil), variance) // the limit does not stop the gradient
	l := v.Log().Add(t.Sub(target).Square().Div(v)).Mul(0.5)
	if full {
		l = l.Add(math.Log(2*math.Pi) / 2)
	}
	return lossOptions("GaussianNLL", options).finish("GaussianNLL", l)
}

// CosineEmbedding is 1 − c where target is 1, and c − margin, at least 0, where it is −1, for the cosine c of rows.
func (t *Tensor) CosineEmbedding(other, target *Tensor, margin float64, options ...Loss) *Tensor {
	const eps = 1e-12
	if t.Rank() < 1 || !slices.Equal(target.Sizes(), t.Sizes()[:t.Rank()-1]) || !slices.Equal(other.Sizes(), t.Sizes()) {
		fail("CosineEmbedding", shapes(t.room(), other.room(), target.room()), "needs rows, and a target for each")
	}
	length := t.Square().Sum(-1).Add(eps).Mul(other.Square().Sum(-1).Add(eps)).Sqrt()
	c := t.Mul(other).Sum(-1).Div(length)
	l := target.Eq(1).Where(c.RSub(1), 0).Add(target.Eq(-1).Where(c.Sub(margin).positive(), 0))
	return lossOptions("CosineEmbedding", options).finish("CosineEmbedding", l)
}

// CTCOptions are the settings of CTC.
type CTCOptions struct {
	Blank        int
	Reduction    LossReduction // the mean divides each loss by the length of its target
	ZeroInfinity bool          // impossible alignments count 0
}

// CTC is the connectionist temporal classification loss of log-probabilities t[time, n, classes] (or [time, classes]) for
// targets [n, length], or a list of all targets in a row, with the lengths of inputs and targets. Lists are cut apart at once,
// which reads the target lengths. Lengths that are too large, and labels within them that are no classes, are a *ValueError
// when the result is read.
func (t *Tensor) CTC(ctx context.Context, targets, inputs, lengths *Tensor, o CTCOptions) (*Tensor, error) {
	single := t.Rank() == 2
	if single {
		t = t.Unsqueeze(1)
		inputs, lengths = inputs.Reshape(1), lengths.Reshape(1)
		targets = targets.Reshape(1, targets.Numel())
	}
	if t.Rank() != 3 || inputs.Numel() != t.Dim(1) || lengths.Numel() != t.Dim(1) {
		fail("CTC", shapesOf(t, targets, inputs, lengths), "needs [time, n, classes], and two lengths for each of n")
	}
	if targets.Rank() == 1 {
		var err error
		if targets, err = targets.rowsOf(ctx, lengths); err != nil {
			return nil, err
		}
	}
	if n := t.Dim(2); o.Blank < 0 || o.Blank >= n {
		failArg("CTC", "blank %d is out of range for %d classes", o.Blank, n)
	}
	targets = wideIndex("CTC", targets)
	inputs, lengths = t.lengthsWithin(inputs, "input", t.Dim(0)), t.lengthsWithin(lengths, "target", targets.Dim(1))
	l := t.alignments(t.labelsWithin(targets, lengths), inputs, lengths, o.Blank).Neg()
	if o.ZeroInfinity {
		l = l.IsInf().Where(0, l)
	}
	if o.Reduction == MeanLoss {
		l = l.Div(lengths.To(l.DType()).Maximum(1))
	}
	l = Loss{Reduction: o.Reduction}.reduce("CTC", l)
	if single && o.Reduction == NoneLoss {
		l = l.Reshape()
	}
	return l, nil
}

// lengthsWithin are lengths that are checked.
func (t *Tensor) lengthsWithin(l *Tensor, what string, most int) *Tensor {
	l = wideIndex("CTC", l)
	return l.like(within("CTC", what+" length", l.node(), 0, most+1, fmt.Sprintf("%ss of %d", what, most)))
}

// labelsWithin are labels that are checked as far as they count.
func (t *Tensor) labelsWithin(labels, lengths *Tensor) *Tensor {
	n := t.Dim(2)
	where := fmt.Sprintf("%d classes", n)
	counts := arange(labels.Dim(1)).Lt(lengths.Reshape(labels.Dim(0), 1))
	code := outside("CTC", "label", labels.node(), 0, n, where, counts.node())
	if code == nil {
		return labels
	}
	return labels.like(labels.node().Check(code, checkOf("CTC", "label", 0, n, where)))
}

// rowsOf cuts a list into rows of the given lengths, filled up with zeros.
func (t *Tensor) rowsOf(ctx context.Context, lengths *Tensor) (*Tensor, error) {
	n, err := Data[int64](ctx, lengths.To(dtype.I64))
	if err != nil {
		return nil, err
	}
	width, at := 0, 0
	for _, k := range n {
		width = max(width, int(k))
	}
	rows := make([]*Tensor, len(n))
	for i, k := range n {
		rows[i] = t.Narrow(0, at, int(k)).Pad([]int{0}, []int{width - int(k)})
		at += int(k)
	}
	return Stack(0, rows...), nil
}

// alignments is the log-probability of each target: the sum over all ways to spread it over time, with blanks between.
// State s of 2·length+1 is a blank where s is even.
func (t *Tensor) alignments(targets, inputs, lengths *Tensor, blank int) *Tensor {
	n, k := t.Dim(1), targets.Dim(1)
	states := 2*k + 1
	s := arange(states)
	labels := targets.To(dtype.I32).RepeatInterleave(2, 1).Pad([]int{0, 1}, []int{0, 0}) // targets at odd places
	labels = s.And(1).Eq(1).Where(labels, blank)
	behind := labels.Pad([]int{0, 2}, []int{0, 0}).Narrow(1, 0, states)
	skip := s.Ge(2).And(s.And(1).Eq(1)).And(labels.Ne(behind)) // from label to label, unless they are equal
	low := math.Inf(-1)
	moved := func(a *Tensor, by int) *Tensor { return a.PadWith(low, []int{0, by}, []int{0, 0}).Narrow(1, 0, states) }
	picked := t.pickInside("CTC", 2, labels.Expand(t.Dim(0), n, states))
	counts := arange(t.Dim(0)).Reshape(t.Dim(0), 1, 1).Lt(inputs.Unsqueeze(1))
	skips := skip.Where(0, low).To(t.DType())
	alpha := s.Le(1).Where(picked.Select(0, 0), low)
	if later := t.Dim(0) - 1; later > 0 {
		step := func(carried, in []*Tensor) (next, out []*Tensor) {
			a := carried[0]
			b := a.LogAddExp(moved(a, 1)).LogAddExp(moved(a, 2).Add(skips)).Add(in[0])
			return []*Tensor{in[1].Where(b, a)}, nil
		}
		all, _ := Scan(step, []*Tensor{alpha}, []*Tensor{picked.Narrow(0, 1, later), counts.Narrow(0, 1, later)}, ScanOptions{})
		alpha = all[0].Select(0, later-1)
	}
	last := lengths.To(dtype.I32).Mul(2).Reshape(n, 1)
	blankEnd := alpha.pickInside("CTC", 1, last)
	labelEnd := last.Gt(0).Where(alpha.pickInside("CTC", 1, last.Sub(1).Maximum(0)), low)
	return blankEnd.LogAddExp(labelEnd).Reshape(n)
}

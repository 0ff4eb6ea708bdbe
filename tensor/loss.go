package tensor

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// LossReduction says how the losses of the elements become one.
type LossReduction uint8

// The reductions. BatchMean adds up and divides by the size of axis 0.
const (
	MeanLoss  LossReduction = 0
	SumLoss   LossReduction = 1
	NoneLoss  LossReduction = 2
	BatchMean LossReduction = 3
)

// Loss are the options of losses.
type Loss struct {
	Reduction LossReduction
	Weight    *Tensor // factor of each class (class losses) or element
	Ignore    []int   // class indices that do not count; none: −100
	Smoothing float64 // share of the target spread over all classes
	PosWeight *Tensor // BCEWithLogits: factor of the positive part
	ClassAxis int     // CrossEntropy, NLL: where the classes are, −1 the last axis; 0: axis 1, or axis 0 of a single sample (axis 0 of several axes is −rank)
}

func lossOptions(op string, o []Loss) Loss {
	switch len(o) {
	case 0:
		return Loss{}
	case 1:
		return o[0]
	}
	failArg(op, "takes one set of options, not %d", len(o))
	return Loss{}
}

// finish weights and reduces the losses of elements.
func (o Loss) finish(op string, l *Tensor) *Tensor {
	if o.Weight != nil {
		l = l.Mul(o.Weight)
	}
	return o.reduce(op, l)
}

func (o Loss) reduce(op string, l *Tensor) *Tensor {
	switch o.Reduction {
	case MeanLoss:
		return l.Mean()
	case SumLoss:
		return l.Sum()
	case NoneLoss:
		return l
	case BatchMean:
		if l.Rank() == 0 {
			return l
		}
		if n := l.sizeAt(0); n.is.Varies() {
			return l.Sum().Div(n.Tensor())
		}
		return l.Sum().Div(l.Dim(0))
	}
	failArg(op, "reduction %d", o.Reduction)
	return nil
}

// CrossEntropy is −Σ target·LogSoftmax(t) over the classes, which lie on axis 1 (on axis 0 of a single
// sample), or where Loss.ClassAxis says. target holds class indices, or probabilities in the shape of t. The mean over indices counts each
// with the weight of its class. An index of no class that is not ignored is a *ValueError when the result is read.
func (t *Tensor) CrossEntropy(target *Tensor, options ...Loss) *Tensor {
	const op = "CrossEntropy"
	o := lossOptions(op, options)
	axis := t.classAxis(op, o)
	if !(0 <= o.Smoothing && o.Smoothing <= 1) {
		failArg(op, "Smoothing is %v; it is a share, from 0 to 1", o.Smoothing)
	}
	x, d := t.wide()
	logp := x.LogSoftmax(axis)
	if target.IsFloat() {
		return t.soft(op, logp, target, o, axis).To(d)
	}
	nll, weight := logp.classLoss(op, target, o, axis)
	if o.Smoothing == 0 {
		return o.average(op, nll, weight).To(d)
	}
	all := logp.Neg()
	if o.Weight != nil {
		all = all.Mul(logp.perClass(op, o.Weight, axis))
	}
	smooth := all.Sum(axis)
	if kept := logp.counted(op, target, o, axis); kept != nil {
		smooth = kept.Ne(0).Where(smooth, 0.0) // a product would pass on what is not finite, as the gradient of a mean over none
	}
	l := nll.Mul(1 - o.Smoothing).Add(smooth.Mul(o.Smoothing / float64(t.Dim(axis))))
	return o.average(op, l, weight).To(d)
}

// soft is the loss against probabilities.
func (t *Tensor) soft(op string, logp, target *Tensor, o Loss, axis int) *Tensor {
	if !slices.Equal(target.shape(), t.shape()) {
		if target.Rank() < t.Rank() { // as class indices are
			failType(op, []dtype.DType{target.DType()}, "class indices are integers; use To")
		}
		fail(op, shapesOf(t, target), "probabilities must have the shape of the logits")
	}
	p := target.To(logp.DType())
	if o.Smoothing > 0 {
		p = p.Mul(1 - o.Smoothing).Add(o.Smoothing / float64(t.Dim(axis)))
	}
	l := logp.Mul(p).Neg()
	if o.Weight != nil {
		l = l.Mul(logp.perClass(op, o.Weight, axis))
	}
	l = l.Sum(axis)
	if o.Reduction == MeanLoss { // over samples, not classes
		return l.Mean()
	}
	return o.reduce(op, l)
}

// NLL is −t at the class indices of target, for log-probabilities t with classes on axis 1 (on axis 0 of a
// single sample), or where Loss.ClassAxis says. An index of no class that is not ignored is a *ValueError when the result is read.
func (t *Tensor) NLL(target *Tensor, options ...Loss) *Tensor {
	const op = "NLL"
	o := lossOptions(op, options)
	axis := t.classAxis(op, o)
	x, d := t.wide()
	l, weight := x.classLoss(op, target, o, axis)
	return o.average(op, l, weight).To(d)
}

func (t *Tensor) classAxis(op string, o Loss) int {
	if t.Rank() == 0 {
		fail(op, shapes(t.shape()), "needs an axis of classes")
	}
	if o.ClassAxis != 0 {
		return t.axis(op, o.ClassAxis)
	}
	return min(1, t.Rank()-1)
}

// perClass lays a weight for each class along the class axis.
func (t *Tensor) perClass(op string, w *Tensor, axis int) *Tensor {
	if w.Rank() != 1 || w.Dim(0) != t.Dim(axis) {
		fail(op, shapesOf(t, w), "needs a weight for each of %d classes", t.Dim(axis))
	}
	s := ones(t.Rank())
	s[axis] = w.Dim(0)
	return w.Reshape(s...)
}

// counted is 1 where a class index counts and 0 where it is ignored, as floats; nil if all count.
func (t *Tensor) counted(op string, target *Tensor, o Loss, axis int) *Tensor {
	if !target.DType().IsInt() {
		failType(op, []dtype.DType{target.DType()}, "class indices must be integers")
	}
	if want := without(t.shape(), axis); !slices.Equal(target.shape(), want) {
		fail(op, shapesOf(t, target), "class indices must have the shape %v", want)
	}
	kept := o.kept(target)
	if kept == nil {
		return nil
	}
	return kept.To(t.DType())
}

// kept is true where a class index counts, or nil if all count.
func (o Loss) kept(target *Tensor) *Tensor {
	ignore := o.Ignore
	if ignore == nil {
		ignore = []int{-100}
	}
	wide := target.To(indexType(target.DType())) // a number that a narrow type lacks is then none of its numbers
	var kept *Tensor
	for _, i := range ignore {
		if i < 0 && target.DType().IsUnsigned() {
			continue
		}
		counts := wide.Ne(i)
		if kept != nil {
			counts = counts.And(kept)
		}
		kept = counts
	}
	return kept
}

// existing are class indices that are checked to be of n classes, where they count.
func (o Loss) existing(op string, target *Tensor, n int) *Tensor {
	where := fmt.Sprintf("%d classes", n)
	var counts *uop.UOp
	if kept := o.kept(target); kept != nil {
		counts = kept.node()
	}
	code := outside(op, "class", target.node(), 0, n, where, counts)
	if code == nil {
		return target
	}
	return target.like(target.node().Check(code, checkOf(op, "class", 0, n, where)))
}

// classLoss picks −t·weight at the target's class, and gives the weight that it counts with, nil for 1. The
// class is found by comparison, so that loss and gradient need no indexed access.
func (t *Tensor) classLoss(op string, target *Tensor, o Loss, axis int) (l, weight *Tensor) {
	kept := t.counted(op, target, o, axis)
	target = o.existing(op, target, t.Dim(axis))
	wide := wideIndex(op, target).Unsqueeze(axis)
	classes := newTensor(alongAxis(iota(t.Dim(axis), wide.DType()), axis, t.shape()), nil)
	hit := classes.Eq(wide)
	l = hit.Where(t.Neg(), 0.0).Sum(axis)
	if o.Weight != nil {
		weight = hit.Where(t.perClass(op, o.Weight, axis).To(t.DType()), 0.0).Sum(axis)
		l = l.Mul(weight)
	}
	if kept == nil {
		return l, weight
	}
	if weight == nil {
		weight = kept
	} else {
		weight = weight.Mul(kept)
	}
	return kept.Ne(0).Where(l, 0.0), weight
}

// average reduces class losses; the mean is weighted.
func (o Loss) average(op string, l, weight *Tensor) *Tensor {
	if o.Reduction == MeanLoss && weight != nil {
		return l.Sum().Div(weight.Sum())
	}
	return o.reduce(op, l)
}

// BCE is −(target·log t + (1 − target)·log(1 − t)) of probabilities t; logarithms are at least −100. Of what is no
// probability it is NaN or some number, where PyTorch raises. Its derivative by t is
// (t − target)/max(t·(1 − t), 10⁻¹²), so that probabilities of 0 and 1 have one.
func (t *Tensor) BCE(target *Tensor, options ...Loss) *Tensor {
	t.sameShape("BCE", target)
	x, d := t.wide()
	y := target.To(x.DType())
	yes, no := x.Log().Clamp(-100, nil), x.Neg().Log1p().Clamp(-100, nil)
	l := y.Mul(yes).Add(y.RSub(1).Mul(no)).Neg()
	slope := x.Sub(y).Div(x.Mul(x.RSub(1)).Maximum(1e-12))
	l = l.like(l.node().Derive(x.node(), slope.node(), y.node(), no.Sub(yes).node()))
	return lossOptions("BCE", options).finish("BCE", l).To(d)
}

// BCEWithLogits is BCE of Sigmoid(t) without loss.
func (t *Tensor) BCEWithLogits(target *Tensor, options ...Loss) *Tensor {
	t.sameShape("BCEWithLogits", target)
	o := lossOptions("BCEWithLogits", options)
	x, d := t.wide()
	y := target.To(x.DType())
	soft := x.like(softplus(x.Neg().node())) // −log σ(x); −log(1 − σ(x)) is soft + x
	scale := soft
	if o.PosWeight != nil {
		scale = scale.Mul(o.PosWeight.Sub(1).Mul(y).Add(1))
	}
	return o.finish("BCEWithLogits", y.RSub(1).Mul(x).Add(scale)).To(d)
}

func (t *Tensor) sameShape(op string, target *Tensor) {
	if !slices.Equal(t.Sizes(), target.Sizes()) {
		fail(op, shapes(t.room(), target.room()), "the shapes must be equal")
	}
}

// MSE is (t − target)².
func (t *Tensor) MSE(target *Tensor, options ...Loss) *Tensor {
	return lossOptions("MSE", options).finish("MSE", t.Sub(target).Square())
}

// L1 is |t − target|.
func (t *Tensor) L1(target *Tensor, options ...Loss) *Tensor {
	return lossOptions("L1", options).finish("L1", t.Sub(target).Abs())
}

// SmoothL1 is |t − target| − beta/2 beyond beta and (t − target)²/(2·beta) within.
func (t *Tensor) SmoothL1(target *Tensor, beta float64, options ...Loss) *Tensor {
	o := lossOptions("SmoothL1", options)
	if !(beta >= 0) {
		failArg("SmoothL1", "beta is %v; it must not be negative", beta)
	}
	if beta == 0 {
		return t.L1(target, o)
	}
	return o.finish("SmoothL1", ofDistance(t, target, beta, 1/beta, func(a *Tensor) *Tensor { return a.Lt(beta).Where(a.Square().Mul(0.5/beta), a.Sub(beta/2)) }))
}

// ofDistance is f of |t − v|, for narrow floats computed in float32. Its derivative by t is scale·(t − v), limited to what it is at a
// distance of bound.
func ofDistance(t, v *Tensor, bound, scale float64, f func(a *Tensor) *Tensor) *Tensor {
	r := t.Sub(v)
	d := r.DType()
	if d.IsNarrow() {
		r = t.To(dtype.F32).Sub(v.To(dtype.F32))
	}
	if !d.IsFloat() {
		return f(r.Abs())
	}
	l, x := f(r.Abs()), r.node()
	most := x.Float(scale * bound)
	slope := atMost(x, x.Float(-bound)).Where(most.Neg(), atMost(x.Float(bound), x).Where(most, x.Mul(x.Float(scale))))
	return l.like(l.node().Derive(x, slope)).To(d)
}

// Huber is delta·(|t − target| − delta/2) beyond delta and (t − target)²/2 within.
func (t *Tensor) Huber(target *Tensor, delta float64, options ...Loss) *Tensor {
	if !(delta > 0) {
		failArg("Huber", "delta is %v; it must be positive", delta)
	}
	l := ofDistance(t, target, delta, 1, func(a *Tensor) *Tensor { return a.Le(delta).Where(a.Square().Mul(0.5), a.Sub(delta/2).Mul(delta)) })
	return lossOptions("Huber", options).finish("Huber", l)
}

// KLDiv is target·(log target − t) for log-probabilities t; with logTarget the target is a logarithm too.
func (t *Tensor) KLDiv(target *Tensor, logTarget bool, options ...Loss) *Tensor {
	o := lossOptions("KLDiv", options)
	if logTarget {
		return o.finish("KLDiv", target.Exp().Mul(target.Sub(t)))
	}
	return o.finish("KLDiv", target.Xlogy(target).Sub(target.Mul(t)))
}

package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Reductions take axes, negative ones counting from the end; none means all. The axes go; the Keep
// forms (keep.go) leave them with size 1.

// sum carries small types in a wide one: float16 and bfloat16 come back, small integers stay wide.
func sum(u *uop.UOp, m uop.Monoid, axes []int) *uop.UOp {
	d := u.DType()
	u = only(u, m, axes...)
	r := u.Cast(dtype.Accumulator(d)).Reduce(m, axes...)
	if d.IsFloat() {
		return r.Cast(d)
	}
	return r
}

// Sum adds. Bools and small integers give 32-bit integers; nothing sums to 0.
func (t *Tensor) Sum(axes ...int) *Tensor {
	ax := t.axes("Sum", axes)
	if t.DType() == dtype.Bool {
		t.countsOver("Sum", ax)
	}
	return t.like(sum(t.node(), uop.Sum, ax))
}

// countsOver refuses to count over so many elements that their number may be no int32.
func (t *Tensor) countsOver(op string, axes []int) {
	n := 1
	for _, a := range axes {
		n *= t.room()[a]
	}
	t.counts(op, n, "add up parts of them, or all with SumOf of int64")
}

// counts refuses a number of elements that is no int32.
func (t *Tensor) counts(op string, n int, remedy string) {
	if n > math.MaxInt32 {
		fail(op, shapes(t.shape()), "%d elements are counted in int32, which ends at %d; %s", n, math.MaxInt32, remedy)
	}
}

// SumOf is the sum of the elements as type d, in type d: integers wrap.
func (t *Tensor) SumOf(d dtype.DType, axes ...int) *Tensor { return t.To(d).Sum(axes...).To(d) }

// ProdOf is the product of the elements as type d, in type d: integers wrap.
func (t *Tensor) ProdOf(d dtype.DType, axes ...int) *Tensor { return t.To(d).Prod(axes...).To(d) }

// Prod multiplies. Bools and small integers give 32-bit integers; the product of nothing is 1.
func (t *Tensor) Prod(axes ...int) *Tensor {
	return t.like(sum(t.node(), uop.Prod, t.axes("Prod", axes)))
}

// Max is the largest element; NaN if there is one, −inf or the least integer of nothing. Ties
// share the gradient.
func (t *Tensor) Max(axes ...int) *Tensor { return t.like(largestOf(t.node(), t.axes("Max", axes))) }

// largestOf is the largest of the elements that count.
func largestOf(u *uop.UOp, axes []int) *uop.UOp {
	return only(u, uop.MaxOf, axes...).Reduce(uop.MaxOf, axes...)
}

// Min is the smallest element; NaN if there is one, inf or the greatest integer of nothing. Ties
// share the gradient.
func (t *Tensor) Min(axes ...int) *Tensor {
	return t.like(mirror(largestOf(mirror(t.node()), t.axes("Min", axes))))
}

// mirror reverses the order of a type's values.
func mirror(u *uop.UOp) *uop.UOp {
	if u.DType().IsFloat() {
		return u.Neg()
	}
	return u.Not()
}

// ArgMax is the index, int32, of the largest element along an axis; the first of ties, and of NaNs. Of nothing it is −2³¹, which
// is the index of no element. Without an axis the elements are flattened.
func (t *Tensor) ArgMax(axis ...int) *Tensor { return t.argMax("ArgMax", axis, false) }

// ArgMin is the index, int32, of the smallest element along an axis; the first of ties, and of NaNs. Of nothing it is −2³¹, which
// is the index of no element. Without an axis the elements are flattened.
func (t *Tensor) ArgMin(axis ...int) *Tensor { return t.argMax("ArgMin", axis, true) }

func (t *Tensor) argMax(op string, axis []int, least bool) *Tensor {
	switch len(axis) {
	case 0:
		t, axis = t.Flatten(), []int{0}
	case 1:
	default:
		failArg(op, "takes at most one axis, not %v", axis)
	}
	ax := t.axis(op, axis[0])
	if t.room()[ax] == 0 {
		return t.like(spread(uop.NewInt(dtype.I32, math.MinInt32), without(t.room(), ax)))
	}
	t.indices(op, ax)
	u := t.node()
	if least {
		u = mirror(u)
	}
	return t.like(argMax(only(u, uop.MaxOf, ax), ax))
}

// indices refuses an axis that has elements whose index is no int32.
func (t *Tensor) indices(op string, axis int) {
	if n := t.room()[axis]; n-1 > math.MaxInt32 {
		fail(op, shapes(t.shape()), "indices are int32, which ends at %d, and axis %d has %d elements; take parts of it", math.MaxInt32, axis, n)
	}
}

func argMax(u *uop.UOp, axis int) *uop.UOp { return largest(u, axis).Part(1) }

// largest has the largest element along an axis and its index as parts.
func largest(u *uop.UOp, axis int) *uop.UOp {
	index := alongAxis(iota(u.Shape()[axis], dtype.I32), axis, u.Shape())
	return u.Home().ReduceParts(uop.ArgMax, []int{axis}, u.Detach(), index)
}

// MaxIndex is the largest element along an axis and its index; the gradient goes to that element.
func (t *Tensor) MaxIndex(axis int) (values, indices *Tensor) {
	t.notEmpty("MaxIndex", axis)
	return t.picked(axis, t.ArgMax(axis))
}

// MinIndex is the smallest element along an axis and its index; the gradient goes to that element.
func (t *Tensor) MinIndex(axis int) (values, indices *Tensor) {
	t.notEmpty("MinIndex", axis)
	return t.picked(axis, t.ArgMin(axis))
}

// notEmpty refuses an axis without an element to pick.
func (t *Tensor) notEmpty(op string, axis int) {
	if a := t.axis(op, axis); t.Dim(a) == 0 {
		fail(op, shapes(t.shape()), "axis %d is empty", a)
	}
}

func (t *Tensor) picked(axis int, index *Tensor) (values, indices *Tensor) {
	axis = t.axis("MaxIndex", axis)
	s := t.Shape()
	s[axis] = 1
	return t.like(t.node().Gather(index.node().Reshape(s...), axis).Reshape(index.Shape()...)), index
}

// Any is true where an element is not zero; of uint8 it is 1 or 0 in uint8, as in PyTorch, which had no bool once.
func (t *Tensor) Any(axes ...int) *Tensor {
	return t.verdict(largestOf(t.truth(), t.axes("Any", axes)))
}

// All is true where no element is zero; of uint8 it is 1 or 0 in uint8.
func (t *Tensor) All(axes ...int) *Tensor {
	return t.verdict(largestOf(t.truth().Not(), t.axes("All", axes)).Not())
}

// verdict is a bool that was found about t in the type that Any and All have.
func (t *Tensor) verdict(u *uop.UOp) *Tensor {
	if t.DType() == dtype.U8 {
		u = u.Cast(dtype.U8)
	}
	return t.like(u)
}

// Mean is the average; of integers as float32, of nothing NaN.
func (t *Tensor) Mean(axes ...int) *Tensor {
	ax := t.axes("Mean", axes)
	d := floating(t.DType())
	u := only(t.node(), uop.Sum, ax...).Cast(dtype.Accumulator(d)).Reduce(uop.Sum, ax...)
	return t.like(u.Div(t.counting(u.DType(), ax)).Cast(d))
}

// Var is the variance with n − correction in the denominator, or 0 if that is less: 1 for samples, 0 for populations, or any number.
func (t *Tensor) Var(correction float64, axes ...int) *Tensor {
	v, d := t.variance(correction, axes)
	return v.To(d)
}

// variance is Var in floats of at least 32 bits, and the type that it is meant in: the root of what a narrow type cannot hold may be one that it can.
func (t *Tensor) variance(correction float64, axes []int) (*Tensor, dtype.DType) {
	ax := t.axes("Var", axes)
	if correction != correction {
		failArg("Var", "the correction is NaN")
	}
	d := floating(t.DType())
	x := t.like(t.node().Cast(dtype.Accumulator(d)))
	c := x.Sub(x.MeanKeep(ax...)).node()
	// The way through the mean adds Σ −2c = 0 to the gradient, so it is left out.
	s := sum(c.Mul(c).Derive(x.node(), c.Mul(c.Int(2))), uop.Sum, ax)
	return t.like(s.Div(t.freedom(s.DType(), correction, ax))), d
}

// Std is the square root of Var; where it is 0 its gradient is 0.
func (t *Tensor) Std(correction float64, axes ...int) *Tensor {
	v, d := t.variance(correction, axes)
	return v.rootSafe().To(d)
}

// VarMean is Var and Mean over the same axes; the mean is computed once.
func (t *Tensor) VarMean(correction float64, axes ...int) (variance, mean *Tensor) {
	return t.Var(correction, axes...), t.Mean(axes...)
}

// StdMean is Std and Mean over the same axes; the mean is computed once.
func (t *Tensor) StdMean(correction float64, axes ...int) (deviation, mean *Tensor) {
	return t.Std(correction, axes...), t.Mean(axes...)
}

// wide is t as floats of at least 32 bits, and the type to return to.
func (t *Tensor) wide() (*Tensor, dtype.DType) {
	d := floating(t.DType())
	return t.like(t.node().Cast(dtype.Accumulator(d))), d
}

// LogSumExp is log Σ eᵗ without overflow.
func (t *Tensor) LogSumExp(axes ...int) *Tensor {
	ax := t.axes("LogSumExp", axes)
	x, d := t.wide()
	m := x.shift(ax)
	s := x.Sub(m).like(exp(x.Sub(m).node())).Sum(ax...)
	return s.Log().Add(m.like(m.node().Reshape(s.room()...))).To(d)
}

// shift is the maximum along axes, kept, as a constant for differentiation; where it is infinite 0.
func (t *Tensor) shift(axes []int) *Tensor {
	m := t.MaxKeep(axes...).node().Detach()
	inf := m.Const(infinity(m.DType()))
	return t.like(absolute(m).Equal(inf).Where(m.Int(0), m))
}

// Softmax is eᵗ / Σ eᵗ along an axis. A row of −inf gives NaN.
func (t *Tensor) Softmax(axis int) *Tensor {
	return t.softmax(t.axis("Softmax", axis), false)
}

// softmax is Softmax; where rows may be empty those of −inf give 0, and so does their gradient. Only numbers of a row are looked at for
// that: the maximum, and the sum, which is 1 at least where the maximum is one of the elements.
func (t *Tensor) softmax(axis int, empty bool) *Tensor {
	x, d := t.wide()
	m := x.MaxKeep(axis).Detach()
	if empty {
		limits, _ := dtype.Finfo(m.DType())
		m = m.Maximum(-limits.Max)
	}
	e := t.like(softExp(x.Sub(m).node()))
	sum := e.SumKeep(axis)
	if empty {
		sum = sum.Lt(1).Where(1, sum)
	}
	return e.Mul(sum.Reciprocal()).To(d)
}

// LogSoftmax is log(Softmax(t)) without loss.
func (t *Tensor) LogSoftmax(axis int) *Tensor {
	axis = t.axis("LogSoftmax", axis)
	x, d := t.wide()
	c := x.Sub(x.MaxKeep(axis).Detach())
	return c.Sub(t.like(softExp(c.node())).SumKeep(axis).Log()).To(d)
}

// Softmin is Softmax of −t.
func (t *Tensor) Softmin(axis int) *Tensor { return t.Neg().Softmax(axis) }

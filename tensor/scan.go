package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Running reductions along an axis.

// scan runs f along an axis; a scalar is its own result.
func (t *Tensor) scan(op string, axis int, f func(u *uop.UOp, axis int) *uop.UOp) *Tensor {
	if t.Rank() == 0 && (axis == 0 || axis == -1) {
		return t.like(f(t.node().Reshape(1), 0).Reshape())
	}
	return t.like(f(t.node(), t.axis(op, axis)))
}

// accumulated scans in the type of sums. Small floats come back to their own type.
func (t *Tensor) accumulated(op string, axis int, m uop.Monoid) *Tensor {
	return t.scan(op, axis, func(u *uop.UOp, axis int) *uop.UOp {
		d := u.DType()
		u = u.Cast(dtype.Accumulator(d))
		u = u.Scan(m, axis)
		if d.IsFloat() {
			u = u.Cast(d)
		}
		return u
	})
}

// CumSum is the running sum along an axis. Bools and integers of fewer than 32 bits become int32 or uint32.
func (t *Tensor) CumSum(axis int) *Tensor { return t.accumulated("CumSum", axis, uop.Sum) }

// CumProd is the running product along an axis, of the type of CumSum.
func (t *Tensor) CumProd(axis int) *Tensor { return t.accumulated("CumProd", axis, uop.Prod) }

// CumSumOf is the running sum of the elements as type d, in type d: integers wrap.
func (t *Tensor) CumSumOf(d dtype.DType, axis int) *Tensor { return t.To(d).CumSum(axis).To(d) }

// CumProdOf is the running product of the elements as type d, in type d: integers wrap.
func (t *Tensor) CumProdOf(d dtype.DType, axis int) *Tensor { return t.To(d).CumProd(axis).To(d) }

// LogCumSumExp is the logarithm of the running sum of exponentials along an axis.
func (t *Tensor) LogCumSumExp(axis int) *Tensor {
	return t.scan("LogCumSumExp", axis, func(u *uop.UOp, axis int) *uop.UOp {
		d := floating(u.DType())
		return logScan(u.Cast(dtype.Accumulator(d)), axis).Cast(d)
	})
}

// logScan carries the sum of the powers of 2, relative to the running maximum m: s = s′·2^(m′ − m) + 2^(x − m), s′ and m′
// being those before. The maximum is a constant for the gradient, because the result does not depend on it.
func logScan(u *uop.UOp, axis int) *uop.UOp {
	x := u.Mul(u.Float(math.Log2E))
	m := x.Detach().Scan(uop.MaxOf, axis)
	finite, n := finite(m), u.Shape()[axis]
	top := finite.Where(m, m.Int(0))
	before := fill(cut(m, axis, 0, max(n-1, 0)), axis, min(n, 1), 0, uop.Least(m.DType()))
	keep := finite.Where(before.Sub(m).Exp2(), m.Int(1))
	s := u.Home().ScanParts(uop.Linear, axis, keep, x.Sub(top).Exp2()).Part(1)
	return s.Log2().Add(top).Mul(u.Float(math.Ln2))
}

// CumMax is the running maximum along an axis, and where it was met last (int32). NaN stays.
func (t *Tensor) CumMax(axis int) (values, indices *Tensor) {
	return t.running("CumMax", axis, func(u *uop.UOp) *uop.UOp { return u })
}

// CumMin is the running minimum along an axis, and where it was met last (int32). NaN stays.
func (t *Tensor) CumMin(axis int) (values, indices *Tensor) {
	return t.running("CumMin", axis, func(u *uop.UOp) *uop.UOp {
		if u.DType().IsFloat() {
			return u.Neg()
		}
		return u.Not()
	})
}

// running is the running maximum of what an order, its own inverse, makes of the elements, and its last place.
func (t *Tensor) running(op string, axis int, order func(u *uop.UOp) *uop.UOp) (values, indices *Tensor) {
	if t.Rank() == 0 {
		return t.same(), t.like(uop.NewInt(dtype.I32, 0))
	}
	axis = t.axis(op, axis)
	t.indices(op, axis)
	u := t.node()
	place := alongAxis(iota(t.Dim(axis), dtype.I32), axis, t.shape())
	best := u.Home().ScanParts(uop.ArgLast, axis, order(u.Detach().Cast(dtype.Accumulator(u.DType()))), place)
	value, at := order(best.Part(0)).Cast(u.DType()), best.Part(1)
	return stated(t.like(value), t.like(u.Gather(at, axis))), t.like(at)
}

// Trapezoid is the integral along an axis by the trapezoidal rule, for samples dx apart.
func (t *Tensor) Trapezoid(dx float64, axis int) *Tensor {
	return t.strips("Trapezoid", dx, axis).Sum(axis)
}

// CumulativeTrapezoid is the running integral along an axis by the trapezoidal rule; it has one element fewer.
func (t *Tensor) CumulativeTrapezoid(dx float64, axis int) *Tensor {
	return t.strips("CumulativeTrapezoid", dx, axis).CumSum(axis)
}

// TrapezoidAt is Trapezoid for samples at the positions x, which has one axis or t's shape.
func (t *Tensor) TrapezoidAt(x *Tensor, axis int) *Tensor {
	return t.widths("TrapezoidAt", x, axis).Sum(axis)
}

// CumulativeTrapezoidAt is CumulativeTrapezoid for samples at the positions x, which has one axis or t's shape.
func (t *Tensor) CumulativeTrapezoidAt(x *Tensor, axis int) *Tensor {
	return t.widths("CumulativeTrapezoidAt", x, axis).CumSum(axis)
}

// strips are the areas between neighbours.
func (t *Tensor) strips(op string, dx float64, axis int) *Tensor {
	axis = t.axis(op, axis)
	k := max(t.Dim(axis)-1, 0)
	return t.Narrow(axis, t.Dim(axis)-k, k).Add(t.Narrow(axis, 0, k)).Mul(dx / 2)
}

func (t *Tensor) widths(op string, x *Tensor, axis int) *Tensor {
	axis = t.axis(op, axis)
	if x.Rank() == 1 && x.Numel() != t.Dim(axis) {
		fail(op, shapesOf(t, x), "needs a position for each sample")
	}
	if x.Rank() == 1 && t.Rank() > 1 {
		x = x.like(alongAxis(x.node(), axis, with(slices.Repeat([]int{1}, t.Rank()), axis, x.Numel())))
	}
	return t.strips(op, 1, axis).Mul(x.Diff(1, max(axis-t.Rank(), -x.Rank())))
}

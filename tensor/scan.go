package tensor

import (
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Running reductions along an axis. Up to scanBlock elements each result is a reduction of its own over the
// elements before it; a longer axis is cut into blocks, whose totals are scanned in the same way and merged in.

// scanBlock is the longest axis that is scanned directly, with n²/2 merges.
const scanBlock = 256

// scanner is what a scan merges with: fold merges an axis away, join two results, the earlier first.
type scanner struct {
	identity uop.Value
	fold     func(u *uop.UOp, axis int) *uop.UOp
	join     func(a, b *uop.UOp) *uop.UOp
}

// monoid scans with a monoid of one part.
func monoid(m uop.Monoid, d dtype.DType) scanner {
	return scanner{m.Info().Identity(d, 0),
		func(u *uop.UOp, axis int) *uop.UOp { return u.Reduce(m, axis) },
		func(a, b *uop.UOp) *uop.UOp { return m.Info().Merge([]*uop.UOp{a}, []*uop.UOp{b})[0] }}
}

// run gives the merge of all elements up to each one.
func (s scanner) run(u *uop.UOp, axis int) *uop.UOp {
	shape := u.Shape()
	n := shape[axis]
	if n <= scanBlock {
		return s.fold(s.prefixes(u, axis), axis+1)
	}
	blocks := (n + scanBlock - 1) / scanBlock
	cutShape := slices.Insert(with(shape, axis, scanBlock), axis, blocks)
	within := s.fold(s.prefixes(fill(u, axis, 0, blocks*scanBlock-n, s.identity).Reshape(cutShape...), axis+1), axis+2)
	totals := cut(within, axis+1, scanBlock-1, scanBlock).Reshape(with(shape, axis, blocks)...)
	before := fill(cut(s.run(totals, axis), axis, 0, blocks-1), axis, 1, 0, s.identity)
	before = spread(before.Reshape(slices.Insert(with(shape, axis, 1), axis, blocks)...), cutShape)
	return cut(s.join(before, within).Reshape(with(shape, axis, blocks*scanBlock)...), axis, 0, n)
}

// prefixes repeats u along a new axis i before the given one, j, and keeps j ≤ i.
func (s scanner) prefixes(u *uop.UOp, axis int) *uop.UOp {
	n := u.Shape()[axis]
	wide := slices.Insert(slices.Clone(u.Shape()), axis, n)
	i, j := alongAxis(uop.NewIota(n), axis, wide), alongAxis(uop.NewIota(n), axis+1, wide)
	u = u.Reshape(slices.Insert(slices.Clone(u.Shape()), axis, 1)...).Expand(wide...)
	return i.Less(j).Where(u.Const(s.identity), u)
}

// fill puts lo values before and hi after an axis.
func fill(u *uop.UOp, axis, lo, hi int, v uop.Value) *uop.UOp {
	n := u.Shape()[axis]
	if lo == 0 && hi == 0 {
		return u
	}
	wide := extend(u, axis, lo, hi)
	if v == u.Int(0).Arg().(uop.ConstArg).Value {
		return wide
	}
	i := alongAxis(uop.NewIota(lo+n+hi), axis, wide.Shape())
	return i.Less(i.Int(lo)).Or(i.Less(i.Int(lo+n)).Not()).Where(u.Const(v), wide)
}

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
		u = monoid(m, u.DType()).run(u, axis)
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
		u = u.Cast(dtype.Accumulator(d))
		s := scanner{uop.Least(u.DType()), logSumExp, logAddExp}
		return s.run(u, axis).Cast(d)
	})
}

// logSumExp merges one axis; the maximum is taken out, as constant where it is infinite.
func logSumExp(u *uop.UOp, axis int) *uop.UOp {
	top := u.Reduce(uop.MaxOf, axis).Detach()
	top = finite(top).Where(top, top.Int(0))
	wide := spread(top.Reshape(with(u.Shape(), axis, 1)...), u.Shape())
	return log(exp(u.Sub(wide)).Reduce(uop.Sum, axis)).Add(top)
}

// CumMax is the running maximum along an axis, and where it was met last (int32). NaN stays.
func (t *Tensor) CumMax(axis int) (values, indices *Tensor) {
	return t.running("CumMax", axis, func(u *uop.UOp) *uop.UOp { return sortKey(u, false) })
}

// CumMin is the running minimum along an axis, and where it was met last (int32). NaN stays.
func (t *Tensor) CumMin(axis int) (values, indices *Tensor) {
	return t.running("CumMin", axis, func(u *uop.UOp) *uop.UOp {
		key := sortKey(u, true)
		if !u.DType().IsFloat() {
			return key
		}
		return u.Equal(u).Where(key, greatest(key)) // NaN wins here too
	})
}

// running finds the last place of the running maximum of keys: the last one that equals the maximum
// up to it.
func (t *Tensor) running(op string, axis int, key func(u *uop.UOp) *uop.UOp) (values, indices *Tensor) {
	if t.Rank() == 0 {
		return t, t.like(uop.NewInt(dtype.I32, 0))
	}
	axis = t.axis(op, axis)
	u := t.node()
	k := key(u.Detach())
	best := monoid(uop.MaxOf, k.DType()).run(k, axis)
	at := alongAxis(iota(t.Dim(axis), dtype.I32), axis, t.shape())
	at = k.Equal(best).Where(at, at.Int(-1))
	at = monoid(uop.MaxOf, dtype.I32).run(at, axis)
	return t.like(u.Gather(at, axis)), t.like(at)
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
	if x.Rank() == 1 && t.Rank() > 1 {
		if x.Numel() != t.Dim(axis) {
			fail(op, shapesOf(t, x), "needs a position for each sample")
		}
		x = x.like(alongAxis(x.node(), axis, with(slices.Repeat([]int{1}, t.Rank()), axis, x.Numel())))
	}
	return t.strips(op, 1, axis).Mul(x.Diff(1, max(axis-t.Rank(), -x.Rank())))
}

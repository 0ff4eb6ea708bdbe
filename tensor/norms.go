package tensor

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
)

// Norm is the p-norm of vectors along axes (none: all), (Σ|t|ᵖ)^(1/p): for p = ±inf the largest or smallest absolute value,
// for 0 the number of elements that are not 0.
func (t *Tensor) Norm(p float64, axes ...int) *Tensor {
	ax := t.axes("Norm", axes)
	if t.Rank() == 0 {
		return t.Reshape(1).Norm(p, 0)
	}
	if p < 0 || p == math.Inf(1) {
		for _, a := range ax {
			if t.room()[a] == 0 {
				fail("Norm", shapesOf(t), "axis %d has no elements, of which the norm of order %v is nothing", a, p)
			}
		}
	}
	x, d := t.wide()
	switch p {
	case 0:
		x = x.Ne(0).To(x.DType()).Sum(ax...)
	case 1:
		x = x.Abs().Sum(ax...)
	case 2:
		x = x.Square().Sum(ax...).rootSafe()
	case math.Inf(1):
		x = x.Abs().Max(ax...)
	case math.Inf(-1):
		x = x.Abs().Min(ax...)
	default:
		a := x.Abs()
		if p < 2 { // at 0 infinitely steep, or bent: there no gradient passes, and none of a gradient
			none := a.Eq(0)
			a = none.Where(math.Pow(0, p), none.Where(1, a).Pow(p))
		} else {
			a = a.Pow(p)
		}
		s := a.Sum(ax...)
		zero := s.Eq(0)
		x = zero.Where(0, zero.Where(1, s).Pow(1/p))
		if p < 0 {
			x = s.Pow(1 / p)
		}
	}
	return x.To(d)
}

// rootSafe is the square root with derivative 0 at 0.
func (t *Tensor) rootSafe() *Tensor {
	zero := t.Eq(0)
	return zero.Where(0, zero.Where(1, t).Sqrt())
}

// MatrixNormKind names a norm of matrices.
type MatrixNormKind uint8

// The kinds of MatrixNorm.
const (
	Frobenius   MatrixNormKind = 0 // the root of the sum of squares
	Nuclear     MatrixNormKind = 1 // the sum of the singular values
	RowSum      MatrixNormKind = 2 // the largest sum of absolute values of a row
	LeastRowSum MatrixNormKind = 3
	ColumnSum   MatrixNormKind = 4 // the largest sum of absolute values of a column
	LeastColumn MatrixNormKind = 5
	Spectral    MatrixNormKind = 6 // the largest singular value
	LeastValue  MatrixNormKind = 7 // the smallest singular value
)

// MatrixNorm is a norm of the matrices in two axes, which go.
func (t *Tensor) MatrixNorm(kind MatrixNormKind, row, column int) *Tensor {
	r, c := t.axis("MatrixNorm", row), t.axis("MatrixNorm", column)
	if r == c {
		fail("MatrixNorm", shapes(t.shape()), "axis %d is named twice", row)
	}
	if kind == Frobenius {
		return t.Norm(2, r, c)
	}
	rows, columns := t.room()[r], t.room()[c]
	of := [...]int{RowSum: rows, LeastRowSum: rows, ColumnSum: columns, LeastColumn: columns,
		Spectral: min(rows, columns), LeastValue: min(rows, columns)}
	if kind >= RowSum && int(kind) < len(of) && of[kind] == 0 {
		fail("MatrixNorm", shapesOf(t), "matrices of %d rows and %d columns have nothing of which this norm is the largest or the smallest", rows, columns)
	}
	order := slices.DeleteFunc(identity(t.Rank()), func(i int) bool { return i == r || i == c })
	x := t.Permute(append(order, r, c)...)
	switch kind {
	case RowSum:
		return x.Abs().Sum(-1).Contiguous().Max(-1) // so that its gradient finds the very sums again
	case LeastRowSum:
		return x.Abs().Sum(-1).Contiguous().Min(-1)
	case ColumnSum:
		return x.Abs().Sum(-2).Contiguous().Max(-1)
	case LeastColumn:
		return x.Abs().Sum(-2).Contiguous().Min(-1)
	case Spectral:
		return x.SingularValues().Max(-1)
	case LeastValue:
		return x.SingularValues().Min(-1)
	}
	return x.SingularValues().Sum(-1)
}

// Cond is the condition number: the norm times that of the inverse, or for Spectral the largest over the smallest singular
// value (for LeastValue the other way round).
func (t *Tensor) Cond(kind MatrixNormKind) *Tensor {
	t.matrix("Cond")
	if kind == Spectral || kind == LeastValue {
		s := t.SingularValues()
		if kind == Spectral {
			return s.Max(-1).Div(s.Min(-1))
		}
		return s.Min(-1).Div(s.Max(-1))
	}
	return t.MatrixNorm(kind, -2, -1).Mul(t.Inv().MatrixNorm(kind, -2, -1))
}

// Normalize divides by the p-norm along axes (none: all), or by eps where that is larger.
func (t *Tensor) Normalize(p, eps float64, axes ...int) *Tensor {
	return t.Div(t.NormKeep(p, axes...).Maximum(eps))
}

// CosineSimilarity is the product of t and o along an axis over the product of their lengths, each at least eps.
func (t *Tensor) CosineSimilarity(o *Tensor, axis int, eps float64) *Tensor {
	both := Broadcast(t, o)
	x, y := both[0], both[1]
	return x.Div(x.NormKeep(2, axis).Maximum(eps)).Mul(y.Div(y.NormKeep(2, axis).Maximum(eps))).Sum(axis)
}

// PairwiseDistance is the p-norm of t − o + eps along the last axis.
func (t *Tensor) PairwiseDistance(o *Tensor, p, eps float64) *Tensor {
	return t.Sub(o).Add(eps).Norm(p, -1)
}

// CDist gives the p-norm distance of each row of t to each row of o: [n, k] and [m, k] give [n, m].
func (t *Tensor) CDist(o *Tensor, p float64) *Tensor {
	if t.Rank() < 2 || o.Rank() < 2 || t.Dim(-1) != o.Dim(-1) {
		fail("CDist", shapesOf(t, o), "needs rows of one length")
	}
	return t.Unsqueeze(-2).Sub(o.Unsqueeze(-3)).Norm(p, -1)
}

// Cov is the covariance matrix of variables, the rows of t, with n − correction in the denominator; of one row the variance. Counts and weights of the
// observations, the columns, may be nil.
func (t *Tensor) Cov(correction float64, counts, weights *Tensor) *Tensor {
	if t.Rank() > 2 {
		fail("Cov", shapes(t.shape()), "needs rows of observations")
	}
	x := t.AtLeast(2)
	x = x.To(floating(x.DType()))
	w := Full(1, x.DType(), x.Dim(1))
	if counts != nil {
		w = w.Mul(counts.To(x.DType()))
	}
	square := w
	if weights != nil {
		w = w.Mul(weights)
		square = w.Mul(weights)
	}
	sum := w.Sum()
	mean := x.Mul(w).SumKeep(1).Div(sum)
	c := x.Sub(mean)
	n := sum.Sub(correction)
	if weights != nil {
		n = sum.Sub(square.Sum().Div(sum).Mul(correction))
	}
	out := c.Mul(w).MatMul(c.T()).Div(n.Maximum(0))
	if x.Dim(0) == 1 {
		return out.Reshape()
	}
	return out
}

// CorrCoef is the matrix of correlation coefficients of variables, the rows of t.
func (t *Tensor) CorrCoef() *Tensor {
	c := t.Cov(1, nil, nil)
	if c.Rank() == 0 {
		return c.Div(c)
	}
	s := c.Diagonal(0).Sqrt()
	return c.Div(s.Unsqueeze(1)).Div(s).Clamp(-1, 1)
}

// NanSum is the sum of the elements that are numbers.
func (t *Tensor) NanSum(axes ...int) *Tensor { return t.IsNaN().Where(0, t).To(t.DType()).Sum(axes...) }

// NanMean is the mean of the elements that are numbers; NaN of none.
func (t *Tensor) NanMean(axes ...int) *Tensor {
	n := t.IsNaN().LogicalNot().Sum(axes...)
	return t.NanSum(axes...).Div(n.To(floating(t.DType())))
}

// CountNonZero counts the elements that are not 0 (int32).
func (t *Tensor) CountNonZero(axes ...int) *Tensor { return t.like(t.truth()).Sum(axes...) }

// Interpolation is how Quantile takes a value between two neighbours.
type Interpolation uint8

// The interpolations of Quantile.
const (
	BetweenLinear   Interpolation = 0 // in proportion
	BetweenLower    Interpolation = 1 // the smaller one
	BetweenHigher   Interpolation = 2 // the larger one
	BetweenNearest  Interpolation = 3 // the nearer one; of two the even place
	BetweenMidpoint Interpolation = 4 // their mean
)

// Quantile gives, for each q in 0 … 1, the value below which that share of an axis lies, as a new first axis; the axis itself
// goes. An axis that holds NaN gives NaN, or, with skipNaN, is taken without them.
func (t *Tensor) Quantile(q []float64, axis int, how Interpolation, skipNaN bool) *Tensor {
	if len(q) == 0 {
		failArg("Quantile", "no q is given")
	}
	for _, v := range q {
		if !(v >= 0 && v <= 1) {
			failArg("Quantile", "q = %v is outside 0 … 1", v)
		}
	}
	if !t.IsFloat() {
		failType("Quantile", []dtype.DType{t.DType()}, "needs floats")
	}
	x := t.alongSome("Quantile", &axis)
	n := x.Dim(axis)
	nans := x.like(countNaN(x.node(), axis)).Unsqueeze(0)
	order := func(at *Tensor) *Tensor { return x.like(x.ordinalOf(at.Squeeze(0).node(), axis)).Unsqueeze(0) }
	if len(q) > 1 { // several are found together sooner
		whole := x.like(x.argSort(axis, false)).Unsqueeze(0)
		whole = whole.Expand(append([]int{len(q)}, whole.shape()[1:]...)...)
		order = func(at *Tensor) *Tensor { return whole.pickInside("Quantile", axis+1, at) }
	}
	all := x.Unsqueeze(0).Expand(append([]int{len(q)}, x.shape()...)...)
	nans = nans.Expand(append([]int{len(q)}, nans.shape()[1:]...)...)
	shape := slices.Repeat([]int{1}, nans.Rank())
	shape[0] = len(q)
	floats := func(v []float64) *Tensor {
		if len(v) == 1 {
			return FullLike(nans.To(x.DType()), v[0])
		}
		return x.floats(v, shape...).Expand(nans.shape()...)
	}
	ints := func(v []int32) *Tensor {
		if len(v) == 1 {
			return FullLike(nans, int(v[0]))
		}
		return x.ints(v, shape...).Expand(nans.shape()...)
	}
	var lo, hi, part *Tensor
	bad := nans.Gt(0)
	if skipNaN {
		lo, hi, part = how.among(nans.RSub(n-1).Maximum(0), floats(q))
		bad = nans.Eq(n)
	} else {
		var l, h []int32
		var p []float64
		for _, v := range q {
			first, second, share := how.places(v, n, x.DType())
			l, h, p = append(l, int32(first)), append(h, int32(second)), append(p, share)
		}
		lo, hi, part = ints(l), ints(h), floats(p)
	}
	pick := func(at *Tensor) *Tensor { return all.pickInside("Quantile", axis+1, order(at)) }
	y := pick(lo)
	if how == BetweenLinear || how == BetweenMidpoint {
		y = y.Lerp(pick(hi), part)
	}
	return bad.Where(math.NaN(), y).Reshape(append([]int{len(q)}, without(x.shape(), axis)...)...)
}

// places are the two neighbours of the q-quantile of n sorted values, and the share of the second. q counts as rounded to
// the type.
func (how Interpolation) places(q float64, n int, d dtype.DType) (lo, hi int, part float64) {
	if d == dtype.F32 {
		q = float64(float32(q))
	}
	at := q * float64(n-1)
	switch how {
	case BetweenHigher:
		at = math.Ceil(at)
	case BetweenNearest:
		at = math.RoundToEven(at)
	}
	lo, hi, part = int(math.Floor(at)), int(math.Ceil(at)), at-math.Floor(at)
	if how == BetweenMidpoint {
		part = 0.5
	}
	return lo, hi, part
}

// among is places for a number of values that is known as a tensor of the last place only.
func (how Interpolation) among(top, q *Tensor) (lo, hi, part *Tensor) {
	at := top.To(q.DType()).Mul(q)
	switch how {
	case BetweenHigher:
		at = at.Ceil()
	case BetweenNearest:
		at = at.Round()
	}
	lo, hi, part = at.Floor().To(dtype.I32), at.Ceil().To(dtype.I32), at.Sub(at.Floor())
	if how == BetweenMidpoint {
		part = FullLike(part, 0.5)
	}
	return lo, hi, part
}

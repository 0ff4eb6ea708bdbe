package tensor

import "github.com/weft-ml/weft/dtype"

// Least squares by reflections with column pivots (Businger and Golub). Columns lie as rows, which stay where they are: behind the elements of
// each stands the step that took it.

// Lstsq gives the x of least norm for which the norm of t·x − b is least: t is m×n of any rank, b has m rows. With one axis less
// than t, b is a vector. Columns that lie in the span of others but for the larger size times the type's precision have no rank.
func (t *Tensor) Lstsq(b *Tensor) *Tensor {
	t.matrix("Lstsq")
	if b.Rank() == t.Rank()-1 {
		return t.Lstsq(b.Unsqueeze(-1)).Squeeze(-1)
	}
	m := t.Dim(-2)
	eye := t.row().Eq(arange(m)).To(t.DType()).Expand(append(t.batch(), m, m)...)
	z := byLaw(pseudoinverseLaw, []*Tensor{t.Detach().leastSquaresCalled(eye), t.Detach()}, []*Tensor{t})[0].MatMul(b) // for derivatives alone
	a := t.Detach().To(z.DType()).Expand(append(z.batch(), m, t.Dim(-1))...)
	return stated(a.leastSquaresCalled(b.Detach().To(z.DType()).Expand(append(z.batch(), m, b.Dim(-1))...)), z)
}

// leastSquaresCalled is leastSquares as a call.
func (t *Tensor) leastSquaresCalled(b *Tensor) *Tensor {
	return callOf("least squares", func(in []*Tensor) []*Tensor { return []*Tensor{in[0].leastSquares(in[1])} }, t, b)[0]
}

// leastSquares is Lstsq without derivatives.
func (t *Tensor) leastSquares(b *Tensor) *Tensor {
	kind, m, n := t.DType(), t.Dim(-2), t.Dim(-1)
	k := min(m, n)
	if k == 0 {
		return t.T().MatMul(b)
	}
	rounding := float64(max(m, n)) * precision(kind)
	if kind.Size() < 4 { // steps would lose the few digits of narrow types
		t, b = t.To(dtype.F32), b.To(dtype.F32)
	}
	a, by := t.levelled()
	w := Cat(-2, a.T(), b.T()).wider(0, wholeLines(m+1)-m)
	w = w.column().Lt(m).Where(w, w.row().Lt(n).Where(n, -1)).Contiguous()
	for _, step := range w.stepNumbers(k) {
		w = w.reflectLongest(m, n, step).Contiguous()
	}
	r, right := w.Narrow(-2, 0, n).Narrow(-1, 0, k), w.Narrow(-2, n, b.Dim(-1)).Narrow(-1, 0, k).T()
	taken := w.Narrow(-2, 0, n).Narrow(-1, m, 1) // [… n 1]
	order := taken.Eq(arange(k)).Where(r.row(), 0).Sum(-2).To(dtype.I32).Unsqueeze(-1).Contiguous()
	triangle := r.like(r.node().Gather(order.Expand(append(r.batch(), k, k)...).node(), r.Rank()-2)).Contiguous().T()
	size := triangle.Diagonal(0).Abs()
	full := size.Le(size.Narrow(-1, 0, 1).Mul(rounding)).LogicalNot().Unsqueeze(-1).Contiguous() // of each row
	rank := full.To(t.DType()).Sum(-2, -1).Unsqueeze(-1).Unsqueeze(-1).Contiguous()
	triangle = full.Where(triangle, triangle.identityLike())
	basic := taken.Lt(rank)
	others := basic.T().Where(0, r.T())
	solved := substitute(triangle, full.Where(Cat(-1, right, others), 0), true, false)
	x, span := solved.Narrow(-1, 0, b.Dim(-1)), solved.Narrow(-1, b.Dim(-1), n).Contiguous()
	root, _ := span.MatMul(span.T()).Add(triangle.identityLike()).Contiguous().definite()
	x = substitute(root.T(), substitute(root, x, false, false), true, false).Contiguous()
	place := basic.Where(taken, 0).To(dtype.I32).Expand(append(x.batch(), n, x.Dim(-1))...)
	x = basic.Where(x.like(x.node().Gather(place.node(), x.Rank()-2)), span.T().MatMul(x))
	return x.Div(by.Unsqueeze(-1)).To(kind)
}

// reflectLongest is a step: of the first n rows that none took so far it takes the one that is longest from its place on, and a reflection of the m
// elements of all rows makes those behind that place zero.
func (w *Tensor) reflectLongest(m, n int, step *Tensor) *Tensor {
	row, place := w.row(), w.column()
	x := place.Lt(step).Or(place.Lt(m).LogicalNot()).Where(0, w)
	squares := w.line(-1, Full(m, dtype.I32, 1)).Eq(n).Where(x.Square().SumKeep(-1), -1)
	best := w.like(largest(squares.node(), squares.Rank()-2).Part(1)).To(dtype.I32).Unsqueeze(-2)
	x = x.line(-2, best)
	head, length := x.line(-1, step), squares.line(-2, best).Sqrt()
	half := length.Mul(length.Add(head.Abs())) // see reflection
	scale, far := half.Eq(0).Where(0, half.Rsqrt()), head.Lt(0).Where(length.Neg(), length)
	v := x.Add(place.Eq(step).Where(far, 0)).Mul(scale)
	along := w.Mul(x).SumKeep(-1).Add(w.line(-1, step).Mul(far)).Mul(scale)
	own := place.Eq(m).Where(step.To(w.DType()), place.Eq(step).Where(far.RSub(0), 0))
	return row.Eq(best).And(place.Lt(step).LogicalNot()).Where(own, w.Sub(along.Mul(v)))
}

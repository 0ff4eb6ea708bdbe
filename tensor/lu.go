package tensor

import "github.com/weft-ml/weft/dtype"

// LU gives a permutation matrix p, l with ones in its diagonal and nothing above, and u with nothing below its diagonal, so that
// p·l·u = t: Gauss's method with row pivots. Of m×n matrices l is m×k and u k×n with k = min(m, n). A pivot 0 stays where it is.
func (t *Tensor) LU() (p, l, u *Tensor) {
	t.matrix("LU")
	k := min(t.Dim(-2), t.Dim(-1))
	m, order := t.Detach().Contiguous(), t.row().Expand(append(t.batch(), t.Dim(-2), 1)...).Contiguous()
	row, column := t.row(), t.column()
	for _, at := range m.stepNumbers(k) {
		size := row.Lt(at).Where(-1, m.line(-1, at).Abs())
		best := m.like(largest(size.node(), size.Rank()-2).Part(1)).To(dtype.I32).Unsqueeze(-2)
		from := row.Eq(at).Where(best, row.Eq(best).Where(at, row)).Contiguous()
		m, order = m.rowsFrom(from).Contiguous(), order.rowsFrom(from).Contiguous()
		top := m.line(-2, at)
		pivot := top.line(-1, at)
		times := row.Gt(at).Where(m.line(-1, at).Div(pivot.Eq(0).Where(1, pivot)), 0)
		m = column.Eq(at).Where(row.Gt(at).Where(times, m), m.Sub(times.Mul(column.Gt(at).Where(top, 0)))).Contiguous()
	}
	p = t.row().Eq(order.T()).To(t.DType())
	first := arange(k)
	l = m.Narrow(-1, 0, k).Tril(-1).Add(t.row().Eq(first).To(t.DType()))
	u = m.Narrow(-2, 0, k).Triu(0)
	a := t.rowsFrom(order)
	square := statedAll("LU", []*Tensor{l.Narrow(-2, 0, k), u.Narrow(-1, 0, k)}, []*Tensor{a.Narrow(-2, 0, k).Narrow(-1, 0, k)}, changeLU)
	low, high := square[0], square[1]
	if t.Dim(-2) > k {
		rest := a.Narrow(-2, k, t.Dim(-2)-k)
		low = Cat(-2, low, stated(l.Narrow(-2, k, t.Dim(-2)-k), high.T().SolveTriangular(rest.T(), false, false).T()))
	}
	if t.Dim(-1) > k {
		rest := a.Narrow(-1, k, t.Dim(-1)-k)
		high = Cat(-1, high, stated(u.Narrow(-1, k, t.Dim(-1)-k), square[0].SolveTriangular(rest, false, true)))
	}
	return p, low, high
}

// changeLU is how the factors of a square matrix, whose rows are in order, change with it.
func changeLU(values, in []*Tensor) []*Tensor {
	l, u := values[0], values[1]
	f := u.T().SolveTriangular(l.SolveTriangular(in[0], false, true).T(), false, false).T()
	return []*Tensor{l.MatMul(f.Tril(-1)), f.Triu(0).MatMul(u)}
}

// rowsFrom takes each row from another one.
func (t *Tensor) rowsFrom(from *Tensor) *Tensor {
	return t.like(t.node().Gather(from.Expand(t.Shape()...).node(), t.Rank()-2))
}

// TensorSolve gives x with TensorDot(t, x) = b, where the axes of b are the first of t's, and the others those of x.
func (t *Tensor) TensorSolve(b *Tensor) *Tensor {
	n := b.Numel()
	if b.Rank() > t.Rank() || n*n != t.Numel() {
		fail("TensorSolve", shapesOf(t, b), "the axes behind those of the right side need as many elements as it has")
	}
	return t.Reshape(n, n).Solve(b.Reshape(n)).Reshape(t.Shape()[b.Rank():]...)
}

// TensorInv is the inverse of t as a matrix whose rows are its first axes: its axes are the others, and then these.
func (t *Tensor) TensorInv(rows int) *Tensor {
	if rows < 1 || rows >= t.Rank() {
		fail("TensorInv", shapesOf(t), "the first %d axes as rows leave no rows or no columns", rows)
	}
	s := t.Shape()
	n := 1
	for _, size := range s[:rows] {
		n *= size
	}
	if n*n != t.Numel() {
		fail("TensorInv", shapesOf(t), "the first %d axes have %d elements, and so must the others", rows, n)
	}
	return t.Reshape(n, n).Inv().Reshape(append(append([]int{}, s[rows:]...), s[:rows]...)...)
}

package tensor

import "github.com/weft-ml/weft/dtype"

// LU gives a permutation matrix p, l with ones in its diagonal and nothing above, and u with nothing below its diagonal, so that
// p·l·u = t: Gauss's method with row pivots. Of m×n matrices l is m×k and u k×n with k = min(m, n). A pivot 0 stays where it is.
func (t *Tensor) LU() (p, l, u *Tensor) {
	t.matrix("LU")
	k := min(t.Dim(-2), t.Dim(-1))
	m, order := callPair("factored", (*Tensor).factored, t.Detach())
	p = t.row().Eq(order.T()).To(t.DType())
	first := arange(k)
	l = m.Narrow(-1, 0, k).Tril(-1).Add(t.row().Eq(first).To(t.DType()))
	u = m.Narrow(-2, 0, k).Triu(0)
	low, high := l.Narrow(-2, 0, k).Detach(), u.Narrow(-1, 0, k).Detach()
	eye := low.identityLike()
	values := []*Tensor{l, u, low.solvedTriangular(eye, false, true), high.solvedTriangular(eye, true, false)}
	got := byLaw(luLaw, values, []*Tensor{t.rowsFrom(order)})
	return p, got[0], got[1]
}

// luLaw is of the factors l and u of a, whose rows are in order, and of the inverses li and ui of their squares. What is below the square of l
// is a·ui there, and what is right of that of u is li·a.
var luLaw = lawOf("LU", func(values, in []*Tensor) []*Tensor {
	l, u, li, ui, a := values[0], values[1], values[2], values[3], in[0]
	m, n, k := a.Dim(-2), a.Dim(-1), l.Dim(-1)
	f := li.MatMul(a.Narrow(-2, 0, k).Narrow(-1, 0, k)).MatMul(ui)
	low, high := l.Narrow(-2, 0, k).MatMul(f.Tril(-1)), f.Triu(0).MatMul(u.Narrow(-1, 0, k))
	change := []*Tensor{low, high, statedInverse(li, low), statedInverse(ui, high)}
	if m > k {
		rest := a.Narrow(-2, k, m-k).Sub(l.Narrow(-2, k, m-k).MatMul(high)).MatMul(ui)
		change[0] = Cat(-2, low, rest)
	}
	if n > k {
		rest := li.MatMul(a.Narrow(-1, k, n-k).Sub(low.MatMul(u.Narrow(-1, k, n-k))))
		change[1] = Cat(-1, high, rest)
	}
	return change
})

// factoredColumns is how many columns of a matrix are factored before what follows from them for the rest of it is a product.
const factoredColumns = 8

// factored has, in the place of t, what lies below the diagonal of l and u, and gives which row of t stands in which place, [… m 1]. Some columns
// at a time are factored by themselves (blocks.go), as LAPACK's getrf does: their steps exchange rows of these columns alone, and the others follow with the product.
func (t *Tensor) factored() (m, order *Tensor) {
	kind := t.DType()
	if kind.Size() < 4 { // steps would lose the few digits of narrow types, and the numbers of rows
		t = t.To(dtype.F32)
	}
	k := min(t.Dim(-2), t.Dim(-1))
	m, order = t.Contiguous().factoredRows(k, t.everyPlace((k+factoredColumns-1)/factoredColumns, factoredColumns), t.stepNumbers(min(k, factoredColumns)))
	return m.To(kind), order
}

// factoredRows factors the first k columns.
func (t *Tensor) factoredRows(k int, places, steps []*Tensor) (m, order *Tensor) {
	m, order = t, t.like(t.row().Expand(append(t.batch(), t.Dim(-2), 1)...).node())
	row, column, first := m.row(), m.column(), arange(factoredColumns).Unsqueeze(1)
	blocks := (k + factoredColumns - 1) / factoredColumns
	some := part(blocks)
	for i, at := range places[:some] {
		p, from := m.factoredPanel(at, steps[:min(len(steps), k-i*factoredColumns)])
		m, order = m.rowsFrom(from), order.rowsFrom(from).Contiguous()
		top, low := m.block(-2, at, factoredColumns), p.T()
		inRows, inColumns := row.Sub(at), column.Sub(at)
		done, own := inColumns.Lt(0), inColumns.Ge(0).And(inColumns.Lt(factoredColumns))
		corner := low.block(-2, at, factoredColumns)
		solved := corner.solvedTriangle(top, false, true)
		placed := corner.like(corner.node().Gather(inColumns.Expand(top.Shape()...).node(), m.Rank()-1))
		top = done.Where(top, own.Where(placed, solved)).Contiguous()
		times := done.Where(0, own.Where(inColumns.Eq(first).Where(-1, 0), top)).To(m.DType()).Contiguous()
		rest := own.Where(0, m).Sub(low.MatMul(times))
		placed = m.like(top.node().Gather(inRows.Expand(m.Shape()...).node(), m.Rank()-2))
		m = inRows.Lt(0).Where(m, inRows.Lt(factoredColumns).Where(placed, rest)).Contiguous()
	}
	if some == blocks {
		return m, order
	}
	end := some * factoredColumns
	low, from := m.corner(end).Contiguous().factoredRows(k-end, places, steps)
	left := m.Narrow(-1, 0, end).Narrow(-2, end, m.Dim(-2)-end).rowsFrom(from)
	m = Cat(-2, m.Narrow(-2, 0, end), Cat(-1, left, low)).Contiguous()
	return m, Cat(-2, order.Narrow(-2, 0, end), order.Narrow(-2, end, m.Dim(-2)-end).rowsFrom(from)).Contiguous()
}

// factoredPanel factors some columns that begin at a place, which lie as rows of p, and gives from which row each comes. The numbers of rows
// are one more row of what a step computes, so that it is one computation.
func (t *Tensor) factoredPanel(at *Tensor, steps []*Tensor) (p, from *Tensor) {
	n := t.Dim(-2)
	lines := wholeLines(n)
	p = t.block(-1, at, factoredColumns).T().wider(0, lines-n)
	numbers := arange(lines).To(t.DType()).Expand(append(t.batch(), 1, lines)...)
	p = Cat(-2, p, numbers).Contiguous()
	row, place := p.row(), p.column()
	for _, k := range steps {
		step := k.Add(at)
		size := place.Lt(step).Or(place.Ge(n)).Where(-1, p.line(-2, k).Abs())
		best := p.like(largest(size.node(), size.Rank()-1).Part(1)).To(dtype.I32).Unsqueeze(-1).Contiguous() // once, for all that is made of it
		top := p.line(-1, best)
		p = place.Eq(step).Where(top, place.Eq(best).Where(p.line(-1, step), p))
		pivot := top.line(-2, k)
		times := p.line(-2, k).Div(pivot.Eq(0).Where(1, pivot))
		below := row.Gt(k).And(row.Lt(factoredColumns)).Where(p.Sub(top.Mul(times)), p)
		p = place.Gt(step).Where(row.Eq(k).Where(times, below), p).Contiguous()
	}
	return p.Narrow(-2, 0, factoredColumns).Narrow(-1, 0, n), p.Narrow(-2, factoredColumns, 1).Narrow(-1, 0, n).T().To(dtype.I32)
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

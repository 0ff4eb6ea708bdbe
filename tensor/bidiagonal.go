package tensor

import "github.com/weft-ml/weft/dtype"

// Singular values without vectors. Reflections bring a matrix to two diagonals, whose singular values are found by counting how many lie
// below a number (Golub and Kahan).

// counted are the singular values, falling, of levelled matrices that are not wider than high.
func counted(a *Tensor) *Tensor {
	kind := a.DType()
	if kind.Size() < 4 { // steps would lose the few digits of narrow types
		a = a.To(dtype.F32)
	}
	return bisect(bidiagonal(a)).To(kind)
}

// bidiagonal brings matrices that are not wider than high to two diagonals by reflections from both sides: d on the main one, and e right
// of it, the last of which is 0.
func bidiagonal(a *Tensor) (d, e *Tensor) {
	n := a.Dim(-1)
	blocks, size := blocksOf(n)
	d, e = bidiagonalRows(a.Contiguous(), n, a.everyPlace(blocks, size), a.stepNumbers(size))
	return d, Cat(-1, e, Full(0, e.DType(), append(a.batch(), 1)...))
}

// bidiagonalRows does the first n rows and columns.
func bidiagonalRows(a *Tensor, n int, places, steps []*Tensor) (d, e *Tensor) {
	row, column, size := a.row(), a.column(), len(steps)
	blocks := (n + size - 1) / size
	some := part(blocks)
	for i, at := range places[:some] {
		for _, k := range steps[:min(size, n-i*size)] {
			step := k.Add(at)
			v, _ := row.Lt(step).Where(0, a.line(-1, step)).T().reflection(step)
			v = v.T().Contiguous()
			p := a.Mul(v).SumKeep(-2).Contiguous()
			line := a.line(-2, step).Sub(v.line(-2, step).Mul(p))
			u, _ := step.Lt(column).Where(line, 0).reflection(step.Add(1))
			u = u.Contiguous()
			q := a.Mul(u).SumKeep(-1).Sub(v.Mul(p.Mul(u).SumKeep(-1))).Contiguous()
			a = a.Sub(v.Mul(p).Add(q.Mul(u))).Contiguous()
		}
	}
	d, e = a.Diagonal(0), a.Diagonal(1)
	if blocks > some {
		from := some * size
		moreD, moreE := bidiagonalRows(a.corner(from).Contiguous(), n-from, places, steps)
		d, e = Cat(-1, d.Narrow(-1, 0, from), moreD), Cat(-1, e.Narrow(-1, 0, from), moreE)
	}
	return d, e
}

// countedAtOnce is how many rows one kernel counts.
const countedAtOnce = 16

// bisect gives the singular values, falling, of matrices of two diagonals. How many of their squares are less than a number x is how many
// elements of the diagonal matrix in the factors l·d·lᵀ of bᵀ·b − x are negative. All values are found at once, each bit by bit of the
// binary form of its square, from the highest on.
func bisect(d, e *Tensor) *Tensor {
	n, kind := d.Dim(-1), d.DType()
	most := d.Abs().Maximum(e.Abs()).MaxKeep(-1)
	bound := most.Eq(0).Where(1, most.Mul(4)).Contiguous() // so that all values are at most 1/2
	blocks := (n + countedAtOnce - 1) / countedAtOnce
	size := (n + blocks - 1) / blocks
	fit := func(x *Tensor, beyond float64) *Tensor {
		x = x.Div(bound).Square()
		return arange(blocks*size).Lt(n).Where(x.like(extend(x.node(), x.Rank()-1, 0, blocks*size-n)), beyond).Contiguous()
	}
	main, beside := fit(d, 2), fit(e, 0)
	least := 1e-30
	if kind == dtype.F64 {
		least = 1e-290
	}
	bits := fallingBits(d)
	room := arange(n).RSub(n - 1)
	places := d.everyPlace(blocks, size)
	found := bits[0].Mul(0).Expand(d.Shape()...).Contiguous()
	for _, bit := range bits {
		more := found.Add(bit)
		x := more.Bitcast(kind)
		shift, count := x.Neg(), x.Mul(0).To(dtype.I32)
		for _, at := range places {
			for k := range size {
				step := at.Add(k)
				p := main.line(-1, step).Add(shift)
				p = p.Abs().Lt(least).Where(-least, p)
				count = count.Add(p.Lt(0).To(dtype.I32))
				shift = shift.Mul(beside.line(-1, step).Div(p)).Sub(x)
			}
			shift, count = shift.Contiguous(), count.Contiguous()
		}
		found = count.Le(room).Where(more, found).Contiguous()
	}
	return found.Bitcast(kind).Sqrt().Mul(bound)
}

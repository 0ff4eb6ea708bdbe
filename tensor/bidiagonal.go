package tensor

import "github.com/weft-ml/weft/dtype"

// Reflections bring a matrix to two diagonals, whose singular values without vectors are found by counting how many lie below a number
// (Golub and Kahan).

// counted are the singular values, falling, of levelled matrices that are not wider than high.
func counted(a *Tensor) *Tensor {
	kind := a.DType()
	if kind.Size() < 4 { // steps would lose the few digits of narrow types
		a = a.To(dtype.F32)
	}
	d, e, _, _ := bidiagonal(a)
	return bisect(d, e).To(kind)
}

// bidiagonal brings matrices that are not wider than high to two diagonals by reflections from both sides: a = q·b·pᵀ, where b has d on its main
// diagonal and e right of it, the last of which is 0.
func bidiagonal(a *Tensor) (d, e *Tensor, q, p *reflections) {
	n := a.Dim(-1)
	blocks, size := blocksOf(n)
	d, e, q, p = bidiagonalRows(a.Contiguous(), n, a.everyPlace(blocks, size), a.stepNumbers(size))
	return d, Cat(-1, e, Full(0, e.DType(), append(a.batch(), 1)...)), q, p
}

// bidiagonalRows does the first n rows and columns.
func bidiagonalRows(a *Tensor, n int, places, steps []*Tensor) (d, e *Tensor, left, right *reflections) {
	left, right = &reflections{}, &reflections{}
	row, column, size := a.row(), a.column(), len(steps)
	blocks := (n + size - 1) / size
	some := part(blocks)
	for i, at := range places[:some] {
		var vs, us []*Tensor
		for _, k := range steps[:min(size, n-i*size)] {
			step := k.Add(at)
			v, _ := row.Lt(step).Where(0, a.line(-1, step)).T().reflection(step)
			v = v.Contiguous()
			vs = append(vs, v)
			v = v.T()
			p := a.Mul(v).SumKeep(-2).Contiguous()
			line := a.line(-2, step).Sub(v.line(-2, step).Mul(p))
			u, _ := step.Lt(column).Where(line, 0).reflection(step.Add(1))
			u = u.Contiguous()
			us = append(us, u)
			q := a.Mul(u).SumKeep(-1).Sub(v.Mul(p.Mul(u).SumKeep(-1))).Contiguous()
			a = a.Sub(v.Mul(p).Add(q.Mul(u))).Contiguous()
		}
		for len(vs) < size { // so that all blocks are the same computation
			vs, us = append(vs, vs[0].Mul(0)), append(us, us[0].Mul(0))
		}
		left.add(Cat(-2, vs...).Contiguous())
		right.add(Cat(-2, us...).Contiguous())
	}
	d, e = a.Diagonal(0), a.Diagonal(1)
	if blocks > some {
		from := some * size
		left.from, right.from = from, from
		var moreD, moreE *Tensor
		moreD, moreE, left.next, right.next = bidiagonalRows(a.corner(from).Contiguous(), n-from, places, steps)
		d, e = Cat(-1, d.Narrow(-1, 0, from), moreD), Cat(-1, e.Narrow(-1, 0, from), moreE)
	}
	return d, e, left, right
}

// countedAtOnce is how many rows one kernel counts.
const countedAtOnce = 16

// bisect gives the singular values, falling, of matrices of two diagonals. How many of their squares are less than a number x is how many
// elements of the diagonal matrix in the factors l·d·lᵀ of bᵀ·b − x are negative. All values are found at once, each bit by bit of the
// binary form of its square, from the highest on.
func bisect(d, e *Tensor) *Tensor {
	most := d.Abs().Maximum(e.Abs()).MaxKeep(-1)
	bound := most.Eq(0).Where(1, most.Mul(4)).Contiguous() // so that all values are at most 1/2
	c := newCount(d.Div(bound).Square(), e.Div(bound).Square(), func(shift, ratio *Tensor) *Tensor { return shift.Mul(ratio) })
	room := arange(c.n).RSub(c.n - 1).To(d.DType())
	bits := fallingBits(d, lowBits(d.DType()))
	found := bits[0].Mul(0).Expand(d.Shape()...).Contiguous()
	for _, bit := range bits {
		more := found.Add(bit)
		found = c.below(more.Bitcast(d.DType())).Le(room).Where(more, found).Contiguous()
	}
	square := found.Bitcast(d.DType())
	return square.Le(2*c.least).Where(0, square.Sqrt()).Mul(bound)
}

// bisectSymmetric gives the eigenvalues, rising, of symmetric matrices of three diagonals, as bisect does: how many are less than x is
// how many are negative in the factors of the matrix − x. Bits are those of a binary fraction, which is as exact as the matrix.
func bisectSymmetric(d, e *Tensor) *Tensor {
	size := e.Abs()
	most := d.Abs().Add(size).Add(before(size)).MaxKeep(-1)
	bound := most.Eq(0).Where(1, most.Mul(4)).Contiguous() // so that all values are at most 1/4
	c := newCount(d.Div(bound), e.Div(bound).Square().Neg(), func(_, ratio *Tensor) *Tensor { return ratio })
	room := arange(c.n).To(d.DType())
	bit := d.ints([]int32{1}, 1).To(d.DType()).Mul(0.5).Contiguous()
	found := bit.Neg().Expand(d.Shape()...).Contiguous()
	for range d.DType().Digits() + 2 {
		more := found.Add(bit)
		found = c.below(more).Le(room).Where(more, found).Contiguous()
		bit = bit.Mul(0.5).Contiguous()
	}
	return found.Mul(bound)
}

// count says how many values of matrices of a few diagonals lie below numbers: how many pivots of an elimination are negative. What an
// elimination leaves to the next pivot is carried from row to row.
type count struct {
	n            int
	main, beside []*Tensor // some rows at a time, [… 1 size]
	carried      func(shift, ratio *Tensor) *Tensor
	least        float64 // pivots that are nearly 0 are positive, and at least this
}

func newCount(main, beside *Tensor, carried func(shift, ratio *Tensor) *Tensor) *count {
	c := &count{n: main.Dim(-1), carried: carried, least: 1e-30}
	if main.DType() == dtype.F64 {
		c.least = 1e-290
	}
	blocks := (c.n + countedAtOnce - 1) / countedAtOnce
	size := (c.n + blocks - 1) / blocks
	parts := func(x *Tensor, beyond float64) (out []*Tensor) {
		x = arange(blocks*size).Lt(c.n).Where(x.like(extend(x.node(), x.Rank()-1, 0, blocks*size-c.n)), beyond)
		for i := range blocks {
			out = append(out, x.Narrow(-1, i*size, size).Unsqueeze(-2).Contiguous())
		}
		return out
	}
	c.main, c.beside = parts(main, 2), parts(beside, 0)
	return c
}

// below is how many values lie below each x.
func (c *count) below(x *Tensor) *Tensor {
	x = x.Unsqueeze(-2)
	two := x.Expand(with(x.shape(), x.Rank()-2, 2)...)
	pair := func(shift, n *Tensor) *Tensor { return firstRows(1, two.Mul(0).Add(shift), n) }
	state := pair(x.Neg(), x.Mul(0))
	for i, main := range c.main {
		shift, n := state.Narrow(-2, 0, 1), state.Narrow(-2, 1, 1)
		for k := range main.Dim(-1) {
			p := main.Narrow(-1, k, 1).Add(shift)
			negative := p.Lt(-c.least)
			p = negative.Where(p, p.Add(2*c.least))
			n = n.Add(negative.To(n.DType()))
			shift = c.carried(shift, c.beside[i].Narrow(-1, k, 1).Div(p)).Sub(x)
		}
		state = pair(shift, n)
		if i < len(c.main)-1 {
			state = state.Contiguous()
		}
	}
	return state.Narrow(-2, 1, 1).Squeeze(-2)
}

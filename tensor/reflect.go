package tensor

import "slices"

// Householder reflections 1 − v·vᵀ with v·v = 2, or v = 0. Vectors lie as rows, along which reflections go.

// reflection is the v that brings x, of which nothing lies before a place, to a multiple of the unit vector there, and that multiple.
func (x *Tensor) reflection(at *Tensor) (v, head *Tensor) {
	head = x.line(-1, at)
	square := x.Square().SumKeep(-1)
	length := square.Sqrt()
	half := square.Add(head.Abs().Mul(length)) // of the square of what follows
	v = x.Add(x.column().Eq(at).Where(head.Lt(0).Where(length.Neg(), length), 0))
	return v.Mul(half.Eq(0).Where(0, half.Rsqrt())), head.Lt(0).Where(length, length.RSub(0))
}

// reflections are some that follow each other, in blocks: the product H₁·H₂ … of those of a block is 1 − vᵀ·y, where v has their
// vectors as rows (Schreiber and Van Loan). Blocks that leave the first elements of all vectors alone come as what follows.
type reflections struct {
	v, y []*Tensor
	from int // where the elements begin that the following ones change
	next *reflections
}

func (r *reflections) add(v *Tensor) (y *Tensor) {
	y = productOf(v)
	r.v, r.y = append(r.v, v), append(r.y, y)
	return y
}

// productOf is the y of the reflections whose vectors are the rows of v.
func productOf(v *Tensor) (y *Tensor) {
	return v.MatMul(v.T()).Contiguous().solvedUp(v).Contiguous()
}

// rowsAtOnce is how many rows are written out, each of which is made of those below it.
const rowsAtOnce = 16

// solvedUp is the y of g·y = v, where of g counts what lies above the diagonal, and its diagonal is taken as ones.
func (g *Tensor) solvedUp(v *Tensor) *Tensor {
	n := g.Dim(-1)
	if n > rowsAtOnce {
		half := (n + 1) / 2
		corner := func(row, col int) *Tensor {
			size := []int{half, n - half}
			return g.Narrow(-2, row*half, size[row]).Narrow(-1, col*half, size[col])
		}
		low := corner(1, 1).solvedUp(v.Narrow(-2, half, n-half)).Contiguous()
		high := v.Narrow(-2, 0, half).Sub(corner(0, 1).MatMul(low)).Contiguous()
		return Cat(-2, corner(0, 0).solvedUp(high).Contiguous(), low)
	}
	for k := n - 1; k > 0; k-- {
		v = firstRows(k, v.Sub(g.Narrow(-1, k, 1).Mul(v.Narrow(-2, k, 1))), v)
	}
	return v
}

// apply is the product of all reflections with the columns of z.
func (r *reflections) apply(z *Tensor) *Tensor {
	if r.next != nil {
		z = Cat(-2, z.Narrow(-2, 0, r.from), r.next.apply(z.Narrow(-2, r.from, z.Dim(-2)-r.from)))
	}
	return r.applyBlocks(z)
}

func (r *reflections) applyBlocks(z *Tensor) *Tensor {
	z = z.Contiguous()
	for i, v := range slices.Backward(r.v) {
		z = z.Sub(v.T().MatMul(r.y[i].MatMul(z).Contiguous())).Contiguous()
	}
	return z
}

// columns are the first n columns of the product of all reflections.
func (r *reflections) columns(n int) *Tensor {
	m := r.v[0].Dim(-1)
	z := Full(0, r.v[0].DType(), append(r.v[0].batch(), m, n)...).identityLike()
	if r.next != nil && n > r.from {
		rest := r.next.columns(n-r.from).wider(r.from, 0).higher(r.from, 0)
		z = z.row().Lt(r.from).Where(z, rest)
	}
	return r.applyBlocks(z)
}

// householder brings t to upper triangular form by k reflections and gives r and the first columns of q with q·r = t.
func householder(t *Tensor, k, columns int) (r, q *Tensor) {
	m, n := t.Dim(-2), t.Dim(-1)
	if max(m, n) <= unblocked || k == 0 {
		r, q = householderByRows(t, k)
		return r, q.Narrow(-1, 0, columns)
	}
	blocks, size := blocksOf(k)
	w := t.T().Contiguous()
	r, all := reflectRows(w, k, w.everyPlace(blocks, size), w.stepNumbers(size))
	return r.Contiguous().T().Triu(0), all.columns(columns)
}

// reflectRows brings the first n rows of w to lower triangular form.
func reflectRows(w *Tensor, n int, places, steps []*Tensor) (*Tensor, *reflections) {
	size := len(steps)
	all := &reflections{}
	var rows []*Tensor
	blocks := (n + size - 1) / size
	some := part(blocks)
	for i, at := range places[:some] {
		row, v := w.reflectBlock(at, steps[:min(size, n-i*size)])
		y := all.add(v)
		w = w.Sub(w.MatMul(v.T()).Contiguous().MatMul(y)).Contiguous()
		rows = append(rows, row)
	}
	at := min(some*size, n)
	rest := w.Narrow(-2, at, w.Dim(-2)-at)
	if blocks > some {
		var after *Tensor
		after, all.next = reflectRows(w.corner(at).Contiguous(), n-at, places, steps)
		all.from = at
		rest = Cat(-1, rest.Narrow(-1, 0, at), after)
	}
	return Cat(-2, append(rows, rest)...), all
}

// reflectBlock brings rows from a place on to lower triangular form, row by row. The vectors take the places of the
// elements that become zero, and what stands then in the diagonal waits behind the row.
func (w *Tensor) reflectBlock(at *Tensor, steps []*Tensor) (rows, v *Tensor) {
	m := w.Dim(-1)
	p := w.block(-2, at, len(steps)).wider(0, wholeLines(m+1)-m).Contiguous()
	row, place := p.row(), p.column()
	for _, k := range steps {
		first := k.Add(at)
		x := place.Lt(first).Where(0, p.line(-2, k))
		head, square := p.line(-2, k).line(-1, first), x.Square().SumKeep(-1)
		length := square.Sqrt()
		half := square.Add(head.Abs().Mul(length)) // see reflection
		scale, far := half.Eq(0).Where(0, half.Rsqrt()), head.Lt(0).Where(length.Neg(), length)
		v := x.Add(place.Eq(first).Where(far, 0)).Mul(scale)
		along := p.Mul(x).SumKeep(-1).Add(p.line(-1, first).Mul(far)).Mul(scale)
		found := place.Eq(m).Where(far.RSub(0), v)
		p = row.Eq(k).And(place.Ge(first)).Where(found, k.Lt(row).Where(p.Sub(along.Mul(v)), p)).Contiguous()
	}
	diagonal := row.Add(at)
	head := p.Narrow(-1, m, 1)
	p, place = p.Narrow(-1, 0, m), arange(m)
	v = place.Lt(diagonal).Where(0, p).Contiguous()
	return place.Lt(diagonal).Where(p, place.Eq(diagonal).Where(head, 0)).Contiguous(), v
}

// householderByRows is householder without blocks, with all columns of q.
func householderByRows(t *Tensor, k int) (r, q *Tensor) {
	m, n := t.Dim(-2), t.Dim(-1)
	eye := t.row().Eq(arange(m)).To(t.DType()).Expand(append(t.batch(), m, m)...)
	w := Cat(-2, t.T(), eye).Contiguous()
	for _, at := range w.stepNumbers(k) {
		x, _ := w.column().Lt(at).Where(0, w.line(-2, at)).reflection(at)
		x = x.Contiguous()
		w = w.Sub(w.Mul(x).SumKeep(-1).Contiguous().Mul(x)).Contiguous()
	}
	return w.Narrow(-2, 0, n).T().Triu(0), w.Narrow(-2, n, m)
}

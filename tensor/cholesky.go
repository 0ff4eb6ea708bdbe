package tensor

// Cholesky gives the lower triangular l with l·lᵀ = t for symmetric positive definite matrices, of which the lower
// triangle is read. Others are a *ValueError when the result is read, but what is not finite gives NaN. The gradient is that of a
// symmetric matrix.
func (t *Tensor) Cholesky() *Tensor {
	n := t.square("Cholesky")
	if n == 0 {
		return t
	}
	l, pivots := t.Detach().definite()
	l = l.Tril(0)
	l = l.unlessBad("Cholesky", "the matrix is not positive definite: its leading minor of order %d is not", t.Tril(0), pivots.Gt(0).LogicalNot())
	li, _ := l.inverse()
	p := li.MatMul(t.Add(t.T()).Mul(0.5)).MatMul(li.T())
	half := p.row().Eq(p.column()).Where(0.5, 1).To(t.DType())
	return stated(l, l.MatMul(p.Tril(0).Mul(half)))
}

// definite gives l, of which the lower triangle counts, with l·lᵀ = s for symmetric positive definite s, of which the lower triangle is read,
// and the squares of its diagonal, which are not all positive for others.
func (s *Tensor) definite() (l, pivots *Tensor) {
	if s.Dim(-1) > unblocked {
		return s.definiteInBlocks()
	}
	s = s.mirrored().Contiguous()
	for _, at := range s.stepNumbers(s.Dim(-1)) {
		s = s.withoutRow(at)
	}
	pivots = s.Diagonal(0)
	return s.Div(pivots.Sqrt().Unsqueeze(-1)).T(), pivots
}

// mirrored has the lower triangle in the place of the upper one.
func (s *Tensor) mirrored() *Tensor { return s.column().Le(s.row()).Where(s, s.T()) }

// withoutRow is a step of Gauss's elimination in a symmetric matrix, with or without columns behind it: a row's share taken from
// those below.
func (s *Tensor) withoutRow(at *Tensor) *Tensor {
	top := s.line(-2, at)
	times := s.line(-1, at).Div(top.line(-1, at))
	return at.Lt(s.row()).Where(s.Sub(times.Mul(top)), s).Contiguous()
}

// definiteInBlocks takes rows of lᵀ in blocks: the inverse of the factor of a block in the diagonal makes them from rows of the matrix,
// whose places they take, and what they are of the rest of it is a product.
func (s *Tensor) definiteInBlocks() (l, pivots *Tensor) {
	n := s.Dim(-1)
	blocks, size := blocksOf(n)
	places, steps := s.everyPlace(blocks, size), s.stepNumbers(size)
	s = s.T().Contiguous() // what lies below the diagonal does not count
	var rows, squares []*Tensor
	for done := 0; done < blocks; {
		some := part(blocks - done)
		for i, at := range places[:some] {
			first := places[done+i]
			band := s.block(-2, at, size)
			band = band.column().Lt(band.row().Add(first)).Where(0, band).Contiguous()
			inverse, square := band.block(-1, first, size).T().rootInverse(first.RSub(n), steps[:min(size, n-(done+i)*size)])
			band = inverse.MatMul(band).Contiguous()
			own := s.row().Sub(at)
			placed := s.like(band.node().Gather(own.Expand(s.Shape()...).node(), s.Rank()-2))
			below := band.Narrow(-1, done*size, n-done*size).T()
			s = own.Lt(0).LogicalNot().And(own.Lt(size)).Where(placed, s.Sub(below.MatMul(band))).Contiguous()
			squares = append(squares, square)
		}
		done += some
		end := min(some*size, s.Dim(-2))
		rows = append(rows, s.Narrow(-2, 0, end))
		s = s.Narrow(-2, end, s.Dim(-2)-end).Contiguous()
	}
	return Cat(-2, rows...).Contiguous().T(), Cat(-1, squares...).Narrow(-1, 0, n)
}

// rootInverse is the inverse of the factor of a symmetric matrix, of which the first n rows count, and the squares of the factor's diagonal.
func (d *Tensor) rootInverse(n *Tensor, steps []*Tensor) (y, square *Tensor) {
	size := d.Dim(-1)
	one := d.identityLike()
	w := Cat(-1, d.row().Lt(n).Where(d.mirrored(), one), one).Contiguous()
	for _, k := range steps {
		w = w.withoutRow(k)
	}
	square = w.Narrow(-1, 0, size).Diagonal(0)
	return w.Narrow(-1, size, size).Div(square.Sqrt().Unsqueeze(-1)).Contiguous(), square
}

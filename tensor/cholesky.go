package tensor

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// Cholesky gives the lower triangular l with l·lᵀ = t for symmetric positive definite matrices, of which the lower
// triangle is read. Others are a *ValueError when the result is read, but what is not finite gives NaN. The gradient is that of a
// symmetric matrix.
func (t *Tensor) Cholesky() *Tensor {
	n := t.square("Cholesky")
	if n == 0 {
		return t
	}
	l, pivots := callPair("definite", (*Tensor).definite, t.Detach())
	l = l.Tril(0)
	l = l.unlessBad("Cholesky", "the matrix is not positive definite: its leading minor of order %d is not", t.Tril(0), pivots.Gt(0).LogicalNot())
	li, _ := callPair("inverse", (*Tensor).inverse, l.Detach())
	return byLaw(choleskyLaw, []*Tensor{l, li}, []*Tensor{t})[0]
}

var choleskyLaw = lawOf("Cholesky", func(v, in []*Tensor) []*Tensor {
	l, li, t := v[0], v[1], in[0]
	p := li.MatMul(t.Add(t.T()).Mul(0.5)).MatMul(li.T())
	half := p.row().Eq(p.column()).Where(0.5, 1).To(t.DType())
	dl := l.MatMul(p.Tril(0).Mul(half))
	return []*Tensor{dl, statedInverse(li, dl)}
})

// rootRows is how many rows of a factor a kernel computes: their steps are written out.
const rootRows = 8

// definite gives l, of which the lower triangle counts, with l·lᵀ = s for symmetric positive definite s, of which the lower triangle is read,
// and its diagonal, which is not all positive for others. Rows of lᵀ take the places of rows of s, some at a time; what they are of
// the rest of it is a product.
func (s *Tensor) definite() (l, diagonal *Tensor) {
	n, kind := s.Dim(-1), s.DType()
	if kind.Size() < 4 { // steps would lose the few digits of narrow types
		s = s.To(dtype.F32)
	}
	s = s.T() // what lies below the diagonal does not count
	if n <= rootRows {
		l = s.rootOf(s)
	} else {
		l = s.rootByRows(s.everyPlace((n+rootRows-1)/rootRows, rootRows))
	}
	l = l.Contiguous().T().To(kind)
	return l, l.Diagonal(0)
}

// rootByRows is lᵀ of s, of which the upper triangle is read. Rows of it take the places of rows of s in the first part of these, and
// what they are of the rest of s is then one product.
func (s *Tensor) rootByRows(places []*Tensor) *Tensor {
	n := s.Dim(-1)
	blocks := (n + rootRows - 1) / rootRows
	some := part(blocks)
	end := min(some*rootRows, n)
	top := s.Narrow(-2, 0, end).Contiguous()
	for _, at := range places[:some] {
		band := top.block(-2, at, rootRows)
		corner := band.block(-1, at, rootRows)
		corner = corner.row().Add(at).Lt(n).Where(corner, corner.identityLike())
		root := corner.rootOf(band)
		band = root.column().Lt(root.row().Add(at)).Where(0, root).Contiguous()
		own := top.row().Sub(at)
		placed := top.like(band.node().Gather(own.Expand(top.Shape()...).node(), top.Rank()-2))
		below := band.Narrow(-1, 0, end).T()
		top = own.Lt(0).LogicalNot().And(own.Lt(rootRows)).Where(placed, top.Sub(below.MatMul(band))).Contiguous()
	}
	if end == n {
		return top
	}
	side := top.Narrow(-1, end, n-end)
	rest := s.corner(end).Sub(side.T().MatMul(side)).Contiguous().rootByRows(places)
	return Cat(-2, top, rest.wider(end, 0))
}

// rootOf is l⁻¹·b for the factor l of c, of which the upper triangle is read: Gauss's elimination, each row divided by the root of its
// pivot. As each row is another value, and all are made of the same ones, a kernel computes them together.
func (c *Tensor) rootOf(b *Tensor) *Tensor {
	n := c.Dim(-1)
	for k := range n {
		scale := c.Narrow(-2, k, 1).Narrow(-1, k, 1).Sqrt().Reciprocal()
		times, row := c.Narrow(-2, k, 1).Mul(scale), b.Narrow(-2, k, 1).Mul(scale)
		rest := b.Sub(times.T().Mul(row))
		if k > 0 {
			row = firstRows(k, b, row)
		}
		if k == n-1 {
			return row.Expand(b.Shape()...)
		}
		c, b = c.Sub(times.T().Mul(times)), firstRows(k+1, row, rest)
	}
	return b
}

// mirrored has the lower triangle in the place of the upper one.
func (s *Tensor) mirrored() *Tensor { return s.column().Le(s.row()).Where(s, s.T()) }

// firstRows are n rows of x, and then those of y.
func firstRows(n int, x, y *Tensor) *Tensor {
	both := Broadcast(x, y)
	u := both[0].node()
	place := alongAxis(uop.NewIota(both[0].Dim(-2)), both[0].Rank()-2, u.Shape())
	return both[0].like(place.Less(place.Int(n)).Where(u, both[1].node()))
}

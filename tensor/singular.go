package tensor

import (
	"github.com/weft-ml/weft/dtype"
)

// Singular values and vectors of matrices of two diagonals, divided and conquered (Gu and Eisenstat, "A divide-and-conquer algorithm for the
// bidiagonal SVD", 1995; LAPACK's bdsdc). A part has a column more than rows, so one of its right vectors belongs to no singular value: the null vector.

// conquerSingular gives the singular values, rising, of square matrices of two diagonals, d on the main one and e right of it, the last of
// which is 0, and their left and right vectors as rows.
func conquerSingular(d, e *Tensor) (s, u, v *Tensor) {
	n, kind := d.Dim(-1), d.DType()
	pairs := 0
	for n+1 > (leafRows+1)<<pairs {
		pairs++
	}
	width := (n + 1<<pairs) >> pairs // of a part: its columns
	batch, all := d.Shape()[:d.Rank()-1], width<<pairs
	norm := d.Abs().MaxKeep(-1).Add(e.Abs().MaxKeep(-1)).Mul(4).Contiguous()
	bound := norm.Eq(0).Where(1, norm)
	fit := func(x *Tensor, beyond float64) *Tensor {
		x = x.Div(bound)
		return arange(all).Lt(n).Where(x.like(extend(x.node(), x.Rank()-1, 0, all-n)), beyond).To(kind).Contiguous()
	}
	d, e = fit(d, 0.5), fit(e, 0) // all singular values but those of added rows are at most 1/4
	shape := func(s ...int) []int { return append(append([]int{}, batch...), s...) }
	part := func(x *Tensor) *Tensor { return x.Reshape(shape(1<<pairs, width)...).Narrow(-1, 0, width-1) }
	s, u, v = singularLeaves(part(d), part(e), n)
	c := newSecular(s, all)
	for pairs--; pairs >= 0; pairs-- {
		across := func(x *Tensor) *Tensor { return x.Reshape(shape(1<<pairs, 2*width)...).Narrow(-1, width-1, 1) }
		of := func(x *Tensor) *Tensor {
			return x.Reshape(shape(append([]int{1 << pairs, 2}, x.Shape()[len(batch)+1:]...)...)...)
		}
		s, u, v = c.joinSingular(of(s), of(u), of(v), across(d), across(e))
		width *= 2
	}
	first := func(x *Tensor, from int) *Tensor {
		return x.Squeeze(-3).Narrow(-2, from, n).Narrow(-1, 0, n)
	}
	s, _ = s.Squeeze(-2).Narrow(-1, 0, n).Sort(-1, false) // neighbours may have changed places by rounding
	return s.Mul(norm), first(u, 0), first(v, 1)
}

// singularLeaves are the singular values, left vectors and right ones, the null vector before the others, of small matrices of two diagonals
// with a column more than rows. Rotations of rows bring these orthogonal to each other, also short ones. What is added, less than rounding
// does, keeps them from being 0, as some are if the rank is less; elements of the first rows in all that are added are in as many columns.
func singularLeaves(d, e *Tensor, rows int) (s, u, v *Tensor) {
	kind, n := d.DType(), d.Dim(-1)
	row, column := arange(n).Unsqueeze(1), arange(n+1)
	first := arange(d.Dim(-2)).Mul(n + 1).Unsqueeze(-1).Unsqueeze(-1)
	own := row.Add(first).Lt(rows).Eq(column.Add(first).Lt(rows))
	number := row.Mul(n + 1).Add(column)
	mixed := number.Mul(number).Mod(31).Sub(15).To(kind).Mul(precision(kind) / 128)
	a := row.Eq(column).Where(d.Unsqueeze(-1), row.Add(1).Eq(column).Where(e.Unsqueeze(-1), 0)).To(kind)
	a = a.Add(own.Where(mixed, 0)).Contiguous()
	eye := row.Eq(arange(n)).To(kind).Expand(append(a.batch(), n, n)...)
	w := jacobi(Cat(-1, a, eye), n+1, false)
	v, u = w.Narrow(-1, 0, n+1), unitRows(w.Narrow(-1, n+1, n))
	s = v.Square().Sum(-1).Sqrt().Contiguous()
	v = v.Div(s.Unsqueeze(-1)).Contiguous()
	off := v.T().MatMul(v).Neg()
	off = off.identityLike().Add(off).Contiguous() // the projection onto the null vector
	longest := off.like(largest(off.Diagonal(0).node(), off.Rank()-2).Part(1)).To(dtype.I32).Unsqueeze(-1).Unsqueeze(-1)
	return s, u, Cat(-2, unitRows(off.line(-2, longest)), v).Contiguous()
}

// joinSingular makes the singular values and vectors of matrices from those of their halves, s [… 2 k], u [… 2 k k] and v [… 2 k+1 k+1],
// and the two elements [… 1] of the row between these. With the vectors of the halves it is a matrix with one row z and a diagonal, whose
// squares are poles.
func (c *secular) joinSingular(s, u, v, low, high *Tensor) (_, _, _ *Tensor) {
	k, kind := s.Dim(-1), s.DType()
	n := 2*k + 1
	batch := s.Shape()[:s.Rank()-2]
	shape := func(s ...int) []int { return append(append([]int{}, batch...), s...) }
	half := func(x *Tensor, i int) *Tensor { return x.Select(-3, i) }
	a, b := half(v, 0).Select(-1, k).Mul(low).Contiguous(), half(v, 1).Select(-1, 0).Mul(high).Contiguous()
	a0, b0 := a.Narrow(-1, 0, 1), b.Narrow(-1, 0, 1)
	most := a0.Abs().Maximum(b0.Abs())
	scale := most.Eq(0).Where(1, most)
	z0 := a0.Div(scale).Square().Add(b0.Div(scale).Square()).Sqrt().Mul(scale).Contiguous()
	cos, sin := z0.Eq(0).Where(1, a0.Div(z0)).To(kind).Contiguous(), z0.Eq(0).Where(0, b0.Div(z0)).To(kind).Contiguous()
	z := Cat(-1, z0, a.Narrow(-1, 1, k), b.Narrow(-1, 1, k)).Contiguous()
	w := Cat(-1, z0.Mul(0), s.Reshape(shape(2*k)...)).Contiguous()

	at, off, size, p := c.solve(w, z.Square(), true)
	off = off.Contiguous()
	z = z.Lt(0).Where(size.Neg(), size).Contiguous()

	unit := func(x *Tensor) *Tensor {
		x = x.Div(x.Abs().MaxKeep(-1))
		return x.Mul(x.Square().SumKeep(-1).Rsqrt()).Contiguous()
	}
	x := z.Unsqueeze(-2).Div(off).Contiguous()
	d := w.Add(p.place.Mul(c.apart)).Unsqueeze(-2)
	y := unit(arange(n).Eq(0).Where(1, x.Mul(d)).To(kind))
	x = unit(x)
	swap := identity(x.Rank() + 1)
	r := len(swap)
	swap[r-3], swap[r-2] = r-2, r-3
	halves := func(x *Tensor, n int) *Tensor { return x.Reshape(shape(x.Dim(-2), 2, n)...).Permute(swap...) }
	whole := func(x *Tensor) *Tensor { return x.Permute(swap...).Reshape(shape(x.Dim(-2), 2*x.Dim(-1))...) }

	rest := x.Narrow(-1, 1, 2*k)
	cos, sin = cos.Unsqueeze(-1), sin.Unsqueeze(-1)
	x0 := x.Narrow(-1, 0, 1)
	right := Cat(-1, x0.Mul(cos), rest.Narrow(-1, 0, k), x0.Mul(sin), rest.Narrow(-1, k, k))
	null := arange(2*k + 2)
	none := null.Eq(0).Where(sin.Neg(), null.Eq(k+1).Where(cos, 0)).To(kind)
	v = whole(halves(Cat(-2, none, right).Contiguous(), k+1).MatMul(v)).Contiguous()
	u = whole(halves(y.Narrow(-1, 1, 2*k), k).MatMul(u))
	u = Cat(-1, u.Narrow(-1, 0, k), y.Narrow(-1, 0, 1), u.Narrow(-1, k, k)).Contiguous()
	return at, u, v
}

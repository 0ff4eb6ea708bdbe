package tensor

import (
	"fmt"
	"math"

	"github.com/weft-ml/weft/dtype"
)

// QR gives q with orthonormal columns and upper triangular r with q·r = t. Of m×n matrices q is m×k and r k×n with k =
// min(m, n), or, where complete is set, q is m×m and r m×n.
func (t *Tensor) QR(complete bool) (q, r *Tensor) {
	t.matrix("QR")
	m, n := t.Dim(-2), t.Dim(-1)
	k := min(m, n)
	wide := k
	if complete {
		wide = m
	}
	most := t.Detach().Abs().MaxKeep(-2) // of each column, so that squares neither overflow nor vanish
	most = most.Eq(0).Where(1, most).Contiguous()
	algorithm := func(a *Tensor) (q, r *Tensor) {
		r, q = callPair(fmt.Sprint("householder ", wide), func(t *Tensor) (r, q *Tensor) { return householder(t, min(k, max(m-1, 0)), wide) }, a.Div(most))
		return q, r.Narrow(-2, 0, wide).Mul(most)
	}
	if wide > k { // what is left free in q has the derivatives of the algorithm
		return algorithm(t)
	}
	q, r = algorithm(t.Detach())
	square := r.Narrow(-1, 0, k)
	inverse := callOne("triangular inverse", func(r *Tensor) *Tensor { return substitute(r, r.identityLike(), true, false) }, square)
	got := byLaw(orthogonalLaw, []*Tensor{q, r, inverse}, []*Tensor{t})
	return got[0], got[1]
}

// orthogonalLaw is of the factors q and r of a, and of the inverse of the square of r. qᵀ·dq is antisymmetric and dr is triangular, so that the part
// of qᵀ·da·r⁻¹ below the diagonal gives both, see Walter and Lehmann, Algorithmic differentiation of linear algebra functions with application
// in optimum experimental design, 2010. Where r is singular there is no derivative.
var orthogonalLaw = lawOf("QR", func(values, in []*Tensor) []*Tensor {
	q, r, ri, a := values[0], values[1], values[2], in[0]
	n, k := a.Dim(-1), q.Dim(-1)
	first := a.Narrow(-1, 0, k).MatMul(ri)
	c := q.T().MatMul(first)
	turned := c.Tril(-1).Sub(c.Tril(-1).T())
	square := c.Sub(turned).MatMul(r.Narrow(-1, 0, k))
	dq := first.Sub(q.MatMul(c.Sub(turned)))
	dr := square
	if n > k {
		dr = Cat(-1, square, q.T().MatMul(a.Narrow(-1, k, n-k)).Sub(turned.MatMul(r.Narrow(-1, k, n-k))))
	}
	return []*Tensor{dq, dr, statedInverse(ri, square)}
})

// sweeps is how many rounds over all pairs of n columns bring them orthogonal to within the type.
func sweeps(n int, d dtype.DType) int {
	s := 5
	for k := 4; k < n; k *= 2 {
		s++
	}
	if d == dtype.F64 {
		s += 4
	}
	return s
}

// jacobi turns the n rows of w by plane rotations until their first m elements are orthogonal to each other (one-sided
// Jacobi method). Each step turns n/2 pairs of neighbours at once, in an order in which all pairs meet; all steps are the same
// computation. Pairs that are orthogonal but for rounding stay: between rows of equal length they would turn by any angle, and spoil
// what other steps did. Where the rows are far from dependent, so do pairs whose angle is as small as the next round makes all.
func jacobi(w *Tensor, m int, independent bool) *Tensor {
	n := w.Dim(-2)
	if n < 2 {
		return w
	}
	even := n + n%2
	axis := w.Rank() - 2
	w = w.like(extend(w.node(), axis, 0, even-n)).Detach().Contiguous()
	order := w.like(alongAxis(w.ints(meeting(even), even).node(), axis, w.shape())).node()
	pairs := append(w.batch(), even/2, 2, w.Dim(-1))
	first := arange(2).Eq(0).Unsqueeze(-1)
	rounding := precision(w.DType()) * math.Sqrt(float64(m))
	least := Full(rounding, w.DType())
	for range sweeps(n, w.DType()) {
		if independent {
			least = cosines(w.Narrow(-1, 0, m)).Square().Mul(0.1).Maximum(rounding).Unsqueeze(-1).Contiguous()
		}
		for range even - 1 {
			x := w.like(w.node().Gather(order, axis)).Reshape(pairs...)
			u := x.Narrow(-1, 0, m)
			p, q := u.Narrow(-2, 0, 1), u.Narrow(-2, 1, 1)
			pp, qq, pq := p.Square().SumKeep(-1), q.Square().SumKeep(-1), p.Mul(q).SumKeep(-1)
			zeta := qq.Sub(pp).Div(pq.Mul(2))
			t := zeta.Square().Add(1).Sqrt().Add(zeta.Abs()).Reciprocal()
			t = pq.Abs().Le(pp.Sqrt().Mul(qq.Sqrt()).Mul(least)).Where(0, zeta.Lt(0).Where(t.Neg(), t))
			c := t.Square().Add(1).Rsqrt()
			s := c.Mul(t)
			w = x.Mul(c).Add(x.Flip(-2).Mul(first.Where(s.Neg(), s))).Reshape(w.Shape()...).Contiguous()
		}
	}
	if even == n {
		return w
	}
	return w.Narrow(-2, 0, n)
}

// cosines is the largest cosine of the angle between two rows, without sign.
func cosines(u *Tensor) *Tensor {
	length := u.Square().SumKeep(-1).Sqrt()
	u = u.Div(length.Eq(0).Where(1, length)).Contiguous()
	c := u.MatMul(u.T()).Abs()
	return c.row().Eq(c.column()).Where(0, c).MaxKeep(-1).MaxKeep(-2)
}

// meeting is the order in which n columns stand after a step of a round-robin tournament of the pairs (0 1), (2 3) …:
// column 0 stays, the others move on by one place around the table.
func meeting(n int) []int32 {
	var circle []int32 // the places but 0, around the table
	for i := 2; i < n; i += 2 {
		circle = append(circle, int32(i))
	}
	for i := n - 1; i > 0; i -= 2 {
		circle = append(circle, int32(i))
	}
	order := make([]int32, n)
	for i, place := range circle {
		order[place] = circle[(i+len(circle)-1)%len(circle)]
	}
	return order
}

// SVD gives u, s, vᵀ with u·diag(s)·vᵀ = t: orthonormal columns of u and rows of vᵀ, and the singular values s, falling. Of
// m×n matrices u is m×k and vᵀ k×n with k = min(m, n), or, where full is set, m×m and n×n. The gradient of s holds also where singular values
// are equal; of vectors of equal ones, and of 0, it is what Eigh says. Where full is set the further vectors are any that complete the others: the
// gradient is right for functions of what they span.
func (t *Tensor) SVD(full bool) (u, s, vt *Tensor) {
	t.matrix("SVD")
	if t.Dim(-2) < t.Dim(-1) {
		v, s, ut := t.T().SVD(full)
		return ut.T(), s, v.T()
	}
	n := t.Dim(-1)
	thin, s, v := t.singularCalled()
	z := byLaw(singularLaw, []*Tensor{thin, s, v}, []*Tensor{t})
	all := callOne("complete", complete, thin.Detach())
	u = stated(all.Narrow(-1, 0, n), z[0])
	if rest := all.Dim(-1) - n; full && rest > 0 {
		more := []*Tensor{all.Narrow(-1, n, rest), u.Detach()}
		u = Cat(-1, u, byLaw(complementLaw, more, []*Tensor{u})[0])
	}
	return u, z[1], z[2].T()
}

// complementLaw is of orthonormal columns that are orthogonal to those of u, and of u: they turn no more among each other than these make them.
var complementLaw = lawOf("SVD", func(v, in []*Tensor) []*Tensor {
	return []*Tensor{v[1].MatMul(in[0].T()).MatMul(v[0]).Neg(), in[0]}
})

// SingularValues are the singular values, falling.
func (t *Tensor) SingularValues() *Tensor {
	t.matrix("SingularValues")
	if t.Dim(-2) < t.Dim(-1) {
		t = t.T()
	}
	u, _, v := t.singularCalled() // for derivatives alone
	return byLaw(singularLaw, []*Tensor{u, callOne("lengths", (*Tensor).lengths, t.Detach()), v}, []*Tensor{t})[1]
}

// levelled is a matrix, without derivatives, divided by its greatest magnitude, so that squares of elements neither overflow nor vanish, and what it was
// divided by, as it multiplies singular values.
func (t *Tensor) levelled() (a, by *Tensor) {
	a = t.Detach()
	most := a.Abs().MaxKeep(-1).MaxKeep(-2)
	most = most.Eq(0).Where(1, most).Contiguous()
	return a.Div(most).Contiguous(), most.Squeeze(-1)
}

// lengths are the singular values of matrices that are not wider than high, without vectors.
func (t *Tensor) lengths() *Tensor {
	a, by := t.levelled()
	return a.lengthsOf().Mul(by)
}

// lengthsOf are those of matrices that are levelled.
func (t *Tensor) lengthsOf() *Tensor {
	m, n := t.Dim(-2), t.Dim(-1)
	if m >= 2*n && n > fewTurned {
		r, _ := householder(t, n, n)
		return r.Narrow(-2, 0, n).lengthsOf()
	}
	if n > fewTurned {
		return counted(t)
	}
	s, _ := jacobi(t.T(), m, false).Square().Sum(-1).Sqrt().Sort(-1, true)
	return s
}

// fewTurned is the number of columns up to which those of high matrices are turned as they are, and singular values alone are found by turning.
const fewTurned = 8

// singular gives u, s, v of matrices that are not wider than high, without derivatives; columns of u to
// the singular value 0 are 0. Those of high ones are those of r, and u is q times them.
func (t *Tensor) singular() (u, s, v *Tensor) {
	a, by := t.levelled()
	u, s, v = a.singularOf()
	return u, s.Mul(by), v
}

// singularCalled is singular as a call.
func (t *Tensor) singularCalled() (u, s, v *Tensor) {
	got := callOf("singular", func(in []*Tensor) []*Tensor {
		u, s, v := in[0].singular()
		return []*Tensor{u, s, v}
	}, t.Detach())
	return got[0], got[1], got[2]
}

// singularOf gives those of matrices that are levelled.
func (t *Tensor) singularOf() (u, s, v *Tensor) {
	m, n := t.Dim(-2), t.Dim(-1)
	if m >= 2*n && n > fewTurned {
		r, q := householder(t, n, n)
		u, s, v = r.Narrow(-2, 0, n).singularOf()
		return q.MatMul(u), s, v
	}
	if n > leafRows {
		return t.divided()
	}
	eye := arange(n).Unsqueeze(1).Eq(arange(n)).To(t.DType()).Expand(append(t.batch(), n, n)...)
	w := jacobi(Cat(-1, t.T(), eye), m, false)
	s = w.Narrow(-1, 0, m).Square().Sum(-1).Sqrt()
	s, order := s.Sort(-1, true)
	w = w.like(w.node().Gather(order.Unsqueeze(-1).Expand(w.Shape()...).node(), w.Rank()-2)).T()
	u, v = w.Narrow(-2, 0, m), w.Narrow(-2, m, n)
	inverse := s.Gt(s.MaxKeep(-1).Mul(tiny(t.DType()))).Where(s.Reciprocal(), 0)
	return u.Mul(inverse.Unsqueeze(-2)), s, v
}

// divided is singularOf by two diagonals.
func (t *Tensor) divided() (u, s, v *Tensor) {
	kind := t.DType()
	if kind.Size() < 4 { // steps would lose the few digits of narrow types
		t = t.To(dtype.F32)
	}
	d, e, q, p := bidiagonal(t)
	s, u, v = conquerSingular(d, e)
	falling := func(x *Tensor) *Tensor { return x.Flip(-2).T() } // columns
	u = q.apply(falling(u).higher(0, t.Dim(-2)-t.Dim(-1)))
	return u.To(kind), s.Flip(-1).To(kind), p.apply(falling(v)).To(kind)
}

// tiny is the relative size below which a singular value counts as zero.
func tiny(d dtype.DType) float64 {
	if d == dtype.F64 {
		return 1e-15
	}
	return 1e-7
}

// complete fills orthonormal columns (or zero ones) up to a square matrix.
func complete(u *Tensor) *Tensor {
	u = u.Detach()
	k := u.Dim(-1)
	r, q := householder(u, k, u.Dim(-2))
	sign := r.Diagonal(0).Lt(0).Where(-1, 1).To(u.DType())
	if rest := u.Dim(-2) - k; rest > 0 {
		sign = Cat(-1, sign, Ones(append(u.batch(), rest)...).To(u.DType()))
	}
	return q.Mul(sign.Unsqueeze(-2))
}

// singularLaw is of u, s, v of the thin decomposition. Equal singular values have no derivative of their vectors, nor have vectors to 0; their share is
// left out.
var singularLaw = lawOf("SVD", func(values, in []*Tensor) []*Tensor {
	u, s, v, t := values[0], values[1], values[2], in[0]
	p := u.T().MatMul(t).MatMul(v)
	row, column := s.Unsqueeze(-1), s.Unsqueeze(-2)
	least := rounding(s).Unsqueeze(-1)
	f := inverseOrZero(column.Sub(row), least).Mul(inverseOrZero(column.Add(row), least))
	inverse := inverseOrZero(column, least)
	du := u.MatMul(f.Mul(p.Mul(column).Add(row.Mul(p.T()))))
	tv := t.MatMul(v)
	du = du.Add(tv.Sub(u.MatMul(u.T().MatMul(tv))).Mul(inverse))
	dv := v.MatMul(f.Mul(row.Mul(p).Add(p.T().Mul(column))))
	tu := t.T().MatMul(u)
	dv = dv.Add(tu.Sub(v.MatMul(v.T().MatMul(tu))).Mul(inverse))
	return []*Tensor{du, p.Diagonal(0), dv}
})

// rounding is how far eigenvalues or singular values of one matrix, which are the last axis, may be apart that are equal but for rounding.
func rounding(w *Tensor) *Tensor {
	return w.Detach().Abs().MaxKeep(-1).Mul(8 * precision(w.DType()))
}

// inverseOrZero is 1/x, and 0 where x is at most least away from it, with the derivatives of a constant there.
func inverseOrZero(x, least *Tensor) *Tensor {
	zero := x.Abs().Le(least)
	return zero.Where(0, zero.Where(1, x).Reciprocal())
}

// Eigh gives the eigenvalues w of symmetric matrices, rising, and orthonormal eigenvectors as the columns of v: t = v·diag(w)·vᵀ.
// Of t the lower triangle is read, or the upper one.
//
// The gradient of w holds also where eigenvalues are equal. Vectors that belong to equal ones, and to those that differ only by rounding, are any
// basis of what they span, and have no derivative: what they would turn into each other by is taken as 0, where PyTorch gives NaN. So it is right
// for functions of all vectors of an eigenvalue together, as the projection v·vᵀ. But it lacks a part of that of v·diag(f(w))·vᵀ, which
// is between such vectors f'(w) times that of t: MatrixExp and MatrixPower have it.
func (t *Tensor) Eigh(upper bool) (w, v *Tensor) {
	a := t.symmetric("Eigh", upper)
	if a.Dim(-1) == 0 {
		return a.Sum(-1), a
	}
	w, v = callPair("eigen", eigen, a.Detach())
	parts := byLaw(eigenLaw, []*Tensor{w, v}, []*Tensor{t})
	return parts[0], parts[1]
}

// Eigvalsh are the eigenvalues of symmetric matrices, rising, as Eigh gives them, which takes longer for the vectors.
func (t *Tensor) Eigvalsh(upper bool) *Tensor {
	a := t.symmetric("Eigvalsh", upper)
	if a.Dim(-1) == 0 {
		return a.Sum(-1)
	}
	w, v := callPair("eigen", eigen, a.Detach()) // for derivatives alone
	if a.Dim(-1) > fewTurned {
		w = callOne("eigenvalues", eigenvalues, a.Detach())
	}
	return byLaw(eigenLaw, []*Tensor{w, v}, []*Tensor{t})[0]
}

// symmetric is the matrix of which t is the lower triangle, or the upper one.
func (t *Tensor) symmetric(op string, upper bool) *Tensor {
	t.square(op)
	if upper {
		t = t.T()
	}
	return t.mirrored()
}

// eigenLaw is of eigenvalues and eigenvectors. Both triangles have a share in their derivatives, whichever was read: gradients are symmetric.
var eigenLaw = lawOf("Eigh", func(values, in []*Tensor) []*Tensor {
	w, v := values[0], values[1]
	p := v.T().MatMul(in[0].Add(in[0].T()).Mul(0.5)).MatMul(v)
	f := inverseOrZero(w.Unsqueeze(-2).Sub(w.Unsqueeze(-1)), rounding(w).Unsqueeze(-1))
	return []*Tensor{p.Diagonal(0), v.MatMul(f.Mul(p))}
})

// eigen gives the eigenvalues, rising, and eigenvectors, as columns, of symmetric matrices, without derivatives.
func eigen(a *Tensor) (w, v *Tensor) {
	kind := a.DType()
	if kind.Size() < 4 { // steps would lose the few digits of narrow types
		a = a.To(dtype.F32)
	}
	a = a.Contiguous()
	if n := a.Dim(-1); n <= leafRows {
		v = eigenvectors(a)
		w, order := v.Mul(a.MatMul(v)).Sum(-2).Sort(-1, false)
		return w.To(kind), v.like(v.node().Gather(order.Unsqueeze(-2).Expand(v.Shape()...).node(), v.Rank()-1)).To(kind)
	}
	a, by := a.levelled()
	d, e, q := tridiagonal(a)
	w, v = conquer(d, e)
	return w.Mul(by).To(kind), q.apply(v.T()).To(kind)
}

// eigenvalues are those that eigen gives.
func eigenvalues(a *Tensor) *Tensor {
	kind := a.DType()
	if kind.Size() < 4 {
		a = a.To(dtype.F32)
	}
	a, by := a.levelled()
	d, e, _ := tridiagonal(a)
	return bisectSymmetric(d, e).Mul(by).To(kind)
}

// eigenvectors of symmetric matrices, as columns. With a multiple of the identity added, that makes all eigenvalues positive and
// not very different, the singular vectors of a matrix are its eigenvectors; what is added costs as many digits as it is larger
// than the eigenvalues, so it goes by the length of the fourth power, which exceeds theirs by little.
func eigenvectors(a *Tensor) *Tensor {
	most := a.Abs().MaxKeep(-1).MaxKeep(-2)
	a = a.Div(most.Eq(0).Where(1, most)).Contiguous()
	power := a.MatMul(a).Contiguous()
	power = power.MatMul(power)
	shift := power.Square().SumKeep(-1).SumKeep(-2).Sqrt().Sqrt().Sqrt().Maximum(1).Mul(1.5)
	n, eye := a.Dim(-1), a.identityLike()
	return unitRows(jacobi(Cat(-1, a.Add(eye.Mul(shift)), eye), n, true).Narrow(-1, n, n)).T()
}

// unitRows takes from rows what the rounding of many rotations has done to their lengths.
func unitRows(v *Tensor) *Tensor { return v.Mul(v.Square().SumKeep(-1).Rsqrt()).Contiguous() }

// cutoff is the singular value below which a matrix has no rank: the larger of atol and rtol times the
// largest one. Negative tolerances are not given: rtol is then the larger size times the type's precision, unless
// atol is given.
func cutoff(t, s *Tensor, atol, rtol float64) *Tensor {
	if rtol < 0 {
		rtol = 0
		if atol <= 0 {
			rtol = float64(max(t.Dim(-2), t.Dim(-1))) * precision(t.DType())
		}
	}
	return s.MaxKeep(-1).Mul(rtol).Maximum(max(atol, 0))
}

// precision is the distance of 1 from the next number of a type.
func precision(d dtype.DType) float64 { return math.Ldexp(1, 1-d.Digits()) }

// MatrixRank counts the singular values above a tolerance (see PInv).
func (t *Tensor) MatrixRank(atol, rtol float64) *Tensor {
	s := t.SingularValues()
	return s.Gt(cutoff(t, s, atol, rtol)).To(dtype.I32).Sum(-1)
}

// PInv is the pseudoinverse (Moore, Penrose). Singular values up to max(atol, rtol·largest) count as 0; negative
// tolerances stand for atol = 0 and rtol = the larger size times the type's precision.
func (t *Tensor) PInv(atol, rtol float64) *Tensor {
	t.matrix("PInv")
	if t.Dim(-2) < t.Dim(-1) {
		return t.T().PInv(atol, rtol).T()
	}
	u, s, v := t.singularCalled()
	inverse := s.Gt(cutoff(t, s, atol, rtol)).Where(s.Reciprocal(), 0)
	return byLaw(pseudoinverseLaw, []*Tensor{v.Mul(inverse.Unsqueeze(-2)).MatMul(u.T()), t.Detach()}, []*Tensor{t})[0]
}

// pseudoinverseLaw is of the pseudoinverse y of t, and of t.
var pseudoinverseLaw = lawOf("PInv", func(v, in []*Tensor) []*Tensor {
	y, c, t := v[0], v[1], in[0]
	z := y.MatMul(y.T()).MatMul(t.T())
	z = z.Sub(z.MatMul(c).MatMul(y))
	w := t.T().MatMul(y.T()).MatMul(y)
	z = z.Add(w.Sub(y.MatMul(c).MatMul(w)))
	return []*Tensor{z.Sub(y.MatMul(t).MatMul(y)), t}
})

package tensor

import (
	"math"

	"github.com/weft-ml/weft/dtype"
)

// tridiagonal brings symmetric matrices to three diagonals by reflections of rows and columns: a = q·t·qᵀ, where t has d on its
// diagonal and e beside it; the last of e is 0.
func tridiagonal(a *Tensor) (d, e *Tensor, q *reflections) {
	n := a.Dim(-1)
	blocks, size := blocksOf(n - 2)
	d, e, q = tridiagonalRows(a.Contiguous(), n-2, a.everyPlace(blocks, size), a.stepNumbers(size))
	return d, Cat(-1, e, Full(0, e.DType(), append(a.batch(), 1)...)), q
}

// tridiagonalRows does the first n rows. The vectors take the places of the elements above the diagonal.
func tridiagonalRows(a *Tensor, n int, places, steps []*Tensor) (d, e *Tensor, q *reflections) {
	q = &reflections{}
	row, place, size := a.row(), a.column(), len(steps)
	blocks := (n + size - 1) / size
	some := part(blocks)
	for i, at := range places[:some] {
		for _, k := range steps[:min(size, n-i*size)] {
			step := k.Add(at)
			v, _ := step.Lt(place).Where(a.line(-2, step), 0).reflection(step.Add(1))
			v = v.Contiguous()
			p := a.Mul(v).SumKeep(-1).Contiguous()
			w := p.Sub(v.T().Mul(p.Mul(v.T()).SumKeep(-2).Mul(0.5))).Contiguous()
			rest := a.Sub(v.T().Mul(w.T()).Add(w.Mul(v)))
			a = step.Lt(row).Where(rest, row.Eq(step).And(step.Lt(place)).Where(v, a)).Contiguous()
		}
	}
	for i, at := range places[:some] {
		v := a.block(-2, at, size)
		own := place.Gt(v.row().Add(at)).And(v.row().Lt(n - i*size))
		q.add(own.Where(v, 0).Contiguous())
	}
	d, e = a.Diagonal(0), a.Diagonal(-1)
	if blocks > some {
		q.from = some * size
		var moreD, moreE *Tensor
		moreD, moreE, q.next = tridiagonalRows(a.corner(q.from).Contiguous(), n-q.from, places, steps)
		d = Cat(-1, d.Narrow(-1, 0, q.from), moreD)
		e = Cat(-1, e.Narrow(-1, 0, q.from), moreE)
	}
	return d, e, q
}

// leafRows is the most rows of matrices whose eigenvectors are found by rotations, and of what a tridiagonal matrix is divided into.
const leafRows = 16

// conquer gives the eigenvalues, rising, of symmetric tridiagonal matrices, and their eigenvectors as rows. A matrix is divided into two
// with a matrix of rank one across (Cuppen); their eigenvalues, which poles of a function are, lie between its zeros. The vectors belong
// to a rank-one matrix of which the zeros that were found are exact ones, so that they are orthogonal (Gu and Eisenstat).
func conquer(d, e *Tensor) (w, v *Tensor) {
	n, kind := d.Dim(-1), d.DType()
	pairs := 0
	for n > leafRows<<pairs {
		pairs++
	}
	rows := (n + 1<<pairs - 1) >> pairs
	batch, all := d.Shape()[:d.Rank()-1], rows<<pairs
	size := e.Abs()
	norm := d.Abs().Add(size).Add(before(size)).MaxKeep(-1).Mul(4).Contiguous()
	bound := norm.Eq(0).Where(1, norm)
	fit := func(x *Tensor, beyond float64) *Tensor {
		x = x.Div(bound)
		return arange(all).Lt(n).Where(x.like(extend(x.node(), x.Rank()-1, 0, all-n)), beyond).To(kind).Contiguous()
	}
	d, e = fit(d, 0.5), fit(e, 0) // all eigenvalues but those of added rows are at most 1/4
	cut := arange(all).Mod(rows).Eq(rows-1).Where(e.Abs(), 0)
	shape := func(s ...int) []int { return append(append([]int{}, batch...), s...) }
	w, v = leaves(d.Sub(cut).Sub(before(cut)).Reshape(shape(1<<pairs, rows)...), e.Reshape(shape(1<<pairs, rows)...))
	s := newSecular(w, all)
	for pairs--; pairs >= 0; pairs-- {
		across := e.Reshape(shape(1<<pairs, 2*rows)...).Select(-1, rows-1)
		w, v = s.join(w.Reshape(shape(1<<pairs, 2, rows)...), v.Reshape(shape(1<<pairs, 2, rows, rows)...), across)
		rows *= 2
	}
	w, v = w.Reshape(shape(all)...), v.Reshape(shape(all, all)...)
	w, _ = w.Narrow(-1, 0, n).Sort(-1, false) // neighbours may have changed places by rounding
	return w.Mul(norm), v.Narrow(-1, 0, n).Narrow(-2, 0, n)
}

// before has each element in the place of the next one, and 0 in the first.
func before(x *Tensor) *Tensor {
	n := x.Dim(-1)
	return x.like(extend(cut(x.node(), x.Rank()-1, 0, n-1), x.Rank()-1, 1, 0))
}

// leaves are the eigenvalues, and eigenvectors as rows, of small tridiagonal matrices whose eigenvalues are at most 1/4.
func leaves(d, e *Tensor) (w, v *Tensor) {
	row, column := d.column().Unsqueeze(1), d.column()
	a := row.Eq(column).Where(d.Unsqueeze(-1), 0)
	a = row.Add(1).Eq(column).Where(e.Unsqueeze(-1), a)
	a = column.Add(1).Eq(row).Where(e.Unsqueeze(-2), a).Contiguous()
	n, eye := a.Dim(-1), a.identityLike()
	v = unitRows(jacobi(Cat(-1, a.Add(eye.Mul(0.4)), eye), n, true).Narrow(-1, n, n)) // see eigenvectors
	return v.Mul(v.MatMul(a)).Sum(-1).Contiguous(), v
}

// secular solves 1 + Σ z²/(d−x) = 0 for all x. Poles d that are nearly equal, and parts of z that are nearly zero, would be taken out
// of the matrix; instead they are kept apart from each other and from zero by less than rounding does, which keeps all sizes as they are. An x
// is found as its distance from the nearest pole, so that differences from poles are exact but for rounding: the exponent and a few bits of the
// fraction one by one, the others by Newton's method, which doubles their number with each step.
type secular struct {
	least, apart float64
	bits         []*Tensor
	steps        int
}

// fractionBits is how many bits of a fraction are found before Newton's method begins.
const fractionBits = 4

func newSecular(w *Tensor, n int) *secular {
	unit := precision(w.DType())
	s := &secular{least: math.Pow(unit/8, 2), apart: unit / 4 / float64(n)}
	digits := w.DType().Digits()
	s.bits = fallingBits(w, lowBits(w.DType())-digits+1+fractionBits)
	for n := fractionBits; n < digits; n *= 2 {
		s.steps++
	}
	return s
}

// lowBits is how many bits floats have that are at least 0 and less than 2: all but the sign and the highest of the exponent.
func lowBits(d dtype.DType) int { return d.Bits() - 2 }

// fallingBits are the n highest bits, each a number by itself, of floats of t's type that are at least 0 and less than 2, from the highest on.
func fallingBits(t *Tensor, n int) []*Tensor {
	bit := t.ints([]int32{1 << 29}, 1)
	if t.DType() == dtype.F64 {
		bit = bit.To(dtype.I64).Mul(1 << 32).Contiguous()
	}
	out := make([]*Tensor, 0, n)
	for range n {
		out = append(out, bit)
		bit = bit.FloorDiv(2).Contiguous()
	}
	return out
}

// poles are those of functions, in any order: their values, their places in their order, and the numerators. Of singular values the squares count:
// Σ z²/(d²−x²).
type poles struct {
	value, place, share *Tensor // [… m]
	apart               float64
	squared             bool
}

// from are the distances of all poles from some values and places, which have a last axis for the poles.
func (p *poles) from(value, place *Tensor) *Tensor {
	return p.value.Unsqueeze(-2).Sub(value).Add(p.place.Unsqueeze(-2).Sub(place).Mul(p.apart))
}

// off are the distances of all poles, or of their squares, from numbers at some distance from values and places.
func (p *poles) off(value, place, at *Tensor) *Tensor {
	d := p.from(value, place).Sub(at)
	if p.squared {
		sum := p.value.Unsqueeze(-2).Add(value).Add(p.place.Unsqueeze(-2).Add(place).Mul(p.apart))
		d = d.Mul(sum.Add(at))
	}
	return d
}

// function is the value of the functions at a distance from origins.
func (p *poles) function(value, place, at *Tensor) *Tensor {
	return p.share.Unsqueeze(-2).Div(p.off(value.Unsqueeze(-1), place.Unsqueeze(-1), at.Unsqueeze(-1))).Sum(-1).Add(1)
}

// functionAndSlope gives the derivative beside the value.
func (p *poles) functionAndSlope(value, place, at *Tensor) (f, slope *Tensor) {
	one := p.off(value.Unsqueeze(-1), place.Unsqueeze(-1), at.Unsqueeze(-1)).Reciprocal()
	term := p.share.Unsqueeze(-2).Mul(one)
	f, slope = term.Sum(-1).Add(1), term.Mul(one).Sum(-1)
	if p.squared { // the derivative of (d−x)(d+x) is −2x
		slope = slope.Mul(value.Add(place.Mul(p.apart)).Add(at).Mul(2))
	}
	return f, slope
}

// newton finds the zeros at distances between lo and hi from origins, on a side of them. It is applied to the functions times the distance,
// which have no pole at the origin.
func (s *secular) newton(p *poles, origin, place, side, lo, hi *Tensor) *Tensor {
	lo, hi = lo.Contiguous(), hi.Contiguous()
	t := lo.Add(hi).Mul(0.5).Contiguous()
	for range s.steps {
		at := t.Mul(side)
		f, slope := p.functionAndSlope(origin, place, at)
		next := t.Sub(t.Mul(f).Div(f.Add(at.Mul(slope))))
		t = next.Gt(lo).Where(next.Minimum(hi), lo).Contiguous() // lo, too, for what is not a number
	}
	return t
}

// solve gives the zeros x of the functions of poles w and numerators, the distances of all poles, or of their squares, from each, and the
// sizes of the elements of vectors for which they are exact zeros.
func (s *secular) solve(w, share *Tensor, squared bool) (x, off, size *Tensor, p *poles) {
	n, kind := w.Dim(-1), w.DType()
	i := arange(n)
	a, b := w.Unsqueeze(-1), w.Unsqueeze(-2)
	earlier := b.Lt(a).Or(a.Lt(b).LogicalNot().And(i.Lt(i.Unsqueeze(1))))
	p = &poles{w, earlier.To(dtype.I32).Sum(-1).To(kind).Contiguous(), share.Maximum(s.least).Contiguous(), s.apart, squared}
	is, last := i.To(kind), i.Eq(n-1)
	sorted := p.place.Unsqueeze(-2).Eq(is.Unsqueeze(1)).Where(b, 0).Sum(-1).Contiguous()
	next := sorted.like(extend(cut(sorted.node(), sorted.Rank()-1, 1, n), sorted.Rank()-1, 0, 1))
	most := p.share.SumKeep(-1)
	if squared {
		most = most.Sqrt()
	}
	gap := last.Where(most, next.Sub(sorted).Add(s.apart)).Contiguous()

	right := p.function(sorted, is, gap.Mul(0.5)).Lt(0).And(last.LogicalNot())
	origin, place := right.Where(next, sorted).Contiguous(), right.Where(is.Add(1), is).Contiguous()
	side := right.Where(-1, 1).To(kind).Contiguous()
	most = last.Where(gap, gap.Mul(0.5)).Contiguous()
	found := s.bits[0].Mul(0).Expand(w.Shape()...).Contiguous()
	for _, bit := range s.bits {
		more := found.Add(bit)
		at := more.Bitcast(kind)
		beyond := p.function(origin, place, at.Mul(side)).Mul(side).Lt(0).And(at.Le(most))
		found = beyond.Where(more, found).Contiguous()
	}
	at := s.newton(p, origin, place, side, found.Bitcast(kind), found.Add(s.bits[len(s.bits)-1]).Bitcast(kind).Minimum(most)).Mul(side).Contiguous()

	left := is.Unsqueeze(1).Lt(p.place.Unsqueeze(-2)) // of the poles, which stand in the last axis
	pole := p.off(left.Where(sorted.Unsqueeze(-1), next.Unsqueeze(-1)), left.Where(is.Unsqueeze(1), is.Add(1).Unsqueeze(1)), Full(0, kind, 1))
	off = p.off(origin.Unsqueeze(-1), place.Unsqueeze(-1), at.Unsqueeze(-1)).Neg()
	size = off.Div(last.Unsqueeze(1).Where(1, pole.Neg())).Prod(-2).Sqrt()
	return origin.Add(at).Contiguous(), off, size, p
}

// join makes the eigenvalues and eigenvectors of matrices from those of their halves, w [… 2 n] and v [… 2 n n], and the
// element that stands across between these.
func (s *secular) join(w, v, across *Tensor) (*Tensor, *Tensor) {
	n, kind := w.Dim(-1), w.DType()
	m := 2 * n
	batch := w.Shape()[:w.Rank()-2]
	shape := func(s ...int) []int { return append(append([]int{}, batch...), s...) }
	across = across.Unsqueeze(-1)
	z := Cat(-1, v.Select(-3, 0).Select(-1, n-1), v.Select(-3, 1).Select(-1, 0).Mul(across.Lt(0).Where(-1, 1).To(kind)))
	z = z.Contiguous()
	w = w.Reshape(shape(m)...)
	at, off, size, _ := s.solve(w, z.Square().Mul(across.Abs()), false)
	z = z.Lt(0).Where(size.Neg(), size).Contiguous()
	x := z.Unsqueeze(-2).Div(off)
	x = x.Mul(x.Square().SumKeep(-1).Rsqrt()).Contiguous()
	x = x.Reshape(shape(m, 2, n)...)
	swap := identity(x.Rank())
	r := len(swap)
	swap[r-3], swap[r-2] = r-2, r-3
	return at, x.Permute(swap...).MatMul(v).Permute(swap...).Reshape(shape(m, m)...).Contiguous()
}

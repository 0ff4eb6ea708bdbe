package tensor

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/uop"
)

// Linear algebra of matrices in the last two axes; the axes before count a batch. Algorithms are unrolled over
// the size of the matrix, a few launches a row, or some rows, of the same few kernels, for large matrices in blocks (blocks.go), and meant for up to some hundreds of rows. Their graphs are made once for each shape (call.go).
// Derivatives are those of the textbook formulas, not of the algorithm (lawOf).

// stated is value with the derivatives of z, which is not computed unless they are asked for.
func stated(value, z *Tensor) *Tensor {
	u := value.node()
	return newTensor(u.Derive(z.node(), u.Int(1)), commonEngine("Derive", value, z))
}

// lawOf are the derivatives of a function by a formula, which says how values change with what they are computed from: it gives for each value a
// tensor of its shape whose derivatives with regard to in, with the values held fixed, are those of the value. What is held fixed in a derivative
// changes in the derivative of that.
func lawOf(name string, formula func(values, in []*Tensor) []*Tensor) *uop.Law {
	return &uop.Law{Name: name, Gradients: func(i int, values, args []*uop.UOp, g *uop.UOp) []*uop.UOp {
		with := map[int]*uop.UOp{} // in the place of stand-ins, so that what they are made of is not walked, and none is made of another
		standIns := func(in []*uop.UOp) (out []*uop.UOp, all []*Tensor) {
			for _, x := range in {
				u := uop.NewStandIn(x.DType(), x.Shape()...)
				with[u.Slot()] = x
				out, all = append(out, u), append(all, newTensor(u, nil))
			}
			return out, all
		}
		_, fixed := standIns(values)
		wrt, free := standIns(args)
		seed, _ := standIns([]*uop.UOp{g})
		ds, reached := grad.FindAll([]*uop.UOp{formula(fixed, free)[i].node()}, seed, wrt...)
		ds = uop.Fill(with, ds...)
		for k, ok := range reached {
			if !ok {
				ds[k] = nil
			}
		}
		return ds
	}}
}

// byLaw are values with the derivatives of a law.
func byLaw(law *uop.Law, values, in []*Tensor) []*Tensor {
	out := make([]*Tensor, len(values))
	for i, u := range law.State(nodes(values), nodes(in)) {
		out[i] = values[i].like(u)
	}
	return out
}

// statedInverse is how the inverse y of t changes with it.
func statedInverse(y, t *Tensor) *Tensor { return y.MatMul(t).MatMul(y).Neg() }

// square checks for square float matrices and gives their size.
func (t *Tensor) square(op string) int {
	t.matrix(op)
	if t.Dim(-1) != t.Dim(-2) {
		fail(op, shapes(t.shape()), "the matrices are not square")
	}
	return t.Dim(-1)
}

func (t *Tensor) matrix(op string) {
	if t.Rank() < 2 {
		fail(op, shapes(t.shape()), "needs matrices: at least two axes")
	}
	if !t.IsFloat() {
		failType(op, []dtype.DType{t.DType()}, "needs floats")
	}
}

// batch are the axes before the last two.
func (t *Tensor) batch() []int { return t.Shape()[:t.Rank()-2] }

// row and column are the index grids of the last two axes.
func (t *Tensor) row() *Tensor    { return arange(t.Dim(-2)).Unsqueeze(1) }
func (t *Tensor) column() *Tensor { return arange(t.Dim(-1)) }

// identityLike is the identity of t's size, type and batch.
func (t *Tensor) identityLike() *Tensor {
	return t.row().Eq(t.column()).To(t.DType()).Expand(t.Shape()...)
}

// Inv is the inverse of square matrices. A singular one, of which a pivot is 0, is a *ValueError when the result is read;
// what is not finite has no finite inverse.
func (t *Tensor) Inv() *Tensor { return t.invert("Inv") }

var inverseLaw = lawOf("Inv", func(v, in []*Tensor) []*Tensor { return []*Tensor{statedInverse(v[0], in[0])} })

func (t *Tensor) invert(op string) *Tensor {
	t.square(op)
	y, pivots := callPair("inverse", (*Tensor).inverse, t.Detach())
	y = y.unlessBad(op, "the matrix is singular: pivot %d is 0", t, pivots.Eq(0))
	return byLaw(inverseLaw, []*Tensor{y}, []*Tensor{t})[0]
}

// Solve gives x with t·x = b. b has rows like t; with one axis less than t and the same batch it is a vector. A singular t is a
// *ValueError when the result is read.
func (t *Tensor) Solve(b *Tensor) *Tensor {
	n := t.square("Solve")
	vector := b.Rank() == 1 || b.Rank() == t.Rank()-1 && slices.Equal(b.Shape(), t.Shape()[:t.Rank()-1])
	if vector {
		b = b.Unsqueeze(-1)
	}
	if b.Rank() < 2 || b.Dim(-2) != n || b.DType() != t.DType() {
		fail("Solve", shapesOf(t, b), "the right side needs %d rows of type %v", n, t.DType())
	}
	lead := broadcastShape("Solve", t.batch(), b.batch())
	a := t.Expand(append(slices.Clone(lead), n, n)...)
	b = b.Expand(append(slices.Clone(lead), n, b.Dim(-1))...)
	got := callOf("eliminate", func(in []*Tensor) []*Tensor {
		x, pivots := eliminate(in[0], in[1])
		return []*Tensor{x, pivots}
	}, a.Detach(), b.Detach())
	x, pivots := got[0], got[1]
	const singular = "the matrix is singular: pivot %d is 0"
	x = x.unlessBad("Solve", singular, a, pivots.Eq(0))
	inverse, pivots := callPair("inverse", (*Tensor).inverse, a.Detach())
	inverse = inverse.unlessBad("Solve", singular, a, pivots.Eq(0))
	x = byLaw(solutionLaw, []*Tensor{x, inverse}, []*Tensor{a, b})[0]
	if vector {
		return x.Squeeze(-1)
	}
	return x
}

// SolveTriangular gives x with t·x = b, where only the upper (or lower) triangle of t counts and, when unit is set,
// its diagonal is taken as ones. A list b is one column, and the solution is a list. A 0 in the diagonal is a *ValueError when the result is read.
func (t *Tensor) SolveTriangular(b *Tensor, upper, unit bool) *Tensor {
	t.square("SolveTriangular")
	if b.Rank() == 1 {
		return t.SolveTriangular(b.Unsqueeze(-1), upper, unit).Squeeze(-1)
	}
	n := t.Dim(-1)
	if b.Rank() < 2 || b.Dim(-2) != n || b.DType() != t.DType() {
		fail("SolveTriangular", shapesOf(t, b), "the right side needs %d rows of type %v", n, t.DType())
	}
	a := t.Tril(0)
	if upper {
		a = t.Triu(0)
	}
	if unit {
		a = a.row().Eq(a.column()).Where(1, a).To(t.DType())
	}
	lead := broadcastShape("SolveTriangular", t.batch(), b.batch())
	a = a.Expand(append(slices.Clone(lead), n, n)...)
	b = b.Expand(append(slices.Clone(lead), n, b.Dim(-1))...)
	all := t.Detach().Expand(a.Shape()...)
	values := []*Tensor{all.solvedTriangular(b.Detach(), upper, unit), all.solvedTriangular(a.identityLike(), upper, unit)}
	return byLaw(solutionLaw, values, []*Tensor{a, b})[0]
}

// solvedTriangular is SolveTriangular without derivatives.
func (t *Tensor) solvedTriangular(b *Tensor, upper, unit bool) *Tensor {
	x := callOf(fmt.Sprint("substitute ", upper, unit), func(in []*Tensor) []*Tensor { return []*Tensor{substitute(in[0], in[1], upper, unit)} }, t, b)[0]
	if unit {
		return x
	}
	diagonal := t.Diagonal(0)
	return x.unlessBad("SolveTriangular", "the matrix is singular: element %d of its diagonal is 0", diagonal.Unsqueeze(-1), diagonal.Eq(0))
}

// solutionLaw is of the solution x of a·x = b.
var solutionLaw = lawOf("Solve", func(v, in []*Tensor) []*Tensor {
	x, inverse, a, b := v[0], v[1], in[0], in[1]
	return []*Tensor{inverse.MatMul(b.Sub(a.MatMul(x))), statedInverse(inverse, a)}
})

// solvedRows is how many rows of a solution a kernel computes: their steps are written out.
const solvedRows = 8

// substitute solves triangular systems. The other triangle does not count, nor does the diagonal where it is taken as ones. Of many rows one half
// is solved first, and what it takes from the right sides of the other is one product.
func substitute(a, b *Tensor, upper, unit bool) *Tensor {
	a, b = a.settled(), b.settled()
	n := a.Dim(-1)
	blocks := (n + solvedRows - 1) / solvedRows
	if at := part(blocks) * solvedRows; at < n && part(blocks) < blocks {
		rest := n - at
		if upper {
			low := a.corner(at).substituteRows(b.Narrow(-2, at, rest), upper, unit)
			right := b.Narrow(-2, 0, at).Sub(a.Narrow(-2, 0, at).Narrow(-1, at, rest).MatMul(low)).Contiguous()
			return Cat(-2, a.Narrow(-2, 0, at).Narrow(-1, 0, at).substituteRows(right, upper, unit), low)
		}
		high := a.Narrow(-2, 0, at).Narrow(-1, 0, at).substituteRows(b.Narrow(-2, 0, at), upper, unit)
		right := b.Narrow(-2, at, rest).Sub(a.Narrow(-2, at, rest).Narrow(-1, 0, at).MatMul(high)).Contiguous()
		return Cat(-2, high, a.corner(at).substituteRows(right, upper, unit))
	}
	return a.substituteRows(b, upper, unit)
}

// substituteRows is substitute, some rows at a time: what the rows before them take from their right sides is a product.
func (a *Tensor) substituteRows(b *Tensor, upper, unit bool) *Tensor {
	n := a.Dim(-1)
	if n <= solvedRows {
		return a.solvedTriangle(b, upper, unit).Contiguous()
	}
	blocks := (n + solvedRows - 1) / solvedRows
	bands := append(b.batch(), blocks, solvedRows, b.Dim(-1))
	x := Full(0, b.DType(), bands...).Contiguous()
	column, band := a.column(), arange(blocks).Reshape(-1, 1, 1)
	for _, number := range a.everyPlace(blocks, 1) {
		if upper {
			number = number.RSub(blocks - 1)
		}
		at := number.Mul(solvedRows)
		rows := a.block(-2, at, solvedRows)
		known := column.Lt(at)
		if upper {
			known = column.Lt(at.Add(solvedRows)).LogicalNot()
		}
		before := known.Where(rows, 0).MatMul(x.Flatten(-3, -2).Narrow(-2, 0, n))
		right := b.block(-2, at, solvedRows).Sub(before).Contiguous()
		corner := rows.block(-1, at, solvedRows)
		corner = corner.row().Add(at).Lt(n).Where(corner, corner.identityLike())
		found := corner.solvedTriangle(right, upper, unit).Contiguous()
		x = band.Eq(number).Where(found.Unsqueeze(-3), x).Contiguous()
	}
	return x.Flatten(-3, -2).Narrow(-2, 0, n)
}

// solvedTriangle is the x of a·x = b for triangular a, of which the other triangle does not count. As each row is another value, and all are
// made of the same ones, a kernel computes them together.
func (a *Tensor) solvedTriangle(b *Tensor, upper, unit bool) *Tensor {
	n := a.Dim(-1)
	for i := range n {
		k := i
		if upper {
			k = n - 1 - i
		}
		x := b.Narrow(-2, k, 1)
		if !unit {
			x = x.Div(a.Narrow(-2, k, 1).Narrow(-1, k, 1))
		}
		before, after := b, b.Sub(a.Narrow(-1, k, 1).Mul(x))
		if upper {
			before, after = after, before
		}
		b = firstRows(k, before, firstRows(k+1, x, after))
	}
	return b
}

// Det is the determinant of square matrices. It has a gradient also where it is 0.
func (t *Tensor) Det() *Tensor {
	n := t.square("Det")
	if n <= 4 {
		return t.expansion(0, []int{0, 1, 2, 3}[:n])
	}
	pivots := callOne("determinant", (*Tensor).determinantPivots, t.Detach())
	d, near := pivots.Prod(-1), nonZero(pivots).Prod(-1)
	inverse, _ := callPair("inverse past", (*Tensor).inversePast, t.Detach())
	return byLaw(determinantLaw, []*Tensor{d, near, inverse}, []*Tensor{t})[0]
}

var determinantLaw = lawOf("Det", func(v, in []*Tensor) []*Tensor {
	near, inverse, t := v[1], v[2], in[0]
	slope := inverse.T().Mul(near.Reshape(append(t.batch(), 1, 1)...)).Mul(t).Sum(-2, -1)
	return []*Tensor{slope, slope, statedInverse(inverse, t)}
})

// expansion is the determinant of the rows from one on and of as many columns, by the minors of that row (Laplace).
func (t *Tensor) expansion(row int, columns []int) (sum *Tensor) {
	if len(columns) == 0 {
		return Ones(t.batch()...).To(t.DType())
	}
	for i, c := range columns {
		x := t.Select(-2, row).Select(-1, c).Mul(t.expansion(row+1, without(columns, i)))
		switch {
		case i == 0:
			sum = x
		case i%2 == 1:
			sum = sum.Sub(x)
		default:
			sum = sum.Add(x)
		}
	}
	return sum
}

// SlogDet gives the sign of the determinant and the logarithm of its absolute value, 0 and −inf of a singular matrix, where the logarithm has no
// gradient.
func (t *Tensor) SlogDet() (sign, logAbs *Tensor) {
	t.square("SlogDet")
	pivots := callOne("determinant", (*Tensor).determinantPivots, t.Detach())
	l := pivots.Abs().Log().Sum(-1)
	inverse, _ := callPair("inverse", (*Tensor).inverse, t.Detach())
	return pivots.Sign().Prod(-1), byLaw(logDeterminantLaw, []*Tensor{l, inverse}, []*Tensor{t})[0]
}

var logDeterminantLaw = lawOf("SlogDet", func(v, in []*Tensor) []*Tensor {
	return []*Tensor{v[1].T().Mul(in[0]).Sum(-2, -1), statedInverse(v[1], in[0])}
})

// LogDet is the logarithm of the determinant: NaN where it is negative.
func (t *Tensor) LogDet() *Tensor {
	sign, l := t.SlogDet()
	return sign.Lt(0).Where(math.NaN(), l)
}

// CholeskySolve gives x with l·lᵀ·x = b for lower triangular l. A list b is one column, and the solution is a list.
func (l *Tensor) CholeskySolve(b *Tensor) *Tensor {
	if b.Rank() == 1 {
		return l.CholeskySolve(b.Unsqueeze(-1)).Squeeze(-1)
	}
	return l.T().SolveTriangular(l.SolveTriangular(b, false, false), true, false)
}

// MatrixPower is t·t·…·t, n factors; of the inverse where n is negative, the identity for 0.
func (t *Tensor) MatrixPower(n int) *Tensor {
	if t.Rank() < 2 || t.Dim(-1) != t.Dim(-2) {
		fail("MatrixPower", shapes(t.shape()), "the matrices are not square")
	}
	if n == math.MinInt {
		failArg("MatrixPower", "power %d", n)
	}
	if n < 0 {
		t, n = t.invert("MatrixPower"), -n
	}
	var out *Tensor
	for square := t.same(); n > 0; n >>= 1 {
		if n&1 == 1 {
			if out == nil {
				out = square
			} else {
				out = out.MatMul(square)
			}
		}
		if n > 1 {
			square = square.MatMul(square)
		}
	}
	if out == nil {
		return t.identityLike()
	}
	return out
}

// expHalvings is how often MatrixExp may halve a matrix: norms up to 2¹⁰ are brought to 1, beyond that nearly all
// results overflow.
const expHalvings = 10

// MatrixExp is the exponential 1 + t + t²/2! + … of square matrices: t is halved until its norm is at most 1, the series
// taken to the eighth (float64: eighteenth) power, and the result squared as often.
func (t *Tensor) MatrixExp() *Tensor {
	t.square("MatrixExp")
	size := t.Detach().Abs().Sum(-1).MaxKeep(-1).Unsqueeze(-1)
	times := size.Log2().Ceil().Clamp(0, expHalvings)
	x := t.Mul(times.Neg().Exp2())
	terms := 9
	if t.DType() == dtype.F64 {
		terms = 18
	}
	one := t.identityLike()
	sum := one
	for k := terms; k >= 1; k-- {
		sum = x.MatMul(sum).Mul(1 / float64(k)).Add(one)
	}
	for i := range expHalvings {
		sum = times.Gt(i).Where(sum.MatMul(sum), sum)
	}
	return sum
}

// Cross is the cross product along an axis of size 3.
func (t *Tensor) Cross(o *Tensor, axis int) *Tensor {
	axis = t.axis("Cross", axis) - t.Rank()
	both := Broadcast(t, o)
	a, b := both[0], both[1]
	if a.Dim(axis) != 3 {
		fail("Cross", shapesOf(t, o), "axis %d is not of size 3", axis)
	}
	turn := func(x *Tensor, by int) *Tensor { return x.Roll([]int{-by}, []int{axis}) }
	return turn(a, 1).Mul(turn(b, 2)).Sub(turn(a, 2).Mul(turn(b, 1)))
}

// Kron is the Kronecker product: each element of t times o.
func (t *Tensor) Kron(o *Tensor) *Tensor {
	n := max(t.Rank(), o.Rank())
	a, b := make([]int, 0, 2*n), make([]int, 0, 2*n)
	out := make([]int, n)
	size := func(x *Tensor, i int) int {
		if i += x.Rank() - n; i < 0 {
			return 1
		}
		return x.Dim(i)
	}
	for i := range n {
		p, q := size(t, i), size(o, i)
		a, b, out[i] = append(a, p, 1), append(b, 1, q), p*q
	}
	return t.Reshape(a...).Mul(o.Reshape(b...)).Reshape(out...)
}

// NewtonSchulz brings the singular values of matrices t[…, n, m] near 1 and leaves their singular vectors: after division by the norm
// it iterates x ← a·x + (b·xxᵀ + c·(xxᵀ)²)·x, with coefficients a, b and c. The iteration is Björck's and Bowie's (1971); 5 steps with
// 3.4445, −4.775 and 2.0315 are Jordan's (2024), for Muon, and give values between 0.7 and 1.2. Norms below eps count as eps.
func (t *Tensor) NewtonSchulz(steps int, coefficients [3]float64, eps float64) *Tensor {
	const op = "NewtonSchulz"
	if t.Rank() < 2 || !t.IsFloat() {
		fail(op, shapes(t.shape()), "needs matrices of floats")
	}
	if steps < 0 {
		failArg(op, "%d steps", steps)
	}
	checkParts(op, t.shape(), steps)
	k, x := coefficients, t
	high := x.Dim(-2) > x.Dim(-1)
	if high {
		x = x.T()
	}
	x = x.Div(x.NormKeep(2, -2, -1).Maximum(eps))
	for range steps {
		a := x.MatMul(x.T())
		b := a.Mul(k[1]).Add(a.MatMul(a).Mul(k[2]))
		x = x.Mul(k[0]).Add(b.MatMul(x))
	}
	if high {
		return x.T()
	}
	return x
}

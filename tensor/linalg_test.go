package tensor_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// ofMatrices runs a test in both wide types, with a bound for what rounding may do, on two random matrices of each size.
func ofMatrices(t *testing.T, sizes [][2]int, f func(t *testing.T, a *tensor.Tensor, tol float64)) {
	left := 0
	for d, tol := range map[dtype.DType]float64{dtype.F32: 2e-5, dtype.F64: 1e-13} {
		for i, s := range sizes {
			if each := need.Each(4); s[0] > 21 && (i+d.Size()/4)%each != 0 {
				left++
				continue
			}
			t.Run(fmt.Sprint(d, s), func(t *testing.T) {
				x := random(rand.New(rand.NewPCG(uint64(s[0]), uint64(s[1]))), 2*s[0]*s[1])
				f(t, quick(x, 2, s[0], s[1]).To(d), tol)
			})
		}
	}
	t.Logf("of matrices of more than 21 rows each type has one in four: %d were left out, which WEFT_EACH=1 runs", left)
}

// together asserts that a product is what it was made of, up to tol times the largest element and the root of the size.
func together(t *testing.T, want, got *tensor.Tensor, tol float64, about string) {
	t.Helper()
	require.Equal(t, want.Shape(), got.Shape(), about)
	most := 1.0
	w, g := data[float64](t, want.To(dtype.F64)), data[float64](t, got.To(dtype.F64))
	for _, x := range w {
		most = max(most, x, -x)
	}
	for i := range w {
		if d := g[i] - w[i]; !(max(d, -d) <= tol*most) {
			t.Fatalf("%s: element %d is %v, want %v within %v", about, i, g[i], w[i], tol*most)
		}
	}
}

func orthonormal(t *testing.T, q *tensor.Tensor, tol float64, about string) {
	t.Helper()
	p := q.T().MatMul(q)
	together(t, tensor.Eye(p.Dim(-1)).To(p.DType()).Expand(p.Shape()...).On(p.Device()), p, tol, about)
}

// long leaves a test out of runs that ask for short ones: those with the race detector and without cgo.
func long(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: run it without -short")
	}
}

func TestInvOfManyRows(t *testing.T) {
	long(t)
	ofMatrices(t, squares, func(t *testing.T, a *tensor.Tensor, tol float64) {
		n := a.Dim(-1)
		y := a.Inv()
		most := 1.0
		for _, v := range data[float64](t, y.To(dtype.F64)) {
			most = max(most, v, -v)
		}
		one := tensor.Eye(n).To(a.DType()).Expand(2, n, n)
		together(t, one, a.MatMul(y), tol*most*4, "product")
		x := a.Solve(a.Narrow(-1, 0, min(n, 3)))
		together(t, one.Narrow(-1, 0, min(n, 3)), x, tol*most*8, "solution")
		sign, logAbs := a.SlogDet()
		other, back := y.SlogDet()
		together(t, sign, other, 0, "sign of the inverse's determinant")
		together(t, logAbs, back.Neg(), tol*most, "determinant of the inverse")
	})
}

// A permutation has a determinant of ±1, whichever rows are exchanged, and its inverse is exact.
func TestInvOfPermutations(t *testing.T) {
	for seed, n := range []int{40, 65, 100} {
		order := rand.New(rand.NewPCG(uint64(seed), 1)).Perm(n)
		x, want := make([]float64, n*n), 1.0
		for i, p := range order {
			x[i*n+p] = 1
			for _, q := range order[:i] {
				if q > p {
					want = -want
				}
			}
		}
		a := quick(x, n, n)
		require.Equal(t, data[float64](t, a.T()), data[float64](t, a.Inv()))
		require.Equal(t, []float64{want}, data[float64](t, a.Det()))
	}
}

func TestSolveTriangularOfManyRows(t *testing.T) {
	ofMatrices(t, squares, func(t *testing.T, a *tensor.Tensor, tol float64) {
		n := a.Dim(-1)
		one := tensor.Eye(n).To(a.DType()).Expand(2, n, n)
		a = a.Mul(0.1).Add(one.Mul(3))
		b := a.Narrow(-1, 0, min(n, 3)).Mul(2)
		for _, upper := range []bool{false, true} {
			half := a.Tril(0)
			if upper {
				half = a.Triu(0)
			}
			together(t, b, half.MatMul(a.SolveTriangular(b, upper, false)), tol, "solution")
			half = half.Sub(half.Mul(one)).Add(one)
			together(t, b, half.MatMul(a.SolveTriangular(b, upper, true)), tol*16, "solution with ones in the diagonal")
		}
	})
}

// A list is a right side of one column, as of Solve: the solution is a list, one for each matrix.
func TestTriangularSystemsOfOneList(t *testing.T) {
	a := quick([]float64{2, 0, 0, 1, 4, 0, 3, 1, 2, 1, 0, 0, 5, 2, 0, 1, 1, 4}, 2, 3, 3)
	b := quick([]float64{2, 9, -4}, 3)
	column := b.Unsqueeze(-1)
	for _, upper := range []bool{false, true} {
		same(t, values(t, a.SolveTriangular(column, upper, false).Squeeze(-1)), a.SolveTriangular(b, upper, false))
	}
	same(t, values(t, a.CholeskySolve(column).Squeeze(-1)), a.CholeskySolve(b))
	one := a.Select(0, 0)
	require.Equal(t, []int{3}, one.CholeskySolve(b).Shape())
	want, got := one.CholeskySolve(column).Square().Sum().Grad(a, b), one.CholeskySolve(b).Square().Sum().Grad(a, b)
	for i := range want {
		same(t, values(t, want[i]), got[i])
	}
	err := tensor.Try(func() { a.SolveTriangular(b.Narrow(0, 0, 2), true, false) })
	require.ErrorContains(t, err, "the right side needs 3 rows of type float64")
}

// What is no number in the right side stays in its column, and below the row in which it stands.
func TestSolveTriangularKeepsNoNumbersApart(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	a := quick([]float64{2, 0, 0, 1, 2, 0, 1, 1, 2}, 3, 3)
	b := quick([]float64{2, 2, 2, 2, nan, inf, 2, 2, 2}, 3, 3)
	x := data[float64](t, a.SolveTriangular(b, false, false))
	require.Equal(t, []float64{1, 0.5, 0.25}, []float64{x[0], x[3], x[6]})
	require.Equal(t, []float64{1, 1}, x[1:3])
	require.True(t, math.IsNaN(x[4]) && math.IsNaN(x[7]))
	require.Equal(t, []float64{inf, -inf}, []float64{x[5], x[8]})

	const n, at = 100, 70 // in the middle of a block
	wide := make([]float64, 2*n)
	wide[2*at] = nan
	each := make([]float64, n*n)
	for i := range each {
		each[i] = 1
		if i%(n+1) == 0 {
			each[i] = n
		}
	}
	ones := quick(each, n, n)
	for _, upper := range []bool{false, true} {
		x = data[float64](t, ones.SolveTriangular(quick(wide, n, 2), upper, false))
		for i := range n {
			after := i >= at
			if upper {
				after = i <= at
			}
			require.Equal(t, after, math.IsNaN(x[2*i]), "row %d, upper %v", i, upper)
			require.Zero(t, x[2*i+1])
		}
	}
}

// Only the lower triangle is read, and what lies above the diagonal of the result is 0.
func TestCholeskyOfManyRows(t *testing.T) {
	ofMatrices(t, squares, func(t *testing.T, a *tensor.Tensor, tol float64) {
		n := a.Dim(-1)
		a = a.MatMul(a.T()).Add(tensor.Eye(n).To(a.DType()).Expand(2, n, n))
		l := a.Tril(0).Add(tensor.Full(math.NaN(), a.DType(), n, n).Triu(1)).Cholesky()
		together(t, a, l.MatMul(l.T()), tol, "product")
		together(t, l, l.Tril(0), 0, "triangle")
	})
}

// The message names the first leading minor, however many rows follow.
func TestCholeskyNamesTheMinor(t *testing.T) {
	for _, c := range [][2]int{{20, 0}, {20, 7}, {20, 19}, {100, 0}, {100, 31}, {100, 77}, {100, 99}} {
		n, bad := c[0], c[1]
		x := make([]float64, n*n)
		for i := range n {
			x[i*n+i] = 2
		}
		x[bad*n+bad] = -1
		_, err := tensor.Data[float64](context.Background(), quick(x, n, n).Cholesky())
		require.ErrorContains(t, err, fmt.Sprintf("its leading minor of order %d is not", bad+1))
	}
}

func TestQROfManyRows(t *testing.T) {
	ofMatrices(t, [][2]int{{0, 0}, {1, 1}, {2, 2}, {16, 16}, {33, 33}, {50, 21}, {20, 45}, {65, 65}, {100, 7}, {7, 100}, {150, 150}, {70, 90}, {90, 70}, {5, 1}, {1, 3}, {4, 0}, {0, 3}}, func(t *testing.T, a *tensor.Tensor, tol float64) {
		for _, complete := range []bool{false, true} {
			q, r := a.QR(complete)
			together(t, a, q.MatMul(r), tol, "product")
			orthonormal(t, q, tol, "q")
			together(t, r, r.Triu(0), 0, "r")
		}
	})
}

// Columns of zeros, and ones that depend on those before, leave q orthonormal.
func TestQRWithoutFullRank(t *testing.T) {
	for _, x := range [][]float64{make([]float64, 9), {0, 1, 2, 0, 3, 4, 0, 5, 6}, {1, 2, 1, 2, 4, 1, 3, 6, 0}, {0, 0, 1, 0, 0, 0, 1, 0, 0}} {
		a := quick(x, 3, 3)
		q, r := a.QR(false)
		together(t, a, q.MatMul(r), 1e-15, "product")
		orthonormal(t, q, 1e-15, "q")
	}
}

// Algorithms whose steps are alike share kernels: a larger matrix takes more launches, but nothing more to compile.
func TestStepsShareKernels(t *testing.T) {
	long(t)
	e, err := engine.Open("NULL", engine.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	for _, c := range []struct {
		name                 string
		n, launches, kernels int
		f                    func(a *tensor.Tensor) []*tensor.Tensor
	}{
		{"Inv", 64, 90, 20, func(a *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Inv()} }},
		{"Solve", 64, 95, 22, func(a *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Solve(a)} }},
		{"Det", 64, 90, 20, func(a *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Det()} }},
		{"SolveTriangular", 64, 200, 10, func(a *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.SolveTriangular(a, false, false)} }},
		{"Cholesky", 64, 22, 10, func(a *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Cholesky()} }},
		{"QR", 64, 260, 16, func(a *tensor.Tensor) []*tensor.Tensor { q, r := a.QR(false); return []*tensor.Tensor{q, r} }},
		{"Eigh", 64, 500, 60, func(a *tensor.Tensor) []*tensor.Tensor { w, v := a.Eigh(false); return []*tensor.Tensor{w, v} }},
		{"SVD", 64, 1610, 48, func(a *tensor.Tensor) []*tensor.Tensor { u, s, vt := a.SVD(false); return []*tensor.Tensor{u, s, vt} }},
		{"Solve", 200, 275, 37, func(a *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Solve(a)} }},
		{"SolveTriangular", 200, 100, 20, func(a *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.SolveTriangular(a, false, false)} }},
		{"Cholesky", 200, 62, 26, func(a *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Cholesky()} }},
		{"QR", 200, 540, 54, func(a *tensor.Tensor) []*tensor.Tensor { q, r := a.QR(false); return []*tensor.Tensor{q, r} }},
		{"Eigh", 200, 1240, 100, func(a *tensor.Tensor) []*tensor.Tensor { w, v := a.Eigh(false); return []*tensor.Tensor{w, v} }},
	} {
		t.Run(fmt.Sprint(c.name, c.n), func(t *testing.T) {
			input, err := e.FromBytes(dtype.F32, []int{c.n, c.n}, make([]byte, 4*c.n*c.n))
			require.NoError(t, err)
			outs := c.f(tensor.FromNode(input, e))
			v, err := tensor.Schedule(outs...)
			require.NoError(t, err)
			require.LessOrEqual(t, len(v.Launches()), c.launches)
			require.LessOrEqual(t, len(v.Plan.Kernels), c.kernels)
		})
	}
}

// Matrices of many rows, too, are told to be singular, keep what is not a number, and have the derivatives of the formulas.
func TestManyRowsAtTheLimits(t *testing.T) {
	const n = 100
	x := random(rand.New(rand.NewPCG(11, 12)), n*n)
	a := quick(x, n, n)
	zero := a.Mul(tensor.Arange(n).Ne(70).To(a.DType()))
	_, err := tensor.Data[float64](context.Background(), zero.Inv())
	require.ErrorContains(t, err, "the matrix is singular: pivot 71 is 0")
	_, err = tensor.Data[float64](context.Background(), zero.Solve(a))
	require.ErrorContains(t, err, "the matrix is singular: pivot 71 is 0")
	require.Equal(t, []float64{0}, data[float64](t, zero.Det()))

	x[5*n+90] = math.NaN()
	bad := quick(x, n, n)
	positive := bad.MatMul(bad.T()).Add(tensor.Eye(n).To(a.DType()).Mul(n))
	w, v := positive.Eigh(false)
	q, r := bad.QR(false)
	for name, y := range map[string]*tensor.Tensor{"Inv": bad.Inv(), "Solve": bad.Solve(a), "Cholesky": positive.Cholesky(), "w": w, "v": v, "q": q, "r": r} {
		require.True(t, data[bool](t, y.IsNaN().Any())[0], name)
	}

	b := a.Narrow(1, 0, 2)
	grad := a.Solve(b).Sum().Grad(b)[0]
	want := a.Inv().T().MatMul(tensor.Ones(n, 2).To(a.DType()))
	together(t, want, grad, 1e-10, "gradient of Solve")
	grad = a.Det().Log().Grad(a)[0]
	if data[float64](t, a.Det())[0] < 0 {
		grad = a.Det().Neg().Log().Grad(a)[0]
	}
	together(t, a.Inv().T(), grad, 1e-10, "gradient of Det")
	one := tensor.Eye(n).To(a.DType())
	w, _ = a.Add(a.T()).Eigh(false)
	together(t, one.Mul(2), w.Sum().Grad(a)[0], 1e-11, "gradient of the sum of eigenvalues")
}

// Where numbers are not zero is found by searching for a few places, and by sorting for many.
func TestFewAndManyPlaces(t *testing.T) {
	tensor.Seed(168200002)
	x := tensor.RandInt(0, 3, 40, 50)
	var places []float64
	for i, v := range data[int32](t, x.Reshape(2000)) {
		if v != 0 {
			places = append(places, float64(i))
		}
	}
	for _, n := range []int{1, 100, 1000, len(places), 2000, 2100} {
		var want []float64
		for i := range n {
			if i < len(places) {
				want = append(want, math.Floor(places[i]/50), math.Mod(places[i], 50))
			} else {
				want = append(want, -1, -1)
			}
		}
		same(t, want, x.NonZeroSized(n, -1), n)
	}
	var no, yes []float64
	for i, v := range data[bool](t, x.Reshape(2000).Gt(1)) {
		if v {
			yes = append(yes, float64(i))
		} else {
			no = append(no, float64(i))
		}
	}
	same(t, slices.Concat(no, yes), x.Reshape(2000).Gt(1).ArgSort(0, false))
	same(t, slices.Concat(yes, no), x.Reshape(2000).Gt(1).ArgSort(0, true))
}

// Factors have the rows that Gauss's method with exchanges takes, of two equal ones the first, and multiply to the matrix.
func TestLUOfManyRows(t *testing.T) {
	long(t)
	r := rand.New(rand.NewPCG(6, 100))
	for _, shape := range [][]int{{1, 1}, {8, 8}, {9, 9}, {5, 30}, {30, 5}, {2, 3, 20, 20}, {40, 70}, {70, 40}} {
		m, n := shape[len(shape)-2], shape[len(shape)-1]
		count := 1
		for _, size := range shape {
			count *= size
		}
		x := make([]float64, count)
		for i := range x {
			x[i] = float64(r.IntN(7)-3) / 2 // many are equal
		}
		for _, d := range []dtype.DType{dtype.F64, dtype.F32, dtype.BF16} {
			a := quick(x, shape...).To(d)
			p, l, u := a.LU()
			require.Equal(t, d, l.DType())
			tol := map[dtype.DType]float64{dtype.F64: 1e-12, dtype.F32: 1e-5, dtype.BF16: 0.2}[d]
			together(t, a, p.MatMul(l).MatMul(u), tol, fmt.Sprint(shape, d))
			if d != dtype.F64 {
				continue
			}
			ps, ls, us := data[float64](t, p), data[float64](t, l), data[float64](t, u)
			k := min(m, n)
			for b := range count / (m * n) {
				wantP, wantL, wantU := eliminated(x[b*m*n:][:m*n], m, n)
				require.Equal(t, wantP, ps[b*m*m:][:m*m], shape)
				require.InDeltaSlice(t, wantL, ls[b*m*k:][:m*k], 1e-9, shape)
				require.InDeltaSlice(t, wantU, us[b*k*n:][:k*n], 1e-9, shape)
			}
		}
	}
}

// eliminated are p, l and u of Gauss's method, step by step.
func eliminated(a []float64, m, n int) (p, l, u []float64) {
	a, k := slices.Clone(a), min(m, n)
	order := make([]int, m)
	for i := range order {
		order[i] = i
	}
	for at := range k {
		best := at
		for i := at; i < m; i++ {
			if math.Abs(a[i*n+at]) > math.Abs(a[best*n+at]) {
				best = i
			}
		}
		order[at], order[best] = order[best], order[at]
		for j := range n {
			a[at*n+j], a[best*n+j] = a[best*n+j], a[at*n+j]
		}
		for i := at + 1; i < m && a[at*n+at] != 0; i++ {
			a[i*n+at] /= a[at*n+at]
			for j := at + 1; j < n; j++ {
				a[i*n+j] -= a[i*n+at] * a[at*n+j]
			}
		}
	}
	p, l, u = make([]float64, m*m), make([]float64, m*k), make([]float64, k*n)
	for i := range m {
		p[order[i]*m+i] = 1
		for j := range n {
			switch {
			case j < i && j < k:
				l[i*k+j] = a[i*n+j]
			case j >= i:
				u[i*n+j] = a[i*n+j]
			}
		}
		if i < k {
			l[i*k+i] = 1
		}
	}
	return p, l, u
}

// What is large or small is factored as what is of common size is.
func TestFactorsOfAnyMagnitude(t *testing.T) {
	tensor.Seed(169300001)
	for _, shape := range [][]int{{3, 3}, {30, 12}, {12, 30}, {2, 20, 20}, {70, 70}} {
		x := tensor.Randn(shape...)
		want := data[float64](t, x.To(dtype.F64))
		for _, f := range []float64{1e-30, 1e-25, 1e25, 1e30} {
			q, r := x.Mul(f).QR(false)
			near(t, want, q.MatMul(r.Div(f)).To(dtype.F64), 1e-4, shape, f)
			orthonormal(t, q, 1e-5, "q")
			p, l, u := x.Mul(f).LU()
			near(t, want, p.MatMul(l).MatMul(u.Div(f)).To(dtype.F64), 1e-4, shape, f)
			if shape[len(shape)-1] != shape[len(shape)-2] {
				continue
			}
			s := x.Add(x.T())
			w, v := s.Mul(f).Eigh(false)
			near(t, data[float64](t, s.To(dtype.F64)), v.Mul(w.Div(f).Unsqueeze(-2)).MatMul(v.T()).To(dtype.F64), 1e-4, shape, f)
			near(t, data[float64](t, w.Div(f).To(dtype.F64)), s.Mul(f).Eigvalsh(false).Div(f).To(dtype.F64), 1e-4, shape, f)
		}
	}
	q, r := tensor.Randn(20, 3).Mul(tensor.Of([]float32{1e-30, 1, 1e30})).QR(false) // columns that are far apart
	orthonormal(t, q, 1e-5, "q")
	require.True(t, data[bool](t, r.IsFinite().All())[0])
}

// Least squares of full rank and of less, of high and wide systems, are those of the pseudoinverse, and so are their derivatives.
func TestLeastSquaresOfAnyRank(t *testing.T) {
	tensor.Seed(169300003)
	for _, s := range [][3]int{{1, 1, 1}, {5, 5, 5}, {7, 3, 3}, {7, 3, 2}, {3, 7, 3}, {3, 7, 1}, {60, 33, 33}, {60, 33, 20}, {33, 60, 33}, {33, 60, 20}, {4, 4, 0}} {
		m, n, rank := s[0], s[1], s[2]
		a := tensor.Randn(2, m, rank).To(dtype.F64).MatMul(tensor.Randn(2, rank, n).To(dtype.F64))
		b := tensor.Randn(2, m, 3).To(dtype.F64)
		want := a.PInv(-1, 1e-9).MatMul(b)
		near(t, data[float64](t, want), a.Lstsq(b), 1e-8, s)
		near(t, data[float64](t, want), a.Mul(1e-200).Lstsq(b).Mul(1e-200), 1e-8, s)
		near(t, data[float64](t, want.Select(-1, 1)), a.Lstsq(b.Select(-1, 1)), 1e-8, s)
		if rank == min(m, n) {
			near(t, data[float64](t, want), a.To(dtype.F32).Lstsq(b.To(dtype.F32)).To(dtype.F64), 5e-2, s)
		}
		if m < 10 && rank == min(m, n) {
			f := func(x *tensor.Tensor) *tensor.Tensor {
				return x.Mul(tensor.Arange(2*n*3).Add(1).Reshape(2, n, 3).To(dtype.F64)).Sum()
			}
			wanted := f(a.PInv(-1, 1e-9).MatMul(b)).Grad(a, b)
			for i, g := range f(a.Lstsq(b)).Grad(a, b) {
				near(t, data[float64](t, wanted[i]), g, 1e-8, s)
			}
		}
	}
	require.Equal(t, []int{2, 4, 3}, tensor.Zeros(2, 0, 4).Lstsq(tensor.Zeros(2, 0, 3)).Shape())
	same(t, make([]float64, 12), tensor.Zeros(0, 4).Lstsq(tensor.Zeros(0, 3)))
	for _, x := range data[float64](t, tensor.Full(math.NaN(), dtype.F64, 10, 4).Lstsq(tensor.Ones(10).To(dtype.F64))) {
		require.True(t, math.IsNaN(x))
	}
}

// Of nothing there is no largest and no smallest value; sums are 0.
func TestMatrixNormOfNothing(t *testing.T) {
	for _, kind := range []tensor.MatrixNormKind{tensor.Spectral, tensor.LeastValue, tensor.ColumnSum, tensor.LeastColumn} {
		require.ErrorContains(t, tensor.Try(func() { tensor.Zeros(3, 0).MatrixNorm(kind, 0, 1) }), "tensor: MatrixNorm [3 0]: matrices of 3 rows and 0 columns have nothing")
	}
	for _, kind := range []tensor.MatrixNormKind{tensor.RowSum, tensor.LeastRowSum, tensor.Nuclear, tensor.Frobenius} {
		near(t, []float64{0}, tensor.Zeros(3, 0).MatrixNorm(kind, 0, 1), 0, kind)
	}
}

// The gradient of a determinant that is 0 is the matrix of cofactors, as of any other: of rank n − 1 it is not 0. The steps go on past a
// pivot that is 0, wherever it comes.
func TestGradientsOfDeterminantsOfZero(t *testing.T) {
	for _, n := range []int{5, 9, 30} {
		for d, tol := range map[dtype.DType]float64{dtype.F32: 1e-4, dtype.F64: 1e-11} {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			part := 1.0 / float64(n)
			if n != 30 { // of diagonal matrices nothing is rounded
				part = 0
			}
			triangle := func() *tensor.Tensor { // of determinant 1
				return quick(random(r, n*n), n, n).Mul(part).Tril(-1).To(d).Add(tensor.Eye(n).To(d))
			}
			u, v := triangle(), triangle().T()
			for _, zeros := range [][]int{{0}, {2}, {n - 1}, {1, 3}} {
				diagonal, cofactors := make([]float64, n), make([]float64, n)
				for i := range diagonal {
					diagonal[i] = 1 + float64(i%3)/4
				}
				product := 1.0
				for _, z := range zeros {
					diagonal[z] = 0
				}
				for i, x := range diagonal {
					if i != zeros[0] {
						product *= x
					}
				}
				cofactors[zeros[0]] = product
				a := u.Mul(quick(diagonal, n).To(d)).MatMul(v).Contiguous()
				want := u.Inv().T().Mul(quick(cofactors, n).To(d)).MatMul(v.Inv().T())
				together(t, want, a.Det().Grad(a)[0], tol, fmt.Sprint(n, d, zeros))
				if n != 30 {
					require.Equal(t, []float64{0}, data[float64](t, a.Det().To(dtype.F64)))
					sign, l := a.SlogDet()
					require.Equal(t, []float64{0, math.Inf(-1)}, data[float64](t, tensor.Stack(0, sign, l).To(dtype.F64)))
				}
			}
		}
	}
}

// What is not finite is no 1.
func TestDeterminantsOfWhatIsNotFinite(t *testing.T) {
	for _, n := range []int{3, 5, 30} {
		for _, x := range []float64{math.NaN(), math.Inf(1)} {
			a := tensor.Eye(n).WithAt(x, 1, 1).Mul(quick([]float32{1}))
			sign, l := a.SlogDet()
			for _, got := range data[float32](t, tensor.Stack(0, a.Det(), l, sign.Mul(l))) {
				require.True(t, math.IsNaN(float64(got)) || math.IsInf(float64(got), 1), "%d %v: %v", n, x, got)
			}
		}
	}
}

// Of equal eigenvalues the gradients of the values, and of what the vectors span, are right, though rounding sets the values apart;
// so are those of singular values.
func TestGradientsOfEqualEigenvalues(t *testing.T) {
	for d, tol := range map[dtype.DType]float64{dtype.F32: 2e-5, dtype.F64: 1e-13} {
		for n, turned := range map[int]bool{3: false, 4: true, 5: true, 12: true} {
			about := fmt.Sprint(d, n, turned)
			weights := quick(random(rand.New(rand.NewPCG(uint64(n), 9)), n*n), n, n).To(d)
			q := tensor.Eye(n).To(d).Add(weights.Mul(0))
			if turned {
				q, _ = quick(random(rand.New(rand.NewPCG(uint64(n), 5)), n*n), n, n).To(d).QR(false)
			}
			values := make([]float64, n)
			for i := range values {
				values[i] = 1
			}
			values[n-1] = 2
			a := q.Mul(quick(values, n).To(d)).MatMul(q.T()).Contiguous()
			half := func(x *tensor.Tensor) *tensor.Tensor { return x.Add(x.T()).Div(2) }
			exp := q.Mul(quick(values, n).To(d).Exp()).MatMul(q.T())
			together(t, exp, a.Eigvalsh(false).Exp().Sum().Grad(a)[0], tol, about)
			together(t, exp, a.SingularValues().Exp().Sum().Grad(a)[0], tol, about)
			_, v := a.Eigh(false)
			v = v.Narrow(-1, 0, n-1)
			// P = I − x·xᵀ, where x is the last vector: dx = (I − x·xᵀ)·dA·x/(2 − 1)
			x := q.Narrow(-1, n-1, 1)
			p := tensor.Eye(n).To(d).Sub(x.MatMul(x.T()))
			want := half(p.MatMul(half(weights)).MatMul(x).MatMul(x.T())).Mul(-2)
			together(t, want, v.MatMul(v.T()).Mul(weights).Sum().Grad(a)[0], tol, about)
			u, _, _ := a.SVD(false)
			u = u.Narrow(-1, 1, n-1) // singular values fall
			together(t, want, half(u.MatMul(u.T()).Mul(weights).Sum().Grad(a)[0]), tol, about)
		}
	}
}

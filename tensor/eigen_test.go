package tensor_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func TestEighOfManyRows(t *testing.T) {
	long(t)
	ofMatrices(t, [][2]int{{0, 0}, {1, 1}, {2, 2}, {7, 7}, {16, 16}}, func(t *testing.T, a *tensor.Tensor, tol float64) {
		a = a.Add(a.T())
		w, v := a.Eigh(false)
		together(t, a, v.Mul(w.Unsqueeze(-2)).MatMul(v.T()), 4*tol, "product")
		orthonormal(t, v, tol, "vectors")
	})
}

// Products of the results are the matrix but for rounding of its type: within some of its units of the norm.
func TestEighIsExact(t *testing.T) {
	long(t)
	ofMatrices(t, [][2]int{{20, 20}, {32, 32}, {200, 200}, {33, 33}, {64, 64}, {65, 65}, {127, 127}}, func(t *testing.T, a *tensor.Tensor, tol float64) {
		unit := map[dtype.DType]float64{dtype.F32: 0x1p-23, dtype.F64: 0x1p-52}[a.DType()]
		a = a.Add(a.T()).Mul(0.5)
		w, v := a.Eigh(false)
		norm := data[float64](t, w.Abs().Max().To(dtype.F64))[0]
		a, w, v = a.To(dtype.F64), w.To(dtype.F64), v.To(dtype.F64) // so that the products are exact
		together(t, a.Div(norm), v.Mul(w.Div(norm).Unsqueeze(-2)).MatMul(v.T()), 12*unit, "product")
		orthonormal(t, v, 16*unit, "vectors")
		rising := data[float64](t, w.Narrow(-1, 1, w.Dim(-1)-1).Sub(w.Narrow(-1, 0, w.Dim(-1)-1)))
		for _, x := range rising {
			require.GreaterOrEqual(t, x, 0.)
		}
	})
}

// Eigenvalues that are equal, zero, far apart, or very large or small leave the eigenvectors orthonormal.
func TestEighOfSpecialMatrices(t *testing.T) {
	long(t)
	t.Run("12", func(t *testing.T) {
		eighOfSpecialMatrices(t, 12, map[dtype.DType]float64{dtype.F32: 2e-5, dtype.F64: 1e-13})
	})
	t.Run("50", func(t *testing.T) { eighOfSpecialMatrices(t, 50, map[dtype.DType]float64{dtype.F32: 2e-5}) })
}

func eighOfSpecialMatrices(t *testing.T, n int, types map[dtype.DType]float64) {
	q, _ := quick(random(rand.New(rand.NewPCG(1, 2)), n*n), n, n).QR(false)
	for name, value := range map[string]func(i int) float64{
		"zeros":     func(int) float64 { return 0 },
		"ones":      func(int) float64 { return 1 },
		"rank 1":    func(i int) float64 { return float64(max(i-n+2, 0)) },
		"clusters":  func(i int) float64 { return float64(i*3/n) - 1 + 1e-9*float64(i) },
		"opposites": func(i int) float64 { return float64(1 - i%2*2) },
		"graded":    func(i int) float64 { return []float64{1e5, 1, 1e-5}[i%3] * float64(i-5) },
		"large":     func(i int) float64 { return 1e30 * float64(i-5) },
		"small":     func(i int) float64 { return 1e-30 * float64(i-5) },
	} {
		t.Run(name, func(t *testing.T) {
			x := make([]float64, n)
			most := 1e-31
			for i := range x {
				x[i] = value(i)
				most = max(most, x[i], -x[i])
			}
			for d, tol := range types {
				a := q.Mul(quick(x, n)).MatMul(q.T()).To(d)
				w, v := a.Eigh(false)
				orthonormal(t, v, tol, "vectors")
				together(t, a.Div(most), v.Mul(w.Div(most)).MatMul(v.T()), tol, "product")
			}
		})
	}
}

func TestSVDOfManyRows(t *testing.T) {
	long(t)
	ofMatrices(t, [][2]int{{0, 0}, {1, 1}, {2, 2}, {16, 16}, {21, 9}, {7, 18}, {5, 1}, {1, 3}, {4, 0}, {20, 20}, {33, 33}, {70, 50}}, func(t *testing.T, a *tensor.Tensor, tol float64) {
		u, s, vt := a.SVD(false)
		together(t, a, u.Mul(s.Unsqueeze(-2)).MatMul(vt), 4*tol, "product")
		orthonormal(t, u, tol, "u")
		orthonormal(t, vt.T(), tol, "v")
	})
}

// Singular values that are equal, zero, far apart, or very large or small leave all vectors orthonormal, also those to zeros: within some units.
func TestSVDOfSpecialMatrices(t *testing.T) {
	long(t)
	const n, unit = 40, 0x1p-23
	q, _ := quick(random(rand.New(rand.NewPCG(3, 4)), n*n), n, n).QR(false)
	p, _ := quick(random(rand.New(rand.NewPCG(5, 6)), n*n), n, n).QR(false)
	of := func(value func(i int) float64) *tensor.Tensor {
		s := make([]float64, n)
		for i := range s {
			s[i] = value(i)
		}
		return q.Mul(quick(s, n)).MatMul(p.T())
	}
	twoDiagonals := func(d, e float64) *tensor.Tensor {
		x := make([]float64, n*n)
		for i := range n {
			x[i*n+i] = d
			if i+1 < n {
				x[i*n+i+1] = e
			}
		}
		return quick(x, n, n)
	}
	for name, a := range map[string]*tensor.Tensor{
		"random":       quick(random(rand.New(rand.NewPCG(7, 8)), 60*n), 60, n),
		"zeros":        twoDiagonals(0, 0),
		"identity":     twoDiagonals(1, 0),
		"shift":        twoDiagonals(0, 1),
		"nearly shift": twoDiagonals(1e-8, 1),
		"equal":        of(func(int) float64 { return 1 }),
		"rank 5":       of(func(i int) float64 { return float64(max(i-n+6, 0)) }),
		"half":         of(func(i int) float64 { return float64(i % 2) }),
		"graded":       of(func(i int) float64 { return math.Pow(0.8, float64(i)) }),
		"clusters":     of(func(i int) float64 { return float64(i*3/n) + 1e-9*float64(i) }),
		"large":        of(func(i int) float64 { return 1e30 * float64(i) }),
		"small":        of(func(i int) float64 { return 1e-30 * float64(i) }),
	} {
		t.Run(name, func(t *testing.T) {
			a := a.To(dtype.F32)
			u, s, vt := a.SVD(false)
			norm := s.Max().To(dtype.F64)
			norm = norm.Eq(0).Where(1, norm)
			a, u, s, vt = a.To(dtype.F64), u.To(dtype.F64), s.To(dtype.F64), vt.To(dtype.F64) // so that the products are exact
			together(t, a.Div(norm), u.Mul(s.Div(norm)).MatMul(vt), 24*unit, "product")
			orthonormal(t, u, 24*unit, "u")
			orthonormal(t, vt.T(), 24*unit, "v")
			for i, x := range data[float64](t, s.Narrow(0, 0, n-1).Sub(s.Narrow(0, 1, n-1))) {
				require.GreaterOrEqual(t, x, 0., i)
			}
		})
	}
}

var squares = [][2]int{{0, 0}, {1, 1}, {2, 2}, {5, 5}, {16, 16}, {33, 33}, {200, 200}, {65, 65}, {63, 63}, {127, 127}}

// Singular values alone, of matrices that are made of given ones: falling by some powers of ten, some equal, some 0.
func TestSingularValuesAreThoseThatWereGiven(t *testing.T) {
	tensor.Seed(168200001)
	for _, s := range [][2]int{{2, 2}, {8, 8}, {9, 9}, {12, 17}, {33, 20}, {40, 40}, {90, 21}, {70, 65}} {
		m, n := s[0], s[1]
		k := min(m, n)
		want := make([]float64, k)
		for i := range want {
			switch {
			case i >= 3*k/4:
			case i == k/2 && i > 0:
				want[i] = want[i-1]
			default:
				want[i] = 3 * math.Pow(10, -5*float64(i)/float64(k))
			}
		}
		u, _ := tensor.Randn(2, m, k).To(dtype.F64).QR(false)
		v, _ := tensor.Randn(2, n, k).To(dtype.F64).QR(false)
		a := u.Mul(tensor.Of(want)).MatMul(v.T())
		for d, tol := range map[dtype.DType]float64{dtype.F64: 1e-14, dtype.F32: 3e-6, dtype.F16: 6e-3} {
			got := a.To(d).SingularValues().To(dtype.F64)
			near(t, slices.Concat(want, want), got, tol, d, s)
		}
	}
	for _, x := range data[float64](t, tensor.Zeros(10, 10).To(dtype.F64).SingularValues()) {
		require.Zero(t, x)
	}
	for _, x := range data[float64](t, tensor.Full(math.NaN(), dtype.F64, 10, 10).SingularValues()) {
		require.True(t, math.IsNaN(x))
	}
}

// Squares of what is large or small neither overflow nor vanish.
func TestSVDOfAnyMagnitude(t *testing.T) {
	tensor.Seed(168200003)
	for _, shape := range [][]int{{2, 2}, {3, 9}, {13, 9}, {2, 30, 10}} {
		x := tensor.Randn(shape...)
		want := x.SingularValues()
		for _, f := range []float64{1e-30, 1e-25, 1e25, 1e30} {
			y := x.Mul(f)
			u, s, vt := y.SVD(false)
			near(t, data[float64](t, x.To(dtype.F64)), u.Mul(s.Div(f).Unsqueeze(-2)).MatMul(vt).To(dtype.F64), 1e-5, shape, f)
			near(t, data[float64](t, want.To(dtype.F64)), s.Div(f).To(dtype.F64), 1e-5, shape, f)
			near(t, data[float64](t, want.To(dtype.F64)), y.SingularValues().Div(f).To(dtype.F64), 1e-5, shape, f)
		}
	}
}

// Eigenvalues alone, of matrices that are made of given ones, are these, also where some are equal or 0.
func TestEigenvaluesAreThoseThatWereGiven(t *testing.T) {
	tensor.Seed(169300002)
	for _, n := range []int{1, 2, 8, 9, 17, 40, 70} {
		want := make([]float64, n)
		for i := range want {
			switch {
			case i%5 == 3:
			case i%5 == 2:
				want[i] = want[i-1]
			default:
				want[i] = 5 * math.Sin(float64(3*i+1))
			}
		}
		q, _ := tensor.Randn(2, n, n).To(dtype.F64).QR(false)
		a := q.Mul(tensor.Of(want)).MatMul(q.T())
		slices.Sort(want)
		for d, tol := range map[dtype.DType]float64{dtype.F64: 1e-14, dtype.F32: 6e-6, dtype.F16: 1e-2} {
			for _, upper := range []bool{false, true} {
				near(t, slices.Concat(want, want), a.To(d).Eigvalsh(upper).To(dtype.F64), tol, d, n)
			}
		}
	}
	for _, x := range data[float64](t, tensor.Zeros(10, 10).To(dtype.F64).Eigvalsh(false)) {
		require.Zero(t, x)
	}
	require.True(t, data[bool](t, tensor.Full(math.NaN(), dtype.F64, 10, 10).Eigvalsh(false).IsNaN().All())[0])
}

// Both triangles have a share in the gradient of eigenvalues, whichever is read: of a matrix of two rows [a b; b c] with the eigenvalues
// (a + c ∓ r)/2, r² = (a − c)² + 4b², that of b is half of ∓2b/r.
func TestGradientsOfEigenvaluesAreSymmetric(t *testing.T) {
	want := []float64{0.5 - 0.5/math.Sqrt(17), -2 / math.Sqrt(17), -2 / math.Sqrt(17), 0.5 + 0.5/math.Sqrt(17)} // a = 3, b = 2, c = 2: of the smaller
	for _, upper := range []bool{false, true} {
		x := tensor.Of([]float64{3, 2, 2, 2}, 2, 2)
		near(t, want, x.Eigvalsh(upper).Select(0, 0).Grad(x)[0], 1e-12, upper)
		w, v := x.Eigh(upper)
		near(t, want, w.Select(0, 0).Grad(x)[0], 1e-12, upper)
		g := floats(t, v.Mul(tensor.Of([]float64{1, 2, 3, 4}, 2, 2)).Sum().Grad(x)[0])
		require.InDelta(t, g[1], g[2], 1e-12, "vectors")
	}
}

package tensor_test

import (
	"cmp"
	"context"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func data[T tensor.Element](t *testing.T, x *tensor.Tensor) []T {
	t.Helper()
	v, err := tensor.Data[T](context.Background(), x)
	require.NoError(t, err)
	return v
}

// quick makes a tensor on a device that is fast at loops: the one that was named, else INTERP.
func quick[T tensor.Element](x []T, shape ...int) *tensor.Tensor {
	device := os.Getenv("WEFT_DEVICE")
	if device == "" {
		device = "INTERP"
	}
	return tensor.Of(x, shape...).On(device)
}

// nearly asserts |got − want| ≤ tol·(1 + |want|).
func nearly(t *testing.T, want, got []float64, tol float64, about string) {
	t.Helper()
	require.Len(t, got, len(want), about)
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: element %d is %v, want %v", about, i, got[i], want[i])
		}
	}
}

// less orders floats with NaN last.
func less(a, b float32) int {
	if a != a || b != b {
		return cmp.Compare(b2i(a != a), b2i(b != b))
	}
	return cmp.Compare(a, b)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Sorting is stable in both directions, below and above the size that is sorted by counting, and in one block and several.
func TestSortLong(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{1, 5, 128, 129, 1100, 8193} {
		rows := 2
		if n > 100 {
			rows = 1
		}
		x := make([]float32, rows*n)
		for i := range x {
			x[i] = float32(r.IntN(n/3+1)) - float32(n/6) // many ties
			if r.IntN(50) == 0 {
				x[i] = float32(math.NaN())
			}
		}
		for _, falling := range []bool{false, true} {
			v, i := quick(x, rows, n).Sort(-1, falling)
			values, indices := data[float32](t, v), data[int32](t, i)
			for row := range rows {
				want := make([]int32, n)
				for k := range want {
					want[k] = int32(k)
				}
				at := func(k int32) float32 { return x[row*n+int(k)] }
				slices.SortStableFunc(want, func(a, b int32) int {
					if falling {
						return less(at(b), at(a))
					}
					return less(at(a), at(b))
				})
				require.Equal(t, want, indices[row*n:(row+1)*n], "n = %d, falling %v", n, falling)
				for k := range n {
					require.Equal(t, math.Float32bits(at(want[k])), math.Float32bits(values[row*n+k]))
				}
			}
		}
	}
}

// Scans of a long axis go block by block.
func TestScanLong(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 256, 2048, 2049, 5000, 20_011} {
		x := make([]float64, n)
		for i := range x {
			x[i] = r.NormFloat64()
		}
		var sum, best, lse []float64
		var where []int32
		s, m, at, l := 0., math.Inf(-1), 0, math.Inf(-1)
		for i, v := range x {
			s += v
			if v >= m {
				m, at = v, i
			}
			hi := math.Max(l, v)
			l = hi + math.Log(math.Exp(l-hi)+math.Exp(v-hi))
			sum, best, where, lse = append(sum, s), append(best, m), append(where, int32(at)), append(lse, l)
		}
		a := quick(x)
		nearly(t, sum, data[float64](t, a.CumSum(0)), 1e-12, "cumsum")
		v, i := a.CumMax(0)
		require.Equal(t, best, data[float64](t, v))
		require.Equal(t, where, data[int32](t, i))
		nearly(t, lse, data[float64](t, a.LogCumSumExp(0)), 1e-12, "logcumsumexp")
	}
}

func dft(x []complex128, sign float64) []complex128 {
	out := make([]complex128, len(x))
	for k := range x {
		for j := range x {
			out[k] += x[j] * cmplx.Exp(complex(0, sign*2*math.Pi*float64(j*k%len(x))/float64(len(x))))
		}
	}
	return out
}

func reals(x []complex128) []float64 {
	out := make([]float64, 0, 2*len(x))
	for _, v := range x {
		out = append(out, real(v), imag(v))
	}
	return out
}

// Transforms of composite, prime and long lengths, and their inverses.
func TestFFTLong(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for _, n := range []int{1, 2, 7, 64, 66, 101, 360} {
		x := make([]complex128, n)
		for i := range x {
			x[i] = complex(r.NormFloat64(), r.NormFloat64())
		}
		a := quick(reals(x), n, 2)
		f := a.FFT(-1, 0, tensor.Backward)
		nearly(t, reals(dft(x, -1)), data[float64](t, f), 1e-11, "fft")
		nearly(t, reals(x), data[float64](t, f.IFFT(-1, 0, tensor.Backward)), 1e-11, "ifft of fft")
		re := a.Select(1, 0)
		nearly(t, data[float64](t, re), data[float64](t, re.RFFT(-1, 0, tensor.Ortho).IRFFT(n, 0, tensor.Ortho)), 1e-11, "irfft of rfft")
	}
}

func random(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	return x
}

// Decompositions put their input together again; sizes with odd numbers of columns, high and wide.
func TestDecompositions(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, s := range [][2]int{{1, 1}, {2, 2}, {5, 3}, {3, 5}, {9, 9}, {12, 7}} {
		m, n := s[0], s[1]
		x := random(r, 2*m*n)
		a := quick(x, 2, m, n)
		q, R := a.QR(false)
		nearly(t, x, data[float64](t, q.MatMul(R)), 1e-12, "qr")
		u, sv, vt := a.SVD(false)
		nearly(t, x, data[float64](t, u.Mul(sv.Unsqueeze(-2)).MatMul(vt)), 1e-11, "svd")
		full, _, _ := a.SVD(true)
		eye := tensor.Eye(m).To(dtype.F64).Expand(2, m, m)
		nearly(t, data[float64](t, eye), data[float64](t, full.T().MatMul(full)), 1e-11, "full u")
		p := a.PInv(-1, -1)
		nearly(t, x, data[float64](t, a.MatMul(p).MatMul(a)), 1e-10, "pinv")
		if m != n {
			continue
		}
		nearly(t, data[float64](t, eye), data[float64](t, a.MatMul(a.Inv())), 1e-9, "inv")
		b := random(r, 2*n*3)
		nearly(t, b, data[float64](t, a.MatMul(a.Solve(quick(b, 2, n, 3)))), 1e-9, "solve")
		sym := a.Add(a.T())
		w, v := sym.Eigh(false)
		nearly(t, data[float64](t, sym), data[float64](t, v.Mul(w.Unsqueeze(-2)).MatMul(v.T())), 1e-11, "eigh")
		pos := a.MatMul(a.T()).Add(eye)
		l := pos.Cholesky()
		nearly(t, data[float64](t, pos), data[float64](t, l.MatMul(l.T())), 1e-12, "cholesky")
		sign, logAbs := a.SlogDet()
		nearly(t, data[float64](t, a.Det()), data[float64](t, sign.Mul(logAbs.Exp())), 1e-10, "det")
	}
}

// A matrix without full rank keeps orthonormal factors, a zero determinant and its rank.
func TestRankDeficient(t *testing.T) {
	a := quick([]float64{1, 2, 3, 2, 4, 6, 1, 1, 1}, 3, 3)
	u, s, vt := a.SVD(false)
	eye := data[float64](t, tensor.Eye(3).To(dtype.F64))
	nearly(t, eye, data[float64](t, u.T().MatMul(u)), 1e-12, "u")
	nearly(t, eye, data[float64](t, vt.MatMul(vt.T())), 1e-12, "v")
	nearly(t, data[float64](t, a), data[float64](t, u.Mul(s).MatMul(vt)), 1e-12, "product")
	nearly(t, []float64{0}, data[float64](t, a.Det()), 1e-12, "det")
	require.Equal(t, []int32{2}, data[int32](t, a.MatrixRank(-1, -1)))
}

// Special functions against Go's own, digamma against differences of lgamma.
func TestSpecialFunctions(t *testing.T) {
	var x []float64
	for v := -6.93; v < 40; v += 0.0871 {
		x = append(x, v)
	}
	a := quick(x)
	lgamma, digamma := make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		lgamma[i], _ = math.Lgamma(v)
		digamma[i] = digammaOf(v)
	}
	nearly(t, lgamma, data[float64](t, a.Lgamma()), 1e-13, "lgamma")
	nearly(t, lgamma, data[float64](t, a.To(dtype.F32).Lgamma().To(dtype.F64)), 3e-5, "lgamma of float32") // near poles x itself is rounded
	nearly(t, digamma, data[float64](t, a.Digamma()), 1e-11, "digamma")
	nearly(t, digamma, data[float64](t, a.Lgamma().Sum().Grad(a)[0]), 1e-11, "gradient of lgamma")
	var p []float64
	for _, v := range []float64{1e-300, 1e-9, 0.1, 0.5, 0.9, 0.99, 1 - 1e-6, 1 - 1e-12, 1 - 1e-15} {
		p = append(p, v, -v)
	}
	want := make([]float64, len(p))
	for i, v := range p {
		want[i] = math.Erfinv(v)
	}
	nearly(t, want, data[float64](t, quick(p).ErfInv()), 1e-14, "erfinv")
}

// digammaOf climbs far and takes the asymptotic series.
func digammaOf(x float64) float64 {
	if x < 0 {
		return digammaOf(1-x) - math.Pi/math.Tan(math.Pi*x)
	}
	s := 0.
	for ; x < 30; x++ {
		s -= 1 / x
	}
	r := 1 / (x * x)
	return s + math.Log(x) - 1/(2*x) - r*(1./12-r*(1./120-r/252))
}

// The first few of an order are its beginning, whatever way they are found: ties stand in their order, also the greatest integers.
func TestTopKIsTheBeginningOfTheOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, rows := range []int{3, 70} { // of many, those that lie beside each other share lanes
		for _, n := range []int{15, 16, 64, 300, 600} {
			x := make([]int32, rows*n)
			for i := range x {
				x[i] = []int32{math.MinInt32, math.MaxInt32, 0, 1, int32(r.IntN(n))}[r.IntN(5)]
			}
			for row := range n { // one row of ties alone
				x[row] = math.MaxInt32
			}
			for _, k := range []int{0, 1, 3, 4, min(n, 17)} {
				if rows > 3 && (k == 0 || n == 600) {
					continue
				}
				for _, largest := range []bool{false, true} {
					all := quick(x, rows, n)
					v, i := all.TopK(k, 1, largest)
					sorted, order := all.Sort(1, largest)
					require.Equal(t, data[int32](t, sorted.Narrow(1, 0, k)), data[int32](t, v), "%d of %d, largest %v", k, n, largest)
					require.Equal(t, data[int32](t, order.Narrow(1, 0, k)), data[int32](t, i), "%d of %d, largest %v", k, n, largest)
				}
			}
		}
	}
}

// Whether elements are in a large set is found in its order, which agrees with comparing all.
func TestIsInLargeSets(t *testing.T) {
	nan, zero := float32(math.NaN()), float32(math.Copysign(0, -1))
	x := tensor.Cat(0, tensor.Of([]float32{nan, zero, 0, 1e-40, float32(math.Inf(1)), 3.5}, 6), tensor.Arange(1500).To(dtype.F32)).Reshape(2, 753)
	for _, set := range []*tensor.Tensor{
		tensor.Cat(0, tensor.Of([]float32{nan, 0, float32(math.Inf(1))}, 3), tensor.Arange(999).Mul(2).Add(10).To(dtype.F32)),
		tensor.Arange(1024).Mul(3).Reshape(32, 32),
		tensor.Randn(600).Round(),
	} {
		want := x.Unsqueeze(-1).Eq(set.Flatten()).Any(-1)
		require.Equal(t, data[bool](t, want), data[bool](t, x.IsIn(set)))
		i := x.Narrow(1, 6, 700).To(dtype.I64)
		require.Equal(t, data[bool](t, i.Unsqueeze(-1).Eq(set.Flatten()).Any(-1)), data[bool](t, i.IsIn(set)))
	}
}

// Gradients of many parts are joined, and sets are looked up, where another axis varies.
func TestManyPartsOfVaryingArrays(t *testing.T) {
	ctx := t.Context()
	n := tensor.NewVariable("n", 1, 6)
	const steps = 30
	x := tensor.Arange(steps*6).To(dtype.F32).Mul(.01).Reshape(steps, 6).On("INTERP")
	set := tensor.Arange(600).Mul(2).On("INTERP")
	require.NoError(t, tensor.Realize(ctx, x, set))
	for _, axis := range []int{0, 1} {
		c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
			y := in[0].Narrow(1, 0, n)
			if axis == 1 {
				y = y.Transpose(0, 1)
			}
			h := y.Narrow(axis, 0, 1)
			for i := 1; i < steps; i++ {
				h = h.Mul(.9).Add(y.Narrow(axis, i, 1).Square())
			}
			return []*tensor.Tensor{h.Sum().Grad(in[0])[0], in[0].Mul(100).Round().To(dtype.I32).Narrow(1, 0, n).IsIn(set).Sum(), in[0].Narrow(0, 0, 20).IsIn(set.Narrow(0, 0, n)).Sum()}
		}, x)
		require.NoError(t, err)
		outs, err := c.With(tensor.Values{n: 4}).Run(ctx, x)
		require.NoError(t, err)
		g := data[float32](t, outs[0])
		require.InDeltaSlice(t, []float32{3.48, 3.5, 3.52, 3.54, 0, 0}, g[29*6:], 1e-5) // 2x
		require.EqualValues(t, []int32{60}, data[int32](t, outs[1].To(dtype.I32).Reshape(1)))
		require.EqualValues(t, []int32{1}, data[int32](t, outs[2].To(dtype.I32).Reshape(1)))
	}
}

package tensor_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Derivatives of derivatives are those of differences: where a formula of a derivative uses the result, that changes as well.
func TestSecondDerivativesOfLinearAlgebra(t *testing.T) {
	const n, h = 3, 1e-5
	r := rand.New(rand.NewPCG(7, 1))
	values, along := make([]float64, n*n), make([]float64, n*n)
	for i := range values {
		values[i], along[i] = r.NormFloat64(), r.NormFloat64()
		if i%(n+1) == 0 {
			values[i] += float64(3 + i)
		}
	}
	weights := tensor.Arange(n*n).To(dtype.F64).Add(1).Reshape(n, n).Div(7)
	spd := func(x *tensor.Tensor) *tensor.Tensor { return x.MatMul(x.T()) }
	weighed := func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(weights.ShrinkTo(x.Dim(0), x.Dim(1))).Sum() }
	b := weights.Narrow(1, 0, 2)
	qr := func(x *tensor.Tensor) *tensor.Tensor {
		q, r := x.QR(false)
		return weighed(q).Add(weighed(r))
	}
	lu := func(x *tensor.Tensor) *tensor.Tensor {
		_, l, u := x.LU()
		return weighed(l).Add(weighed(u))
	}
	for name, f := range map[string]func(x *tensor.Tensor) *tensor.Tensor{
		"Inv":             func(x *tensor.Tensor) *tensor.Tensor { return weighed(x.Inv()) },
		"Solve":           func(x *tensor.Tensor) *tensor.Tensor { return weighed(x.Solve(b.Mul(x.Narrow(1, 0, 2)))) },
		"SolveTriangular": func(x *tensor.Tensor) *tensor.Tensor { return weighed(x.SolveTriangular(b, true, false)) },
		"Det":             func(x *tensor.Tensor) *tensor.Tensor { return tensor.BlockDiag(x, x).Det() },
		"LogDet":          func(x *tensor.Tensor) *tensor.Tensor { return spd(x).LogDet().Square() },
		"Cholesky":        func(x *tensor.Tensor) *tensor.Tensor { return weighed(spd(x).Cholesky()) },
		"Eigh": func(x *tensor.Tensor) *tensor.Tensor {
			w, v := spd(x).Eigh(false)
			return w.Mul(w).Mul(weights.Select(0, 0)).Sum().Add(weighed(v.Square()))
		},
		"SVD": func(x *tensor.Tensor) *tensor.Tensor {
			u, s, vt := x.Narrow(1, 0, 2).SVD(false)
			return s.Mul(s).Mul(s).Sum().Add(weighed(u.Square())).Add(weighed(vt.Square()))
		},
		"SVD of all vectors": func(x *tensor.Tensor) *tensor.Tensor { // the last of which have any signs
			u, _, _ := x.Narrow(1, 0, 1).SVD(true)
			return weighed(u.Mul(tensor.From([]float64{1, 3, 3})).MatMul(u.T()))
		},
		"Eigvalsh":       func(x *tensor.Tensor) *tensor.Tensor { return spd(x).Mul(0.2).Eigvalsh(false).Exp().Sum() },
		"Lstsq":          func(x *tensor.Tensor) *tensor.Tensor { return weighed(x.Narrow(1, 0, 2).Lstsq(b)) },
		"SingularValues": func(x *tensor.Tensor) *tensor.Tensor { return x.SingularValues().Exp().Sum() },
		"PInv":           func(x *tensor.Tensor) *tensor.Tensor { return weighed(x.Narrow(1, 0, 2).PInv(0, 0)) },
		"QR":             func(x *tensor.Tensor) *tensor.Tensor { return qr(x) },
		"QR of tall":     func(x *tensor.Tensor) *tensor.Tensor { return qr(x.Narrow(1, 0, 2)) },
		"QR of wide":     func(x *tensor.Tensor) *tensor.Tensor { return qr(x.Narrow(0, 0, 2)) },
		"LU":             func(x *tensor.Tensor) *tensor.Tensor { return lu(x) },
		"LU of tall":     func(x *tensor.Tensor) *tensor.Tensor { return lu(x.Narrow(1, 0, 2)) },
		"LU of wide":     func(x *tensor.Tensor) *tensor.Tensor { return lu(x.Narrow(0, 0, 2)) },
	} {
		t.Run(name, func(t *testing.T) {
			moved := func(step float64) *tensor.Tensor {
				at := make([]float64, len(values))
				for i := range at {
					at[i] = values[i] + step*along[i]
				}
				return tensor.Of(at, n, n)
			}
			slope := func(step float64) *tensor.Tensor {
				x := moved(step)
				return f(x).Grad(x)[0]
			}
			rise := data[float64](t, f(moved(h)).Sub(f(moved(-h))).Div(2*h))[0]
			first := data[float64](t, slope(0).Mul(tensor.Of(along, n, n)).Sum())[0]
			require.InDelta(t, rise, first, 1e-6*max(1, math.Abs(rise)), "the first derivative")
			want := slope(h).Sub(slope(-h)).Div(2 * h)
			x := tensor.Of(values, n, n)
			direction := tensor.Of(along, n, n)
			slopeOf := func(in ...*tensor.Tensor) []*tensor.Tensor { return f(in[0]).Grad(in[0]) }
			_, forward := tensor.JVP(slopeOf, []*tensor.Tensor{x}, []*tensor.Tensor{direction})
			wants := data[float64](t, want)
			most := 0.0
			for _, w := range wants {
				most = max(most, math.Abs(w))
			}
			for how, got := range map[string]*tensor.Tensor{"backward": f(x).Grad(x)[0].Mul(direction).Sum().Grad(x)[0], "forward": forward[0]} {
				gots := data[float64](t, got)
				for i := range wants {
					require.InDelta(t, wants[i], gots[i], 1e-5*max(1, most), "%s: element %d", how, i)
				}
			}
		})
	}
}

// A derivative of a law has the law again, so that all orders are right.
func TestDerivativesOfHighOrder(t *testing.T) {
	x := tensor.Of([]float64{3}, 1, 1)
	y := x.Inv().Sum()
	for _, want := range []float64{-1. / 9, 2. / 27, -6. / 81, 24. / 243, -120. / 729} { // −1/x², 2/x³, −6/x⁴, 24/x⁵, −120/x⁶
		y = y.Grad(x)[0].Sum()
		require.InDelta(t, want, data[float64](t, y)[0], 1e-12)
	}
}

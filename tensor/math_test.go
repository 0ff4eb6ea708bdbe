package tensor_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// unary are the float functions, with Go's own and where to try them.
var unary = map[string]struct {
	f      func(x *tensor.Tensor) *tensor.Tensor
	want   func(x float64) float64
	lo, hi float64
}{
	"exp":      {(*tensor.Tensor).Exp, math.Exp, -85, 85},
	"expm1":    {(*tensor.Tensor).Expm1, math.Expm1, -20, 20},
	"log":      {(*tensor.Tensor).Log, math.Log, 1e-3, 1e3},
	"log1p":    {(*tensor.Tensor).Log1p, math.Log1p, -0.99, 10},
	"log10":    {(*tensor.Tensor).Log10, math.Log10, 1e-3, 1e3},
	"sin":      {(*tensor.Tensor).Sin, math.Sin, -10, 10},
	"cos":      {(*tensor.Tensor).Cos, math.Cos, -10, 10},
	"tan":      {(*tensor.Tensor).Tan, math.Tan, -1.4, 1.4},
	"asin":     {(*tensor.Tensor).Asin, math.Asin, -1, 1},
	"acos":     {(*tensor.Tensor).Acos, math.Acos, -1, 1},
	"atan":     {(*tensor.Tensor).Atan, math.Atan, -20, 20},
	"sinh":     {(*tensor.Tensor).Sinh, math.Sinh, -20, 20},
	"cosh":     {(*tensor.Tensor).Cosh, math.Cosh, -20, 20},
	"tanh":     {(*tensor.Tensor).Tanh, math.Tanh, -12, 12},
	"asinh":    {(*tensor.Tensor).Asinh, math.Asinh, -1e3, 1e3},
	"acosh":    {(*tensor.Tensor).Acosh, math.Acosh, 1, 1e3},
	"atanh":    {(*tensor.Tensor).Atanh, math.Atanh, -0.99, 0.99},
	"erf":      {(*tensor.Tensor).Erf, math.Erf, -5, 5},
	"erfc":     {(*tensor.Tensor).Erfc, math.Erfc, -3, 8},
	"sqrt":     {(*tensor.Tensor).Sqrt, math.Sqrt, 0, 100},
	"rsqrt":    {(*tensor.Tensor).Rsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, 0.01, 100},
	"sigmoid":  {(*tensor.Tensor).Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -30, 30},
	"softplus": {func(x *tensor.Tensor) *tensor.Tensor { return x.Softplus(1) }, func(x float64) float64 { return math.Log1p(math.Exp(x)) }, -30, 19},
	"gelu":     {(*tensor.Tensor).GELU, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }, -1, 6},
	"gelutanh": {(*tensor.Tensor).GELUTanh, func(x float64) float64 {
		return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}, -1, 6},
	"silu":   {(*tensor.Tensor).SiLU, func(x float64) float64 { return x / (1 + math.Exp(-x)) }, -20, 20},
	"elu":    {func(x *tensor.Tensor) *tensor.Tensor { return x.ELU(1) }, func(x float64) float64 { return max(x, 0) + math.Expm1(min(x, 0)) }, -10, 10},
	"pow1.7": {func(x *tensor.Tensor) *tensor.Tensor { return x.Pow(1.7) }, func(x float64) float64 { return math.Pow(x, 1.7) }, 0, 1e3},
}

func TestUnaryPrecision(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(unary)) {
		c := unary[name]
		r := rand.New(rand.NewPCG(1, 2))
		const points = 5000
		x64, x32 := make([]float64, points), make([]float32, points)
		for i := range x64 {
			x := c.lo + (c.hi-c.lo)*r.Float64()
			if i%3 == 0 && c.lo <= 0 && c.hi > 0 { // near zero too
				x *= math.Pow(10, -6*r.Float64())
			}
			x32[i] = float32(x)
			x64[i] = x
		}
		for d, tol := range map[dtype.DType]float64{dtype.F32: 2e-6, dtype.F64: 2e-13} {
			x := tensor.Of(x64)
			if d == dtype.F32 {
				x = tensor.Of(x32)
			}
			in, got := values(t, x), values(t, c.f(x))
			grad := values(t, c.f(x).Sum().Grad(x)[0])
			for i := range in {
				want := c.want(in[i])
				if !(math.Abs(got[i]-want) <= tol*math.Max(math.Abs(want), 1e-3)) {
					t.Errorf("%s(%v) %v: %v, want %v", name, in[i], d, got[i], want)
				}
				if d == dtype.F64 && in[i] > c.lo+1e-2 && in[i] < c.hi-1e-2 {
					h := 1e-6 * math.Max(math.Abs(in[i]), 1e-2)
					diff := (c.want(in[i]+h) - c.want(in[i]-h)) / (2 * h)
					if !(math.Abs(diff-grad[i]) <= 1e-5*(1+math.Abs(diff))) {
						t.Errorf("gradient of %s at %v: %v, want %v", name, in[i], grad[i], diff)
					}
				}
			}
		}
	}
}

// Where two formulas meet and beside 0, digits are lost first.
func TestUnitsInTheLastPlace(t *testing.T) {
	ulp := func(d dtype.DType, v float64) float64 {
		if d == dtype.F32 {
			f := float32(math.Abs(v))
			return float64(math.Nextafter32(f, 9) - f)
		}
		return math.Nextafter(math.Abs(v), 9) - math.Abs(v)
	}
	for name, most := range map[string]float64{"tanh": 2.5, "erf": 2.5} {
		c := unary[name]
		var at []float64
		for i := range 40000 {
			x := 7 * float64(i-20000) / 20000
			at = append(at, x, x/1000)
		}
		for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
			x := tensor.Of(at).To(d)
			got := values(t, c.f(x))
			worst := 0.
			for i, v := range values(t, x) {
				want := c.want(v)
				worst = max(worst, math.Abs(got[i]-want)/ulp(d, want))
			}
			if worst > most {
				t.Errorf("%s %v: off by %.2f units in the last place", name, d, worst)
			}
		}
	}
}

// Sines, cosines and tangents of large float32 have the digits that their docs say, on every device: also beside multiples of π/2,
// where the result is small or large.
func TestAnglesOfManyTurns(t *testing.T) {
	for _, device := range []string{"REF", "INTERP", "WASM", "CPU"} {
		t.Run(device, func(t *testing.T) {
			_, err := engine.Use(device)
			need.Device(t, device, err)
			for _, most := range []float64{10, 1e4, 1e6, 4e6, 1e8, 1e30} {
				manyTurns(t, device, most)
			}
		})
	}
}

func manyTurns(t *testing.T, device string, most float64) {
	r := rand.New(rand.NewPCG(1, 2))
	at := make([]float32, 3000)
	for i := range at {
		x := most * (0.5 + 0.5*r.Float64())
		if i%2 == 0 {
			x = math.Round(x/(math.Pi/2)) * (math.Pi / 2)
		}
		at[i] = float32(math.Min(x, most*(1-1e-7)))
		if i%3 == 0 {
			at[i] = -at[i]
		}
	}
	x := tensor.Of(at, len(at)).On(device)
	for _, c := range []struct {
		name      string
		got       *tensor.Tensor
		want      func(float64) float64
		ulps, far float64 // far: absolute, beyond 4e6
	}{{"sin", x.Sin(), math.Sin, 3, 0}, {"cos", x.Cos(), math.Cos, 2, 4e-7}, {"tan", x.Tan(), math.Tan, 4, math.Inf(1)}} {
		got := data[float32](t, c.got)
		for i, v := range at {
			want := c.want(float64(v))
			size := float32(math.Abs(want))
			tol := c.ulps * float64(math.Nextafter32(size, float32(math.Inf(1)))-size)
			if most > 4e6 {
				tol = max(tol, c.far)
			}
			if d := math.Abs(float64(got[i]) - want); !(d <= tol) {
				t.Fatalf("%s of %v: %v, want %v within %v", c.name, v, got[i], want, tol)
			}
		}
	}
}

// A long division of 41 steps filled more kernels than one, none of which it was left out of where nothing needs it.
func TestRemainderIsOneKernel(t *testing.T) {
	x, _ := line(t, "NULL", 1000)
	x = x.To(dtype.F64)
	for _, y := range []*tensor.Tensor{x.Fmod(x.Abs().Add(1)), x.Mod(x.Abs().Add(1)), x.FloorDiv(3)} {
		view, err := y.Schedule()
		require.NoError(t, err)
		require.Len(t, view.Plan.Kernels, 1)
	}
}

var inf, nan = math.Inf(1), math.NaN()

func TestSpecialValues(t *testing.T) {
	x := tensor.Of([]float64{-inf, -1, math.Copysign(0, -1), 0, 1, inf, nan}).To(dtype.F32)
	same(t, []float64{0, float64(float32(math.Exp(-1))), 1, 1, float64(float32(math.E)), inf, nan}, x.Exp())
	same(t, []float64{nan, nan, -inf, -inf, 0, inf, nan}, x.Log())
	same(t, []float64{-1, -1, 0, 0, 1, 1, 0}, x.Sign())
	same(t, []float64{0, 0, 0, 0, 1, inf, nan}, x.ReLU())
	same(t, []float64{-1, -1, 0, 0, 1, 1, nan}, x.Clamp(-1, 1))
	same(t, []float64{inf, 1, 0, 0, 1, inf, nan}, x.Abs())
	same(t, []float64{nan}, x.Max())
	same(t, []float64{nan}, x.Min())
	near(t, []float64{-1, -math.Tanh(1), 0, 0, math.Tanh(1), 1, nan}, x.Tanh(), 1e-6)
	near(t, []float64{-1, math.Erf(-1), 0, 0, math.Erf(1), 1, nan}, x.Erf(), 1e-6)
	near(t, []float64{-math.Pi / 2, -math.Pi / 4, 0, 0, math.Pi / 4, math.Pi / 2, nan}, x.Atan(), 1e-6)
	near(t, []float64{0, 1 / (1 + math.E), 0.5, 0.5, math.E / (1 + math.E), 1, nan}, x.Sigmoid(), 1e-6)
	near(t, []float64{nan, -inf, 0, 0, math.Ln2, inf, nan}, x.Log1p(), 1e-6)
	near(t, []float64{-1, math.Expm1(-1), 0, 0, math.Expm1(1), inf, nan}, x.Expm1(), 1e-6)
	same(t, []float64{0, 0, 0, 0, 0, 0, 1}, x.IsNaN())
	same(t, []float64{1, 0, 0, 0, 0, 1, 0}, x.IsInf())
	same(t, []float64{0, 1, 1, 1, 1, 0, 0}, x.IsFinite())
	same(t, []float64{0, 0, 0, 0, 1, 1, 0}, x.Ge(1))
	same(t, []float64{1, 1, 1, 1, 1, 0, 0}, x.Le(1))
	same(t, []float64{1, 1, 1, 1, 0, 1, 1}, x.Ne(1))
	same(t, []float64{nan, nan, nan, nan, nan, nan, nan}, x.Maximum(nan))
	same(t, []float64{-2147483648, -1, 0, 0, 1, 2147483647, 0}, x.To(dtype.I32))
	same(t, []float64{0, 0, 0, 0, 1, 255, 0}, x.To(dtype.U8))
	same(t, []float64{nan, nan}, f32(float32(-inf), float32(-inf)).Softmax(0))
	same(t, []float64{-inf}, f32(float32(-inf), float32(-inf)).LogSumExp())
	same(t, []float64{inf}, f32(float32(inf), 1).LogSumExp())
	near(t, []float64{3e38, 0}, f32(3e38, -3e38).GELUTanh(), 1e-6)
	same(t, []float64{nan, nan, nan, nan, 0, inf}, f32(float32(-inf), -1e30, -1e6, 0, 1, float32(inf)).Acosh())
	y := f32(-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, -2.7, 2.7)
	same(t, []float64{-2, -2, 0, 0, 2, 2, -3, 3}, y.Round())
	same(t, []float64{-3, -2, -1, 0, 1, 2, -3, 2}, y.Floor())
	same(t, []float64{-2, -1, 0, 1, 2, 3, -2, 3}, y.Ceil())
}

func TestIntegerArithmetic(t *testing.T) {
	x, y := tensor.From([]int{7, -7, 7, -7, 5}), tensor.From([]int{2, 2, -2, -2, 0})
	same(t, []float64{3, -4, -4, 3, 0}, x.FloorDiv(y))
	same(t, []float64{1, 1, -1, -1, 0}, x.Mod(y))
	same(t, []float64{3, -3, -3, 3, 0}, x.TruncDiv(y))
	same(t, []float64{1, -1, 1, -1, 0}, x.Fmod(y))
	require.Equal(t, dtype.F32, x.Div(y).DType())
	same(t, []float64{3.5, -3.5, -3.5, 3.5, inf}, x.Div(y))
	same(t, []float64{1, 2, 1.5, 0}, f32(7, -7, -1.5, 6).Mod(f32(3, 3, 3, 3)))
	same(t, []float64{1, -1, -1.5, 0}, f32(7, -7, -1.5, 6).Fmod(f32(3, 3, 3, 3)))
	same(t, []float64{9, -3}, tensor.Of([]float64{1, -7}).FloorDiv(tensor.Of([]float64{0.1, 3})))
	same(t, []float64{0, 8, -27, 1}, tensor.From([]int{2, 2, -3, -1}).Pow(tensor.From([]int{-1, 3, 3, -2})))
	same(t, []float64{44, 255}, tensor.Of([]uint8{0, 1}).Add(300).Sub(tensor.Of([]uint8{0, 46})))
	same(t, []float64{1, 1, nan, -8, 4, 1, nan}, f32(0, float32(nan), -8, -2, -2, 1, -1).Pow(f32(0, 0, 1./3, 3, 2, float32(nan), 0.5)))
	require.Equal(t, dtype.F32, x.Add(1.5).DType())
	require.Equal(t, dtype.F16, tensor.Zeros(2).To(dtype.F16).Add(1.5).DType())
	require.Equal(t, dtype.I16, tensor.Of([]int8{1}).Add(tensor.Of([]uint8{1})).DType())
	require.Equal(t, dtype.I32, tensor.Of([]bool{true}).Add(1).DType())
	require.Equal(t, dtype.U32, tensor.Of([]uint8{200, 100}).Sum().DType())
	same(t, []float64{300}, tensor.Of([]uint8{200, 100}).Sum())
}

// Quotients of more digits than a float has: the remainder is exact all the same.
func TestLongQuotients(t *testing.T) {
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		x, y := []float64{1e9, -1e9, 1e12, 3e7, 16777217 * 64, 5, -5, 5, -5, 0}, []float64{0.1, 0.1, 7, -0.7, 3, inf, inf, -inf, -inf, -inf}
		a, b := tensor.Of(x).To(d), tensor.Of(y).To(d)
		x, y = values(t, a), values(t, b)
		fmod, mod, floor := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
		for i := range x {
			fmod[i] = math.Mod(x[i], y[i])
			mod[i], floor[i] = fmod[i], math.Floor(x[i]/y[i])
			if fmod[i] != 0 && (fmod[i] < 0) != (y[i] < 0) {
				mod[i] += y[i]
				floor[i] = math.Min(floor[i], -1) // by an infinity too
			}
		}
		same(t, fmod, a.Fmod(b), d)
		near(t, mod, a.Mod(b), 1e-7, d)
		near(t, floor, a.FloorDiv(b), 1e-7, d)
	}
}

// Quotients as long as floats allow, and longer than any float: remainders are exact.
func TestLongestQuotients(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for d, edges := range map[dtype.DType][]float64{
		dtype.F32: {0x1p-149, 0x1p-126, 0x1.8p-148, 1e-45, 1e-38, 1e-10, 0.1, 1, 2, 3, 7, 1 << 24, 1e10, 1e20, 3e38, 0x1.fffffep127, 0x1.fffffep-1, 0, inf, nan},
		dtype.F64: {0x1p-1074, 0x1p-1022, 0x1.8p-1073, 1e-300, 1e-38, 0.1, 1, 3, 7, 1 << 53, 1e30, 1e300, math.MaxFloat64, 0x1.fffffffffffffp-1, 0, inf, nan},
	} {
		for range 20 {
			f := math.Ldexp(1+r.Float64(), r.IntN(250)-130)
			if d == dtype.F64 {
				f = math.Ldexp(1+r.Float64(), r.IntN(2000)-1000)
			}
			edges = append(edges, f)
		}
		for i, f := range edges {
			edges[i] = uop.FloatValue(d, f).Float()
		}
		var x, y, want []float64
		for _, a := range edges {
			for _, b := range edges {
				x, y = append(x, a, -a), append(y, b, b)
				want = append(want, math.Mod(a, b), math.Mod(-a, b))
			}
		}
		same(t, want, tensor.Of(x).To(d).Fmod(tensor.Of(y).To(d)), d)
	}
}

// The tangent has digits beside its poles too.
func TestTangentAtPoles(t *testing.T) {
	var in []float64
	for k := -20; k <= 20; k++ {
		for _, off := range []float64{1e-5, -1e-3, 0.02, 0.7} {
			in = append(in, (float64(k)+0.5)*math.Pi+off)
		}
	}
	in = append(in, 9999.5, -12345.678, 3e4, 1e6)
	for d, tol := range map[dtype.DType]float64{dtype.F32: 1e-6, dtype.F64: 1e-13} {
		x := tensor.Of(in).To(d)
		exact, got := values(t, x), values(t, x.Tan())
		for i := range got {
			if want := math.Tan(exact[i]); !(math.Abs(got[i]-want) <= tol*math.Abs(want)) {
				t.Errorf("tan(%v) %v: %v, want %v", exact[i], d, got[i], want)
			}
		}
	}
}

// Odd functions and remainders keep the sign of a zero, and a quotient of which nothing is left has its own, as in C and PyTorch.
func TestSignsOfZeros(t *testing.T) {
	minus := math.Copysign(0, -1)
	for _, d := range []dtype.DType{dtype.F32, dtype.F64} {
		x := tensor.Of([]float64{minus, 0}).To(d)
		for name, y := range map[string]*tensor.Tensor{
			"Asin": x.Asin(), "Atan": x.Atan(), "Asinh": x.Asinh(), "Atanh": x.Atanh(), "ErfInv": x.ErfInv(), "Log1p": x.Log1p(), "Tan": x.Tan(),
			"Sin": x.Sin(), "Sinh": x.Sinh(), "Tanh": x.Tanh(), "Erf": x.Erf(), "Expm1": x.Expm1(), "Sqrt": x.Sqrt(), "Trunc": x.Trunc(),
			"Fmod": x.Fmod(2), "Fmod of −inf": x.Fmod(-inf), "Mod": x.Mod(2), "FloorDiv": x.FloorDiv(3), "FloorDiv of inf": x.FloorDiv(inf),
		} {
			same(t, []float64{-inf, inf}, y.Reciprocal(), name)
		}
		small := tensor.Of([]float64{-1, 1, 0, 0}).To(d).FloorDiv(tensor.Of([]float64{-2.5, 2.5, -2, -inf}).To(d))
		same(t, []float64{inf, inf, -inf, -inf}, small.Reciprocal())
	}
}

// The angle of a point at the origin, or so near that its square is 0, counts as fixed; behind their limits hard functions are straight, up to
// infinity.
func TestGradientsAtTheEdge(t *testing.T) {
	y, x := f32(0, float32(math.Copysign(0, -1)), 1e-30, 0, 3), f32(0, 0, 0, 1e-30, 4)
	g := y.Atan2(x).Sum().Grad(y, x)
	near(t, []float64{0, 0, 0, 0, 0.16}, g[0], 1e-6)
	near(t, []float64{0, 0, 0, 0, -0.12}, g[1], 1e-6)
	z := f32(float32(-inf), -4, -3, -1.5, 0, 3, 4, float32(inf), float32(nan))
	near(t, []float64{0, 0, 0, 0, 0.5, 1, 1, 1, 1}, z.HardSwish().Sum().Grad(z)[0], 1e-6)
}

// An axis of one element: its softmax is 1 whatever the element, and the gradient exactly 0.
func TestSoftmaxOfOne(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x, w := make([]float32, 100), make([]float32, 100)
	for i := range x {
		x[i], w[i] = float32(r.NormFloat64()), float32(r.NormFloat64())
	}
	a, seed := tensor.Of(x).Reshape(100, 1), tensor.Of(w).Reshape(100, 1)
	same(t, make([]float64, 100), a.LogSoftmax(1).GradWith(seed, a)[0])
	same(t, make([]float64, 100), a.Softmax(1).GradWith(seed, a)[0])
}

func TestReductions(t *testing.T) {
	x := f32(1, 5, 3, 4, 2, 6).Reshape(2, 3)
	same(t, []float64{21}, x.Sum())
	same(t, []float64{9, 12}, x.Sum(1))
	require.Equal(t, []int{2, 1}, x.SumKeep(-1).Shape())
	same(t, []float64{4, 10, 18}, x.Prod(0))
	same(t, []float64{5, 6}, x.Max(1))
	same(t, []float64{1, 2}, x.Min(1))
	same(t, []float64{1, 2}, x.ArgMax(1))
	same(t, []float64{5}, x.ArgMax())
	same(t, []float64{0, 1}, x.ArgMin(1))
	same(t, []float64{3, 4}, x.Mean(1))
	same(t, []float64{4, 4}, x.Var(1, 1))
	same(t, []float64{2, 2}, x.Std(1, 1))
	same(t, []float64{1}, x.Any())
	same(t, []float64{0}, x.Sub(1).All())
	near(t, []float64{math.Log(math.Exp(1) + math.Exp(5) + math.Exp(3))}, x.At(0).LogSumExp(), 1e-6)
	near(t, []float64{1}, x.At(0).Softmax(0).Sum(), 1e-6)
	near(t, values(t, x.Softmax(1).Log()), x.LogSoftmax(1), 1e-6)
	v, i := x.MaxIndex(1)
	same(t, []float64{5, 6}, v)
	same(t, []float64{1, 2}, i)
	empty := tensor.Zeros(0, 3)
	same(t, []float64{0, 0, 0}, empty.Sum(0))
	same(t, []float64{1, 1, 1}, empty.Prod(0))
	same(t, []float64{nan, nan, nan}, empty.Mean(0))
	same(t, []float64{nan}, f32(1).Var(1))
}

func TestProducts(t *testing.T) {
	a, b := tensor.Arange(6).Reshape(2, 3), tensor.Arange(12).Reshape(3, 4)
	same(t, []float64{20, 23, 26, 29, 56, 68, 80, 92}, a.MatMul(b))
	same(t, values(t, a.MatMul(b)), tensor.Einsum("ij,jk->ik", a, b))
	same(t, values(t, a.MatMul(b)), tensor.Einsum("ij,jk", a, b))
	same(t, []float64{5, 14}, a.MatMul(tensor.Arange(3)))
	same(t, []float64{5}, tensor.Arange(3).MatMul(tensor.Arange(3)))
	require.Equal(t, []int{5, 2, 4}, tensor.Zeros(5, 2, 3).MatMul(tensor.Zeros(3, 4)).Shape())
	require.Equal(t, []int{5, 7, 2, 4}, tensor.Zeros(5, 1, 2, 3).MatMul(tensor.Zeros(7, 3, 4)).Shape())
	same(t, []float64{0 + 4}, tensor.Einsum("ii", a.At(tensor.All, tensor.R(0, 2))))
	same(t, values(t, a.T()), tensor.Einsum("ij->ji", a))
	same(t, []float64{15}, tensor.Einsum("ij->", a))
	c := tensor.Arange(8).Reshape(2, 2, 2)
	same(t, values(t, c.MatMul(c)), tensor.Einsum("...ij,...jk->...ik", c, c))
	same(t, values(t, a.MatMul(b).MatMul(b.T())), tensor.Einsum("ij,jk,lk->il", a, b, b))
	same(t, values(t, a.Sum(0).Unsqueeze(0).MatMul(b).Squeeze()), tensor.Einsum("ij,jk->k", a, b))
	m := tensor.Of([]float32{1, 2, 3, 4}, 2, 2)
	same(t, values(t, m.MatrixPower(7)), tensor.Einsum("ab,bc,cd,de,ef,fg,gh->ah", m, m, m, m, m, m, m))
	same(t, []float64{0, 0, 0, 4}, tensor.Zeros(2, 0).MatMul(tensor.Zeros(0, 2)).Add(f32(0, 0, 0, 4).Reshape(2, 2)))
	same(t, []float64{6, 15}, a.To(dtype.F32).Linear(f32(1, 1, 1).Reshape(1, 3), f32(3)))
}

// A tensor that was only given another shape has its history.
func TestGradientOfShape(t *testing.T) {
	for _, x := range []*tensor.Tensor{f32(1, 2, 3, 4), f32(1, 2, 3, 4).Reshape(1, 4), tensor.From([][]float32{{1, 2, 3, 4}})} {
		same(t, []float64{5, 6, 7, 8}, x.Reshape(2, 2).GradWith(tensor.From([][]float32{{5, 6}, {7, 8}}), x)[0])
		same(t, []float64{5, 6, 7, 8}, x.GradWith(f32(5, 6, 7, 8).Reshape(x.Shape()...), x)[0])
	}
	y := f32(3)
	same(t, []float64{1}, y.Reshape().Grad(y)[0])
}

func TestGradients(t *testing.T) {
	x, y := tensor.Eye(3), tensor.Of([]float32{2, 0, -2}, 1, 3)
	require.NoError(t, x.Realize(ctx))
	z := y.MatMul(x).Sum()
	g := z.Grad(x, y)
	same(t, []float64{2, 2, 2, 0, 0, 0, -2, -2, -2}, g[0])
	same(t, []float64{1, 1, 1}, g[1])

	w := f32(2)
	same(t, []float64{7}, w.Mul(w).Add(w.Mul(3)).Add(1).Sum().Grad(w)[0])
	near(t, []float64{0.8}, w.Square().Add(1).Log().Sum().Grad(w)[0], 1e-6)
	v := f32(1, 2, 3, 4)
	v.Sum().Backward(v)
	v.Mul(2).Sum().Backward(v)
	same(t, []float64{3, 3, 3, 3}, v.Gradient())

	r := tensor.Rand(6).Reshape(2, 3) // a reshape may be asked for
	same(t, []float64{2, 2, 2, 2, 2, 2}, r.Reshape(6).Mul(2).Sum().Grad(r)[0])
	loss := r.Square().Sum()
	require.NoError(t, r.Realize(ctx)) // after the loss was built
	same(t, values(t, r.Mul(2)), loss.Grad(r)[0])
	n := f32(1, 2)
	n.Assign(n.Mul(3))
	same(t, []float64{6, 12}, n.Square().Sum().Grad(n)[0])
	same(t, []float64{0}, w.Sum().Grad(f32(1))[0])
	require.Error(t, tensor.Try(func() { v.Grad(v) }))
	require.Error(t, tensor.Try(func() { tensor.Arange(3).Sum().Grad(v) }))
}

// Of several operands those come first whose product is small: a matrix and two vectors make no product of matrices, in whatever
// order they stand.
func TestEinsumOrder(t *testing.T) {
	x, w, v := tensor.Rand(64, 64).On("INTERP"), tensor.Rand(64, 64).On("INTERP"), tensor.Rand(64).On("INTERP")
	require.NoError(t, tensor.Realize(ctx, x, w, v)) // the schedules are of products alone, whatever the default device is
	for _, f := range []func() *tensor.Tensor{
		func() *tensor.Tensor { return tensor.Einsum("ij,kj,k->i", x, w, v) },
		func() *tensor.Tensor { return tensor.Einsum("k,ij,kj->i", v, x, w) },
		func() *tensor.Tensor { return tensor.Einsum("ij,kl->j", x, w) },
	} {
		s, err := tensor.Schedule(f())
		require.NoError(t, err)
		require.Less(t, s.Flops(), int64(20*64*64))
	}
}

// A number times the power of ten may be beyond the type, and so may the power.
func TestRoundToNearTheLargest(t *testing.T) {
	near(t, []float64{100, 65.5, 70}, f32(100, 65.5, 70).To(dtype.F16).RoundTo(3).To(dtype.F32), 0)
	near(t, []float64{7000, -7000}, f32(7000, -7000).To(dtype.F16).RoundTo(1).To(dtype.F32), 0)
	near(t, []float64{1 << 127}, f32(1<<127).To(dtype.BF16).RoundTo(2).To(dtype.F32), 0)
	near(t, []float64{math.MaxFloat32, -math.MaxFloat32, 1.25, 0}, f32(math.MaxFloat32, -math.MaxFloat32, 1.25, 0).RoundTo(5), 0)
	near(t, []float64{1e300, 1.5, 0, math.Inf(1), math.NaN()}, tensor.Of([]float64{1e300, 1.5, 0, math.Inf(1), math.NaN()}).RoundTo(20), 0)
	near(t, []float64{1.25, 0}, f32(1.25, 0).RoundTo(60), 0)
	near(t, []float64{0, 1000, -2000}, f32(12, 1234, -1501).To(dtype.F16).RoundTo(-3).To(dtype.F32), 0)
	near(t, []float64{0, 0}, f32(12, 3e38).RoundTo(-60), 0)
	x := f32(math.MaxFloat32, 1.25)
	near(t, []float64{0, 0}, x.RoundTo(1).Sum().Grad(x)[0], 0)
}

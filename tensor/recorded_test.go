package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

func f64(v ...float64) *tensor.Tensor { return tensor.Of(v) }

// risen is 0, 1, … of float64.
func risen(shape ...int) *tensor.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return tensor.ArangeOf(dtype.F64, 0, n, 1).Reshape(shape...)
}

// Values and slopes of functions, as PyTorch 2.15 has them, in float64; in float32 as near as that is.
func TestBesselAndNormal(t *testing.T) {
	inf := math.Inf(1)
	x, z := f64(0, 0.5, -1.5, 3, -7.9, 8.1, -20, 60), f64(0, 0.5, -0.5, 2, -2, -6, -11, -40, 9, inf)
	for name, c := range map[string]struct {
		x             *tensor.Tensor
		f             func(x *tensor.Tensor) *tensor.Tensor
		value, slopes []float64
	}{
		"I0":      {x, (*tensor.Tensor).I0, []float64{1, 1.06348337, 1.64672319, 4.88079259, 389.406283, 469.500607, 43558282.6, 5.89407706e+24}, []float64{0, 0.257894305, -0.981666429, 3.95337022, -363.853944, 439.484309, -42454973.4, 5.84475159e+24}},
		"I0e":     {x, (*tensor.Tensor).I0e, []float64{1, 0.64503527, 0.367433609, 0.243000354, 0.144369864, 0.142511809, 0.0897803119, 0.0516115492}, []float64{0, -0.488614467, 0.148394222, -0.0461736409, 0.0094733647, -0.00911112116, 0.0022740897, -0.000431918985}},
		"I1":      {x, (*tensor.Tensor).I1, []float64{0, 0.257894305, -0.981666429, 3.95337022, -363.853944, 439.484309, -42454973.4, 5.84475159e+24}, []float64{0.5, 0.54769476, 0.992278904, 3.56300251, 343.348822, 415.243285, 41435533.9, 5.79666453e+24}},
		"I1e":     {x, (*tensor.Tensor).I1e, []float64{0, 0.156420803, -0.219039387, 0.196826713, -0.134896499, 0.133400688, -0.0875062222, 0.0511796302}, []float64{0.5, 0.175772861, 0.00236796335, -0.0194352636, -0.00760214156, -0.00735809962, -0.00210122141, -0.000421074852}},
		"Ndtr":    {z, (*tensor.Tensor).Ndtr, []float64{0.5, 0.691462461, 0.308537539, 0.977249868, 0.0227501319, 9.86587645e-10, 0, 0, 1, 1}, []float64{0.39894228, 0.352065327, 0.352065327, 0.0539909665, 0.0539909665, 6.07588285e-09, 2.11881925e-27, 0, 1.02797736e-18, 0}},
		"LogNdtr": {z, (*tensor.Tensor).LogNdtr, []float64{-0.693147181, -0.368946415, -1.17591176, -0.0230129093, -3.78318433, -20.7367689, -63.8249341, -804.608442, -1.12858841e-19, -0}, []float64{0.797884561, 0.509160434, 1.14107777, 0.0552478627, 2.37321553, 6.1584826, 11.089465, 40.0249688, 1.02797736e-18, 0}},
	} {
		y := c.f(c.x)
		near(t, c.value, y, 3e-9, name)
		near(t, c.slopes, y.Sum().Grad(c.x)[0], 3e-9, name)
		w := c.x.To(dtype.F32)
		near(t, c.value, c.f(w), 1e-6, name)
		near(t, c.slopes, c.f(w).Sum().Grad(w)[0], 3e-6, name)
	}
	near(t, []float64{math.NaN(), math.Inf(-1)}, f32(float32(math.NaN()), float32(-inf)).LogNdtr(), 0)
	near(t, []float64{inf, -inf}, f32(100, -100).I1().Mul(1), 0)
	near(t, []float64{5.27734373e-05, 0.0547593161, 0.518844545, 1, 0.518844545, 0.0547593161}, tensor.KaiserWindow(6, true, 12, dtype.F32), 1e-6)
	near(t, []float64{0.0367108881, 0.552851558, 1, 0.552851558, 0.0367108881}, tensor.KaiserWindow(5, false, 5, dtype.F32), 1e-6)
	same(t, []float64{1}, tensor.KaiserWindow(1, true, 12, dtype.F32))
}

// Floats taken apart and put together, as PyTorch 2.15 does it.
func TestFloatsByTheirBits(t *testing.T) {
	x := f32(1.5, -6, 0.1, 0, 1e30, -1e-30)
	m, e := x.Frexp()
	near(t, []float64{0.75, -0.75, 0.800000012, 0, 0.788860917, -0.633825302}, m, 1e-7)
	same(t, []float64{1, 3, -3, 0, 100, -99}, e)
	near(t, []float64{0.5, 0.125, 8, 1, 7.88860905e-31, 6.338253e+29}, m.Sum().Grad(x)[0], 1e-6)
	same(t, values(t, x), m.Ldexp(e))
	a, b := f64(0.1, -3e300).Frexp()
	part, power := math.Frexp(-3e300)
	same(t, []float64{0.8, part}, a)
	same(t, []float64{-3, float64(power)}, b)
	near(t, []float64{12, -1, 3.52648306, 1.39379658e+12}, f32(1.5, -2, 3e38, 1e-30).Ldexp(tensor.Of([]int32{3, -1, -126, 140})), 1e-6)
	from, to := f32(1, 1, -1, 0, 0, 3, 1e-45), f32(2, 0, 0, 1, -1, 3, -1)
	same(t, []float64{1065353217, 1065353215, -1082130433, 1, -2147483647, 1077936128, 0}, from.NextAfter(to).Bitcast(dtype.I32))
	same(t, []float64{1.0009765625, 0.99951171875}, f32(1, 1).To(dtype.F16).NextAfter(f32(2, -2).To(dtype.F16)))
	same(t, []float64{math.Nextafter(7, 8)}, f64(7).NextAfter(8.))
	require.True(t, math.IsNaN(values(t, f32(float32(math.NaN())).NextAfter(1))[0]))
}

// The factors of matrices that are square, high and wide, and their derivatives, as PyTorch 2.15 gives them.
func TestLU(t *testing.T) {
	a, b := f64(1, 2, 0.5, 4, -1, 3, 2, 5, -2).Reshape(3, 3), f64(1, 2, 4, -1, 2, 5).Reshape(3, 2)
	for i, c := range []struct {
		a             *tensor.Tensor
		p, l, u, grad []float64
	}{
		{a, []float64{0, 0, 1, 1, 0, 0, 0, 1, 0}, []float64{1, 0, 0, 0.5, 1, 0, 0.25, 0.409090909, 1}, []float64{4, -1, 3, 0, 5.5, -3.5, 0, 0, 1.18181818}, []float64{0.648796474, -0.529307143, -0.790196929, 0.800307431, -0.520116414, -1.20974843, -0.896222582, 0.496408091, 1.1425516}},
		{b, []float64{0, 0, 1, 1, 0, 0, 0, 1, 0}, []float64{1, 0, 0.5, 1, 0.25, 0.409090909}, []float64{4, -1, 0, 5.5}, []float64{0.11455965, 0.174576416, 0.694441987, -0.108132941, -0.417373283, -0.679500634}},
		{b.T(), []float64{0, 1, 1, 0}, []float64{1, 0, 0.5, 1}, []float64{2, -1, 5, 0, 4.5, -0.5}, []float64{-2.40328262, 0.279873351, 0.819289219, 1.71603657, -0.544175829, -1.24566647}},
	} {
		p, l, u := c.a.LU()
		same(t, c.p, p, i)
		near(t, c.l, l, 1e-8, i)
		near(t, c.u, u, 1e-8, i)
		near(t, values(t, c.a), p.MatMul(l).MatMul(u), 1e-14, i)
		weight := func(x *tensor.Tensor) *tensor.Tensor { return risen(x.Shape()...).Add(1).Cos() }
		loss := l.Mul(weight(l)).Sum().Add(u.Mul(weight(u).Sin()).Sum())
		near(t, c.grad, loss.Grad(c.a)[0], 1e-7, i)
	}
	side := f64(1, 2, 3, 4, 5, 7).Reshape(3, 2)
	p, l, u := a.LU()
	near(t, values(t, a.Solve(side)), u.SolveTriangular(l.SolveTriangular(p.T().MatMul(side), false, true), true, false), 1e-12)
	many := tensor.Stack(0, a, a.Flip(0), tensor.Zeros(3, 3).To(dtype.F64))
	p, l, u = many.LU()
	near(t, values(t, many), p.MatMul(l).MatMul(u), 1e-14)
}

// Systems that are solved otherwise, as PyTorch 2.15 does it.
func TestOtherSystems(t *testing.T) {
	a, b := f64(1, 2, 4, -1, 2, 5).Reshape(3, 2), f64(1, 2, -1)
	x := a.Lstsq(b)
	near(t, []float64{0.441696113, -0.284452297}, x, 1e-8)
	g := x.Mul(f64(1, 2)).Sum().Grad(a, b)
	near(t, []float64{-0.0361098278, 0.108922574, -0.0184357402, 0.00797862378, -0.165921662, 0.071807614}, g[0], 1e-7)
	near(t, []float64{0.144876325, 0.038869258, 0.349823322}, g[1], 1e-7)
	near(t, []float64{0.144876325, 0.038869258, 0.349823322}, a.T().Lstsq(b.Narrow(0, 0, 2)), 1e-8)
	c := risen(6, 6).Mul(1.7).Sin().Add(tensor.Eye(6).To(dtype.F64).Mul(3))
	near(t, []float64{-0.716860546, 0.767324437, 0.763557335, 0.427597543, 2.05413749, 1.20937782}, c.Reshape(2, 3, 3, 2).TensorSolve(risen(2, 3)), 1e-7)
	near(t, []float64{0.369415786, -0.193751864, 0.0138452697, 0.190184091, -0.0628536157, -0.173987406}, c.Reshape(2, 3, 6).TensorInv(2).Select(0, 0), 1e-7)
	require.ErrorContains(t, tensor.Try(func() { c.TensorInv(2) }), "leave no rows or no columns")
	require.ErrorContains(t, tensor.Try(func() { c.TensorSolve(f64(1, 2)) }), "as many elements")
}

// Choices, pairs and norms, as PyTorch 2.15 has them.
func TestChoicesAndPairs(t *testing.T) {
	same(t, []float64{1, 2, 3, 1, 2, 4, 1, 3, 4, 2, 3, 4}, tensor.Of([]int32{1, 2, 3, 4}).Combinations(3, false))
	same(t, []float64{1, 1, 1, 2, 1, 3, 2, 2, 2, 3, 3, 3}, tensor.Of([]int32{1, 2, 3}).Combinations(2, true))
	require.Equal(t, []int{0, 4}, tensor.Of([]int32{1, 2, 3}).Combinations(4, false).Shape())
	at := tensor.Of([]int32{0, 5, 11, 23}).UnravelIndex(2, 3, 4)
	same(t, []float64{0, 0, 0, 1}, at[0])
	same(t, []float64{0, 1, 2, 2}, at[1])
	same(t, []float64{0, 1, 3, 3}, at[2])
	x := risen(3, 4).Add(1).Cos()
	y := x.Renorm(2, 0, 1)
	near(t, []float64{0.39485064, -0.304118348, -0.723482329, -0.477679993, 0.224822315, 0.761002762, 0.597520779, -0.115319052, -0.607919038, -0.559840429, 0.00295288849, 0.563031334}, y, 1e-8)
	near(t, []float64{0.932000878, 0.498979771, 0.0760350704, 0.33755288, 0.567766317, -0.119490376, 0.110782866, 0.892385273, 0.347179609, 0.380718406, 0.66818516, 0.749914838}, y.Sin().Sum().Grad(x)[0], 1e-8)
	near(t, []float64{0.155698204, -0.0939218537, -0.283126712, -0.198917995, 0.0817425586, 0.216704695, 0.21560756, -0.0442788303, -0.262559208, -0.189373429, 0.00126569981, 0.256803145}, x.Renorm(1, 1, 0.5), 1e-8)
	near(t, []float64{2.29335833, 2.34880567, 2.4910512}, x.PDist(2), 1e-6)
	near(t, []float64{3.88499558, 4.36627303, 4.73286481}, x.PDist(1), 1e-8)
	p, q, w := risen(2, 3).Cos(), risen(2, 4).Sin(), risen(2, 3, 4).Sin()
	near(t, []float64{1.65192485, -0.688474596, -0.317747176, -2.67918229}, p.Bilinear(q, w, f64(0.5, -1)), 1e-7)
	require.Equal(t, []int{5, 2, 2}, p.Expand(5, 2, 3).Bilinear(q.Expand(5, 2, 4), w, nil).Shape())
}

// Choices that there are none of, or too many to build, end at once.
func TestCombinationsOfTooMany(t *testing.T) {
	x := tensor.Arange(40)
	require.Equal(t, []int{0, 41}, x.Combinations(41, false).Shape())
	require.Equal(t, []int{40, 39}, x.Combinations(39, false).Shape())
	require.Equal(t, []int{0, 2}, tensor.Arange(0).Combinations(2, true).Shape())
	for _, r := range []int{20, 1 << 40} {
		require.ErrorContains(t, tensor.Try(func() { x.Combinations(r, true) }), "would be built one by one")
	}
}

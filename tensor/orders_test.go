package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// orderly are functions of single elements with their first derivatives, second, third and so on, as mpmath has them.
var orderly = []struct {
	name string
	f    func(x *tensor.Tensor) *tensor.Tensor
	at   []float64
	want [][]float64
}{
	{"Exp", (*tensor.Tensor).Exp, []float64{0, 1}, [][]float64{
		{1, 2.71828182846},
		{1, 2.71828182846},
		{1, 2.71828182846},
		{1, 2.71828182846},
	}},
	{"Expm1", (*tensor.Tensor).Expm1, []float64{0, 0.25, 1}, [][]float64{
		{1, 1.28402541669, 2.71828182846},
		{1, 1.28402541669, 2.71828182846},
		{1, 1.28402541669, 2.71828182846},
		{1, 1.28402541669, 2.71828182846},
	}},
	{"Sigmoid", (*tensor.Tensor).Sigmoid, []float64{0, 1, -3}, [][]float64{
		{0.25, 0.196611933241, 0.0451766597309},
		{0, -0.0908577476729, 0.0408915746609},
		{-0.125, -0.0353255805162, 0.0329310762243},
		{0, 0.123506861366, 0.0187234376091},
	}},
	{"SiLU", (*tensor.Tensor).SiLU, []float64{0, 1, -3}, [][]float64{
		{0.5, 0.927670511871, -0.0881041060152},
		{0.5, 0.30236611881, -0.032321404521},
		{0, -0.307898823535, 0.0238814953101},
		{-0.5, -0.0177954606985, 0.0755539920697},
	}},
	{"Tanh", (*tensor.Tensor).Tanh, []float64{0, 0.25, 1, -2}, [][]float64{
		{1, 0.940014848806, 0.419974341614, 0.0706508248532},
		{0, -0.460454358819, -0.639700008449, 0.136218687427},
		{-2, -1.54170810063, 0.621626680771, 0.252654065098},
		{0, 3.35218977857, 0.665091044751, 0.429387198183},
	}},
	{"GELU", (*tensor.Tensor).GELU, []float64{0, 0.05, 1, -2}, [][]float64{
		{0.5, 0.539861001543, 1.08331547059, -0.0852318010782},
		{0.797884560803, 0.795891718404, 0.241970724519, -0.107981933026},
		{0, -0.0796389773297, -0.725912173557, 0},
		{-1.59576912161, -1.58680537816, 0.483941449038, 0.431927732106},
	}},
	{"GELUTanh", (*tensor.Tensor).GELUTanh, []float64{0, 1, -2}, [][]float64{
		{0.5, 1.08296408385, -0.0860992566236},
		{0.797884560803, 0.242148197984, -0.107875079951},
		{0, -0.721720391788, 0.00573317840402},
		{-1.60366745226, 0.490100652104, 0.43215120787},
	}},
	{"QuickGELU", (*tensor.Tensor).QuickGELU, []float64{0, 1, -2}, [][]float64{
		{0.5, 1.06777960656, -0.0738153543085},
		{0.851, 0.182672991502, -0.062795773966},
		{0, -0.644055333768, 0.00350784115821},
		{-2.465180204, 0.987052771, 0.193079459991},
	}},
	{"Softplus", func(x *tensor.Tensor) *tensor.Tensor { return x.Softplus(1) }, []float64{0, 1, -3}, [][]float64{
		{0.5, 0.73105857863, 0.0474258731776},
		{0.25, 0.196611933241, 0.0451766597309},
		{0, -0.0908577476729, 0.0408915746609},
		{-0.125, -0.0353255805162, 0.0329310762243},
	}},
	{"Mish", (*tensor.Tensor).Mish, []float64{0, 1, -3}, [][]float64{
		{0.6, 1.0490362201, -0.0933931145323},
		{0.64, 0.184685764473, -0.0399287132421},
		{-0.096, -0.515328537546, 0.0146732390163},
		{-1.1008, 0.466351540322, 0.0689300458574},
	}},
	{"ELU", func(x *tensor.Tensor) *tensor.Tensor { return x.ELU(1) }, []float64{-1, -0.25}, [][]float64{
		{0.367879441171, 0.778800783071},
		{0.367879441171, 0.778800783071},
		{0.367879441171, 0.778800783071},
		{0.367879441171, 0.778800783071},
	}},
	{"Sinc", (*tensor.Tensor).Sinc, []float64{0.001, 0.25, 0.5, -0.5, 1.5, -2.5}, [][]float64{
		{-0.00328986488673, -0.772838139882, -1.27323954474, 1.27323954474, 0.141471060526, 0.0509295817894},
		{-3.28985839279, -2.70306075726, -1.19022712824, -1.19022712824, 1.90576702169, -1.215893396},
		{0.0194817953166, 4.52127228855, 7.14136276943, -7.14136276943, -3.81153404338, -1.45907207521},
		{19.4817495362, 15.3586373831, 4.88165120513, 4.88165120513, -10.5067603378, 10.0679953518},
	}},
	{"Lgamma", (*tensor.Tensor).Lgamma, []float64{1, 2, 5, -0.5, 1.5, 0.25}, [][]float64{
		{-0.577215664902, 0.422784335098, 1.50611766843, 0.0364899739786, 0.0364899739786, -4.22745353338},
		{1.64493406685, 0.644934066848, 0.221322955737, 8.93480220054, 0.934802200545, 17.1973291545},
		{-2.40411380632, -0.404113806319, -0.0487897322451, -0.828796644234, -0.828796644234, -129.327739938},
		{6.49393940227, 0.493939402267, 0.0214278281928, 193.409091034, 1.409091034, 1538.78214401},
	}},
	{"Digamma", (*tensor.Tensor).Digamma, []float64{1, 2, -0.5, 1.5}, [][]float64{
		{1.64493406685, 0.644934066848, 8.93480220054, 0.934802200545},
		{-2.40411380632, -0.404113806319, -0.828796644234, -0.828796644234},
		{6.49393940227, 0.493939402267, 193.409091034, 1.409091034},
		{-24.8862661234, -0.886266123441, -3.47424982667, -3.47424982667},
	}},
	{"I0", (*tensor.Tensor).I0, []float64{0, 0.001, 0.5, -0.5, 1, 3, 10}, [][]float64{
		{0, 0.0005000000625, 0.257894305391, -0.257894305391, 0.565159103992, 3.9533702174, 2670.9883037},
		{0.5, 0.5000001875, 0.54769475996, 0.54769475996, 0.70090677376, 3.5630025134, 2548.6177981},
		{0, 0.000375000052083, 0.194082007035, -0.194082007035, 0.429411434225, 3.20496607043, 2442.83640693},
		{0.375, 0.37500015625, 0.414779939311, 0.414779939311, 0.542990679068, 2.99361658791, 2349.96453676},
	}},
	{"I1", (*tensor.Tensor).I1, []float64{0, 0.001, 0.5, -0.5, 1, 3, 10}, [][]float64{
		{0.5, 0.5000001875, 0.54769475996, 0.54769475996, 0.70090677376, 3.5630025134, 2548.6177981},
		{0, 0.000375000052083, 0.194082007035, -0.194082007035, 0.429411434225, 3.20496607043, 2442.83640693},
		{0.375, 0.37500015625, 0.414779939311, 0.414779939311, 0.542990679068, 2.99361658791, 2349.96453676},
		{0, 0.000312500045573, 0.162011052308, -0.162011052308, 0.360169039231, 2.77647979995, 2267.43593165},
	}},
	{"I0e", (*tensor.Tensor).I0e, []float64{0.5, -0.5, 1, 3, 10}, [][]float64{
		{-0.488614467264, 0.488614467264, -0.257849192244, -0.0461736408645, -0.00657065577897},
		{0.664387328159, 0.664387328159, 0.307787969138, 0.0267383772966, 0.0010150434195},
		{-1.05463716537, 1.05463716537, -0.457604299821, -0.0251286985931, -0.000261898789209},
		{1.79322404135, 1.79322404135, 0.749081653413, 0.0308221336183, 9.48455054314e-5},
	}},
	{"I1e", (*tensor.Tensor).I1e, []float64{0.5, -0.5, 1, 3, 10}, [][]float64{
		{0.175772860895, 0.175772860895, 0.0499387768942, -0.0194352635679, -0.00555561235947},
		{-0.390249837208, 0.390249837208, -0.149816330683, 0.0016096787035, 0.000753144630291},
		{0.738586875982, 0.738586875982, 0.291477353593, 0.00569343502521, -0.000167053283778},
		{-1.374096057, 1.374096057, -0.542178168321, -0.0132846817255, 5.05454448426e-5},
	}},
	{"ErfInv", (*tensor.Tensor).ErfInv, []float64{0, 1e-08, 0.5, -0.5}, [][]float64{
		{0.886226925453, 0.886226925453, 1.11258481897, 1.11258481897},
		{0, 1.39208199921e-8, 1.18074634999, -1.18074634999},
		{1.39208199921, 1.39208199921, 5.26058253926, 5.26058253926},
		{0, 1.53067410367e-7, 28.4412500445, -28.4412500445},
	}},
	{"Erf", (*tensor.Tensor).Erf, []float64{0, 0.5, -2}, [][]float64{
		{1.1283791671, 0.878782578935, 0.0206669853541},
		{0, -0.878782578935, 0.0826679414164},
		{-2.25675833419, -0.878782578935, 0.289337794957},
		{0, 4.39391289468, 0.826679414164},
	}},
	{"Erfc", (*tensor.Tensor).Erfc, []float64{0, 0.5, -2}, [][]float64{
		{-1.1283791671, -0.878782578935, -0.0206669853541},
		{0, 0.878782578935, -0.0826679414164},
		{2.25675833419, 0.878782578935, -0.289337794957},
		{0, -4.39391289468, -0.826679414164},
	}},
	{"Cosh", (*tensor.Tensor).Cosh, []float64{0, 0.5, -2}, [][]float64{
		{0, 0.521095305494, -3.62686040785},
		{1, 1.12762596521, 3.76219569108},
		{0, 0.521095305494, -3.62686040785},
		{1, 1.12762596521, 3.76219569108},
	}},
	{"Sinh", (*tensor.Tensor).Sinh, []float64{0, 0.5, -2}, [][]float64{
		{1, 1.12762596521, 3.76219569108},
		{0, 0.521095305494, -3.62686040785},
		{1, 1.12762596521, 3.76219569108},
		{0, 0.521095305494, -3.62686040785},
	}},
	{"Tan", (*tensor.Tensor).Tan, []float64{0, 0.5, -1}, [][]float64{
		{1, 1.29844641041, 3.42551882081},
		{0, 1.41868901387, -10.669858945},
		{2, 4.92199284259, 56.7029998673},
		{0, 16.4303438351, -395.918195798},
	}},
	{"Asinh", (*tensor.Tensor).Asinh, []float64{0, 0.5, -2}, [][]float64{
		{1, 0.894427191, 0.4472135955},
		{0, -0.3577708764, 0.1788854382},
		{-1, -0.28621670112, 0.12521980674},
		{0, 1.71730020672, 0.10733126292},
	}},
	{"Atan", (*tensor.Tensor).Atan, []float64{0, 0.5, -2}, [][]float64{
		{1, 0.8, 0.2},
		{0, -0.64, 0.16},
		{-2, -0.256, 0.176},
		{0, 3.6864, 0.2304},
	}},
	{"Acos", (*tensor.Tensor).Acos, []float64{0, 0.5}, [][]float64{
		{-1, -1.15470053838},
		{0, -0.76980035892},
		{-1, -3.07920143568},
		{0, -14.3696066998},
	}},
	{"LogNdtr", (*tensor.Tensor).LogNdtr, []float64{0, 2, -2, -5, -12}, [][]float64{
		{0.797884560803, 0.055247862679, 2.37321553282, 5.18650396713, 12.0822141753},
		{-0.636619772368, -0.113548051689, -0.885720899586, -0.967303565383, -0.993329273664},
		{0.218013614145, 0.184394815032, 0.0593558612916, 0.0108257645064, 0.00106860269604},
		{0.114770682054, -0.187854685612, 0.0394219938659, 0.00508783697389, 0.000253514560897},
	}},
	{"Pow.5", func(x *tensor.Tensor) *tensor.Tensor { return x.Pow(0.5) }, []float64{1, 2}, [][]float64{
		{0.5, 0.353553390593},
		{-0.25, -0.0883883476483},
		{0.375, 0.0662912607362},
		{-0.9375, -0.0828640759203},
	}},
	{"Pow2.5", func(x *tensor.Tensor) *tensor.Tensor { return x.Pow(2.5) }, []float64{1, 2}, [][]float64{
		{2.5, 7.07106781187},
		{3.75, 5.3033008589},
		{1.875, 1.32582521472},
		{-0.9375, -0.331456303681},
	}},
	{"RPow2", func(x *tensor.Tensor) *tensor.Tensor { return x.RPow(2.0) }, []float64{0, 1, -1}, [][]float64{
		{0.69314718056, 1.38629436112, 0.34657359028},
		{0.480453013918, 0.960906027836, 0.240226506959},
		{0.333024651989, 0.666049303978, 0.166512325994},
		{0.230835098583, 0.461670197166, 0.115417549292},
	}},
	{"Pow-2", func(x *tensor.Tensor) *tensor.Tensor { return x.Pow(-2.0) }, []float64{1, -2}, [][]float64{
		{-2, 0.25},
		{6, 0.375},
		{-24, 0.75},
		{120, 1.875},
	}},
}

// sloped are the derivatives of Σ f, one after the other, in reverse, and the tangent of the gradient of each order along ones.
func sloped(f func(x *tensor.Tensor) *tensor.Tensor, x *tensor.Tensor, orders int) (reverse, forward []*tensor.Tensor) {
	nth := func(k int) tensor.Fn {
		return func(in ...*tensor.Tensor) []*tensor.Tensor {
			y := f(in[0])
			for range k {
				y = y.Sum().Grad(in[0])[0]
			}
			return ts{y}
		}
	}
	for k := range orders {
		_, moved := tensor.JVP(nth(k), ts{x}, ts{tensor.OnesLike(x)})
		if moved[0] == nil {
			moved[0] = tensor.ZerosLike(x)
		}
		reverse, forward = append(reverse, nth(k + 1)(x)[0]), append(forward, moved[0])
	}
	return reverse, forward
}

// Derivatives of all orders are right, of those too that are stated.
func TestDerivativesOfDerivatives(t *testing.T) {
	for _, c := range orderly {
		t.Run(c.name, func(t *testing.T) {
			for _, d := range []dtype.DType{dtype.F64, dtype.F32} {
				x := tensor.Of(c.at).To(d)
				reverse, forward := sloped(c.f, x, len(c.want))
				for k, want := range c.want {
					tol := 1e-8 * math.Pow(20, float64(k))
					if d == dtype.F32 {
						if k > 1 {
							break
						}
						tol = 1e-5 * math.Pow(20, float64(k))
					}
					near(t, want, reverse[k], tol, "%v, order %d, reverse", d, k+1)
					near(t, want, forward[k], tol, "%v, order %d, tangent", d, k+1)
				}
			}
		})
	}
}

// What is flat, or straight, has second derivatives of 0, whatever the parts of a formula that do not count would have.
func TestSecondDerivativesFarOut(t *testing.T) {
	for name, c := range map[string]struct {
		f  func(x *tensor.Tensor) *tensor.Tensor
		at []float32
	}{
		"Sigmoid":   {(*tensor.Tensor).Sigmoid, []float32{-89, -100, -1e10, 100, 1e10}},
		"SiLU":      {(*tensor.Tensor).SiLU, []float32{-95, -110, 110, 1e10, -1e10}},
		"QuickGELU": {(*tensor.Tensor).QuickGELU, []float32{-95, 110, 1e10, -1e10}},
		"GELUTanh":  {(*tensor.Tensor).GELUTanh, []float32{-50, 50, -88.8}},
		"GELU":      {(*tensor.Tensor).GELU, []float32{20, -20, 100, -1e10}},
		"Tanh":      {(*tensor.Tensor).Tanh, []float32{50, -50, 1e10, -1e10}},
		"Mish":      {(*tensor.Tensor).Mish, []float32{110, 1e10, -110}},
		"Softplus":  {func(x *tensor.Tensor) *tensor.Tensor { return x.Softplus(1) }, []float32{110, 1e10, -110}},
		"Erf":       {(*tensor.Tensor).Erf, []float32{20, -20, 1e10}},
		"ELU":       {func(x *tensor.Tensor) *tensor.Tensor { return x.ELU(1) }, []float32{80, 89, 100, 1e10, -110}},
		"SELU":      {(*tensor.Tensor).SELU, []float32{80, 89, 100, 1e10, -110}},
		"CELU":      {func(x *tensor.Tensor) *tensor.Tensor { return x.CELU(2) }, []float32{89, 180, 1e10, -300}},
	} {
		t.Run(name, func(t *testing.T) {
			x := f32(c.at...)
			reverse, forward := sloped(c.f, x, 3)
			for k := 1; k < 3; k++ {
				near(t, make([]float64, len(c.at)), reverse[k], 1e-30, "order %d, reverse", k+1)
				near(t, make([]float64, len(c.at)), forward[k], 1e-30, "order %d, tangent", k+1)
			}
		})
	}
}

// bent is the product of the Hessian of f with a vector, in reverse, which must be the tangent of the gradient as well.
func bent(t *testing.T, f func(x *tensor.Tensor) *tensor.Tensor, x, v *tensor.Tensor) []float64 {
	t.Helper()
	hv := f(x).Grad(x)[0].Mul(v).Sum().Grad(x)[0]
	_, moved := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor { return f(in[0]).Grad(in[0]) }, ts{x}, ts{v})
	near(t, floats(t, hv), moved[0], 1e-12, "tangent of the gradient")
	return floats(t, hv)
}

// Powers of tensors to tensors, also of the base 1 and to the exponents 0 and 1.
func TestSecondDerivativesOfPowers(t *testing.T) {
	b := []float64{1, 1, 2, 2, 3, 1, 0.5}
	e := []float64{2.5, 0, 0, 1, 2, 1, -1}
	x, y := tensor.Of(b), tensor.Of(e)
	g := x.Pow(y).Sum().Grad(x, y)
	xx, xy := g[0].Sum().Grad(x, y)[0], g[0].Sum().Grad(x, y)[1]
	yy := g[1].Sum().Grad(y)[0]
	var wxx, wxy, wyy []float64
	for i := range b {
		b, e := b[i], e[i]
		wxx = append(wxx, e*(e-1)*math.Pow(b, e-2))
		wxy = append(wxy, math.Pow(b, e-1)*(1+e*math.Log(b)))
		wyy = append(wyy, math.Pow(b, e)*math.Log(b)*math.Log(b))
	}
	near(t, wxx, xx, 1e-12, "twice by the base")
	near(t, wxy, xy, 1e-12, "by base and exponent")
	near(t, wxy, g[1].Sum().Grad(x)[0], 1e-12, "by exponent and base")
	near(t, wyy, yy, 1e-12, "twice by the exponent")

	inf := math.Inf(1)
	at := tensor.Of([]float64{0, inf, 1e200})
	near(t, []float64{-inf, 0, 0}, at.Pow(-2.0).Sum().Grad(at)[0], 0)
	at = tensor.Of([]float64{0, -1})
	_, bend := sloped(func(x *tensor.Tensor) *tensor.Tensor { return x.Pow(0.5) }, at, 2)
	near(t, []float64{-inf, math.NaN()}, bend[1], 0)
	_, bend = sloped(func(x *tensor.Tensor) *tensor.Tensor { return x.Pow(tensor.Full(3, dtype.F64, 2)) }, at, 3)
	near(t, []float64{6, 6}, bend[2], 1e-12)
	for _, p := range []float64{0.5, 1.5, 3} { // of ones all are alike: ∂²/∂x² = (p−1)·n^(1/p−2)·(n−1)
		x := tensor.Of([]float64{1, -1})
		hv := bent(t, func(x *tensor.Tensor) *tensor.Tensor { return x.Norm(p) }, x, tensor.Of([]float64{1, 0}))
		k := (p - 1) * math.Pow(2, 1/p-2)
		require.InDeltaSlice(t, []float64{k, k}, hv, 1e-12, "norm %v", p)
	}
}

// First derivatives far out, where a factor is too large for the type.
func TestSlopesFarOut(t *testing.T) {
	x := f32(3e38, -3e38)
	for name, y := range map[string]*tensor.Tensor{"SiLU": x.SiLU(), "QuickGELU": x.QuickGELU(), "Mish": x.Mish()} {
		near(t, []float64{2, 0}, y.Mul(2).Sum().Grad(x)[0], 0, name)
	}
	x = f32(100, 200, -200, 1e10)
	near(t, []float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(1)}, x.I0().Sum().Grad(x)[0], 0)
	near(t, []float64{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)}, x.I1().Sum().Grad(x)[0], 0)
}

// Beside zeros the derivatives of a product are products of the others.
func TestSecondDerivativesOfProducts(t *testing.T) {
	prod := func(x *tensor.Tensor) *tensor.Tensor { return x.Prod() }
	x := tensor.Of([]float64{3, 0, 2})
	require.Equal(t, []float64{2, 5, 3}, bent(t, prod, x, tensor.OnesLike(x)))
	x = tensor.Of([]float64{3, 0, 2, 0})
	require.Equal(t, []float64{0, 6, 0, 6}, bent(t, prod, x, tensor.OnesLike(x)))
	x = tensor.Of([]float64{3, 4, 2})
	require.Equal(t, []float64{6, 5, 7}, bent(t, prod, x, tensor.OnesLike(x)))
	x = tensor.Of([]float64{1, 2, 0, 3, 4, 0}, 2, 3)
	require.Equal(t, []float64{2, 1, 3, 4, 3, 7}, bent(t, func(x *tensor.Tensor) *tensor.Tensor { return x.Prod(1).Sum() }, x, tensor.OnesLike(x)))

	index := tensor.Of([]int32{0, 0, 1, 0})
	for _, c := range []struct{ base, want []float64 }{{[]float64{5, 7}, []float64{10, 25, 0, 15}}, {[]float64{0, 7}, []float64{0, 0, 0, 0}}} {
		x := tensor.Of([]float64{3, 0, 4, 2})
		scattered := func(x *tensor.Tensor) *tensor.Tensor {
			return tensor.Of(c.base).ScatterReduce(0, index, x, tensor.MergeProd, true).Sum()
		}
		require.Equal(t, c.want, bent(t, scattered, x, tensor.OnesLike(x)))
	}
	each := func(in ...*tensor.Tensor) []*tensor.Tensor { return prod(in[0]).Grad(in[0])[0].Sum().Grad(in[0]) }
	near(t, []float64{2, 3, 1, 7, 4, 3}, tensor.Vmap(each, tensor.VmapOptions{})(tensor.Of([]float64{1, 0, 2, 0, 3, 4}, 2, 3))[0], 0)
}

// Where a function has no derivative and that counts as 0, so does the next.
func TestSecondDerivativesOfNone(t *testing.T) {
	x := tensor.Of([]float64{0, 3})
	for name, c := range map[string]struct {
		f    func(x *tensor.Tensor) *tensor.Tensor
		want []float64
	}{
		"Hypot":     {func(x *tensor.Tensor) *tensor.Tensor { return x.Hypot(0.0).Sum() }, []float64{0, 0}},
		"Hypot, 4x": {func(x *tensor.Tensor) *tensor.Tensor { return x.Hypot(tensor.Of([]float64{0, 4})).Sum() }, []float64{0, 16. / 125}},
		"Atan2":     {func(x *tensor.Tensor) *tensor.Tensor { return x.Atan2(tensor.Of([]float64{0, 4})).Sum() }, []float64{0, -24. / 625}},
		"Xlogy":     {func(x *tensor.Tensor) *tensor.Tensor { return x.Xlogy(x).Sum() }, []float64{0, 1. / 3}},
		"Norm":      {func(x *tensor.Tensor) *tensor.Tensor { return x.Norm(1.5) }, []float64{0, 0}},
	} {
		require.InDeltaSlice(t, c.want, bent(t, c.f, x, tensor.OnesLike(x)), 1e-12, name)
	}
}

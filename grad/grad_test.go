package grad

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/uop"
)

func TestEveryOpHasALaw(t *testing.T) {
	for o := uop.Invalid + 1; o < uop.NumOps; o++ {
		require.NotNil(t, lawOf(o), "no gradient law for %v", o)
	}
}

func input(id uint64, shape ...int) *uop.UOp {
	return uop.NewBuffer(id, uop.Shape(shape).Numel(), "REF", dtype.F64).Reshape(shape...)
}

// check compares the gradients of Σ weights·y with central differences in float64.
func check(t *testing.T, name string, y *uop.UOp, data map[uint64][]float64, wrt ...*uop.UOp) {
	t.Helper()
	load := func(leaf *uop.UOp) []uop.Value {
		var out []uop.Value
		for _, f := range data[leaf.Arg().(uop.BufferArg).ID] {
			out = append(out, uop.FloatValue(dtype.F64, f))
		}
		return out
	}
	n := y.Shape().Numel()
	weight := make([]float64, n)
	for i := range weight {
		weight[i] = math.Cos(float64(3*i + 1))
	}
	data[99] = weight
	seed := input(99, y.Shape()...)
	axes := make([]int, len(y.Shape()))
	for i := range axes {
		axes[i] = i
	}
	loss := y.Mul(seed).Reduce(uop.Sum, axes...)
	gs := Of(y, seed, wrt...)
	for k, w := range wrt {
		require.True(t, w.Shape().Equal(gs[k].Shape()), name)
		got := ref.Eval(load, gs[k])[0]
		in := data[buffer(w).Arg().(uop.BufferArg).ID]
		for i := range in {
			const h = 1e-5
			old := in[i]
			in[i] = old + h
			up := ref.Eval(load, loss)[0][0].Float()
			in[i] = old - h
			down := ref.Eval(load, loss)[0][0].Float()
			in[i] = old
			want := (up - down) / (2 * h)
			if !(math.Abs(got[i].Float()-want) <= 1e-7*(1+math.Abs(want))) {
				require.InDelta(t, want, got[i].Float(), 1e-7, "%s: gradient %d, element %d", name, k, i)
			}
		}
	}
}

func random(n int) []float64 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	v := make([]float64, n)
	for i := range v {
		v[i] = r.Float64()*2 + 0.25
	}
	return v
}

func TestAgainstDifferences(t *testing.T) {
	x, y := input(1, 2, 3), input(2, 2, 3)
	s := input(3)
	index := uop.NewIota(4).Mod(uop.NewInt(dtype.Index, 3)).Reshape(1, 4).Expand(2, 4)
	value := input(4, 2, 4)
	one := x.Int(1)
	tuple := func(m uop.Monoid, part int, parts ...*uop.UOp) *uop.UOp {
		return x.Home().ReduceParts(m, []int{1}, parts...).Part(part)
	}
	wide := one.Reshape(1, 1).Expand(2, 3)
	linear := func(a, b *uop.UOp, axis int) *uop.UOp { return a.Home().ScanParts(uop.Linear, axis, a, b) }
	for name, c := range map[string]*uop.UOp{
		"add, scalar":       x.Add(s).Mul(y),
		"div":               x.Div(y).Div(s),
		"sqrt":              x.Sqrt(),
		"exp2":              x.Exp2(),
		"log2":              x.Log2(),
		"sin":               x.Sin(),
		"neg":               x.Neg().Sub(y),
		"max":               x.Max(y),
		"where":             x.Less(y).Where(x.Mul(x), y),
		"muladd":            x.MulAdd(y, s),
		"reshape, permute":  x.Reshape(3, 2).Permute(1, 0).Mul(y),
		"expand":            x.Reshape(2, 1, 3).Expand(2, 2, 3),
		"pad, shrink, flip": x.Pad([]int{1, 0}, []int{0, 2}).Shrink([]int{0, 1}, []int{2, 5}).Flip(1),
		"slide":             x.Slide(1, 0, 2, -1, 5).Mul(x.Slide(1, 0, 2, -1, 5)),
		"sum":               x.Mul(y).Reduce(uop.Sum, 1),
		"maxof":             x.Reduce(uop.MaxOf, 0),
		"prod":              x.Reduce(uop.Prod, 0, 1),
		"gather":            x.Gather(index, 1),
		"scatter sum":       x.Scatter(index, value, 1, uop.Sum),
		"scatter last":      x.Scatter(index, value, 1, uop.Last),
		"scatter max":       x.Scatter(index, value, 1, uop.MaxOf),
		"scatter prod":      x.Scatter(index, value, 1, uop.Prod),
		"argmax value":      tuple(uop.ArgMax, 0, x, uop.NewIota(3).Reshape(1, 3).Expand(2, 3)),
		"sumexp max":        tuple(uop.SumExp, 0, x, y),
		"sumexp sum":        tuple(uop.SumExp, 1, x, y),
		"mean":              tuple(uop.Moments, 1, wide, x, x.Int(0)),
		"M2":                tuple(uop.Moments, 2, wide, x, x.Int(0)),
		"scan sum":          x.Scan(uop.Sum, 1),
		"scan prod":         x.Mul(y).Scan(uop.Prod, 0).Scan(uop.Prod, 1),
		"scan max":          x.Scan(uop.MaxOf, 1),
		"scan linear":       linear(x, y, 1).Part(1),
		"scan linear, both": linear(x, y, 0).Part(1).Mul(linear(x, y, 0).Part(0)),
		"gradient of scans": Of(linear(x, y, 1).Part(1).Mul(x.Scan(uop.Prod, 1)), x, x)[0],
		"contiguous":        x.Contiguous().Mul(x),
		"derive":            x.Mul(x).Derive(x, x.Mul(x.Int(2))),
		"twice":             x.Mul(x).Mul(x).Add(x),
	} {
		check(t, name, c, map[uint64][]float64{1: random(6), 2: random(7)[:6], 3: random(1), 4: random(8)}, x, y, s, value)
	}
}

func TestZerosInProducts(t *testing.T) {
	x := input(1, 4)
	y := x.Reduce(uop.Prod, 0)
	check(t, "none", y, map[uint64][]float64{1: {2, 3, 4, 5}}, x)
	check(t, "one", y, map[uint64][]float64{1: {2, 0, 4, 5}}, x)
	check(t, "two", y, map[uint64][]float64{1: {2, 0, 0, 5}}, x)
}

// Gradients of gradients, and of these, beside zeros.
func TestZerosInDerivativesOfProducts(t *testing.T) {
	x, index := input(1, 2, 4), uop.NewIota(8).Cast(dtype.I32).Reshape(2, 4)
	some := index.Mod(index.Int(5)).Sub(index.Int(1)) // −1 and 3 are outside
	index = index.Mod(index.Int(3))
	base := input(2, 2, 3)
	weight := input(3, 2, 4)
	for name, y := range map[string]*uop.UOp{
		"all":     x.Reduce(uop.Prod, 0, 1),
		"rows":    x.Reduce(uop.Prod, 1).Reduce(uop.Sum, 0),
		"columns": x.Reduce(uop.Prod, 0).Reduce(uop.Sum, 0),
		"scatter": base.Scatter(index, x, 1, uop.Prod).Reduce(uop.Sum, 0, 1),
		"outside": base.Scatter(some, x, 1, uop.Prod).Reduce(uop.Sum, 0, 1),
		"running": x.Scan(uop.Prod, 1).Reduce(uop.Sum, 0, 1),
	} {
		for _, values := range [][]float64{{2, 3, 4, 5, 6, 7, 8, 9}, {2, 0, 4, 5, 6, 7, 8, 9}, {2, 0, 4, 0, 6, 7, 8, 9}, {0, 0, 0, 1, 0, 1, 2, 3}} {
			for _, first := range []float64{1, 0} {
				data := map[uint64][]float64{1: values, 2: {2, 3, first, first, 4, 5}, 3: {0.5, -1, 2, 1, 3, -0.5, 1, 1.5}}
				first := Of(y, y.Int(1), x)[0]
				check(t, name, first, data, x, base)
				check(t, name+", again", Of(first.Mul(weight).Reduce(uop.Sum, 0, 1), y.Int(1), x)[0], data, x, base)
			}
		}
	}
}

func TestZerosInRunningProducts(t *testing.T) {
	x := input(1, 4)
	y := x.Scan(uop.Prod, 0)
	check(t, "one", y, map[uint64][]float64{1: {2, 0, 4, 5}}, x)
	check(t, "two", y, map[uint64][]float64{1: {2, 0, 0, 5}}, x)
	check(t, "first and last", y, map[uint64][]float64{1: {0, 3, 2, 0}}, x)
}

func eval(u *uop.UOp, in ...float64) []float64 {
	load := func(*uop.UOp) []uop.Value {
		var v []uop.Value
		for _, f := range in {
			v = append(v, uop.FloatValue(u.DType(), f))
		}
		return v
	}
	var out []float64
	for _, v := range ref.Eval(load, u)[0] {
		out = append(out, v.Float())
	}
	return out
}

func TestTiesAndUnreached(t *testing.T) {
	x, y := input(1, 3), input(2, 3)
	g := Of(x.Reduce(uop.MaxOf, 0), x.Int(1), x, y)
	require.Equal(t, []float64{0.5, 0, 0.5}, eval(g[0], 7, 1, 7))
	require.Equal(t, []float64{0, 0, 0}, eval(g[1], 7, 1, 7))
	g = Of(x.Max(x.Int(0)), x.Int(1), x)
	require.Equal(t, []float64{0.5, 1, 0}, eval(g[0], 0, 2, -1))
	require.Equal(t, []float64{0, 0, 0}, eval(Of(x.Detach().Mul(x.Detach()), x.Int(1), x)[0], 1, 2, 3))
}

// Of a maximum with a sum of powers, what ties shares the maximum too: here are three of one number, and the gradient is not three
// times too large.
func TestTiesInSumsOfPowers(t *testing.T) {
	x, f := input(1, 1, 2), input(2, 3, 2)
	s := x.Expand(3, 2)
	for part := range 2 {
		y := x.Home().ReduceParts(uop.SumExp, []int{0}, s, f).Part(part)
		check(t, y.String(), y, map[uint64][]float64{1: {0.5, 2}, 2: random(6)}, x, f)
	}
}

// The gradient of a sum of products is the other factor, not a product with ones that would be stored.
func TestProductsAreNotMultipliedByOnes(t *testing.T) {
	a, b := input(1, 2, 3), input(2, 2, 3)
	y := a.Mul(b).Reduce(uop.Sum, 0, 1)
	gs := Of(y, y.Int(1), a, b)
	require.Equal(t, []*uop.UOp{b, a}, gs)
}

func TestSecondDerivative(t *testing.T) {
	x := input(1, 2)
	first := Of(x.Mul(x).Mul(x), x.Int(1), x)[0]
	second := Of(first, x.Int(1), x)[0]
	require.InDeltaSlice(t, []float64{12, 18}, eval(second, 2, 3), 1e-12)
}

package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

type ts = []*tensor.Tensor

// point is a place and a function there, whose derivatives torch.func computed in float64.
func point() (f tensor.Fn, x, w, tx, tw *tensor.Tensor) {
	x = tensor.Of([]float64{0.5, -1, 2, 1.5, 0.25, -0.75}, 2, 3)
	w = tensor.Of([]float64{0.1, -0.2, 0.3, 0.4, -0.5, 0.6}, 3, 2)
	tx = tensor.Of([]float64{1, 0, -1, 0.5, 2, 1}, 2, 3)
	tw = tensor.Of([]float64{0, 1, 1, -1, 0.5, 0.25}, 3, 2)
	f = func(in ...*tensor.Tensor) []*tensor.Tensor {
		return ts{in[0].MatMul(in[1]).Tanh().Softmax(-1).CumSum(0)}
	}
	return f, x, w, tx, tw
}

func TestVJPAndJVP(t *testing.T) {
	f, x, w, tx, tw := point()
	out, pull := tensor.VJP(f, x, w)
	near(t, []float64{0.18959385, 0.81040615, 0.94148416, 1.0585158}, out[0], 1e-7)
	g := pull(tensor.Of([]float64{1, 2, -3, 0.5}, 2, 2))
	near(t, []float64{-0.10716217, 0.11738266, 0.36026317, -0.13437057, 0.036436108, 0.49603373}, g[0], 1e-7)
	near(t, []float64{-0.79385678, 0.87875632, 0.077730832, -0.32898221, -0.039309146, 0.54807746}, g[1], 1e-7)
	out, moved := tensor.JVP(f, ts{x, w}, ts{tx, tw})
	near(t, []float64{0.18959385, 0.81040615, 0.94148416, 1.0585158}, out[0], 1e-7)
	near(t, []float64{-0.091180664, 0.091180664, -0.3845568, 0.3845568}, moved[0], 1e-7)
}

func TestHessianTimesVector(t *testing.T) {
	_, x, w, _, tw := point()
	slope := func(in ...*tensor.Tensor) []*tensor.Tensor {
		return x.MatMul(in[0]).Tanh().Pow(3).Sum().Sin().Grad(in[0])
	}
	_, hv := tensor.JVP(slope, ts{w}, ts{tw})
	want := []float64{0.84529246, 0.50612322, -0.39995802, -1.7632878, 0.70063704, 3.584348}
	near(t, want, hv[0], 1e-7)
	_, pull := tensor.VJP(slope, w) // the Hessian is symmetric
	near(t, want, pull(tw)[0], 1e-7)
}

func TestSameTensorTwice(t *testing.T) {
	x := f32(2, 3)
	_, pull := tensor.VJP(func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{in[0].Square().Mul(in[1])} }, x, x)
	g := pull(tensor.Ones(2))
	same(t, []float64{8, 18}, g[0])
	same(t, []float64{4, 9}, g[1])
}

func TestGradientOfEachExample(t *testing.T) {
	_, x, w, _, _ := point()
	each := func(in ...*tensor.Tensor) []*tensor.Tensor {
		return in[1].Reshape(1, 3).MatMul(in[0]).Tanh().Square().Sum().Grad(in[0])
	}
	rows := [][]float64{{-0.23787134, 0.38361616, 0.47574269, -0.76723231, -0.95148537, 1.5344646},
		{1.1464576, -1.1545334, 0.19107626, -0.19242224, -0.57322879, 0.57726671}}
	g := tensor.Vmap(each, tensor.VmapOptions{In: []int{tensor.Same, 0}})(w, x)[0]
	require.Equal(t, []int{2, 3, 2}, g.Shape())
	near(t, append(append([]float64{}, rows[0]...), rows[1]...), g, 1e-7)
	// The axis may be any, of arguments and of results.
	h := tensor.Vmap(each, tensor.VmapOptions{In: []int{tensor.Same, -1}, Out: []int{1}})(w, x.T())[0]
	require.Equal(t, []int{3, 2, 2}, h.Shape())
	near(t, append(append([]float64{}, rows[0]...), rows[1]...), h.Permute(1, 0, 2), 1e-7)
	// What does not depend on the arguments is repeated; what holds integers is handed through.
	many := tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{w.Sum(), in[0].ArgMax(0)} }, tensor.VmapOptions{})(x)
	require.Equal(t, []int{2}, many[0].Shape())
	near(t, []float64{0.7, 0.7}, many[0], 1e-7)
	same(t, []float64{2, 0}, many[1])
}

// A Jacobian is Vmap of a pullback over the rows of the identity, or of tangents over its columns.
func TestJacobians(t *testing.T) {
	x := tensor.Of([]float64{0.5, -1, 2})
	f := func(in ...*tensor.Tensor) []*tensor.Tensor {
		v, _ := in[0].Square().Sort(0, false)
		return ts{v.CumProd(0)}
	}
	want := []float64{1, 0, 0, 1, -0.5, 0, 4, -2, 1}
	_, pull := tensor.VJP(f, x)
	rows := tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor { return pull(in[0]) }, tensor.VmapOptions{})
	near(t, want, rows(tensor.Eye(3).To(dtype.F64))[0], 1e-12)
	columns := tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor {
		_, moved := tensor.JVP(f, ts{x}, ts{in[0]})
		return moved
	}, tensor.VmapOptions{Out: []int{1}})
	near(t, want, columns(tensor.Eye(3).To(dtype.F64))[0], 1e-12)
}

func TestDerivativesRefuse(t *testing.T) {
	x := tensor.Zeros(2, 3)
	for want, f := range map[string]func(){
		"JVP [3] [2 3]: tangent 0 must have the shape of its tensor":                    func() { tensor.JVP(nil, ts{x}, ts{tensor.Zeros(3)}) },
		"JVP: 0 tangents for 1 tensors":                                                 func() { tensor.JVP(nil, ts{x}, nil) },
		"tangent 0: only floats have derivatives":                                       func() { tensor.JVP(nil, ts{x.To(dtype.I32)}, ts{x}) },
		"Vmap [2 3] [3]: argument 1 has 3 elements on axis 0, the one before 2":         func() { tensor.Vmap(nil, tensor.VmapOptions{})(x, tensor.Zeros(3)) },
		"Vmap [2 3]: axis 2 is outside rank 2":                                          func() { tensor.Vmap(nil, tensor.VmapOptions{In: []int{2}})(x) },
		"Vmap: 1 axes for 2 arguments":                                                  func() { tensor.Vmap(nil, tensor.VmapOptions{In: []int{2}})(x, x) },
		"Vmap: all arguments are the same for all calls":                                func() { tensor.Vmap(nil, tensor.VmapOptions{In: []int{tensor.Same}})(x) },
		"Vmap [3]: store cannot be done for many arrays at once; an assignment belongs": func() { tensor.Vmap(assigns(x), tensor.VmapOptions{})(x) },
	} {
		require.ErrorContains(t, tensor.Try(f), want)
		require.ErrorContains(t, tensor.Try(f), "derivative_test.go:")
	}
	// No value can be read in a function whose graph is being made.
	tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor {
		_, err := in[0].ToList(ctx)
		assert.ErrorContains(t, err, "a value is asked for inside a function that is being differentiated or made for many arrays")
		return in
	}, tensor.VmapOptions{})(x)
}

func assigns(like *tensor.Tensor) tensor.Fn {
	state := tensor.ZerosLike(like).Select(0, 0).Own()
	return func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{state.Clone().Assign(in[0]).Mul(2)} }
}

func TestBackwardFindsLeaves(t *testing.T) {
	x, w, b := f32(1, 2), f32(3, 4).RequireGrad(), f32(0, 0).RequireGrad()
	other := f32(1).RequireGrad()
	x.Mul(w).Add(b).Square().Sum().Backward()
	same(t, []float64{6, 32}, w.Gradient())
	same(t, []float64{6, 16}, b.Gradient())
	require.Nil(t, other.Gradient())
	require.Nil(t, x.Gradient())
	// Gradients add up, with seeds too; an assignment does not take away that a tensor wants one.
	require.NoError(t, tensor.Realize(ctx, w.Gradient(), b.Gradient()))
	w.Assign(f32(1, 1))
	require.NoError(t, tensor.Realize(ctx, w))
	b.Freeze()
	require.False(t, b.RequiresGrad())
	x.Mul(w).Add(b).BackwardWith(f32(10, 100))
	same(t, []float64{16, 232}, w.Gradient())
	same(t, []float64{6, 16}, b.Gradient())
	w.ClearGradient()
	require.Nil(t, w.Gradient())
	require.ErrorContains(t, tensor.Try(func() { x.Sum().Backward() }), "Backward: the tensor depends on none that wants a gradient")
	require.ErrorContains(t, tensor.Try(func() { x.Mul(w).Backward() }), "Backward [2]: 2 elements, not one; give a seed")
	require.ErrorContains(t, tensor.Try(func() { tensor.Arange(2).RequireGrad() }), "only floats have a gradient")
	// What has been realized on the way has no history: that is said, not passed over.
	y := x.Mul(w)
	require.NoError(t, y.Realize(ctx))
	require.ErrorContains(t, tensor.Try(func() { y.Square().Sum().Backward() }), "has been realized since, which drops history")
	y.Detach().Mul(w).Sum().Backward()
	same(t, []float64{1, 2}, w.Gradient())
}

// The axis of a Vmap may have a size that varies: what lies beyond it is computed of the first element, and counts in no sum.
func TestVmapOverVaryingSizes(t *testing.T) {
	x, w, ids := f32(1, 2, 4, 0, 0, 0).Reshape(6, 1), f32(3), tensor.Of([]int32{0, 1, 2, 3, 99, 99})
	n := tensor.NewVariable("n", 1, 6)
	each := func(in ...*tensor.Tensor) []*tensor.Tensor {
		return ts{in[0].Log().Mul(w).Sum(), x.IndexSelect(0, in[1].Reshape(1)).Reshape()}
	}
	run := func(x, ids *tensor.Tensor) []*tensor.Tensor {
		outs := tensor.Vmap(each, tensor.VmapOptions{})(x, ids)
		return append(outs, outs[0].Sum().Grad(w)...)
	}
	for _, bound := range []tensor.Variable{n.Bind(1), n.Bind(3)} {
		k, _ := bound.Size().Value()
		got := run(x.Narrow(0, 0, bound), ids.Narrow(0, 0, bound))
		require.Equal(t, []int{k}, got[0].Shape())
		for i, want := range run(x.Narrow(0, 0, k), ids.Narrow(0, 0, k)) {
			same(t, values(t, want), got[i])
		}
	}
	y := x.On("INTERP")
	require.NoError(t, y.Realize(ctx))
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor { return ts{in[0].Log().Mul(3).Sum()} }, tensor.VmapOptions{})(in[0].Narrow(0, 0, n))
	}, y)
	require.NoError(t, err)
	outs, err := c.With(tensor.Values{n: 2}).Run(ctx, y)
	require.NoError(t, err)
	near(t, []float64{0, 2.0794415}, outs[0], 1e-6)
	require.ErrorContains(t, tensor.Try(func() { run(x.Narrow(0, 0, n), ids) }), "argument 1 has 6 elements on axis 0, the one before n(1…6)")
}

// Systems of one matrix for many right sides, whose derivative alone depends on the sides, are solved as they are together, and so are their
// gradients.
func TestVmapOfSolutionsWithOneMatrix(t *testing.T) {
	a, b := tensor.Eye(3).Add(0.1), tensor.Arange(24).To(dtype.F32).Reshape(4, 3, 2)
	for name, f := range map[string]func(a, b *tensor.Tensor) *tensor.Tensor{
		"Solve":           func(a, b *tensor.Tensor) *tensor.Tensor { return a.Solve(b) },
		"SolveTriangular": func(a, b *tensor.Tensor) *tensor.Tensor { return a.SolveTriangular(b, false, false) },
		"CholeskySolve":   func(a, b *tensor.Tensor) *tensor.Tensor { return a.CholeskySolve(b) },
	} {
		v := tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(in[0], in[1])} },
			tensor.VmapOptions{In: []int{tensor.Same, 0}})(a, b)[0]
		want := f(a, b)
		near(t, floats(t, want), v, 1e-5, name)
		for i, x := range []*tensor.Tensor{a, b} {
			near(t, floats(t, want.Square().Sum().Grad(x)[0]), v.Square().Sum().Grad(x)[0], 1e-2, name, i)
		}
	}
}

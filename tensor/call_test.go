package tensor_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// algorithms are those whose graphs are made once for each shape, of matrices that are positive definite.
var algorithms = map[string]func(a, b *tensor.Tensor) []*tensor.Tensor{
	"Inv":              func(a, _ *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Inv()} },
	"Solve":            func(a, b *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Solve(b)} },
	"SolveTriangular":  func(a, b *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.SolveTriangular(b, true, false)} },
	"SolveTriangular1": func(a, b *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.SolveTriangular(b, false, true)} },
	"Det":              func(a, _ *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Div(20).Det()} },
	"LogDet":           func(a, _ *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.LogDet()} },
	"Cholesky":         func(a, _ *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Cholesky()} },
	"LU":               func(a, _ *tensor.Tensor) []*tensor.Tensor { p, l, u := a.LU(); return []*tensor.Tensor{p, l, u} },
	"QR":               func(a, _ *tensor.Tensor) []*tensor.Tensor { q, r := a.QR(false); return []*tensor.Tensor{q, r} },
	"SVD":              func(a, _ *tensor.Tensor) []*tensor.Tensor { u, s, v := a.SVD(false); return []*tensor.Tensor{u, s, v} },
	"SingularValues":   func(a, _ *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.SingularValues()} },
	"Eigh":             func(a, _ *tensor.Tensor) []*tensor.Tensor { w, v := a.Eigh(false); return []*tensor.Tensor{w, v} },
	"Eigvalsh":         func(a, _ *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Eigvalsh(false)} },
	"PInv":             func(a, _ *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.PInv(-1, -1)} },
	"Lstsq":            func(a, b *tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{a.Lstsq(b)} },
}

// used is a device.
func used(t testing.TB, name string) *engine.Engine {
	e, err := engine.Use(name)
	require.NoError(t, err)
	return e
}

// definiteMatrix is a positive definite matrix and a right side, in memory.
func definiteMatrix(t testing.TB, e *engine.Engine, n int, seed uint64) (a, b *tensor.Tensor) {
	g := tensor.NewGenerator(seed)
	x := g.Randn(n, n).On(e.Name())
	a, b = x.MatMul(x.T()).Div(float64(n)).Add(tensor.Eye(n)), g.Randn(n, 3).On(e.Name())
	require.NoError(t, tensor.Realize(context.Background(), a, b))
	return a, b
}

// What an algorithm gives directly is what it gives in a function that is captured, for other numbers too, and the second time it makes a few nodes and compiles nothing.
func TestAlgorithmsAreMadeOnce(t *testing.T) {
	e := used(t, "INTERP")
	for _, name := range []string{"Solve", "SolveTriangular", "LogDet", "Cholesky", "LU", "QR", "SVD", "Eigvalsh", "Lstsq"} { // the others are made of the same
		f := algorithms[name]
		t.Run(name, func(t *testing.T) {
			const n = 26
			a, b := definiteMatrix(t, e, n, 1)
			captured, err := tensor.Capture(context.Background(), func(in ...*tensor.Tensor) []*tensor.Tensor { return f(in[0], in[1]) }, a, b)
			require.NoError(t, err)
			var compiled int
			for seed := range uint64(3) {
				a, b := definiteMatrix(t, e, n, seed+1)
				got := f(a, b)
				require.NoError(t, tensor.Realize(context.Background(), got...))
				if seed == 1 {
					compiled = e.Stats().Compiled
				} else if seed == 2 {
					require.Equal(t, compiled, e.Stats().Compiled)
				}
				want, err := captured.Run(context.Background(), a, b)
				require.NoError(t, err)
				for i := range want {
					near(t, values(t, want[i]), got[i], 1e-4)
				}
			}
			outs := f(a, b)
			var nodes []*uop.UOp
			for _, y := range outs {
				nodes = append(nodes, y.Node())
			}
			calls := 0
			for _, u := range uop.Topo(nodes...) {
				if u.Op() == uop.Call {
					calls++
				}
			}
			require.Positive(t, calls)
		})
	}
}

// Gradients, gradients of gradients, tangents and many matrices at once are those of a function that is captured.
func TestCallsInDerivatives(t *testing.T) {
	e := used(t, "INTERP")
	a, b := definiteMatrix(t, e, 26, 5)
	for _, name := range []string{"Solve", "QR", "Eigh"} {
		f := algorithms[name]
		loss := func(in ...*tensor.Tensor) *tensor.Tensor {
			var sum *tensor.Tensor
			for i, y := range f(in[0], in[1]) {
				if y = y.Abs().Mul(tensor.Arange(y.Numel()).Reshape(y.Shape()...).Add(i + 1).Sin()).Sum(); i == 0 {
					sum = y
				} else {
					sum = sum.Add(y)
				}
			}
			return sum
		}
		all := func(in ...*tensor.Tensor) []*tensor.Tensor {
			g := loss(in...).Grad(in[0])[0]
			along := []*tensor.Tensor{in[0].Sin()}
			_, tangents := tensor.JVP(func(x ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{loss(x[0], in[1])} }, in[:1], along)
			many := tensor.Vmap(func(x ...*tensor.Tensor) []*tensor.Tensor { return f(x[0], in[1])[:1] }, tensor.VmapOptions{})
			return append([]*tensor.Tensor{g, tangents[0]}, many(tensor.Stack(0, in[0], in[0].Mul(2)))...)
		}
		t.Run(name, func(t *testing.T) {
			captured, err := tensor.Capture(context.Background(), all, a, b)
			require.NoError(t, err)
			want, err := captured.Run(context.Background(), a, b)
			require.NoError(t, err)
			got := all(a, b)
			require.NoError(t, tensor.Realize(context.Background(), got...))
			for i := range want {
				near(t, values(t, want[i]), got[i], 1e-3)
			}
		})
	}
}

// What is wrong with a matrix is told with the place of the call that was given it, not of the one that made the graph.
func TestCallsTellWhatIsWrong(t *testing.T) {
	e := used(t, "INTERP")
	a, _ := definiteMatrix(t, e, 30, 7)
	require.NoError(t, a.Inv().Realize(context.Background()))
	require.NoError(t, a.Cholesky().Realize(context.Background()))
	_, err := a.Mul(0).Inv().Bytes(context.Background())
	require.ErrorContains(t, err, "singular")
	var value *tensor.ValueError
	require.ErrorAs(t, err, &value)
	_, err = a.Mul(-1).Cholesky().Bytes(context.Background())
	require.ErrorContains(t, err, "positive definite")
	require.ErrorContains(t, err, "call_test.go:")
	require.NoError(t, a.Inv().Realize(context.Background()))
}

// A tensor that is assigned is called with what it is at that place of the program.
func TestCallsSeeAssignments(t *testing.T) {
	e := used(t, "INTERP")
	a, b := definiteMatrix(t, e, 30, 9)
	x := a.Mul(1)
	before := x.Solve(b)
	x.Assign(x.Mul(2))
	after := x.Solve(b)
	require.NoError(t, tensor.Realize(context.Background(), before, after, x))
	near(t, values(t, before.Div(2)), after, 1e-4)
	near(t, values(t, a.Mul(2)), x, 1e-6)
}

// Any number of goroutines make and compute the same calls.
func TestCallsOfManyGoroutines(t *testing.T) {
	e := used(t, "INTERP")
	a, b := definiteMatrix(t, e, 33, 11)
	want := a.Solve(b)
	require.NoError(t, want.Realize(context.Background()))
	var all sync.WaitGroup
	for i := range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for k := range 4 {
				y := a.Mul(float64(i + 1)).Solve(b.Mul(float64(i + 1)))
				if k%2 == 1 {
					w, _ := a.Add(float64(k)).Eigh(false)
					assert.NoError(t, w.Realize(context.Background()))
				}
				assert.NoError(t, y.Realize(context.Background()))
			}
		}()
	}
	all.Wait()
}

// Arguments that take more than the algorithm are part of its plan, so that what else needs parts of them does not compute these again.
func TestCostlyArgumentsAreComputedOnce(t *testing.T) {
	e := used(t, "INTERP")
	g := tensor.NewGenerator(3)
	x := g.Randn(150, 1000).On(e.Name())
	require.NoError(t, x.Realize(context.Background()))
	h := x.MatMul(x.T()).Tanh()
	small := h.MatMul(h.T()).Narrow(0, 0, 30).Narrow(1, 0, 30).Add(tensor.Eye(30).Mul(1000))
	before := e.Stats().Plays
	require.NoError(t, tensor.Realize(context.Background(), small.LogDet(), h.Sum()))
	require.Equal(t, before+1, e.Stats().Plays)
}

// A call whose plan was not made, because the program waited no longer, is computed the next time.
func TestCallsThatWereCancelled(t *testing.T) {
	e, err := engine.Open("INTERP", engine.Options{})
	require.NoError(t, err)
	x, err := e.FromBytes(dtype.F32, []int{27, 27}, make([]byte, 4*27*27))
	require.NoError(t, err)
	a := tensor.FromNode(x, e).Add(tensor.Eye(27))
	require.NoError(t, a.Realize(context.Background()))
	failed := 0
	for n := range 40 {
		w, v := a.Add(float64(n)).Eigh(false)
		if err := tensor.Realize(&ending{Context: context.Background(), left: n}, w, v); err != nil {
			require.ErrorIs(t, err, context.Canceled)
			failed++
		}
	}
	require.Positive(t, failed)
	w, _ := a.Eigh(false)
	near(t, values(t, tensor.Ones(27)), w, 1e-5)
}

// ending is a context that ends after it was asked some times.
type ending struct {
	context.Context
	left int
}

func (c *ending) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Constants fit every device, and so does what an algorithm makes of them.
func TestCallsOfConstants(t *testing.T) {
	z := tensor.From([]float32{1}).On("INTERP")
	c := tensor.ZerosLike(z.Expand(20, 20)).Add(tensor.Eye(20).Mul(4))
	near(t, values(t, tensor.Eye(20).Div(4)), c.Inv().On("REF"), 1e-6)
}

// More bodies than an engine keeps are made, and the first again.
func TestBodiesAreGivenUp(t *testing.T) {
	e := used(t, "INTERP")
	made := 0
	body := func(i int) *uop.Body {
		return e.Body(strings.Repeat("x", i+1), func() *uop.Body {
			made++
			in := uop.NewStandIn(dtype.F32, 4)
			return &uop.Body{Name: "double", Params: []*uop.UOp{in}, Outs: []*uop.UOp{in.Add(in)}}
		})
	}
	x := tensor.From([]float32{1, 2, 3, 4}).On("INTERP")
	for i := range 300 {
		y := tensor.FromNode(body(i).Call(x.Node())[0], e)
		got, err := tensor.Data[float32](context.Background(), y)
		require.NoError(t, err)
		require.Equal(t, []float32{2, 4, 6, 8}, got)
	}
	require.Equal(t, 300, made)
}

// What a step of a program that captures nothing takes, of other numbers each time.
func BenchmarkAlgorithms(b *testing.B) {
	e := used(b, "CPU")
	process := func(x, y *tensor.Tensor) []*tensor.Tensor {
		k := x.MatMul(x.T()).Add(tensor.Eye(x.Dim(0)))
		l := y.Mul(k.Solve(y)).Sum().Add(k.LogDet())
		return append(l.Grad(x), l)
	}
	for _, c := range []struct {
		name    string
		m, n    int
		compute func(x, y *tensor.Tensor) []*tensor.Tensor
	}{
		{"SVD", 100, 40, func(x, _ *tensor.Tensor) []*tensor.Tensor { u, s, v := x.SVD(false); return []*tensor.Tensor{u, s, v} }},
		{"Eigh", 40, 40, func(x, _ *tensor.Tensor) []*tensor.Tensor {
			w, v := x.Add(x.T()).Eigh(false)
			return []*tensor.Tensor{w, v}
		}},
		{"GaussianProcess", 64, 64, process},
	} {
		b.Run(c.name, func(b *testing.B) {
			g := tensor.NewGenerator(1)
			like, right := tensor.Zeros(c.m, c.n).On(e.Name()), tensor.Zeros(c.n, 1).On(e.Name())
			step := func() {
				require.NoError(b, tensor.Realize(context.Background(), c.compute(g.RandnLike(like), g.RandnLike(right))...))
			}
			for range 3 { // which compile
				step()
			}
			for b.Loop() {
				step()
			}
		})
	}
}

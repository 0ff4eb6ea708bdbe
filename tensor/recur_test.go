package tensor_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// rnn is a recurrent layer by Scan, or written out.
func rnn(scan bool, x, h, c, w, u, b *tensor.Tensor, back bool) (hs, cs, ys *tensor.Tensor) {
	step := func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		g := in[0].MatMul(w.T()).Add(s[0].MatMul(u.T())).Add(b).Chunk(-1, 2)
		c := g[0].Sigmoid().Mul(s[1]).Add(g[1].Tanh().Mul(0.5))
		h := c.Tanh().Mul(g[0].Sigmoid())
		return []*tensor.Tensor{h, c}, []*tensor.Tensor{h.Mul(c).Softmax(-1)}
	}
	if scan {
		s, o := tensor.Scan(step, []*tensor.Tensor{h, c}, []*tensor.Tensor{x}, tensor.ScanOptions{Back: back})
		return s[0], s[1], o[0]
	}
	n := x.Dim(0)
	a, d, e := make([]*tensor.Tensor, n), make([]*tensor.Tensor, n), make([]*tensor.Tensor, n)
	for i := range n {
		at := i
		if back {
			at = n - 1 - i
		}
		s, o := step([]*tensor.Tensor{h, c}, []*tensor.Tensor{x.Select(0, at)})
		h, c = s[0], s[1]
		a[at], d[at], e[at] = h, c, o[0]
	}
	return tensor.Stack(0, a...), tensor.Stack(0, d...), tensor.Stack(0, e...)
}

func TestScanIsWrittenOut(t *testing.T) {
	for _, back := range []bool{false, true} {
		tensor.Seed(1)
		x, w, u, b := tensor.Randn(7, 3, 5), tensor.Randn(8, 5), tensor.Randn(8, 4), tensor.Randn(8)
		h, c := tensor.Randn(3, 4), tensor.Randn(3, 4)
		wrt := []*tensor.Tensor{x, h, c, w, u, b}
		require.NoError(t, tensor.Realize(t.Context(), wrt...))
		var values [2][]*tensor.Tensor
		for i := range 2 {
			hs, cs, ys := rnn(i == 1, x, h, c, w, u, b, back)
			loss := hs.Square().Sum().Add(cs.Select(0, 3).Sin().Sum()).Add(ys.Mul(hs).Exp().Sum())
			list := append([]*tensor.Tensor{hs, cs, ys, loss}, loss.Grad(wrt...)...)
			values[i] = list
		}
		for k := range values[0] {
			want, err := tensor.Data[float32](t.Context(), values[0][k])
			require.NoError(t, err)
			got, err := tensor.Data[float32](t.Context(), values[1][k])
			require.NoError(t, err)
			assert.InDeltaSlice(t, want, got, 1e-4, "result %d, back %v", k, back)
		}
	}
}

// listed are the elements of tensors, in one list.
func listed(t *testing.T, ts ...*tensor.Tensor) (all []float64) {
	t.Helper()
	for _, x := range ts {
		v, err := tensor.Data[float64](t.Context(), x.To(dtype.F64))
		require.NoError(t, err)
		all = append(all, v...)
	}
	return all
}

// decay is s ← tanh(s·w + x), of n steps, by Scan or written out.
func decay(scan bool, s, x, w *tensor.Tensor) *tensor.Tensor {
	step := func(s, x *tensor.Tensor) *tensor.Tensor { return s.MatMul(w).Add(x).Tanh() }
	if scan {
		all, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{step(s[0], in[0])}, nil
		}, []*tensor.Tensor{s}, []*tensor.Tensor{x}, tensor.ScanOptions{})
		return all[0]
	}
	var all []*tensor.Tensor
	for _, x := range x.Unbind(0) {
		s = step(s, x)
		all = append(all, s)
	}
	return tensor.Stack(0, all...)
}

// What derivatives of all kinds make of a scan is what they make of the same written out.
func TestDerivativesOfScans(t *testing.T) {
	tensor.Seed(2)
	x, s, w := tensor.Randn(5, 2, 3), tensor.Randn(2, 3), tensor.Randn(3, 3)
	require.NoError(t, tensor.Realize(t.Context(), x, s, w))
	for name, f := range map[string]func(scan bool) []*tensor.Tensor{
		"second": func(scan bool) []*tensor.Tensor {
			g := decay(scan, s, x, w).Square().Sum().Grad(w)[0]
			return g.Sin().Sum().Grad(w, x, s)
		},
		"forward": func(scan bool) []*tensor.Tensor {
			out, moved := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor {
				return []*tensor.Tensor{decay(scan, in[0], x, in[1])}
			}, []*tensor.Tensor{s, w}, []*tensor.Tensor{s.Sin(), w.Cos()})
			return append(out, moved...)
		},
		"forward along x": func(scan bool) []*tensor.Tensor {
			_, moved := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor {
				return []*tensor.Tensor{decay(scan, s, in[0], w).Square(), decay(scan, s, in[0], w).Select(0, 3)}
			}, []*tensor.Tensor{x}, []*tensor.Tensor{x.Sin()})
			return moved
		},
		"gradient of forward": func(scan bool) []*tensor.Tensor {
			_, moved := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor {
				return []*tensor.Tensor{decay(scan, s, x, in[0])}
			}, []*tensor.Tensor{w}, []*tensor.Tensor{s.Sum().Mul(w)})
			return moved[0].Square().Sum().Grad(w, x, s)
		},
		"forward of gradient": func(scan bool) []*tensor.Tensor { // the Hessian times a vector
			_, moved := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor {
				return decay(scan, in[1], x, in[0]).Exp().Sum().Grad(in[0], in[1])
			}, []*tensor.Tensor{w, s}, []*tensor.Tensor{w.Sin(), s.Cos()})
			return moved
		},
		"forward of forward": func(scan bool) []*tensor.Tensor {
			_, moved := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor {
				_, moved := tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor {
					return []*tensor.Tensor{decay(scan, in[0], x, w)}
				}, in, []*tensor.Tensor{s.Cos()})
				return moved
			}, []*tensor.Tensor{s}, []*tensor.Tensor{s.Sin()})
			return moved
		},
		"of many": func(scan bool) []*tensor.Tensor {
			return tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor {
				y := decay(scan, in[0].Reshape(1, 3), in[1].Reshape(5, 1, 3), w)
				return append([]*tensor.Tensor{y}, y.Square().Sum().Grad(w, in[0])...)
			}, tensor.VmapOptions{In: []int{0, 1}})(s, x)
		},
		"many weights": func(scan bool) []*tensor.Tensor {
			return tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor {
				y := decay(scan, s, x, in[0])
				return y.Square().Sum().Grad(in[0])
			}, tensor.VmapOptions{})(tensor.Stack(0, w, w.Sin(), w.T()))
		},
		"begun again": func(scan bool) []*tensor.Tensor {
			y := tensor.Checkpoint(func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{decay(scan, s, x, in[0])} }, w)[0]
			return append(y.Exp().Sum().Grad(w, s), y)
		},
		"of views": func(scan bool) []*tensor.Tensor { // the gradient of what is a view of what a step reads
			v := w.T().Contiguous()
			u := v.T()
			return decay(scan, s, x, u).Sum().Grad(u, v, w)
		},
		"of a number": func(scan bool) []*tensor.Tensor {
			a := tensor.Full(0.5, dtype.F32)
			b := tensor.Full(0.5, dtype.F32)
			y := decay(scan, s.Mul(b), x, w.Mul(a))
			return y.Sum().Grad(a, b)
		},
	} {
		assert.InDeltaSlice(t, listed(t, f(false)...), listed(t, f(true)...), 2e-4, name)
	}
}

// A scan in a scan, of integers, of what is carried past and of constants.
func TestScansOfMore(t *testing.T) {
	x := tensor.Of([]int32{3, 1, 4, 1, 5, 9, 2, 6}, 4, 2)
	run := func(step func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor), s ...*tensor.Tensor) []*tensor.Tensor {
		states, outs := tensor.Scan(step, s, []*tensor.Tensor{x}, tensor.ScanOptions{})
		return append(states, outs...)
	}
	got := run(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		inner, _ := tensor.Scan(func(t, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{t[0].Mul(2).Add(in[0])}, nil
		}, []*tensor.Tensor{s[0]}, []*tensor.Tensor{tensor.Stack(0, in[0], in[0], s[0], in[0], in[0])}, tensor.ScanOptions{})
		return []*tensor.Tensor{inner[0].Select(0, 4).Mod(1000)}, []*tensor.Tensor{inner[0]}
	}, tensor.Of([]int32{1, 2}, 2))
	s := []int{1, 2}
	var states, outs []float64
	for i := range 4 {
		in := []int{[]int{3, 4, 5, 2}[i], []int{1, 1, 9, 6}[i]}
		t0 := append([]int{}, s...)
		for _, add := range [][]int{in, in, s, in, in} {
			for j := range 2 {
				t0[j] = t0[j]*2 + add[j]
				outs = append(outs, float64(t0[j]))
			}
		}
		s = []int{t0[0] % 1000, t0[1] % 1000}
		states = append(states, float64(s[0]), float64(s[1]))
	}
	assert.Equal(t, states, listed(t, got[0]))
	assert.Equal(t, outs, listed(t, got[1]))

	swap := run(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		return []*tensor.Tensor{s[1], s[0]}, []*tensor.Tensor{s[0], tensor.Ones(2), in[0], in[0]}
	}, tensor.Of([]float32{1, 2}, 2), tensor.Of([]float32{3, 4}, 2))
	assert.Equal(t, []float64{3, 4, 1, 2, 3, 4, 1, 2}, listed(t, swap[0]))
	assert.Equal(t, []float64{1, 2, 3, 4, 1, 2, 3, 4}, listed(t, swap[1]))
	assert.Equal(t, []float64{1, 2, 3, 4, 1, 2, 3, 4}, listed(t, swap[2]))
	assert.Equal(t, []float64{1, 1, 1, 1, 1, 1, 1, 1}, listed(t, swap[3]))
	assert.Equal(t, listed(t, x), listed(t, swap[4]))
	assert.Equal(t, listed(t, x), listed(t, swap[5]))

	powers, _ := tensor.Scan(func(s, _ []*tensor.Tensor) (next, out []*tensor.Tensor) { return []*tensor.Tensor{s[0].Mul(2)}, nil },
		[]*tensor.Tensor{tensor.Full(1, dtype.F32)}, nil, tensor.ScanOptions{Steps: 10})
	assert.Equal(t, []float64{2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, listed(t, powers[0]))
	none, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		return []*tensor.Tensor{s[0].Add(in[0])}, nil
	},
		[]*tensor.Tensor{tensor.Zeros(3)}, []*tensor.Tensor{tensor.Zeros(0, 3)}, tensor.ScanOptions{})
	assert.Equal(t, []int{0, 3}, none[0].Shape())
}

func TestScanErrors(t *testing.T) {
	scan := func(step func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor), s, in []*tensor.Tensor, o tensor.ScanOptions) func() {
		return func() { tensor.Scan(step, s, in, o) }
	}
	same := func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) { return s, nil }
	one := []*tensor.Tensor{tensor.Zeros(2)}
	for want, f := range map[string]func(){
		"array 0 has no axis to go along":                      scan(same, one, []*tensor.Tensor{tensor.Full(1, dtype.F32)}, tensor.ScanOptions{}),
		"array 1 has 3 entries, the one before 2":              scan(same, one, []*tensor.Tensor{tensor.Zeros(2, 2), tensor.Zeros(3)}, tensor.ScanOptions{}),
		"array 0 has 2 entries for 5 steps":                    scan(same, one, []*tensor.Tensor{tensor.Zeros(2, 2)}, tensor.ScanOptions{Steps: 5}),
		"there is no array to go along":                        scan(same, one, nil, tensor.ScanOptions{}),
		"a step returns 0 tensors to carry for 1":              scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) { return nil, s }, one, nil, tensor.ScanOptions{Steps: 5}),
		"a step changes the shape of tensor 0 that is carried": scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) { return []*tensor.Tensor{s[0].Sum()}, nil }, one, nil, tensor.ScanOptions{Steps: 5}),
		"a step changes the type of tensor 0 that is carried": scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{s[0].To(dtype.I32)}, nil
		}, one, nil, tensor.ScanOptions{Steps: 5}),
		"tensor 0 to carry is nil":        scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) { return []*tensor.Tensor{nil}, nil }, one, nil, tensor.ScanOptions{Steps: 5}),
		"result 1 of the function is nil": scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) { return s, []*tensor.Tensor{nil} }, one, nil, tensor.ScanOptions{Steps: 5}),
	} {
		err := tensor.Try(f)
		require.Error(t, err, want)
		assert.Contains(t, err.Error(), want)
		assert.Contains(t, err.Error(), "recur_test.go", want)
	}
}

// What is carried may have no axes.
func TestScanOfNumbers(t *testing.T) {
	for _, zero := range []*tensor.Tensor{tensor.Zeros().Add(0), tensor.Zeros(), tensor.Ones(2).Sum().Sub(2)} {
		s, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{s[0].Add(in[0])}, nil
		}, []*tensor.Tensor{zero.To(dtype.F32)}, []*tensor.Tensor{tensor.Ones(9)}, tensor.ScanOptions{})
		got, err := tensor.Data[float32](t.Context(), s[0])
		require.NoError(t, err)
		assert.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, got)
	}
}

// nested is a scan in a scan, whose gradient reads values of the inner one in another order.
func nested(s, x, w *tensor.Tensor) *tensor.Tensor {
	_, all := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		inner, _ := tensor.Scan(func(t, _ []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{t[0].Mul(w).Add(in[0]).Tanh()}, nil
		}, s, nil, tensor.ScanOptions{Steps: 5})
		return []*tensor.Tensor{inner[0].Select(0, 4)}, []*tensor.Tensor{inner[0]}
	}, []*tensor.Tensor{s}, []*tensor.Tensor{x}, tensor.ScanOptions{})
	return all[0]
}

// REF writes loops out, INTERP does not.
func TestScansInScansOnDevices(t *testing.T) {
	var want []float64
	for _, device := range []string{"REF", "INTERP"} {
		x := tensor.Of([]float32{.1, .2, .3, .4, .5, -.1, -.2, -.3, -.4, -.5, .2, .4, .6, .8, 1}, 5, 3).On(device)
		s, w := tensor.Of([]float32{1, 2, 3}).On(device), tensor.Of([]float32{.9, -.8, .7}).On(device)
		y := nested(s, x, w)
		got := listed(t, append(y.Square().Sum().Grad(w, x, s), y)...)
		if want == nil {
			want = got
		}
		assert.InDeltaSlice(t, want, got, 1e-4, device)
	}
}

// Files hold no loops.
func TestSavedScans(t *testing.T) {
	s, x, w := tensor.Of([]float32{1, 2}).On("INTERP"), tensor.Of([]float32{.1, .2, .3, .4, .5, .6, .7, .8}, 4, 2).On("INTERP"), tensor.Of([]float32{.5, .4}).On("INTERP")
	require.NoError(t, tensor.Realize(t.Context(), s, x, w))
	f, err := tensor.Capture(t.Context(), func(in ...*tensor.Tensor) []*tensor.Tensor {
		y := nested(s, in[0], w)
		return append(y.Square().Sum().Grad(w, in[0]), y)
	}, x)
	require.NoError(t, err)
	want, err := f.Run(t.Context(), x)
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, f.Save(t.Context(), &file))
	g, err := tensor.LoadCaptured(t.Context(), &file, "INTERP")
	require.NoError(t, err)
	got, err := g.Run(t.Context(), x)
	require.NoError(t, err)
	assert.InDeltaSlice(t, listed(t, want...), listed(t, got...), 1e-5)
}

func TestScansOfLittle(t *testing.T) {
	w, x := tensor.Of([]float32{1, 2}).On("INTERP"), tensor.Zeros(5, 3)
	_, outs := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
		return nil, []*tensor.Tensor{tensor.Arange(2)}
	}, nil, []*tensor.Tensor{x}, tensor.ScanOptions{})
	assert.Equal(t, []float64{0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, listed(t, outs[0]), "nothing that is read")
	sums, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) { return []*tensor.Tensor{s[0].Add(w)}, nil },
		[]*tensor.Tensor{tensor.Zeros(2)}, nil, tensor.ScanOptions{Steps: 4})
	assert.Equal(t, []float64{1, 2, 2, 4, 3, 6, 4, 8}, listed(t, sums[0]), "only what the step uses besides is on a device")
	for _, steps := range []int{2, 5} {
		calls := 0
		_, outs := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			calls++
			return nil, []*tensor.Tensor{tensor.Rand(8).Add(in[0])}
		}, nil, []*tensor.Tensor{tensor.Zeros(steps)}, tensor.ScanOptions{})
		assert.Equal(t, 1, calls)
		assert.Equal(t, listed(t, outs[0].Select(0, 0)), listed(t, outs[0].Select(0, 1)), "what is drawn is drawn once")
	}
}

// Few steps are written out, with what functions state of their gradients.
func TestFewSteps(t *testing.T) {
	for _, steps := range []int{3, 4} {
		double := tensor.Function("double", func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Mul(2)} },
			tensor.FunctionOptions{Gradient: func(in, out, seeds []*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{seeds[0].Mul(3)} }})
		s := tensor.Of([]float32{1})
		x := tensor.Ones(steps, 1).Contiguous()
		all, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{double(s[0].Add(in[0]))[0]}, nil
		}, []*tensor.Tensor{s}, []*tensor.Tensor{x}, tensor.ScanOptions{})
		last := all[0].Select(0, steps-1)
		want := [][]float64{{22, 27, 27, 9, 3}, {46, 81, 81, 27, 9, 3}}[steps-3]
		assert.Equal(t, want, listed(t, append([]*tensor.Tensor{last}, last.Sum().Grad(s, x)...)...))
	}
}

// The gradient of several results of a scan goes back once, also of many scans at once.
func TestGradientOfResultsGoesBackOnce(t *testing.T) {
	x, w := tensor.Ones(6, 3).Contiguous(), tensor.Ones(3).Contiguous()
	loss := func(x *tensor.Tensor) *tensor.Tensor {
		s, o := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			a := s[0].Mul(w).Add(in[0]).Sin()
			return []*tensor.Tensor{a, s[1].Add(a)}, []*tensor.Tensor{a.Mul(s[1])}
		}, []*tensor.Tensor{w.Cos(), w}, []*tensor.Tensor{x}, tensor.ScanOptions{})
		return s[0].Sum().Add(s[1].Exp().Sum()).Mul(o[0].Sum())
	}
	loops := func(ts ...*tensor.Tensor) int {
		var first []*uop.UOp
		for _, y := range ts {
			for _, u := range uop.Topo(y.Node()) {
				if u.Op() == uop.Loop && !slices.ContainsFunc(first, u.SameLoop) {
					first = append(first, u)
				}
			}
		}
		return len(first)
	}
	assert.Equal(t, 2, loops(loss(x).Grad(x, w)...))
	assert.Equal(t, 2, loops(tensor.Vmap(func(in ...*tensor.Tensor) []*tensor.Tensor { return loss(in[0]).Grad(in[0], w) }, tensor.VmapOptions{})(tensor.Stack(0, x, x.Neg()))...))
}

// What is wrong in a step of a scan is told of its results.
func TestScanChecks(t *testing.T) {
	table := tensor.Of([]float32{1, 2, 4})
	at := func(indices ...int32) error {
		s, o := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{s[0].Add(table.At(in[0]))}, []*tensor.Tensor{in[0]}
		}, []*tensor.Tensor{tensor.Full(0, dtype.F32)}, []*tensor.Tensor{tensor.Of(indices).Contiguous()}, tensor.ScanOptions{})
		if _, err := tensor.Data[int32](t.Context(), o[0].Add(1)); err != nil {
			return err
		}
		v, err := tensor.Data[float32](t.Context(), s[0])
		if err == nil {
			assert.Equal(t, []float32{1, 3, 7, 9, 10}, v)
		}
		return err
	}
	require.NoError(t, at(0, 1, 2, 1, 0))
	require.ErrorContains(t, at(0, 1, 3, 1, 0), "index 3 is out of range")
}

// What a variable makes in a step is written out: no array holds an index.
func TestScanOfVariables(t *testing.T) {
	x, table := tensor.Of([]float32{1, 2, 3, 4, 5}, 5).Contiguous(), tensor.Of([]float32{10, 20, 30, 40}).Contiguous()
	n := tensor.NewVariable("n", 0, 3)
	for value, want := range [][]float64{{10, 20, 30, 40, 50}, {20, 41, 63, 86, 110}, {30, 62, 96, 132, 170}} {
		n := n.Bind(value)
		s, _ := tensor.Scan(func(s, in []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{s[0].Add(table.At(n)).Add(in[0].Sub(1).Mul(n.Tensor()))}, nil
		}, []*tensor.Tensor{tensor.Full(0, dtype.F32)}, []*tensor.Tensor{x}, tensor.ScanOptions{})
		assert.Equal(t, want, listed(t, s[0]), value)
	}
}

// Tangents of a scan hold one step, however many there are. Of what is carried moves what depends on what moves, after some steps perhaps.
func TestTangentsOfScans(t *testing.T) {
	tangents := func(steps int, back, scan bool) (states, moved []*tensor.Tensor) {
		w := tensor.Linspace(0.1, 0.9, 3)
		x := tensor.Linspace(-1, 1, steps*3).Reshape(steps, 3)
		step := func(s, x []*tensor.Tensor) (next, out []*tensor.Tensor) {
			return []*tensor.Tensor{s[0].Mul(0.5).Add(x[0]).Sin(), s[1].Add(s[0].Mul(w)), s[2].Mul(s[1]).Tanh(), s[3].Add(1)}, []*tensor.Tensor{s[2].Mul(x[0]), x[0].Neg()}
		}
		first := []*tensor.Tensor{tensor.Zeros(3), tensor.Ones(3), tensor.Ones(3), tensor.Zeros(3)}
		return tensor.JVP(func(in ...*tensor.Tensor) []*tensor.Tensor {
			carried := append([]*tensor.Tensor{in[0]}, first[1:]...)
			if scan {
				all, outs := tensor.Scan(step, carried, []*tensor.Tensor{x}, tensor.ScanOptions{Back: back})
				return append(all, outs...)
			}
			list := make([][]*tensor.Tensor, 6)
			for i := range list {
				list[i] = make([]*tensor.Tensor, steps)
			}
			for i := range steps {
				at := i
				if back {
					at = steps - 1 - i
				}
				next, out := step(carried, []*tensor.Tensor{x.Select(0, at)})
				for k, y := range append(append([]*tensor.Tensor{}, next...), out...) {
					list[k][at] = y
				}
				carried = next
			}
			var out []*tensor.Tensor
			for _, l := range list {
				out = append(out, tensor.Stack(0, l...))
			}
			return out
		}, first[:1], []*tensor.Tensor{w})
	}
	for _, back := range []bool{false, true} {
		want, wantMoved := tangents(7, back, false)
		got, gotMoved := tangents(7, back, true)
		assert.InDeltaSlice(t, listed(t, append(want, wantMoved...)...), listed(t, append(got, gotMoved...)...), 1e-5)
	}
	nodes := func(steps int) int {
		_, moved := tangents(steps, false, true)
		var us []*uop.UOp
		for _, m := range moved {
			us = append(us, m.Node())
		}
		return len(uop.Topo(us...))
	}
	assert.Equal(t, nodes(10), nodes(300))
}

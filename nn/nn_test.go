package nn_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

var ctx = context.Background()

func values(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.Data[float32](ctx, x)
	require.NoError(t, err)
	return v
}

func near(t *testing.T, want []float32, x *tensor.Tensor, tol float64, msg ...any) {
	t.Helper()
	got := values(t, x)
	require.Len(t, got, len(want), msg...)
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= tol*(1+math.Abs(float64(want[i])))) {
			require.Equal(t, want, got, msg...)
		}
	}
}

type inner struct {
	Proj *nn.Linear
	Mean *tensor.Tensor `weft:"state"`
	Skip *tensor.Tensor `weft:"-"`
}

type model struct {
	inner
	First   *nn.Linear
	Norm    *nn.BatchNorm
	Blocks  []any
	ByName  map[string]*tensor.Tensor
	Tied    *tensor.Tensor
	Absent  *nn.Linear
	Ints    *tensor.Tensor
	private int //lint:ignore U1000 a field that is not exported is no parameter
}

func newModel() *model {
	m := &model{First: nn.NewLinear(3, 2), Norm: nn.NewBatchNorm(2), Blocks: []any{nn.NewLinear(1, 1), inner{Proj: nn.NewLinear(1, 1)}},
		ByName: map[string]*tensor.Tensor{"b": tensor.Ones(1), "a": tensor.Ones(2)}, Ints: tensor.Of([]int32{1})}
	m.Proj, m.Mean, m.Skip, m.Tied = nn.NewLinear(2, 2), tensor.Zeros(2), tensor.Zeros(9), m.First.Weight
	return m
}

func TestStateNamesTensors(t *testing.T) {
	m := newModel()
	var names, trained []string
	for _, s := range nn.State(m) {
		names = append(names, s.Name)
		if s.Parameter {
			trained = append(trained, s.Name)
		}
	}
	assert.Equal(t, []string{"proj.weight", "proj.bias", "mean", "first.weight", "first.bias",
		"norm.weight", "norm.bias", "norm.running_mean", "norm.running_var",
		"blocks.0.weight", "blocks.0.bias", "blocks.1.proj.weight", "blocks.1.proj.bias", "by_name.a", "by_name.b", "ints"}, names)
	assert.Len(t, trained, len(names)-4)
	assert.NotContains(t, trained, "norm.running_mean")
	assert.NotContains(t, trained, "ints")
	assert.Len(t, nn.Parameters(m), len(trained))
	assert.Len(t, nn.Parameters([]*tensor.Tensor{m.Tied, m.Mean}), 2)
	hidden := struct{ layer *nn.Linear }{nn.NewLinear(1, 1)}
	err := tensor.Try(func() { nn.State(hidden) })
	assert.ErrorContains(t, err, "field layer of struct { layer *nn.Linear } holds a tensor but is not exported")
	_, err = nn.NewSGD(ctx, struct{}{}, nn.SGDOptions{})
	assert.ErrorContains(t, err, "nothing to train")
}

// Weights of 8 bits go to a file and come back, bit by bit, under the names of safetensors.
func TestSaveFloat8(t *testing.T) {
	type model struct{ A, B *tensor.Tensor }
	path := filepath.Join(t.TempDir(), "m.safetensors")
	made := func(n uint32) *model {
		g := tensor.NewGenerator(uint64(n))
		return &model{g.Randn(3, 5).To(dtype.F8E4M3), g.Randn(7).To(dtype.F8E5M2)}
	}
	a, b := made(1), made(2)
	require.NoError(t, nn.Save(ctx, path, a))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(raw), `"F8_E4M3"`)
	assert.Contains(t, string(raw), `"F8_E5M2"`)
	require.NoError(t, nn.Load(ctx, path, b))
	assert.Equal(t, values(t, a.A.To(dtype.F32)), values(t, b.A.To(dtype.F32)))
	assert.Equal(t, values(t, a.B.To(dtype.F32)), values(t, b.B.To(dtype.F32)))
	assert.Equal(t, dtype.F8E5M2, b.B.DType())
}

func TestSaveAndLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	a, b := newModel(), newModel()
	require.NoError(t, nn.Save(ctx, path, a))
	require.NoError(t, nn.Load(ctx, path, b))
	sa, sb := nn.State(a), nn.State(b)
	for i := range sa {
		ra, err := sa[i].Tensor.Bytes(ctx)
		require.NoError(t, err)
		rb, err := sb[i].Tensor.Bytes(ctx)
		require.NoError(t, err)
		assert.Equal(t, ra, rb, sa[i].Name)
	}
	// What does not fit changes nothing.
	other := newModel()
	other.First = nn.NewLinear(4, 2)
	other.Tied = nil
	require.NoError(t, nn.Realize(ctx, other))
	before := values(t, other.Proj.Weight)
	err := nn.Load(ctx, path, other)
	var mismatch *nn.MismatchError
	require.ErrorAs(t, err, &mismatch)
	assert.ErrorContains(t, err, path+": tensor first.weight: the file has F32 [2 3], the model needs F32 [2 4]")
	assert.Equal(t, before, values(t, other.Proj.Weight))
	assert.ErrorContains(t, nn.Load(ctx, path, nn.NewLinear(1, 1)), "tensor weight: is not in the file, which holds [")
	assert.ErrorContains(t, nn.Load(ctx, path, struct{ Proj *nn.Linear }{nn.NewLinear(2, 2)}), "the model has no such tensor; it has [proj.weight proj.bias]")
	assert.ErrorContains(t, nn.Save(ctx, filepath.Join(path, "no"), a), "cannot write")
	require.NoError(t, os.WriteFile(path, []byte("nonsense that is not a header"), 0o666))
	assert.ErrorContains(t, nn.Load(ctx, path, a), "safetensors: "+path)
}

func TestBatchNorm(t *testing.T) {
	l := nn.NewBatchNorm(2)
	x := tensor.Of([]float32{1, 2, 3, 4, 10, 20, 30, 40}, 2, 2, 2) // channel 0: 1 2 10 20
	y := l.Forward(x, true)
	require.NoError(t, tensor.Realize(ctx, y, l.RunningMean, l.RunningVar))
	near(t, []float32{-0.9536, -0.8230, 0.2220, 1.5284}, y.At(tensor.R(0, 2), 0).Reshape(4), 1e-2)
	near(t, []float32{0.825, 1.925}, l.RunningMean, 1e-6)
	near(t, []float32{8.658333, 35.658333}, l.RunningVar, 1e-4)
	near(t, []float32{(1 - 0.825) / float32(math.Sqrt(8.658333))}, l.Forward(x, false).At(0, 0, 0), 1e-4)
	assert.ErrorContains(t, tensor.Try(func() { l.Forward(tensor.Zeros(2, 3), true) }), "layer for 2 channels, which belong on axis 1 (nn_test.go:")
}

// One value has no statistics: what would be 0 for every input is an error, as in PyTorch.
func TestNormsOfOneValue(t *testing.T) {
	for _, shape := range [][]int{{1, 2}, {1, 2, 1}, {1, 2, 1, 1}} {
		x := tensor.Ones(shape...)
		for _, l := range []*nn.BatchNorm{nn.NewBatchNorm(2), nn.NewBatchNorm(2).Untracked()} {
			var wrong *tensor.ArgumentError
			require.ErrorAs(t, tensor.Try(func() { l.Forward(x, true) }), &wrong)
			assert.Contains(t, wrong.Error(), "BatchNorm: input "+fmt.Sprint(shape)+" has one value for each channel, which normalised by its own mean is always 0; take more examples, or training false with running averages (nn_test.go:")
			if l.RunningMean == nil {
				require.Error(t, tensor.Try(func() { l.Forward(x, false) }))
			} else {
				near(t, []float32{1, 1}, l.Forward(x, false).Flatten(), 1e-4)
			}
		}
	}
	for _, shape := range [][]int{{2, 2}, {1, 2, 2}, {0, 2}, {0, 2, 1, 1}} {
		nn.NewBatchNorm(2).Forward(tensor.Ones(shape...), true)
	}
	assert.ErrorContains(t, tensor.Try(func() { nn.NewInstanceNorm(2).Forward(tensor.Ones(3, 2, 1, 1)) }), "InstanceNorm: input [3 2 1 1] has one value for each channel of an example")
	nn.NewInstanceNorm(2).Forward(tensor.Ones(3, 2, 1, 2))
	assert.ErrorContains(t, tensor.Try(func() { nn.NewGroupNorm(2, 2).Forward(tensor.Ones(1, 2, 1)) }), "GroupNorm: input [1 2 1] has one value for each of 2 groups")
	nn.NewGroupNorm(2, 2).Forward(tensor.Ones(3, 2))
	nn.NewGroupNorm(1, 2).Forward(tensor.Ones(1, 2))
	_, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { // of sizes that vary nothing is said
		return []*tensor.Tensor{nn.NewBatchNorm(4).Untracked().Forward(in[0].Narrow(0, 0, tensor.NewVariable("n", 1, 8)), true).Sum(0)}
	}, tensor.Ones(8, 4))
	require.NoError(t, err)
	nn.NewInstanceNorm(2).Forward(tensor.Ones(0, 2, 1))
}

func TestBatchNormGradient(t *testing.T) {
	l := nn.NewBatchNorm(1)
	l.Weight.Assign(3)
	xs, seed := []float64{1, 2, 10, 20}, []float64{1, -2, 0.5, 4}
	x := tensor.Of(xs, 2, 1, 2).To(dtype.F32)
	g := l.Forward(x, true).GradWith(tensor.Of(seed, 2, 1, 2).To(dtype.F32), x, l.Weight, l.Bias)
	mean, variance := 8.25, 232.75/4+1e-5
	var sum, dot float64
	for i, s := range seed {
		sum += s
		dot += s * (xs[i] - mean) / math.Sqrt(variance)
	}
	var want []float32
	for i, s := range seed {
		want = append(want, float32(3/math.Sqrt(variance)*(s-sum/4-(xs[i]-mean)/math.Sqrt(variance)*dot/4)))
	}
	near(t, want, g[0].Reshape(4), 1e-5)
	near(t, []float32{float32(dot)}, g[1], 1e-5)
	near(t, []float32{float32(sum)}, g[2], 1e-5)
}

// descend takes steps on Σ(w−2)² from w = 1, 5 and gives w after each.
func descend(t *testing.T, steps int, make func(model any) (*nn.Optimizer, error), between func(o *nn.Optimizer, i int)) [][]float32 {
	w := tensor.Of([]float32{1, 5})
	o, err := make(&struct{ W *tensor.Tensor }{w})
	require.NoError(t, err)
	var path [][]float32
	for i := range steps {
		require.NoError(t, o.Step(ctx, w.Sub(2).Square().Sum()))
		path = append(path, values(t, w))
		if between != nil {
			between(o, i)
		}
	}
	return path
}

// by is the same in plain float64 code: next gives the new w and keeps what it needs in s.
func by(steps int, next func(w, g float64, t int, s *[3]float64) float64) [][]float32 {
	w := []float64{1, 5}
	s := make([][3]float64, 2)
	var path [][]float32
	for t := 1; t <= steps; t++ {
		for i := range w {
			w[i] = next(w[i], 2*(w[i]-2), t, &s[i])
		}
		path = append(path, []float32{float32(w[0]), float32(w[1])})
	}
	return path
}

func TestOptimizers(t *testing.T) {
	adam := func(w, g float64, t int, s *[3]float64) float64 {
		s[0], s[1] = 0.9*s[0]+0.1*g, 0.999*s[1]+0.001*g*g
		return w - 0.1*(s[0]/(1-math.Pow(0.9, float64(t))))/(math.Sqrt(s[1]/(1-math.Pow(0.999, float64(t))))+1e-8)
	}
	for _, c := range []struct {
		name string
		make func(m any) (*nn.Optimizer, error)
		want func(w, g float64, t int, s *[3]float64) float64
	}{
		{"sgd", func(m any) (*nn.Optimizer, error) { return nn.NewSGD(ctx, m, nn.SGDOptions{Rate: 0.1}) },
			func(w, g float64, t int, s *[3]float64) float64 { return w - 0.1*g }},
		{"momentum", func(m any) (*nn.Optimizer, error) {
			return nn.NewSGD(ctx, m, nn.SGDOptions{Rate: 0.1, Momentum: 0.9, Dampening: 0.3, Decay: 0.01})
		}, func(w, g float64, t int, s *[3]float64) float64 {
			g += 0.01 * w
			if s[0] = 0.9*s[0] + 0.7*g; t == 1 {
				s[0] = g
			}
			return w - 0.1*s[0]
		}},
		{"nesterov", func(m any) (*nn.Optimizer, error) {
			return nn.NewSGD(ctx, m, nn.SGDOptions{Rate: 0.1, Momentum: 0.9, Nesterov: true})
		}, func(w, g float64, t int, s *[3]float64) float64 {
			s[0] = 0.9*s[0] + g
			return w - 0.1*(g+0.9*s[0])
		}},
		{"adam", func(m any) (*nn.Optimizer, error) { return nn.NewAdam(ctx, m, nn.AdamOptions{Rate: 0.1}) }, adam},
		{"adam decay", func(m any) (*nn.Optimizer, error) { return nn.NewAdam(ctx, m, nn.AdamOptions{Rate: 0.1, Decay: 0.2}) },
			func(w, g float64, t int, s *[3]float64) float64 { return adam(w, g+0.2*w, t, s) }},
		{"adamw", func(m any) (*nn.Optimizer, error) { return nn.NewAdamW(ctx, m, nn.AdamOptions{Rate: 0.1, Decay: 0.2}) },
			func(w, g float64, t int, s *[3]float64) float64 { return adam(w-0.1*0.2*w, g, t, s) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, want := descend(t, 5, c.make, nil), by(5, c.want)
			for i := range want {
				assert.InDeltaSlice(t, want[i], got[i], 1e-4, "step %d", i)
			}
		})
	}
}

func TestChangingRateCompilesNothing(t *testing.T) {
	e, err := engine.Use("")
	require.NoError(t, err)
	var after []int
	path := descend(t, 10, func(m any) (*nn.Optimizer, error) { return nn.NewAdam(ctx, m, nn.AdamOptions{Rate: 0.1}) }, func(o *nn.Optimizer, i int) {
		require.NoError(t, o.SetRate(ctx, 0.1/float64(i+2)))
		after = append(after, e.Stats().Compiled)
	})
	assert.Equal(t, after[1], after[9])
	assert.Less(t, math.Abs(float64(path[9][0]-path[8][0])), 0.02, "the rate fell")
}

func TestCapturedStepsAreThose(t *testing.T) {
	train := func(captured bool) [][]float32 {
		tensor.Seed(3)
		net := &struct {
			Hidden *nn.Linear
			Norm   *nn.BatchNorm
			Drop   nn.Dropout
			Out    *nn.Linear
		}{nn.NewLinear(4, 8), nn.NewBatchNorm(8), nn.Dropout{P: 0.5}, nn.NewLinear(8, 1)}
		opt, err := nn.NewAdam(ctx, net, nn.AdamOptions{Rate: 0.05})
		require.NoError(t, err)
		f := func(in ...*tensor.Tensor) []*tensor.Tensor {
			y := net.Drop.Forward(net.Norm.Forward(net.Hidden.Forward(in[0]), true).ReLU(), true)
			loss := net.Out.Forward(y).Sub(in[1]).Square().Mean()
			opt.Update(loss)
			return []*tensor.Tensor{loss}
		}
		var step *tensor.Captured
		var out [][]float32
		e, _ := engine.Use("")
		for i := range 6 {
			x := tensor.Uniform(-1, 1, 16, 4)
			require.NoError(t, x.Realize(ctx))
			y := x.SumKeep(1)
			require.NoError(t, y.Realize(ctx))
			var loss *tensor.Tensor
			if captured {
				if step == nil {
					step, err = tensor.Capture(ctx, f, x, y)
					require.NoError(t, err)
				}
				plays := e.Stats().Plays
				ls, err := step.Run(ctx, x, y)
				require.NoError(t, err)
				if i > 0 { // the first computes what no step changes besides
					assert.Equal(t, plays+1, e.Stats().Plays, "a step is one play")
				}
				loss = ls[0]
			} else {
				loss = f(x, y)[0]
				require.NoError(t, opt.Realize(ctx, loss))
			}
			out = append(out, values(t, loss))
			if i == 3 {
				require.NoError(t, opt.SetRate(ctx, 0.01))
			}
		}
		out = append(out, values(t, net.Norm.RunningVar), values(t, net.Out.Weight), values(t, opt.Count))
		return out
	}
	eager, replayed := train(false), train(true)
	assert.Equal(t, eager, replayed)
	assert.Equal(t, []float32{6}, eager[8])
}

func TestManyStepsKeepNothing(t *testing.T) {
	e, err := engine.Use("")
	require.NoError(t, err)
	net := []*nn.Linear{nn.NewLinear(8, 16), nn.NewLinear(16, 1)}
	opt, err := nn.NewAdam(ctx, net, nn.AdamOptions{})
	require.NoError(t, err)
	x, y := tensor.Rand(4, 8), tensor.Rand(4, 1)
	require.NoError(t, tensor.Realize(ctx, x, y))
	var heap, live []int64
	for i := range 1201 {
		loss := net[1].Forward(net[0].Forward(x).ReLU()).Sub(y).Square().Mean()
		require.NoError(t, opt.Step(ctx, loss))
		if i%200 == 0 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap, live = append(heap, int64(m.HeapAlloc)), append(live, e.Stats().LiveBytes)
		}
	}
	// Nodes of the last two generations stay, so the heap goes up and down.
	assert.Less(t, slices.Max(heap[4:]), slices.Max(heap[:4])*6/5+1<<20)
	assert.Less(t, live[6], live[1]+4<<20)
}

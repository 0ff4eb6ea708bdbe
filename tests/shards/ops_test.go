package shards

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

const whole = tensor.Replicated

// What an operation and its gradients give does not depend on how its operands are cut; the result is cut as is said.
func TestOperations(t *testing.T) {
	of := func(shape ...int) *T { return tensor.Randn(shape...) }
	indices := func(n int, v ...int32) *T { return tensor.Of(v, n, len(v)/n) }
	for name, c := range map[string]struct {
		f    func(x ...*T) *T
		in   []*T
		cuts [][]int // of the operands, and of the result
	}{
		"product": {func(x ...*T) *T { return x[0].MatMul(x[1]) }, []*T{of(4, 6), of(6, 8)},
			[][]int{{0, whole, 0}, {whole, 1, 1}, {1, 0, whole}, {1, whole, whole}, {whole, 0, whole}, {whole, whole, whole}}},
		"products of a batch": {func(x ...*T) *T { return x[0].MatMul(x[1]) }, []*T{of(2, 4, 6), of(2, 6, 8)},
			[][]int{{0, 0, 0}, {1, whole, 1}, {2, 1, whole}, {whole, 2, 2}, {0, whole, 0}}},
		"convolution": {func(x ...*T) *T { return x[0].Conv(x[1], x[2], tensor.Conv{Padding: 1}) }, []*T{of(4, 2, 6, 6), of(6, 2, 3, 3), of(6)},
			[][]int{{0, whole, whole, 0}, {whole, 0, 0, 1}, {1, 1, whole, whole}}},
		"pool":          {func(x ...*T) *T { return x[0].MaxPool(tensor.Pool{Size: []int{2, 2}}) }, []*T{of(2, 4, 6, 6)}, [][]int{{0, 0}, {1, 1}}},
		"softmax":       {func(x ...*T) *T { return x[0].Softmax(1) }, []*T{of(4, 6)}, [][]int{{0, 0}, {1, 1}}},
		"log softmax":   {func(x ...*T) *T { return x[0].LogSoftmax(1) }, []*T{of(4, 6)}, [][]int{{0, 0}, {1, 1}}},
		"variance":      {func(x ...*T) *T { return x[0].Var(1, 1) }, []*T{of(4, 6)}, [][]int{{0, 0}, {1, whole}}},
		"layer norm":    {func(x ...*T) *T { return x[0].LayerNorm(nil, nil, 1e-5, 6) }, []*T{of(4, 6)}, [][]int{{0, 0}, {1, 1}}},
		"maximum":       {func(x ...*T) *T { return x[0].Max(0) }, []*T{of(4, 6)}, [][]int{{0, whole}, {1, 0}}},
		"running sum":   {func(x ...*T) *T { return x[0].CumSum(0) }, []*T{of(4, 6)}, [][]int{{1, 1}}},
		"views":         {func(x ...*T) *T { return x[0].Reshape(2, 2, 6).Transpose(0, 2).Narrow(1, 1, 1).Mul(2) }, []*T{of(4, 6)}, [][]int{{0, 2}, {1, 0}}},
		"split heads":   {func(x ...*T) *T { return x[0].Reshape(3, 4, 2).Transpose(0, 1).Reshape(4, 6) }, []*T{of(3, 8)}, [][]int{{1, 0}}},
		"embedding":     {func(x ...*T) *T { return x[0].Embedding(x[1], tensor.EmbeddingOptions{}) }, []*T{of(6, 4), indices(2, 5, 0, 3, 3, 2, 1)}, [][]int{{whole, 0, 0}, {1, whole, 2}, {0, whole, whole}}},
		"gather":        {func(x ...*T) *T { return x[0].Gather(1, x[1]) }, []*T{of(2, 6), indices(2, 5, 0, 3, 3)}, [][]int{{0, 0, 0}, {whole, 1, 1}, {1, whole, whole}, {whole, 0, 0}}},
		"scatter":       {func(x ...*T) *T { return x[0].ScatterAdd(1, x[1], x[2]) }, []*T{of(2, 6), indices(2, 5, 0, 3, 3), of(2, 2)}, [][]int{{0, 0, 0, 0}, {whole, 1, 1, whole}, {1, whole, whole, 1}, {whole, 0, whole, 0}}},
		"cross entropy": {func(x ...*T) *T { return x[0].CrossEntropy(x[1].Reshape(4)) }, []*T{of(4, 6), indices(4, 5, 0, 3, 3)}, [][]int{{0, 0, whole}, {0, whole, whole}, {1, whole, whole}}},
		"attention": {func(x ...*T) *T { return tensor.ScaledDotProduct(x[0], x[1], x[2], tensor.Attention{Causal: true}) }, []*T{of(2, 4, 5, 6), of(2, 4, 5, 6), of(2, 4, 5, 6)},
			[][]int{{0, 0, 0, 0}, {1, 1, 1, 1}, {3, 3, whole, whole}}},
		"einsum":    {func(x ...*T) *T { return tensor.Einsum("abc,cd->bad", x...) }, []*T{of(2, 4, 6), of(6, 4)}, [][]int{{0, whole, 1}, {1, whole, 0}, {2, 0, whole}, {whole, 1, 2}}},
		"of 16 bit": {func(x ...*T) *T { return x[0].To(dtype.F16).Sum(0) }, []*T{of(4, 6)}, [][]int{{0, whole}, {1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			devices := on(t, "INTERP", 2)
			require.NoError(t, tensor.Realize(ctx, c.in...))
			want := results(c.f, c.in)
			for _, cuts := range c.cuts {
				in := make([]*T, len(c.in))
				for i, x := range c.in {
					in[i] = x.Shard(devices, cuts[i])
				}
				axis, err := c.f(in...).CutAxis()
				require.NoError(t, err, "%v", cuts)
				require.Equal(t, cuts[len(in)], axis, "%v", cuts)
				got := results(c.f, in)
				require.NoError(t, tensor.Realize(ctx, got...), "%v", cuts)
				for i := range want {
					near(t, list(t, want[i]), list(t, got[i]), 1e-3)
				}
			}
		})
	}
}

// results are what f gives and the gradients of a sum of it.
func results(f func(x ...*T) *T, in []*T) []*T {
	out := f(in...)
	var floats []*T
	for _, x := range in {
		if x.IsFloat() {
			floats = append(floats, x)
		}
	}
	return append([]*T{out}, out.Square().Sum().Grad(floats...)...)
}

// The index of a maximum is that in the whole array, and of equal ones the first, wherever the device is that has it.
func TestArgMax(t *testing.T) {
	devices := on(t, "INTERP", 3)
	x := tensor.Of([]float32{1, 7, 3, 7, 0, 7}, 6)
	require.NoError(t, x.Realize(ctx))
	require.Equal(t, []float64{1}, list(t, x.Shard(devices, 0).ArgMax(0)))
	require.Equal(t, []float64{4}, list(t, x.Shard(devices, 0).ArgMin(0)))
}

// An index outside of its axis is the error that it is on one device.
func TestOutside(t *testing.T) {
	devices := on(t, "INTERP", 2)
	table := tensor.Randn(4, 2)
	require.NoError(t, table.Realize(ctx))
	for _, cut := range []int{whole, 0, 1} {
		out := table.Shard(devices, cut).Embedding(tensor.Of([]int32{0, 4}, 2).Shard(devices, whole), tensor.EmbeddingOptions{})
		_, err := out.Bytes(ctx)
		var wrong *engine.ValueError
		require.ErrorAs(t, err, &wrong, "%d", cut)
		require.ErrorContains(t, err, "4")
	}
}

// Masks are those of one device, whatever the cut.
func TestDropout(t *testing.T) {
	devices := on(t, "INTERP", 2)
	x := tensor.Ones(4, 6).Own()
	require.NoError(t, x.Realize(ctx))
	tensor.Seed(5)
	want := list(t, x.Dropout(0.5))
	for _, cut := range []int{whole, 0, 1} {
		tensor.Seed(5)
		require.Equal(t, want, list(t, x.Shard(devices, cut).Dropout(0.5)))
	}
}

// Constants, empty arrays and variables are cut too.
func TestLeaves(t *testing.T) {
	devices := on(t, "INTERP", 2)
	c := tensor.Ones(4, 3).Shard(devices, 0)
	axis, err := c.Mul(2).CutAxis()
	require.NoError(t, err)
	require.Equal(t, 0, axis)
	near(t, []float64{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, list(t, c.Mul(2)), 0)
	require.Empty(t, list(t, tensor.Zeros(0, 3).Shard(devices, 0).Add(1)))
	near(t, []float64{0, 0, 0}, list(t, tensor.Zeros(0, 3).Shard(devices, 0).Sum(0)), 0)
	x := tensor.Ones(2, 5).CumSum(1).Contiguous()
	require.NoError(t, x.Realize(ctx))
	v := tensor.NewVariable("n", 1, 5)
	near(t, []float64{6, 6}, list(t, x.Shard(devices, 0).Narrow(1, 0, v.Bind(3)).Sum(1)), 0)
}

// A tensor of several devices is assigned, changed in part, saved and loaded like any other, and stays cut.
func TestStates(t *testing.T) {
	devices := on(t, "INTERP", 2)
	x := tensor.Zeros(4, 6).Own().ShardTo(devices, 0).Own()
	require.NoError(t, x.Realize(ctx))
	x.AddAssign(1)
	x.SetAt(5, tensor.R(0, 4), 2)
	near(t, []float64{28}, list(t, x.Sum().Sub(12)), 0)
	y := x.Mul(2)
	x.Assign(tensor.Arange(24).To(dtype.F32).Reshape(4, 6))
	require.NoError(t, tensor.Realize(ctx, x, y))
	near(t, []float64{80}, list(t, y.Sum()), 0)
	axis, err := x.CutAxis()
	require.NoError(t, err)
	require.Equal(t, 0, axis)

	m := &nn.Linear{Weight: x}
	path := filepath.Join(t.TempDir(), "m.safetensors")
	require.NoError(t, nn.Save(ctx, path, m))
	x.Assign(0)
	require.NoError(t, x.Realize(ctx))
	require.NoError(t, nn.Load(ctx, path, m))
	near(t, []float64{276}, list(t, m.Weight.Sum()), 0)
	axis, err = m.Weight.CutAxis()
	require.NoError(t, err)
	require.Equal(t, 0, axis)
}

// Optimisers take the same steps on parameters that are cut, captured or not.
func TestOptimisers(t *testing.T) {
	for name, make := range map[string]func(m any) (*nn.Optimizer, error){
		"SGD":  func(m any) (*nn.Optimizer, error) { return nn.NewSGD(ctx, m, nn.SGDOptions{Rate: 0.1, Momentum: 0.9}) },
		"Adam": func(m any) (*nn.Optimizer, error) { return nn.NewAdam(ctx, m, nn.AdamOptions{}) },
		"LAMB": func(m any) (*nn.Optimizer, error) { return nn.NewLAMB(ctx, m, nn.LAMBOptions{}) },
		"RMS":  func(m any) (*nn.Optimizer, error) { return nn.NewRMSProp(ctx, m, nn.RMSPropOptions{}) },
		"Muon": func(m any) (*nn.Optimizer, error) { return nn.NewMuon(ctx, m, nn.MuonOptions{}) },
	} {
		for _, cut := range []int{0, 1, whole} {
			if name == "Muon" && cut == 0 { // which multiplies every row by every other
				continue
			}
			t.Run(fmt.Sprint(name, cut), func(t *testing.T) {
				devices := on(t, "INTERP", 2)
				run := func(devices []string) []float64 {
					tensor.Seed(2)
					m := &nn.Linear{Weight: tensor.Randn(4, 6).Clone()}
					x := tensor.Randn(8, 6)
					require.NoError(t, tensor.Realize(ctx, m.Weight, x))
					if devices != nil {
						m.Weight.ShardTo(devices, cut)
						x = x.Shard(devices, whole)
					}
					opt, err := make(m)
					require.NoError(t, err)
					step, err := tensor.Capture(ctx, func(in ...*T) []*T {
						loss := m.Forward(in[0]).Tanh().Square().Mean()
						opt.Update(loss)
						return []*T{loss}
					}, x)
					require.NoError(t, err)
					for range 3 {
						_, err := step.Run(ctx, x)
						require.NoError(t, err)
					}
					return list(t, m.Weight)
				}
				near(t, run(nil), run(devices), 1e-4)
			})
		}
	}
}

// A captured function shows what its last run did, and runs again with inputs that are cut otherwise.
func TestCapturedSchedule(t *testing.T) {
	devices := on(t, "INTERP", 2)
	x := tensor.Randn(4, 6)
	require.NoError(t, x.Realize(ctx))
	f, err := tensor.Capture(ctx, func(in ...*T) []*T { return []*T{in[0].Mul(2).Sum(0)} }, x.Shard(devices, 0))
	require.NoError(t, err)
	require.Empty(t, f.Schedule().Stages())
	require.Zero(t, f.Launches())
	for cut, stages := range map[int]int{0: 2, 1: 1, whole: 1} {
		outs, err := f.Run(ctx, x.Shard(devices, cut))
		require.NoError(t, err)
		near(t, list(t, x.Mul(2).Sum(0)), list(t, outs[0]), 1e-6)
		require.Len(t, f.Schedule().Stages(), stages)
		require.GreaterOrEqual(t, f.Launches(), 2)
		require.Contains(t, f.Schedule().String(), "stage 0\nINTERP:0: 1 launches")
		_, err = f.Schedule().Tree(0)
		require.NoError(t, err)
	}
	_, err = tensor.Capture(ctx, func(in ...*T) []*T { return []*T{in[0].Shard(devices, 0)} }, x.On("INTERP"))
	require.ErrorContains(t, err, "result 0 lies on INTERP:0+INTERP:1 and the captured function runs on INTERP; move it with On")
}

// A function of many arrays may shard them; one device is no several.
func TestVmapAndOne(t *testing.T) {
	devices := on(t, "INTERP", 2)
	x := tensor.Randn(3, 4, 6)
	require.NoError(t, x.Realize(ctx))
	for _, cut := range []int{0, 1, whole} {
		f := tensor.Vmap(func(in ...*T) []*T { return []*T{in[0].Shard(devices, cut).Square()} }, tensor.VmapOptions{})
		out := f(x.Shard(devices, whole))[0]
		axis, err := out.CutAxis()
		require.NoError(t, err)
		if cut != whole {
			require.Equal(t, cut+1, axis)
		}
		near(t, list(t, x.Square()), list(t, out), 0)
	}
	one := tensor.Ones(3).Shard(devices[:1], 0).Add(x.At(0, 0, tensor.R(0, 3)).Shard(devices[:1], 0))
	require.Equal(t, "INTERP", one.Device())
	require.NoError(t, one.Realize(ctx))
	_, err := engine.Use("INTERP:3+INTERP:4")
	require.ErrorContains(t, err, "come to lie on several devices by Shard")
}

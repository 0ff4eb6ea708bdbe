package nn_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// fitting is a small problem: |W·x + b − y|² for two x.
type fitting struct{ W, B *tensor.Tensor }

func newFitting() *fitting {
	return &fitting{tensor.Of([]float64{0.5, -1, 0.25, 1.5, 0.75, -0.5}, 2, 3), tensor.Of([]float64{0.1, -0.2})}
}

func (m *fitting) loss() *tensor.Tensor {
	x, y := tensor.Of([]float64{1, 2, 3, -1, 0.5, 2}, 2, 3), tensor.Of([]float64{1, 0, 2, -1}, 2, 2)
	return x.Linear(m.W, m.B).Sub(y).Square().Sum()
}

func (m *fitting) all(t *testing.T) []float64 {
	v, err := tensor.Data[float64](ctx, tensor.Cat(0, m.W.Flatten(), m.B))
	require.NoError(t, err)
	return v
}

type stepper interface {
	Params() []*tensor.Tensor
	Apply(grads []*tensor.Tensor)
	Collected() []*tensor.Tensor
	Realize(ctx context.Context, others ...*tensor.Tensor) error
}

// Each optimiser takes the steps that torch.optim, or float64 code of the formulas of its paper, takes: W and b after steps 1, 2, 5.
func TestStepsOfOptimizers(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(m *fitting) (any, error)
		want [3][]float64
	}{
		{"LAMB", func(m *fitting) (any, error) { return nn.NewLAMB(ctx, m, nn.LAMBOptions{Rate: 0.05, Decay: 0.1}) }, [3][]float64{
			{0.4573969, -0.9553681, 0.2895601, 1.453339, 0.7063825, -0.5385457, 0.1077869, -0.1919773},
			{0.415204, -0.9113448, 0.3285839, 1.407269, 0.6639683, -0.5717851, 0.116274, -0.1849664},
			{0.2871788, -0.7804068, 0.4447432, 1.269281, 0.5477929, -0.5767976, 0.1399774, -0.162667}}},
		{"LARS", func(m *fitting) (any, error) {
			return nn.NewLARS(ctx, m, nn.LARSOptions{Rate: 0.5, Decay: 0.01, Trust: 0.02})
		}, [3][]float64{
			{0.4986105, -0.9916816, 0.2680008, 1.495139, 0.7464155, -0.5023035, 0.1022351, -0.1999856},
			{0.4958792, -0.9759574, 0.3021317, 1.485801, 0.7395783, -0.5066308, 0.1064917, -0.1999462},
			{0.4784873, -0.8934253, 0.484303, 1.43242, 0.7018968, -0.5285606, 0.1296856, -0.1993705}}},
		{"LARS, Nesterov", func(m *fitting) (any, error) {
			return nn.NewLARS(ctx, m, nn.LARSOptions{Rate: 0.5, Decay: 0.01, Trust: 0.02, Nesterov: true})
		}, [3][]float64{
			{0.49736, -0.9841951, 0.2842016, 1.490764, 0.7431895, -0.5043766, 0.1042468, -0.1999727},
			{0.4932557, -0.9619486, 0.3327274, 1.47721, 0.7333753, -0.5104373, 0.1103395, -0.1998886},
			{0.4688163, -0.8665518, 0.5475912, 1.409308, 0.687272, -0.5346754, 0.1382901, -0.1986876}}},
		{"SGD, clipped by norm", func(m *fitting) (any, error) {
			o, err := nn.NewSGD(ctx, m, nn.SGDOptions{Rate: 0.1, Momentum: 0.9})
			o.Clip = nn.Clip{Norm: 1.5}.Apply
			return o, err
		}, [3][]float64{
			{0.4906408, -0.9438445, 0.3716702, 1.467243, 0.7258219, -0.5155987, 0.1505399, -0.199688},
			{0.4672797, -0.8407486, 0.6012231, 1.397792, 0.677329, -0.5431343, 0.2470333, -0.1968122},
			{0.152204, -0.7093947, 1.179007, 0.8793295, 0.4260065, -0.5273164, 0.5411618, -0.08679247}}},
		{"SGD, clipped by value and largest", func(m *fitting) (any, error) {
			o, err := nn.NewSGD(ctx, m, nn.SGDOptions{Rate: 0.1, Momentum: 0.9})
			o.Clip = nn.Clip{Value: 2, Norm: 3, P: math.Inf(1)}.Apply
			return o, err
		}, [3][]float64{
			{0.35, -0.8, 0.45, 1.3, 0.55, -0.7, 0.3, -0.195},
			{0.025, -0.42, 0.83, 0.92, 0.49, -0.68, 0.68, 0.0095},
			{-1.406275, -0.61518, 0.63482, -0.381855, 0.2860387, -0.66922, 0.48482, 0.4934925}}},
		{"groups of AdamW", func(m *fitting) (any, error) {
			w, err := nn.NewAdamW(ctx, nn.Select(m, func(p nn.Named) bool { return p.Name == "w" }), nn.AdamOptions{Rate: 0.1, Decay: 0.1})
			require.NoError(t, err)
			b, err := nn.NewAdamW(ctx, []*tensor.Tensor{m.B}, nn.AdamOptions{Rate: 0.01, NoDecay: true})
			require.NoError(t, err)
			g, err := nn.NewGroups(ctx, m, w, b)
			g.Clip = nn.Clip{Norm: 1}.Apply
			return g, err
		}, [3][]float64{
			{0.395, -0.89, 0.3475, 1.385, 0.6425, -0.595, 0.11, -0.19},
			{0.2913923, -0.7811562, 0.4440482, 1.27108, 0.5448738, -0.5940504, 0.1200051, -0.1823848},
			{-0.003094697, -0.4691543, 0.7261395, 0.9352952, 0.327209, -0.3729435, 0.1499934, -0.1556367}}},
		{"Rprop", func(m *fitting) (any, error) {
			return nn.NewRprop(ctx, m, nn.RpropOptions{Rate: 0.05, Shrink: 0.4, Grow: 1.3, Most: 0.1})
		}, [3][]float64{
			{0.45, -0.95, 0.3, 1.45, 0.7, -0.55, 0.15, -0.15},
			{0.385, -0.885, 0.365, 1.385, 0.635, -0.615, 0.215, -0.085},
			{0.1005, -0.6005, 0.6495, 1.1005, 0.3505, -0.5552, 0.4995, 0.1995}}},
		{"ASGD", func(m *fitting) (any, error) {
			return nn.NewASGD(ctx, m, nn.ASGDOptions{Rate: 0.02, Shrink: 0.01, Start: 1, Decay: 0.1})
		}, [3][]float64{
			{0.4689, -0.8178, 0.63945, 1.3917, 0.67085, -0.5489, 0.26178, -0.19856},
			{0.4138547, -0.790337, 0.7433856, 1.299021, 0.6253825, -0.5460588, 0.3141438, -0.1795462},
			{0.2570887, -0.8296548, 0.8034936, 1.075614, 0.5340682, -0.5020034, 0.3688848, -0.1192087}}},
		{"Adafactor", func(m *fitting) (any, error) {
			return nn.NewAdafactor(ctx, m, nn.AdafactorOptions{})
		}, [3][]float64{
			{0.4983627, -0.994526, 0.2559115, 1.482344, 0.7427385, -0.502335, 0.1015811, -0.1984189},
			{0.4966958, -0.9891069, 0.2617614, 1.464773, 0.7356322, -0.5045272, 0.1029914, -0.1966926},
			{0.4915209, -0.9731765, 0.2789437, 1.412574, 0.7152266, -0.510275, 0.1069423, -0.1913653}}},
		{"Adafactor, decayed and clipped", func(m *fitting) (any, error) {
			return nn.NewAdafactor(ctx, m, nn.AdafactorOptions{Rate: 0.2, Decay: 0.1, Clip: 1.5, Power: -0.5})
		}, [3][]float64{
			{0.4408809, -0.8157786, 0.4223446, 0.9403267, 0.5171545, -0.5600508, 0.1296228, -0.1643772},
			{0.3577616, -0.6991989, 0.5240175, 0.6746474, 0.5357904, -0.4581532, 0.1522153, -0.1258901},
			{0.09153338, -0.5431489, 0.6702886, 0.3551092, 0.4213906, -0.411396, 0.1972324, -0.09795892}}},
		{"a rule of one's own", func(m *fitting) (any, error) {
			return nn.NewOptimizer(ctx, m, func(c *nn.Change) *tensor.Tensor {
				sum := c.Keep("sum", c.Slot("sum").Add(c.Gradient.Sign()))
				return c.Parameter.Sub(sum.Mul(c.Rate).Div(c.Count))
			}, nn.RuleOptions{Rate: 0.01, Slots: []string{"sum"}})
		}, [3][]float64{ // all signs stay for two steps
			{0.49, -0.99, 0.26, 1.49, 0.74, -0.51, 0.11, -0.19}, {0.48, -0.98, 0.27, 1.48, 0.73, -0.52, 0.12, -0.18}, nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newFitting()
			made, err := c.make(m)
			require.NoError(t, err)
			o := made.(stepper)
			for i := 1; i <= 5; i++ {
				m.loss().Backward()
				o.Apply(o.Collected())
				require.NoError(t, o.Realize(ctx))
				want := map[int][]float64{1: c.want[0], 2: c.want[1], 5: c.want[2]}[i]
				if want != nil {
					assert.InDeltaSlice(t, want, m.all(t), 2e-6, "step %d", i)
				}
			}
		})
	}
}

// Optimisers of narrow floats take the steps that torch.optim takes. Those of RAdam are after 5 steps where the average is long enough.
func TestOptimizersOfNarrowFloats(t *testing.T) {
	for name, c := range map[string]struct {
		make func(m any) (*nn.Optimizer, error)
		want map[int]float64 // of steps
	}{
		"RAdam": {func(m any) (*nn.Optimizer, error) { return nn.NewRAdam(ctx, m, nn.MomentOptions{Rate: 0.05}) },
			map[int]float64{1: 0.05, 2: 0.098684, 5: 0.23666, 6: 0.237924, 7: 0.239521, 10: 0.245915, 20: 0.279642, 30: 0.32671}},
		"NAdam": {func(m any) (*nn.Optimizer, error) { return nn.NewNAdam(ctx, m, nn.MomentOptions{Rate: 0.05}) }, nAdamOfOnes},
		"ASGD":  {func(m any) (*nn.Optimizer, error) { return nn.NewASGD(ctx, m, nn.ASGDOptions{Rate: 0.05}) }, asgdOfOnes},
	} {
		for d, tolerance := range map[dtype.DType]float64{dtype.F32: 1e-5, dtype.F16: 2e-3, dtype.BF16: 1e-2} {
			w := tensor.Full(0, d, 3)
			o, err := c.make([]*tensor.Tensor{w})
			require.NoError(t, err)
			for i := 1; i <= 30; i++ {
				require.NoError(t, o.Step(ctx, w.To(dtype.F32).Sub(1).Square().Sum().Mul(0.5)))
				if c.want[i] != 0 {
					v, err := tensor.Data[float64](ctx, w.To(dtype.F64))
					require.NoError(t, err)
					assert.InDelta(t, c.want[i], v[0], tolerance, "%s, %v, step %d", name, d, i)
				}
			}
		}
	}
}

var (
	nAdamOfOnes = map[int]float64{1: 0.0528226, 2: 0.0910512, 5: 0.19577, 10: 0.374375, 30: 0.919949}
	asgdOfOnes  = map[int]float64{1: 0.05, 2: 0.0974996, 5: 0.226215, 10: 0.401249, 30: 0.785298}
)

// The number of steps is exact where the parameter's type cannot count so far, and what a rule keeps takes the slot's type.
func TestCountOfNarrowFloats(t *testing.T) {
	w := tensor.Full(0, dtype.BF16, 2)
	o, err := nn.NewOptimizer(ctx, []*tensor.Tensor{w}, func(c *nn.Change) *tensor.Tensor {
		return c.Keep("seen", c.Slot("seen").Add(c.Count.Sub(250)))
	}, nn.RuleOptions{Slots: []string{"seen"}})
	require.NoError(t, err)
	require.NoError(t, tensor.Realize(ctx, o.Count.Assign(256)))
	require.NoError(t, o.Step(ctx, w.Sum()))
	v, err := tensor.Data[float64](ctx, w.To(dtype.F64))
	require.NoError(t, err)
	assert.Equal(t, []float64{7, 7}, v)
}

// A parameter of four axes is the matrix of its first and all others; the numbers are those of Newton's and Schulz's iteration in float64.
func TestMuonOfFilters(t *testing.T) {
	w := tensor.Arange(24).To(dtype.F64).Mul(0.37).Sin().To(dtype.F32).To(dtype.F64).Reshape(2, 3, 2, 2)
	x := tensor.Arange(24).To(dtype.F64).Mul(0.9).Cos().To(dtype.F32).To(dtype.F64).Reshape(2, 12)
	require.NoError(t, tensor.Realize(ctx, w, x))
	o, err := nn.NewMuon(ctx, []*tensor.Tensor{w}, nn.MuonOptions{Rate: 0.1})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, o.Step(ctx, w.Reshape(2, 12).Mul(x).Sum(1).Square().Sum()))
	}
	v, err := tensor.Data[float64](ctx, w.Flatten())
	require.NoError(t, err)
	assert.InDeltaSlice(t, muonOfFilters, v, 1e-4)
	_, err = nn.NewMuon(ctx, nn.NewLinear(2, 2), nn.MuonOptions{})
	assert.ErrorContains(t, err, "not a parameter of shape [2]; give the others to NewAdamW, and join both by NewGroups")
}

func TestGroupsRefuse(t *testing.T) {
	m := newFitting()
	one, err := nn.NewSGD(ctx, m, nn.SGDOptions{})
	require.NoError(t, err)
	two, err := nn.NewSGD(ctx, []*tensor.Tensor{m.B}, nn.SGDOptions{})
	require.NoError(t, err)
	_, err = nn.NewGroups(ctx, m, one, two)
	assert.EqualError(t, err, "nn: b is trained by optimisers 0 and 1")
	_, err = nn.NewGroups(ctx, []*tensor.Tensor{m.W}, two)
	assert.EqualError(t, err, "nn: optimiser 0 trains a parameter of shape [2] that the model does not have")
	_, err = nn.NewGroups(ctx, m)
	assert.ErrorContains(t, err, "no optimisers")
	g, err := nn.NewGroups(ctx, m, two)
	require.NoError(t, err)
	before, w := m.all(t), m.W.Node()
	require.NoError(t, g.Step(ctx, m.loss()))
	assert.NotEqual(t, before[6:], m.all(t)[6:])
	assert.Equal(t, w, m.W.Node(), "what belongs to no group stays")
	assert.ErrorContains(t, tensor.Try(func() { g.Apply(nil) }), "Apply: 0 gradients for 1 parameters (optimizer_test.go:")
	own, err := nn.NewOptimizer(ctx, m, func(c *nn.Change) *tensor.Tensor { return c.Slot("no") }, nn.RuleOptions{})
	require.NoError(t, err)
	assert.ErrorContains(t, tensor.Try(func() { own.Update(m.loss()) }), "the optimiser was made without a slot no")
}

// Schedules in sequence and multiplied: torch.optim.lr_scheduler's SequentialLR and ChainedScheduler.
func TestSchedulesJoined(t *testing.T) {
	rates := func(s nn.Schedule, n int) (out []float64) {
		for t := range n {
			out = append(out, s(t))
		}
		return out
	}
	s := nn.Sequence([]int{4, 7}, nn.LinearRamp(0.1, 0.1, 1, 4), nn.Exponential(0.1, 0.9), nn.Constant(0.1, 0.5, 3))
	assert.InDeltaSlice(t, []float64{0.01, 0.0325, 0.055, 0.0775, 0.1, 0.09, 0.081, 0.05, 0.05, 0.05, 0.1, 0.1}, rates(s, 12), 1e-9)
	p := nn.Product(nn.Constant(0.1, 0.5, 4), nn.Exponential(1, 0.9))
	assert.InDeltaSlice(t, []float64{0.05, 0.045, 0.0405, 0.03645, 0.06561, 0.059049, 0.0531441}, rates(p, 7), 1e-9)
	assert.ErrorContains(t, tensor.Try(func() { nn.Sequence([]int{3}, p) }), "Sequence: 1 schedules and milestones [3]")
}

// Schedules of no steps are refused where they are made.
func TestSchedulesRefuse(t *testing.T) {
	for want, make := range map[string]func() nn.Schedule{
		"CosineRestarts: mult is 0; it must be 1 or more":  func() nn.Schedule { return nn.CosineRestarts(.5, 4, 0, 0) },
		"CosineRestarts: mult is -1; it must be 1 or more": func() nn.Schedule { return nn.CosineRestarts(.5, 4, -1, 0) },
		"CosineRestarts: first is 0; it must be 1 or more": func() nn.Schedule { return nn.CosineRestarts(.5, 0, 2, 0) },
		"CosineAnnealing: steps is 0":                      func() nn.Schedule { return nn.CosineAnnealing(.5, 0, 0) },
		"LinearRamp: steps is 0":                           func() nn.Schedule { return nn.LinearRamp(.5, .1, 1, 0) },
		"Polynomial: steps is 0":                           func() nn.Schedule { return nn.Polynomial(.5, 0, 1) },
		"StepDecay: size is 0":                             func() nn.Schedule { return nn.StepDecay(.5, 0, .1) },
		"Cyclic: Up is 0":                                  nn.Cyclic{Base: .1, Max: 1}.Schedule,
		"Cyclic: Down is -2":                               nn.Cyclic{Base: .1, Max: 1, Up: 2, Down: -2}.Schedule,
		"OneCycle: Steps is 0":                             nn.OneCycle{Max: 1}.Schedule,
		"OneCycle: Warm is 2":                              nn.OneCycle{Max: 1, Steps: 9, Warm: 2}.Schedule,
	} {
		err := tensor.Try(func() { make() })
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "(optimizer_test.go:")
	}
	assert.Equal(t, 1.0, nn.OneCycle{Max: 1, Steps: 10, Warm: .1}.Schedule()(0), "nothing to warm up in")
	assert.Equal(t, .5, nn.CosineRestarts(.5, 4, math.MaxInt/2, 0)(4), "the second fall has no end")
}

var muonOfFilters = []float64{-0.0835, 0.2966, 0.67029, 0.94329, 1.04252, 0.95328, 0.72225, 0.42495, 0.12204, -0.16433, -0.43927, -0.70126, -0.93627, -0.95068, -0.84574, -0.63901, -0.35223, -0.01309, 0.34006, 0.65773, 0.88725, 0.98722, 0.94093, 0.76105}

// Adam may forget gradients at once, as the critics of generative networks have it: a negative number says so, for 0 is the default.
// So may the others that remember squares.
func TestOptimizersWithoutMemory(t *testing.T) {
	for name, make := range map[string]func(m any) (*nn.Optimizer, error){
		"Adam": func(m any) (*nn.Optimizer, error) {
			return nn.NewAdam(t.Context(), m, nn.AdamOptions{Rate: .5, Beta1: -1, Beta2: -1, Eps: 1e-12})
		},
		"LAMB": func(m any) (*nn.Optimizer, error) {
			return nn.NewLAMB(t.Context(), m, nn.LAMBOptions{Rate: .5, Beta1: -1, Beta2: -1, Eps: 1e-12})
		},
		"RMSProp": func(m any) (*nn.Optimizer, error) {
			return nn.NewRMSProp(t.Context(), m, nn.RMSPropOptions{Rate: .5, Alpha: -1, Eps: 1e-12})
		},
	} {
		p := tensor.Of([]float32{3, 4}, 2)
		o, err := make(map[string]*tensor.Tensor{"p": p})
		require.NoError(t, err, name)
		want := []float64{3, 4}
		for range 3 { // each step is one of the rate along the signs, for LAMB times |p|/√2
			scale := .5
			if name == "LAMB" {
				scale *= math.Hypot(want[0], want[1]) / math.Sqrt2
			}
			want[0], want[1] = want[0]-scale, want[1]+scale
			require.NoError(t, o.Step(t.Context(), p.Mul(tensor.Of([]float32{7, -.1}, 2)).Sum()))
		}
		got, err := tensor.Data[float64](t.Context(), p.To(dtype.F64))
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-5, name)
	}
}

// Adadelta without memory makes the first step of the size that Eps says, and doubles it: each is as long as the one before and Eps
// together. Muon without momentum steps by the nearest orthogonal matrix of the gradient alone.
func TestStepsWithoutMemory(t *testing.T) {
	p := tensor.Of([]float32{3, 4}, 2)
	o, err := nn.NewAdadelta(t.Context(), map[string]*tensor.Tensor{"p": p}, nn.AdadeltaOptions{Rho: -1, Eps: 0.01})
	require.NoError(t, err)
	for range 3 { // the squares of the steps: 0.01, 0.02, 0.03
		require.NoError(t, o.Step(t.Context(), p.Mul(tensor.Of([]float32{1e3, -1e3}, 2)).Sum()))
	}
	got, err := tensor.Data[float64](t.Context(), p.To(dtype.F64))
	require.NoError(t, err)
	way := 0.1 + math.Sqrt(0.02) + math.Sqrt(0.03)
	require.InDeltaSlice(t, []float64{3 - way, 4 + way}, got, 1e-4)

	w := tensor.Full(0, dtype.F32, 2, 2).Clone()
	o, err = nn.NewMuon(t.Context(), map[string]*tensor.Tensor{"w": w}, nn.MuonOptions{Rate: 1, NoDecay: true, Momentum: -1,
		Newton: [3]float64{2, -1.5, 0.5}, Iterations: 20})
	require.NoError(t, err)
	require.NoError(t, o.Step(t.Context(), w.Mul(tensor.Of([]float32{1, 0, 0, 2}, 2, 2)).Sum()))
	require.NoError(t, o.Step(t.Context(), w.Mul(tensor.Of([]float32{0, 1, 2, 0}, 2, 2)).Sum()))
	got, err = tensor.Data[float64](t.Context(), w.To(dtype.F64))
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{-1, -1, -1, -1}, got, 1e-3)
}

// Optimisers of float64 parameters compute in float64: the numbers are those of torch.optim where float64 is the default type, for it
// holds rates and products in that.
func TestOptimizersOfFloat64(t *testing.T) {
	for name, c := range map[string]struct {
		make func(m any) (*nn.Optimizer, error)
		want []float64
	}{
		"NAdam": {func(m any) (*nn.Optimizer, error) { return nn.NewNAdam(ctx, m, nn.MomentOptions{Rate: 0.05}) },
			[]float64{0.8383179855605197, -0.6100280900444885, 1.6256253867464565}},
		"ASGD": {func(m any) (*nn.Optimizer, error) { return nn.NewASGD(ctx, m, nn.ASGDOptions{Rate: 0.05}) },
			[]float64{0.7006045023888159, -0.1974616157058299, 1.5986706204834615}},
		"RAdam": {func(m any) (*nn.Optimizer, error) { return nn.NewRAdam(ctx, m, nn.MomentOptions{Rate: 0.05}) },
			[]float64{0.6275808907581968, -0.5174231514727995, 1.7540848827229218}},
		"Rprop": {func(m any) (*nn.Optimizer, error) { return nn.NewRprop(ctx, m, nn.RpropOptions{Rate: 0.05}) },
			[]float64{0.9815660799999999, 0.2979341055999999, 0.9600549119999999}},
	} {
		w := tensor.Of([]float64{0.5, -1, 2})
		o, err := c.make([]*tensor.Tensor{w})
		require.NoError(t, err)
		for range 10 {
			require.NoError(t, o.Step(ctx, w.Sub(1).Square().Sum().Mul(0.5)))
		}
		v, err := tensor.Data[float64](ctx, w)
		require.NoError(t, err)
		assert.InDeltaSlice(t, c.want, v, 1e-13, name)
	}
}

// Numbers that no optimiser can work with are refused by name.
func TestOptimizersRefuse(t *testing.T) {
	for want, make := range map[string]func(m any) (*nn.Optimizer, error){
		"SGD: Rate is -0.1; it must be a finite number, not negative": func(m any) (*nn.Optimizer, error) { return nn.NewSGD(ctx, m, nn.SGDOptions{Rate: -0.1}) },
		"SGD: Rate is NaN; it must be a finite number, not negative":  func(m any) (*nn.Optimizer, error) { return nn.NewSGD(ctx, m, nn.SGDOptions{Rate: math.NaN()}) },
		"SGD: Nesterov looks ahead along the momentum, and Momentum is 0": func(m any) (*nn.Optimizer, error) {
			return nn.NewSGD(ctx, m, nn.SGDOptions{Nesterov: true})
		},
		"SGD: Nesterov looks ahead along the whole momentum, and Dampening is 0.1": func(m any) (*nn.Optimizer, error) {
			return nn.NewSGD(ctx, m, nn.SGDOptions{Nesterov: true, Momentum: 0.9, Dampening: 0.1})
		},
		"LARS: Nesterov looks ahead along the momentum, and there is none": func(m any) (*nn.Optimizer, error) {
			return nn.NewLARS(ctx, m, nn.LARSOptions{Nesterov: true, NoMomentum: true})
		},
		"Adam: Beta1 is 1.5; it must be less than 1":    func(m any) (*nn.Optimizer, error) { return nn.NewAdam(ctx, m, nn.AdamOptions{Beta1: 1.5}) },
		"AdamW: Beta2 is 1; it must be less than 1":     func(m any) (*nn.Optimizer, error) { return nn.NewAdamW(ctx, m, nn.AdamOptions{Beta2: 1}) },
		"RAdam: Beta2 is 2; it must be less than 1":     func(m any) (*nn.Optimizer, error) { return nn.NewRAdam(ctx, m, nn.MomentOptions{Beta2: 2}) },
		"LAMB: Decay is -1; it must be a finite number": func(m any) (*nn.Optimizer, error) { return nn.NewLAMB(ctx, m, nn.LAMBOptions{Decay: -1}) },
		"RMSProp: Alpha is 1; it must be less than 1":   func(m any) (*nn.Optimizer, error) { return nn.NewRMSProp(ctx, m, nn.RMSPropOptions{Alpha: 1}) },
		"Muon: Iterations is -1; it must be":            func(m any) (*nn.Optimizer, error) { return nn.NewMuon(ctx, m, nn.MuonOptions{Iterations: -1}) },
		"Rprop: Shrink is 3; it must be less than 1":    func(m any) (*nn.Optimizer, error) { return nn.NewRprop(ctx, m, nn.RpropOptions{Shrink: 3}) },
		"NewOptimizer: Rate is -1; it must be a finite": func(m any) (*nn.Optimizer, error) { return nn.NewOptimizer(ctx, m, nil, nn.RuleOptions{Rate: -1}) },
	} {
		_, err := make(newFitting())
		assert.ErrorContains(t, err, "nn: "+want)
	}
}

// A step that could train nothing is an error; one that trains some of the parameters is none.
func TestStepsThatTrainNothing(t *testing.T) {
	mine, other := nn.NewLinear(2, 2), nn.NewLinear(2, 2)
	x := tensor.Ones(3, 2)
	opt, err := nn.NewSGD(ctx, mine, nn.SGDOptions{})
	require.NoError(t, err)
	both, err := nn.NewGroups(ctx, []*nn.Linear{mine, other}, opt)
	require.NoError(t, err)
	for name, loss := range map[string]*tensor.Tensor{
		"another model": other.Forward(x).Sum(), "a constant": tensor.Scalar(2.0), "detached": mine.Forward(x).Detach().Sum(),
		"steps": mine.Forward(x).Gt(0).To(dtype.F32).Sum(),
	} {
		for _, update := range []func(*tensor.Tensor){opt.Update, both.Update, func(l *tensor.Tensor) { _ = opt.Step(ctx, l) }} {
			var wrong *tensor.ArgumentError
			require.ErrorAs(t, tensor.Try(func() { update(loss) }), &wrong, name)
			assert.Equal(t, "Update", wrong.Op)
			assert.Contains(t, wrong.Reason, "the loss depends on none of the optimiser's 2 parameters, so nothing would be trained; make the optimiser for", name)
			assert.Contains(t, wrong.At, "optimizer_test.go:")
		}
	}
	assert.Equal(t, []float32{0}, values(t, opt.Count), "no step was taken")
	require.NoError(t, opt.Step(ctx, x.MatMul(mine.Weight.T()).Sum())) // without the bias
	require.NoError(t, opt.Step(ctx, mine.Forward(x).Sum().Mul(0)))    // its gradient is 0, but there is one
	_, reached := mine.Forward(x).Round().Sum().GradReached(mine.Weight)
	assert.Equal(t, []bool{false}, reached)
}

// What an optimiser takes 0 for its default in can be said to be 0: by a negative number. Gradients are 1e-10, of which the usual Eps would
// leave little.
func TestSettingsOfZero(t *testing.T) {
	const rate, g = 0.5, 1e-10
	type steps = []float64
	for _, c := range []struct {
		name string
		make func(m any) (*nn.Optimizer, error)
		want steps // of the parameter 1, towards 0
	}{
		{"Adam", func(m any) (*nn.Optimizer, error) { return nn.NewAdam(ctx, m, nn.AdamOptions{Rate: rate, Eps: -1}) }, steps{rate, rate}},
		{"AdamW", func(m any) (*nn.Optimizer, error) {
			return nn.NewAdamW(ctx, m, nn.AdamOptions{Rate: rate, Eps: -1, NoDecay: true})
		}, steps{rate, rate}},
		{"Adamax", func(m any) (*nn.Optimizer, error) {
			return nn.NewAdamax(ctx, m, nn.MomentOptions{Rate: rate, Eps: -1})
		}, steps{rate, rate}},
		// μ is 0.45 in each step: 0.55·g/0.55 + 0.45·0.1·g/(1 − 0.45²), all over g; then 0.55/(1 − 0.45²) + 0.45·0.19/(1 − 0.45³)
		{"NAdam", func(m any) (*nn.Optimizer, error) {
			return nn.NewNAdam(ctx, m, nn.MomentOptions{Rate: rate, Eps: -1, MomentumDecay: -1})
		}, steps{rate * (1 + 0.045/0.7975), rate * (0.55/0.7975 + 0.0855/0.908875)}},
		{"LAMB", func(m any) (*nn.Optimizer, error) { return nn.NewLAMB(ctx, m, nn.LAMBOptions{Rate: rate, Eps: -1}) }, steps{rate, rate / 2}},
		{"RMSProp", func(m any) (*nn.Optimizer, error) {
			return nn.NewRMSProp(ctx, m, nn.RMSPropOptions{Rate: rate, Eps: -1})
		}, steps{10 * rate, rate / math.Sqrt(0.0199)}},
		{"Adagrad", func(m any) (*nn.Optimizer, error) {
			return nn.NewAdagrad(ctx, m, nn.AdagradOptions{Rate: rate, Eps: -1})
		}, steps{rate, rate / math.Sqrt2}},
		{"Adadelta", func(m any) (*nn.Optimizer, error) {
			return nn.NewAdadelta(ctx, m, nn.AdadeltaOptions{Rate: rate, Eps: -1})
		}, steps{0, 0}},
		{"ASGD", func(m any) (*nn.Optimizer, error) {
			return nn.NewASGD(ctx, m, nn.ASGDOptions{Rate: rate / g, Shrink: -1, Power: -1, Start: -1})
		}, steps{rate, rate}},
		{"Rprop", func(m any) (*nn.Optimizer, error) {
			return nn.NewRprop(ctx, m, nn.RpropOptions{Rate: 1e-9, Least: -1})
		}, steps{1e-9, 1.2e-9}},
		// The size of the parameter, 1, halves the rate once: share 1 of the new squares in each step.
		{"Adafactor", func(m any) (*nn.Optimizer, error) {
			return nn.NewAdafactor(ctx, m, nn.AdafactorOptions{Rate: rate, Eps: -1, Least: -1, Power: 1})
		}, steps{rate, rate * 0.5}},
	} {
		w := tensor.Ones(1, 1).To(dtype.F64)
		o, err := c.make([]*tensor.Tensor{w})
		require.NoError(t, err, c.name)
		before := 1.0
		for _, step := range c.want {
			require.NoError(t, o.Step(ctx, w.Mul(g).Sum()), c.name)
			now, err := w.Item(ctx)
			require.NoError(t, err)
			assert.InDelta(t, step, before-now, 1e-7*max(step, 1e-3), c.name)
			before = now
		}
		if c.name == "ASGD" { // averages of both steps: 0.5 and 0
			mean, err := o.Slots["mean"][0].Item(ctx)
			require.NoError(t, err)
			assert.InDelta(t, 0, mean, 1e-6, "the average begins after the first step")
		}
	}
	rates := nn.OneCycle{Max: 1, Steps: 10, Warm: -1}.Schedule()
	assert.InDelta(t, 0.9755283014374586, rates(0), 1e-7) // as PyTorch with pct_start 0
	assert.InDelta(t, 1.0/25/1e4, rates(9), 1e-9)
}

// A rate of which training would not recover is refused when it is set as well.
func TestRatesThatAreNone(t *testing.T) {
	o, err := nn.NewSGD(ctx, newFitting(), nn.SGDOptions{})
	require.NoError(t, err)
	for rate, want := range map[float64]string{math.NaN(): "NaN", math.Inf(1): "+Inf", -1: "-1"} {
		assert.ErrorContains(t, o.SetRate(ctx, rate), "nn: SetRate: rate is "+want+"; it must be a finite number, not negative")
	}
	assert.InDeltaSlice(t, []float32{1e-3}, values(t, o.Rate.To(dtype.F32)), 1e-9)
	require.NoError(t, o.SetRate(ctx, 0))
	assert.Equal(t, []float32{0}, values(t, o.Rate.To(dtype.F32)))
}

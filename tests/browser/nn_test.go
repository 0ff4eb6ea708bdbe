package browser_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// floats reads the elements of a tensor.
func floats(t *testing.T, x one) []float64 {
	data, err := tensor.Data[float64](context.Background(), x)
	require.NoError(t, err)
	return data
}

// near compares numbers of a page with Go's.
func near(t *testing.T, want, got []float64, tol float64, what string) {
	t.Helper()
	if !assert.Len(t, got, len(want), what) {
		return
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= tol*(1+math.Abs(w))) {
			assert.Fail(t, "other values", "%s: element %d is %v, in Go %v", what, i, got[i], w)
			return
		}
	}
}

// file is a model as a safetensors file, in base64.
func file(t *testing.T, model any) string {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, nn.Realize(context.Background(), model))
	require.NoError(t, nn.Save(context.Background(), path, model))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(data)
}

// layer is a layer in both languages, and what comes out of it.
type layer struct {
	js, forward string
	model       any
	out         func(v values) some
}

func layers1() []layer {
	pick := func(l any, f func(v values) some) (any, func(v values) some) { return l, f }
	add := func(out *[]layer, js, forward string, model any, f func(v values) some) {
		m, g := pick(model, f)
		*out = append(*out, layer{js, forward, m, g})
	}
	var out []layer
	linear := nn.NewLinear(4, 3)
	add(&out, "nn.linear(4, 3)", "l.forward(x)", linear, func(v values) some { return some{linear.Forward(v.x)} })
	conv := nn.NewConv2d(4, 6, 3, tensor.Conv{Stride: 2, Padding: 1, Groups: 2})
	add(&out, "nn.conv2d(4, 6, 3, {stride: 2, padding: 1, groups: 2})", "l.forward(img)", conv, func(v values) some { return some{conv.Forward(v.img)} })
	turned := &nn.Conv2d{Weight: tensor.Rand(4, 3, 2, 2), Bias: tensor.Rand(3)}
	add(&out, "nn.convTranspose2d(4, 3, 2, {stride: 2})", "l.forward(img)", turned, func(v values) some {
		return some{v.img.ConvTranspose(turned.Weight, turned.Bias, tensor.Conv{Stride: 2})}
	})
	norm := nn.NewBatchNorm(4)
	add(&out, "nn.batchNorm(4)", "[l.forward(img, {training: true}), l.runningMean, l.runningVar, l.forward(img)]", norm, func(v values) some {
		y := norm.Forward(v.img, true)
		return some{y, norm.RunningMean, norm.RunningVar, norm.Forward(v.img, false)}
	})
	plain := nn.NewBatchNorm(4).Cumulative()
	add(&out, "nn.batchNorm(4, {momentum: null})", "[l.forward(img, {training: true}), l.runningMean, l.runningVar, l.batches]", plain, func(v values) some {
		y := plain.Forward(v.img, true)
		return some{y, plain.RunningMean, plain.RunningVar, plain.Batches}
	})
	loose := nn.NewBatchNorm(4).Untracked()
	add(&out, "nn.batchNorm(4, {tracked: false})", "l.forward(img)", loose, func(v values) some { return some{loose.Forward(v.img, false)} })
	last := nn.NewLayerNorm(4)
	add(&out, "nn.layerNorm(4)", "l.forward(x)", last, func(v values) some { return some{last.Forward(v.x)} })
	scale := &struct{ Weight, Bias *tensor.Tensor }{tensor.Rand(4), tensor.Rand(4)}
	add(&out, "nn.groupNorm(2, 4)", "l.forward(img)", scale, func(v values) some { return some{v.img.GroupNorm(2, scale.Weight, scale.Bias, 1e-5)} })
	add(&out, "nn.instanceNorm(4, {affine: true})", "l.forward(img)", scale, func(v values) some { return some{v.img.InstanceNorm(scale.Weight, scale.Bias, 1e-5)} })
	root := &struct{ Weight *tensor.Tensor }{tensor.Rand(4)}
	add(&out, "nn.rmsNorm(4)", "l.forward(x)", root, func(v values) some { return some{v.x.RMSNorm(root.Weight, 1e-6, 4)} })
	add(&out, "nn.prelu(4)", "l.forward(img.sub(0.5))", root, func(v values) some { return some{v.img.Sub(0.5).PReLU(root.Weight)} })
	words := nn.NewEmbedding(5, 3)
	add(&out, "nn.embedding(5, 3)", "l.forward(ids)", words, func(v values) some { return some{words.Forward(v.ids)} })
	bilinear := nn.NewBilinear(4, 2, 3)
	add(&out, "nn.bilinear(4, 2, 3)", "l.forward(x, b)", bilinear, func(v values) some { return some{bilinear.Forward(v.x, v.b)} })
	add(&out, "nn.sequential(nn.linear(4, 3), (x) => x.relu(), nn.dropout(0.5))", "l.forward(x)", &struct{ Layers []any }{[]any{linear}}, func(v values) some { return some{linear.Forward(v.x).ReLU()} })
	lstm := nn.NewRecurrent(nn.LSTMCell, 4, 3, 2, true)
	add(&out, "nn.lstm(4, 3, {layers: 2, bothWays: true})", "(([y, {h, c}]) => [y, h, c])(l.forward(times))", lstm, func(v values) some {
		y, s := lstm.Forward(v.times, nn.States{}, false)
		return some{y, s.H, s.C}
	})
	gru := nn.NewRecurrent(nn.GRUCell, 4, 3, 1, false)
	gru.BatchFirst = true
	add(&out, "nn.gru(4, 3, {batchFirst: true})", "(([y, {h}]) => [y, h, l.forward(times, {h})[0]])(l.forward(times))", gru, func(v values) some {
		y, s := gru.Forward(v.times, nn.States{}, false)
		z, _ := gru.Forward(v.times, s, false)
		return some{y, s.H, z}
	})
	heads := nn.NewMultiheadAttention(4, 2)
	add(&out, "nn.multiheadAttention(4, 2)", "[l.forward(times, undefined, undefined, {causal: true}), ...l.forward(times, times, times, {weights: true, causal: true})]", heads, func(v values) some {
		y, shares := heads.Forward(v.times, v.times, v.times, nn.Attending{Causal: true})
		return some{y, y, shares}
	})
	add(&out, "nn.multiheadAttention(4, 2)", "l.forward(times, times, times, {paddingMask: w.tensor([[true, true, false], [true, false, true]])})", heads, func(v values) some {
		y, _ := heads.Forward(v.times, v.times, v.times, nn.Attending{PaddingMask: tensor.From([][]bool{{false, false, true}, {false, true, false}})})
		return some{y}
	})
	add(&out, "nn.multiheadAttention(4, 2)", "l.forward(times, times, times, {weights: true, mask: w.tensor([[0.5, -1, 2], [0, 1, 0], [-Infinity, -Infinity, -Infinity]])})", heads, func(v values) some {
		low := math.Inf(-1)
		y, shares := heads.Forward(v.times, v.times, v.times, nn.Attending{Mask: tensor.From([][]float64{{0.5, -1, 2}, {0, 1, 0}, {low, low, low}}).To(dtype.F32)})
		return some{y, shares}
	})
	block := nn.NewTransformerLayer(4, 2, 8, true)
	block.NormFirst, block.GELU = true, true
	add(&out, "nn.transformerLayer(4, 2, 8, {decoder: true, normFirst: true, activation: 'gelu'})", "l.forward(times, {memory: times.mul(2), causal: true})", block, func(v values) some {
		return some{block.Forward(v.times, v.times.Mul(2), nn.Attending{Causal: true}, nn.Attending{})}
	})
	return out
}

// Layers of a page read the files of package nn, and give what its layers give.
func TestLayers(t *testing.T) {
	tensor.Seed(3)
	list := layers1()
	code := ""
	for _, l := range list {
		quoted, err := json.Marshal(file(t, l.model))
		require.NoError(t, err)
		code += "[() => " + l.js + ", (l) => " + l.forward + ", " + string(quoted) + "],\n"
	}
	v := known1()
	var wants []some // once: batch norm moves its averages
	for _, l := range list {
		want := l.out(v)
		require.NoError(t, tensor.Realize(context.Background(), want...))
		wants = append(wants, want)
	}
	for _, device := range []string{"wasm", "webgpu"} {
		p := open(t)
		var got [][]told
		require.NoError(t, p.Run(`
		const w = await weft.open({device: '`+device+`'})
		const nn = w.nn
		`+inputs+`
		const out = []
		for (const [make, forward, file] of [`+code+`]) {
			const l = make()
			await w.load(Uint8Array.from(atob(file), (c) => c.charCodeAt(0)), l)
			out.push(await Promise.all([forward(l)].flat().map(async (y) => ({shape: await y.shape, dtype: await y.dtype, data: [...await y.data()]}))))
		}
		w.close()
		return out`, &got))
		for i, l := range list {
			require.Len(t, got[i], len(wants[i]), l.js)
			for k, y := range wants[i] {
				assert.Equal(t, y.Shape(), got[i][k].Shape, "%s, %s", l.js, l.forward)
				assert.Empty(t, got[i][k].differs(context.Background(), y), "%s, %s, result %d, on %s", l.js, l.forward, k, device)
			}
		}
	}
}

// optimiser is one in both languages.
type optimiser struct {
	js   string
	make func(ctx context.Context, model any) (*nn.Optimizer, error)
}

var optimisers = []optimiser{
	{"sgd(model, {rate: 0.1})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewSGD(ctx, m, nn.SGDOptions{Rate: 0.1})
	}},
	{"sgd(model, {rate: 0.1, momentum: 0.9, nesterov: true, decay: 0.01})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewSGD(ctx, m, nn.SGDOptions{Rate: 0.1, Momentum: 0.9, Nesterov: true, Decay: 0.01})
	}},
	{"sgd(model, {momentum: 0.5, dampening: 0.2, maximize: true})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewSGD(ctx, m, nn.SGDOptions{Momentum: 0.5, Dampening: 0.2, Maximize: true})
	}},
	{"adam(model)", func(ctx context.Context, m any) (*nn.Optimizer, error) { return nn.NewAdam(ctx, m, nn.AdamOptions{}) }},
	{"adam(model, {rate: 0.01, amsgrad: true, decay: 0.1})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewAdam(ctx, m, nn.AdamOptions{Rate: 0.01, AMSGrad: true, Decay: 0.1})
	}},
	{"adamW(model, {rate: 0.01})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewAdamW(ctx, m, nn.AdamOptions{Rate: 0.01})
	}},
	{"adamax(model)", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewAdamax(ctx, m, nn.MomentOptions{})
	}},
	{"nadam(model, {decay: 0.1, apart: true})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewNAdam(ctx, m, nn.MomentOptions{Decay: 0.1, Apart: true})
	}},
	{"radam(model, {rate: 0.1})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewRAdam(ctx, m, nn.MomentOptions{Rate: 0.1})
	}},
	{"rmsProp(model, {momentum: 0.9, centered: true})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewRMSProp(ctx, m, nn.RMSPropOptions{Momentum: 0.9, Centered: true})
	}},
	{"adagrad(model, {rateDecay: 0.1, start: 0.5})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewAdagrad(ctx, m, nn.AdagradOptions{RateDecay: 0.1, Start: 0.5})
	}},
	{"adadelta(model)", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewAdadelta(ctx, m, nn.AdadeltaOptions{})
	}},
	{"lamb(model, {rate: 0.1, decay: 0.1})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewLAMB(ctx, m, nn.LAMBOptions{Rate: 0.1, Decay: 0.1})
	}},
	{"lars(model, {rate: 0.1, trust: 0.1})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewLARS(ctx, m, nn.LARSOptions{Rate: 0.1, Trust: 0.1})
	}},
	{"lars(model, {momentum: 0, decay: 0, maximize: true})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewLARS(ctx, m, nn.LARSOptions{NoMomentum: true, NoDecay: true, Maximize: true})
	}},
	{"rprop(model, {rate: 0.02, grow: 1.5})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewRprop(ctx, m, nn.RpropOptions{Rate: 0.02, Grow: 1.5})
	}},
	{"asgd(model, {decay: 0.1, start: 1, shrink: 0.01})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewASGD(ctx, m, nn.ASGDOptions{Decay: 0.1, Start: 1, Shrink: 0.01})
	}},
	{"adafactor(model, {decay: 0.1, clip: 1.5})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewAdafactor(ctx, m, nn.AdafactorOptions{Decay: 0.1, Clip: 1.5})
	}},
	{"adam(model, {beta1: 0, beta2: 0.5})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewAdam(ctx, m, nn.AdamOptions{Beta1: -1, Beta2: .5})
	}},
	{"custom(model, (c) => c.parameter.sub(c.keep('mean', c.slot('mean').lerp(c.gradient, 0.1)).sign().mul(c.rate)), {rate: 0.1, slots: ['mean']})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewOptimizer(ctx, m, func(c *nn.Change) *tensor.Tensor {
			return c.Parameter.Sub(c.Keep("mean", c.Slot("mean").Lerp(c.Gradient, 0.1)).Sign().Mul(c.Rate))
		}, nn.RuleOptions{Rate: 0.1, Slots: []string{"mean"}})
	}},
	{"muon({weight: model.weight}, {rate: 0.1})", func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewMuon(ctx, &struct{ Weight *tensor.Tensor }{m.(*nn.Linear).Weight}, nn.MuonOptions{Rate: 0.1})
	}},
}

const optimSteps = 6

// Optimisers of a page leave the parameters that package nn's leave, also in captured steps and at other rates.
func TestOptimisers(t *testing.T) {
	ctx := context.Background()
	tensor.Seed(5)
	start := nn.NewLinear(4, 3)
	begin := file(t, start)
	code := ""
	for _, o := range optimisers {
		code += "(model) => w.optim." + o.js + ",\n"
	}
	p := open(t)
	var got [][]float64
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		`+inputs+`
		const bytes = Uint8Array.from(atob('`+begin+`'), (c) => c.charCodeAt(0))
		const out = []
		for (const make of [`+code+`]) {
			const model = w.nn.linear(4, 3)
			await w.load(bytes, model)
			const opt = await make(model)
			const loss = () => model.forward(x).sub(y.at(null, [0, 3])).square().mean()
			for (let k = 0; k < 2; k++) await opt.step(loss())
			await opt.setRate(0.05)
			const step = w.capture(() => { const l = loss(); opt.update(l); return l })
			for (let k = 2; k < `+"6"+`; k++) await step.run()
			out.push([...await model.weight.data(), ...await model.bias.data(), await opt.count.item()])
		}
		w.close()
		return out`, &got))
	v := known1()
	for i, o := range optimisers {
		model := &nn.Linear{Weight: start.Weight.Clone(), Bias: start.Bias.Clone()}
		require.NoError(t, nn.Realize(ctx, model))
		opt, err := o.make(ctx, model)
		require.NoError(t, err)
		for k := range optimSteps {
			if k == 2 {
				require.NoError(t, opt.SetRate(ctx, 0.05))
			}
			require.NoError(t, opt.Step(ctx, model.Forward(v.x).Sub(v.y.At(nil, tensor.R(0, 3))).Square().Mean()))
		}
		want := append(append(floats(t, model.Weight), floats(t, model.Bias)...), optimSteps)
		near(t, want, got[i], 1e-4, o.js)
	}
}

// Optimisers of narrow floats count in float32, as those of package nn.
func TestOptimisersOfNarrowFloats(t *testing.T) {
	p := open(t)
	var got map[string]map[string]float64
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const out = {}
		for (const name of ['radam', 'nadam']) {
			out[name] = {}
			for (const type of ['f32', 'f16', 'bf16']) {
				const p = await w.zeros([3]).to(type).own().realize()
				const opt = await w.optim[name]([p], {rate: 0.05})
				for (let k = 0; k < 10; k++) await opt.step(p.to('f32').sub(1).square().sum().mul(0.5))
				out[name][type] = await p.to('f32').max().item()
			}
		}
		w.close()
		return out`, &got))
	for name, want := range map[string]float64{"radam": 0.245915, "nadam": 0.374375} {
		for d, v := range got[name] {
			assert.InDelta(t, want, v, map[string]float64{"f32": 1e-4, "f16": 2e-3, "bf16": 1e-2}[d], "%s, %s", name, d)
		}
	}
}

// Numbers that no optimiser can work with are refused by name.
func TestOptimisersRefuse(t *testing.T) {
	p := open(t)
	var got []string
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const p = [w.zeros([3])]
		const out = []
		for (const [name, o] of [['sgd', {rate: -1}], ['sgd', {nesterov: true}], ['adam', {beta1: 1.5}], ['lars', {decay: NaN}], ['asgd', {power: -1}]]) {
			out.push(await w.optim[name](p, o).then(() => 'made', (e) => e.message))
		}
		w.close()
		return out`, &got))
	assert.Equal(t, []string{"sgd: rate is -1; it must be a finite number, not negative", "sgd: nesterov looks ahead along the momentum, and there is none",
		"adam: beta1 is 1.5; it must be less than 1", "lars: decay is NaN; it must be a finite number, not negative", "made"}, got)
}

// Schedules are those of package nn, step by step.
func TestSchedules(t *testing.T) {
	list := []struct {
		js string
		f  nn.Schedule
	}{
		{"constant(0.1, 0.5, 4)", nn.Constant(0.1, 0.5, 4)}, {"stepDecay(0.1, 3)", nn.StepDecay(0.1, 3, 0.1)}, {"multiStep(0.1, [2, 5, 5], 0.5)", nn.MultiStep(0.1, []int{2, 5, 5}, 0.5)},
		{"exponential(0.1, 0.9)", nn.Exponential(0.1, 0.9)}, {"linearRamp(0.1, 0.2, 1, 5)", nn.LinearRamp(0.1, 0.2, 1, 5)}, {"polynomial(0.1, 8, 2)", nn.Polynomial(0.1, 8, 2)},
		{"cosineAnnealing(0.1, 6, 0.01)", nn.CosineAnnealing(0.1, 6, 0.01)}, {"cosineRestarts(0.1, 3, 2)", nn.CosineRestarts(0.1, 3, 2, 0)},
		{"oneCycle({max: 0.1, steps: 10})", nn.OneCycle{Max: 0.1, Steps: 10}.Schedule()}, {"oneCycle({max: 0.1, steps: 10, linear: true, threePhase: true})", nn.OneCycle{Max: 0.1, Steps: 10, Linear: true, ThreePhase: true}.Schedule()},
		{"cyclic({base: 0.01, max: 0.1, up: 3, down: 2, halve: true})", nn.Cyclic{Base: 0.01, Max: 0.1, Up: 3, Down: 2, Halve: true}.Schedule()},
	}
	code := ""
	for _, l := range list {
		code += "o." + l.js + ",\n"
	}
	p := open(t)
	var got struct {
		Rates          [][]float64
		Plateau, Chain []float64
		Refused        []string
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const o = w.optim
		const rates = [`+code+`].map((f) => Array.from({length: 12}, (_, t) => f(t)))
		const p = o.plateau(0.1, {patience: 1, cooldown: 1})
		const plateau = [3, 2, 2, 2, 2, 2, 2, 1, 1, 1].map((m) => p.step(m))
		const chain = Array.from({length: 5}, (_, t) => o.chain([o.constant(1, 0.5, 9), 2], [o.exponential(1, 0.1)])(t))
		const refused = [() => o.cosineRestarts(1, 4, 0), () => o.cosineRestarts(1, 0), () => o.linearRamp(1, 0.1, 1, 0), () => o.cyclic({base: 0, max: 1})].map((make) => {
			try { make() } catch (e) { return e.message }
		})
		w.close()
		return {rates, plateau, chain, refused}`, &got))
	assert.Equal(t, []string{"cosineRestarts: mult is 0; it must be 1 or more", "cosineRestarts: first is 0; it must be 1 or more",
		"linearRamp: steps is 0; it must be 1 or more", "cyclic: up is undefined; it must be 1 or more"}, got.Refused)
	for i, l := range list {
		var want []float64
		for k := range 12 {
			want = append(want, l.f(k))
		}
		near(t, want, got.Rates[i], 1e-12, l.js)
	}
	plateau := nn.NewPlateau(0.1)
	plateau.Patience, plateau.Cooldown = 1, 1
	var want []float64
	for _, m := range []float64{3, 2, 2, 2, 2, 2, 2, 1, 1, 1} {
		want = append(want, plateau.Step(m))
	}
	near(t, want, got.Plateau, 1e-12, "plateau")
	near(t, []float64{0.5, 0.5, 1, 0.1, 0.01}, got.Chain, 1e-12, "chain")
}

package large

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

// model is something with parameters, and its loss on a batch of numbers from −1 to 1 and one of whole numbers.
type model struct {
	name  string
	batch []int
	top   int // the whole numbers are below it
	tags  []int
	make  func() (params any, loss func(x, tags T) T)
}

var models = []model{
	{"a perceptron with batch norm", []int{33, 17}, 7, []int{33}, func() (any, func(x, tags T) T) {
		m := &struct {
			A, B *nn.Linear
			N    *nn.BatchNorm
		}{nn.NewLinear(17, 31), nn.NewLinear(31, 7), nn.NewBatchNorm(31)}
		return m, func(x, tags T) T { return m.B.Forward(m.N.Forward(m.A.Forward(x), true).GELU()).CrossEntropy(tags) }
	}},
	{"a residual network", []int{5, 3, 11, 9}, 5, []int{5}, func() (any, func(x, tags T) T) {
		m := &struct {
			A, B, C, D *nn.Conv2d
			N          *nn.BatchNorm
			L          *nn.Linear
		}{nn.NewConv2d(3, 12, 3, tensor.Conv{Padding: 1}), nn.NewConv2d(12, 12, 3, tensor.Conv{Padding: 2, Dilation: 2, Groups: 3}),
			nn.NewConv2d(12, 17, 3, tensor.Conv{Stride: 2}), nn.NewConv2d(17, 17, 1, tensor.Conv{}), nn.NewBatchNorm(12), nn.NewLinear(17, 5)}
		return m, func(x, tags T) T {
			x = m.A.Forward(x)
			x = m.N.Forward(m.B.Forward(x.SiLU()), true).Add(x).ReLU()
			x = m.D.Forward(m.C.Forward(x).MaxPool(tensor.Pool{Size: []int{2}, Stride: []int{1}}).Tanh())
			return m.L.Forward(x.Mean(2, 3)).CrossEntropy(tags, tensor.Loss{Smoothing: 0.1})
		}
	}},
	{"a transformer", []int{1}, 29, []int{3, 13}, func() (any, func(x, tags T) T) {
		m := &struct {
			E   *nn.Embedding
			P   T
			A   []*nn.TransformerLayer
			Out *nn.Linear
		}{nn.NewEmbedding(29, 24), tensor.Uniform(-1, 1, 12, 24), nil, nn.NewLinear(24, 29)}
		for range 2 {
			l := nn.NewTransformerLayer(24, 3, 40, false)
			m.A = append(m.A, l)
		}
		return m, func(_, tags T) T {
			x := m.E.Forward(tags.Narrow(1, 0, 12)).Add(m.P)
			for _, l := range m.A {
				x = l.Forward(x, nil, nn.Attending{Causal: true}, nn.Attending{})
			}
			return m.Out.Forward(x).Flatten(0, 1).CrossEntropy(tags.Narrow(1, 1, 12).Flatten())
		}
	}},
	{"a recurrent network", []int{7, 4, 9}, 3, []int{4}, func() (any, func(x, tags T) T) {
		m := &struct {
			R *nn.Recurrent
			L *nn.Linear
		}{nn.NewRecurrent(nn.LSTMCell, 9, 10, 2, true), nn.NewLinear(20, 3)}
		return m, func(x, tags T) T {
			y, _ := m.R.Forward(x, nn.States{}, true)
			return m.L.Forward(y.Select(0, 6)).CrossEntropy(tags)
		}
	}},
	{"a U-Net with a slope penalty", []int{2, 2, 8, 12}, 2, []int{2}, func() (any, func(x, tags T) T) {
		m := &struct{ A, B, C *nn.Conv2d }{nn.NewConv2d(2, 6, 3, tensor.Conv{Padding: 1}), nn.NewConv2d(6, 9, 3, tensor.Conv{Stride: 2, Padding: 1}), nn.NewConv2d(15, 2, 1, tensor.Conv{})}
		return m, func(x, _ T) T {
			f := func(x T) T {
				a := m.A.Forward(x).Softplus(1)
				b := m.B.Forward(a).Tanh().Resize([]int{8, 12}, tensor.Resize{Mode: tensor.ResizeLinear})
				return m.C.Forward(tensor.Cat(1, a, b))
			}
			y := f(x)
			slope := y.Square().Mean().Grad(x)[0] // and the gradient of it, when the loss is differentiated
			return y.MSE(x).Add(slope.Square().Sum())
		}
	}},
}

var optimizers = map[string]func(ctx context.Context, m any) (*nn.Optimizer, error){
	"SGD": func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewSGD(ctx, m, nn.SGDOptions{Rate: 0.05, Momentum: 0.9})
	},
	"AdamW": func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewAdamW(ctx, m, nn.AdamOptions{Rate: 0.01, Eps: 1e-3})
	},
	"RMS": func(ctx context.Context, m any) (*nn.Optimizer, error) {
		return nn.NewRMSProp(ctx, m, nn.RMSPropOptions{Rate: 0.01, Eps: 1e-2})
	},
}

// train gives the losses of a few steps and the parameters after them, on the default device.
func (m *model) train(ctx context.Context, optimizer string, captured bool, steps int) (losses []float64, params [][]float64, err error) {
	tensor.Seed(7)
	net, loss := m.make()
	opt, err := optimizers[optimizer](ctx, net)
	if err != nil {
		return nil, nil, err
	}
	if err := nn.Realize(ctx, net); err != nil {
		return nil, nil, err
	}
	data := func(step int) (x, tags T) {
		b := newBuild(&program{limit: 1}, dtype.F32)
		b.Rand = newRand(uint64(step), m.name)
		return b.leaf(m.batch...), b.indices(m.top, m.tags...)
	}
	x, tags := data(0)
	step := func(in ...T) []T {
		l := loss(in[0], in[1])
		opt.Update(l)
		return []T{l}
	}
	var f *tensor.Captured
	if captured {
		if f, err = tensor.Capture(ctx, step, x, tags); err != nil {
			return nil, nil, err
		}
	}
	for i := range steps {
		x, tags = data(i)
		var l T
		if captured {
			out, err := f.Run(ctx, x, tags)
			if err != nil {
				return nil, nil, err
			}
			l = out[0]
		} else {
			l = step(x, tags)[0]
			if err := opt.Realize(ctx, l); err != nil {
				return nil, nil, err
			}
		}
		v, err := l.Item(ctx)
		if err != nil {
			return nil, nil, err
		}
		losses = append(losses, v)
	}
	params, err = read(ctx, nn.Parameters(net))
	return losses, params, err
}

// Networks learn alike on a device, step by step or captured, and on INTERP where nothing is optimised.
func TestModels(t *testing.T) {
	ctx := context.Background()
	j := open(t, *devices)
	defer engine.Configure(engine.Options{}, "")
	names := []string{"SGD", "AdamW", "RMS"}
	for i := range models {
		m := &models[i]
		t.Run(m.name, func(t *testing.T) {
			for k, name := range names {
				if count(0) == 0 && k != i%len(names) {
					continue
				}
				engine.Configure(engine.Options{NoOpt: true, StoreAll: true}, j.truth.Name())
				want, params, err := m.train(ctx, name, false, 4)
				require.NoError(t, err, name)
				engine.Configure(engine.Options{}, j.engine.Name())
				for _, captured := range []bool{false, true} {
					about := fmt.Sprint(name, " captured ", captured)
					got, ps, err := m.train(ctx, name, captured, 4)
					require.NoError(t, err, about)
					assert.InDeltaSlice(t, want, got, 1e-3, about)
					for p := range params {
						off := 0.
						for n := range params[p] {
							if d := math.Abs(ps[p][n] - params[p][n]); !(d <= off) {
								off = d
							}
						}
						assert.Less(t, off, 2e-3, "%s: parameter %d", about, p)
					}
				}
			}
		})
	}
}

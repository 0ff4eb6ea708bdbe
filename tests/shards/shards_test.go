// Package shards tests arrays that lie on several devices, from the training of models to the bytes that move.
package shards

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

type T = tensor.Tensor

var ctx = context.Background()

// on makes a device the default one and gives n devices of its kind.
func on(t *testing.T, device string, n int) (names []string) {
	t.Helper()
	_, err := engine.Use(device)
	need.Device(t, device, err)
	engine.Configure(engine.Options{}, device)
	for i := range n {
		names = append(names, fmt.Sprintf("%s:%d", device, i))
	}
	return names
}

func list(t *testing.T, x *T) []float64 {
	t.Helper()
	if !x.IsFloat() {
		x = x.To(dtype.F32)
	}
	v, err := tensor.Data[float64](ctx, x)
	require.NoError(t, err)
	return v
}

// near compares within a tolerance that no NaN is in.
func near(t *testing.T, want, got []float64, tolerance float64) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.LessOrEqual(t, math.Abs(want[i]-got[i]), tolerance*(1+math.Abs(want[i])), "element %d: %v, not %v", i, got[i], want[i])
	}
}

// small is a network for MNIST.
type small struct {
	Filters *nn.Conv2d
	Norm    *nn.BatchNorm
	Hidden  *nn.Linear
	Out     *nn.Linear
}

func newSmall() *small {
	return &small{nn.NewConv2d(1, 4, 5, tensor.Conv{Stride: 2}), nn.NewBatchNorm(4), nn.NewLinear(4*12*12, 32), nn.NewLinear(32, 10)}
}

func (n *small) Forward(x *T) *T {
	h := n.Norm.Forward(n.Filters.Forward(x).ReLU(), true)
	return n.Out.Forward(n.Hidden.Forward(h.Flatten(1, -1)).ReLU())
}

// losses trains on pictures of MNIST, on one device or with the pictures of each step cut over several.
func losses(t *testing.T, set *data.Set, devices []string, steps, batch int, capture bool) (losses []float64, net *small) {
	t.Helper()
	tensor.Seed(3)
	net = newSmall()
	require.NoError(t, nn.Realize(ctx, net))
	if devices != nil {
		for _, s := range nn.State(net) {
			s.Tensor.ShardTo(devices, tensor.Replicated)
		}
	}
	opt, err := nn.NewAdam(ctx, net, nn.AdamOptions{})
	require.NoError(t, err)
	step := func(in ...*T) []*T {
		loss := net.Forward(in[0]).CrossEntropy(in[1])
		opt.Update(loss)
		return []*T{loss}
	}
	var captured *tensor.Captured
	for i := range steps {
		raw := make([]float32, batch*28*28)
		labels := make([]int32, batch)
		for k := range batch {
			at := i*batch + k
			labels[k] = int32(set.Train.Labels[at])
			for p := range 28 * 28 {
				raw[k*28*28+p] = float32(set.Train.Images[at*28*28+p]) / 255
			}
		}
		x, y := tensor.Of(raw, batch, 1, 28, 28), tensor.Of(labels, batch)
		if devices != nil {
			x, y = x.Shard(devices, 0), y.Shard(devices, 0)
		}
		var loss *T
		if capture {
			if captured == nil {
				captured, err = tensor.Capture(ctx, step, x, y)
				require.NoError(t, err)
			}
			outs, err := captured.Run(ctx, x, y)
			require.NoError(t, err)
			loss = outs[0]
		} else {
			loss = step(x, y)[0]
			require.NoError(t, opt.Realize(ctx, loss))
		}
		v, err := loss.Item(ctx)
		require.NoError(t, err)
		losses = append(losses, v)
	}
	return losses, net
}

// Training with each batch cut over several devices gives the losses of one device, and every device the same parameters.
func TestMNIST(t *testing.T) {
	set, err := data.LoadMNIST(need.Data(t, "mnist"))
	require.NoError(t, err)
	for _, c := range []struct {
		device  string
		n       int
		capture bool
	}{{"CPU", 2, false}, {"CPU", 2, true}, {"INTERP", 2, false}, {"INTERP", 4, true}, {"WASM", 2, true}, {"WEBGPU", 2, true}} {
		t.Run(fmt.Sprintf("%s %d %v", c.device, c.n, c.capture), func(t *testing.T) {
			devices := on(t, c.device, c.n)
			want, one := losses(t, set, nil, 8, 64, c.capture)
			got, net := losses(t, set, devices, 8, 64, c.capture)
			for i := range want {
				require.InDelta(t, want[i], got[i], 1e-5, "step %d", i)
			}
			require.Less(t, got[len(got)-1], got[0])
			of := nn.State(one)
			for i, s := range nn.State(net) {
				axis, err := s.Tensor.CutAxis()
				require.NoError(t, err)
				require.Equal(t, tensor.Replicated, axis, s.Name)
				near(t, list(t, of[i].Tensor), list(t, s.Tensor), 1e-4)
			}
		})
	}
}

// mlp is two products whose weights are cut as Shoeybi and others cut them, "Megatron-LM" (2019): the first by its outputs, the second by
// its inputs, so that between them nothing moves.
type mlp struct{ Up, Down *nn.Linear }

func (m *mlp) Forward(x *T) *T { return m.Down.Forward(m.Up.Forward(x).GELU()) }

func train(t *testing.T, devices []string, steps int) (values [][]float64, m *mlp) {
	t.Helper()
	tensor.Seed(11)
	m = &mlp{nn.NewLinear(12, 24), nn.NewLinear(24, 6)}
	x, y := tensor.Randn(5, 12), tensor.Randn(5, 6)
	require.NoError(t, nn.Realize(ctx, m))
	require.NoError(t, tensor.Realize(ctx, x, y))
	if devices != nil {
		m.Up.Weight.ShardTo(devices, 0)
		m.Up.Bias.ShardTo(devices, 0)
		m.Down.Weight.ShardTo(devices, 1)
		m.Down.Bias.ShardTo(devices, tensor.Replicated)
		x, y = x.Shard(devices, tensor.Replicated), y.Shard(devices, tensor.Replicated)
	}
	opt, err := nn.NewAdamW(ctx, m, nn.AdamOptions{Rate: 0.01})
	require.NoError(t, err)
	for range steps {
		out := m.Forward(x)
		loss := out.Sub(y).Square().Mean()
		opt.Update(loss)
		require.NoError(t, opt.Realize(ctx, loss, out))
		values = append(values, list(t, out), list(t, loss))
	}
	return values, m
}

// A model cut by columns and rows gives the values of one that is not, and its parameters and what the optimiser keeps stay cut.
func TestColumnsAndRows(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP"} {
		for _, n := range []int{2, 3} {
			devices := on(t, device, n)
			want, one := train(t, nil, 4)
			got, m := train(t, devices, 4)
			for i := range want {
				near(t, want[i], got[i], 1e-5)
			}
			of := nn.State(one)
			for i, s := range nn.State(m) {
				near(t, list(t, of[i].Tensor), list(t, s.Tensor), 1e-5)
				axis, err := s.Tensor.CutAxis()
				require.NoError(t, err)
				require.Equal(t, []int{0, 0, 1, tensor.Replicated}[i], axis, s.Name)
			}
		}
	}
}

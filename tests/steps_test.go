package tests

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// network is a small convolutional classifier whose step is a pure function: parameters in, parameters out.
type network struct{ params []*tensor.Tensor }

func newNetwork(b *bench) *network {
	return &network{[]*tensor.Tensor{b.floats(8, 1, 3, 3), b.floats(8), b.floats(8), b.floats(10, 8*6*6), b.floats(10)}}
}

// loss is the cross entropy on images[n, 1, 14, 14].
func (n *network) loss(images, labels *tensor.Tensor) *tensor.Tensor {
	p := n.params
	h := images.Conv2D(p[0], nil, tensor.Conv{})
	mean, variance := h.ChannelMoments(0)
	h = h.BatchNorm(mean, variance, p[1], p[2], 1e-5).ReLU().MaxPool2D(2)
	return h.Reshape(images.Dim(0), -1).Linear(p[3], p[4]).CrossEntropy(labels)
}

// step gives the loss and the parameters after one step of gradient descent.
func (n *network) step(images, labels, rate *tensor.Tensor) []*tensor.Tensor {
	loss := n.loss(images, labels)
	out := []*tensor.Tensor{loss}
	for i, g := range loss.Grad(n.params...) {
		out = append(out, n.params[i].Sub(g.Mul(rate)))
	}
	return out
}

// train takes steps and gives the bytes of all losses and parameters.
func train(b *bench, steps int) [][]byte {
	n := newNetwork(b)
	var all [][]byte
	for range steps {
		out := n.step(b.floats(16, 1, 14, 14), b.ints(10, 16), b.rate(0.1))
		all = append(all, b.bytes(out...)...)
		n.params = out[1:]
	}
	return all
}

func (b *bench) rate(v float32) *tensor.Tensor {
	return b.leaf(dtype.F32, binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
}

// The number of threads changes no bit.
func TestThreadsChangeNothing(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP"} {
		t.Run(device, func(t *testing.T) {
			var want [][]byte
			for _, threads := range []int{1, 2, 5} {
				got := train(newBench(t, device, engine.Options{Threads: threads}), 3)
				if want == nil {
					want = got
				}
				assert.Equal(t, want, got, "%d threads", threads)
			}
		})
	}
}

// Directives and fusion change the result by rounding only.
func TestModesAgree(t *testing.T) {
	want := train(newBench(t, "INTERP", engine.Options{}), 2)
	modes := []struct {
		name   string
		device string
		o      engine.Options
	}{
		{"interpreter, nothing fused", "INTERP", engine.Options{StoreAll: true}},
		{"interpreter, no directives", "INTERP", engine.Options{NoOpt: true}},
		{"optimised", "CPU", engine.Options{}},
		{"no directives", "CPU", engine.Options{NoOpt: true}},
		{"nothing fused", "CPU", engine.Options{StoreAll: true}},
		{"no directives, nothing fused", "CPU", engine.Options{NoOpt: true, StoreAll: true}},
	}
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			got := train(newBench(t, m.device, m.o), 2)
			require.Len(t, got, len(want))
			for i := range want {
				near(t, floats(want[i]), floats(got[i]), 2e-4, "array %d", i)
			}
		})
	}
}

// Outside of reductions fusion changes no bit.
func TestFusionKeepsBits(t *testing.T) {
	for _, device := range []string{"CPU", "INTERP"} {
		t.Run(device, func(t *testing.T) {
			run := func(o engine.Options) [][]byte {
				b := newBench(t, device, o)
				x, y := b.floats(33, 65), b.floats(65, 33)
				a := x.Mul(3).Exp().Add(y.T()).Tanh().Div(x.Abs().Add(0.1))
				c := a.Pad([]int{1, 2}, []int{2, 1}).Flip(1).Reshape(-1).Sin().Maximum(0.25)
				d := a.At(b.ints(33, 40)).Mul(a.At(tensor.R(0, 1))).Erf()
				return b.bytes(a, c, d, tensor.Cat(0, a, x).Log1p())
			}
			assert.Equal(t, run(engine.Options{StoreAll: true}), run(engine.Options{}))
		})
	}
}

// Ten steps with a learning rate that changes each time compile nothing after the second.
func TestChangingRateCompilesNothing(t *testing.T) {
	for _, device := range compilers {
		t.Run(device, func(t *testing.T) {
			b := newBench(t, device, engine.Options{})
			n := newNetwork(b)
			var after engine.Stats
			for i := range 10 {
				out := n.step(b.floats(16, 1, 14, 14), b.ints(10, 16), b.rate(0.1/float32(i+1)))
				require.NoError(t, tensor.Realize(context.Background(), out...))
				n.params = out[1:]
				if i == 1 {
					after = b.Stats()
				}
			}
			assert.Equal(t, after.Compiled, b.Stats().Compiled, "plans")
			assert.Equal(t, after.Kernels, b.Stats().Kernels, "kernels")
		})
	}
}

// perceptron has one hidden layer.
type perceptron struct{ Hidden, Out *nn.Linear }

// Five thousand steps of an optimiser, from each of which one leaf and one loss survive, keep nodes, heap and device flat.
func TestManyStepsStayFlat(t *testing.T) {
	const steps, first = 5_000, 1_000
	ctx := context.Background()
	e, err := engine.Use("")
	require.NoError(t, err)
	model := &perceptron{nn.NewLinear(4, 8), nn.NewLinear(8, 1)}
	o, err := nn.NewAdam(ctx, model, nn.AdamOptions{Rate: 1e-3})
	require.NoError(t, err)
	kept := make([]*tensor.Tensor, 0, 2*steps)
	measure := func() (heap, nodes, device int64) {
		for range 3 {
			uop.EndGeneration()
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc), int64(uop.Live()), e.Stats().LiveBytes
	}
	var heap, device int64
	var compiled int
	for i := range steps {
		x := tensor.Of([]float32{float32(i % 7), 1, -1, float32(i % 3)}, 1, 4)
		loss := model.Out.Forward(model.Hidden.Forward(x).Tanh()).Square().Sum()
		require.NoError(t, o.SetRate(ctx, 1e-3/float64(i+1)))
		require.NoError(t, o.Step(ctx, loss))
		kept = append(kept, x, loss)
		if i == first {
			heap, _, device = measure()
			compiled = e.Stats().Compiled
		}
	}
	heapNow, nodesNow, deviceNow := measure()
	grown := int64(2 * (steps - first - 1)) // leaves that survived
	assert.Less(t, heapNow-heap, grown*1500, "heap bytes: a leaf with its memory, no history")
	assert.Less(t, nodesNow, int64(500), "nodes that are kept when two generations have passed")
	assert.Less(t, deviceNow-device, grown*128, "device bytes")
	assert.Equal(t, compiled, e.Stats().Compiled, "plans")
	runtime.KeepAlive(kept)
}

func floats(raw []byte) []float32 {
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out
}

// near compares so that NaN fails.
func near(t *testing.T, want, got []float32, tol float64, format string, a ...any) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		if !(math.Abs(float64(got[i]-want[i])) <= tol*(1+math.Abs(float64(want[i])))) {
			require.Fail(t, fmt.Sprintf(format, a...), "element %d: got %v, want %v", i, got[i], want[i])
		}
	}
}

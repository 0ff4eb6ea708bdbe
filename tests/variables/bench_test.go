// Package variables holds tests of sizes and positions that vary from run to run, on all devices.
package variables

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	passes "github.com/weft-ml/weft/codegen/evaluate"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	phases "github.com/weft-ml/weft/schedule/evaluate"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

type T = tensor.Tensor

var ctx = context.Background()

// bench is a device under test.
type bench struct {
	t *testing.T
	*engine.Engine
	slow bool

	isNumbers bool // every number is an argument
}

// onAll runs a test on every device that captures.
func onAll(t *testing.T, f func(b *bench)) {
	for _, name := range []string{"CPU", "INTERP", "WASM", "WEBGPU"} {
		t.Run(name, func(t *testing.T) { on(t, name, engine.Options{Poison: true}, f) })
	}
	t.Run("CPU fence", func(t *testing.T) { on(t, "CPU", engine.Options{Fence: true}, f) })
	t.Run("INTERP numbers", func(t *testing.T) { on(t, "INTERP", engine.Options{Numbers: true}, f) })
	t.Run("INTERP checked", func(t *testing.T) { // after each phase of schedules and each pass of kernels
		on(t, "INTERP", engine.Options{Schedule: phases.New().Schedule, Check: passes.New().Kernel, Unfolded: true}, f)
	})
}

func on(t *testing.T, name string, o engine.Options, f func(b *bench)) {
	e, err := engine.Open(name, o)
	need.Device(t, name, err)
	defer func() { require.NoError(t, e.Close()) }()
	f(&bench{t, e, name == "WEBGPU" || o.Check != nil || o.Fence, o.Numbers})
}

// floats are on the device, in memory.
func (b *bench) floats(v []float32, shape ...int) *T {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		bits := math.Float32bits(x)
		raw = append(raw, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	}
	u, err := b.FromBytes(dtype.F32, shape, raw)
	require.NoError(b.t, err)
	return tensor.FromNode(u, b.Engine)
}

// numbers are like no others.
func (b *bench) numbers(seed int, shape ...int) *T {
	r := rand.New(rand.NewPCG(uint64(seed), 1))
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return b.floats(v, shape...)
}

// own is a state of NaNs: elements that nobody has written must not matter.
func (b *bench) own(shape ...int) *T {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(math.NaN())
	}
	x := b.floats(v, shape...).Clone()
	require.NoError(b.t, x.Realize(ctx))
	return x
}

func (b *bench) capture(f func(in ...*T) []*T, in ...*T) *tensor.Captured {
	c, err := tensor.Capture(ctx, f, in...)
	require.NoError(b.t, err)
	return c
}

func (b *bench) values(x *T) []float32 {
	v, err := tensor.Data[float32](ctx, x)
	require.NoError(b.t, err)
	return v
}

// attention is what is to come out, computed plainly in float64.
func attention(q []float32, k, v [][]float32, heads, d int) []float64 {
	out := make([]float64, heads*d)
	for h := range heads {
		w, sum := make([]float64, len(k)), 0.
		for i := range k {
			for j := range d {
				w[i] += float64(q[h*d+j]) * float64(k[i][h*d+j])
			}
			w[i] = math.Exp(w[i] / math.Sqrt(float64(d)))
			sum += w[i]
		}
		for i := range v {
			for j := range d {
				out[h*d+j] += w[i] / sum * float64(v[i][h*d+j])
			}
		}
	}
	return out
}

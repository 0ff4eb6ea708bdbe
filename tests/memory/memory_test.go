// Package memory tests what becomes of the memory of results: that it is used again, given back, and never seen by two tensors.
package memory

import (
	"context"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

type T = tensor.Tensor

var ctx = context.Background()

// devices are those that play plans.
var devices = []string{"CPU", "WASM", "INTERP", "WEBGPU"}

// bench is a device of the test's own.
type bench struct {
	*engine.Engine
	t testing.TB
}

func open(t testing.TB, device string, o engine.Options) *bench {
	t.Helper()
	e, err := engine.Open(device, o)
	need.Device(t, device, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return &bench{e, t}
}

// onAll runs a test on each device as it is and with fresh memory poisoned, on the CPU also between fences.
func onAll(t *testing.T, f func(b *bench)) {
	for _, device := range devices {
		for name, o := range map[string]engine.Options{"": {}, " poison": {Poison: true}, " fence": {Fence: true}} {
			if o.Fence && device != "CPU" {
				continue
			}
			t.Run(device+name, func(t *testing.T) { f(open(t, device, o)) })
		}
	}
}

func (b *bench) floats(v ...float32) *T {
	b.t.Helper()
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	u, err := b.FromBytes(dtype.F32, []int{len(v)}, raw)
	require.NoError(b.t, err)
	return tensor.FromNode(u, b.Engine)
}

func (b *bench) ints(v ...int) *T {
	b.t.Helper()
	var raw []byte
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(int32(x)))
	}
	u, err := b.FromBytes(dtype.I32, []int{len(v)}, raw)
	require.NoError(b.t, err)
	return tensor.FromNode(u, b.Engine)
}

// own is a tensor with memory of its own.
func (b *bench) own(v ...float32) *T {
	x := b.floats(v...).Own()
	require.NoError(b.t, x.Realize(ctx))
	return x
}

func (b *bench) values(x *T) []float32 {
	b.t.Helper()
	v, err := tensor.Data[float32](ctx, x)
	require.NoError(b.t, err)
	return v
}

// where is the memory that a tensor lies in.
func (b *bench) where(x *T) (m runtime.Mem) {
	b.t.Helper()
	require.NoError(b.t, x.Borrow(ctx, func(_ runtime.Device, of runtime.Mem) error {
		m = of
		return nil
	}))
	return m
}

func (b *bench) capture(f func(in ...*T) []*T, in ...*T) *tensor.Captured {
	b.t.Helper()
	c, err := tensor.Capture(ctx, f, in...)
	require.NoError(b.t, err)
	return c
}

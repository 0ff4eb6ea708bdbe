package webgpu_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/webgpu"
	. "github.com/weft-ml/weft/tensor"
)

// small is an adapter whose bindings hold little.
type small struct {
	webgpu.Transport
	most int64
}

func (s small) Adapter() webgpu.Adapter {
	a := s.Transport.Adapter()
	a.Limits.MaxBytes = s.most
	return a
}

// binding opens the adapter as one whose bindings hold so many bytes.
func binding(t *testing.T, most int64) *engine.Engine {
	b, ok := engine.Find("WEBGPU")
	require.True(t, ok)
	open := b.Open
	b.Open = func(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
		m, err := open(o, trace)
		if err != nil {
			return nil, err
		}
		dev, err := webgpu.Open(small{m.Device.(*webgpu.Device).Transport(), most}, webgpu.Options{Poison: true})
		if err != nil {
			return nil, err
		}
		a := dev.Adapter()
		m.Device, m.Target = dev, wgsl.Target(wgsl.Machine{Limits: a.Limits, CPUBacked: a.CPUBacked, Tile: a.Tile})
		return m, nil
	}
	e, err := engine.New(b, engine.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// Wherever an array is larger than a binding it is refused in words that say what it is, and the device goes on.
func TestTooLargeIsSaid(t *testing.T) {
	open(t)
	ctx := context.Background()
	const most = 1 << 16
	e := binding(t, most)
	x := FromNode(floats(t, e, make([]float32, 300), 300, 1), e)
	y := FromNode(floats(t, e, make([]float32, 300), 300), e)
	wide := func(x *Tensor) *Tensor { return x.Add(y).Exp() } // 300×300: 360,000 bytes
	for name, c := range map[string]struct {
		do   func() error
		want string
	}{
		"upload": {func() error { _, err := e.FromBytes(x.DType(), []int{1 << 15}, make([]byte, 4<<15)); return err },
			"WEBGPU: an array of 131072 bytes is larger than the 65536 that this adapter can bind; use smaller batches or split the array"},
		"result": {func() error { return Realize(ctx, wide(x)) },
			"WEBGPU: an array (90000 × float32, a result) of 360000 bytes is larger than the 65536 that this adapter can bind"},
		"in between": {func() error { return Realize(ctx, wide(x).Contiguous().Sum()) },
			"WEBGPU: an array (90000 × float32, stored in between) of 360000 bytes is larger"},
		"result of a captured function": {func() error {
			_, err := Capture(ctx, func(in ...*Tensor) []*Tensor { return []*Tensor{wide(in[0])} }, x)
			return err
		}, "(90000 × float32, a result) of 360000 bytes"},
		"within a captured function": {func() error {
			_, err := Capture(ctx, func(in ...*Tensor) []*Tensor { return []*Tensor{wide(in[0]).Contiguous().Sum()} }, x)
			return err
		}, "(90000 × float32, stored in between) of 360000 bytes"},
	} {
		err := c.do()
		var large *runtime.TooLarge
		require.ErrorAs(t, err, &large, name)
		assert.Equal(t, int64(most), large.Max, name)
		assert.ErrorContains(t, err, c.want, name)
		sum := wide(x).Sum()
		require.NoError(t, Realize(ctx, sum), name)
		assert.Equal(t, []float32{90000}, read(t, e, sum.Node()), "%s: what need not be stored may be as large as it likes", name)
	}
}

// Arrays that fit one by one but not together lie in several memories, and give what they give in one.
func TestArenaLargerThanABinding(t *testing.T) {
	open(t)
	compute := func(most int64) ([]float32, int) {
		e := binding(t, most)
		v := make([]float32, 5000)
		for i := range v {
			v[i] = float32(i%97) / 8
		}
		x := FromNode(floats(t, e, v, 50, 100), e)
		a, b, c := x.Add(1).Contiguous(), x.Mul(2).Contiguous(), x.Exp().Contiguous()
		y := a.T().MatMul(b).Contiguous().Sum(0).Add(c.Sum(0)).Add(a.Mul(b).Mul(c).Sum(0)).Node()
		view, err := e.Plan(y)
		require.NoError(t, err)
		arenas := 0
		for _, m := range view.Plan.Memory {
			if m.Kind == plan.Arena {
				arenas++
				assert.LessOrEqual(t, m.Bytes, most)
			}
		}
		require.NoError(t, e.Realize(context.Background(), y))
		return read(t, e, y), arenas
	}
	want, one := compute(1 << 24)
	require.Equal(t, 1, one)
	got, several := compute(40_000)
	require.Greater(t, several, 1)
	assert.Equal(t, want, got)
}

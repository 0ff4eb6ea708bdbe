package webgpu_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
	. "github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
)

// with opens the adapter as another machine, whose launches are cut by limits.
func with(t *testing.T, m wgsl.Machine, cut plan.Limits) *engine.Engine {
	b, ok := engine.Find("WEBGPU")
	require.True(t, ok)
	open := b.Open
	b.Open = func(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
		machine, err := open(o, trace)
		if err != nil {
			return nil, err
		}
		m.Limits = machine.Device.(*webgpu.Device).Adapter().Limits
		machine.Target, machine.Finish = wgsl.Target(m), wgsl.Finisher(cut)
		return machine, nil
	}
	e, err := engine.New(b, engine.Options{Poison: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	return e
}

// A kernel that is predicted to take long is launched in parts, which give the same bits: products in registers and
// in workgroup memory, and elements for which one dimension of workgroups is too short.
func TestLongLaunchesAreCut(t *testing.T) {
	open(t)
	const n = 200
	array := func(e *engine.Engine, shape ...int) *Tensor {
		v := make([]float32, uop.Shape(shape).Numel())
		for i := range v {
			v[i] = float32(math.Sin(float64(7*i+3)) * 2)
		}
		return FromNode(floats(t, e, v, shape...), e)
	}
	product := func(e *engine.Engine) *Tensor { return array(e, n, n).MatMul(array(e, n, n)) }
	elements := func(e *engine.Engine) *Tensor { return array(e, 2100, 1).Add(array(e, 2100)) }
	for _, c := range []struct {
		name  string
		build func(e *engine.Engine) *Tensor
		m     wgsl.Machine
	}{
		{"registers", product, wgsl.Machine{CPUBacked: true}},
		{"workgroup memory", product, wgsl.Machine{}},
		{"two dimensions", elements, wgsl.Machine{CPUBacked: true}},
	} {
		var want []float32
		for _, flops := range []int64{0, 4e6} { // of which a launch may have half
			e := with(t, c.m, plan.Limits{Flops: flops})
			u := c.build(e).Node()
			view, err := e.Plan(u)
			require.NoError(t, err, c.name)
			k := view.Launches()[len(view.Launches())-1]
			require.NoError(t, e.Realize(context.Background(), u), c.name)
			got := read(t, e, u)
			if flops == 0 {
				assert.Empty(t, k.Parts, c.name)
				want = got
				continue
			}
			assert.Greater(t, len(k.Parts), 2, c.name)
			t.Log(c.name, k.Grid, k.Parts)
			require.Equal(t, want, got, c.name)
		}
	}
}

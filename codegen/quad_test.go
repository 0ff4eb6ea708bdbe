package codegen_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
)

func render(t *testing.T, s *codegen.Spec, target *codegen.Target) plan.Kernel {
	p, err := lower.Lower(s, model.Choose(s, target), target)
	require.NoError(t, err)
	k, err := wgsl.Render(p)
	require.NoError(t, err)
	return k
}

// The matrix of a product whose rows are read along is read by four; one whose rows are not whole fours is not.
func TestReadByFour(t *testing.T) {
	target := wgsl.Target(wgsl.Machine{CPUBacked: true})
	k := render(t, productSpec(64, 64, 64).s, target).Spelled()
	assert.Contains(t, k.Source, "p2: array<vec4<f32>, 1024>;")
	assert.Contains(t, k.Source, "p1: array<f32, 4096>;", "its neighbours are other terms of the sum")
	assert.Contains(t, k.Source, "p0: array<f32, 4096>;", "it is written")
	assert.NotContains(t, render(t, productSpec(64, 63, 64).s, target).Spelled().Source, "vec4<f32>")
	assert.NotContains(t, render(t, productSpec(64, 62, 64).s, target).Spelled().Source, "vec4<f32>")
}

// What a workgroup keeps of a product is read from memory by four, and by four again by each invocation; of matrices whose rows are not whole
// fours, only that which is kept.
func TestKeptByFour(t *testing.T) {
	target := wgsl.Target(wgsl.Machine{})
	source := render(t, productSpec(1024, 1024, 1024).s, target).Spelled().Source
	for _, want := range []string{"p1: array<vec4<f32>, 262144>;", "p2: array<vec4<f32>, 262144>;", "s0: array<vec4<f32>, ", "s1: array<vec4<f32>, ", "= vec4<f32>("} {
		assert.Contains(t, source, want)
	}
	source = render(t, productSpec(1025, 1027, 255).s, target).Spelled().Source
	assert.Contains(t, source, "p1: array<f32, ")
	assert.Contains(t, source, "s1: array<vec4<f32>, ")
}

// Where one array is both operands, and only one is read by four, the four are read one by one.
func TestReadByFourAndOneByOne(t *testing.T) {
	const n = 64
	dev := openAdapter(t)
	k := productSpec(n, n, n)
	data := k.random(rand.New(rand.NewPCG(31, 32)))
	data[2] = data[1]
	want := clone(data)
	define(t, k.s, want)
	p := &plan.Plan{
		Version: plan.Version, Target: webgpu.Target, Kernels: []plan.Kernel{render(t, k.s, dev.target)},
		Memory: []plan.Memory{{Kind: plan.Output, Arg: 0, Bytes: 4 * n * n}, {Kind: plan.Input, Arg: 1, Bytes: 4 * n * n}},
		Slots:  []plan.Slot{{Memory: 0, Bytes: 4 * n * n, DType: dtype.F32}, {Memory: 1, Bytes: 4 * n * n, DType: dtype.F32}},
		Steps:  []plan.Step{{Kind: plan.Launch, Slots: []int{0, 1, 1}}},
	}
	require.Contains(t, p.Kernels[0].Spelled().Source, "vec4<f32>, ")
	wgsl.Finish(p)
	require.Contains(t, p.Kernels[0].Source, "p1: array<f32, 4096>;")
	b := &bench{dev: dev}
	for _, a := range data[:2] {
		raw := pack(dtype.F32, a)
		m, err := dev.Alloc(int64(len(raw)))
		require.NoError(t, err)
		require.NoError(t, dev.Write(m, 0, raw))
		b.args = append(b.args, m)
	}
	var err error
	b.l, err = dev.Load(context.Background(), p)
	require.NoError(t, err)
	b.play(t)
	require.Empty(t, differ(dtype.F32, unpack(dtype.F32, b.read(t, 0)), want[0], 1e-5), p.Kernels[0].Source)
}

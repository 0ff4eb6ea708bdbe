package wgsl_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Buffers of one slot become one binding, which is as long as the longest of them; narrow elements count in words.
func TestArraysHaveTheirLength(t *testing.T) {
	b := uop.NewArena()
	s := &codegen.Spec{Home: b, Params: []codegen.Param{
		{DType: dtype.I8, Dims: []int{10}, Write: true}, {DType: dtype.I8, Dims: []int{3}}, {DType: dtype.I8, Dims: []int{13}}, {DType: dtype.I8, Dims: []int{11}},
	}}
	r := b.Range(0, 10, "")
	load := func(slot, n int) *uop.UOp { return b.Load(b.Param(slot, n, dtype.I8), b.True(), r.Mod(b.Index(3))) }
	s.Outs = []codegen.Out{{Axes: []*uop.UOp{r}, Index: []*uop.UOp{r}, Value: load(1, 3).Add(load(2, 13)).Add(load(3, 11))}}
	target := wgsl.Target(wgsl.Machine{})
	p, err := lower.Lower(s, model.Choose(s, target), target)
	require.NoError(t, err)
	k, err := wgsl.Render(p)
	require.NoError(t, err)
	assert.Contains(t, k.Spelled().Source, "p0: array<u32, 3>;")
	assert.Contains(t, k.Spelled().Source, "p2: array<u32, 4>;")
	whole := &plan.Plan{
		Kernels: []plan.Kernel{k}, Memory: []plan.Memory{{Kind: plan.State}, {Kind: plan.Input}},
		Slots: []plan.Slot{{Memory: 0}, {Memory: 1}}, Steps: []plan.Step{{Kind: plan.Launch, Slots: []int{0, 1, 1, 1}}},
	}
	wgsl.Finish(whole)
	assert.Equal(t, []int{0, 1}, whole.Steps[0].Slots)
	assert.Contains(t, whole.Kernels[0].Source, "p1: array<u32, 4>;")
	assert.NotContains(t, whole.Kernels[0].Source, "p2")
}

// An exact multiply-add costs SwiftShader seconds to compile, so sums that lie in memory do without it.
func TestSumsInMemoryRoundTwice(t *testing.T) {
	for write, want := range map[int]string{0: "fma(", 1: "fused("} {
		b := uop.NewArena()
		s := &codegen.Spec{Home: b}
		for i := range 4 {
			s.Params = append(s.Params, codegen.Param{DType: dtype.F32, Dims: []int{8}, Write: i == write})
		}
		r := b.Range(0, 8, "")
		load := func(slot int) *uop.UOp { return b.Load(b.Param(slot, 8, dtype.F32), b.True(), r) }
		s.Outs = []codegen.Out{{Param: write, Axes: []*uop.UOp{r}, Index: []*uop.UOp{r}, Value: load(2).MulAdd(load(3), load(0))}}
		target := wgsl.Target(wgsl.Machine{})
		p, err := lower.Lower(s, nil, target)
		require.NoError(t, err)
		k, err := wgsl.Render(p)
		require.NoError(t, err)
		assert.Contains(t, k.Spelled().Source, " = "+want)
	}
}

// The largest number in the fewest digits that tell it from others is larger than itself.
func TestLargestNumber(t *testing.T) {
	b := uop.NewArena()
	r := b.Range(0, 8, "")
	s := &codegen.Spec{Home: b, Params: []codegen.Param{{DType: dtype.F32, Dims: []int{8}, Write: true}, {DType: dtype.F32, Dims: []int{8}}}}
	x := b.Load(b.Param(1, 8, dtype.F32), b.True(), r)
	s.Outs = []codegen.Out{{Axes: []*uop.UOp{r}, Index: []*uop.UOp{r}, Value: x.Max(x.Float(-math.MaxFloat32))}}
	target := wgsl.Target(wgsl.Machine{})
	p, err := lower.Lower(s, nil, target)
	require.NoError(t, err)
	k, err := wgsl.Render(p)
	require.NoError(t, err)
	assert.Contains(t, k.Spelled().Source, "-3.4028234663852886e+38f")
}

// A kernel that would take too long is launched in parts, and finds out where each begins; one that is quick stays as it is.
func TestFinisherCutsLongLaunches(t *testing.T) {
	for _, n := range []int{1000, 10_000_000} { // the second has workgroups in two dimensions
		b := uop.NewArena()
		r := b.Range(0, n, "")
		s := &codegen.Spec{Home: b, Params: []codegen.Param{{DType: dtype.F32, Dims: []int{n}, Write: true}, {DType: dtype.F32, Dims: []int{n}}}}
		x := b.Load(b.Param(1, n, dtype.F32), b.True(), r)
		s.Outs = []codegen.Out{{Axes: []*uop.UOp{r}, Index: []*uop.UOp{r}, Value: x.Add(x)}}
		target := wgsl.Target(wgsl.Machine{})
		p, err := lower.Lower(s, model.Choose(s, target), target)
		require.NoError(t, err)
		k, err := wgsl.Render(p)
		require.NoError(t, err)
		build := func() *plan.Plan {
			return &plan.Plan{
				Vars: make([]plan.Var, 3), Kernels: []plan.Kernel{k}, Memory: []plan.Memory{{Kind: plan.Output}, {Kind: plan.Input}},
				Slots: []plan.Slot{{Memory: 0}, {Memory: 1}}, Steps: []plan.Step{{Kind: plan.Launch, Slots: []int{0, 1}}},
			}
		}
		whole, quick, cut := build(), build(), build()
		wgsl.Finish(whole)
		wgsl.Finisher(plan.Limits{Flops: int64(2 * n)})(quick)
		wgsl.Finisher(plan.Limits{Flops: int64(n) / 8})(cut)
		assert.Equal(t, whole.Kernels, quick.Kernels)
		source := cut.Kernels[0].Source
		assert.GreaterOrEqual(t, len(cut.Kernels[0].Parts), 4)
		assert.Contains(t, source, "var<uniform> u: array<vec4<u32>, 3>;")
		assert.Contains(t, source, "(wg.x + u[2].x)")
		assert.Equal(t, cut.FirstWord(), 4*2)
	}
}

package devicetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// RunParts checks that launches of a graphics processor which are cut into parts give the bits that whole ones give.
func RunParts(t *testing.T, device string) {
	b, ok := engine.Find(device)
	require.True(t, ok)
	cases := []Case{
		{Name: "product", Build: func(in *Inputs) []*uop.UOp {
			return []*uop.UOp{in.Tensor(dtype.F32, Smooth, 100, 200).MatMul(in.Tensor(dtype.F32, Smooth, 200, 100)).Node()}
		}},
		{Name: "two dimensions of workgroups, and sums", Build: func(in *Inputs) []*uop.UOp {
			x := in.Tensor(dtype.F32, Smooth, 2100, 1).Add(in.Tensor(dtype.F32, Smooth, 2100))
			return []*uop.UOp{x.Node(), x.Sum(1).Node()}
		}},
	}
	run := func(flops int64) (out [][]result, parts int) {
		cut := b
		cut.Open = func(o engine.Options, trace func(*plan.Kernel, float64)) (*engine.Machine, error) {
			m, err := b.Open(o, trace)
			if err == nil {
				m.Finish = wgsl.Finisher(plan.Limits{Flops: flops})
			}
			return m, err
		}
		e, err := engine.New(cut, engine.Options{Poison: true})
		need.Device(t, device, err)
		_, all, err := build(e, cases)
		require.NoError(t, err)
		view, err := e.Plan(all...)
		require.NoError(t, err)
		for _, k := range view.Launches() {
			parts += len(k.Parts)
		}
		out, err = compute(e, cases)
		require.NoError(t, err)
		require.NoError(t, e.Close())
		return out, parts
	}
	want, none := run(0)
	require.Zero(t, none)
	got, parts := run(2e6) // a launch may do half of that
	require.Greater(t, parts, 6)
	require.Equal(t, want, got)
	t.Logf("%s: %d parts", device, parts)
}

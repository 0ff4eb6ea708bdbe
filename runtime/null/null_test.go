package null

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

var _ runtime.Device = (*Device)(nil)

func examplePlan() *plan.Plan {
	return &plan.Plan{
		Version: plan.Version, Target: "c",
		Vars: []plan.Var{{Name: "n", Lo: 1, Hi: 8}},
		Kernels: []plan.Kernel{{Name: "E_16", Source: "…", Threads: 4,
			Binds: []plan.Bind{{Bytes: 64}, {Bytes: 64, Write: true}}}},
		Memory: []plan.Memory{{Kind: plan.Arena, Bytes: 256}, {Kind: plan.Input, Bytes: 64}, {Kind: plan.Output, Arg: 1, Bytes: 64}},
		Slots:  []plan.Slot{{Memory: 1, Bytes: 64, DType: dtype.F32, Dims: []int{16}}, {Memory: 0, Offset: 64, Bytes: 64}, {Memory: 2, Bytes: 64}},
		Steps:  []plan.Step{{Kind: plan.Launch, Slots: []int{0, 1}}, {Kind: plan.Copy, Slots: []int{2, 1}}},
		Peak:   256,
	}
}

func TestTrace(t *testing.T) {
	ctx := context.Background()
	d := Open(Options{MemoryLimit: 384})
	l, err := d.Load(ctx, examplePlan())
	require.NoError(t, err)
	in, err := d.Alloc(64)
	require.NoError(t, err)
	out, err := d.Alloc(64)
	require.NoError(t, err)
	require.NoError(t, d.Write(in, 0, make([]byte, 64)))
	require.ErrorContains(t, d.Write(in, 1, make([]byte, 64)), "write 64 bytes at 1 of a buffer of 64")

	require.NoError(t, d.Play(l, []runtime.Mem{in, out}, []int32{3}))
	require.Equal(t, "play 2 steps, arena 256, n = 3\n"+
		"launch E_16 ×4 input0[0+64] *arena[64+64]\n"+
		"copy *output1[0+64] arena[64+64]\n", d.Trace())
	require.Empty(t, d.Trace())
	require.ErrorContains(t, d.Play(l, []runtime.Mem{in, out}, []int32{9}), "variable n is 9")
	require.ErrorContains(t, d.Play(l, []runtime.Mem{in}, []int32{1}), "takes 2 buffers and gets 1")

	live, peak := d.Live()
	require.Equal(t, int64(128), live)
	require.Equal(t, int64(384), peak)
	var full *runtime.OutOfMemory
	_, err = d.Alloc(300)
	require.ErrorAs(t, err, &full)
	var none *NoData
	require.ErrorAs(t, d.Read(ctx, make([]byte, 4), out, 0), &none)
	out.Free()
	require.ErrorContains(t, d.Play(l, []runtime.Mem{in, out}, []int32{1}), "freed before")
}

func TestBadPlans(t *testing.T) {
	d := Open(Options{})
	for what, breakIt := range map[string]func(p *plan.Plan){
		"it has version 9":      func(p *plan.Plan) { p.Version = 9 },
		"kernel 3 of 1":         func(p *plan.Plan) { p.Steps[0].Kernel = 3 },
		"slot 7 of 3":           func(p *plan.Plan) { p.Steps[1].Slots[0] = 7 },
		"does not lie within":   func(p *plan.Plan) { p.Slots[1].Offset = 250 },
		"takes 2 buffers":       func(p *plan.Plan) { p.Steps[0].Slots = []int{0} },
		"needs 64 bytes":        func(p *plan.Plan) { p.Slots[1].Bytes = 8 },
		"lies in an input":      func(p *plan.Plan) { p.Steps[0].Slots = []int{1, 0} },
		"unknown kind 9":        func(p *plan.Plan) { p.Steps[0].Kind = 9 },
		"lies in memory -1":     func(p *plan.Plan) { p.Slots[0].Memory = -1 },
		"0 iterations":          func(p *plan.Plan) { p.Kernels[0].Threads = 0 },
		"makes no sense":        func(p *plan.Plan) { p.Memory[0].Bytes = -1 },
		"the empty range 1…0":   func(p *plan.Plan) { p.Vars[0].Hi = 0 },
		"copy of 64 bytes to a": func(p *plan.Plan) { p.Slots[2].Bytes = 4 },
	} {
		p := examplePlan()
		breakIt(p)
		_, err := d.Load(context.Background(), p)
		require.ErrorContains(t, err, what)
	}
	_, err := d.Load(context.Background(), nil)
	require.ErrorContains(t, err, "no plan")
}

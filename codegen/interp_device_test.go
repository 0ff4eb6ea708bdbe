package codegen_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/interp"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/plan"
	machine "github.com/weft-ml/weft/runtime/interp"
)

// interpRun plays a kernel of the INTERP target on these buffers and gives the first one back.
func interpRun(t *testing.T, s *codegen.Spec, directives []codegen.Directive, data [][]byte) []byte {
	p, err := lower.Lower(s, directives, interp.Target(false))
	require.NoError(t, err)
	k, err := interp.Render(p)
	require.NoError(t, err)
	dev, err := machine.Open(machine.Options{Threads: 2, Poison: true})
	require.NoError(t, err)
	b := &bench{dev: dev, k: k}
	pl := &plan.Plan{Version: plan.Version, Target: "interp", Kernels: []plan.Kernel{k}, Steps: []plan.Step{{Kind: plan.Launch}}}
	for i, d := range data {
		m, err := dev.Alloc(int64(len(d)))
		require.NoError(t, err)
		require.NoError(t, dev.Write(m, 0, d))
		pl.Memory = append(pl.Memory, plan.Memory{Kind: plan.State, Arg: i, Bytes: int64(len(d))})
		pl.Slots = append(pl.Slots, plan.Slot{Memory: i, Bytes: int64(len(d))})
		pl.Steps[0].Slots = append(pl.Steps[0].Slots, i)
		b.args = append(b.args, m)
	}
	b.l, err = dev.Load(context.Background(), pl)
	require.NoError(t, err, k.Source)
	b.play(t)
	return b.read(t, 0)
}

// The same Specs and directives on both devices: equal bits, except where lanes are folded in another order.
func TestInterpLikeCPU(t *testing.T) {
	cpu := nineDevice(t, 2)
	for i, n := range nine {
		exact := true
		switch n.name {
		case "softmax", "attention":
			exact = false
		case "product 1024", "conv forward", "conv input gradient": // like the others, but long
			continue
		}
		t.Run(n.name, func(t *testing.T) {
			directives := nineDirectives(t, i, n.spec().s)
			s := n.spec().s
			_, k := lowered(t, s, directives)
			data := nineData(s)
			b := prepare(t, cpu, k, s, data)
			b.play(t)
			tol := 2e-4
			if exact {
				tol = 0
			}
			d := s.Params[0].DType
			require.Empty(t, differ(d, unpack(d, interpRun(t, n.spec().s, directives, data)), unpack(d, b.read(t, 0)), tol))
		})
	}
}

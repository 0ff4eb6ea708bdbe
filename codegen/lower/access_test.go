package lower

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A tree is refused for an access that nothing proves, and for no other.
func TestAccessesAreProven(t *testing.T) {
	a := uop.NewArena()
	n := a.Index
	i, j := a.Range(0, 10, ""), a.Range(1, 8, "")
	p, out, s := a.Param(1, 70, dtype.F32), a.Param(0, 80, dtype.F32), a.Make(uop.Param, dtype.F32, uop.ParamArg{Slot: 0, N: 8, Scratch: true})
	at := i.Mul(n(8)).Add(j)
	load := func(gate, at *uop.UOp) *uop.UOp { return a.Load(p, gate, at) }
	store := func(v *uop.UOp) codegen.Stmt { return &codegen.Store{Buf: out, Index: []*uop.UOp{at}, Value: v} }
	within := at.Less(n(70))
	loops := func(kind codegen.Kind, body ...codegen.Stmt) []codegen.Stmt {
		return []codegen.Stmt{&codegen.Loop{Range: i, Body: []codegen.Stmt{&codegen.Loop{Range: j, Kind: kind, Body: body}}}}
	}
	name := a.Make(uop.Reg, dtype.Index, uop.RegArg{ID: 0})
	cond := a.Make(uop.Reg, dtype.Bool, uop.RegArg{ID: 1})
	cases := []struct {
		name   string
		body   []codegen.Stmt
		proven bool
	}{
		{"too far", loops(codegen.Serial, store(load(a.True(), at))), false},
		{"gated", loops(codegen.Serial, store(load(within, at))), true},
		{"gated by too little", loops(codegen.Serial, store(load(at.Less(n(71)), at))), false},
		{"under a condition", loops(codegen.Serial, &codegen.If{Cond: within, Body: []codegen.Stmt{store(load(a.True(), at))}}), true},
		{"behind a condition", loops(codegen.Serial, &codegen.If{Cond: within, Body: nil}, store(load(a.True(), at))), false},
		{"a name for the offset", loops(codegen.Serial, &codegen.Let{Reg: name, Value: at}, &codegen.Let{Reg: cond, Value: name.Less(n(70))}, &codegen.If{Cond: cond, Body: []codegen.Stmt{store(load(a.True(), name))}}), true},
		{"a name that is assigned", loops(codegen.Serial, &codegen.Let{Reg: name, Value: n(0)}, &codegen.Set{Regs: []*uop.UOp{name}, Values: []*uop.UOp{at}}, store(load(a.True(), name))), false},
		{"lanes under a condition of their own", loops(codegen.Vector, &codegen.If{Cond: within, Body: []codegen.Stmt{store(load(a.True(), at))}}), true},
		{"what lanes share under a condition of theirs", loops(codegen.Vector, &codegen.If{Cond: i.Add(j).Less(n(3)), Body: []codegen.Stmt{store(load(a.True(), i.Mul(n(10))))}}), false},
		{"under a condition on what is assigned since", loops(codegen.Serial, &codegen.Let{Reg: name, Value: n(0)}, &codegen.If{Cond: name.Less(n(70)), Body: []codegen.Stmt{&codegen.Set{Regs: []*uop.UOp{name}, Values: []*uop.UOp{at}},
			store(load(n(-1).Less(name), name))}}), false},
		{"under a condition on what is assigned afterwards", loops(codegen.Serial, &codegen.Let{Reg: name, Value: n(0)}, &codegen.If{Cond: name.Less(n(70)), Body: []codegen.Stmt{store(load(n(-1).Less(name), name)),
			&codegen.Set{Regs: []*uop.UOp{name}, Values: []*uop.UOp{at}}}}), true},
		{"under a condition on what an iteration before assigned", loops(codegen.Serial, &codegen.Let{Reg: name, Value: n(0)}, &codegen.If{Cond: name.Less(n(70)), Body: []codegen.Stmt{&codegen.Loop{Range: a.Range(2, 3, ""), Body: []codegen.Stmt{
			store(load(n(-1).Less(name), name)), &codegen.Set{Regs: []*uop.UOp{name}, Values: []*uop.UOp{at}}}}}}), false},
		{"a choice is no gate", loops(codegen.Serial, store(within.Where(load(a.True(), at), p.Float(0)))), false},
		{"before the buffer", loops(codegen.Serial, store(load(within, at.Add(n(-1))))), false},
		{"a store", loops(codegen.Serial, &codegen.Store{Buf: out, Index: []*uop.UOp{at.Add(n(1))}, Value: p.Float(0)}), false},
		{"scratch", loops(codegen.Serial, &codegen.Alloc{Buf: s, N: 8}, &codegen.Store{Buf: s, Index: []*uop.UOp{j}, Value: p.Float(0)}, store(a.Load(s, a.True(), j))), true},
		{"beyond scratch", loops(codegen.Serial, &codegen.Alloc{Buf: s, N: 8}, &codegen.Store{Buf: s, Index: []*uop.UOp{i}, Value: p.Float(0)}), false},
		{"an index from data from an index from data", loops(codegen.Serial, store(load(a.True(), a.Load(a.Param(2, 80, dtype.I32), a.True(),
			a.Load(a.Param(3, 80, dtype.I32), a.True(), at).Cast(dtype.Index)).Cast(dtype.Index)))), false},
		{"an index from data", loops(codegen.Serial, store(load(a.True(), a.Load(a.Param(2, 80, dtype.I32), a.True(), at).Cast(dtype.Index)))), false},
	}
	for _, c := range cases {
		err := verifyAccesses(a, c.body)
		assert.Equal(t, c.proven, err == nil, "%s: %v", c.name, err)
		b := &builder{Kernel: nest.Bare(&codegen.Spec{Home: a}, &codegen.Target{Total: true, Has: func(uop.Op, dtype.DType) bool { return true }})}
		guarded := b.guard(c.body)
		require.NoError(t, verifyAccesses(a, guarded), "%s: with guards\n%s", c.name, codegen.DumpBody(guarded))
		assert.Equal(t, c.proven, b.guarded == 0, c.name)
		if c.proven {
			assert.Equal(t, codegen.DumpBody(c.body), codegen.DumpBody(guarded), c.name)
		}
	}
}

package codegen

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	store := func(v *uop.UOp) Stmt { return &Store{out, []*uop.UOp{at}, v} }
	within := at.Less(n(70))
	loops := func(kind Kind, body ...Stmt) []Stmt {
		return []Stmt{&Loop{Range: i, Body: []Stmt{&Loop{Range: j, Kind: kind, Body: body}}}}
	}
	name := a.Make(uop.Reg, dtype.Index, uop.RegArg{ID: 0})
	cond := a.Make(uop.Reg, dtype.Bool, uop.RegArg{ID: 1})
	cases := []struct {
		name   string
		body   []Stmt
		proven bool
	}{
		{"too far", loops(Serial, store(load(a.True(), at))), false},
		{"gated", loops(Serial, store(load(within, at))), true},
		{"gated by too little", loops(Serial, store(load(at.Less(n(71)), at))), false},
		{"under a condition", loops(Serial, &If{within, []Stmt{store(load(a.True(), at))}}), true},
		{"behind a condition", loops(Serial, &If{within, nil}, store(load(a.True(), at))), false},
		{"a name for the offset", loops(Serial, &Let{name, at}, &Let{cond, name.Less(n(70))}, &If{cond, []Stmt{store(load(a.True(), name))}}), true},
		{"a name that is assigned", loops(Serial, &Let{name, n(0)}, &Set{[]*uop.UOp{name}, []*uop.UOp{at}}, store(load(a.True(), name))), false},
		{"lanes under a condition of their own", loops(Vector, &If{within, []Stmt{store(load(a.True(), at))}}), true},
		{"what lanes share under a condition of theirs", loops(Vector, &If{i.Add(j).Less(n(3)), []Stmt{store(load(a.True(), i.Mul(n(10))))}}), false},
		{"under a condition on what is assigned since", loops(Serial, &Let{name, n(0)}, &If{name.Less(n(70)), []Stmt{&Set{[]*uop.UOp{name}, []*uop.UOp{at}},
			store(load(n(-1).Less(name), name))}}), false},
		{"under a condition on what is assigned afterwards", loops(Serial, &Let{name, n(0)}, &If{name.Less(n(70)), []Stmt{store(load(n(-1).Less(name), name)),
			&Set{[]*uop.UOp{name}, []*uop.UOp{at}}}}), true},
		{"under a condition on what an iteration before assigned", loops(Serial, &Let{name, n(0)}, &If{name.Less(n(70)), []Stmt{&Loop{Range: a.Range(2, 3, ""), Body: []Stmt{
			store(load(n(-1).Less(name), name)), &Set{[]*uop.UOp{name}, []*uop.UOp{at}}}}}}), false},
		{"a choice is no gate", loops(Serial, store(within.Where(load(a.True(), at), p.Float(0)))), false},
		{"before the buffer", loops(Serial, store(load(within, at.Add(n(-1))))), false},
		{"a store", loops(Serial, &Store{out, []*uop.UOp{at.Add(n(1))}, p.Float(0)}), false},
		{"scratch", loops(Serial, &Alloc{Buf: s, N: 8}, &Store{s, []*uop.UOp{j}, p.Float(0)}, store(a.Load(s, a.True(), j))), true},
		{"beyond scratch", loops(Serial, &Alloc{Buf: s, N: 8}, &Store{s, []*uop.UOp{i}, p.Float(0)}), false},
		{"an index from data from an index from data", loops(Serial, store(load(a.True(), a.Load(a.Param(2, 80, dtype.I32), a.True(),
			a.Load(a.Param(3, 80, dtype.I32), a.True(), at).Cast(dtype.Index)).Cast(dtype.Index)))), false},
		{"an index from data", loops(Serial, store(load(a.True(), a.Load(a.Param(2, 80, dtype.I32), a.True(), at).Cast(dtype.Index)))), false},
	}
	for _, c := range cases {
		err := verifyAccesses(a, c.body)
		assert.Equal(t, c.proven, err == nil, "%s: %v", c.name, err)
		b := &builder{kernel: bareKernel(&Spec{Home: a}, legalTargets[0])}
		guarded := b.guard(c.body)
		require.NoError(t, verifyAccesses(a, guarded), "%s: with guards\n%s", c.name, dumpStmts(guarded))
		assert.Equal(t, c.proven, b.guarded == 0, c.name)
		if c.proven {
			assert.Equal(t, dumpStmts(c.body), dumpStmts(guarded), c.name)
		}
	}
}

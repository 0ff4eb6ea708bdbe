package uop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

func TestTopo(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	x := a.Param(0, 1, dtype.F32)
	y := x.Neg()
	z := y.Add(x)
	require.Equal(t, []*uop.UOp{x, y, z}, uop.Topo(z))
	require.Equal(t, []*uop.UOp{x, y, z}, uop.Topo(y, z, x))
	require.Empty(t, uop.Topo())
}

func TestWalksAreLinear(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	x := a.Param(0, 1, dtype.F32)
	chain := x
	for range 100_000 {
		chain = chain.Neg()
	}
	require.Len(t, uop.Topo(chain), 100_001)
	ladder := x
	for range 60 { // 2^60 paths
		ladder = ladder.Neg().Add(ladder.Sqrt())
	}
	require.Len(t, uop.Topo(ladder), 181)
	y := a.Param(1, 1, dtype.F32)
	with := map[*uop.UOp]*uop.UOp{x: y}
	require.Len(t, uop.Topo(uop.Substitute(a, with, chain)...), 100_001)
	require.Contains(t, uop.Topo(uop.Substitute(a, with, ladder)...), y)
}

func TestSubstitute(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	x, y := a.Param(0, 1, dtype.F32), a.Param(1, 1, dtype.F32)
	e := x.Add(y).Mul(x)
	out := uop.Substitute(a, map[*uop.UOp]*uop.UOp{x: x.Sqrt(), y: y}, e, y)
	require.Same(t, x.Sqrt().Add(y).Mul(x.Sqrt()), out[0], "a replacement is not searched again")
	require.Same(t, y, out[1])
	require.Same(t, e, uop.Substitute(a, nil, e)[0])
}

func TestMap(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	var m uop.Map[int]
	_, ok := m.Get(a.Index(0))
	require.False(t, ok)
	for i := range 10_000 {
		m.Set(a.Index(i), i)
		m.Set(a.Index(i/2), i/2)
	}
	require.Equal(t, 10_000, m.Len())
	for i := range 10_000 {
		v, ok := m.Get(a.Index(i))
		require.True(t, ok)
		require.Equal(t, i, v)
	}
	_, ok = m.Get(a.Index(10_000))
	require.False(t, ok)
}

func TestInts(t *testing.T) {
	t.Parallel()
	v := uop.MakeInts(0, -1, 1<<40, -1<<40)
	require.Equal(t, []int{0, -1, 1 << 40, -1 << 40}, v.Slice())
	require.Equal(t, 4, v.Len())
	require.Equal(t, v, uop.MakeInts(v.Slice()...))
	require.Equal(t, "0 -1 1099511627776 -1099511627776", v.String())
}

func TestNames(t *testing.T) {
	t.Parallel()
	a := uop.NewArena()
	x := a.Param(3, 6, dtype.F32)
	for want, u := range map[string]*uop.UOp{
		"p3": x, "neg.f32[6]": x.Neg(), "i": a.Range(0, 3, "i"), "r7": a.Range(7, 3, ""), "-2": a.Index(-2),
		"true": a.True(), "0.5": x.Float(0.5), "v1": a.Make(uop.Reg, dtype.F32, uop.RegArg{ID: 1}),
		"n": a.Make(uop.Var, dtype.Index, uop.VarArg{Name: "n", Lo: 1, Hi: 9}), "255": a.Int(dtype.U8, 255),
	} {
		require.Equal(t, want, u.String())
	}
}

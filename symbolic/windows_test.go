package symbolic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// window is the index and the guard of a Slide: i + step·k + lo within 0 … n−1.
func (a arena) window(i, k *uop.UOp, step, lo, n int) (at, gate *uop.UOp) {
	at = i.Add(k.Mul(a.Index(step))).Add(a.Index(lo))
	return at, a.Index(-1).Less(at).And(at.Less(a.Index(n)))
}

func (a arena) show(e *uop.UOp) string { return show(symbolic.Simplify(a.Table, e)) }

func TestWindows(t *testing.T) {
	t.Parallel()
	a := newArena()
	i, j, k := a.r(0, 20), a.r(1, 24), a.r(2, 5)

	at, gate := a.window(i, k, 1, 0, 24) // without padding there is no guard
	require.Equal(t, "(i+k) true", a.show(at)+" "+a.show(gate))

	at, gate = a.window(j, k, 1, -2, 24) // padded by 2
	require.Equal(t, "((j+k)+-2)", a.show(at))
	require.Equal(t, "((1<(j+k))&((j+k)<26))", a.show(gate))

	at, gate = a.window(j, k, -1, 2, 24) // its gradient
	require.Equal(t, "((j+neg(k))+2)", a.show(at))
	require.Equal(t, "((-3<(j+neg(k)))&((j+neg(k))<22))", a.show(gate))

	at, gate = a.window(a.r(0, 10).Mul(a.Index(2)), a.r(2, 3), 1, -1, 20) // stride 2, padded by 1
	require.Equal(t, "(((i*2)+k)+-1)", a.show(at))
	require.Equal(t, "(0<((i*2)+k))", a.show(gate))
}

// TestStrideTwoSplit is the gradient of a window of stride 2: out[i] takes x[(i − k)/2] where that divides. Split i and
// k by 2 and the parity guard depends on the small parts only.
func TestStrideTwoSplit(t *testing.T) {
	t.Parallel()
	a := newArena()
	two := a.Index(2)
	i, p, k, q := a.r(0, 12), a.r(1, 2), a.r(2, 2), a.r(3, 2)
	e := i.Mul(two).Add(p).Sub(k.Mul(two).Add(q))
	require.Equal(t, "(j=l)", a.show(e.Mod(two).Equal(a.Index(0))))
	for pv := range 2 {
		for qv := range 2 {
			with := map[*uop.UOp]*uop.UOp{p: a.Index(pv), q: a.Index(qv)}
			out := uop.Substitute(a.Table, with, e.Mod(two).Equal(a.Index(0)), e.IDiv(two))
			require.Equal(t, map[bool]string{true: "true", false: "false"}[pv == qv], a.show(out[0]))
			if pv == qv {
				require.Equal(t, "(i+neg(k))", a.show(out[1]))
			}
		}
	}
}

func TestMergedIndex(t *testing.T) {
	t.Parallel()
	a := newArena()
	n, c, h, w := a.r(0, 2), a.r(1, 3), a.r(2, 8), a.r(3, 8)
	idx := []*uop.UOp{n, c, h, w}
	idx = a.reshape(idx, []int{6, 64}, []int{2, 3, 8, 8})
	idx = a.reshape(idx, []int{384}, []int{6, 64})
	require.Equal(t, "((((i*192)+(j*64))+(k*8))+l)", a.show(idx[0]))
	merged := a.r(4, 384)
	parts := a.reshape([]*uop.UOp{merged}, []int{2, 3, 8, 8}, []int{384})
	back := a.reshape(parts, []int{384}, []int{2, 3, 8, 8})
	require.Equal(t, "m", a.show(back[0]))
	// A split axis: the tail guard stays, the inner index is affine.
	o, in := a.r(5, 4), a.r(6, 100)
	e := o.Mul(a.Index(100)).Add(in)
	require.Equal(t, "(((n*100)+o)<384)", a.show(e.Less(a.Index(384))))
	require.Equal(t, "(n*25)", a.show(o.Mul(a.Index(100)).IDiv(a.Index(4))))
}

func TestGuardsProven(t *testing.T) {
	t.Parallel()
	a := newArena()
	i, k := a.r(0, 64), a.r(1, 256)
	v := a.Make(uop.Var, dtype.Index, uop.VarArg{Name: "n", Lo: 1, Hi: 512})
	cases := []struct {
		e    *uop.UOp
		want string
	}{
		{i.Mul(a.Index(256)).Add(k).Less(a.Index(64 * 256)), "true"},
		{k.Less(v), "(0<(n+neg(j)))"},
		{i.Less(a.Index(10)).And(i.Less(a.Index(20))), "(i<10)"},
		{i.Less(a.Index(10)).Or(i.Less(a.Index(64))), "true"},
		{i.Less(a.Index(10)).And(i.Less(a.Index(10)).Not()), "false"},
		{i.Less(a.Index(10)).Or(i.Less(a.Index(10)).Not()), "true"},
		{i.Less(a.Index(10)).Or(a.Index(20).Less(i)).Or(i.Less(a.Index(15))), "((20<i)|(i<15))"},
		{v.Less(a.Index(513)), "true"},
		{i.Less(a.Index(10)).And(i.Add(k).Less(a.Index(300))), "(i<10)"},
		{i.Less(a.Index(10)).And(a.Index(300).Less(i.Add(k))), "false"},
		{i.Equal(i), "true"},
		{i.Equal(k.Add(a.Index(64))), "false"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, a.show(c.e), "%s", show(c.e))
	}
}

// TestReshapeUnderPad pushes the index of a padded window through a reshape: what the guard promises makes the
// division vanish.
func TestReshapeUnderPad(t *testing.T) {
	t.Parallel()
	a := newArena()
	c, i, j, k, l := a.r(0, 6), a.r(1, 24), a.r(2, 24), a.r(3, 5), a.r(4, 5)
	y, gy := a.window(i, k, 1, -2, 24)
	x, gx := a.window(j, l, 1, -2, 24)
	at := a.reshape([]*uop.UOp{c, y, x}, []int{2, 3, 24, 24}, []int{6, 24, 24})
	var got []string
	for _, e := range symbolic.SimplifyUnder(a.Table, gy.And(gx), at...) {
		got = append(got, show(e))
	}
	require.Equal(t, []string{"(i//3)", "(i%3)", "((j+l)+-2)", "((k+m)+-2)"}, got)
	one := symbolic.SimplifyUnder(a.Table, a.Index(3).Less(i), i.Sub(a.Index(4)).Mod(a.Index(20)), a.Index(2).Less(i).And(j.Less(k)))
	require.Equal(t, "(j+-4)", show(one[0]))
	require.Equal(t, a.show(j.Less(k)), show(one[1]))
}

// BenchmarkSimplify is a kernel's worth of index work in a fresh arena: a padded convolution seen through reshapes.
func BenchmarkSimplify(b *testing.B) {
	nodes := 0
	for b.Loop() {
		a := newArena()
		idx := a.ranges(64, 32, 24, 24, 5, 5)
		y, gy := a.window(idx[2], idx[4], 1, -2, 24)
		x, gx := a.window(idx[3], idx[5], 1, -2, 24)
		at := a.reshape([]*uop.UOp{idx[0], idx[1], y, x}, []int{64 * 32, 24 * 24}, []int{64, 32, 24, 24})
		at = a.reshape(at, []int{64, 32, 24, 24}, []int{64 * 32, 24 * 24})
		load := a.Load(a.Param(0, 64*32*24*24, dtype.F32), gy.And(gx), at...)
		out := symbolic.SimplifyAll(a.Table, append(at, load)...)
		nodes = len(uop.Topo(append(at, load)...))
		_ = out
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
}

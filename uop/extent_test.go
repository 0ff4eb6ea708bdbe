package uop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
)

func TestSizes(t *testing.T) {
	n, m := SizeOf(VarArg{Name: "n", Lo: 1, Hi: 8}), SizeOf(VarArg{Name: "m", Lo: 0, Hi: 3})
	sum := func(a, b Size, k int) Size {
		s, ok := a.Add(b, k)
		require.True(t, ok)
		return s
	}
	require.Equal(t, sum(n, m, 1), sum(m, n, 1), "in any order")
	require.Equal(t, Fixed(3), sum(n.Plus(3), n, -1), "what cancels is gone")
	require.Equal(t, "m(0…3) + 2·n(1…8) − 1", sum(n.Times(2).Plus(-1), m, 1).String())
	require.Equal(t, "−n(1…8)", sum(m, sum(n, m, 1), -1).String())
	require.Equal(t, Fixed(5), SizeOf(VarArg{Name: "one", Lo: 5, Hi: 5}))
	require.False(t, n.Times(0).Varies())
	lo, hi := sum(n.Times(2), m, -1).Bounds()
	require.Equal(t, [2]int{-1, 16}, [2]int{lo, hi})
	half, ok := n.Times(6).Plus(4).Over(2)
	require.True(t, ok)
	require.Equal(t, n.Times(3).Plus(2), half)
	_, ok = n.Times(3).Over(2)
	require.False(t, ok)
	_, ok, unbound := n.Value()
	require.False(t, ok)
	require.Equal(t, "n", unbound.Name)
	v, ok, _ := sum(n.Times(2), m, 1).With(func(v VarArg) (int, bool) { return map[string]int{"n": 5, "m": 2}[v.Name], true }).Value()
	require.True(t, ok)
	require.Equal(t, 12, v)
	all := n
	for i := 1; i < MaxVars; i++ {
		all = sum(all, SizeOf(VarArg{Name: string(rune('a' + i)), Lo: 0, Hi: 1}), 1)
	}
	_, ok = all.Add(m, 1)
	require.False(t, ok, "more variables than a size may have")
}

// Sizes follow movement, or the node cannot be made.
func TestSizesFollow(t *testing.T) {
	n := SizeOf(VarArg{Name: "n", Lo: 1, Hi: 6})
	x := NewBuffer(1, 24, "CPU", dtype.F32).Reshape(6, 4).Limit(0, n)
	sizes := func(u *UOp) []Size { return u.Sizes() }
	f := Fixed
	require.Equal(t, []Size{n, f(4)}, sizes(x))
	require.Equal(t, []Size{f(4), n}, sizes(x.Permute(1, 0)))
	require.Equal(t, []Size{n.Times(4)}, sizes(x.Reshape(24)))
	require.Equal(t, []Size{f(1), n.Times(2), f(1), f(2)}, sizes(x.Reshape(1, 12, 1, 2)))
	require.Equal(t, []Size{n}, sizes(x.Reduce(Sum, 1)))
	require.Equal(t, []Size{f(3), n, f(4)}, sizes(x.Reshape(1, 6, 4).Expand(3, 6, 4)))
	require.Equal(t, []Size{n, f(4)}, sizes(x.Add(x.Const(1)).Neg()))
	require.Nil(t, sizes(x.Shrink([]int{0, 1}, []int{1, 3})), "a row that is always there")
	require.Nil(t, sizes(x.Only(0, 0).Reduce(Sum, 0)))
	one := SizeOf(VarArg{Name: "one", Lo: 0, Hi: 1})
	for name, f := range map[string]func(){
		"reduce":    func() { x.Reduce(Sum, 0) },
		"flip":      func() { x.Flip(0) },
		"pad":       func() { x.Pad([]int{0, 0}, []int{1, 0}) },
		"shrink":    func() { x.Shrink([]int{0, 0}, []int{2, 4}) },
		"rows":      func() { x.Reshape(3, 8) },
		"not first": func() { x.Permute(1, 0).Reshape(24) },
		"gather":    func() { x.Gather(NewInt(dtype.I32, 0).Reshape(1, 1).Expand(1, 4), 0) },
		"slide":     func() { x.Slide(0, 1, 1, 0, 6) },
		"other sizes": func() {
			x.Add(NewBuffer(2, 24, "CPU", dtype.F32).Reshape(6, 4).Limit(0, n.Plus(-1).Plus(1).Times(2).Plus(-6)))
		},
		"too long": func() { x.Limit(0, n.Plus(1)) },
		"dropped":  func() { NewBuffer(3, 1, "CPU", dtype.F32).Limit(0, one).Reshape() },
		"store":    func() { NewBuffer(4, 24, "CPU", dtype.F32).Reshape(6, 4).Store(x) },
	} {
		require.Panics(t, f, name)
	}
}

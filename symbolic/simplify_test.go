package symbolic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// show prints an expression the way one writes it.
func show(u *uop.UOp) string {
	infix := map[uop.Op]string{uop.Add: "+", uop.Mul: "*", uop.IDiv: "//", uop.Mod: "%", uop.Less: "<", uop.Equal: "=", uop.And: "&", uop.Or: "|"}
	if s, ok := infix[u.Op()]; ok {
		return "(" + show(u.At(0)) + s + show(u.At(1)) + ")"
	}
	if len(u.Src()) == 0 {
		return u.String()
	}
	var args []string
	for _, s := range u.Src() {
		args = append(args, show(s))
	}
	return u.Op().String() + "(" + strings.Join(args, " ") + ")"
}

type arena struct{ *uop.Table }

func newArena() arena { return arena{uop.NewArena()} }

func (a arena) r(id, n int) *uop.UOp { return a.Range(id, n, fmt.Sprintf("%c", 'i'+id)) }

// reshape pushes indices for the new sizes to the old ones, as the scheduler does.
func (a arena) reshape(idx []*uop.UOp, from, to []int) []*uop.UOp {
	lin := a.Index(0)
	for i, n := range to {
		lin = lin.Mul(a.Index(n)).Add(idx[i])
	}
	out := make([]*uop.UOp, len(from))
	for i := len(from) - 1; i >= 0; i-- {
		out[i] = lin.Mod(a.Index(from[i]))
		lin = lin.IDiv(a.Index(from[i]))
	}
	return out
}

func (a arena) ranges(sizes ...int) []*uop.UOp {
	out := make([]*uop.UOp, len(sizes))
	for i, n := range sizes {
		out[i] = a.r(i, n)
	}
	return out
}

func (a arena) all(es []*uop.UOp) []string {
	var out []string
	for _, e := range symbolic.SimplifyAll(a.Table, es...) {
		out = append(out, show(e))
	}
	return out
}

func TestReshapes(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		sizes []int
		chain [][]int // each is seen through the next, the last is the leaf
		want  string
	}{
		{"identity", []int{4, 6}, [][]int{{4, 6}, {24}, {4, 6}}, "i j"},
		{"there and back", []int{4, 6}, [][]int{{4, 6}, {3, 8}, {4, 6}}, "i j"},
		{"there and back in three", []int{2, 3, 4}, [][]int{{2, 3, 4}, {4, 6}, {24}, {6, 4}, {2, 3, 4}}, "i j k"},
		{"split and join", []int{8, 9}, [][]int{{8, 9}, {2, 4, 3, 3}, {8, 9}}, "i j"},
		{"merge", []int{5, 7, 3}, [][]int{{5, 7, 3}, {105}}, "(((i*21)+(j*3))+k)"},
		{"split", []int{24}, [][]int{{24}, {4, 6}}, "(i//6) (i%6)"},
		{"split in three", []int{24}, [][]int{{24}, {2, 3, 4}}, "(i//12) ((i//4)%3) (i%4)"},
		{"join of a part", []int{2, 12}, [][]int{{2, 12}, {2, 3, 4}}, "i (j//4) (j%4)"},
		{"shift of axes", []int{2, 3, 4}, [][]int{{2, 3, 4}, {6, 4}}, "((i*3)+j) k"},
		{"odd", []int{3, 8}, [][]int{{3, 8}, {6, 4}}, "((i*2)+(j//4)) (j%4)"},
		{"ones", []int{1, 6, 1}, [][]int{{1, 6, 1}, {6}, {2, 1, 3}}, "(j//3) 0 (j%3)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := newArena()
			idx := a.ranges(c.sizes...)
			for i := range c.chain[1:] {
				idx = a.reshape(idx, c.chain[i+1], c.chain[i])
			}
			require.Equal(t, c.want, strings.Join(a.all(idx), " "))
		})
	}
}

func TestReshapePermuteBack(t *testing.T) {
	t.Parallel()
	a := newArena()
	i := a.ranges(4, 6) // seen as [6 4] transposed, reshaped to [3 8], back again
	idx := a.reshape([]*uop.UOp{i[1], i[0]}, []int{3, 8}, []int{6, 4})
	idx = a.reshape(idx, []int{6, 4}, []int{3, 8})
	require.Equal(t, []string{"i", "j"}, a.all([]*uop.UOp{idx[1], idx[0]}))
}

func TestExpressions(t *testing.T) {
	t.Parallel()
	a := newArena()
	n := a.Index
	i, j, k := a.r(0, 6), a.r(1, 10), a.r(2, 4)
	p := a.Param(0, 100, dtype.F32)
	zero := a.Int(dtype.F32, 0)
	inside := i.Add(k).Less(n(6))
	cases := []struct {
		e    *uop.UOp
		want string
	}{
		{i.IDiv(n(2)).Mul(n(2)).Add(i.Mod(n(2))), "i"},
		{i.Mul(n(10)).Add(j).IDiv(n(10)), "i"},
		{i.Mul(n(10)).Add(j).Mod(n(10)), "j"},
		{i.Mul(n(4)).Add(k).Add(n(8)).IDiv(n(4)), "(i+2)"},
		{j.Add(n(7)).Mod(n(10)), "((j+7)%10)"},
		{j.IDiv(n(2)).IDiv(n(3)), "(j//6)"},
		{i.Mul(n(2)).Add(n(1)).IDiv(n(2)), "i"},
		{i.Mul(n(2)).Add(n(1)).Mod(n(2)), "1"},
		{i.Mul(n(6)).Add(k).IDiv(n(4)), "(i+(((i*2)+k)//4))"},
		{i.Mul(n(6)).Add(k.IDiv(n(2))).IDiv(n(4)), "(i+(i//2))"},
		{j.Mod(n(8)).IDiv(n(4)), "((j//4)%2)"},
		{j.Mod(n(8)).Mod(n(4)), "(j%4)"},
		{i.Sub(i), "0"},
		{i.Add(j).Sub(i), "j"},
		{i.Less(n(6)), "true"},
		{i.Add(k).Less(n(0)), "false"},
		{i.Mul(n(4)).Add(k).Less(n(12)), "(i<3)"},
		{i.Mul(n(4)).Add(k).Less(n(13)), "(((i*4)+k)<13)"},
		{j.IDiv(n(3)).Less(n(2)), "(j<6)"},
		{n(1).Less(j.IDiv(n(3))), "(5<j)"},
		{i.Mul(n(2)).Equal(n(3)), "false"},
		{i.Mul(n(4)).Add(k).Equal(n(9)), "((i=2)&(k=1))"},
		{i.Less(n(3)).Not(), "(2<i)"},
		{i.Less(n(3)).And(i.Less(n(2))), "(i<2)"},
		{i.Less(n(3)).And(n(2).Less(i)), "false"},
		{i.Less(n(3)).And(n(1).Less(i)), "(i=2)"},
		{inside.And(i.Less(n(6))).And(inside), "((i+k)<6)"},
		{i.Max(n(-1)), "i"},
		{i.Add(n(3)).Max(i), "(i+3)"},
		{i.Min(n(7)), "i"},
		{inside.Where(inside.Where(i, j), k), "where(((i+k)<6) i k)"},
		{inside.And(k.Less(n(2))).Where(inside.Where(i, j), k), "where(((k<2)&((i+k)<6)) i k)"},
		{i.Less(n(2)).Or(n(3).Less(i)).Where(j, n(1).Less(i).And(i.Less(n(4))).Where(k, j.Mul(k))), "where(((3<i)|(i<2)) j k)"},
		{i.Less(n(2)).Or(n(3).Less(i)).Where(j, n(2).Less(i).And(i.Less(n(4))).Where(k, j.Mul(k))), "where(((3<i)|(i<2)) j where((i=3) k (j*k)))"},
		{i.Less(n(2)).Or(n(7).Less(j)).Where(j, n(1).Less(i).And(j.Less(n(9))).Where(k, n(1))), "where(((7<j)|(i<2)) j k)"},
		{inside.Where(a.Load(p, inside, i.Add(k)), zero), "load(p0 ((i+k)<6) (i+k))"},
		{a.Load(p, i.Less(n(0)), i), "0"},
		{i.Cast(dtype.I32).Mul(a.Int(dtype.I32, 2)).Less(a.Int(dtype.I32, 4)), "(i<2)"},
		{i.Cast(dtype.I32).Cast(dtype.Index).Sub(i), "0"},
		{i.Cast(dtype.I32).Add(a.Int(dtype.I32, 1)).Cast(dtype.F32), "cast((i+1))"},
		{i.Shl(n(2)).Add(k).Shr(n(2)), "i"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, show(symbolic.Simplify(a.Table, c.e)), "%s", show(c.e))
	}
}

func TestPadThenShrink(t *testing.T) {
	t.Parallel()
	a := newArena()
	i := a.r(0, 6) // x[6] padded by 2 on both sides, the middle kept
	at := i.Add(a.Index(2)).Sub(a.Index(2))
	gate := a.Index(-1).Less(at).And(at.Less(a.Index(6)))
	load := gate.Where(a.Load(a.Param(0, 6, dtype.F32), gate, at), a.Int(dtype.F32, 0))
	require.Equal(t, "load(p0 true i)", show(symbolic.Simplify(a.Table, load)))
}

func TestStrides(t *testing.T) {
	t.Parallel()
	a := newArena()
	i, j := a.r(0, 6), a.r(1, 10)
	e := i.Mul(a.Index(10)).Add(j).Add(a.Index(3))
	for _, c := range []struct {
		e, r   *uop.UOp
		stride int
		ok     bool
	}{
		{e, i, 10, true}, {e, j, 1, true}, {e, a.r(2, 3), 0, true},
		{e.IDiv(a.Index(7)), i, 0, false}, {j.Mod(a.Index(3)).Add(i), i, 1, true},
	} {
		got, ok := symbolic.Stride(symbolic.Simplify(a.Table, c.e), c.r)
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.stride, got)
	}
	lo, hi, ok := symbolic.Bounds(e)
	require.True(t, ok)
	require.Equal(t, []int{3, 62}, []int{lo, hi})
	require.Equal(t, []*uop.UOp{i, j}, symbolic.Depends(e))
}

// A choice of 0 outside of wider bounds than those of a load's gate, as of padding that a stride leaves more room than it has, is none.
func TestWiderBoundsThanAGate(t *testing.T) {
	a := newArena()
	i, p := a.r(0, 20), a.Param(1, 16, dtype.F32)
	in := func(lo, hi int) *uop.UOp { return a.Index(lo).Less(i).And(i.Less(a.Index(hi))) }
	load := a.Load(p, in(2, 15), i.Add(a.Index(-3)))
	zero := load.Int(0)
	for _, c := range []struct {
		lo, hi int
		same   bool
	}{{2, 15, true}, {1, 15, true}, {2, 16, true}, {1, 17, true}, {3, 15, false}, {2, 14, false}, {1, 14, false}} {
		got := symbolic.Simplify(a.Table, in(c.lo, c.hi).Where(load, zero))
		require.Equal(t, c.same, got == symbolic.Simplify(a.Table, load), "%d %d: %s", c.lo, c.hi, show(got))
	}
}

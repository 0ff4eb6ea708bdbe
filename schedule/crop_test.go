package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// A kernel gets the rows that it reads of an array, from a multiple of the alignment on; what it writes, or reads at an index from data,
// stays whole.
func TestCroppedArrays(t *testing.T) {
	for align, want := range map[int][]int{0: {140, 320, 600, 0, 0, 760}, 64: {80, 320, 560, 0, 0, 720}, 256: {0, 320, 320, 0, 0, 640}} {
		w := newWorld(1)
		x, at := w.input(dtype.F32, 40, 5, 4), w.input(dtype.I32, 6) // a row is 80 bytes
		rows := func(i, n int) *uop.UOp { return x.Shrink([]int{i, 0, 0}, []int{i + n, 5, 4}) }
		for i, root := range []*uop.UOp{
			rows(7, 1).Neg(), rows(16, 3).Reshape(60).Neg(), rows(30, 1).Add(rows(33, 1)), rows(0, 2).Sin(),
			x.Gather(at.Reshape(6, 1, 1).Expand(6, 5, 4), 0), rows(39, 1).Pad([]int{1, 0, 0}, []int{0, 0, 0}).Exp2(),
		} {
			g := &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: root, Dest: -1}}}
			r := w.checkGraph(t, g, schedule.Config{Align: align})
			require.Len(t, r.Steps, 1)
			for p, b := range r.Steps[0].Bufs {
				if r.Bufs[b].Kind == schedule.InputBuf && r.Bufs[b].Index == 0 {
					require.Equal(t, want[i], r.Steps[0].From[p], "root %d, alignment %d: %v", i, align, r)
				} else {
					require.Zero(t, r.Steps[0].From[p])
				}
			}
		}
	}
}

// What conditions that are known leave out of a kernel is no argument of it.
func TestNoIdleArguments(t *testing.T) {
	w := newWorld(1)
	a, b, c := w.input(dtype.F32, 1, 6), w.input(dtype.F32, 1, 6), w.input(dtype.F32, 1, 6)
	at := func(u *uop.UOp, i int) *uop.UOp { return u.Pad([]int{i, 0}, []int{2 - i, 0}) }
	joined := at(a, 0).Add(at(b, 1)).Add(at(c, 2))
	r := w.check(t, joined.Shrink([]int{1, 0}, []int{2, 6}).Neg())
	require.Len(t, r.Steps, 1)
	require.Len(t, r.Steps[0].Bufs, 2, r)
}

// The sum of many products, as the gradient of weights that each step of a sequence uses, is made of sums of a bounded number of them,
// each with the one before.
func TestSumsOfManyProducts(t *testing.T) {
	for _, n := range []int{1, 16, 17, 50} {
		w := newWorld(uint64(n))
		var sum *uop.UOp
		for range n {
			x, y := w.input(dtype.F32, 6, 4, 1), w.input(dtype.F32, 6, 1, 3)
			p := x.Expand(6, 4, 3).Mul(y.Expand(6, 4, 3))
			if sum == nil {
				sum = p
			} else {
				sum = sum.Add(p)
			}
		}
		r := w.check(t, sum.Reduce(uop.Sum, 0))
		most := 0
		for _, s := range r.Steps {
			most = max(most, len(s.Bufs))
		}
		require.Len(t, r.Steps, (n+15)/16, r)
		require.LessOrEqual(t, most, 2*16+2)
	}
}

// Axes that were joined come apart without divisions where a mask says that nothing beyond their ends is read.
func TestJoinedAxesComeApartUnderMasks(t *testing.T) {
	w := newWorld(3)
	columns := w.input(dtype.F32, 4, 6, 1, 1).Expand(4, 6, 3, 3).Slide(0, 2, 1, -1, 4).Slide(1, 3, 1, -1, 6).Permute(2, 3, 0, 1).Reshape(9, 24)
	back := columns.Exp2().Reshape(3, 3, 4, 6).Permute(2, 3, 0, 1).Slide(0, 2, -1, 1, 4).Slide(1, 3, -1, 1, 6)
	r := w.check(t, back.Reduce(uop.Sum, 2, 3))
	for _, s := range r.Steps {
		for _, o := range s.Spec.Outs {
			for _, u := range uop.Topo(o.Value) {
				assert.NotContains(t, []uop.Op{uop.IDiv, uop.Mod}, u.Op(), "%v", o.Value)
			}
		}
	}
}

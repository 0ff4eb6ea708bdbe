package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// stack joins nodes of one shape along a new first axis, as tensors do.
func stack(us ...*uop.UOp) *uop.UOp {
	n, shape := len(us), us[0].Shape()
	lo, hi := make([]int, len(shape)+1), make([]int, len(shape)+1)
	var out *uop.UOp
	for i := n - 1; i >= 0; i-- {
		lo[0], hi[0] = i, n-1-i
		part := us[i].Reshape(append([]int{1}, shape...)...).Pad(lo, hi)
		if out == nil {
			out = part
			continue
		}
		ones := make([]int, len(lo))
		for k := range ones {
			ones[k] = 1
		}
		ones[0] = n
		at := us[0].Home().Iota(n).Reshape(ones...).Expand(part.Shape()...)
		out = at.Less(at.Int(i+1)).Where(part, out)
	}
	return out
}

// sums are the sum and the difference of halves along the first axis, stacked: what a butterfly does.
func sums(x *uop.UOp) *uop.UOp {
	n := x.Shape()[0] / 2
	end := append([]int{n}, x.Shape()[1:]...)
	lo, all := make([]int, len(end)), append([]int{2 * n}, end[1:]...)
	a := x.Shrink(lo, end)
	lo[0] = n
	b := x.Shrink(lo, all)
	return stack(a.Add(b), a.Sub(b))
}

// What is stacked of different values along short axes is one kernel with an output a piece, over the other axes, and selects nothing.
func TestPiecesOfStacks(t *testing.T) {
	t.Parallel()
	t.Run("three layers", func(t *testing.T) {
		w := newWorld(1)
		x := sums(w.input(dtype.F32, 8, 5)) // [2 4 5]
		x = sums(x.Permute(1, 0, 2))        // [2 2 2 5]
		x = sums(x.Permute(1, 0, 2, 3))     // [2 1 2 2 5]
		r := w.check(t, x.Contiguous())
		require.Len(t, r.Steps, 1, r)
		outs := r.Steps[0].Spec.Outs
		require.Len(t, outs, 8)
		for _, o := range outs {
			assert.Len(t, o.Axes, 1)
			for _, u := range uop.Topo(o.Value) {
				assert.NotEqual(t, uop.Where, u.Op())
			}
		}
	})
	t.Run("in place of what it reads elsewhere", func(t *testing.T) {
		w := newWorld(2)
		x := w.input(dtype.F32, 8, 5)
		w.check(t, sums(sums(sums(x).Permute(1, 0, 2)).Permute(1, 0, 2, 3)).Reshape(8, 5), x.Exp2())
	})
	t.Run("few", func(t *testing.T) {
		w := newWorld(3)
		r := w.check(t, sums(w.input(dtype.F32, 8, 5)).Contiguous())
		require.Len(t, r.Steps[0].Spec.Outs, 1)
	})
	t.Run("a sum inside", func(t *testing.T) {
		w := newWorld(4)
		x := w.input(dtype.F32, 8, 5, 7).Reduce(uop.Sum, 2)
		w.check(t, sums(sums(sums(x).Permute(1, 0, 2)).Permute(1, 0, 2, 3)).Contiguous())
	})
	t.Run("a sum and an index from data that all pieces share", func(t *testing.T) {
		w := newWorld(5)
		x, at := w.input(dtype.F32, 9, 7), w.input(dtype.I32, 1, 1)
		row := x.Shrink([]int{0, 0}, []int{1, 7})
		scale := row.Reduce(uop.Sum, 1).Reshape(1, 1).Add(x.Gather(at.Expand(1, 7), 0).Shrink([]int{0, 0}, []int{1, 1}))
		shared := row.Mul(scale.Expand(1, 7)).Exp2().Add(row).Exp2().Add(row).Expand(9, 7)
		u := upTo(8, x.Add(shared), x.Mul(shared))
		r := w.check(t, u.Contiguous())
		require.Len(t, r.Steps[len(r.Steps)-1].Spec.Outs, 9, r)
	})
	t.Run("a sum for each piece", func(t *testing.T) {
		w := newWorld(6)
		x := w.input(dtype.F32, 9, 7)
		sum := x.Reduce(uop.Sum, 1).Reshape(9, 1).Expand(9, 7)
		r := w.check(t, upTo(3, x.Mul(sum), x.Add(sum)).Contiguous())
		require.Len(t, r.Steps[len(r.Steps)-1].Spec.Outs, 1, r)
	})
	t.Run("two arrays, one behind the other", func(t *testing.T) {
		w := newWorld(7)
		r := w.check(t, upTo(4, w.input(dtype.F32, 9, 7), w.input(dtype.F32, 9, 7)).Contiguous())
		require.Len(t, r.Steps[0].Spec.Outs, 1, r)
	})
	t.Run("a place compared with what has zeros around", func(t *testing.T) {
		w := newWorld(8)
		x := w.input(dtype.F32, 8, 5)
		three := x.Home().Index(3).Reshape(1).Pad([]int{2}, []int{5}).Reshape(8, 1).Expand(8, 5)
		at := x.Home().Iota(8).Reshape(8, 1).Expand(8, 5)
		parts := sums(sums(sums(x).Permute(1, 0, 2)).Permute(1, 0, 2, 3)).Reshape(8, 5)
		w.check(t, at.Less(three).Where(parts, x).Contiguous())
	})
}

// upTo are n rows of x, and then those of y.
func upTo(n int, x, y *uop.UOp) *uop.UOp {
	at := x.Home().Iota(x.Shape()[0]).Reshape(x.Shape()[0], 1).Expand(x.Shape()...)
	return at.Less(at.Int(n)).Where(x, y)
}

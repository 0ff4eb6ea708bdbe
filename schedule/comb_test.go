package schedule_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// Sums of which every n-th summand is not zero, as in gradients of windows with strides: only those are visited, whatever the place
// of the first and whether windows go up or down; ends that n does not divide are gates of stores.
func TestCombedSums(t *testing.T) {
	const count, more = 5, 3
	for n := 2; n < 5; n++ {
		for size := 1; size < 7; size++ {
			for _, step := range []int{1, -1, 2, -2, 3, 5} {
				if symbolic.GCD(step, n) != 1 {
					continue
				}
				for lo := -3; lo < 4; lo++ {
					for _, out := range []int{count*n + 2, 3 * n} { // of the last windows nothing is inside; of some of the few all is
						w := newWorld(uint64(n*size + lo))
						x := w.input(dtype.F32, more, count, size)
						spread := x.Reshape(more, count, 1, size).Pad([]int{0, 0, 0, 0}, []int{0, 0, n - 1, 0}).Reshape(more, count*n, size)
						y := spread.Slide(1, 2, step, lo, out).Reduce(uop.Sum, 2)
						r := w.check(t, y)
						require.LessOrEqual(t, visited(r), (size+n-1)/n, fmt.Sprint("every ", n, " of ", size, " by ", step, " from ", lo, " to ", out))
					}
				}
			}
		}
	}
}

// Of windows of which there is one, every element has a term of its own: their gradient sums nothing.
func TestSumsOfOneTerm(t *testing.T) {
	const more, size = 3, 5
	for _, step := range []int{1, -1, 2} {
		for lo := -2; lo < 3; lo++ {
			for _, out := range []int{2, size, 2*size + 1} {
				w := newWorld(uint64(size + lo))
				x, y := w.input(dtype.F32, more, 1, 1), w.input(dtype.F32, more, 1, size)
				product := x.Expand(more, 1, size).Mul(y)
				r := w.check(t, product.Slide(1, 2, step, lo, out).Reduce(uop.Sum, 2))
				if step == 2 { // of every second place
					require.LessOrEqual(t, visited(r), size)
					continue
				}
				require.Zero(t, visited(r), fmt.Sprint("by ", step, " from ", lo, " to ", out))
			}
		}
	}
}

// visited is the most iterations of a reduction.
func visited(r *schedule.Result) (most int) {
	for _, s := range r.Steps {
		if s.Spec == nil {
			continue
		}
		for _, o := range s.Spec.Outs {
			for _, u := range uop.Topo(o.Value) {
				if u.Op() == uop.Reduce {
					all := 1
					for _, x := range u.Src()[u.Arg().(uop.ReduceArg).Parts:] {
						all *= x.Arg().(uop.RangeArg).N
					}
					most = max(most, all)
				}
			}
		}
	}
	return most
}

// What a pad or a scatter needs of a sum of everything is that one sum: the conditions of elements do not reach into it, where they
// would make of it one for each.
func TestConditionsOfElements(t *testing.T) {
	const n = 6
	w := newWorld(1)
	x, at, to := w.input(dtype.F32, n), w.input(dtype.I32, n), w.input(dtype.F32, n)
	whole := func(m uop.Monoid, u *uop.UOp) *uop.UOp { return u.Reduce(m, 0).Reshape(1).Expand(n) }
	y := x.Mul(whole(uop.Sum, x.Equal(whole(uop.MaxOf, x)).Cast(dtype.F32)))
	sums := 0
	for _, root := range []*uop.UOp{y.Pad([]int{1}, []int{2}), to.Scatter(at, y, 0, uop.Sum), y.Gather(at, 0)} {
		r := w.check(t, root)
		for _, s := range r.Steps {
			if s.Spec == nil {
				continue
			}
			for _, o := range s.Spec.Outs {
				for _, u := range uop.Topo(o.Value) {
					if u.Op() == uop.Reduce {
						require.Empty(t, symbolic.Depends(u), r)
						sums++
					}
				}
			}
		}
	}
	require.Positive(t, sums)
	// but one on a number keeps the place of a load within its array
	from, one := w.input(dtype.F32, 3, 8), w.input(dtype.I32, 1)
	w.values[len(w.values)-1][0] = uop.IntValue(dtype.I32, 7)
	w.check(t, from.Reduce(uop.Sum, 1).Gather(one, 0))
}

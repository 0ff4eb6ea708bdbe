package schedule_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// checkNests checks a schedule with these limits, and gives how many kernels there are, and how many arrays are each thread's own.
func (w *world) checkNests(t *testing.T, limits codegen.NestLimits, roots ...*uop.UOp) (kernels, own int) {
	g := &schedule.Graph{Table: w.t, Inputs: w.inputs}
	for _, r := range roots {
		g.Roots = append(g.Roots, schedule.Root{Value: r, Dest: -1})
	}
	steps := w.checkGraph(t, g, schedule.Config{Nests: limits}).Steps
	for _, s := range steps {
		for _, p := range s.Spec.Params {
			if p.Own {
				own++
			}
		}
	}
	return len(steps), own
}

// norm is each row of x less its mean, over its root mean square.
func (w *world) norm(x *uop.UOp) *uop.UOp {
	s := x.Shape()
	mean := func(u *uop.UOp) *uop.UOp {
		return u.Reduce(uop.Sum, 1).Mul(u.Float(1/float64(s[1]))).Reshape(s[0], 1).Expand(s...)
	}
	x = x.Sub(mean(x))
	return x.Div(mean(x.Mul(x)).Add(x.Float(1)))
}

// What one thread does alone is one kernel, as far as the limits go, and past what has nothing to do with it.
func TestSmallKernelsAreNests(t *testing.T) {
	w := newWorld(1)
	x, y := w.input(dtype.F32, 1, 32), w.input(dtype.F32, 32, 8)
	n := w.norm(x).Contiguous()
	product := w.matmul(n, y)
	for _, c := range []struct {
		limits codegen.NestLimits
		want   int
	}{
		{codegen.NestLimits{}, 3},
		{codegen.NestLimits{Most: 8, Flops: 1e6, Bytes: 1e6}, 1},
		{codegen.NestLimits{Most: 2, Flops: 1e6, Bytes: 1e6}, 2},
		{codegen.NestLimits{Most: 8, Flops: 10, Bytes: 1e6}, 3},
		{codegen.NestLimits{Most: 8, Flops: 1e6, Bytes: 10}, 3},
	} {
		kernels, _ := w.checkNests(t, c.limits, n, product, product.Contiguous().Flip(1).Add(product.Float(1)))
		require.Equal(t, c.want, kernels, c.limits)
	}
}

// Kernels that go through the same rows are one, and threads share the rows; not where a row needs others, or where there are few.
func TestRowsAreNests(t *testing.T) {
	w := newWorld(1)
	q, k, v := w.input(dtype.F32, 9, 1, 16), w.input(dtype.F32, 9, 20, 16), w.input(dtype.F32, 9, 20, 17)
	scores := q.Expand(9, 20, 16).Mul(k).Reduce(uop.Sum, 2).Contiguous()
	weighted := func(s *uop.UOp) *uop.UOp {
		return w.softmax(s).Contiguous().Reshape(9, 20, 1).Expand(9, 20, 17).Mul(v).Reduce(uop.Sum, 1)
	}
	for _, c := range []struct {
		limits codegen.NestLimits
		root   *uop.UOp
		want   int
	}{
		{codegen.NestLimits{}, weighted(scores), 3},
		{codegen.NestLimits{Most: 8, Rows: 9}, weighted(scores), 1},
		{codegen.NestLimits{Most: 8, Rows: 10}, weighted(scores), 3},
		{codegen.NestLimits{Most: 8, Rows: 9}, weighted(scores.Flip(0)), 3},
	} {
		kernels, own := w.checkNests(t, c.limits, c.root)
		require.Equal(t, c.want, kernels, c.limits)
		require.Zero(t, own)
	}
}

// What a large kernel alone needs and is quickly computed each of its threads computes for itself.
func TestWhatThreadsComputeAnew(t *testing.T) {
	w := newWorld(1)
	x, y := w.input(dtype.F32, 1, 24), w.input(dtype.F32, 24, 400)
	limits := codegen.NestLimits{Most: 8, Flops: 4000, Bytes: 4000, Before: 8}
	n := w.norm(x).Contiguous()
	product := w.matmul(n, y)
	kernels, own := w.checkNests(t, limits, product)
	require.Equal(t, []int{1, 1}, []int{kernels, own})
	kernels, own = w.checkNests(t, limits, product, n)
	require.Equal(t, []int{2, 0}, []int{kernels, own}, "somebody else needs it")
	for _, limits.Before = range []int{0, 1000} {
		kernels, own = w.checkNests(t, limits, product)
		require.Equal(t, []int{2, 0}, []int{kernels, own}, limits.Before)
	}
}

// An array that is filled and merged into has rows that threads share, where the target has no other kernels of several nests too.
func TestMergesGoInRows(t *testing.T) {
	w := newWorld(1)
	at := w.input(dtype.I32, 40, 16)
	g := &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: at.Int(0).Reshape(1, 1).Expand(40, 20).Scatter(at, at, 1, uop.Last), Dest: -1}}}
	for _, rows := range []int{0, 8} {
		steps := w.checkGraph(t, g, schedule.Config{Nests: codegen.NestLimits{Rows: rows}}).Steps
		require.Len(t, steps, 1)
		require.Len(t, steps[0].Spec.Outs, 2)
		require.Equal(t, rows > 0, nest.SharesRows(steps[0].Spec))
	}
}

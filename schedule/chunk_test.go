package schedule_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/grad"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/schedule/evaluate"
	"github.com/weft-ml/weft/uop"
)

// chunked are attentions and other sums over large products, small enough to be evaluated: 20 rows of 20 products, which count as large.
const (
	chunkedRows  = 20
	chunkedLarge = 4 * chunkedRows * chunkedRows
)

// trained are the gradients of Σ y·(y + 1), and y.
func trained(y *uop.UOp, of ...*uop.UOp) []*uop.UOp {
	return append(grad.Of(y, y.Add(y).Add(y.Int(1)), of...), y)
}

// Where nothing looks at large products, and what is made of them, but sums that leave little of them, they are computed for some
// rows at a time: nothing so large is stored, whatever the program looks like. Where something else looks at them they are stored as ever.
func TestLargeProductsComeInChunks(t *testing.T) {
	t.Parallel()
	const n, d, e = chunkedRows, 2, 2
	inf := math.Inf(-1)
	grid := func(w *world) (row, column *uop.UOp) {
		return w.t.Iota(n).Reshape(n, 1).Expand(n, n), w.t.Iota(n).Reshape(1, n).Expand(n, n)
	}
	row := func(r *uop.UOp) *uop.UOp { return r.Reshape(n, 1).Expand(n, n) }
	for name, c := range map[string]struct {
		of     func(w *world, q, k, v *uop.UOp) []*uop.UOp
		chunks bool
	}{
		"attention": {func(_ *world, q, k, v *uop.UOp) []*uop.UOp { return []*uop.UOp{times(weights(times(q, k), 0.5), v)} }, true},
		"its gradients": {func(_ *world, q, k, v *uop.UOp) []*uop.UOp {
			return trained(times(weights(times(q, k), 0.5), v), q, k, v)
		}, true},
		"of what is scaled, masked and biased": {func(w *world, q, k, v *uop.UOp) []*uop.UOp {
			row, column := grid(w)
			s := times(q.Mul(q.Float(0.5)), k).Add(w.input(dtype.F32, n, n))
			return trained(times(weights(row.Less(column).Where(s.Float(inf), s), 1), v).Exp2(), q, k, v)
		}, true},
		"of rows without terms": {func(w *world, q, k, v *uop.UOp) []*uop.UOp {
			row, column := grid(w)
			s := times(q, k)
			return trained(times(emptyWeights(row.Less(column.Add(s.Home().Index(2))).Where(s.Float(inf), s)), v), q, k, v)
		}, true},
		"of one tensor": {func(_ *world, q, _, _ *uop.UOp) []*uop.UOp {
			return trained(times(weights(times(q, q.Permute(1, 0)), 0.5), q), q)
		}, true},
		"of gradients": {func(_ *world, q, k, v *uop.UOp) []*uop.UOp {
			y := times(weights(times(q, k), 0.125), v)
			g := grad.Of(y, y.Int(1), q, k)
			return grad.Of(g[0], g[0], q)
		}, true},
		"without a product behind": {func(_ *world, q, k, _ *uop.UOp) []*uop.UOp {
			return []*uop.UOp{times(q, k).Neg().Reduce(uop.MaxOf, 1), times(q, k).Reduce(uop.Sum, 0)}
		}, true},
		"a loss of classes": {func(w *world, q, k, _ *uop.UOp) []*uop.UOp {
			s := times(q, k)
			top := s.Reduce(uop.MaxOf, 1).Detach()
			total := s.Sub(row(top)).Exp2().Reduce(uop.Sum, 1).Log2().Add(top)
			classes := w.input(dtype.I32, n)
			_, column := grid(w)
			right := column.Cast(dtype.I32).Equal(row(classes)).Where(s, s.Int(0)).Reduce(uop.Sum, 1)
			loss := total.Sub(right).Reduce(uop.Sum, 0)
			return append(grad.Of(loss, loss.Int(1), q, k), loss)
		}, true},
		"columns have numbers of their own": {func(_ *world, q, k, v *uop.UOp) []*uop.UOp {
			s := times(q, k)
			total := s.Exp2().Reduce(uop.Sum, 0).Reshape(1, n).Expand(n, n)
			return []*uop.UOp{times(s.Exp2().Div(total), v)}
		}, true},
		"rows and columns have": {func(_ *world, q, k, v *uop.UOp) []*uop.UOp {
			p := weights(times(q, k), 0.5)
			total := p.Reduce(uop.Sum, 0).Reshape(1, n).Expand(n, n)
			return []*uop.UOp{times(p.Div(total), v)}
		}, true},
		"weights are a result": {func(_ *world, q, k, v *uop.UOp) []*uop.UOp {
			p := weights(times(q, k), 0.5)
			return []*uop.UOp{times(p, v), p}
		}, false},
		"rows in another order": {func(_ *world, q, k, v *uop.UOp) []*uop.UOp {
			s := times(q, k)
			return []*uop.UOp{times(s.Add(s.Permute(1, 0)), v)}
		}, false},
		"factors as large": {func(w *world, _, _, v *uop.UOp) []*uop.UOp {
			return []*uop.UOp{times(times(w.input(dtype.F32, n, n/2), w.input(dtype.F32, n/2, n)).Exp2(), v)}
		}, false},
		"a sum leaves much": {func(w *world, q, k, v *uop.UOp) []*uop.UOp {
			return []*uop.UOp{times(times(times(q, k).Exp2(), w.input(dtype.F32, n, n/2)).Neg(), w.input(dtype.F32, n/2, e))}
		}, false},
		"small": {func(w *world, q, k, v *uop.UOp) []*uop.UOp {
			return []*uop.UOp{times(weights(times(q, k.Shrink([]int{0, 0}, []int{d, n - 1})), 0.5), v.Shrink([]int{0, 0}, []int{n - 1, e}))}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(3)
			scale := func(u *uop.UOp) *uop.UOp { return u.Mul(u.Float(0.25)) }
			q, k, v := scale(w.input(dtype.F32, n, d)), scale(w.input(dtype.F32, d, n)), scale(w.input(dtype.F32, n, e))
			g := &schedule.Graph{Table: w.t}
			for _, r := range c.of(w, q, k, v) {
				g.Roots = append(g.Roots, schedule.Root{Value: r, Dest: -1})
			}
			g.Inputs = w.inputs
			config := schedule.Config{Large: chunkedLarge, MaxBindings: 9}
			check := evaluate.New()
			check.Most = 2_000_000
			r, err := check.Schedule(g, config)
			require.NoError(t, err)
			assert.Zero(t, check.TooLarge.Load())
			stored := slices.Max(append(temporaries(r), 0))
			if !c.chunks {
				assert.GreaterOrEqual(t, stored, n*(n-1), "%v", r)
				return
			}
			assert.LessOrEqual(t, stored, n*n/schedule.ChunkShare, "%v", r)
			plain := schedule.New(g, schedule.Config{})
			assert.GreaterOrEqual(t, slices.Max(append(temporaries(plain), 0)), n*n, "%v", plain)
		})
	}
}

// What is alive at a time is some chunks, however many rows there are.
func TestChunksComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	for _, n := range []int{64, 256, 300} {
		w := newWorld(1)
		q, k, v := w.input(dtype.F32, n, 3), w.input(dtype.F32, 3, n), w.input(dtype.F32, n, 3)
		g := &schedule.Graph{Table: w.t}
		for _, r := range trained(times(weights(times(q, k), 0.5), v), q, k, v) {
			g.Roots = append(g.Roots, schedule.Root{Value: r, Dest: -1})
		}
		g.Inputs = w.inputs
		r := schedule.New(g, schedule.Config{Large: 1 << 14})
		_, arenas := r.Memory(0)
		const chunk = 1 << 14 / schedule.ChunkShare
		assert.Less(t, arenas[0], int64(4*chunk+n*256), "%d rows\n%v", n, r)
	}
}

// Chunks of what a mask of indices leaves a triangle of are the same kernels, whose masks begin where an array says: the kernels of some
// attention, and of its gradients, are few, however many chunks there are. Not where kernels keep their constants.
func TestChunksOfTrianglesAreAlike(t *testing.T) {
	t.Parallel()
	const n = 16
	for name, gradients := range map[string]bool{"attention": false, "its gradients": true} {
		t.Run(name, func(t *testing.T) {
			kernels := func(alike int) (distinct int, values [][]uop.Value) {
				w := newWorld(3)
				scale := func(u *uop.UOp) *uop.UOp { return u.Mul(u.Float(0.25)) }
				q, k, v := scale(w.input(dtype.F32, n, 2)), scale(w.input(dtype.F32, 2, n)), scale(w.input(dtype.F32, n, 2))
				s := times(q, k)
				row, column := w.t.Iota(n).Reshape(n, 1).Expand(n, n), w.t.Iota(n).Reshape(1, n).Expand(n, n)
				y := times(weights(row.Less(column).Where(s.Float(math.Inf(-1)), s), 1), v)
				roots := []*uop.UOp{y}
				if gradients {
					roots = trained(y, q, k, v)
				}
				g := &schedule.Graph{Table: w.t, Inputs: w.inputs}
				for _, r := range roots {
					g.Roots = append(g.Roots, schedule.Root{Value: r, Dest: -1})
				}
				r := schedule.New(g, schedule.Config{Large: 2 * n * n, Alike: alike})
				seen := map[string]bool{}
				for _, s := range r.Steps {
					if s.Spec != nil {
						seen[fmt.Sprintf("%p %v", s.Spec.Outs[0].Value, s.Spec.Params)] = true
					}
				}
				return len(seen), play(t, g, r, w.values)
			}
			own, want := kernels(0)
			few, got := kernels(1)
			assert.Greater(t, own, 6)
			assert.Less(t, few, own/2)
			assert.Equal(t, want, got)
		})
	}
}

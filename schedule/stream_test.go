package schedule_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// times is Σ x[…,n,k]·y[…,k,m].
func times(x, y *uop.UOp) *uop.UOp {
	n, k, m := x.Shape()[0], x.Shape()[1], y.Shape()[1]
	return x.Reshape(n, 1, k).Expand(n, m, k).Mul(y.Permute(1, 0).Reshape(1, m, k).Expand(n, m, k)).Reduce(uop.Sum, 2)
}

// weights is the softmax of the rows of s, of 2^(by·s).
func weights(s *uop.UOp, by float64) *uop.UOp {
	n, k := s.Shape()[0], s.Shape()[1]
	row := func(r *uop.UOp) *uop.UOp { return r.Reshape(n, 1).Expand(n, k) }
	e := s.Sub(row(s.Reduce(uop.MaxOf, 1))).Mul(s.Float(by)).Exp2()
	return e.Mul(row(s.Int(1).Div(e.Reduce(uop.Sum, 1))))
}

// emptyWeights are weights of masked scores, 0 where none is left.
func emptyWeights(s *uop.UOp) *uop.UOp {
	n, k := s.Shape()[0], s.Shape()[1]
	top, one := s.Reduce(uop.MaxOf, 1).Reshape(n, 1).Detach().Max(s.Float(-math.MaxFloat32)), s.Int(1)
	e := s.Sub(top.Expand(n, k)).Exp2()
	total := e.Reduce(uop.Sum, 1).Reshape(n, 1)
	return e.Mul(one.Div(total.Less(one).Where(one, total)).Expand(n, k))
}

// softmaxSums counts the reductions of a schedule with the monoid of a softmax.
func softmaxSums(r *schedule.Result) (n int) {
	for _, st := range r.Steps {
		for _, o := range st.Spec.Outs {
			n += len(slices.DeleteFunc(uop.Topo(o.Value), func(u *uop.UOp) bool {
				a, ok := u.Arg().(uop.ReduceArg)
				return !ok || a.Monoid != uop.SumExp
			}))
		}
	}
	return n
}

// temporaries are the sizes of what a schedule stores for itself.
func temporaries(r *schedule.Result) (n []int) {
	for _, b := range r.Bufs {
		if b.Kind == schedule.TempBuf {
			n = append(n, b.N)
		}
	}
	return n
}

// What a law sees is the sum, however its weights and their masks are written; where the weights are used elsewhere, are not what
// they look like, or are no products, it leaves the sum alone.
func TestWeightedSumsStream(t *testing.T) {
	t.Parallel()
	const n, k, d, e = 32, 128, 3, 5
	type sum = func(w *world, q, kk, v *uop.UOp) []*uop.UOp
	inf := math.Inf(-1)
	grid := func(w *world) (row, column *uop.UOp) {
		return w.t.Iota(n).Reshape(n, 1).Expand(n, k), w.t.Iota(k).Reshape(1, k).Expand(n, k)
	}
	for name, c := range map[string]struct {
		of      sum
		streams bool
	}{
		"plain": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp { return []*uop.UOp{times(weights(times(q, kk), 0.5), v)} }, true},
		"causal": {func(w *world, q, kk, v *uop.UOp) []*uop.UOp {
			row, column := grid(w)
			s := times(q, kk)
			return []*uop.UOp{times(weights(row.Less(column).Where(s.Float(inf), s), 1), v)}
		}, true},
		"a mask from memory": {func(w *world, q, kk, v *uop.UOp) []*uop.UOp {
			s := times(q, kk)
			return []*uop.UOp{times(weights(s.Add(w.input(dtype.F32, n, k)), 1), v).Exp2()}
		}, true},
		"rows without terms": {func(w *world, q, kk, v *uop.UOp) []*uop.UOp {
			row, column := grid(w)
			s := times(q, kk)
			return []*uop.UOp{times(emptyWeights(row.Less(column.Add(s.Home().Index(2))).Where(s.Float(inf), s)), v)}
		}, true},
		"a total that stands for an empty row's, but no maximum": {func(w *world, q, kk, v *uop.UOp) []*uop.UOp {
			s, one := times(q, kk), q.Int(1)
			row := func(r *uop.UOp) *uop.UOp { return r.Reshape(n, 1).Expand(n, k) }
			x := s.Sub(row(s.Reduce(uop.MaxOf, 1))).Exp2()
			total := x.Reduce(uop.Sum, 1)
			return []*uop.UOp{times(x.Mul(row(one.Div(total.Less(one).Where(one, total)))), v)}
		}, false},
		"a maximum above the least": {func(w *world, q, kk, v *uop.UOp) []*uop.UOp {
			s := times(q, kk)
			row := func(r *uop.UOp) *uop.UOp { return r.Reshape(n, 1).Expand(n, k) }
			x := s.Sub(row(s.Reduce(uop.MaxOf, 1).Max(s.Float(-1)))).Exp2()
			return []*uop.UOp{times(x.Mul(row(s.Int(1).Div(x.Reduce(uop.Sum, 1)))), v)}
		}, false},
		"turned": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			p := weights(times(q, kk), 0.5)
			return []*uop.UOp{times(v.Permute(1, 0), p.Permute(1, 0))}
		}, false},
		"factors that are sums themselves": {func(w *world, q, kk, v *uop.UOp) []*uop.UOp {
			x := q.Add(w.input(dtype.F32, n, d, 2).Reduce(uop.Sum, 2))
			return []*uop.UOp{times(weights(times(x, kk.Exp2()), 0.5), v.Neg())}
		}, true},
		"a result that is turned": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			y := times(weights(times(q, kk), 0.5), v)
			return []*uop.UOp{y.Permute(1, 0).Reshape(n * e).Exp2()}
		}, true},
		"a row of each term": {func(w *world, _, _, v *uop.UOp) []*uop.UOp {
			q, kk := w.input(dtype.F32, n, 1, d).Expand(n, k, d), w.input(dtype.F32, n, k, d)
			return []*uop.UOp{times(weights(q.Mul(kk).Reduce(uop.Sum, 2), 0.5), v)}
		}, false},
		"two results of one sum": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			y := times(weights(times(q, kk), 0.5), v)
			return []*uop.UOp{y.Exp2(), y.Reduce(uop.Sum, 0)}
		}, true},
		"weights are a result": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			p := weights(times(q, kk), 0.5)
			return []*uop.UOp{times(p, v), p}
		}, false},
		"scores are a result": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			s := times(q, kk)
			return []*uop.UOp{times(weights(s, 0.5), v), s.Neg()}
		}, false},
		"a falling softmax": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			return []*uop.UOp{times(weights(times(q, kk), -0.01), v)}
		}, false},
		"scores from memory": {func(w *world, _, _, v *uop.UOp) []*uop.UOp {
			return []*uop.UOp{times(weights(w.input(dtype.F32, n, k), 1), v)}
		}, false},
		"another row's total": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			s := times(q, kk)
			row := func(r *uop.UOp) *uop.UOp { return r.Reshape(n, 1).Expand(n, k) }
			x := s.Sub(row(s.Reduce(uop.MaxOf, 1))).Exp2()
			return []*uop.UOp{times(x.Mul(row(s.Int(1).Div(x.Reduce(uop.Sum, 1)).Flip(0))), v)}
		}, false},
		"another row's maximum": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			s := times(q, kk).Mul(q.Float(0.125))
			row := func(r *uop.UOp) *uop.UOp { return r.Reshape(n, 1).Expand(n, k) }
			x := s.Sub(row(s.Reduce(uop.MaxOf, 1).Flip(0))).Exp2()
			return []*uop.UOp{times(x.Mul(row(s.Int(1).Div(x.Reduce(uop.Sum, 1)))), v)}
		}, false},
		"shifted weights": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			p := weights(times(q, kk), 0.5)
			return []*uop.UOp{times(p.Shrink([]int{0, 1}, []int{n, k}).Pad([]int{0, 0}, []int{0, 1}), v)}
		}, false},
		"weights the other way round": {func(_ *world, q, kk, v *uop.UOp) []*uop.UOp {
			p := weights(times(q, kk), 0.5)
			return []*uop.UOp{times(p.Flip(1), v)}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(7)
			q, kk, v := w.input(dtype.F32, n, d), w.input(dtype.F32, d, k), w.input(dtype.F32, k, e)
			g := &schedule.Graph{Table: w.t}
			for _, r := range c.of(w, q, kk, v) {
				g.Roots = append(g.Roots, schedule.Root{Value: r, Dest: -1})
			}
			g.Inputs = w.inputs
			r, err := checker.Schedule(g, schedule.Config{Streams: true})
			require.NoError(t, err)
			assert.Equal(t, c.streams, softmaxSums(r) > 0, "%v", r)
			if c.streams {
				assert.NotContains(t, temporaries(r), n*k, "weights are stored:\n%v", r)
				assert.Equal(t, 1, softmaxSums(r), "%v", r)
				w.checkGraph(t, g, schedule.Config{Streams: true})
			}
			assert.Zero(t, softmaxSums(schedule.New(g, schedule.Config{})), "nobody asked for it")
		})
	}
}

// Weights that are rounded to the type that their sum is rounded to are not stored for that, unless the machine multiplies matrices of it. Where the
// sum keeps its digits, so that the rounding can be seen, weights are rounded everywhere.
func TestRoundedWeightsStream(t *testing.T) {
	for _, matrix := range []*codegen.MatrixUnit{nil, codegen.NewMatrixUnit(true, true)} {
		for _, rounded := range []bool{false, true} {
			w := newWorld(7)
			q, kk, v := w.input(dtype.F32, 32, 3), w.input(dtype.F32, 3, 128), w.input(dtype.BF16, 128, 5)
			y := times(weights(times(q, kk), 0.5).Cast(dtype.BF16).Cast(dtype.F32), v.Cast(dtype.F32))
			if rounded {
				y = y.Reshape(160).Cast(dtype.BF16)
			}
			g := &schedule.Graph{Table: w.t, Inputs: w.inputs, Roots: []schedule.Root{{Value: y, Dest: -1}}}
			r, err := checker.Schedule(g, schedule.Config{Streams: true, Matrix: matrix})
			require.NoError(t, err)
			assert.Equal(t, matrix == nil && rounded, softmaxSums(r) > 0, "%v", r)
		}
	}
}

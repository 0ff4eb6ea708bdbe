package codegen_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/nest"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// A query of each head meets n keys: scores, a softmax and the weighted sum are nests that go through the heads together.
func headByHead(heads, n, size int) *kit {
	k := newKit()
	o, q, keys, values := k.param(dtype.F32, true, heads, size), k.param(dtype.F32, false, heads, size), k.param(dtype.F32, false, heads, n, size), k.param(dtype.F32, false, heads, n, size)
	scores, weights := k.param(dtype.F32, true, heads, n), k.param(dtype.F32, true, heads, n)
	r := k.rngs(heads, n, size, n, n, n, size, n)
	k.out(scores, r[:2], k.sum(k.load(q, r[0], r[2]).Mul(k.load(keys, r[0], r[1], r[2])), r[2]))
	top := k.ReduceRanges(uop.MaxOf, []*uop.UOp{k.load(scores, r[0], r[4])}, r[4:5])
	e := func(i *uop.UOp) *uop.UOp { return k.load(scores, r[0], i).Sub(top).Exp2() }
	k.out(weights, []*uop.UOp{r[0], r[3]}, e(r[3]).Div(k.sum(e(r[5]), r[5])))
	k.out(o, []*uop.UOp{r[0], r[6]}, k.sum(k.load(weights, r[0], r[7]).Mul(k.load(values, r[0], r[7], r[6])), r[7]))
	return k
}

// A vector is normalised before it is multiplied: each share of the product's rows does that for itself.
func normedProduct(rows, n int) *kit {
	k := newKit()
	o, x, w := k.param(dtype.F32, true, rows), k.param(dtype.F32, false, n), k.param(dtype.F32, false, rows, n)
	mean, normed := k.param(dtype.F32, true, 1), k.param(dtype.F32, true, n)
	k.s.Params[mean].Own, k.s.Params[normed].Own = true, true
	r := k.rngs(n, n, rows, n)
	zero := k.Index(0)
	k.out(mean, nil, k.sum(k.load(x, r[0]), r[0]))
	k.s.Outs[0].Index = []*uop.UOp{zero}
	k.out(normed, r[1:2], k.load(x, r[1]).Sub(k.load(mean, zero)))
	k.out(o, r[2:3], k.sum(k.load(w, r[2], r[3]).Mul(k.load(normed, r[3])), r[3]))
	return k
}

// Kernels of several nests give the same for any number of threads, which share rows or the last nest.
func TestNestsAreShared(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]*kit{"rows": headByHead(12, 70, 33), "last": normedProduct(200, 333)} {
		directives := model.Choose(k.s, target())
		assert.Contains(t, codegen.DirectivesString(directives), "thread ", name)
		p, err := lower.Lower(k.s, directives, target())
		require.NoError(t, err)
		assert.Greater(t, p.Threads, 1, name)
		start := k.random(rand.New(rand.NewPCG(1, 2)))
		want := clone(start)
		define(t, k.s, want)
		for _, threads := range []int{1, 2, 5} {
			j := &job{k.s, directives, clone(start)}
			run(t, openCPU(t, threads), []*job{j})
			for i, q := range k.s.Params {
				if q.Own {
					assert.Equal(t, start[i], j.bufs[i], "%s: nobody writes an argument in whose place threads have arrays of their own", name)
					continue
				}
				for e := range want[i] {
					assert.InDelta(t, want[i][e].Float(), j.bufs[i][e].Float(), 1e-3, "%s, %d threads: p%d, element %d", name, threads, i, e)
				}
			}
		}
	}
}

// Threads share rows only where none needs another one, and the last nest only where what is before is each thread's own and does not
// read what the last one writes.
func TestNestsAreNotShared(t *testing.T) {
	t.Parallel()
	shared := func(s *codegen.Spec, axis string) error {
		return lower.Legal(s, []codegen.Directive{{Verb: codegen.Threads, Name: axis}}, c.Target(c.Machine{}))
	}
	k := headByHead(12, 7, 5)
	assert.NoError(t, shared(k.s, "a0"))
	assert.True(t, nest.SharesRows(k.s))
	assert.Error(t, shared(k.s, "a1"), "the axis of one nest")
	turned := headByHead(12, 12, 5)
	o := &turned.s.Outs[1]
	o.Index = []*uop.UOp{o.Index[1], o.Index[0]}
	assert.Error(t, shared(turned.s, "a0"), "weights that other rows need")
	assert.False(t, nest.SharesRows(turned.s))
	k = normedProduct(20, 30)
	assert.NoError(t, shared(k.s, "c0"))
	assert.Error(t, shared(k.s, "b0"), "an axis of a nest before")
	k.s.Params[4].Own = false
	assert.Error(t, shared(k.s, "c0"), "an array that all threads would write")
	k = normedProduct(30, 30)
	k.s.Params[4].Own, k.s.Params[3].Own = true, true
	k.s.Outs[2].Param, k.s.Params[1].Write = 1, true
	assert.Error(t, shared(k.s, "c0"), "a vector that the product replaces")
}

// A table of rows is filled, and then rows are added to those that data name. Along another axis, elements of each row are.
func filledAndMerged(rows, size, places int, along bool) *kit {
	k := newKit()
	o, at, x := k.param(dtype.F32, true, rows, size), k.param(dtype.I32, false, places), k.param(dtype.F32, false, places, size)
	if along {
		at, x = k.param(dtype.I32, false, rows, places), k.param(dtype.F32, false, rows, places)
	}
	r := k.rngs(rows, size, places, size)
	k.out(o, r[:2], k.ConstOf(dtype.F32, uop.ValueOf(dtype.F32, 2)))
	i, index := k.load(at, r[2]).Cast(dtype.Index), []*uop.UOp{nil, r[3]}
	axes, value, n, d := r[2:4], []*uop.UOp{r[2], r[3]}, rows, 0
	if along {
		own := k.Range(9, rows, "")
		axes, value, n, d = []*uop.UOp{own, r[2]}, []*uop.UOp{own, r[2]}, size, 1
		i, index = k.load(at, own, r[2]).Cast(dtype.Index), []*uop.UOp{own, nil}
	}
	index[d] = i
	sum := uop.Sum
	k.s.Outs = append(k.s.Outs, codegen.Out{Param: o, Axes: axes, Index: index, Gate: k.Index(-1).Less(i).And(i.Less(k.Index(n))),
		Value: k.load(x, value...), Merge: &sum})
	return k
}

// Threads share an array that is filled and then merged into, by parts or by its rows, and each element gets its values in their order.
func TestMergesAreShared(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]*kit{"parts": filledAndMerged(96, 64, 3, false), "parts and a rest": filledAndMerged(101, 33, 2, false), "rows": filledAndMerged(20, 50, 70, true),
		"few rows": filledAndMerged(3, 50, 70, true), "columns": filledAndMerged(5, 192, 90, false), "columns and a rest": filledAndMerged(5, 1009, 90, false)} {
		s := lower.MergeRows(k.s, codegen.NestLimits{Rows: 8})
		directives := model.Choose(s, target())
		assert.Contains(t, codegen.DirectivesString(directives), "thread ", name)
		start := k.random(rand.New(rand.NewPCG(1, 2)))
		want := clone(start)
		define(t, k.s, want)
		for _, threads := range []int{1, 2, 5} {
			j := &job{s, directives, clone(start)}
			run(t, openCPU(t, threads), []*job{j})
			assert.Equal(t, want[0], j.bufs[0], "%s, %d threads", name, threads)
		}
	}
	k := filledAndMerged(1000, 1, 900, false)
	assert.Same(t, k.s, lower.MergeRows(k.s, codegen.NestLimits{Rows: 8}), "looking at each place once for each part would take longer")
}

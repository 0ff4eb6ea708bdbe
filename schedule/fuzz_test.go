package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/uop"
)

// grow builds a random graph of about n nodes over small arrays, exact in float32, and gives some of them as roots.
func grow(w *world, n int) []*uop.UOp {
	pool := []*uop.UOp{w.input(dtype.F32, 3, 4), w.input(dtype.F32, 2, 3, 2), w.input(dtype.F32, 5), w.input(dtype.I32, 4, 3)}
	pick := func() *uop.UOp { return pool[w.rng.IntN(len(pool))] }
	for len(pool) < n {
		if u := w.mutate(pick(), pick()); u != nil && u.Shape().Numel() <= 200 && len(u.Shape()) <= 5 {
			pool = append(pool, u)
		}
	}
	var roots []*uop.UOp
	for range 1 + w.rng.IntN(3) {
		roots = append(roots, pool[len(pool)-1-w.rng.IntN(min(8, len(pool)))])
	}
	if w.rng.IntN(2) == 0 { // what a root is made of, seen through movement, asked for as well
		in := uop.Topo(roots[0])
		for range 2 {
			if u := in[w.rng.IntN(len(in))]; u.Op().Elementwise() && u.DType() != dtype.Index && u.DType() != dtype.Bool {
				roots = append(roots, u)
			}
		}
	}
	return roots
}

// mutate applies a random op to x (and y, brought to x's shape), or gives nil where it does not fit.
func (w *world) mutate(x, y *uop.UOp) *uop.UOp {
	shape, r := x.Shape(), w.rng
	axis := func() int { return r.IntN(len(shape)) }
	small := func(u *uop.UOp) *uop.UOp { // keep values small, so that sums are exact
		if u.DType().IsFloat() {
			return u.Max(u.Float(-4)).Min(u.Float(4)).Trunc()
		}
		return u.And(u.Int(7))
	}
	if len(shape) == 0 {
		return x.Reshape(1, 1)
	}
	switch r.IntN(17) {
	case 0, 1:
		return w.binary(x, y)
	case 2:
		return small(x.Neg())
	case 3:
		return small(x.Mul(x)).Add(x.Int(1))
	case 4:
		return x.Reshape(factor(r, shape.Numel())...)
	case 5:
		return x.Permute(r.Perm(len(shape))...)
	case 6:
		lo, hi := make([]int, len(shape)), make([]int, len(shape))
		lo[axis()], hi[axis()] = r.IntN(3), r.IntN(3)
		return x.Pad(lo, hi)
	case 7:
		lo, hi := make([]int, len(shape)), append([]int{}, shape...)
		k := axis()
		lo[k] = r.IntN(shape[k] + 1)
		hi[k] = lo[k] + r.IntN(shape[k]-lo[k]+1)
		return x.Shrink(lo, hi)
	case 8:
		return x.Flip(axis())
	case 15: // a part in its own place, zeros around it
		lo, hi, after := make([]int, len(shape)), append([]int{}, shape...), make([]int, len(shape))
		k := axis()
		lo[k] = r.IntN(shape[k] + 1)
		hi[k] = lo[k] + r.IntN(shape[k]-lo[k]+1)
		after[k] = shape[k] - hi[k]
		return x.Shrink(lo, hi).Pad(lo, after)
	case 9:
		k := axis()
		wide := append([]int{}, shape...)
		wide = append(wide[:k], append([]int{1}, wide[k:]...)...)
		full := append([]int{}, wide...)
		full[k] = 1 + r.IntN(3)
		return x.Reshape(wide...).Expand(full...)
	case 10, 11:
		return small(x.Reduce([]uop.Monoid{uop.Sum, uop.MaxOf}[r.IntN(2)], axis()))
	case 12:
		k, by := axis(), axis()
		if k == by {
			return nil
		}
		return x.Slide(k, by, r.IntN(5)-2, r.IntN(5)-2, 1+r.IntN(5))
	case 13: // softmax-like: a reduction beside what it reduces
		k := axis()
		keep := append([]int{}, shape...)
		keep[k] = 1
		return small(x.Sub(x.Reduce(uop.MaxOf, k).Reshape(keep...).Expand(shape...)))
	case 14:
		k := axis()
		i := w.t.Iota(shape[k]).Cast(dtype.I32)
		at := make([]int, len(shape))
		for j := range at {
			at[j] = 1
		}
		at[k] = shape[k]
		index := i.Mul(i.Int(3)).Add(i.Int(r.IntN(3) - 1)).Mod(i.Int(shape[k] + 1)).Reshape(at...).Expand(shape...)
		if r.IntN(2) == 0 {
			return x.Gather(index, k)
		}
		return small(x.Scatter(index, x, k, []uop.Monoid{uop.Sum, uop.Last, uop.MaxOf}[r.IntN(3)]))
	}
	return x.Less(x.Int(1)).Where(x, x.Int(2))
}

// binary joins x with y, cut, padded and cast to x's form.
func (w *world) binary(x, y *uop.UOp) *uop.UOp {
	flat := y.Reshape(y.Shape().Numel())
	n, have := x.Shape().Numel(), y.Shape().Numel()
	switch {
	case have > n:
		flat = flat.Shrink([]int{0}, []int{n})
	case have < n:
		flat = flat.Pad([]int{0}, []int{n - have})
	}
	y = flat.Reshape(x.Shape()...).Cast(x.DType())
	switch w.rng.IntN(3) {
	case 0:
		return x.Max(y)
	case 1:
		return x.Less(y).Where(x, y)
	}
	if x.DType().IsFloat() {
		return x.Add(y).Max(x.Float(-9)).Min(x.Float(9))
	}
	return x.Xor(y)
}

// factor is a random shape of n elements.
func factor(r *rand.Rand, n int) []int {
	var shape []int
	for range 3 {
		d := 1 + r.IntN(4)
		if n > 0 && n%d == 0 {
			shape = append(shape, d)
			n /= d
		}
	}
	return append(shape, n)
}

func FuzzGraph(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(fuzzGraph)
}

// TestFuzzedGraphs checks 200 random graphs: fused against the reference evaluator, and against a schedule that stores
// every node, which must agree bit for bit.
func TestFuzzedGraphs(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { fuzzGraph(t, 1000+seed) })
	}
}

func fuzzGraph(t *testing.T, seed uint64) {
	w := newWorld(seed)
	roots := grow(w, 24)
	fused := w.check(t, roots...)
	g := &schedule.Graph{Table: w.t, Inputs: w.inputs}
	for _, r := range roots {
		g.Roots = append(g.Roots, schedule.Root{Value: r, Dest: -1})
	}
	all := w.checkGraph(t, g, schedule.Config{StoreAll: true})
	a, b := play(t, g, fused, w.values), play(t, g, all, w.values)
	assert.Equal(t, b, a, "fused and stored differ")
	assert.LessOrEqual(t, len(fused.Steps), len(all.Steps))
	for _, limits := range []codegen.NestLimits{{Most: 8, Flops: 1e9, Bytes: 1e9}, {Most: 8, Rows: 2}, {Rows: 2}, {Most: 4, Flops: 40, Bytes: 1e9, Before: 1, Rows: 2}} {
		nests := w.checkGraph(t, g, schedule.Config{Nests: limits})
		assert.Equal(t, b, play(t, g, nests, w.values), "nests differ")
		assert.LessOrEqual(t, len(nests.Steps), len(all.Steps))
	}
	require.Equal(t, fused.String(), w.check(t, roots...).String(), "scheduling twice gives the same")
}

package codegen_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/evaluate"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// running is the running reduction of centred products along the middle or the last axis of an array, both of whose parts
// are stored, the first behind a reduction of its own and multiplied with something.
func running(m uop.Monoid, rows, columns, n int, last bool) *kit {
	k := newKit()
	dims, place := []int{rows, n, columns}, func(r []*uop.UOp) []*uop.UOp { return []*uop.UOp{r[0], r[2], r[1]} }
	if last {
		dims, place = []int{rows, columns, n}, func(r []*uop.UOp) []*uop.UOp { return r }
	}
	o, o2 := k.param(dtype.F32, true, dims...), k.param(dtype.F32, true, dims...)
	x, y := k.param(dtype.F32, false, dims...), k.param(dtype.F32, false, n)
	r := k.rngs(rows, columns, n, n, columns, n)
	axes, over := r[:3], r[3]
	mean := k.sum(k.load(x, place([]*uop.UOp{r[0], r[4], over})...), r[4])
	parts := []*uop.UOp{k.load(x, place([]*uop.UOp{r[0], r[1], over})...).Mul(k.load(y, over)).Sub(mean)}
	switch m {
	case uop.ArgMax, uop.ArgLast:
		parts = append(parts, over.Cast(dtype.I32))
	case uop.SumExp, uop.Linear:
		parts = append(parts, k.load(y, over))
	}
	s := k.ScanRange(uop.ScanArg{Monoid: m, Parts: len(parts)}, parts, over, r[2])
	behind := k.sum(k.load(y, r[5]).Less(s.Part(0)).Where(k.load(y, r[5]), s.Part(0)), r[5]).Mul(k.load(y, r[2]))
	for i, v := range []*uop.UOp{behind, s.Part(len(parts) - 1).Cast(dtype.F32)} {
		k.s.Outs = append(k.s.Outs, codegen.Out{Param: []int{o, o2}[i], Axes: axes, Index: place(axes), Value: v})
	}
	return k
}

// recurring is a recurrence of two values from three, along the middle or the last axis, of which two results are stored in all steps, or what both end with.
func recurring(rows, columns, n int, last, final bool) *kit {
	k := newKit()
	reg := func(id int, d dtype.DType) *uop.UOp { return k.Make(uop.Reg, d, uop.RegArg{ID: id}) }
	s, c := reg(0, dtype.F32), reg(1, dtype.I32)
	x, first, other := reg(10, dtype.F32), reg(11, dtype.Bool), reg(12, dtype.I32)
	half := first.Where(x, s.Mul(s.Float(0.5)).Add(x))
	step := &uop.Recurrence{State: []*uop.UOp{s, c}, Items: []*uop.UOp{x, first, other}, Next: []*uop.UOp{
		half.Less(s).Where(s.Sub(x), half), c.Add(other).And(k.Int(dtype.I32, 7)).Max(half.Less(c.Cast(dtype.F32)).Cast(dtype.I32))}}
	dims, place := []int{rows, n, columns}, func(r []*uop.UOp) []*uop.UOp { return []*uop.UOp{r[0], r[2], r[1]} }
	if last {
		dims, place = []int{rows, columns, n}, func(r []*uop.UOp) []*uop.UOp { return r }
	}
	to, at := dims, func(r []*uop.UOp) []*uop.UOp { return place(r[:3]) }
	r := k.rngs(rows, columns, n, n)
	var gate *uop.UOp
	if final {
		to, at = []int{rows, columns}, func(r []*uop.UOp) []*uop.UOp { return r[:2] }
		gate = k.Index(n - 2).Less(r[2])
	}
	o, o2 := k.param(dtype.F32, true, to...), k.param(dtype.I32, true, to...)
	p, q := k.param(dtype.F32, false, dims...), k.param(dtype.I32, false, n)
	over := r[3]
	v := k.ScanRange(uop.ScanArg{Parts: 3, Step: step}, []*uop.UOp{k.load(p, place([]*uop.UOp{r[0], r[1], over})...), over.Less(k.Index(1)), k.load(q, over)}, over, r[2])
	for i, v := range []*uop.UOp{v.Part(0).Mul(k.load(p, place([]*uop.UOp{r[0], r[1], k.Index(0)})...)), v.Part(1)} {
		k.s.Outs = append(k.s.Outs, codegen.Out{Param: []int{o, o2}[i], Axes: r[:3], Index: at(r), Value: v, Gate: gate})
	}
	return k
}

// TestAnyDirectivesKeepScans: what Legal allows keeps the values of scans, on every kind of machine, and so do no directives and those
// that are chosen.
func TestAnyDirectivesKeepScans(t *testing.T) {
	t.Parallel()
	for _, m := range tight {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			check := evaluate.New()
			check.Most = 20_000
			for seed := range uint64(30) {
				rnd := rand.New(rand.NewPCG(seed, 6))
				monoid := []uop.Monoid{uop.Sum, uop.Prod, uop.MaxOf, uop.ArgMax, uop.ArgLast, uop.SumExp, uop.Linear}[rnd.IntN(7)]
				k := running(monoid, 1+rnd.IntN(9), 1+rnd.IntN(20), 1+rnd.IntN(40), rnd.IntN(2) == 0)
				if rnd.IntN(3) == 0 {
					k = recurring(1+rnd.IntN(9), 1+rnd.IntN(20), 2+rnd.IntN(40), rnd.IntN(2) == 0, rnd.IntN(2) == 0)
				}
				to := m.t()
				for _, s := range lower.Nests(k.s, to) {
					for _, directives := range [][]codegen.Directive{nil, model.Choose(s, to), anyDirectives(rnd, s, to), anyDirectives(rnd, s, to)} {
						to.Check = check.Kernel
						_, err := lower.Lower(s, directives, to)
						if lacks := new(legal.Unsupported); !errors.As(err, &lacks) {
							assert.NoError(t, err, fmt.Sprintf("seed %d, %v", seed, monoid))
						}
						to.Check = nil
					}
				}
			}
			t.Logf("%d kernels, %d forms, %d too large", check.Kernels.Load(), check.Forms.Load(), check.TooLarge.Load())
			assert.Greater(t, check.Forms.Load(), int64(200))
		})
	}
}

// What would take the elements of a scan in another order, or twice, is refused.
func TestScansGoInOrder(t *testing.T) {
	t.Parallel()
	k := running(uop.Sum, 4, 8, 16, true)
	for _, text := range []string{
		"vector a2", "tile a2", "thread a2", "split a2 4", "fuse a1 a2", "order a2 a0 a1", "order a0 a2 a1", "stage p2 at root by box",
		"stage p2 at a1 by ranges", "stage r0 at a0 by ranges",
	} {
		directives, err := codegen.ParseDirectives(text)
		require.NoError(t, err)
		require.ErrorContains(t, lower.Legal(k.s, directives, target()), "scan", text)
	}
	directives, err := codegen.ParseDirectives("split a1 4; fuse a0 a1.0; thread a0+a1.0; tile a1.1; order a0+a1.0 a1.1 a2")
	require.NoError(t, err)
	require.NoError(t, lower.Legal(k.s, directives, target()))
}

// counted puts elements of rows where a count by key says: next to those before them of the same key, from a place that a table gives for each
// row and key. The last output is the count itself.
func counted(rows, n, keys int) *kit {
	k := newKit()
	placed, count := k.param(dtype.I32, true, rows*n), k.param(dtype.I32, true, rows, n)
	x, first := k.param(dtype.I32, false, rows, n), k.param(dtype.I32, false, rows, keys)
	r := k.rngs(rows, n, n)
	key := func(i *uop.UOp) *uop.UOp {
		return k.load(x, r[0], i).And(k.Int(dtype.I32, keys-1)).Cast(dtype.Index)
	}
	one := k.Int(dtype.I32, 1)
	s := k.ScanRange(uop.ScanArg{Monoid: uop.Sum, Parts: 1, Keys: keys}, []*uop.UOp{one}, r[2], r[1], key(r[2]))
	at := k.load(first, r[0], key(r[1])).Add(s).Cast(dtype.Index)
	inside := k.Index(-1).Less(at).And(at.Less(k.Index(rows * n)))
	k.s.Outs = []codegen.Out{
		{Param: placed, Axes: r[:2], Index: []*uop.UOp{at}, Gate: inside, Once: true, Value: k.load(x, r[0], r[1])},
		{Param: count, Axes: r[:2], Index: r[:2], Value: s},
	}
	return k
}

// TestAnyDirectivesKeepCounts: what Legal allows keeps counts by key, and what is put where they say, on every kind of machine.
func TestAnyDirectivesKeepCounts(t *testing.T) {
	t.Parallel()
	for _, m := range tight {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			check := evaluate.New()
			for seed := range uint64(20) {
				rnd := rand.New(rand.NewPCG(seed, 8))
				k := counted(1+rnd.IntN(9), 1+rnd.IntN(40), 1<<(1+rnd.IntN(4)))
				to := m.t()
				for _, directives := range [][]codegen.Directive{nil, model.Choose(k.s, to), anyDirectives(rnd, k.s, to)} {
					to.Check = check.Kernel
					_, err := lower.Lower(k.s, directives, to)
					assert.NoError(t, err, fmt.Sprintf("seed %d", seed))
					to.Check = nil
				}
			}
			assert.Greater(t, check.Forms.Load(), int64(400))
			assert.Zero(t, check.TooLarge.Load())
		})
	}
}

// Accumulators by key are those of one row: lanes and registers of several are refused.
func TestCountsHaveOneRow(t *testing.T) {
	t.Parallel()
	k := counted(8, 16, 4)
	for _, to := range tight[:4] {
		for _, verb := range []string{"vector a0", "tile a0", "vector a1"} {
			d, err := codegen.ParseDirectives(verb)
			require.NoError(t, err)
			assert.Error(t, lower.Legal(k.s, d, to.t()), verb)
		}
	}
}

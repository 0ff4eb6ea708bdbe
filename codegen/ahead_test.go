package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
)

// fewRows are products of batches of m rows with a matrix of their own each, and what follows on them.
func fewRows(batch, m, kk, n int) *kit {
	k := newKit()
	o, x := k.param(dtype.F32, true, batch, m, n), k.param(dtype.F32, false, batch, m, kk)
	w, b := k.param(dtype.F32, false, batch, kk, n), k.param(dtype.F32, false, n)
	a := k.rngs(batch, m, n, kk)
	y := k.sum(k.load(x, a[0], a[1], a[3]).Mul(k.load(w, a[0], a[3], a[2])), a[3]).Add(k.load(b, a[2]))
	k.out(o, a[:3], y.Max(y.Int(0)))
	return k
}

// Matrices that are read once, a row from another page each, are read some rows at a time, whatever the sizes; where caches hold them, or
// where a machine does not say that it reads ahead, they are not.
func TestFewRowsReadAhead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	var jobs []*job
	var want [][]array
	for machine, sizes := range map[c.Machine][][4]int{
		{VectorBytes: 16, L1: 32 << 10, L2: 64 << 10}: {{1, 1, 64, 1130}, {1, 1, 41, 1201}, {1, 2, 48, 1024}, {1, 8, 37, 1300}, {3, 1, 33, 1300}, {2, 5, 40, 1177}},
		{VectorBytes: 16, L1: 32 << 10, L2: 2 << 10}:  {{1, 16, 40, 1130}}, // of more rows what no cache holds
		{VectorBytes: 64, L1: 32 << 10, L2: 64 << 10}: {{1, 2, 33, 2101}},
		{VectorBytes: 64, L1: 32 << 10, L2: 16 << 10}: {{1, 1, 64, 1700}, {1, 2, 48, 2333}}, // in longer shares
	} {
		for _, v := range sizes {
			k := fewRows(v[0], v[1], v[2], v[3])
			choose := func(change func(t *codegen.Target)) ([]codegen.Directive, string) {
				target := c.Target(machine)
				change(target)
				d := model.Choose(k.s, target)
				return d, codegen.DirectivesString(d)
			}
			directives, text := choose(func(*codegen.Target) {})
			require.Contains(t, text, "carry r0 in scratch", fmt.Sprint(v))
			require.Contains(t, text, "thread", fmt.Sprint(v))
			_, text = choose(func(t *codegen.Target) { t.L2 = 8 << 20 }) // a cache holds it
			require.NotContains(t, text, "carry", fmt.Sprint(v))
			if v[1] > 8 {
				_, text = choose(func(t *codegen.Target) { t.L2 = 64 << 10 })
			} else {
				_, text = choose(func(t *codegen.Target) { t.ReadsAhead = 0 })
			}
			require.NotContains(t, text, "carry", fmt.Sprint(v))
			bufs := k.random(rnd)
			w := clone(bufs)
			define(t, k.s, w)
			jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, w)
		}
	}
	check(t, "few rows", jobs, want, 1e-5)
}

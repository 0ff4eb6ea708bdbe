package codegen_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// What is reduced for each column and used in each of its rows is reduced once: its loop does not lie inside that over the rows.
func TestReductionsOfLanesAreComputedOnce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(20, 26))
	var jobs []*job
	var want [][]array
	for _, columns := range []int{4, 8, 48, 200, 512} {
		k := newKit()
		const rows = 96
		o, x := k.param(dtype.F32, true, rows, columns), k.param(dtype.F32, false, rows, columns)
		a := k.rngs(columns, rows, rows)
		value := k.load(x, a[1], a[0]).Sub(k.sum(k.load(x, a[2], a[0]), a[2]))
		k.s.Outs = append(k.s.Outs, codegen.Out{Param: o, Axes: a[:2], Index: []*uop.UOp{a[1], a[0]}, Value: value})
		directives := codegen.Choose(k.s, target())
		p, err := codegen.Lower(k.s, directives, target())
		require.NoError(t, err)
		require.LessOrEqual(t, deepest(p.Body, rows), 1, "%d columns: %v", columns, directives)
		bufs := k.random(rnd)
		expected := clone(bufs)
		define(t, k.s, expected)
		jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
	}
	check(t, "sums of columns", jobs, want, 1e-4)
}

// deepest is how many loops of so many iterations lie inside each other.
func deepest(stmts []codegen.Stmt, n int) (most int) {
	for _, s := range stmts {
		if l, ok := s.(*codegen.Loop); ok {
			d := deepest(l.Body, n)
			if l.Range.Arg().(uop.RangeArg).N == n {
				d++
			}
			most = max(most, d)
		}
	}
	return most
}

package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
)

// A long copy of steps of a sum of which the last ones do not exist is a loop of vectors: written out it was a statement for each step and row,
// 60,000 for the weights of a linear layer of 12,544 inputs, which took the C compiler more than a minute.
func TestLongGuardedCopiesAreLoops(t *testing.T) {
	rnd := rand.New(rand.NewPCG(4, 12))
	var jobs []*job
	var want [][]array
	for _, n := range []int{131, 136, 144, 290, 299, 300} { // of 301: the last copy has 39, 29, 13, 11, 2 or 1
		k := newKit()
		const rows, columns, steps = 7, 16, 301
		o, x, w := k.param(dtype.F32, true, rows, columns), k.param(dtype.F32, false, rows, steps), k.param(dtype.F32, false, columns, steps)
		a := k.rngs(rows, columns, steps)
		k.out(o, a[:2], k.sum(k.load(x, a[0], a[2]).Mul(k.load(w, a[1], a[2])), a[2]))
		directives, err := codegen.ParseDirectives(fmt.Sprintf("split a0 4 shift; tile a0.1; vector a1; split r0.a %d guard; order r0.a.0 a0.0 a0.1 a1; "+
			"stage p2 at r0.a.0 by ranges layout r0.a.1,a1 tile a1 vector r0.a.1; carry r0 in scratch layout a0.0,a0.1,a1", n))
		require.NoError(t, err)
		_, text := lowered(t, k.s, directives)
		require.Less(t, strings.Count(text.Source, "= p2["), 2*columns, "%d steps", n)
		bufs := k.random(rnd)
		expected := clone(bufs)
		define(t, k.s, expected)
		jobs, want = append(jobs, &job{k.s, directives, bufs}), append(want, expected)
	}
	fenced(t, jobs, want)
}

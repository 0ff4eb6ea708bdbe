package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
)

// Parts of a matrix that threads go through row by row give the sums that the same kernel gives without directives: for one row and some,
// widths that no vector divides, narrow types, sums that the first cache holds and others.
func TestRowsOfAMatrixAreReadWhole(t *testing.T) {
	dev := openCPU(t, 2)
	for _, c := range []struct {
		d                       dtype.DType
		parts, steps, rows, row int
		want                    string
	}{
		{dtype.F32, 6, 33, 1, 192, "thread a0; order a0 r0.a a1.0 a1.1; carry r0"},
		{dtype.F32, 5, 40, 3, 203, "shift; vector a2.1; tile a1; "},
		{dtype.F32, 4, 37, 4, 1029, "split r0.a 8 guard"},
		{dtype.F16, 7, 24, 2, 150, "order a0 r0.a a2.0"},
		{dtype.F64, 5, 24, 4, 90, "order a0 r0.a a2.0"},
		{dtype.F32, 3, 64, 1, 203, "none"}, // too few parts for threads
		{dtype.F32, 5, 40, 5, 203, "none"}, // sums are more than what is read
		{dtype.F32, 8, 32, 1, 60, "none"},  // a row is a block of lanes
	} {
		t.Run(fmt.Sprint(c.d, c.parts, c.steps, c.rows, c.row), func(t *testing.T) {
			sums := dtype.F32
			if c.d == dtype.F64 {
				sums = c.d
			}
			k := newKit()
			o, x, w := k.param(sums, true, c.parts, c.rows, c.row), k.param(sums, false, c.rows, c.parts, c.steps), k.param(c.d, false, c.parts, c.steps, c.row)
			a := k.rngs(c.parts, c.rows, c.row, c.steps)
			k.out(o, a[:3], k.sum(k.load(x, a[1], a[0], a[3]).Mul(k.load(w, a[0], a[3], a[2]).Cast(sums)), a[3]))
			target := *target()
			target.WholeRows = 1 << 14
			directives := model.Choose(k.s, &target)
			if text := codegen.DirectivesString(directives); c.want != "none" {
				require.Contains(t, text, c.want)
			} else {
				require.NotContains(t, text, "order a0 r0.a")
			}
			bufs := k.random(rand.New(rand.NewPCG(8, 9)))
			got, want := &job{k.s, directives, bufs}, &job{k.s, nil, clone(bufs)}
			run(t, dev, []*job{got, want})
			require.Empty(t, differ(sums, got.bufs[o], want.bufs[o], 1e-4))
		})
	}
}

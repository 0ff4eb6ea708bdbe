package codegen_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
)

// A product whose operands have a page for each step of the reduction goes in blocks of steps, whether they divide the
// reduction or not: compared with the same kernel without directives.
func TestOperandApart(t *testing.T) {
	dev := openCPU(t, 2)
	for _, n := range []int{1029, 1280} {
		k := newKit()
		o, x, y := k.param(dtype.F32, true, 43, 35), k.param(dtype.F32, false, n, 1024), k.param(dtype.F32, false, n, 1024)
		a := k.rngs(43, 35, n)
		k.out(o, a[:2], k.sum(k.load(x, a[2], a[0]).Mul(k.load(y, a[2], a[1])), a[2]))
		directives := model.Choose(k.s, target())
		require.Contains(t, codegen.DirectivesString(directives), "carry r0")
		bufs := k.random(rand.New(rand.NewPCG(8, 9)))
		got, want := &job{k.s, directives, bufs}, &job{k.s, nil, clone(bufs)}
		run(t, dev, []*job{got, want})
		require.Empty(t, differ(dtype.F32, got.bufs[o], want.bufs[o], 1e-4))
	}
}

// Few results of a long reduction, as the gradients of a small layer's weights, are shared among threads too.
func TestFewResultsOfALongReductionAreShared(t *testing.T) {
	dev := openCPU(t, 2)
	for _, c := range []struct{ n, rows, columns, width int }{{5000, 70, 90, 90}, {3000, 43, 35, 200}} {
		k := newKit()
		o, x, y := k.param(dtype.F32, true, c.rows, c.columns), k.param(dtype.F32, false, c.n, c.width), k.param(dtype.F32, false, c.n, c.width)
		a := k.rngs(c.rows, c.columns, c.n)
		k.out(o, a[:2], k.sum(k.load(x, a[2], a[0]).Mul(k.load(y, a[2], a[1])), a[2]))
		directives := model.Choose(k.s, target())
		require.Contains(t, codegen.DirectivesString(directives), "carry r0")
		bufs := k.random(rand.New(rand.NewPCG(8, 9)))
		p, err := lower.Lower(k.s, directives, target())
		require.NoError(t, err)
		require.GreaterOrEqual(t, p.Threads, 4, codegen.DirectivesString(directives))
		got, want := &job{k.s, directives, bufs}, &job{k.s, nil, clone(bufs)}
		run(t, dev, []*job{got, want})
		require.Empty(t, differ(dtype.F32, got.bufs[o], want.bufs[o], 1e-4))
	}
}

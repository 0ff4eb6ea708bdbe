package codegen_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/dtype"
)

// Where lines come slowly from the second cache, the weights of a small picture's convolution stay in the first one for a part of the
// steps at a time, and results are carried from part to part; else so they do in the second one, where that does not hold what a block of
// lanes reads. Compared with the same kernel without directives.
func TestWeightsStayInACache(t *testing.T) {
	dev := openCPU(t, 2)
	for _, small := range []func(t *codegen.Target){
		func(t *codegen.Target) { t.LineCycles, t.SplitLoads, t.L1 = 4, true, 32<<10 },
		func(t *codegen.Target) { t.LineCycles, t.L1, t.L2 = 0, 8<<10, 96<<10 },
	} {
		const c = 37
		k := newKit()
		o, x, w := k.param(dtype.F32, true, 48, 6, 6), k.param(dtype.F32, false, c, 8, 8), k.param(dtype.F32, false, c, 3, 3, 48)
		a := k.rngs(48, 6, 6, c, 3, 3)
		k.out(o, a[:3], k.sum(k.load(w, a[3], a[4], a[5], a[0]).Mul(k.load(x, a[3], a[1].Add(a[4]), a[2].Add(a[5]))), a[3:]...))
		slow := *target()
		small(&slow)
		directives := model.Choose(k.s, &slow)
		require.Contains(t, codegen.DirectivesString(directives), "carry r0")
		bufs := k.random(rand.New(rand.NewPCG(8, 9)))
		got, want := &job{k.s, directives, bufs}, &job{k.s, nil, clone(bufs)}
		run(t, dev, []*job{got, want})
		require.Empty(t, differ(dtype.F32, got.bufs[o], want.bufs[o], 1e-4))
	}
}

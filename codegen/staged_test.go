package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// The gradient of a batch norm to its input: out[n,c,h,w] = g + mean over n, h, w of g for the channel. The scheduler stages the sum in
// its consumer and lists the channel first, because the sum is to be computed once a channel: directives must not put (by
// threads, fusing or order) an axis around it that it does not depend on, and lanes belong on the contiguous axes.
func TestStagedReductionIsComputedOnce(t *testing.T) {
	k := newKit()
	out := k.param(dtype.F32, true, 64, 32, 20, 20)
	in := k.param(dtype.F32, false, 64, 32, 20, 20)
	a := k.rngs(64, 32, 20, 20)
	r := k.rngs(64, 20, 20)
	sum := k.sum(k.load(in, r[0], a[1], r[1], r[2]), r...)
	k.s.Outs = []codegen.Out{{Param: out, Axes: []*uop.UOp{a[1], a[0], a[2], a[3]}, Index: a, Value: k.load(in, a...).Add(sum)}}
	checkStaged(t, k, 2*64*32*20*20)

	// the same where the gradient comes from a 2×2 max pool: g = where(mask, pooled, 0)
	k = newKit()
	out = k.param(dtype.F32, true, 64, 32, 20, 20)
	mask, pooled := k.param(dtype.Bool, false, 64, 32, 20, 20), k.param(dtype.F32, false, 64, 32, 10, 10)
	x := k.param(dtype.F32, false, 64, 32, 20, 20)
	a, r = k.rngs(64, 32, 20, 20), k.rngs(64, 20, 20)
	two := k.Table.Index(2)
	g := func(n, c, h, w *uop.UOp) *uop.UOp {
		v := k.load(pooled, n, c, h.IDiv(two), w.IDiv(two))
		return k.load(mask, n, c, h, w).Where(v, v.Int(0)).Mul(k.load(x, n, c, h, w))
	}
	sum = k.sum(g(r[0], a[1], r[1], r[2]), r...)
	k.s.Outs = []codegen.Out{{Param: out, Axes: []*uop.UOp{a[1], a[0], a[2], a[3]}, Index: a, Value: g(a[0], a[1], a[2], a[3]).Add(sum)}}
	checkStaged(t, k, 4*64*32*20*20)
}

func checkStaged(t *testing.T, k *kit, once int64) {
	directives := model.Choose(k.s, target())
	p, err := lower.Lower(k.s, directives, target())
	require.NoError(t, err)
	assert.LessOrEqual(t, p.Flops, 2*once, "the sum is recomputed: %s", codegen.DirectivesString(directives))
	assert.Equal(t, 32, p.Threads, "threads share the channels: %s", codegen.DirectivesString(directives))
	assert.NotContains(t, codegen.DirectivesString(directives), "vector a0", "lanes over channels load 400 apart: %s", codegen.DirectivesString(directives))
}

// Mean and variance of each channel of [n,c,h,w]: both sums run over n, h, w, of which w is contiguous, in ranges of
// their own or in the same ones. Neither may stay scalar, though a row of 20 is not a whole number of lanes, and
// both outputs use one sum.
func TestChannelSumsUseLanes(t *testing.T) {
	for _, same := range []bool{false, true} {
		k := newKit()
		mean, variance := k.param(dtype.F32, true, 32), k.param(dtype.F32, true, 32)
		in := k.param(dtype.F32, false, 64, 32, 20, 20)
		a := k.rngs(32)
		r := k.rngs(64, 20, 20)
		x := k.load(in, r[0], a[0], r[1], r[2])
		m := k.sum(x, r...).Mul(x.Float(1.0 / (64 * 400)))
		if !same {
			r = k.rngs(64, 20, 20)
			x = k.load(in, r[0], a[0], r[1], r[2])
		}
		d := x.Sub(m)
		k.out(mean, a, m)
		k.out(variance, a, k.sum(d.Mul(d), r...))
		directives := model.Choose(k.s, target())
		p, err := lower.Lower(k.s, directives, target())
		require.NoError(t, err)
		text := codegen.DirectivesString(directives)
		assert.Contains(t, text, "vector r0", text)
		if !same {
			assert.Contains(t, text, "vector r1", text)
		}
		assert.LessOrEqual(t, p.Flops, int64(4.1*64*32*20*20), text)
	}
}

// Invocations fill memory together with values, not with reductions: what those need must be open.
func TestSharedStageRefusesOpenReductions(t *testing.T) {
	t.Parallel()
	directives, err := codegen.ParseDirectives("split a0 5 peel; stage r0 at root by ranges layout a0.0,a0.1,a1 workgroup")
	require.NoError(t, err)
	err = lower.Legal(productSpec(7, 3, 4).s, directives, wgsl.Target(wgsl.Machine{}))
	require.ErrorContains(t, err, "loops that are not open")
}

// A kernel says how many elements each call stages before the loop that threads share.
func TestStagedBeforeThreads(t *testing.T) {
	for _, test := range []struct {
		directives string
		before     int64
	}{
		{"thread a0; stage p2 at root by ranges layout r0.a,a1", 11 * 40},
		{"thread a0; stage p2 at a0 by ranges layout r0.a,a1; stage p1 at root by ranges layout a0,r0.a", 7 * 11},
		{"thread a0; stage p2 at a0 by ranges layout r0.a,a1", 0},
		{"stage p2 at root by ranges layout r0.a,a1", 0},
	} {
		directives, err := codegen.ParseDirectives(test.directives)
		require.NoError(t, err)
		p, k := lowered(t, productSpec(7, 40, 11).s, directives)
		require.Equal(t, test.before, p.Before, test.directives)
		require.Equal(t, test.before, k.Before, test.directives)
	}
}

package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
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

// Kernels that workgroups share agree with plain ones, whatever the shape.
func TestWorkgroups(t *testing.T) {
	dev, target := gridDevice(t)
	hard, plain := *target, *target
	hard.CPUBacked, plain.NoOpt = false, true
	rnd := rand.New(rand.NewPCG(11, 12))
	between := func(lo, hi int) int { return lo + rnd.IntN(hi-lo+1) }
	kinds := []struct {
		name, uses string
		spec       func() *kit
	}{
		{"product", "stage", func() *kit { return productSpec(between(16, 150), between(16, 150), between(32, 120)) }},
		{"product by four", "stage", func() *kit { return productSpec(64*between(1, 2), 64*between(1, 3), 16*between(2, 40)) }},
		{"product of bfloat16", "stage", func() *kit { return narrowProduct(256, 64*between(8, 9), between(32, 60)) }},
		{"convolution by places", "at r0.c", func() *kit { return windows(between(2, 4), between(8, 20), 32, between(8, 12), between(8, 12), 3, 1) }},
		{"gradient of windows", "stage p2", func() *kit {
			return windowGradient(between(2, 4), between(16, 20), between(8, 20), between(8, 12), between(8, 12))
		}},
		{"convolution", "stage", func() *kit {
			return windows(between(2, 4), between(8, 20), between(8, 12), between(8, 12), between(5, 9), between(2, 3), between(1, 2))
		}},
		{"softmax", "lane", func() *kit { return softmaxSpec(between(1, 20), between(64, 700)) }},
		{"attention", "thread", func() *kit {
			return attention(between(1, 3), between(32, 80), between(3, 20), between(1, 70), rnd.IntN(2) == 0)
		}},
		{"in place", "lane", func() *kit { return centred(between(2, 9), between(3, 9), between(30, 90)) }},
		{"sum", "lane", func() *kit { return columnSum(between(2, 30), between(3, 9), between(30, 90)) }},
		{"argmax", "lane", func() *kit {
			k := newKit()
			n, m := between(1, 9), between(70, 900)
			o, x := k.param(dtype.I32, true, n), k.param(dtype.F32, false, n, m)
			a := k.rngs(n, m)
			r := k.ReduceRanges(uop.ArgMax, []*uop.UOp{k.load(x, a[0], a[1]), a[1].Cast(dtype.I32)}, a[1:])
			k.out(o, a[:1], r.Part(1))
			return k
		}},
	}
	for _, c := range kinds {
		t.Run(c.name, func(t *testing.T) {
			for range 4 {
				k := c.spec()
				var data [][]byte
				for i, a := range k.random(rnd) {
					data = append(data, pack(k.s.Params[i].DType, a))
				}
				got := prepareGrid(t, dev, &hard, k.s, data)
				want := prepareGrid(t, dev, &plain, k.s, data)
				got.play(t)
				want.play(t)
				d := k.s.Params[0].DType
				why := fmt.Sprintf("%v, directives %s\n%s", k.s.Params, got.k.Directives, got.k.Source)
				assert.Contains(t, got.k.Directives, c.uses)
				require.Empty(t, differ(d, unpack(d, got.read(t, 0)), unpack(d, want.read(t, 0)), 1e-4), why)
			}
		})
	}
}

// narrowProduct is a product of matrices of bfloat16.
func narrowProduct(m, n, kk int) *kit {
	k := newKit()
	o, x, y := k.param(dtype.BF16, true, m, n), k.param(dtype.BF16, false, m, kk), k.param(dtype.BF16, false, kk, n)
	a := k.rngs(m, n, kk)
	k.out(o, a[:2], k.sum(k.load(x, a[0], a[2]).Cast(dtype.F32).Mul(k.load(y, a[2], a[1]).Cast(dtype.F32)), a[2]).Cast(dtype.BF16))
	return k
}

// windowGradient is that of the input of a convolution 3×3 with padding 1: what lies outside is no term of the sum.
func windowGradient(b, co, ci, h, w int) *kit {
	k := newKit()
	o, g, y := k.param(dtype.F32, true, b, ci, h, w), k.param(dtype.F32, false, b, co, h, w), k.param(dtype.F32, false, co, ci, 3, 3)
	a := k.rngs(b, ci, h, w, co, 3, 3)
	gh, gw := a[2].Sub(a[5]).Add(k.Index(1)), a[3].Sub(a[6]).Add(k.Index(1))
	gate := k.inside(gh, h).And(k.inside(gw, w))
	k.out(o, a[:4], k.sum(k.loadIf(g, gate, a[0], a[4], gh, gw).Mul(k.loadIf(y, gate, a[4], a[1], a[5], a[6])), a[4:]...))
	return k
}

// windows is a convolution with padding 1.
func windows(b, co, ci, h, w, n, stride int) *kit {
	k := newKit()
	oh, ow := (h+2-n)/stride+1, (w+2-n)/stride+1
	o, x, y := k.param(dtype.F32, true, b, co, oh, ow), k.param(dtype.F32, false, b, ci, h, w), k.param(dtype.F32, false, co, ci, n, n)
	a := k.rngs(b, co, oh, ow, ci, n, n)
	s := k.Index(stride)
	ih, iw := a[2].Mul(s).Add(a[5]).Add(k.Index(-1)), a[3].Mul(s).Add(a[6]).Add(k.Index(-1))
	in := k.loadIf(x, k.inside(ih, h).And(k.inside(iw, w)), a[0], a[4], ih, iw)
	k.out(o, a[:4], k.sum(in.Mul(k.load(y, a[1], a[4], a[5], a[6])), a[4:]...))
	return k
}

// centred takes the mean of another array's row off each row of an array and divides by its norm, in place.
func centred(rows, n, m int) *kit {
	k := newKit()
	x, y := k.param(dtype.F32, true, rows, n, m), k.param(dtype.F32, false, rows, n, m)
	a := k.rngs(rows, n, m, n, m, n, m)
	mean := k.sum(k.load(y, a[0], a[3], a[4]), a[3:5]...)
	mean = mean.Mul(mean.Float(1 / float64(n*m)))
	d := k.load(y, a[0], a[5], a[6]).Sub(mean)
	norm := k.sum(d.Mul(d), a[5:]...).Sqrt()
	k.out(x, a[:3], k.load(x, a[0], a[1], a[2]).Sub(mean).Div(norm))
	return k
}

// columnSum sums over all but the middle axis.
func columnSum(b, c, n int) *kit {
	k := newKit()
	o, x := k.param(dtype.F32, true, c), k.param(dtype.F32, false, b, c, n)
	a := k.rngs(c, b, n)
	k.out(o, a[:1], k.sum(k.load(x, a[1], a[0], a[2]), a[1:]...))
	return k
}

// A workgroup is not larger than the device allows, its memory included.
func TestWorkgroupLimits(t *testing.T) {
	small := wgsl.Machine{}
	small.Limits.Invocations, small.Limits.Shared = 64, 2048
	for _, m := range []wgsl.Machine{{}, small} {
		target := wgsl.Target(m)
		for _, k := range []*kit{productSpec(512, 512, 512), softmaxSpec(64, 4096)} {
			p, err := lower.Lower(k.s, model.Choose(k.s, target), target)
			require.NoError(t, err)
			assert.LessOrEqual(t, codegen.GroupSize(p.Body), target.Limits.Invocations, p.Directives)
			kernel, err := wgsl.Render(p)
			require.NoError(t, err)
			if m.Limits.Invocations == 0 {
				assert.Equal(t, 256, codegen.GroupSize(p.Body), p.Directives)
				assert.Positive(t, strings.Count(kernel.Spelled().Source, "workgroupBarrier();"))
			}
		}
	}
	k := productSpec(64, 64, 64)
	directives, err := codegen.ParseDirectives("split a0 8; split a1 8; grid a0.0; grid a1.0; lane a0.1; lane a1.1; order a0.0 a1.0 a0.1 a1.1")
	require.NoError(t, err)
	assert.NoError(t, lower.Legal(k.s, directives, wgsl.Target(small)))
	small.Limits.Invocations = 32
	assert.ErrorContains(t, lower.Legal(k.s, directives, wgsl.Target(small)), "64 invocations")
}

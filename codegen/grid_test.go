package codegen_test

import (
	"encoding/binary"
	"math"
	"slices"
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

// llvmpipe stops an invocation after 65,535 iterations of all its loops, without a word. Here one output needs
// many more: of one reduction, of nested ones, of merged elements.
func TestManyIterations(t *testing.T) {
	dev, target := gridDevice(t)
	if target.Limits.Iterations == 0 {
		target.Limits.Iterations = 65535
	}
	f32 := func(n int, f func(i int) float32) []byte {
		out := make([]byte, 0, 4*n)
		for i := range n {
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f(i)))
		}
		return out
	}
	run := func(k *kit, bufs [][]byte) []float32 {
		b := prepareGrid(t, dev, target, k.s, bufs)
		b.play(t)
		raw := b.read(t, 0)
		out := make([]float32, len(raw)/4)
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
		}
		return out
	}
	t.Run("sum", func(t *testing.T) {
		const n = 300_001
		k := newKit()
		o, x := k.param(dtype.F32, true, 1), k.param(dtype.F32, false, n)
		a := k.rngs(n)
		k.s.Outs = []codegen.Out{{Param: o, Index: []*uop.UOp{k.Index(0)}, Value: k.sum(k.load(x, a[0]), a[0])}}
		got := run(k, [][]byte{make([]byte, 4), f32(n, func(i int) float32 { return float32(i % 2) })})
		assert.Equal(t, float32(n/2), got[0]) // wherever it stops too early, too little comes of it
	})
	t.Run("nested", func(t *testing.T) {
		const n, m = 700, 300
		k := newKit()
		o, x := k.param(dtype.F32, true, 2), k.param(dtype.F32, false, n, m)
		a := k.rngs(2, n, m)
		inner := k.sum(k.load(x, a[1], a[2]), a[2])
		k.out(o, a[:1], k.sum(inner.Mul(inner).Mul(a[0].Cast(dtype.F32)), a[1]))
		got := run(k, [][]byte{make([]byte, 8), f32(n*m, func(i int) float32 { return float32(i % 2) })})
		assert.Equal(t, []float32{0, n * 150 * 150}, got)
	})
	t.Run("merge", func(t *testing.T) {
		const n = 150_000
		k := newKit()
		o, x := k.param(dtype.F32, true, 3, 2), k.param(dtype.I32, false, n)
		a := k.rngs(3, 2, n, 2)
		k.out(o, a[:2], k.ConstOf(dtype.F32, 0))
		sum := uop.Sum
		i := k.load(x, a[2]).Cast(dtype.Index)
		k.s.Outs = append(k.s.Outs, codegen.Out{Param: o, Axes: a[2:4], Index: []*uop.UOp{i, a[3]}, Gate: k.inside(i, 3),
			Value: a[3].Add(k.Index(1)).Cast(dtype.F32), Merge: &sum})
		at := make([]byte, 0, 4*n)
		for i := range n {
			at = binary.LittleEndian.AppendUint32(at, uint32(i%4))
		}
		got := run(k, [][]byte{make([]byte, 24), at})
		assert.Equal(t, []float32{n / 4, n / 2, n / 4, n / 2, n / 4, n / 2}, got)
	})
	t.Run("refused", func(t *testing.T) {
		k := newKit()
		o := k.param(dtype.F32, true, 1)
		a := k.rngs(30_000_000)
		k.s.Outs = []codegen.Out{{Param: o, Index: []*uop.UOp{k.Index(0)}, Value: k.sum(a[0].Cast(dtype.F32).Sqrt(), a[0])}}
		_, err := lower.Lower(k.s, model.Choose(k.s, target), target)
		var many *lower.TooManyIterations
		require.ErrorAs(t, err, &many)
		assert.ErrorContains(t, err, "stops after 65535")
	})
}

// Elements that share a word belong to one invocation, whatever the shape.
func TestWordsHaveOneOwner(t *testing.T) {
	target := wgsl.Target(wgsl.Machine{})
	for _, d := range []dtype.DType{dtype.Bool, dtype.I8, dtype.U16, dtype.F16} {
		for _, shape := range [][]int{{1}, {3}, {4}, {8}, {7, 9}, {5, 8}, {3, 5, 7}, {2, 3, 4}} {
			k := newKit()
			o, x := k.param(d, true, shape...), k.param(d, false, reversed(shape)...)
			a := k.rngs(shape...)
			k.out(o, a, k.load(x, reversed(a)...)) // transposed, so that axes stay apart
			p, err := lower.Lower(k.s, model.Choose(k.s, target), target)
			require.NoError(t, err)
			n := 1
			for _, s := range shape {
				n *= s
			}
			kernel, err := wgsl.Render(p)
			require.NoError(t, err)
			per := 4 / d.Size()
			assert.LessOrEqual(t, int(kernel.Threads), (n+per-1)/per, "%v %v: %s", d, shape, p.Directives)
		}
	}
}

func reversed[T any](list []T) []T {
	out := make([]T, 0, len(list))
	for i := len(list) - 1; i >= 0; i-- {
		out = append(out, list[i])
	}
	return out
}

// Reductions of which each needs the value of the one before are computed one after the other: the work of all is their sum,
// and so is the time that choosing takes (it once doubled with each of them).
func TestReductionsInTurn(t *testing.T) {
	k := newKit()
	o, x := k.param(dtype.F32, true, 10), k.param(dtype.F32, false, 192)
	i, v := k.rng(10), k.ConstOf(dtype.F32, uop.ValueOf(dtype.F32, 1))
	for range 60 {
		j := k.rng(192)
		v = k.sum(k.load(x, j).Mul(v), j)
	}
	k.out(o, []*uop.UOp{i}, v.Mul(i.Cast(dtype.F32)))
	for _, m := range []wgsl.Machine{{}, {CPUBacked: true}} {
		target := wgsl.Target(m)
		target.Limits.Iterations = 65535 // five times what they need
		for _, d := range model.Choose(k.s, target) {
			assert.NotEqual(t, codegen.Vectors, d.Verb, "loops are cut for want of iterations")
		}
	}
}

// Copies of a body that stores make their loads first, from memory that the kernel leaves as it is, and add in the order of the loop.
func TestLoadsAhead(t *testing.T) {
	dev, _ := gridDevice(t)
	const n, bins = 1003, 7 // a rest of three
	k := newKit()
	o, x, y := k.param(dtype.F32, true, bins), k.param(dtype.I32, false, n), k.param(dtype.F32, false, n)
	a := k.rngs(bins, n)
	k.out(o, a[:1], k.ConstOf(dtype.F32, 0))
	sum := uop.Sum
	i := k.load(x, a[1]).Cast(dtype.Index)
	k.s.Outs = append(k.s.Outs, codegen.Out{Param: o, Axes: a[1:], Index: []*uop.UOp{i}, Gate: k.inside(i, bins), Value: k.load(y, a[1]), Merge: &sum})
	var at, values []byte
	want := make([]float32, bins)
	for i := range n {
		bin, v := i*i%(bins+1), float32(i)/3
		at = binary.LittleEndian.AppendUint32(at, uint32(bin))
		values = binary.LittleEndian.AppendUint32(values, math.Float32bits(v))
		if bin < bins {
			want[bin] += v
		}
	}
	b := prepareGrid(t, dev, wgsl.Target(wgsl.Machine{}), k.s, [][]byte{make([]byte, 4*bins), at, values})
	b.play(t)
	raw := b.read(t, 0)
	for i, w := range want {
		assert.Equal(t, w, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])), "bin %d", i)
	}
	assert.Contains(t, b.k.Source, "a7 = p1[j1]")
	assert.NotContains(t, b.k.Source, "= p0[j1]")
}

// Where a processor may add products before they are rounded, those that rounding changes are kept from it.
func TestProductsAreRounded(t *testing.T) {
	source := func(m wgsl.Machine, f func(x, y, z *uop.UOp) *uop.UOp) string {
		k := newKit()
		o, x, y, z := k.param(dtype.F32, true, 10), k.param(dtype.F32, false, 10), k.param(dtype.F32, false, 10), k.param(dtype.F32, false, 10)
		i := k.rng(10)
		k.out(o, []*uop.UOp{i}, f(k.load(x, i), k.load(y, i), k.load(z, i)))
		target := wgsl.Target(m)
		p, err := lower.Lower(k.s, model.Choose(k.s, target), target)
		require.NoError(t, err)
		kernel, err := wgsl.Render(p)
		require.NoError(t, err)
		return kernel.Spelled().Source
	}
	products := map[string]func(x, y, z *uop.UOp) *uop.UOp{
		"added":      func(x, y, z *uop.UOp) *uop.UOp { return x.Mul(y).Add(z) },
		"subtracted": func(x, y, z *uop.UOp) *uop.UOp { return z.Add(x.Mul(y).Neg()) },
		"two":        func(x, y, z *uop.UOp) *uop.UOp { return x.Mul(y).Add(y.Mul(z)) },
		"exact":      func(x, y, z *uop.UOp) *uop.UOp { return x.Mul(x.Float(2)).Add(z) },
		"fused":      func(x, y, z *uop.UOp) *uop.UOp { return x.MulAdd(y, z) },
	}
	for name, hidden := range map[string]int{"added": 1, "subtracted": 1, "two": 2, "exact": 0, "fused": 0} {
		assert.Equal(t, hidden, max(0, strings.Count(source(wgsl.Machine{}, products[name]), "hide(")-1), name) // one is the function
		assert.NotContains(t, source(wgsl.Machine{CPUBacked: true}, products[name]), "hide(", name)
	}
}

// Sums over the same loops have them cut once, and loops whose length has no divisor of the wanted size are written out or cut where they leave
// no rest, so that both keep within the iterations of an invocation.
func TestIterationsOfSharedLoops(t *testing.T) {
	target := wgsl.Target(wgsl.Machine{CPUBacked: true})
	target.Limits.Iterations = 65535
	for _, shape := range [][]int{{512, 400}, {512, 20, 20}, {300_007}} {
		k := newKit()
		o, p := k.param(dtype.F32, true, 32), k.param(dtype.F32, true, 32)
		x := k.param(dtype.F32, false, slices.Concat([]int{32}, shape)...)
		a := k.rngs(slices.Concat([]int{32}, shape)...)
		v := k.load(x, a...)
		k.out(o, a[:1], k.sum(v, a[1:]...))
		k.out(p, a[:1], k.sum(v.Mul(v), a[1:]...))
		n, err := lower.Iterations(k.s, model.Choose(k.s, target), target)
		require.NoError(t, err)
		assert.LessOrEqual(t, n, 65535, shape)
	}
}

// A load whose place a reduction in the same body computes waits for it, though the register of the sum was there before.
func TestLoadsBehindReductions(t *testing.T) {
	dev, _ := gridDevice(t)
	const n, bins = 40, 5
	k := newKit()
	o, x, at := k.param(dtype.F32, true, bins), k.param(dtype.I32, false, 64), k.param(dtype.I32, false, n, 3)
	a := k.rngs(bins, n, 3)
	k.out(o, a[:1], k.ConstOf(dtype.F32, 0))
	sum := uop.Sum
	place := k.sum(k.load(at, a[1], a[2]), a[2]).And(k.ConstOf(dtype.I32, uop.ValueOf(dtype.I32, 63))).Cast(dtype.Index) // which needs no condition
	i := k.load(x, place).Cast(dtype.Index)
	k.s.Outs = append(k.s.Outs, codegen.Out{Param: o, Axes: a[1:2], Index: []*uop.UOp{i}, Gate: k.inside(i, bins), Value: a[1].Cast(dtype.F32), Merge: &sum})
	var xs, ats []byte
	for i := range 64 {
		xs = binary.LittleEndian.AppendUint32(xs, uint32(i%7))
	}
	want := make([]float32, bins)
	for i := range n {
		place := 0
		for j := range 3 {
			ats, place = binary.LittleEndian.AppendUint32(ats, uint32(i+j)), place+i+j
		}
		if bin := place % 64 % 7; bin < bins {
			want[bin] += float32(i)
		}
	}
	b := prepareGrid(t, dev, wgsl.Target(wgsl.Machine{}), k.s, [][]byte{make([]byte, 4*bins), xs, ats})
	b.play(t)
	raw := b.read(t, 0)
	for i, w := range want {
		assert.Equal(t, w, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])), "bin %d", i)
	}
}

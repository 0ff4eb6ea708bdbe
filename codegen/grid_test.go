package codegen_test

import (
	"encoding/binary"
	"math"
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

package variables

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// caches are the keys and values of attention, with room for all positions.
type caches struct{ k, v *T }

// attend writes the row of position at and attends to it and all before: q, k, v are [heads, d].
func (c caches) attend(at any, upTo any, q, k, v *T) *T {
	c.k.SetAt(k, at)
	c.v.SetAt(v, at)
	keys := c.k.Narrow(0, 0, upTo).Permute(1, 0, 2)   // [heads, n, d]
	values := c.v.Narrow(0, 0, upTo).Permute(1, 0, 2) // [heads, n, d]
	return tensor.ScaledDotProduct(q.Unsqueeze(1), keys, values, tensor.Attention{}).Squeeze(1)
}

// One captured function decodes at every length, with one plan.
func TestDecodeAtEveryLength(t *testing.T) {
	onAll(t, func(b *bench) {
		const heads, d = 2, 8
		length := 512
		if b.slow {
			length = 40
		}
		n := tensor.NewVariable("n", 0, length-1)
		c := caches{b.own(length, heads, d), b.own(length, heads, d)}
		f := b.capture(func(in ...*T) []*T {
			return []*T{c.attend(n, n.Plus(1), in[0], in[1], in[2])}
		}, b.numbers(0, heads, d), b.numbers(1, heads, d), b.numbers(2, heads, d))
		ks, vs := [][]float32{}, [][]float32{}
		compiled := 0
		for i := range length {
			q, k, v := b.numbers(3*i, heads, d), b.numbers(3*i+1, heads, d), b.numbers(3*i+2, heads, d)
			ks, vs = append(ks, b.values(k)), append(vs, b.values(v))
			outs, err := f.With(tensor.Values{n: i}).Run(ctx, q, k, v)
			require.NoError(b.t, err)
			got := b.values(outs[0])
			want := attention(b.values(q), ks, vs, heads, d)
			for j := range want {
				require.InDelta(b.t, want[j], got[j], 1e-4, "length %d, element %d", i+1, j)
			}
			if i == 0 {
				compiled = b.Stats().Compiled
			}
		}
		assert.Equal(b.t, compiled, b.Stats().Compiled, "one plan for all lengths")
	})
}

// rotated is x[heads, d] turned by its position, each half of a row with the other.
func rotated(x, position *T) *T {
	half := x.Dim(-1) / 2
	angle := tensor.Arange(half).Mul(-math.Log(100) / float64(half)).Exp().Mul(position)
	a, b := x.Narrow(-1, 0, half), x.Narrow(-1, half, half)
	return tensor.Cat(-1, a.Mul(angle.Cos()).Sub(b.Mul(angle.Sin())), b.Mul(angle.Cos()).Add(a.Mul(angle.Sin())))
}

// A decoder that turns keys by their positions and looks back so far: by a mask over all keys, or at those from a second variable on.
func TestDecodeInAWindow(t *testing.T) {
	onAll(t, func(b *bench) {
		const length, heads, d, window = 24, 2, 8, 5
		n, from, rows := tensor.NewVariable("n", 0, length-1), tensor.NewVariable("from", 0, length-window), tensor.NewVariable("rows", 1, window)
		masked, cut := caches{b.own(length, heads, d), b.own(length, heads, d)}, caches{b.own(length, heads, d), b.own(length, heads, d)}
		row := func(i int) *T { return b.numbers(i, heads, d) }
		f := b.capture(func(in ...*T) []*T {
			q, k := rotated(in[0], n.Tensor()), rotated(in[1], n.Tensor())
			masked.k.SetAt(k, n)
			masked.v.SetAt(in[2], n)
			mask := tensor.Arange(n.Plus(1)).Gt(n.Plus(-window).Tensor())
			keys, values := masked.k.Narrow(0, 0, n.Plus(1)).Permute(1, 0, 2), masked.v.Narrow(0, 0, n.Plus(1)).Permute(1, 0, 2)
			return []*T{tensor.ScaledDotProduct(q.Unsqueeze(1), keys, values, tensor.Attention{Mask: mask}).Squeeze(1)}
		}, row(0), row(1), row(2))
		g := b.capture(func(in ...*T) []*T {
			at := from.Plus(rows).Plus(-1)
			q, k := rotated(in[0], at.Tensor()), rotated(in[1], at.Tensor())
			cut.k.SetAt(k, at)
			cut.v.SetAt(in[2], at)
			keys, values := cut.k.Narrow(0, from, rows).Permute(1, 0, 2), cut.v.Narrow(0, from, rows).Permute(1, 0, 2)
			return []*T{tensor.ScaledDotProduct(q.Unsqueeze(1), keys, values, tensor.Attention{}).Squeeze(1)}
		}, row(0), row(1), row(2))
		ks, vs := [][]float32{}, [][]float32{}
		compiled := 0
		for i := range length {
			q, k, v := row(3*i), row(3*i+1), row(3*i+2)
			ks, vs = append(ks, turned(b.values(k), i, d)), append(vs, b.values(v))
			first := max(0, i+1-window)
			want := attention(turned(b.values(q), i, d), ks[first:], vs[first:], heads, d)
			outs, err := f.With(tensor.Values{n: i}).Run(ctx, q, k, v)
			require.NoError(b.t, err)
			require.InDeltaSlice(b.t, want, b.values(outs[0]), 1e-4, "length %d", i+1)
			outs, err = g.With(tensor.Values{from: first, rows: i + 1 - first}).Run(ctx, q, k, v)
			require.NoError(b.t, err)
			require.InDeltaSlice(b.t, want, b.values(outs[0]), 1e-4, "length %d from a second variable on", i+1)
			if i == 0 {
				compiled = b.Stats().Compiled
			}
		}
		assert.Equal(b.t, compiled, b.Stats().Compiled, "one plan each for all lengths")
	})
}

// turned is rotated, element by element.
func turned(x []float32, position, d int) []float32 {
	out := make([]float32, len(x))
	for i := range x {
		j, half := i%d, d/2
		angle := float64(position) * math.Exp(-math.Log(100)/float64(half)*float64(j%half))
		if j < half {
			out[i] = float32(float64(x[i])*math.Cos(angle) - float64(x[i+half])*math.Sin(angle))
		} else {
			out[i] = float32(float64(x[i])*math.Cos(angle) + float64(x[i-half])*math.Sin(angle))
		}
	}
	return out
}

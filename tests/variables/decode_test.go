package variables

import (
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

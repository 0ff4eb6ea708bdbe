package variables

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
)

func (b *bench) linear(seed, in, out int) *nn.Linear {
	return &nn.Linear{Weight: b.numbers(seed, out, in), Bias: b.numbers(seed+100, out)}
}

func (b *bench) attending(heads int) *nn.MultiheadAttention {
	return &nn.MultiheadAttention{Heads: heads, Query: b.linear(1, 6, 6), Key: b.linear(2, 6, 6), Value: b.linear(3, 6, 6), Out: b.linear(4, 6, 6)}
}

// Layers take sizes that vary.
func TestLayersFollow(t *testing.T) {
	const most = 9
	n := tensor.NewVariable("n", 2, most)
	onAll(t, func(b *bench) {
		heads := b.attending(2)
		norm := func() *nn.LayerNorm { return &nn.LayerNorm{Shape: []int{6}, Eps: 1e-5} }
		block := &nn.TransformerLayer{SelfAttention: b.attending(3), CrossAttention: b.attending(2), Widen: b.linear(5, 6, 8), Narrow: b.linear(6, 8, 6),
			SelfNorm: norm(), CrossNorm: norm(), FeedNorm: norm()}
		for name, f := range map[string]func(x *T) *T{
			"attention": func(x *T) *T {
				y, _ := heads.Forward(x, x.Mul(2), x.Exp(), nn.Attending{})
				return y
			},
			"attention, a batch": func(x *T) *T {
				x = x.Unsqueeze(1).Expand(-1, 3, -1)
				y, weights := heads.Forward(x, x, x, nn.Attending{EachHead: true})
				return y.Mul(weights.Max().Add(1))
			},
			"a block": func(x *T) *T { return block.Forward(x, x.Sin(), nn.Attending{}, nn.Attending{}) },
		} {
			for _, k := range []int{most, 2, 5} {
				array, fixed := b.rooms(k, k, most)
				want := f(fixed(array))
				_, bound := b.rooms(k, n.Bind(k), most)
				b.equal(want.Shape(), b.values(want), f(bound(array)), "%s of %d", name, k)
			}
		}
	})
}

// Dropout of a size that varies keeps a share of what counts, scaled.
func TestDropoutFollows(t *testing.T) {
	const most, k = 4096, 3000
	n := tensor.NewVariable("n", 2, most)
	on(t, "INTERP", engine.Options{}, func(b *bench) {
		x := b.floats(make([]float32, most), most).Add(1).Narrow(0, 0, n.Bind(k))
		y := x.Dropout(0.25)
		require.Equal(t, []int{k}, y.Shape())
		kept := 0.
		for _, v := range b.values(y) {
			require.True(t, v == 0 || math.Abs(float64(v)-4./3) < 1e-6, "%v", v)
			if v != 0 {
				kept++
			}
		}
		require.InDelta(t, 0.75, kept/k, 0.05)
	})
}

// The error names the operation that a layer calls, and the layer.
func TestLayersThatCannotFollow(t *testing.T) {
	on(t, "INTERP", engine.Options{}, func(b *bench) {
		x := b.numbers(1, 9, 6).Narrow(0, 0, tensor.NewVariable("n", 2, 9)).T()
		l := nn.NewLayerNorm(9)
		require.ErrorContains(t, tensor.Try(func() { l.Forward(x) }), "LayerNorm")
		heads := b.attending(2)
		err := tensor.Try(func() { heads.Forward(x.T(), x.T(), x.T(), nn.Attending{Mask: tensor.Ones(9, 9)}) })
		require.ErrorContains(t, err, "tensor: Dim: axis 1 has n(2…9) elements")
		require.ErrorContains(t, err, "in nn.MultiheadAttention")
	})
}

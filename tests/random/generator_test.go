package random

import (
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// The check values of threefry-2x32 with 20 rounds, from the authors' table of known answers.
func TestThreefryKnownAnswers(t *testing.T) {
	each(t, func(t *testing.T) {
		counters := tensor.Of([]uint64{0, math.MaxUint64, 0x85a308d3_243f6a88})
		keys := tensor.Of([]uint64{0, math.MaxUint64, 0x03707344_13198a2e})
		assert.Equal(t, []uint64{0x99ba4efe_6b200159, 0xbb002be7_1cb996fc, 0x483df7a0_c4923a9c}, read[uint64](t, counters.Threefry(keys)))
	})
	assert.Equal(t, []uint64{0x99ba4efe_6b200159}, read[uint64](t, tensor.Of([]uint64{0}).Threefry(0)))
	assert.ErrorContains(t, tensor.Try(func() { tensor.Arange(3).Threefry(1) }), "must be uint64")
}

func TestGenerators(t *testing.T) {
	each(t, func(t *testing.T) {
		tensor.Seed(42)
		want := read[float32](t, tensor.Rand(5))
		g, other := tensor.NewGenerator(42), tensor.NewGenerator(42|1<<32)
		assert.NotEqual(t, want, read[float32](t, other.Rand(5)))
		assert.Equal(t, want, read[float32](t, g.Rand(5)), "as the default generator of that seed")
		at := g.State()
		assert.Equal(t, tensor.GeneratorState{Seed: 42, Drawn: 5}, at)
		next := read[uint32](t, g.RandomBits(2, 3))
		assert.Len(t, next, 6)
		assert.NotEqual(t, next, read[uint32](t, g.RandomBits(2, 3)))
		tensor.Rand(100) // changes nothing of it
		g.Restore(at)
		assert.Equal(t, next, read[uint32](t, g.RandomBits(2, 3)))
		tensor.Seed(42)
		tensor.Rand(5)
		assert.Equal(t, next, read[uint32](t, tensor.RandIntOf(dtype.U32, 0, nil, 6)))
	})
}

// Every random function gives, of a generator, what the package's function gives of the default one.
func TestEveryFunctionTakesAGenerator(t *testing.T) {
	x := tensor.Of([]float32{1, -2, 3, 4, 5, 6}).Reshape(2, 3)
	w := x.Abs()
	q := tensor.Arange(24).To(dtype.F32).Div(24).Reshape(2, 3, 4)
	for name, f := range map[string][2]func(g *tensor.Generator) *tensor.Tensor{
		"RandOf":    {func(g *tensor.Generator) *tensor.Tensor { return g.RandOf(dtype.F64, 7) }, func(*tensor.Generator) *tensor.Tensor { return tensor.RandOf(dtype.F64, 7) }},
		"Randn":     {func(g *tensor.Generator) *tensor.Tensor { return g.Randn(7) }, func(*tensor.Generator) *tensor.Tensor { return tensor.Randn(7) }},
		"Normal":    {func(g *tensor.Generator) *tensor.Tensor { return g.Normal(1, 2, 7) }, func(*tensor.Generator) *tensor.Tensor { return tensor.Normal(1, 2, 7) }},
		"Uniform":   {func(g *tensor.Generator) *tensor.Tensor { return g.Uniform(1, 2, 7) }, func(*tensor.Generator) *tensor.Tensor { return tensor.Uniform(1, 2, 7) }},
		"Scaled":    {func(g *tensor.Generator) *tensor.Tensor { return g.ScaledUniform(7) }, func(*tensor.Generator) *tensor.Tensor { return tensor.ScaledUniform(7) }},
		"Glorot":    {func(g *tensor.Generator) *tensor.Tensor { return g.GlorotUniform(3, 4) }, func(*tensor.Generator) *tensor.Tensor { return tensor.GlorotUniform(3, 4) }},
		"Kaiming":   {func(g *tensor.Generator) *tensor.Tensor { return g.KaimingUniform(0, 3, 4) }, func(*tensor.Generator) *tensor.Tensor { return tensor.KaimingUniform(0, 3, 4) }},
		"KaimingN":  {func(g *tensor.Generator) *tensor.Tensor { return g.KaimingNormal(0, 3, 4) }, func(*tensor.Generator) *tensor.Tensor { return tensor.KaimingNormal(0, 3, 4) }},
		"RandLike":  {func(g *tensor.Generator) *tensor.Tensor { return g.RandLike(x) }, func(*tensor.Generator) *tensor.Tensor { return tensor.RandLike(x) }},
		"RandnLike": {func(g *tensor.Generator) *tensor.Tensor { return g.RandnLike(x) }, func(*tensor.Generator) *tensor.Tensor { return tensor.RandnLike(x) }},
		"RandInt":   {func(g *tensor.Generator) *tensor.Tensor { return g.RandInt(-5, 900, 7) }, func(*tensor.Generator) *tensor.Tensor { return tensor.RandInt(-5, 900, 7) }},
		"RandPerm":  {func(g *tensor.Generator) *tensor.Tensor { return g.RandPerm(9) }, func(*tensor.Generator) *tensor.Tensor { return tensor.RandPerm(9) }},
		"Bits":      {func(g *tensor.Generator) *tensor.Tensor { return g.RandomBits(9) }, func(*tensor.Generator) *tensor.Tensor { return tensor.RandomBits(9) }},
		"Dropout":   {func(g *tensor.Generator) *tensor.Tensor { return g.Dropout(x, 0.5) }, func(*tensor.Generator) *tensor.Tensor { return x.Dropout(0.5) }},
		"Channel":   {func(g *tensor.Generator) *tensor.Tensor { return g.ChannelDropout(x, 0.5) }, func(*tensor.Generator) *tensor.Tensor { return x.ChannelDropout(0.5) }},
		"RReLU":     {func(g *tensor.Generator) *tensor.Tensor { return g.RReLU(x, 0.1, 0.3) }, func(*tensor.Generator) *tensor.Tensor { return x.RReLU(0.1, 0.3) }},
		"Multinomial": {func(g *tensor.Generator) *tensor.Tensor { return g.Multinomial(w, 3, tensor.Sampling{}) },
			func(*tensor.Generator) *tensor.Tensor { return w.Multinomial(3, tensor.Sampling{}) }},
		"Categorical": {func(g *tensor.Generator) *tensor.Tensor { return g.Categorical(x, 1) }, func(*tensor.Generator) *tensor.Tensor { return x.Categorical(1) }},
		"ScaledDotProduct": {func(g *tensor.Generator) *tensor.Tensor {
			return tensor.ScaledDotProduct(q, q, q, tensor.Attention{Dropout: 0.5, Generator: g})
		}, func(*tensor.Generator) *tensor.Tensor {
			return tensor.ScaledDotProduct(q, q, q, tensor.Attention{Dropout: 0.5})
		}},
	} {
		g := tensor.NewGenerator(7)
		tensor.Seed(7)
		before := tensor.DefaultGenerator().State()
		got := f[0](g)
		assert.Equal(t, before, tensor.DefaultGenerator().State(), "%s: the default generator is left alone", name)
		want := f[1](nil)
		assert.Equal(t, g.State(), tensor.DefaultGenerator().State(), name)
		assert.Equal(t, read[float64](t, want.To(dtype.F64)), read[float64](t, got.To(dtype.F64)), name)
	}
}

// Each run of a captured function draws on from its generator.
func TestGeneratorInCapture(t *testing.T) {
	g, same := tensor.NewGenerator(5), tensor.NewGenerator(5)
	f, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{g.Rand(4)} })
	require.NoError(t, err)
	for range 3 {
		out, err := f.Run(ctx)
		require.NoError(t, err)
		assert.Equal(t, read[float32](t, same.Rand(4)), read[float32](t, out[0]))
	}
	var all sync.WaitGroup
	for range 4 { // generators are for any number of goroutines
		all.Go(func() {
			for range 50 {
				g.RandomBits(3)
				g.State()
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 3*4+4*50*3, g.State().Drawn)
}

// frequencies asks that counts be near n times the probabilities, by a bound that all but one in 10⁶ seeds meet.
func frequencies(t *testing.T, p []float64, hits []int, n int, msg string) {
	t.Helper()
	for i, h := range hits {
		if p[i] == 0 {
			assert.Zero(t, h, "%s: category %d", msg, i)
			continue
		}
		assert.InDelta(t, p[i]*float64(n), h, 5*math.Sqrt(float64(n)*p[i]*(1-p[i]))+1, "%s: category %d", msg, i)
	}
}

func TestMultinomial(t *testing.T) {
	weights := []float32{0, 1, 2, 0, 5, 1e-3, 0}
	total := float64(8.001)
	p := make([]float64, len(weights))
	for i, w := range weights {
		p[i] = float64(w) / total
	}
	each(t, func(t *testing.T) {
		g := tensor.NewGenerator(11)
		w := tensor.Of(weights)
		const n = 4096
		hits := make([]int, len(weights))
		for _, v := range read[int32](t, g.Multinomial(w, n, tensor.Sampling{Replace: true})) {
			hits[v]++
		}
		frequencies(t, p, hits, n, "with replacement")
		hits = make([]int, len(weights))
		logits := w.Log().Unsqueeze(0).Expand(n, 7)
		for _, v := range read[int32](t, g.Categorical(logits, 1)) {
			hits[v]++
		}
		frequencies(t, p, hits, n, "categorical")
		first, second := make([]int, len(weights)), make([]int, len(weights))
		drawn := read[int32](t, g.Multinomial(w.Unsqueeze(0).Expand(n, 7), 4, tensor.Sampling{}))
		for i := range n {
			row := slices.Clone(drawn[4*i : 4*i+4])
			first[row[0]]++
			second[row[1]]++
			slices.Sort(row)
			require.Equal(t, []int32{1, 2, 4, 5}, row, "each category with a weight once")
		}
		frequencies(t, p, first, n, "the first without replacement")
		later := make([]float64, len(p)) // P(second = j) = Σᵢ pᵢ·pⱼ/(1 − pᵢ)
		for i := range p {
			for j := range p {
				if i != j && p[i] < 1 {
					later[j] += p[i] * p[j] / (1 - p[i])
				}
			}
		}
		frequencies(t, later, second, n, "the second without replacement")
	})
}

func TestMultinomialForms(t *testing.T) {
	g := tensor.NewGenerator(3)
	w := tensor.Of([]float64{0, 3, 0, 0, 0, 2}).Reshape(2, 3)
	d := g.Multinomial(w, 5, tensor.Sampling{Replace: true})
	assert.Equal(t, []int{2, 5}, d.Shape())
	assert.Equal(t, dtype.I32, d.DType())
	assert.Equal(t, []int32{1, 1, 1, 1, 1, 2, 2, 2, 2, 2}, read[int32](t, d))
	assert.Equal(t, []int32{1, 2}, read[int32](t, g.Multinomial(w, 1, tensor.Sampling{})))
	assert.Empty(t, read[int32](t, g.Multinomial(w, 0, tensor.Sampling{})))
	assert.Equal(t, []int{0, 2}, g.Multinomial(tensor.Zeros(0, 3), 2, tensor.Sampling{}).Shape())
	assert.Equal(t, []int32{0}, read[int32](t, g.Multinomial(tensor.Of([]float32{1e-44}), 1, tensor.Sampling{})))
	assert.Equal(t, []int{2}, g.Categorical(w, -1).Shape())
	big := tensor.Full(1, dtype.F16, 70_000) // of which the sum is no float16
	assert.Greater(t, read[int32](t, g.Multinomial(big, 64, tensor.Sampling{Replace: true}).Max())[0], int32(40_000))
	for _, c := range []struct {
		weights []float32
		n       int
		replace bool
	}{
		{[]float32{1, -1}, 1, true}, {[]float32{0, 0}, 1, true}, {[]float32{float32(math.NaN()), 1}, 1, true}, {[]float32{float32(math.Inf(1)), 1}, 1, false},
		{[]float32{1, 0, 2}, 3, false},
	} {
		_, err := tensor.Data[int32](ctx, g.Multinomial(tensor.Of(c.weights), c.n, tensor.Sampling{Replace: c.replace}))
		var value *tensor.ValueError
		assert.ErrorAs(t, err, &value, "%v", c)
		assert.ErrorContains(t, err, "the weights of row 0")
	}
	for _, f := range []func(){
		func() { g.Multinomial(tensor.Ones(3), 4, tensor.Sampling{}) }, func() { g.Multinomial(tensor.Ones(3), -1, tensor.Sampling{Replace: true}) },
		func() { g.Multinomial(tensor.Ones(1, 2, 3), 1, tensor.Sampling{}) }, func() { g.Multinomial(tensor.Arange(3), 1, tensor.Sampling{}) },
		func() { g.Multinomial(tensor.Ones(0), 1, tensor.Sampling{Replace: true}) }, func() { g.Categorical(tensor.Ones(2, 0), 1) },
	} {
		assert.Error(t, tensor.Try(f))
	}
}

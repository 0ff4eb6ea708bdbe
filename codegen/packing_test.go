package codegen_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	lang "github.com/weft-ml/weft/codegen/c"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/dtype"
)

// Weights that a kernel stages have an order in which it needs to stage nothing: blocks of lanes, or short rows of them. Others
// have none.
func TestPackings(t *testing.T) {
	const weights = 2 // the parameter
	small, batch, odd := window{1, 64, 128, 7, 3, 1, 1}, window{8, 512, 512, 7, 3, 1, 1}, window{1, 37, 90, 9, 3, 1, 1}
	for _, c := range []struct {
		name  string
		k     *kit
		dims  []int // of what is to be packed; nil: nothing is
		order []int
		block bool
	}{
		{"convolution", small.forward(true), []int{128, 64, 3, 3}, []int{0, 1, 2, 3}, true},
		{"convolution of odd sizes", odd.forward(true), []int{90, 37, 3, 3}, []int{0, 1, 2, 3}, false},
		{"pictures of a batch, large weights", batch.forward(true), []int{512, 512, 3, 3}, []int{0, 1, 2, 3}, true},
		{"transposed", gemm(64, 1024, 300, false, true), []int{1024, 300}, []int{0, 1}, true},
		{"transposed, long rows of odd sizes", gemm(64, 1001, 300, false, true), nil, nil, false},
		{"one row", gemm(1, 1024, 300, false, true), nil, nil, false},
		{"many rows", gemm(8192, 256, 300, false, true), nil, nil, false},
		{"tiny", gemm(3, 5, 7, false, true), nil, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := model.Packings(c.k.s, target(), func(p int) bool { return p == weights })
			assert.Empty(t, model.Packings(c.k.s, target(), func(int) bool { return false }))
			if c.dims == nil {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			p := got[0]
			assert.Equal(t, weights, p.Param)
			assert.Equal(t, c.dims, p.Dims)
			assert.Equal(t, c.order, p.Order)
			assert.Zero(t, p.Lanes)
			assert.Equal(t, c.block, p.Block < c.dims[0], "%d", p.Block)
			assert.Zero(t, c.dims[0]%p.Block)
			assert.GreaterOrEqual(t, p.Gain, 0.05)
			assert.True(t, p.Same(p))
			other := *p
			other.Order = slices.Clone(p.Order)
			slices.Reverse(other.Order)
			assert.False(t, p.Same(&other))
		})
	}
}

// Where arrays that are read once are read best as one stream, rows times a large matrix want it in blocks of lanes.
func TestStreamsArePacked(t *testing.T) {
	const weights = 2
	page := wasm.Target(wasm.Machine{Relaxed: true})
	constant := func(p int) bool { return p == weights }
	for _, rows := range []int{1, 2, 5} {
		got := model.Packings(gemm(rows, 512, 1024, false, false).s, page, constant)
		require.Len(t, got, 1, "%d rows", rows)
		assert.Equal(t, []int{1024, 512}, got[0].Dims)
		assert.Equal(t, []int{1, 0}, got[0].Order, "blocks of columns, then rows")
		assert.Equal(t, 1, got[0].Lanes)
		assert.Equal(t, 16, got[0].Block, "%d rows", rows)
	}
	odd := func(rows int) []*model.Packing {
		return model.Packings(gemm(rows, 600, 1024, false, false).s, page, constant)
	}
	require.Len(t, odd(1), 1)
	assert.Equal(t, 8, odd(1)[0].Block)
	assert.Empty(t, odd(2))
	small := gemm(1, 512, 128, false, false)
	assert.Empty(t, model.Packings(small.s, page, constant), "a cache holds it")
	large := gemm(1, 512, 1024, false, false)
	assert.Empty(t, model.Packings(large.s, page, func(int) bool { return false }))
	assert.Empty(t, model.Packings(large.s, target(), constant), "another machine")
}

// Where the machine multiplies words of narrow numbers, the factor that lanes are of is wanted in such words, one for each lane: then no run makes them.
// It is not where sums of it are needed beside, where steps fill no word, and on machines that do not load words so.
func TestWordsArePacked(t *testing.T) {
	const weights = 2
	constant := func(p int) bool { return p == weights }
	vnni := lang.Target(lang.Machine{VectorBytes: 64, Dot4: true, DotBF16: true})
	bytes := func(m, k int, d dtype.DType) []*model.Packing {
		return model.Packings(narrowGemm(m, 128, k, false, false, d, dtype.I8, dtype.I32, dtype.I32).s, vnni, constant)
	}
	for _, rows := range []int{1, 5, 64} {
		got := bytes(rows, 1024, dtype.U8)
		require.Len(t, got, 1, "%d rows", rows)
		p := got[0]
		assert.Equal(t, model.Packing{Param: weights, Dims: []int{1024, 128}, Lanes: 1, Block: p.Block, Order: []int{1, 0}, Steps: 0, Word: 4, Gain: p.Gain, Once: rows == 1}, *p)
		assert.Zero(t, p.Block%16)
		other := *p
		other.Word = 2
		assert.False(t, p.Same(&other))
	}
	assert.Empty(t, bytes(5, 255, dtype.U8), "steps fill no word")
	assert.Empty(t, bytes(256, 256, dtype.I8), "sums of it are needed")
	got := model.Packings(narrowGemm(5, 128, 256, false, true, dtype.BF16, dtype.BF16, dtype.F32, dtype.F32).s, vnni, constant)
	require.Len(t, got, 1)
	assert.Equal(t, []int{128, 256}, got[0].Dims)
	assert.Equal(t, []int{0, 1}, got[0].Order)
	assert.Equal(t, []int{1, 2}, []int{got[0].Steps, got[0].Word})
	page := wasm.Target(wasm.Machine{Relaxed: true})
	for _, p := range model.Packings(narrowGemm(5, 128, 256, false, false, dtype.U8, dtype.I8, dtype.I32, dtype.I32).s, page, constant) {
		assert.Zero(t, p.Word)
	}
}

// A sum that threads share in parts is one again where words lie in the order of lanes; rows may be walked from the last one.
func TestWordsOfPartsArePacked(t *testing.T) {
	vnni := lang.Target(lang.Machine{VectorBytes: 64, Dot4: true})
	for _, back := range []bool{false, true} {
		k := newKit()
		o, x, w := k.param(dtype.I32, true, 16, 128), k.param(dtype.U8, false, 1024), k.param(dtype.I8, false, 1024, 128)
		r := k.rngs(16, 128, 64)
		at := r[0].Mul(r[0].Int(64)).Add(r[2])
		row, flips := at, []int(nil)
		if back {
			row, flips = at.Int(1023).Sub(at), []int{0}
		}
		k.out(o, r[:2], k.sum(k.load(x, at).Cast(dtype.I32).Mul(k.load(w, row, r[1]).Cast(dtype.I32)), r[2]))
		got := model.Packings(k.s, vnni, func(p int) bool { return p == 2 })
		require.Len(t, got, 1)
		p := got[0]
		assert.Equal(t, model.Packing{Param: 2, Dims: []int{1024, 128}, Flips: flips, Lanes: 1, Block: p.Block, Order: []int{1, 0}, Word: 4, Gain: p.Gain, Once: true}, *p)
	}
}

// What lanes share of a convolution is copied into boxes, where its pages lie together. So beside weights in the order in which lanes walk them, lanes along
// channels are as cheap for channels that lie pages apart as for others, and their whole blocks are better than columns that end anywhere.
func TestBoxesHavePagesTogether(t *testing.T) {
	const weights = 2
	avx := lang.Target(lang.Machine{VectorBytes: 32})
	for _, size := range []int{28, 35} { // a channel has 3136 bytes, or 4900
		k := window{1, 96, 64, size, 3, 1, 1}.forward(true)
		got := model.Packings(k.s, avx, func(p int) bool { return p == weights })
		require.Len(t, got, 1, "%d", size)
		assert.Equal(t, 16, got[0].Block, "%d", size)
	}
}

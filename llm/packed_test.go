package llm

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/weights/gguf"
)

// packedRows are the blocks of a matrix, and the number of their type in GGUF files.
type packedRows struct {
	kind uint32
	raw  []byte
}

// packedKinds are types by their numbers, with the places of a block's scales.
var packedKinds = map[string]struct {
	kind   uint32
	scales []int
}{"Q4_0": {2, []int{0}}, "Q8_0": {8, []int{0}}, "Q4_K": {12, []int{0, 2}}, "Q6_K": {14, []int{208}}, "Q5_0": {6, []int{0}}}

// pack makes random blocks of all matrices, in turns of some types, and the weights what is in them.
func (s *small) pack(t testing.TB, forms ...string) {
	s.packed = map[string]packedRows{}
	r := rand.New(rand.NewPCG(9, 9))
	for _, name := range s.order {
		shape := s.shapes[name]
		if len(shape) != 2 {
			continue
		}
		form := forms[len(s.packed)%len(forms)]
		block, bytes, ok := gguf.Packed(form)
		require.True(t, ok)
		n := shape[0] * shape[1]
		require.Zero(t, shape[1]%block)
		raw := make([]byte, n/block*bytes)
		for i := 0; i+8 <= len(raw); i += 8 {
			binary.LittleEndian.PutUint64(raw[i:], r.Uint64())
		}
		size := map[string]float64{"Q4_K": 0.0004, "Q6_K": 0.0001, "Q8_0": 0.001}[form] // of scales, so that weights are small
		if size == 0 {
			size = 0.01
		}
		for i := 0; i < len(raw); i += bytes {
			for _, at := range packedKinds[form].scales {
				binary.LittleEndian.PutUint16(raw[i+at:], dtype.ToF16(size*r.NormFloat64()))
			}
		}
		s.packed[name] = packedRows{packedKinds[form].kind, raw}
		plain := make([]float32, n)
		require.NoError(t, gguf.Unpack(form, plain, raw))
		for i, v := range plain {
			s.values[name][i] = float64(v)
		}
	}
}

// Packed weights stay packed, and the model says what one of the unpacked weights says, by one plan for all positions: token by token and
// in chunks.
func TestPackedWeights(t *testing.T) {
	ids := []int{7, 0, 319, 3, 3, 11, 318, 2, 25}
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			e, err := engine.Use(device)
			need.Device(t, device, err)
			s := newSized(4, "qwen3", Config{Dim: 256, Hidden: 512, Layers: 2, Heads: 4, KVHeads: 2, Head: 64, Vocab: 320, Length: 24, Eps: 1e-5, RopeBase: 500})
			s.pack(t, "Q4_0", "Q4_K", "Q6_K", "Q8_0", "Q5_0")
			path := s.gguf(t)
			want := s.logits(ids)
			for _, unpacked := range []bool{false, true} {
				m, err := Open(ctx, path, Options{Device: device, Chunk: 4, Unpacked: unpacked})
				require.NoError(t, err)
				assert.Equal(t, unpacked, m.embed.packed == nil)
				assert.Equal(t, unpacked, m.layers[1].down.parts[0].packed == nil)
				assert.Nil(t, m.layers[0].qkv.parts[2].packed, "Q5_0 is unpacked") // the fifth matrix of these
				session, err := m.NewSession(ctx)
				require.NoError(t, err)
				compiled := 0
				for i, id := range ids {
					got, err := session.Feed(ctx, id)
					require.NoError(t, err)
					for k, x := range got {
						require.InDelta(t, want[i][k], x, 1e-4, "position %d, logit %d", i, k)
					}
					if i == 1 {
						compiled = e.Stats().Compiled
					}
				}
				assert.Equal(t, compiled, e.Stats().Compiled, "one plan for all lengths")
				session.Reset()
				got, err := session.Feed(ctx, ids...)
				require.NoError(t, err)
				for k, x := range got {
					require.InDelta(t, want[len(ids)-1][k], x, 1e-4, "in chunks, logit %d", k)
				}
			}
		})
	}
}

// A packed block whose scale is no number is an error at load that says where.
func TestPackedScales(t *testing.T) {
	s := newSized(4, "qwen3", Config{Dim: 32, Hidden: 32, Layers: 1, Heads: 4, KVHeads: 2, Head: 8, Vocab: 32, Length: 8, Eps: 1e-5, RopeBase: 500})
	s.pack(t, "Q8_0")
	rows := s.packed[fmt.Sprintf(hubNames.up, 0)]
	binary.LittleEndian.PutUint16(rows.raw[5*34:], 0x7e00)
	for _, unpacked := range []bool{false, true} {
		_, err := Open(ctx, s.gguf(t), Options{Device: "INTERP", Unpacked: unpacked})
		require.ErrorContains(t, err, fmt.Sprintf("tensor %q", fmt.Sprintf(ggufNames.up, 0)))
		require.ErrorContains(t, err, "block 5")
		require.ErrorContains(t, err, "its scale is NaN")
	}
}

// gpt2Small has the sizes of GPT-2 small: as many numbers in a layer, whose network has three matrices here.
var gpt2Small = Config{Dim: 768, Hidden: 2048, Layers: 12, Heads: 12, KVHeads: 12, Head: 64, Vocab: 50257, Length: 1024, Eps: 1e-5, RopeBase: 1e4, Tied: true}

// A token moves the packed weights and the cache, and hardly anything else.
func TestDecodeMoves(t *testing.T) {
	_, err := engine.Use("NULL")
	need.Device(t, "NULL", err)
	c := gpt2Small
	c.Layers = 2
	for _, form := range []string{"Q4_0", "Q4_K"} {
		s := newSized(1, "qwen3", c)
		s.pack(t, form)
		m, err := Open(ctx, s.gguf(t), Options{Device: "NULL"})
		require.NoError(t, err)
		session, err := m.NewSession(ctx)
		require.NoError(t, err)
		weights := 0
		for _, rows := range s.packed {
			weights += len(rows.raw)
		}
		cache := 2 * c.Layers * c.Length * c.KVHeads * c.Head * 4
		moved := int64(0)
		view := session.batch.step.Schedule()
		for _, step := range view.Plan.Steps {
			all := int64(0)
			for _, slot := range step.Slots {
				all += view.Plan.Slots[slot].Bytes
			}
			if least := view.Plan.Kernels[step.Kernel].Bytes; least < all/8 { // a row of many, as the embedding of a token
				all = least
			}
			moved += all
		}
		t.Logf("%s: %d bytes of weights, %d of cache, %d moved, %d launches", form, weights, cache, moved, len(view.Plan.Steps))
		assert.GreaterOrEqual(t, moved, int64(weights))
		assert.LessOrEqual(t, float64(moved), 1.15*float64(weights+cache))
		assert.Nil(t, view.Once, "nothing of the weights is kept unpacked")
	}
}

// BenchmarkDecode reads one token after the other with a model of the size of GPT-2 small.
func BenchmarkDecode(b *testing.B) {
	benchmark(b, 64, func(s *Session) error {
		if s.Room() == 0 {
			s.Reset()
		}
		_, err := s.Feed(ctx, 17)
		return err
	})
}

// BenchmarkPrompt reads 256 tokens with one, in chunks.
func BenchmarkPrompt(b *testing.B) {
	ids := make([]int, 256)
	for i := range ids {
		ids[i] = i * 7 % 3000
	}
	benchmark(b, len(ids), func(s *Session) error {
		s.Reset()
		_, err := s.Feed(ctx, ids...)
		return err
	})
}

// benchmark runs f with a model in each form of weights.
func benchmark(b *testing.B, length int, f func(s *Session) error) {
	for _, form := range []string{"F32", "Q8_0", "Q4_0", "Q4_K", "Q6_K"} {
		b.Run(form, func(b *testing.B) {
			s := newSized(1, "qwen3", gpt2Small)
			if form != "F32" {
				s.pack(b, form)
			}
			m, err := Open(ctx, s.gguf(b), Options{Length: length})
			require.NoError(b, err)
			session, err := m.NewSession(ctx)
			require.NoError(b, err)
			for b.Loop() {
				require.NoError(b, f(session))
			}
		})
	}
}

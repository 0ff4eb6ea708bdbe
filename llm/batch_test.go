package llm

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
)

// alone continues a text greedily in a batch in which nothing else is.
func alone(t testing.TB, s *Session, prompt []int, n int) (tokens []int, logits [][]float32) {
	s.Reset()
	next, err := s.Feed(ctx, prompt...)
	require.NoError(t, err)
	for range n {
		id, err := (&Sampler{}).Next(next)
		require.NoError(t, err)
		tokens, logits = append(tokens, id), append(logits, slices.Clone(next))
		next, err = s.Feed(ctx, id)
		require.NoError(t, err)
	}
	return tokens, logits
}

// Texts that are continued together are those that are continued alone, with the same bits, whatever the others do: begin later, end
// earlier, read a prompt between the steps, or are full. One plan is for all of it.
func TestBatch(t *testing.T) {
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			m := stories(t, device, Options{Length: 40, Chunk: 8})
			b, err := m.NewBatch(ctx, 3)
			require.NoError(t, err)
			prompts := [][]int{{1, 403}, {1, 410, 421, 432, 443, 454, 465, 476, 487, 498, 409}, {1, 50, 60, 70, 80, 90, 100, 110, 120}}
			var want [][]int
			var logits [][][]float32
			for i, p := range prompts {
				ids, l := alone(t, b.Session((i+1)%3), p, 20) // in any place
				want, logits = append(want, ids), append(logits, l)
			}
			e, err := engine.Use(device)
			require.NoError(t, err)
			compiled := e.Stats().Compiled
			b.Session(0).Reset()
			full := b.Session(2)
			for full.Room() > 0 {
				_, err := full.Feed(ctx, 5)
				require.NoError(t, err)
			}
			b.Session(1).Reset()
			_, err = b.Session(0).Feed(ctx, prompts[0]...)
			require.NoError(t, err)
			got := make([][]int, 3)
			begins := []int{0, 3, 6}
			for step := range 26 {
				var turns []Turn
				for i := range prompts {
					s := b.Session(i)
					if step == begins[i] && i > 0 {
						s.Reset()
						_, err := s.Feed(ctx, prompts[i]...)
						require.NoError(t, err)
					}
					if step < begins[i] || len(got[i]) == 20 {
						continue
					}
					require.Equal(t, logits[i][len(got[i])], s.Logits(), "text %d, token %d", i, len(got[i]))
					id, err := (&Sampler{}).Next(s.Logits())
					require.NoError(t, err)
					got[i] = append(got[i], id)
					turns = append(turns, Turn{s, id})
				}
				require.NoError(t, b.Step(ctx, turns))
			}
			assert.Equal(t, want, got)
			assert.Equal(t, compiled, e.Stats().Compiled, "one plan for all")
		})
	}
}

func TestBatchErrors(t *testing.T) {
	m := stories(t, "INTERP", Options{Length: 4, Chunk: 2})
	for _, n := range []int{0, -1, 257} {
		_, err := m.NewBatch(ctx, n)
		assert.ErrorContains(t, err, "it has 1 to 256")
	}
	b, err := m.NewBatch(ctx, 2)
	require.NoError(t, err)
	s := b.Session(0)
	assert.ErrorContains(t, b.Step(ctx, []Turn{{s, 1}, {s, 2}}), "twice")
	assert.ErrorContains(t, b.Step(ctx, []Turn{{s, 512}}), "of a vocabulary of 512")
	assert.Zero(t, s.Position())
	_, err = s.Feed(ctx, 1, 2, 3, 4)
	require.NoError(t, err)
	assert.ErrorContains(t, b.Step(ctx, []Turn{{s, 1}}), "there is room for 4")
	assert.ErrorContains(t, s.Back(5), "back to position 5")
	require.NoError(t, s.Back(1))
	assert.Equal(t, 1, s.Position())
	assert.Nil(t, s.Logits())
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, b.Step(cancelled, []Turn{{s, 1}}), context.Canceled)
	assert.Equal(t, 1, s.Position())
}

// An embedding is of length 1, the same however the text is cut, and that of another text is another.
func TestEmbed(t *testing.T) {
	text := []int{1, 403, 410, 421, 432, 443, 454, 465, 476, 487, 498}
	var all [][]float32
	for _, chunk := range []int{4, 8, 11} {
		m := stories(t, "CPU", Options{Length: 11, Chunk: chunk})
		s, err := m.NewSession(ctx)
		require.NoError(t, err)
		v, err := s.Embed(ctx, text)
		require.NoError(t, err)
		require.Len(t, v, 64)
		length := 0.0
		for _, x := range v {
			length += float64(x) * float64(x)
		}
		assert.InDelta(t, 1, length, 1e-5)
		all = append(all, v)
		assert.InDeltaSlice(t, all[0], v, 1e-5)
		other, err := s.Embed(ctx, text[:5])
		require.NoError(t, err)
		assert.NotEqual(t, v, other)
		_, err = s.Embed(ctx, nil)
		assert.ErrorContains(t, err, "no tokens")
		_, err = s.Embed(ctx, append(text, 1))
		assert.ErrorContains(t, err, "do not fit")
	}
}

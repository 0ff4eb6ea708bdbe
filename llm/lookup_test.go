package llm

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
)

func TestLookup(t *testing.T) {
	assert.Equal(t, []int{4, 5, 1}, lookup([]int{1, 2, 3, 4, 5, 1, 2, 3}, 3))
	assert.Equal(t, []int{9, 2, 3}, lookup([]int{2, 3, 4, 2, 3, 9, 2, 3}, 5), "the last time counts")
	assert.Nil(t, lookup([]int{1, 2, 3, 4}, 3))
	assert.Nil(t, lookup([]int{1}, 3))
	assert.Nil(t, lookup(nil, 3))
}

// With guesses a text is the same to the token, to the end of the room, and takes fewer runs of plans.
func TestLookupSaysTheSame(t *testing.T) {
	m := stories(t, "CPU", Options{Length: 300})
	e, err := engine.Use("CPU")
	require.NoError(t, err)
	var ids []int
	for _, f := range strings.Fields(recorded(t, "greedy_tokens.txt")) {
		n, err := strconv.Atoi(f)
		require.NoError(t, err)
		ids = append(ids, n)
	}
	s, err := m.NewSession(ctx)
	require.NoError(t, err)
	made := func(prompt []int, o Generation) (out []int, launches int) {
		s.Reset()
		before := e.Stats().Launches
		for id, err := range s.Continue(ctx, prompt, o) {
			require.NoError(t, err)
			out = append(out, id)
		}
		return out, int(e.Stats().Launches - before)
	}
	repeated := append(append([]int{}, ids[:120]...), ids[:20]...) // a story that was told already begins again
	for name, prompt := range map[string][]int{"anew": ids[:1], "again": repeated} {
		want, plain := made(prompt, Generation{})
		got, guessed := made(prompt, Generation{Lookup: true})
		assert.Equal(t, want, got, name)
		require.Greater(t, len(got), 100)
		t.Logf("%s: %d tokens, %d launches, with guesses %d", name, len(got), plain, guessed)
		if name == "again" {
			assert.Less(t, guessed, plain*4/5)
		}
	}
	draw := func(lookup bool) []int {
		out, _ := made(repeated, Generation{Lookup: lookup, Tokens: 80, Sampler: &Sampler{Temperature: 0.7, Seed: 3}})
		return out
	}
	assert.Equal(t, draw(false), draw(true), "what is drawn is the same as well")
	text := func(lookup bool) string {
		s.Reset()
		var out strings.Builder
		for piece, err := range s.Answer(ctx, repeated, Generation{Lookup: lookup, Tokens: 60}) {
			require.NoError(t, err)
			out.WriteString(piece)
		}
		return out.String()
	}
	assert.Equal(t, text(false), text(true))
}

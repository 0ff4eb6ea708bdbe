package llm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/llm/chat"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tokenizer"
)

func counted(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

func TestShifted(t *testing.T) {
	m := &Model{Config: Config{Length: 10}}
	for _, c := range []struct {
		n, keep int
		want    []int
	}{
		{10, 2, counted(10)},
		{11, 2, []int{0, 1, 6, 7, 8, 9, 10}},
		{14, 2, []int{0, 1, 6, 7, 8, 9, 10, 11, 12, 13}},
		{15, 2, []int{0, 1, 10, 11, 12, 13, 14}},
		{11, 0, []int{5, 6, 7, 8, 9, 10}},
		{30, 8, []int{0, 1, 2, 3, 4, 5, 6, 7, 28, 29}},
		{0, 3, counted(0)},
	} {
		got, err := m.Shifted(counted(c.n), c.keep)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%d tokens, of which %d stay", c.n, c.keep)
	}
	for _, keep := range []int{-1, 9} {
		_, err := m.Shifted(counted(3), keep)
		assert.ErrorContains(t, err, "tokens at the beginning are to stay; of room for 10 it is 0 to 8")
	}
}

// anew continues a text greedily until it is full, in a session that has read nothing else.
func anew(t testing.TB, s *Session, text []int, n int) (out []int) {
	s.Reset()
	logits, err := s.Feed(ctx, text...)
	require.NoError(t, err)
	for {
		id, err := (&Sampler{}).Next(logits)
		require.NoError(t, err)
		if out = append(out, id); len(out) == n || s.Room() == 0 {
			return out
		}
		logits, err = s.Feed(ctx, id)
		require.NoError(t, err)
	}
}

// After a shift a text goes on as one of nothing but the kept tokens does: with positions that are learned, that turn heads in halves or
// neighbours, in windows, and with none. With guesses, which know nothing of positions, two of them do; WEFT_EACH=1 has all.
func TestShift(t *testing.T) {
	for _, name := range []string{"gpt2", "phi2", "phi3-long", "gemma2", "gemma3", "smollm3", "mistral"} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Use("CPU")
			need.Device(t, "CPU", err)
			m, err := Open(ctx, copied(t, name), Options{Device: "CPU", Chunk: 4, Length: 24})
			require.NoError(t, err)
			m.Config.EOS = nil
			ids, _ := recordedLogits(t, name)
			prompt := ids[:7]
			s, err := m.NewSession(ctx)
			require.NoError(t, err)
			fresh, err := m.NewSession(ctx)
			require.NoError(t, err)
			const tokens, keep = 70, 5
			want := anew(t, fresh, prompt, tokens)
			full := slices.Concat(prompt, want)
			for len(want) < tokens {
				require.Len(t, full, 25)
				full, err = m.Shifted(full, keep)
				require.NoError(t, err)
				require.Equal(t, prompt[:keep], full[:keep])
				more := anew(t, fresh, full, tokens-len(want))
				want, full = append(want, more...), append(full, more...)
			}
			for _, lookup := range []bool{false, true} {
				if lookup && name != "gpt2" && name != "gemma2" && need.Each(2) > 1 {
					t.Log("without guesses; WEFT_EACH=1 has them")
					continue
				}
				s.Reset()
				var got []int
				e, err := engine.Use("CPU")
				require.NoError(t, err)
				compiled := 0
				for id, err := range s.Continue(ctx, prompt, Generation{Tokens: tokens, Shift: true, Keep: keep, Lookup: lookup}) {
					require.NoError(t, err)
					if got = append(got, id); len(got) == 2 {
						compiled = e.Stats().Compiled
					}
				}
				assert.Equal(t, want, got, "with guesses: %v", lookup)
				assert.Equal(t, len(prompt)+tokens-1, s.Position()+s.Forgotten())
				assert.Greater(t, s.Forgotten(), 30)
				if !lookup {
					assert.Equal(t, compiled, e.Stats().Compiled, "a shift compiles nothing")
				}
			}
		})
	}
}

// Of texts that are continued together one is shifted and the others go on, all with the bits that they have alone.
func TestShiftInBatch(t *testing.T) {
	for _, device := range devices {
		t.Run(device, func(t *testing.T) {
			m := stories(t, device, Options{Length: 40, Chunk: 8})
			m.Config.EOS = nil
			b, err := m.NewBatch(ctx, 3)
			require.NoError(t, err)
			prompts := [][]int{{1, 410, 421, 432, 443, 454, 465, 476, 487, 498, 409, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150, 160, 170, 180}, {1, 403, 407}, {1, 50, 60}}
			const tokens, keep = 30, 9
			first := anew(t, b.Session(1), prompts[0], tokens)
			kept, err := m.Shifted(slices.Concat(prompts[0], first), keep)
			require.NoError(t, err)
			want := [][]int{slices.Concat(first, anew(t, b.Session(1), kept, tokens-len(first))), nil, nil}
			for i := 1; i < 3; i++ {
				want[i] = anew(t, b.Session(0), prompts[i], tokens)
			}
			last := slices.Clone(b.Session(0).Logits())
			e, err := engine.Use(device)
			require.NoError(t, err)
			compiled := e.Stats().Compiled
			got := make([][]int, 3)
			for i, p := range prompts {
				b.Session(i).Reset()
				_, err := b.Session(i).Feed(ctx, p...)
				require.NoError(t, err)
			}
			for len(got[2]) < tokens {
				var turns []Turn
				for i := range prompts {
					s := b.Session(i)
					id, err := (&Sampler{}).Next(s.Logits())
					require.NoError(t, err)
					if got[i] = append(got[i], id); len(got[i]) == tokens {
						continue
					}
					if s.Room() > 0 {
						turns = append(turns, Turn{s, id})
						continue
					}
					next, err := s.Shift([]int{id}, keep)
					require.NoError(t, err)
					_, err = s.Feed(ctx, next...)
					require.NoError(t, err)
				}
				if len(turns) > 0 {
					require.NoError(t, b.Step(ctx, turns))
				}
			}
			assert.Equal(t, want, got)
			assert.Equal(t, last, b.Session(2).Logits())
			assert.Equal(t, 15, b.Session(0).Forgotten())
			assert.Equal(t, compiled, e.Stats().Compiled, "a shift compiles nothing")
		})
	}
}

// A prompt for which there is no room is shortened; without Shift it is an error. A grammar and texts that stop go across a shift.
func TestShiftedPrompt(t *testing.T) {
	m := stories(t, "CPU", Options{Length: 32, Chunk: 8})
	s, err := m.NewSession(ctx)
	require.NoError(t, err)
	long, err := m.Tokenizer.Encode("Once upon a time there was a little girl who had a cat and a dog and a big red ball and a boat", tokenizer.Options{Special: true})
	require.NoError(t, err)
	require.Greater(t, len(long), 32)
	text := func(o Generation) (out string, err error) {
		s.Reset()
		for piece, err := range s.Answer(ctx, long, o) {
			if err != nil {
				return out, err
			}
			out += piece
		}
		return out, nil
	}
	_, err = text(Generation{Tokens: 3})
	require.ErrorContains(t, err, "do not fit")
	_, err = text(Generation{Shift: true, Keep: 31})
	require.ErrorContains(t, err, "of room for 32 it is 0 to 30")
	for _, err := range s.Continue(ctx, long, Generation{Shift: true, Keep: 31}) {
		require.ErrorContains(t, err, "of room for 32 it is 0 to 30")
	}
	all, err := text(Generation{Tokens: 100, Shift: true})
	require.NoError(t, err)
	assert.Greater(t, len(all), 150)
	assert.Equal(t, m.Tokenizer.BOS(), s.Text()[0], "the token of the beginning stays")
	stopped, err := text(Generation{Tokens: 100, Shift: true, Stop: []string{all[120:130]}})
	require.NoError(t, err)
	assert.Equal(t, all[:120], stopped)
}

// The head of a conversation is what stands before the first word of its user.
func TestHead(t *testing.T) {
	m := stories(t, "INTERP", Options{Length: 64})
	var err error
	m.Talk.Template, err = chat.Parse("t", "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ 'assistant:' if add_generation_prompt }}")
	require.NoError(t, err)
	m.Talk.BOS = "<s>"
	user := chat.Message{Role: "user", Content: "a cat"}
	told := []chat.Message{{Role: "system", Content: "Tell stories."}, user, {Role: "assistant", Content: "No."}, user}
	n, err := m.Head(chat.Input{Messages: told, Answer: true})
	require.NoError(t, err)
	ids, err := m.Prompt(chat.Input{Messages: told, Answer: true})
	require.NoError(t, err)
	assert.Contains(t, m.Tokenizer.Decode(ids[:n]), "system: Tell stories.\nuser:")
	assert.NotContains(t, m.Tokenizer.Decode(ids[:n]), "cat")
	few, err := m.Head(chat.Input{Messages: told[1:], Answer: true})
	require.NoError(t, err)
	assert.Less(t, few, n)
	assert.Positive(t, few)
}

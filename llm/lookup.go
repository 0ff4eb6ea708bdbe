package llm

import (
	"context"

	"github.com/weft-ml/weft/tensor"
)

// aheadSize is how many tokens are read at once where some of them are guesses: the one that was chosen, and those that may follow.
const aheadSize = 8

// ahead are guesses that were read along with a token, and the logits after each. Those that come true are not read again.
type ahead struct {
	tokens []int
	rows   [][]float32
}

// lookup guesses what follows a text: what followed the last time that its last few tokens were there (Saxena, 2023: prompt lookup). Three
// in a row are looked for, then two.
func lookup(text []int, n int) []int {
	for have := 3; have >= 2; have-- {
		for at := len(text) - have - 1; at >= 0; at-- {
			if same(text[at:at+have], text[len(text)-have:]) {
				return text[at+have : min(len(text), at+have+n)]
			}
		}
	}
	return nil
}

func same(a, b []int) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// follow reads the last token of a text, of which the session has read all others, with guesses of what follows. The logits are those after
// the token; guesses that do not come true stay behind the text in the caches, where they are written over before they are read.
func (s *Session) follow(ctx context.Context, text []int) ([]float32, error) {
	token := text[len(text)-1]
	if a := s.ahead; len(a.tokens) > 0 && a.tokens[0] == token && s.Room() > 0 {
		s.ahead = ahead{a.tokens[1:], a.rows[1:]}
		s.text, s.logits = append(s.text, token), a.rows[0]
		return s.logits, nil
	}
	guesses := lookup(text, aheadSize-1)
	if len(guesses) == 0 || s.Room() < aheadSize {
		return s.Feed(ctx, token)
	}
	if err := s.fit(append([]int{token}, guesses...)); err != nil {
		return nil, err
	}
	b, vocab := s.batch, s.batch.model.Config.Vocab
	if b.ahead == nil {
		var err error
		b.aheadAt = tensor.NewVariable("llm_ahead_at", 0, b.model.Config.Length-aheadSize)
		b.ahead, err = b.capture(ctx, aheadSize, func(ids *tensor.Tensor) *tensor.Tensor {
			return b.model.logits(b.model.hidden(ids, b.caches, []part{{b.text, b.aheadAt, aheadSize}}))
		})
		if err != nil {
			return nil, err
		}
	}
	filled := append(append([]int{token}, guesses...), make([]int, aheadSize-1-len(guesses))...)
	all, err := b.run(ctx, b.ahead, tensor.Values{b.text: s.index, b.aheadAt: len(s.text)}, filled)
	if err != nil {
		return nil, err
	}
	s.ahead = ahead{tokens: append([]int(nil), guesses...)}
	for i := range guesses {
		s.ahead.rows = append(s.ahead.rows, all[(i+1)*vocab:][:vocab:vocab])
	}
	s.text, s.logits = append(s.text, token), all[:vocab:vocab]
	return s.logits, nil
}

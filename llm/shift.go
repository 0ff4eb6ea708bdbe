package llm

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/llm/chat"
)

// Shifted is what stays of tokens when there are more than there is room for: the first keep, and of those behind them the later ones. As
// llama.cpp does, half of what there is room for behind the first is forgotten, as often as it takes. A token of the beginning stays in any
// case. Where all fit they are given as they are.
func (m *Model) Shifted(tokens []int, keep int) ([]int, error) {
	length := m.Config.Length
	if err := m.keeps(keep); err != nil {
		return nil, err
	}
	if len(tokens) <= length {
		return tokens, nil
	}
	if m.Tokenizer != nil && keep == 0 && tokens[0] == m.Tokenizer.BOS() && length > 2 {
		keep = 1
	}
	block := (length - keep) / 2
	drop := (len(tokens) - length + block - 1) / block * block
	return slices.Concat(tokens[:keep], tokens[keep+drop:]), nil
}

// keeps says what is wrong with a number of tokens that stay.
func (m *Model) keeps(keep int) error {
	if most := m.Config.Length - 2; keep < 0 || keep > most {
		return fmt.Errorf("llm: %d tokens at the beginning are to stay; of room for %d it is 0 to %d", keep, m.Config.Length, max(0, most))
	}
	return nil
}

// Shift makes room for tokens that are to be read next, as Shifted says, and gives the tokens that are to be read in place of them: what
// stays and has moved, then them. What stays is read again rather than moved, so that what follows is what follows a text of nothing but
// the kept tokens, in every family.
func (s *Session) Shift(next []int, keep int) ([]int, error) {
	if len(next) == 0 || len(next) <= s.Room() {
		return next, s.batch.model.keeps(keep)
	}
	kept, err := s.batch.model.Shifted(slices.Concat(s.text, next), keep)
	if err != nil {
		return nil, err
	}
	chunk := s.Chunk() // chunks begin where they would in a text of the kept tokens
	at := min(shared(s.text, kept), len(kept)-1) / chunk * chunk
	before := s.forgotten + len(s.text) + len(next) - len(kept)
	if err := s.Back(at); err != nil {
		return nil, err
	}
	s.forgotten = before
	return kept[at:], nil
}

// Forgotten is how many tokens Shift has forgotten since the text began.
func (s *Session) Forgotten() int { return s.forgotten }

// shared is how many tokens two texts begin with in common.
func shared(a, b []int) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// Head is how many tokens of a conversation stand before what its first user says: those that should stay when it grows longer than there is
// room for.
func (m *Model) Head(in chat.Input) (int, error) {
	n := 0
	for n < len(in.Messages) && slices.Contains([]string{"system", "developer"}, in.Messages[n].Role) {
		n++
	}
	var two [2][]int
	for i, text := range []string{"a", "b"} {
		in.Messages = append(in.Messages[:n:n], chat.Message{Role: "user", Content: text})
		var err error
		if two[i], err = m.Prompt(in); err != nil {
			return 0, err
		}
	}
	return shared(two[0], two[1]), nil
}

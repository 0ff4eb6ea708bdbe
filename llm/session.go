package llm

import (
	"context"
	"errors"
	"fmt"
)

// Session is a text that a model reads and continues: its place in the caches of a Batch, and how far it is. Sessions of one batch are for
// one goroutine.
type Session struct {
	batch     *Batch
	index     int
	text      []int // tokens that were read
	forgotten int   // by Shift
	logits    []float32
	ahead     ahead
}

// NewSession makes room for one text.
func (m *Model) NewSession(ctx context.Context) (*Session, error) {
	b, err := m.NewBatch(ctx, 1)
	if err != nil {
		return nil, err
	}
	return b.Session(0), nil
}

// Position is how many tokens were read.
func (s *Session) Position() int { return len(s.text) }

// Text are the tokens that were read. It is not to be changed, and is good until more are.
func (s *Session) Text() []int { return s.text }

// Reset forgets the text.
func (s *Session) Reset() { s.text, s.forgotten, s.logits, s.ahead = s.text[:0], 0, nil, ahead{} }

// Back forgets what was read behind a position.
func (s *Session) Back(position int) error {
	if position < 0 || position > len(s.text) {
		return fmt.Errorf("llm: back to position %d of a text that has %d", position, len(s.text))
	}
	if position < len(s.text) {
		s.text, s.logits, s.ahead = s.text[:position], nil, ahead{}
	}
	return nil
}

// Room is how many more tokens fit.
func (s *Session) Room() int { return s.batch.model.Config.Length - len(s.text) }

// Feed reads tokens and gives the logits [vocab] of what comes next. Several tokens are read in chunks.
func (s *Session) Feed(ctx context.Context, tokens ...int) ([]float32, error) {
	if len(tokens) == 0 {
		return nil, errors.New("llm: no tokens to read")
	}
	if err := s.fit(tokens); err != nil {
		return nil, err
	}
	for len(tokens) > 0 {
		n, err := s.Some(ctx, tokens)
		if err != nil {
			return nil, err
		}
		tokens = tokens[n:]
	}
	return s.logits, nil
}

// NoRoom are tokens that do not fit behind those of a text.
type NoRoom struct{ Tokens, Read, Length int }

func (e *NoRoom) Error() string {
	return fmt.Sprintf("llm: %d tokens do not fit: the text has %d, and there is room for %d in all", e.Tokens, e.Read, e.Length)
}

// fit says what is wrong with tokens that are to be read.
func (s *Session) fit(tokens []int) error {
	c := &s.batch.model.Config
	if len(tokens) > s.Room() {
		return &NoRoom{len(tokens), len(s.text), c.Length}
	}
	for _, t := range tokens {
		if t < 0 || t >= c.Vocab {
			return fmt.Errorf("llm: token %d, of a vocabulary of %d", t, c.Vocab)
		}
	}
	return nil
}

// Some reads as many of some tokens as are read at once, and says how many; Logits are those of what follows the last of them.
func (s *Session) Some(ctx context.Context, tokens []int) (n int, err error) {
	if err := s.fit(tokens); err != nil {
		return 0, err
	}
	n = min(len(tokens), s.batch.model.options.Chunk)
	if n > 1 && s.batch.model.options.Chunk <= s.Room() {
		return n, s.batch.read(ctx, s, tokens[:n])
	}
	return 1, s.batch.Step(ctx, []Turn{{s, tokens[0]}})
}

// Logits [vocab] are those of what comes next; nil: nothing was read.
func (s *Session) Logits() []float32 { return s.logits }

// Chunk is how many tokens are read at once.
func (s *Session) Chunk() int { return s.batch.model.options.Chunk }

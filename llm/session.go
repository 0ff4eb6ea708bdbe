package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/weft-ml/weft/tokenizer"
)

// Session is a text that a model reads and continues: its place in the caches of a Batch, and how far it is. Sessions of one batch are for
// one goroutine.
type Session struct {
	batch    *Batch
	index    int
	position int
	logits   []float32
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
func (s *Session) Position() int { return s.position }

// Reset forgets the text.
func (s *Session) Reset() { s.position, s.logits = 0, nil }

// Back forgets what was read behind a position.
func (s *Session) Back(position int) error {
	if position < 0 || position > s.position {
		return fmt.Errorf("llm: back to position %d of a text that has %d", position, s.position)
	}
	if position < s.position {
		s.position, s.logits = position, nil
	}
	return nil
}

// Room is how many more tokens fit.
func (s *Session) Room() int { return s.batch.model.Config.Length - s.position }

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

// fit says what is wrong with tokens that are to be read.
func (s *Session) fit(tokens []int) error {
	c := &s.batch.model.Config
	if len(tokens) > s.Room() {
		return fmt.Errorf("llm: %d tokens do not fit: the text has %d, and there is room for %d in all", len(tokens), s.position, c.Length)
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

// Generation are the options of Generate.
type Generation struct {
	Tokens  int      // at most; 0: as many as there is room for
	Sampler *Sampler // nil: always the likeliest
	Stop    []string // texts that end it, and are not given
}

// Continue reads tokens and gives those that follow, one by one, until the model ends the text or there is no room.
func (s *Session) Continue(ctx context.Context, prompt []int, o Generation) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		sampler := o.Sampler
		if sampler == nil {
			sampler = &Sampler{}
		}
		sampler.Seen(prompt...)
		next := prompt
		for made := 0; o.Tokens == 0 || made < o.Tokens; made++ {
			if made > 0 && s.Room() == 0 {
				return
			}
			logits, err := s.Feed(ctx, next...)
			if err != nil {
				yield(-1, err)
				return
			}
			token, err := sampler.Next(logits)
			if err != nil {
				yield(-1, err)
				return
			}
			if s.batch.model.ends(token) || !yield(token, nil) {
				return
			}
			next = []int{token}
		}
	}
}

// ends says whether a token ends a text.
func (m *Model) ends(token int) bool {
	for _, e := range m.Config.EOS {
		if e == token {
			return true
		}
	}
	return false
}

// Generate reads a text and gives what follows, in pieces of whole characters. The model needs a tokenizer.
func (s *Session) Generate(ctx context.Context, prompt string, o Generation) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		t := s.batch.model.Tokenizer
		if t == nil {
			yield("", errors.New("llm: the model has no tokenizer; use Continue, or set Tokenizer"))
			return
		}
		ids, err := t.Encode(prompt, tokenizer.Options{Special: s.position == 0})
		if err == nil && len(ids) == 0 {
			err = errors.New("llm: the prompt is empty, and the model has no token for a beginning")
		}
		if err != nil {
			yield("", err)
			return
		}
		out := t.Stream()
		for _, id := range ids { // a continuation may begin with a space
			out.Next(id)
		}
		out.Rest()
		stop := &stopper{stops: o.Stop}
		for id, err := range s.Continue(ctx, ids, o) {
			if err != nil {
				yield("", err)
				return
			}
			text, done := stop.next(out.Next(id))
			if text != "" && !yield(text, nil) || done {
				return
			}
		}
		text, done := stop.next(out.Rest())
		if !done {
			text += stop.held
		}
		if text != "" {
			yield(text, nil)
		}
	}
}

// stopper holds back what may begin a text that ends everything.
type stopper struct {
	stops []string
	held  string
}

func (s *stopper) next(text string) (out string, done bool) {
	s.held += text
	first := -1
	for _, stop := range s.stops {
		if at := strings.Index(s.held, stop); stop != "" && at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	if first >= 0 {
		return s.held[:first], true
	}
	keep := 0
	for _, stop := range s.stops {
		for n := min(len(stop)-1, len(s.held)); n > keep; n-- {
			if strings.HasSuffix(s.held, stop[:n]) {
				keep = n
				break
			}
		}
	}
	out, s.held = s.held[:len(s.held)-keep], s.held[len(s.held)-keep:]
	return out, false
}

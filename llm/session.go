package llm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tokenizer"
)

// Session is a text that a model reads and continues: its caches, and how far it is. It is for one goroutine.
type Session struct {
	model    *Model
	caches   []cache
	at, last tensor.Variable
	step     *tensor.Captured // one token: one plan for all positions
	chunk    *tensor.Captured // some tokens; made when a prompt is long enough
	position int
	logits   []float32
}

// NewSession makes room for a text.
func (m *Model) NewSession(ctx context.Context) (*Session, error) {
	c := m.Config
	s := &Session{model: m, last: tensor.NewVariable("llm_last", 0, m.options.Chunk-1)}
	var all []*tensor.Tensor
	for range c.Layers {
		var kv [2]*tensor.Tensor
		for i := range kv {
			kv[i] = tensor.Zeros(c.Length, c.KVHeads, c.Head)
			if m.options.Device != "" {
				kv[i] = kv[i].On(m.options.Device)
			}
			kv[i] = kv[i].Own()
			all = append(all, kv[i])
		}
		s.caches = append(s.caches, cache{kv[0], kv[1]})
	}
	if err := tensor.Realize(ctx, all...); err != nil {
		return nil, fmt.Errorf("llm: caches for %d positions: %w", c.Length, err)
	}
	s.at = tensor.NewVariable("llm_at", 0, c.Length-1)
	var err error
	s.step, err = s.capture(ctx, s.at, 1, 0)
	return s, err
}

// capture records the plan for n tokens.
func (s *Session) capture(ctx context.Context, at tensor.Variable, n int, which any) (*tensor.Captured, error) {
	f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{s.model.forward(in[0], s.caches, at, n, which)}
	}, s.ids(make([]int, n)))
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	return f, nil
}

func (s *Session) ids(tokens []int) *tensor.Tensor {
	wide := make([]int32, len(tokens))
	for i, t := range tokens {
		wide[i] = int32(t)
	}
	t := tensor.From(wide)
	if d := s.model.options.Device; d != "" {
		t = t.On(d)
	}
	return t
}

// Position is how many tokens were read.
func (s *Session) Position() int { return s.position }

// Reset forgets the text.
func (s *Session) Reset() { s.position, s.logits = 0, nil }

// Room is how many more tokens fit.
func (s *Session) Room() int { return s.model.Config.Length - s.position }

// Feed reads tokens and gives the logits [vocab] of what comes next. Several tokens are read in chunks.
func (s *Session) Feed(ctx context.Context, tokens ...int) ([]float32, error) {
	switch {
	case len(tokens) == 0:
		return nil, errors.New("llm: no tokens to read")
	case len(tokens) > s.Room():
		return nil, fmt.Errorf("llm: %d tokens do not fit: the text has %d, and there is room for %d in all", len(tokens), s.position, s.model.Config.Length)
	}
	for _, t := range tokens {
		if t < 0 || t >= s.model.Config.Vocab {
			return nil, fmt.Errorf("llm: token %d, of a vocabulary of %d", t, s.model.Config.Vocab)
		}
	}
	for len(tokens) > 0 {
		n, err := s.some(ctx, tokens)
		if err != nil {
			return nil, err
		}
		s.position += n
		tokens = tokens[n:]
	}
	return s.logits, nil
}

// some reads a chunk of tokens, or one. A chunk that is not full is filled up: what its last rows write into the caches lies behind the
// text and is written again before it is read. That needs room, without which tokens are read one by one.
func (s *Session) some(ctx context.Context, tokens []int) (n int, err error) {
	f, size := s.step, s.model.options.Chunk
	values := tensor.Values{s.at: s.position}
	n = min(len(tokens), size)
	if n > 1 && size <= s.Room() {
		at := tensor.NewVariable("llm_chunk_at", 0, s.model.Config.Length-size)
		if s.chunk == nil {
			if s.chunk, err = s.capture(ctx, at, size, s.last); err != nil {
				return 0, err
			}
		}
		f, values = s.chunk, tensor.Values{at: s.position, s.last: n - 1}
		tokens = append(append([]int(nil), tokens[:n]...), make([]int, size-n)...)
	} else {
		n = 1
		tokens = tokens[:1]
	}
	outs, err := f.With(values).Run(ctx, s.ids(tokens))
	if err != nil {
		return 0, fmt.Errorf("llm: position %d: %w", s.position, err)
	}
	raw, err := outs[0].Bytes(ctx)
	if err != nil {
		return 0, fmt.Errorf("llm: position %d: %w", s.position, err)
	}
	s.logits = make([]float32, len(raw)/4)
	for i := range s.logits {
		s.logits[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return n, nil
}

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
			if s.model.ends(token) || !yield(token, nil) {
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
		t := s.model.Tokenizer
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

package llm

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/weft-ml/weft/llm/grammar"
	"github.com/weft-ml/weft/tokenizer"
)

// Generation are the options of Generate.
type Generation struct {
	Tokens  int      // at most; 0: as many as there is room for
	Sampler *Sampler // nil: always the likeliest
	Stop    []string // texts that end it, and are not given
	// Grammar is what the text is one of, from its first byte to its last; nil: any. Tokens that lead out of it are not chosen, one that ends
	// the text only where it is whole, and where nothing may follow the text ends. A text that Tokens ends may be a part of one.
	Grammar *grammar.Grammar
	// Lookup has tokens that followed the last ones earlier in the text be read along as guesses: those that come true cost no step of their
	// own. What is chosen stays the same, up to the rounding of several rows in place of one. Texts that repeat themselves or their prompt
	// become faster, others slower.
	Lookup bool
	// Shift has a text go on when there is no room left: its first Keep tokens stay, the older half of those behind them is forgotten, and
	// the rest is read again (Session.Shift). Without it such a text ends, and a prompt without room is an error.
	Shift bool
	Keep  int
}

func (o *Generation) sampler() *Sampler {
	if o.Sampler == nil {
		return &Sampler{}
	}
	return o.Sampler
}

// Continue reads tokens and gives those that follow, one by one, until the model ends the text or there is no room.
func (s *Session) Continue(ctx context.Context, prompt []int, o Generation) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		held, err := s.batch.model.hold(o)
		if err == nil && o.Shift {
			err = s.batch.model.keeps(o.Keep)
		}
		if err != nil {
			yield(-1, err)
			return
		}
		sampler := o.sampler()
		if held != nil {
			sampler = held.sampler(sampler)
		}
		sampler.Seen(prompt...)
		next := prompt
		seen := append([]int(nil), prompt...)
		for made := 0; o.Tokens == 0 || made < o.Tokens; made++ {
			if made > 0 && s.Room() == 0 && !o.Shift {
				return
			}
			if o.Shift {
				if next, err = s.Shift(next, o.Keep); err != nil {
					yield(-1, err)
					return
				}
			}
			logits, err := s.next(ctx, next, seen, o.Lookup && made > 0)
			if err != nil {
				yield(-1, err)
				return
			}
			token, err := sampler.Next(logits)
			if err != nil {
				yield(-1, err)
				return
			}
			if s.batch.model.ends(token) || !yield(token, nil) || held.took(token) {
				return
			}
			next, seen = []int{token}, append(seen, token)
		}
	}
}

// next reads the tokens that a text, seen, ends with.
func (s *Session) next(ctx context.Context, tokens, seen []int, guess bool) ([]float32, error) {
	if guess && len(tokens) == 1 {
		return s.follow(ctx, seen)
	}
	return s.Feed(ctx, tokens...)
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
			yield("", errNoTokenizer)
			return
		}
		ids, err := t.Encode(prompt, tokenizer.Options{Special: len(s.text) == 0})
		if err != nil {
			yield("", err)
			return
		}
		for text, err := range s.Answer(ctx, ids, o) {
			if !yield(text, err) {
				return
			}
		}
	}
}

var errNoTokenizer = errors.New("llm: the model has no tokenizer; use Continue, or set Tokenizer")

// Answer reads tokens, as Prompt makes them, and gives the text that follows, in pieces of whole characters. The model needs a tokenizer.
func (s *Session) Answer(ctx context.Context, prompt []int, o Generation) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r, err := s.batch.model.NewReply(prompt, o)
		seen := append([]int(nil), prompt...)
		for next := prompt; err == nil && r.Finish == ""; {
			if s.Room() == 0 && len(seen) > len(prompt) && !o.Shift {
				if text := r.Cut(); text != "" {
					yield(text, nil)
				}
				return
			}
			if o.Shift {
				if next, err = s.Shift(next, o.Keep); err != nil {
					break
				}
			}
			var logits []float32
			if logits, err = s.next(ctx, next, seen, o.Lookup && len(seen) > len(prompt)); err != nil {
				break
			}
			var text string
			var token int
			if text, token, err = r.Next(logits); err == nil && text != "" && !yield(text, nil) {
				return
			}
			next, seen = []int{token}, append(seen, token)
		}
		if err != nil {
			yield("", err)
		}
	}
}

// Reply is the text that a model makes, of one token after the other.
type Reply struct {
	// Finish is "" as long as tokens follow; then "stop", where the model or a text of Stop ended it, or "length".
	Finish string
	// Tokens is how many were made, with one that ends the text.
	Tokens int

	model   *Model
	options Generation
	sampler *Sampler
	stream  *tokenizer.Stream
	stop    stopper
	held    *held // by a grammar; or nil
}

// NewReply begins a reply to tokens that are read elsewhere.
func (m *Model) NewReply(prompt []int, o Generation) (*Reply, error) {
	if m.Tokenizer == nil {
		return nil, errNoTokenizer
	}
	if len(prompt) == 0 {
		return nil, errors.New("llm: the prompt is empty, and the model has no token for a beginning")
	}
	r := &Reply{model: m, options: o, sampler: o.sampler(), stream: m.Tokenizer.Stream(), stop: stopper{stops: o.Stop}}
	var err error
	if o.Shift {
		err = m.keeps(o.Keep)
	}
	if err == nil {
		r.held, err = m.hold(o)
	}
	if err != nil {
		return nil, err
	}
	if r.held != nil {
		r.sampler = r.held.sampler(r.sampler)
	}
	r.sampler.Seen(prompt...)
	for _, id := range prompt { // a continuation may begin with a space
		r.stream.Next(id)
	}
	r.stream.Rest()
	return r, nil
}

// Next chooses the next token by its logits, and says which text it adds.
func (r *Reply) Next(logits []float32) (text string, token int, err error) {
	return r.Choose(context.Background(), logits)
}

// Choose is Next, of a grammar that may take long to ask: when ctx is done its error is returned, and the reply is of no more use.
func (r *Reply) Choose(ctx context.Context, logits []float32) (text string, token int, err error) {
	if r.held != nil {
		r.held.ctx = ctx
	}
	token, err = r.sampler.Next(logits)
	if r.held != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", token, err
	}
	r.Tokens++
	if r.model.ends(token) {
		text = r.Cut()
		r.Finish = "stop"
		return text, token, nil
	}
	text, done := r.stop.next(r.stream.Next(token))
	if done {
		r.Finish = "stop"
	} else if r.held.took(token) {
		text += r.Cut()
		r.Finish = "stop"
	} else if r.options.Tokens > 0 && r.Tokens >= r.options.Tokens {
		text += r.Cut()
	}
	return text, token, nil
}

// Cut ends a reply for which there is no room, and gives the rest of its text.
func (r *Reply) Cut() string {
	text, done := r.stop.next(r.stream.Rest())
	if !done {
		text += r.stop.held
	}
	if r.Finish = "length"; done {
		r.Finish = "stop"
	}
	return text
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

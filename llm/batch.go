package llm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/weft-ml/weft/tensor"
)

// Batch are texts that a model continues at the same time: a step reads the weights once for all of them. What a text is continued by does
// not depend on the others. A batch is for one goroutine.
type Batch struct {
	model          *Model
	caches         []cache
	sessions       []*Session
	at             []tensor.Variable // where the next token of each text stands
	text, from, to tensor.Variable   // of a chunk: its text, its first position, its last token
	step           *tensor.Captured  // one token of each text: one plan for all positions
	chunk, embed   *tensor.Captured  // some tokens of one text; made when they are needed
	ahead          *tensor.Captured  // a token and guesses, with the logits of each; likewise
	aheadAt        tensor.Variable
}

// MostTexts is how many texts a batch has at most.
const MostTexts = 256

// NewBatch makes room for n texts.
func (m *Model) NewBatch(ctx context.Context, n int) (*Batch, error) {
	c := m.Config
	if n < 1 || n > MostTexts {
		return nil, fmt.Errorf("llm: a batch of %d texts; it has 1 to %d", n, MostTexts)
	}
	b := &Batch{model: m, text: tensor.NewVariable("llm_text", 0, n-1), to: tensor.NewVariable("llm_last", 0, m.options.Chunk-1),
		from: tensor.NewVariable("llm_chunk_at", 0, c.Length-m.options.Chunk)}
	var all []*tensor.Tensor
	for range c.Layers {
		var kv [2]*tensor.Tensor
		for i := range kv {
			kv[i] = tensor.Zeros(n, c.rows(), c.KVHeads, c.Head)
			if m.options.Device != "" {
				kv[i] = kv[i].On(m.options.Device)
			}
			kv[i] = kv[i].Own()
			all = append(all, kv[i])
		}
		b.caches = append(b.caches, cache{kv[0], kv[1]})
	}
	if err := tensor.Realize(ctx, all...); err != nil {
		return nil, fmt.Errorf("llm: caches for %d texts of %d positions: %w", n, c.Length, err)
	}
	var parts []part
	for i := range n {
		at := tensor.NewVariable(fmt.Sprintf("llm_at_%d", i), 0, c.rows()-1)
		b.at, parts = append(b.at, at), append(parts, part{i, at, 1})
		b.sessions = append(b.sessions, &Session{batch: b, index: i})
	}
	var err error
	b.step, err = b.capture(ctx, n, func(ids *tensor.Tensor) *tensor.Tensor { return m.logits(m.hidden(ids, b.caches, parts)) })
	return b, err
}

// Session is the i-th text.
func (b *Batch) Session(i int) *Session { return b.sessions[i] }

// Size is of how many texts the batch is.
func (b *Batch) Size() int { return len(b.sessions) }

// capture records a plan for n tokens.
func (b *Batch) capture(ctx context.Context, n int, f func(ids *tensor.Tensor) *tensor.Tensor) (*tensor.Captured, error) {
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(in[0])} }, b.model.ids(make([]int, n)))
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	return c, nil
}

func (m *Model) ids(tokens []int) *tensor.Tensor {
	wide := make([]int32, len(tokens))
	for i, t := range tokens {
		wide[i] = int32(t)
	}
	t := tensor.From(wide)
	if d := m.options.Device; d != "" {
		t = t.On(d)
	}
	return t
}

// Turn is the next token of a text.
type Turn struct {
	Session *Session
	Token   int
}

// Step reads the next token of some of the texts, after which their Logits are those of what follows.
func (b *Batch) Step(ctx context.Context, turns []Turn) error {
	tokens := make([]int, len(b.sessions))
	seen := map[*Session]bool{}
	for _, t := range turns {
		if t.Session.batch != b || seen[t.Session] {
			return errors.New("llm: a step of a text of another batch, or of one twice")
		}
		if err := t.Session.fit([]int{t.Token}); err != nil {
			return err
		}
		seen[t.Session], tokens[t.Session.index] = true, t.Token
	}
	values := tensor.Values{}
	for i, s := range b.sessions { // what the others write lies behind their texts, and is written again before it is read
		values[b.at[i]], s.ahead = len(s.text), ahead{}
	}
	rows, err := b.run(ctx, b.step, values, tokens)
	if err != nil {
		return err
	}
	for _, t := range turns {
		s := t.Session
		vocab := b.model.Config.Vocab
		s.logits = rows[s.index*vocab:][:vocab:vocab]
		s.text = append(s.text, t.Token)
	}
	return nil
}

// read reads a chunk of a text. One that is not full is filled up: what its last rows write into the caches lies behind the text and is
// written again before it is read.
func (b *Batch) read(ctx context.Context, s *Session, tokens []int) error {
	s.ahead = ahead{}
	size := b.model.options.Chunk
	if b.chunk == nil {
		var err error
		b.chunk, err = b.capture(ctx, size, func(ids *tensor.Tensor) *tensor.Tensor {
			return b.model.logits(b.model.hidden(ids, b.caches, []part{{b.text, b.from, size}}).Narrow(0, b.to, 1))
		})
		if err != nil {
			return err
		}
	}
	filled := append(append([]int(nil), tokens...), make([]int, size-len(tokens))...)
	logits, err := b.run(ctx, b.chunk, tensor.Values{b.text: s.index, b.from: len(s.text), b.to: len(tokens) - 1}, filled)
	if err != nil {
		return fmt.Errorf("%w (position %d)", err, len(s.text))
	}
	s.logits = logits
	s.text = append(s.text, tokens...)
	return nil
}

// run runs a plan and gives what it computed.
func (b *Batch) run(ctx context.Context, f *tensor.Captured, values tensor.Values, tokens []int) ([]float32, error) {
	outs, err := f.With(values).Run(ctx, b.model.ids(tokens))
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	raw, err := outs[0].Bytes(ctx)
	if err != nil {
		return nil, fmt.Errorf("llm: %w", err)
	}
	out := make([]float32, len(raw)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return out, nil
}

// Embed is the mean of what the model's last layer says of each token of a text, of length 1: [dim]. The session is reset, and reads the
// text.
func (s *Session) Embed(ctx context.Context, tokens []int) ([]float32, error) {
	b, size, dim := s.batch, s.batch.model.options.Chunk, s.batch.model.Config.Dim
	s.Reset()
	if len(tokens) == 0 {
		return nil, errors.New("llm: no tokens to embed")
	}
	if err := s.fit(tokens); err != nil {
		return nil, err
	}
	if b.embed == nil {
		var err error
		b.embed, err = b.capture(ctx, size, func(ids *tensor.Tensor) *tensor.Tensor {
			return b.model.hidden(ids, b.caches, []part{{b.text, b.from, size}})
		})
		if err != nil {
			return nil, err
		}
	}
	sum := make([]float64, dim)
	for at := 0; at < len(tokens); {
		begin := min(at, b.model.Config.Length-size) // at the end of the room some tokens are read again
		n := min(len(tokens)-begin, size)
		filled := append(append([]int(nil), tokens[begin:][:n]...), make([]int, size-n)...)
		rows, err := b.run(ctx, b.embed, tensor.Values{b.text: s.index, b.from: begin}, filled)
		if err != nil {
			return nil, err
		}
		for i, x := range rows[(at-begin)*dim : n*dim] {
			sum[i%dim] += float64(x)
		}
		at = begin + n
	}
	s.text = append(s.text, tokens...)
	square := 0.0
	for _, x := range sum {
		square += x * x
	}
	if !(square > 0) || math.IsInf(square, 0) {
		return nil, errors.New("llm: the model says nothing of the text, or no numbers: its weights are broken")
	}
	out := make([]float32, dim)
	for i, x := range sum {
		out[i] = float32(x / math.Sqrt(square))
	}
	return out, nil
}

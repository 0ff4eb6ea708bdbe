package llm

import (
	"context"

	"github.com/weft-ml/weft/llm/grammar"
)

// held is a text that a grammar holds.
type held struct {
	model *Model
	state *grammar.State
	first [256]bool       // bytes that may follow
	ctx   context.Context // of the token that is chosen; nil: it may take any time
}

// hold begins a text of a grammar; nil: there is none.
func (m *Model) hold(o Generation) (*held, error) {
	if o.Grammar == nil {
		return nil, nil
	}
	if m.Tokenizer == nil {
		return nil, errNoTokenizer
	}
	h := &held{model: m, state: o.Grammar.Start()}
	h.first = h.state.First()
	return h, nil
}

// sampler is one that chooses nothing else.
func (h *held) sampler(of *Sampler) *Sampler {
	s := *of
	s.Allow = func(token int) bool { return h.allows(token) && (of.Allow == nil || of.Allow(token)) }
	return &s
}

// allows says whether a token may follow: one that ends a text where it is whole, one with a text that goes on as the grammar does. When the time
// is over none may.
func (h *held) allows(token int) bool {
	if h.ctx != nil && h.ctx.Err() != nil {
		return false
	}
	if h.model.ends(token) {
		return h.state.Whole()
	}
	raw := h.model.Tokenizer.Bytes(token)
	if len(raw) == 0 || !h.first[raw[0]] {
		return false
	}
	_, ok := h.state.Next(raw)
	return ok
}

// took goes on by a token, and says whether nothing may follow.
func (h *held) took(token int) bool {
	if h == nil {
		return false
	}
	if next, ok := h.state.Next(h.model.Tokenizer.Bytes(token)); ok {
		h.state, h.first = next, next.First()
	}
	return h.state.Ended()
}

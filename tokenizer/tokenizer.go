// Package tokenizer makes tokens of text and text of tokens, as language models want them: byte pairs over bytes with the
// pre-tokenisers of GPT-2, Llama 3, Qwen and DeepSeek, SentencePiece's byte pairs and unigrams, and WordPiece, from tokenizer.json,
// GGUF files, and files of vocabularies.
//
// It refuses to know models. A file is not trusted, and what a file asks for and is not here is an error that names it: a tokenizer
// that is nearly right is worse than none.
//
//	t, err := tokenizer.Open("tokenizer.json")
//	ids, err := t.Encode("Hello world", tokenizer.Options{Special: true})
//	text := t.Decode(ids)
//	s := t.Stream()            // token by token; a character comes when it is whole
//	fmt.Print(s.Next(id))
package tokenizer

import (
	"fmt"
	"unicode/utf8"
)

// Tokenizer turns text into tokens and back. It may be used from several goroutines.
type Tokenizer struct {
	vocabulary  *vocabulary
	model       model
	normalisers []normaliser
	split       splitters
	raw, plain  *finder // added tokens of texts as they are, and as normalised
	special     map[int]bool
	literal     map[int]bool // tokens that are decoded as they are written
	before      []int        // tokens around a text
	after       []int
	decoder     decoder
	bos, eos    int
}

// Options are the options of Encode.
type Options struct {
	// Special puts the tokens around a text that models want: of its beginning, of its end.
	Special bool
	// Plain takes control tokens that a text names ("<|endoftext|>") as the text that they are, for text of strangers.
	Plain bool
}

// Error is what is wrong with a file, and where.
type Error struct {
	Path  string // the file
	Place string // part of it
	Cause string
	Err   error
}

func (e *Error) Error() string {
	s := "tokenizer: " + e.Path + ": "
	if e.Place != "" {
		s += e.Place + ": "
	}
	s += e.Cause
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Size is one more than the greatest id.
func (t *Tokenizer) Size() int { return len(t.vocabulary.list) }

// Token is the token of an id, as the vocabulary writes it; "" where there is none.
func (t *Tokenizer) Token(id int) string {
	if id < 0 || id >= len(t.vocabulary.list) {
		return ""
	}
	return t.vocabulary.list[id]
}

// ID is the id of a token; ok is false where there is none.
func (t *Tokenizer) ID(token string) (id int, ok bool) {
	id, ok = t.vocabulary.ids[token]
	return id, ok
}

// BOS is the token of a beginning; −1: there is none.
func (t *Tokenizer) BOS() int { return t.bos }

// EOS is the token of an end; −1: there is none, or the file does not say.
func (t *Tokenizer) EOS() int { return t.eos }

// Special says whether a token is one of control, which Decode leaves out.
func (t *Tokenizer) Special(id int) bool { return t.special[id] }

// Encode makes tokens of a text. Bytes that are not UTF-8 are tokens where the vocabulary has bytes.
func (t *Tokenizer) Encode(text string, o Options) ([]int, error) {
	var out []int
	if o.Special {
		out = append(out, t.before...)
	}
	var err error
	sections(t.raw, text, !o.Plain, func(part piece, a *added) {
		if a != nil {
			out = append(out, a.id)
			return
		}
		first := part.first
		sections(t.plain, normalised(t.normalisers, part.text), !o.Plain, func(part piece, a *added) {
			if a != nil {
				out = append(out, a.id)
				return
			}
			part.first = part.first && first
			if e := t.split.split(part, func(p piece) { out = t.model.encode(p.text, out) }); e != nil && err == nil {
				err = e
			}
		})
	})
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	if o.Special {
		out = append(out, t.after...)
	}
	return out, nil
}

// sections cuts a text at added tokens.
func sections(f *finder, text string, special bool, do func(part piece, a *added)) {
	for at := 0; at < len(text); {
		a, begin, end := f.find(text, at, special)
		if begin > at {
			do(piece{text[at:begin], at == 0}, nil)
		}
		if a != nil {
			do(piece{}, a)
		}
		at = end
	}
}

// Decode makes text of tokens, without those of control. Bytes that are no UTF-8 become U+FFFD, one for each part that could
// have begun a character.
func (t *Tokenizer) Decode(ids []int) string {
	s := t.Stream()
	var out []byte
	for _, id := range ids {
		out = append(out, s.Next(id)...)
	}
	return string(append(out, s.Rest()...))
}

// Bytes are those that a token adds to a text that has begun; none for tokens of control and numbers that are no token.
func (t *Tokenizer) Bytes(id int) []byte {
	if id < 0 || id >= len(t.vocabulary.list) || t.special[id] {
		return nil
	}
	if token := t.vocabulary.list[id]; !t.literal[id] {
		return t.decoder.bytes(token, &decoding{begun: true, trimmed: true})
	}
	return []byte(t.vocabulary.list[id])
}

// Stream makes text of tokens that come one by one. It is for one text and one goroutine.
type Stream struct {
	t       *Tokenizer
	state   decoding
	pending []byte
}

// Stream begins a text.
func (t *Tokenizer) Stream() *Stream { return &Stream{t: t} }

// Next gives the text that a token adds: whole characters, "" where the last one is not whole yet. All that Next and Rest give is what Decode
// gives.
func (s *Stream) Next(id int) string {
	t := s.t
	if id < 0 || id >= len(t.vocabulary.list) || t.special[id] {
		return ""
	}
	token := t.vocabulary.list[id]
	if t.literal[id] {
		s.pending = append(s.pending, s.state.literal(token)...)
	} else {
		s.pending = append(s.pending, t.decoder.bytes(token, &s.state)...)
	}
	whole := wholeCharacters(s.pending)
	out := lossy(s.pending[:whole])
	s.pending = append(s.pending[:0], s.pending[whole:]...)
	return out
}

// Rest gives what is left at the end: U+FFFD where the last character is not whole.
func (s *Stream) Rest() string {
	out := lossy(s.pending)
	s.pending = nil
	return out
}

// wholeCharacters is how many bytes come before a last character that could still become whole.
func wholeCharacters(b []byte) int {
	for back := 1; back <= min(3, len(b)); back++ {
		if at := len(b) - back; b[at] >= 0xc0 {
			if beginsCharacter(b[at:]) == back && !utf8.FullRune(b[at:]) {
				return at
			}
			break
		}
	}
	return len(b)
}

// beginsCharacter is how many bytes are the beginning of a character: what Unicode (3.9, table 3-7) calls a maximal subpart.
func beginsCharacter(b []byte) int {
	low, high, size := byte(0x80), byte(0xbf), 0
	switch c := b[0]; {
	case c >= 0xc2 && c <= 0xdf:
		size = 2
	case c >= 0xe0 && c <= 0xef:
		size = 3
		if c == 0xe0 {
			low = 0xa0
		} else if c == 0xed {
			high = 0x9f
		}
	case c >= 0xf0 && c <= 0xf4:
		size = 4
		if c == 0xf0 {
			low = 0x90
		} else if c == 0xf4 {
			high = 0x8f
		}
	default:
		return 1
	}
	n := 1
	for n < size && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}

// lossy is bytes as text; each part that is no character is one U+FFFD.
func lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out []byte
	for len(b) > 0 {
		if r, n := utf8.DecodeRune(b); r != utf8.RuneError || n > 1 {
			out = append(out, b[:n]...)
			b = b[n:]
			continue
		}
		out = append(out, "\ufffd"...)
		b = b[beginsCharacter(b):]
	}
	return string(out)
}

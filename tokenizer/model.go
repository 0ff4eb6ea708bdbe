package tokenizer

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// vocabulary are tokens by id. Ids may have holes, which are "".
type vocabulary struct {
	list []string
	ids  map[string]int
}

func (v *vocabulary) id(token string) int {
	if id, ok := v.ids[token]; ok {
		return id
	}
	return -1
}

// byteToken is how vocabularies write a byte that no token has.
func byteToken(b byte) string { return fmt.Sprintf("<0x%02X>", b) }

// byteTokens are the ids of the bytes, or nil where one is missing.
func (v *vocabulary) byteTokens() *[256]int {
	var out [256]int
	for b := range 256 {
		if out[b] = v.id(byteToken(byte(b))); out[b] < 0 {
			return nil
		}
	}
	return &out
}

// model makes tokens of a piece.
type model interface {
	encode(piece string, out []int) []int
}

// unknown is what becomes of characters that no token has: bytes, or the token for them, several in a row perhaps as one.
type unknown struct {
	bytes *[256]int // nil: not
	id    int       // −1: they go
	fuse  bool
}

func (u unknown) append(out []int, text string, before bool) []int {
	if u.bytes != nil {
		for i := range len(text) {
			out = append(out, u.bytes[text[i]])
		}
		return out
	}
	if u.id < 0 || u.fuse && before {
		return out
	}
	return append(out, u.id)
}

// merged joins by a list of pairs, in its order (Sennrich and others, 2016).
type merged struct {
	vocabulary *vocabulary
	pairs      map[[2]int32]joint
	whole      bool // a piece that is a token is taken as it is
	unknown    unknown
}

type joint struct{ rank, to int32 }

func (m *merged) encode(text string, out []int) []int {
	if m.whole {
		if id := m.vocabulary.id(text); id >= 0 {
			return append(out, id)
		}
	}
	ids := make([]int, 0, len(text))
	before := false // an unknown character
	for i, r := range text {
		c := text[i : i+runeLen(r, text[i:])]
		id := m.vocabulary.id(c)
		if id >= 0 {
			ids = append(ids, id)
		} else {
			ids = m.unknown.append(ids, c, before)
		}
		before = id < 0
	}
	j := merger{pair: func(a, b int) (int, float64, bool) {
		p, ok := m.pairs[[2]int32{int32(a), int32(b)}]
		return int(p.to), float64(p.rank), ok
	}}
	return append(out, j.join(ids)...)
}

// scored joins neighbours whose text is a token, the best score first: byte pairs of SentencePiece (Kudo and Richardson, 2018).
type scored struct {
	vocabulary *vocabulary
	scores     []float32
	unknown    unknown
}

func (m *scored) encode(text string, out []int) []int {
	// Characters that are no tokens have ids behind the vocabulary's while they may still become part of one.
	var own []string
	n := len(m.vocabulary.list)
	token := func(id int) string {
		if id < n {
			return m.vocabulary.list[id]
		}
		return own[id-n]
	}
	ids := make([]int, 0, len(text))
	for i, r := range text {
		c := text[i : i+runeLen(r, text[i:])]
		id := m.vocabulary.id(c)
		if id < 0 {
			id = n + len(own)
			own = append(own, c)
		}
		ids = append(ids, id)
	}
	j := merger{pair: func(a, b int) (int, float64, bool) {
		id := m.vocabulary.id(token(a) + token(b))
		if id < 0 {
			return 0, 0, false
		}
		return id, -float64(m.scores[id]), true
	}}
	before := false
	for _, id := range j.join(ids) {
		if id < n {
			out = append(out, id)
		} else {
			out = m.unknown.append(out, own[id-n], before)
		}
		before = id >= n
	}
	return out
}

// likeliest takes the tokens whose scores, logarithms of probabilities, have the greatest sum (Kudo, 2018).
type likeliest struct {
	vocabulary *vocabulary
	scores     []float64
	unknown    unknown
	least      float64 // of the scores
	longest    int     // bytes of a token
}

func (m *likeliest) encode(text string, out []int) []int {
	type node struct {
		from, id int // −1: an unknown character
		score    float64
		set      bool
	}
	best := make([]node, len(text)+1)
	best[0].set = true
	offer := func(to, from, id int, score float64) {
		if score += best[from].score; !best[to].set || score > best[to].score {
			best[to] = node{from, id, score, true}
		}
	}
	for i, r := range text {
		size := runeLen(r, text[i:])
		alone := false
		for n := size; n <= min(m.longest, len(text)-i); n++ {
			if i+n < len(text) && !utf8.RuneStart(text[i+n]) {
				continue
			}
			if id := m.vocabulary.id(text[i : i+n]); id >= 0 && id != m.unknown.id {
				offer(i+n, i, id, m.scores[id])
				alone = alone || n == size
			}
		}
		if !alone {
			offer(i+size, i, -1, m.least-10)
		}
	}
	var path []node
	for at := len(text); at > 0; at = best[at].from {
		path = append(path, best[at])
	}
	before, at := false, 0
	for i := len(path) - 1; i >= 0; i-- {
		end := len(text)
		if i > 0 {
			end = path[i-1].from
		}
		if path[i].id >= 0 {
			out = append(out, path[i].id)
		} else {
			out = m.unknown.append(out, text[at:end], before)
		}
		before, at = path[i].id < 0, end
	}
	return out
}

// longestFirst takes the longest token at each place: WordPiece. Tokens within a word begin with a mark.
type longestFirst struct {
	vocabulary *vocabulary
	mark       string
	unknown    int
	limit      int // characters of a word; more are unknown
	longest    int // bytes of a token
}

func (m *longestFirst) encode(text string, out []int) []int {
	if utf8.RuneCountInString(text) > m.limit {
		return append(out, m.unknown)
	}
	begin := len(out)
	for at := 0; at < len(text); {
		mark := ""
		if at > 0 {
			mark = m.mark
		}
		end := min(len(text), at+m.longest)
		for end > at {
			if id := m.vocabulary.id(mark + text[at:end]); id >= 0 && (end == len(text) || utf8.RuneStart(text[end])) {
				out = append(out, id)
				break
			}
			end--
		}
		if end == at {
			return append(out[:begin], m.unknown)
		}
		at = end
	}
	return out
}

// longestOf is the length of the longest token.
func longestOf(list []string) int {
	n := 0
	for _, s := range list {
		n = max(n, len(s))
	}
	return n
}

// splitMerge cuts a pair of a file, "a b".
func splitMerge(line string) (a, b string, ok bool) {
	a, b, ok = strings.Cut(line, " ")
	return a, b, ok && a != "" && b != ""
}

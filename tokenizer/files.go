package tokenizer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weft-ml/weft/weights/gguf"
)

// FromBPE reads GPT-2's two files: encoder.json (vocab.json), ids by token, and vocab.bpe (merges.txt), pairs in their order. Path names them
// in errors.
func FromBPE(path string, encoder, merges []byte) (*Tokenizer, error) {
	fail := func(err error) (*Tokenizer, error) { return nil, &Error{Path: path, Cause: "cannot be used", Err: err} }
	var ids map[string]int
	if err := json.Unmarshal(encoder, &ids); err != nil {
		return fail(err)
	}
	v, err := newVocabulary(ids)
	if err != nil {
		return fail(err)
	}
	var lists [][]string
	for i, line := range strings.Split(strings.TrimSuffix(string(merges), "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		if i == 0 && strings.HasPrefix(line, "#version") || line == "" {
			continue
		}
		a, b, ok := splitMerge(line)
		if !ok {
			return fail(fmt.Errorf("line %d of the merges is %.64q, not two tokens", i+1, line))
		}
		lists = append(lists, []string{a, b})
	}
	return byteLevel(path, v, lists, "gpt-2", "<|endoftext|>")
}

// byteLevel makes a tokenizer of bytes and pairs.
func byteLevel(path string, v *vocabulary, merges [][]string, name string, specials ...string) (*Tokenizer, error) {
	split, ok := family(name)
	if !ok {
		known := slices.Sorted(maps.Keys(families))
		return nil, &Error{Path: path, Place: "tokenizer.ggml.pre", Cause: fmt.Sprintf("the pre-tokeniser %.64q is not known; %s are", name, strings.Join(known, ", "))}
	}
	pairs, err := joints(v, merges)
	if err != nil {
		return nil, &Error{Path: path, Place: "merges", Cause: "cannot be used", Err: err}
	}
	t := &Tokenizer{vocabulary: v, model: &merged{vocabulary: v, pairs: pairs, whole: wholes[name], unknown: unknown{id: -1}}, split: split,
		special: map[int]bool{}, literal: map[int]bool{}, decoder: decodeLetters{}, bos: -1, eos: -1}
	var list []added
	for _, s := range specials {
		if id := v.id(s); id >= 0 {
			t.special[id] = true
			list = append(list, added{id: id, special: true, text: s})
			t.bos, t.eos = id, id
		}
	}
	t.raw, t.plain = newFinder(list), newFinder(nil)
	return t, nil
}

// FromLlama2c reads a tokenizer.bin of llama2.c: the length of the longest token, and for each a score, a length and the bytes, of which there
// are as many as the file has. Tokens 0, 1 and 2 are those for the unknown, the beginning and the end.
func FromLlama2c(path string, raw []byte) (*Tokenizer, error) {
	fail := func(at int, cause string) (*Tokenizer, error) {
		return nil, &Error{Path: path, Place: fmt.Sprintf("byte %d", at), Cause: cause}
	}
	if len(raw) < 4 {
		return fail(0, "truncated")
	}
	longest := binary.LittleEndian.Uint32(raw)
	v := &vocabulary{ids: map[string]int{}}
	var scores []float32
	for at := 4; at < len(raw); {
		if len(raw)-at < 8 {
			return fail(at, "truncated")
		}
		score, n := math.Float32frombits(binary.LittleEndian.Uint32(raw[at:])), binary.LittleEndian.Uint32(raw[at+4:])
		if n > longest || uint64(n) > uint64(len(raw)-at-8) {
			return fail(at, fmt.Sprintf("token %d has %d bytes: the longest should have %d, and %d are left", len(v.list), n, longest, len(raw)-at-8))
		}
		if score != score || math.IsInf(float64(score), 0) {
			return fail(at, fmt.Sprintf("token %d has the score %v", len(v.list), score))
		}
		token := strings.ReplaceAll(string(raw[at+8:][:n]), " ", "▁")
		if _, twice := v.ids[token]; !twice { // llama2.c finds the first
			v.ids[token] = len(v.list)
		}
		v.list = append(v.list, token)
		scores = append(scores, score)
		at += 8 + int(n)
	}
	if len(v.list) < 3 || v.byteTokens() == nil {
		return fail(len(raw), fmt.Sprintf("%d tokens, and not one for each byte (<0x00> …)", len(v.list)))
	}
	t := spaced(v, scores, 0)
	t.special = map[int]bool{1: true, 2: true}
	t.before, t.bos, t.eos = []int{1}, 1, 2
	return t, nil
}

// spaced makes a tokenizer of SentencePiece's byte pairs: spaces are ▁, and one stands before the text.
func spaced(v *vocabulary, scores []float32, unk int) *Tokenizer {
	return &Tokenizer{vocabulary: v, model: &scored{v, scores, unknown{bytes: v.byteTokens(), id: unk}},
		split: splitters{metaspace{mark: "▁", first: true, twice: true}}, special: map[int]bool{}, literal: map[int]bool{}, raw: newFinder(nil), plain: newFinder(nil),
		decoder: decodeSpaces{mark: "▁", trim: true, fallback: true}, bos: -1, eos: -1}
}

// Kinds of tokens in GGUF files.
const (
	kindUnknown = 2
	kindControl = 3
	kindUser    = 4
)

// jsonKey has a whole tokenizer.json, as the description of the format allows.
const jsonKey = "tokenizer.huggingface.json"

// InGGUF says whether a GGUF file has a tokenizer.
func InGGUF(f *gguf.File) bool { return f.Has("tokenizer.ggml.model") || f.Has(jsonKey) }

// FromGGUF makes a tokenizer of the metadata of a GGUF file: of its lists, or of a tokenizer.json that is there in place of them.
func FromGGUF(f *gguf.File) (*Tokenizer, error) {
	name, ok := f.Text("tokenizer.ggml.model")
	fail := func(place, cause string, err error) (*Tokenizer, error) {
		return nil, &Error{Path: f.Path(), Place: place, Cause: cause, Err: err}
	}
	if raw, whole := f.Text(jsonKey); !ok && whole {
		return FromJSON(f.Path()+": "+jsonKey, []byte(raw))
	}
	if !ok {
		return fail("tokenizer.ggml.model", "is not in the metadata: the file has no tokenizer", nil)
	}
	list, err := f.Texts("tokenizer.ggml.tokens")
	if err != nil {
		return nil, err
	}
	v := &vocabulary{list, make(map[string]int, len(list))}
	for id, token := range list {
		if !utf8.ValidString(token) {
			return fail("tokenizer.ggml.tokens", fmt.Sprintf("token %d is not valid UTF-8", id), nil)
		}
		if _, twice := v.ids[token]; !twice {
			v.ids[token] = id
		}
	}
	var t *Tokenizer
	switch name {
	case "gpt2":
		t, err = ggufBPE(f, v)
	case "llama":
		t, err = ggufScored(f, v)
	case "t5":
		t, err = ggufUnigram(f, v)
	case "bert":
		t, err = ggufWords(f, v)
	default:
		return fail("tokenizer.ggml.model", fmt.Sprintf("%.32q is not known; gpt2, llama, t5 and bert are", name), nil)
	}
	if err != nil {
		return nil, err
	}
	if err := t.ggufSpecials(f, name); err != nil {
		return nil, err
	}
	return t, nil
}

// ggufSpecials reads the kinds of tokens, and which stand around a text.
func (t *Tokenizer) ggufSpecials(f *gguf.File, model string) error {
	kinds := make([]int64, len(t.vocabulary.list))
	if f.Has("tokenizer.ggml.token_type") {
		var err error
		if kinds, err = f.Ints("tokenizer.ggml.token_type"); err != nil {
			return err
		}
		if len(kinds) != len(t.vocabulary.list) {
			return &Error{Path: f.Path(), Place: "tokenizer.ggml.token_type", Cause: fmt.Sprintf("%d kinds of %d tokens", len(kinds), len(t.vocabulary.list))}
		}
	}
	var list []added
	for id, kind := range kinds {
		text := t.vocabulary.list[id]
		if text == "" || kind != kindControl && kind != kindUser && kind != kindUnknown {
			continue
		}
		t.special[id] = kind != kindUser
		t.literal[id] = kind == kindUser
		if kind != kindUnknown {
			list = append(list, added{id: id, special: kind == kindControl, text: text})
		}
	}
	t.raw = newFinder(list)
	pre, _ := f.Text("tokenizer.ggml.pre")
	for _, end := range []struct {
		key, add string
		into     *int
		around   *[]int
		usual    bool
	}{
		{"tokenizer.ggml.bos_token_id", "tokenizer.ggml.add_bos_token", &t.bos, &t.before, model == "llama" || model == "bert" || wholes[pre]},
		{"tokenizer.ggml.eos_token_id", "tokenizer.ggml.add_eos_token", &t.eos, &t.after, model == "t5"},
	} {
		id, ok := f.Int(end.key)
		if !ok {
			continue
		}
		if id < 0 || id >= int64(len(t.vocabulary.list)) {
			return &Error{Path: f.Path(), Place: end.key, Cause: fmt.Sprintf("is %d, of %d tokens", id, len(t.vocabulary.list))}
		}
		*end.into = int(id)
		if add, ok := f.Bool(end.add); ok && add || !ok && end.usual {
			*end.around = []int{int(id)}
		}
	}
	if sep, ok := f.Int("tokenizer.ggml.seperator_token_id"); ok && model == "bert" { // as the format spells it
		if sep < 0 || sep >= int64(len(t.vocabulary.list)) {
			return &Error{Path: f.Path(), Place: "tokenizer.ggml.seperator_token_id", Cause: fmt.Sprintf("is %d, of %d tokens", sep, len(t.vocabulary.list))}
		}
		t.after = []int{int(sep)}
	}
	return nil
}

func ggufBPE(f *gguf.File, v *vocabulary) (*Tokenizer, error) {
	lines, err := f.Texts("tokenizer.ggml.merges")
	if err != nil {
		return nil, err
	}
	lists := make([][]string, len(lines))
	for i, line := range lines {
		a, b, ok := splitMerge(line)
		if !ok {
			return nil, &Error{Path: f.Path(), Place: "tokenizer.ggml.merges", Cause: fmt.Sprintf("merge %d is %.64q, not two tokens", i, line)}
		}
		lists[i] = []string{a, b}
	}
	pre, ok := f.Text("tokenizer.ggml.pre")
	if !ok {
		pre = "default"
	}
	return byteLevel(f.Path(), v, lists, pre)
}

// ggufScores are the scores of the tokens.
func ggufScores(f *gguf.File, v *vocabulary) ([]float32, error) {
	scores, err := f.Floats("tokenizer.ggml.scores")
	if err != nil {
		return nil, err
	}
	if len(scores) != len(v.list) {
		err = fmt.Errorf("%d scores of %d tokens", len(scores), len(v.list))
	}
	for i, s := range scores {
		if s != s || math.IsInf(float64(s), 0) {
			err = errors.Join(err, fmt.Errorf("token %d has the score %v", i, s))
			break
		}
	}
	if err != nil {
		return nil, &Error{Path: f.Path(), Place: "tokenizer.ggml.scores", Cause: "cannot be used", Err: err}
	}
	return scores, nil
}

func ggufScored(f *gguf.File, v *vocabulary) (*Tokenizer, error) {
	scores, err := ggufScores(f, v)
	if err != nil {
		return nil, err
	}
	unk := -1
	if id, ok := f.Int("tokenizer.ggml.unknown_token_id"); ok && id >= 0 && id < int64(len(v.list)) {
		unk = int(id)
	}
	t := spaced(v, scores, unk)
	if add, ok := f.Bool("tokenizer.ggml.add_space_prefix"); ok && !add {
		t.split = splitters{metaspace{mark: "▁"}}
		t.decoder = decodeSpaces{mark: "▁", fallback: true}
	}
	return t, nil
}

func ggufUnigram(f *gguf.File, v *vocabulary) (*Tokenizer, error) {
	if f.Has("tokenizer.ggml.precompiled_charsmap") {
		return nil, &Error{Path: f.Path(), Place: "tokenizer.ggml.precompiled_charsmap", Cause: "a compiled table of characters is not read"}
	}
	scores, err := ggufScores(f, v)
	if err != nil {
		return nil, err
	}
	wide := make([]float64, len(scores))
	for i, s := range scores {
		wide[i] = float64(s)
	}
	unk := int64(-1)
	if id, ok := f.Int("tokenizer.ggml.unknown_token_id"); ok {
		unk = id
	}
	t := spaced(v, scores, -1)
	if err := t.unigram(v.list, wide, int(max(min(unk, maxToken), -2)), false); err != nil {
		return nil, &Error{Path: f.Path(), Place: "tokenizer.ggml.tokens", Cause: "cannot be used", Err: err}
	}
	return t, nil
}

// ggufWords is WordPiece, whose tokens at the beginning of a word have a ▁ in GGUF files, and the others no mark.
func ggufWords(f *gguf.File, v *vocabulary) (*Tokenizer, error) {
	own := &vocabulary{make([]string, len(v.list)), make(map[string]int, len(v.list))}
	for id, token := range v.list {
		if rest, ok := strings.CutPrefix(token, "▁"); ok {
			token = rest
		} else if !strings.HasPrefix(token, "[") {
			token = "##" + token
		}
		own.list[id] = token
		if _, twice := own.ids[token]; !twice {
			own.ids[token] = id
		}
	}
	unk := own.id("[UNK]")
	if id, ok := f.Int("tokenizer.ggml.unknown_token_id"); ok {
		unk = int(id)
	}
	if unk < 0 || unk >= len(own.list) {
		return nil, &Error{Path: f.Path(), Place: "tokenizer.ggml.unknown_token_id", Cause: "is none of the tokens"}
	}
	return &Tokenizer{vocabulary: own, model: &longestFirst{own, "##", unk, 100, longestOf(own.list)}, normalisers: []normaliser{bert(true, true, true, true)},
		split: splitters{runs(words)}, special: map[int]bool{}, literal: map[int]bool{}, raw: newFinder(nil), plain: newFinder(nil),
		decoder: decodeWords{"##", true}, bos: -1, eos: -1}, nil
}

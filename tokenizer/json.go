package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-ml/weft/weights/gguf"
)

const (
	maxFile  = 256 << 20 // bytes
	maxToken = 1 << 24   // ids
)

// Open opens a tokenizer.json, a GGUF file, or a folder with a tokenizer.json.
func Open(path string) (*Tokenizer, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "tokenizer.json")
	}
	if strings.HasSuffix(path, ".gguf") {
		f, err := gguf.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return FromGGUF(f)
	}
	raw, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return FromJSON(path, raw)
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Path: path, Cause: "cannot open", Err: err}
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = fmt.Errorf("more than %d bytes", maxFile)
	}
	if err != nil {
		return nil, &Error{Path: path, Cause: "cannot read", Err: err}
	}
	return raw, nil
}

// part is an object of a tokenizer.json with a type: a component, or several.
type part struct {
	Type           string            `json:"type"`
	Normalizers    []json.RawMessage `json:"normalizers"`
	Pretokenizers  []json.RawMessage `json:"pretokenizers"`
	Processors     []json.RawMessage `json:"processors"`
	Decoders       []json.RawMessage `json:"decoders"`
	Prepend        string            `json:"prepend"`
	Pattern        *patternOf        `json:"pattern"`
	Content        string            `json:"content"`
	Behavior       string            `json:"behavior"`
	Invert         bool              `json:"invert"`
	StripLeft      bool              `json:"strip_left"`
	StripRight     bool              `json:"strip_right"`
	CleanText      bool              `json:"clean_text"`
	ChineseChars   bool              `json:"handle_chinese_chars"`
	StripAccents   *bool             `json:"strip_accents"`
	Lowercase      bool              `json:"lowercase"`
	AddPrefixSpace *bool             `json:"add_prefix_space"`
	UseRegex       *bool             `json:"use_regex"`
	Replacement    string            `json:"replacement"`
	PrependScheme  string            `json:"prepend_scheme"`
	Split          *bool             `json:"split"`
	Individual     bool              `json:"individual_digits"`
	Prefix         string            `json:"prefix"`
	Cleanup        bool              `json:"cleanup"`
	Start          int               `json:"start"`
	Stop           int               `json:"stop"`
	Single         []map[string]struct {
		ID string `json:"id"`
	} `json:"single"`
	Specials map[string]struct {
		IDs []int `json:"ids"`
	} `json:"special_tokens"`
	Sep json.RawMessage `json:"sep"`
	Cls json.RawMessage `json:"cls"`
}

type patternOf struct{ String, Regex *string }

// modelOf is the model of a tokenizer.json.
type modelOf struct {
	Type         string          `json:"type"`
	Vocab        json.RawMessage `json:"vocab"`
	Merges       json.RawMessage `json:"merges"`
	Unk          *string         `json:"unk_token"`
	UnkID        *int            `json:"unk_id"`
	Prefix       *string         `json:"continuing_subword_prefix"`
	Suffix       *string         `json:"end_of_word_suffix"`
	Fuse         bool            `json:"fuse_unk"`
	ByteFallback bool            `json:"byte_fallback"`
	IgnoreMerges bool            `json:"ignore_merges"`
	Dropout      *float64        `json:"dropout"`
	MaxChars     *int            `json:"max_input_chars_per_word"`
}

type addedOf struct {
	ID         int    `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// FromJSON reads a tokenizer.json; path names it in errors.
func FromJSON(path string, raw []byte) (*Tokenizer, error) {
	fail := func(place string, err error) (*Tokenizer, error) {
		return nil, &Error{Path: path, Place: place, Cause: "cannot be used", Err: err}
	}
	var file struct {
		Added      []addedOf       `json:"added_tokens"`
		Normalizer json.RawMessage `json:"normalizer"`
		Pre        json.RawMessage `json:"pre_tokenizer"`
		Post       json.RawMessage `json:"post_processor"`
		Decoder    json.RawMessage `json:"decoder"`
		Model      *modelOf        `json:"model"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return fail("", err)
	}
	if file.Model == nil {
		return fail("", errors.New("it has no model; is it a tokenizer.json?"))
	}
	t := &Tokenizer{special: map[int]bool{}, literal: map[int]bool{}, bos: -1, eos: -1}
	if err := t.readModel(file.Model); err != nil {
		return fail("model", err)
	}
	var err error
	if t.normalisers, err = normaliserOf(file.Normalizer, 0); err != nil {
		return fail("normalizer", err)
	}
	if t.split, err = splitterOf(file.Pre, 0); err != nil {
		return fail("pre_tokenizer", err)
	}
	if err := t.readAdded(file.Added); err != nil {
		return fail("added_tokens", err)
	}
	if err := t.readPost(file.Post, 0); err != nil {
		return fail("post_processor", err)
	}
	if t.decoder, err = decoderOf(file.Decoder); err != nil {
		return fail("decoder", err)
	}
	if len(t.before) > 0 {
		t.bos = t.before[0]
	}
	if len(t.after) > 0 {
		t.eos = t.after[len(t.after)-1]
	}
	return t, nil
}

// newVocabulary makes one of ids by token. Ids may have some holes.
func newVocabulary(ids map[string]int) (*vocabulary, error) {
	most := 0
	for token, id := range ids {
		if id < 0 || id >= maxToken || id > 2*len(ids)+4096 {
			return nil, fmt.Errorf("token %.64q has the id %d, of %d tokens", token, id, len(ids))
		}
		most = max(most, id+1)
	}
	v := &vocabulary{make([]string, most), ids}
	for token, id := range ids {
		if v.list[id] != "" {
			return nil, fmt.Errorf("tokens %.64q and %.64q have both the id %d", v.list[id], token, id)
		}
		v.list[id] = token
	}
	return v, nil
}

// add puts a token at an id.
func (v *vocabulary) add(token string, id int) error {
	if old, ok := v.ids[token]; ok && old != id {
		return fmt.Errorf("token %.64q has the ids %d and %d", token, old, id)
	}
	if id < 0 || id >= maxToken || id > len(v.list)+4096 {
		return fmt.Errorf("token %.64q has the id %d, and there are %d", token, id, len(v.list))
	}
	for len(v.list) <= id {
		v.list = append(v.list, "")
	}
	if v.list[id] != "" && v.list[id] != token {
		return fmt.Errorf("tokens %.64q and %.64q have both the id %d", v.list[id], token, id)
	}
	v.list[id], v.ids[token] = token, id
	return nil
}

func (t *Tokenizer) readAdded(all []addedOf) error {
	var raw, plain []added
	for _, a := range all {
		if a.Content == "" {
			return fmt.Errorf("token %d is empty", a.ID)
		}
		if err := t.vocabulary.add(a.Content, a.ID); err != nil {
			return err
		}
		token := added{a.ID, a.Special, a.LStrip, a.RStrip, a.SingleWord, a.Normalized, a.Content}
		if a.Special {
			t.special[a.ID] = true
		}
		if !a.Normalized {
			raw = append(raw, token)
		} else if token.text = normalised(t.normalisers, a.Content); token.text != "" {
			plain = append(plain, token)
		}
	}
	t.raw, t.plain = newFinder(raw), newFinder(plain)
	return nil
}

func (t *Tokenizer) readModel(m *modelOf) error {
	if m.Type == "" { // files of before 0.9
		m.Type = "BPE"
		if m.Merges == nil {
			m.Type = "WordPiece"
		}
	}
	switch m.Type {
	case "BPE":
		return t.readBPE(m)
	case "Unigram":
		return t.readUnigram(m)
	case "WordPiece":
		return t.readWordPiece(m)
	}
	return fmt.Errorf("type %.32q is not known; BPE, Unigram and WordPiece are", m.Type)
}

func (t *Tokenizer) readBPE(m *modelOf) error {
	if m.Dropout != nil && *m.Dropout != 0 {
		return errors.New("dropout is for training")
	}
	if m.Prefix != nil && *m.Prefix != "" || m.Suffix != nil && *m.Suffix != "" {
		return errors.New("continuing_subword_prefix and end_of_word_suffix are not read")
	}
	var ids map[string]int
	if err := json.Unmarshal(m.Vocab, &ids); err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	var err error
	if t.vocabulary, err = newVocabulary(ids); err != nil {
		return err
	}
	var lists [][]string
	if err := json.Unmarshal(m.Merges, &lists); err != nil {
		var lines []string
		if err := json.Unmarshal(m.Merges, &lines); err != nil {
			return fmt.Errorf("merges: %w", err)
		}
		lists = make([][]string, len(lines))
		for i, line := range lines {
			a, b, ok := splitMerge(line)
			if !ok {
				return fmt.Errorf("merge %d is %.64q, not two tokens", i, line)
			}
			lists[i] = []string{a, b}
		}
	}
	out := &merged{vocabulary: t.vocabulary, whole: m.IgnoreMerges, unknown: unknown{id: -1, fuse: m.Fuse}}
	if out.pairs, err = joints(t.vocabulary, lists); err != nil {
		return err
	}
	if m.Unk != nil {
		if out.unknown.id = t.vocabulary.id(*m.Unk); out.unknown.id < 0 {
			return fmt.Errorf("unk_token %.64q is not in the vocabulary", *m.Unk)
		}
	}
	if m.ByteFallback {
		out.unknown.bytes = t.vocabulary.byteTokens()
	}
	t.model = out
	return nil
}

// joints are merges by the ids of their tokens.
func joints(v *vocabulary, merges [][]string) (map[[2]int32]joint, error) {
	out := make(map[[2]int32]joint, len(merges))
	for i, pair := range merges {
		if len(pair) != 2 {
			return nil, fmt.Errorf("merge %d has %d tokens, not two", i, len(pair))
		}
		a, b, to := v.id(pair[0]), v.id(pair[1]), v.id(pair[0]+pair[1])
		if a < 0 || b < 0 || to < 0 {
			return nil, fmt.Errorf("merge %d, %.64q and %.64q: one of them, or both together, is not in the vocabulary", i, pair[0], pair[1])
		}
		key := [2]int32{int32(a), int32(b)}
		if _, twice := out[key]; !twice {
			out[key] = joint{int32(i), int32(to)}
		}
	}
	return out, nil
}

func (t *Tokenizer) readUnigram(m *modelOf) error {
	var rows [][2]json.RawMessage
	if err := json.Unmarshal(m.Vocab, &rows); err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	list, scores := make([]string, len(rows)), make([]float64, len(rows))
	for i, row := range rows {
		if err := errors.Join(json.Unmarshal(row[0], &list[i]), json.Unmarshal(row[1], &scores[i])); err != nil {
			return fmt.Errorf("vocab: token %d: %w", i, err)
		}
	}
	unk := -1
	if m.UnkID != nil {
		unk = *m.UnkID
	}
	return t.unigram(list, scores, unk, m.ByteFallback)
}

// unigram sets the model of tokens with scores.
func (t *Tokenizer) unigram(list []string, scores []float64, unk int, fallback bool) error {
	if unk < -1 || unk >= len(list) {
		return fmt.Errorf("the unknown token is number %d of %d", unk, len(list))
	}
	ids := make(map[string]int, len(list))
	least := 0.0
	for i, token := range list {
		if _, twice := ids[token]; twice || token == "" {
			return fmt.Errorf("token %d is %.64q, which is empty or occurs twice", i, token)
		}
		ids[token] = i
		if s := scores[i]; s != s || s > 1e30 || s < -1e30 {
			return fmt.Errorf("token %d has the score %v", i, s)
		}
		least = min(least, scores[i])
	}
	t.vocabulary = &vocabulary{list, ids}
	u := unknown{id: unk, fuse: true}
	if fallback {
		u.bytes = t.vocabulary.byteTokens()
	}
	t.model = &likeliest{t.vocabulary, scores, u, least, longestOf(list)}
	return nil
}

func (t *Tokenizer) readWordPiece(m *modelOf) error {
	var ids map[string]int
	if err := json.Unmarshal(m.Vocab, &ids); err != nil {
		return fmt.Errorf("vocab: %w", err)
	}
	var err error
	if t.vocabulary, err = newVocabulary(ids); err != nil {
		return err
	}
	out := &longestFirst{vocabulary: t.vocabulary, mark: "##", limit: 100, longest: longestOf(t.vocabulary.list)}
	unk := "[UNK]"
	if m.Unk != nil {
		unk = *m.Unk
	}
	if out.unknown = t.vocabulary.id(unk); out.unknown < 0 {
		return fmt.Errorf("unk_token %.64q is not in the vocabulary", unk)
	}
	if m.Prefix != nil {
		out.mark = *m.Prefix
	}
	if m.MaxChars != nil {
		out.limit = *m.MaxChars
	}
	t.model = out
	return nil
}

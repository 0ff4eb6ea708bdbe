package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tokenizers that the library tokenizers 0.23 trained give its tokens and its text. WEFT_TOKENIZERS names a folder of more of the same form.
func TestRecordedTokenizers(t *testing.T) {
	dir := "testdata"
	if other := os.Getenv("WEFT_TOKENIZERS"); other != "" {
		dir = other
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.vectors.json"))
	require.NoError(t, err)
	require.Len(t, files, 7)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			tok, err := Open(strings.TrimSuffix(file, ".vectors.json") + ".json")
			require.NoError(t, err)
			var cases [][4]json.RawMessage
			require.NoError(t, json.Unmarshal(read(t, file), &cases))
			require.NotEmpty(t, cases)
			for _, c := range cases {
				var text, decoded string
				var bare, full []int
				for i, into := range []any{&text, &bare, &full, &decoded} {
					require.NoError(t, json.Unmarshal(c[i], into))
				}
				got, err := tok.Encode(text, Options{})
				require.NoError(t, err)
				require.Equal(t, bare, append([]int{}, got...), "%+q", text)
				got, err = tok.Encode(text, Options{Special: true})
				require.NoError(t, err)
				require.Equal(t, full, append([]int{}, got...), "%+q", text)
				require.Equal(t, decoded, tok.Decode(got), "%+q", text)
				require.Equal(t, decoded, streamed(t, tok, got))
			}
		})
	}
}

// What a file asks for and is not here is an error that names it.
func TestJSONRefuses(t *testing.T) {
	bpe := `"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}`
	for name, c := range map[string]struct{ file, want string }{
		"empty":            {``, "unexpected end"},
		"no model":         {`{}`, "it has no model"},
		"model type":       {`{"model": {"type": "Magic"}}`, `model: cannot be used: type "Magic" is not known`},
		"vocab":            {`{"model": {"type": "BPE", "vocab": [], "merges": []}}`, "vocab:"},
		"huge id":          {`{"model": {"type": "BPE", "vocab": {"a": 4000000000}, "merges": []}}`, `token "a" has the id 4000000000, of 1 tokens`},
		"negative id":      {`{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}`, "has the id -1"},
		"id twice":         {`{"model": {"type": "BPE", "vocab": {"a": 1, "b": 1}, "merges": []}}`, "have both the id 1"},
		"merge":            {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}`, `merge 0, "a" and "b"`},
		"merge of one":     {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a"]}}`, `merge 0 is "a", not two tokens`},
		"merge of three":   {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "a", "a"]]}}`, "merge 0 has 3 tokens"},
		"dropout":          {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}}`, "dropout"},
		"suffix":           {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "end_of_word_suffix": "</w>"}}`, "end_of_word_suffix"},
		"unk":              {`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "unk_token": "u"}}`, `unk_token "u" is not in the vocabulary`},
		"NaN score":        {`{"model": {"type": "Unigram", "vocab": [["a", 1e400]]}}`, "token 0"},
		"token twice":      {`{"model": {"type": "Unigram", "vocab": [["a", 1], ["a", 1]]}}`, "occurs twice"},
		"unk id":           {`{"model": {"type": "Unigram", "unk_id": 7, "vocab": [["a", 1]]}}`, "the unknown token is number 7 of 1"},
		"word piece":       {`{"model": {"type": "WordPiece", "vocab": {"a": 0}}}`, `unk_token "[UNK]"`},
		"normalizer":       {`{"normalizer": {"type": "Precompiled"}, ` + bpe + `}`, `normalizer: cannot be used: type "Precompiled"`},
		"replace regex":    {`{"normalizer": {"type": "Replace", "pattern": {"Regex": "a"}, "content": ""}, ` + bpe + `}`, "a regular expression in Replace"},
		"pre-tokenizer":    {`{"pre_tokenizer": {"type": "Cut"}, ` + bpe + `}`, `pre_tokenizer: cannot be used: type "Cut"`},
		"regex":            {`{"pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(?<=a)"}}, ` + bpe + `}`, "is not understood"},
		"behavior":         {`{"pre_tokenizer": {"type": "Split", "behavior": "Contiguous", "pattern": {"Regex": "a"}}, ` + bpe + `}`, `behavior "Contiguous"`},
		"deep":             {`{"normalizer": ` + strings.Repeat(`{"type": "Sequence", "normalizers": [`, 20) + strings.Repeat(`]}`, 20) + `, ` + bpe + `}`, "nested too deep"},
		"post":             {`{"post_processor": {"type": "Stamp"}, ` + bpe + `}`, `post_processor: cannot be used: type "Stamp"`},
		"template":         {`{"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}], "special_tokens": {"x": {"ids": [99]}}}, ` + bpe + `}`, "token 99 is not in the vocabulary"},
		"decoder":          {`{"decoder": {"type": "CTC"}, ` + bpe + `}`, `decoder: cannot be used: type "CTC"`},
		"decoder sequence": {`{"decoder": {"type": "Sequence", "decoders": [{"type": "Strip", "content": "x", "start": 1, "stop": 0}]}, ` + bpe + `}`, "is not known"},
		"empty added":      {`{"added_tokens": [{"id": 5, "content": ""}], ` + bpe + `}`, "token 5 is empty"},
		"added far":        {`{"added_tokens": [{"id": 500000, "content": "x"}], ` + bpe + `}`, `token "x" has the id 500000`},
		"added twice":      {`{"added_tokens": [{"id": 1, "content": "x"}], ` + bpe + `}`, "have both the id 1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := FromJSON("x.json", []byte(c.file))
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.ErrorContains(t, err, "tokenizer: x.json: ")
			assert.ErrorContains(t, err, c.want)
		})
	}
	_, err := Open(t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzJSON(f *testing.F) {
	for _, name := range []string{"llama3", "llama2", "unigram", "bert"} {
		f.Add(string(read(f, filepath.Join("testdata", name+".json"))), "Hello  wörld <|end|> 12")
	}
	f.Add(`{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}}`, "abab")
	f.Fuzz(func(t *testing.T, file, text string) {
		tok, err := FromJSON("fuzz", []byte(file))
		if err != nil || len(text) > 1000 {
			return
		}
		ids, err := tok.Encode(text, Options{Special: true})
		if err != nil {
			return
		}
		for _, id := range ids {
			require.NotEmpty(t, tok.Token(id))
		}
		tok.Decode(ids)
	})
}

package tokenizer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// GGUF files of vocabularies that the library sentencepiece 0.2.3 trained give its tokens and its text. WEFT_SENTENCEPIECE names a
// folder of more of the same form.
func TestSentencePiece(t *testing.T) {
	dir := "testdata"
	if other := os.Getenv("WEFT_SENTENCEPIECE"); other != "" {
		dir = other
	}
	for _, kind := range []string{"bpe", "unigram"} {
		t.Run(kind, func(t *testing.T) {
			tok, err := Open(filepath.Join(dir, "spm-"+kind+".gguf"))
			require.NoError(t, err)
			var cases [][3]json.RawMessage
			require.NoError(t, json.Unmarshal(read(t, filepath.Join(dir, "spm-"+kind+".spm.json")), &cases))
			require.NotEmpty(t, cases)
			for _, c := range cases {
				var text, decoded string
				var want []int
				for i, into := range []any{&text, &want, &decoded} {
					require.NoError(t, json.Unmarshal(c[i], into))
				}
				got, err := tok.Encode(text, Options{})
				require.NoError(t, err)
				if m, ok := tok.model.(*likeliest); ok && !slices.Equal(want, got) {
					// The library adds in float32, which decides between ways that are equally likely.
					require.InDelta(t, m.sum(want), m.sum(got), 1e-4, "%+q", text)
					continue
				}
				require.Equal(t, want, append([]int{}, got...), "%+q", text)
				if kind == "bpe" {
					require.Equal(t, decoded, tok.Decode(got), "%+q", text)
				}
			}
		})
	}
}

// sum is the score of tokens.
func (m *likeliest) sum(ids []int) (sum float64) {
	for _, id := range ids {
		if id == m.unknown.id {
			sum += m.least - 10
		} else {
			sum += m.scores[id]
		}
	}
	return sum
}

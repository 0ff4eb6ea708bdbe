package tokenizer

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/weights/gguf"
)

func read(t testing.TB, path string) []byte {
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return raw
}

func gpt2(t testing.TB) *Tokenizer {
	dir := need.Data(t, "models", "gpt2-bpe")
	tok, err := FromBPE(dir, read(t, filepath.Join(dir, "encoder.json")), read(t, filepath.Join(dir, "vocab.bpe")))
	require.NoError(t, err)
	return tok
}

// streamed decodes token by token and looks that no character is split.
func streamed(t testing.TB, tok *Tokenizer, ids []int) string {
	s := tok.Stream()
	broken := strings.Contains(tok.Decode(ids), "\ufffd")
	var out strings.Builder
	for _, id := range ids {
		part := s.Next(id)
		require.True(t, utf8.ValidString(part) && (broken || !strings.Contains(part, "\ufffd")), "a character was split")
		out.WriteString(part)
	}
	out.WriteString(s.Rest())
	return out.String()
}

// The recorded vectors, from the vocabulary's files and from a GGUF file.
func TestGPT2Vectors(t *testing.T) {
	texts := strings.Split(string(read(t, need.Data(t, "models", "gguf", "ggml-vocab-gpt-2.gguf.inp"))), "\n__ggml_vocab_test__\n")
	lines := strings.Split(string(read(t, need.Data(t, "models", "gguf", "ggml-vocab-gpt-2.gguf.out"))), "\n")
	require.Len(t, lines, 47)
	require.Len(t, texts, 47)
	g, err := gguf.Open(need.Data(t, "models", "gguf", "ggml-vocab-gpt-2.gguf"))
	require.NoError(t, err)
	defer g.Close()
	fromGGUF, err := FromGGUF(g)
	require.NoError(t, err)
	for name, tok := range map[string]*Tokenizer{"files": gpt2(t), "gguf": fromGGUF} {
		assert.Equal(t, 50257, tok.Size())
		assert.Equal(t, 50256, tok.EOS())
		for i, text := range texts {
			want := []int{}
			for _, f := range strings.Fields(lines[i]) {
				n, err := strconv.Atoi(f)
				require.NoError(t, err)
				want = append(want, n)
			}
			got, err := tok.Encode(text, Options{})
			require.NoError(t, err)
			require.Equal(t, want, append([]int{}, got...), "%s: text %d %q", name, i, text)
			require.Equal(t, text, tok.Decode(got))
			require.Equal(t, text, streamed(t, tok, got))
		}
		ids, err := tok.Encode("a<|endoftext|>b", Options{})
		require.NoError(t, err)
		assert.Equal(t, []int{64, 50256, 65}, ids)
		assert.Equal(t, "ab", tok.Decode(ids), "control tokens are no text")
		ids, err = tok.Encode("a<|endoftext|>b", Options{Plain: true})
		require.NoError(t, err)
		assert.Equal(t, "a<|endoftext|>b", tok.Decode(ids))
		assert.NotContains(t, ids, 50256)
	}
}

func TestStories(t *testing.T) {
	tok, err := FromLlama2c("tok512.bin", read(t, need.Data(t, "models", "stories260k", "tok512.bin")))
	require.NoError(t, err)
	assert.Equal(t, 512, tok.Size())
	var ids []int
	for _, f := range strings.Fields(string(read(t, need.Data(t, "models", "stories260k", "greedy_tokens.txt")))) {
		n, err := strconv.Atoi(f)
		require.NoError(t, err)
		ids = append(ids, n)
	}
	text := strings.TrimSuffix(string(read(t, need.Data(t, "models", "stories260k", "greedy_text.txt"))), "\n")
	assert.Equal(t, text, strings.TrimSuffix(tok.Decode(ids), "\n"))
	again, err := tok.Encode(text, Options{Special: true})
	require.NoError(t, err)
	assert.Equal(t, text, tok.Decode(again))
	assert.Equal(t, 1, again[0])
	assert.Equal(t, "żółć 日本 🙂", tok.Decode(must(tok.Encode("żółć 日本 🙂", Options{}))))
}

func must(ids []int, err error) []int {
	if err != nil {
		panic(err)
	}
	return ids
}

// What is no UTF-8 goes through bytes and comes back; decoding says U+FFFD as the standard has it.
func TestNoUTF8(t *testing.T) {
	tok := gpt2(t)
	for _, c := range []struct{ raw, want string }{
		{"a\xffb", "a\ufffdb"}, {"\xe2\x82", "\ufffd"}, {"\xe2\x82x", "\ufffdx"}, {"\xf0\x9f\x99", "\ufffd"}, {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
		{"\xc0\x80", "\ufffd\ufffd"}, {"\xf4\x90\x80\x80", "\ufffd\ufffd\ufffd\ufffd"}, {"\xe2\xe2\x82\xac", "\ufffd€"},
	} {
		ids, err := tok.Encode(c.raw, Options{})
		require.NoError(t, err)
		assert.Equal(t, c.want, tok.Decode(ids), "%q", c.raw)
		var raw []byte
		for _, id := range ids {
			b, ok := bytesOfLetters(tok.Token(id))
			require.True(t, ok)
			raw = append(raw, b...)
		}
		assert.Equal(t, c.raw, string(raw))
	}
	assert.Equal(t, "", tok.Decode([]int{-1, 1 << 40}))
}

// Long words take no square of their length.
func TestLongWords(t *testing.T) {
	text := strings.Repeat("ab", 200_000)
	ids, err := gpt2(t).Encode(text, Options{})
	require.NoError(t, err)
	assert.Equal(t, text, gpt2(t).Decode(ids))
	stories, err := FromLlama2c("tok512.bin", read(t, need.Data(t, "models", "stories260k", "tok512.bin")))
	require.NoError(t, err)
	ids, err = stories.Encode(text, Options{})
	require.NoError(t, err)
	assert.Equal(t, text, stories.Decode(ids))
}

func FuzzLlama2c(f *testing.F) {
	f.Add([]byte("\x03\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00a"), "a")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		tok, err := FromLlama2c("fuzz", raw)
		if err != nil {
			return
		}
		ids, err := tok.Encode(text, Options{Special: true})
		require.NoError(t, err)
		tok.Decode(ids)
	})
}

func FuzzPattern(f *testing.F) {
	for _, list := range families {
		for _, source := range list {
			f.Add(source, "Hello  world's 123 日本\n\n x")
		}
	}
	f.Add(`((a*)*)*b`, strings.Repeat("a", 100))
	f.Fuzz(func(t *testing.T, source, text string) {
		p, err := parsePattern(source)
		if err != nil || len(text) > 1000 {
			return
		}
		at := 0
		err = p.split(text, func(from, to int, _ bool) {
			require.Equal(t, at, from)
			require.Greater(t, to, from)
			at = to
		})
		require.Equal(t, len(text), at)
		_ = err
	})
}

package formats

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

func TestDescribe(t *testing.T) {
	for path, want := range map[string][]string{
		need.Data(t, "models", "gguf", "quant-more.gguf"):       {"t.q2_K    Q2_K    [3 1024]  1008 bytes\n", "6 tensors, 18432 elements, "},
		"../pytorch/testdata/legacy.pt":                         {"model.a    F32   [4 6]  96 bytes\n", "epoch  3\n", "14 tensors, "},
		need.Data(t, "models", "gguf", "ggml-vocab-gpt-2.gguf"): {"tokenizer.ggml.tokens ", "text[50257]\n", "0 tensors, 0 elements, 0 bytes\n"},
	} {
		f, err := Open(path)
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, Describe(&b, f))
		require.NoError(t, f.Close())
		for _, w := range want {
			assert.Contains(t, b.String(), w)
		}
	}
	assert.Equal(t, `a\x1b[31m"b"\n`, printable("a\x1b[31m\"b\"\n"))
	assert.Equal(t, 78, len([]rune(printable(strings.Repeat("é", 100)))))
}

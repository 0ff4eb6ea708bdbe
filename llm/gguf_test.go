package llm

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tokenizer"
)

// Files that the package of llama.cpp wrote (testdata/gguf/write.py) say what the folders say that they were made of.
func TestGGUFOfOthers(t *testing.T) {
	_, err := engine.Use("CPU")
	need.Device(t, "CPU", err)
	for name, c := range map[string]struct {
		more map[string]any // of config.json, what such a file cannot say
		ends []int          // tokens: of the file's metadata, and by their texts
	}{
		"gpt2":       {ends: []int{0, 1}},
		"phi2":       {ends: []int{0, 1}},
		"phi3":       {ends: []int{2, 3}},
		"phi3-long":  {ends: []int{2, 3}},
		"gemma":      {ends: []int{2, 3}},
		"gemma2":     {more: map[string]any{"query_pre_attn_scalar": 12}, ends: []int{2, 3}},
		"gemma3":     {ends: []int{2, 3}},
		"smollm3":    {ends: []int{0, 1}},
		"llama-bias": {ends: []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t, name)
			change(t, dir, func(all map[string]any) map[string]any {
				for key, v := range c.more {
					all[key] = v
				}
				return all
			})
			ids, want := recordedLogits(t, name)
			if c.more != nil {
				m, err := Open(ctx, dir, Options{Device: "CPU"})
				require.NoError(t, err)
				want = said(t, m, ids)
			}
			m, err := Open(ctx, filepath.Join("testdata", "gguf", name+".gguf"), Options{Device: "CPU", Chunk: 7})
			require.NoError(t, err)
			says(t, m, ids, want, 3e-5)
			assert.Equal(t, c.ends, m.Config.EOS)
			require.NotNil(t, m.Tokenizer)
			got, err := m.Tokenizer.Encode("abcd", tokenizer.Options{})
			require.NoError(t, err)
			assert.Equal(t, "abcd", m.Tokenizer.Decode(got))
		})
	}
}

// said are the logits after each token.
func said(t *testing.T, m *Model, ids []int) (out [][]float32) {
	s, err := m.NewSession(ctx)
	require.NoError(t, err)
	for _, id := range ids {
		got, err := s.Feed(ctx, id)
		require.NoError(t, err)
		out = append(out, append([]float32{}, got...))
	}
	return out
}

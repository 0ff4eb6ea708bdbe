package llm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/weights/formats"
)

func inspected(t testing.TB, path string) *About {
	f, err := formats.Open(path)
	require.NoError(t, err)
	defer f.Close()
	a, err := Inspect(path, f)
	require.NoError(t, err)
	return a
}

// Of every family the files are looked at as they are read: nothing is missing, and what is read is all that there is.
func TestInspect(t *testing.T) {
	for _, name := range recordings {
		a := inspected(t, copied(t, name))
		require.NoError(t, a.Err, name)
		assert.Empty(t, a.Wrong, name)
		assert.Empty(t, a.Unread, name)
		assert.Positive(t, a.Config.Layers)
	}
	assert.Equal(t, "gemma3_text", inspected(t, copied(t, "gemma3")).Family)
	s := newSmall(3, "qwen2", false)
	s.c.RopeFactors = []float64{1, 1, 2, 4}
	a := inspected(t, s.gguf(t))
	require.NoError(t, a.Err)
	assert.Equal(t, "qwen2", a.Family)
	assert.Empty(t, a.Wrong)
	assert.Empty(t, a.Unread, "factors of positions are read as well")
}

// What is missing, has another shape, is not of floats, or is not known is named; a family that is not known is as well.
func TestInspectFinds(t *testing.T) {
	s := newSmall(3, "llama", false)
	n := hubNames
	for i, name := range s.order {
		switch name {
		case n.norm:
			s.order[i] = "model.extra.weight"
			s.values[s.order[i]], s.shapes[s.order[i]] = s.values[name], s.shapes[name]
		case n.out:
			s.shapes[name] = []int{s.c.Dim, s.c.Vocab}
		}
	}
	a := inspected(t, s.folder(t, ""))
	require.NoError(t, a.Err)
	assert.Equal(t, []string{n.norm + ": missing", n.out + ": its shape is [24 30], the configuration says [30 24]"}, a.Wrong)
	assert.Equal(t, []string{"model.extra.weight"}, a.Unread)

	dir := copied(t, "llama-bias")
	change(t, dir, func(all map[string]any) map[string]any { all["model_type"] = "mamba"; return all })
	a = inspected(t, dir)
	assert.Equal(t, "mamba", a.Family)
	assert.ErrorContains(t, a.Err, `model_type is "mamba"`)
	change(t, dir, func(all map[string]any) map[string]any {
		all["model_type"], all["num_attention_heads"] = "llama", 0
		return all
	})
	assert.ErrorContains(t, inspected(t, dir).Err, "num_attention_heads is 0")
	assert.Nil(t, inspected(t, "testdata/architectures/gpt2/model.safetensors"), "a file of tensors alone")
}

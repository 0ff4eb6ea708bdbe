package safetensors

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/weights"
)

// shards writes two files and an index of them.
func shards(t testing.TB, index string) string {
	dir := t.TempDir()
	require.NoError(t, Write(filepath.Join(dir, "one"), []Entry{{"a", "U8", []int64{2}, []byte{1, 2}}, {"b", "U8", []int64{1}, []byte{3}}}, nil))
	require.NoError(t, Write(filepath.Join(dir, "two"), []Entry{{"c", "U8", []int64{1}, []byte{4}}, {"a", "U8", []int64{1}, []byte{9}}}, nil))
	path := filepath.Join(dir, "model.safetensors.index.json")
	require.NoError(t, os.WriteFile(path, []byte(index), 0o600))
	return path
}

func TestIndex(t *testing.T) {
	path := shards(t, `{"metadata": {"total_size": 4, "x": "y"}, "weight_map": {"a": "one", "c": "two", "b": "one"}, "more": [1]}`)
	f, err := OpenIndex(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "b", "c"}, f.Names())
	assert.Equal(t, map[string]string{"total_size": "4", "x": "y"}, f.Metadata())
	assert.Equal(t, path, f.Path())
	for name, want := range map[string][]byte{"a": {1, 2}, "b": {3}, "c": {4}} {
		raw, err := weights.Bytes(f, name)
		require.NoError(t, err)
		assert.Equal(t, want, raw)
		info, ok := f.Info(name)
		assert.True(t, ok)
		assert.Equal(t, int64(len(want)), info.Bytes)
	}
	_, ok := f.Info("d")
	assert.False(t, ok)
	_, err = weights.Bytes(f, "d")
	assert.ErrorContains(t, err, `tensor "d": not among the 3 tensors`)
	require.NoError(t, f.Close())
	_, err = weights.Bytes(f, "a")
	assert.ErrorIs(t, err, os.ErrClosed)
}

func TestIndexRefuses(t *testing.T) {
	for name, c := range map[string]struct{ index, want string }{
		"empty":         {"", "bad index: unexpected end"},
		"not UTF-8":     {"\"\xff\"", "not valid UTF-8"},
		"no map":        {`{"metadata": {}}`, "it has no weight_map"},
		"list":          {`{"weight_map": []}`, "it is no object"},
		"null":          {`{"weight_map": null}`, "it is no object"},
		"number":        {`{"weight_map": {"a": 1}}`, `"a" is no text`},
		"object":        {`{"weight_map": {"a": {}}}`, `"a" is no text`},
		"twice":         {`{"weight_map": {"a": "one", "a": "two"}}`, `"a" occurs twice`},
		"elsewhere":     {`{"weight_map": {"a": "../one"}}`, "not the name of a file beside the index"},
		"absolute":      {`{"weight_map": {"a": "/etc/passwd"}}`, "not the name of a file beside the index"},
		"other folder":  {`{"weight_map": {"a": "x\\one"}}`, "not the name of a file beside the index"},
		"no file":       {`{"weight_map": {"a": "three"}}`, `file "three": cannot open it`},
		"itself":        {`{"weight_map": {"a": "model.safetensors.index.json"}}`, "cannot open it"},
		"wrong file":    {`{"weight_map": {"b": "two"}}`, `tensor "b": should lie in "two", which does not have it`},
		"nested deeply": {`{"weight_map": {"a": "one"}, "metadata": {"x": ` + string(make([]byte, 3)) + `}}`, "bad index"},
	} {
		t.Run(name, func(t *testing.T) {
			path := shards(t, c.index)
			_, err := OpenIndex(path)
			var e *weights.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, path, e.Path)
			assert.ErrorContains(t, err, c.want)
		})
	}
	_, err := OpenIndex(filepath.Join(t.TempDir(), "none"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

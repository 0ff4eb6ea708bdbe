package formats

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/safetensors"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/weights"
)

// Each format is found by its bytes, whatever the file's name.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ path, tensor, dtype string }{
		{need.Data(t, "models", "gguf", "quant-common.gguf"), "t.q4_K", "F32"},
		{need.Data(t, "models", "mnist-cnn-weights", "mnist.pt"), "conv1.weight", "F32"},
		{need.Data(t, "models", "mnist-cnn-weights", "mnist.safetensors"), "conv1.weight", "F32"},
		{need.Data(t, "models", "stories260k", "stories260K.bin"), "norm.weight", "F32"},
		{filepath.Join("..", "numpy", "testdata", "plain.npz"), "h", "F16"},
		{filepath.Join("..", "numpy", "testdata", "cube.npy"), "x", "I32"},
		{filepath.Join("..", "pytorch", "testdata", "legacy.pt"), "model.b", "BOOL"},
	} {
		raw, err := os.ReadFile(c.path)
		require.NoError(t, err)
		path := filepath.Join(dir, "x")
		require.NoError(t, os.WriteFile(path, raw, 0o600))
		f, err := Open(path)
		require.NoError(t, err, c.path)
		info, ok := f.Info(c.tensor)
		require.True(t, ok, c.path)
		assert.Equal(t, c.dtype, info.DType)
		_, err = weights.Bytes(f, c.tensor)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "y"), []byte("hello, this is no model of any kind at all"), 0o600))
	_, err := Open(filepath.Join(dir, "y"))
	assert.ErrorContains(t, err, "none of GGUF, safetensors, PyTorch, NumPy")
	_, err = Open(dir)
	assert.ErrorContains(t, err, "name the file")
	_, err = Open(filepath.Join(dir, "z"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "y"), nil, 0o600))
	_, err = Open(filepath.Join(dir, "y"))
	assert.Error(t, err)

	for name, want := range map[string]string{"y.safetensors": "safetensors: ", "y.GGUF": "gguf: ", "y.npz": "numpy: ", "y.npy": "numpy: ", "y.pt": "pytorch: "} { // cut off or damaged
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), make([]byte, 20), 0o600))
		_, err = Open(filepath.Join(dir, name))
		assert.ErrorContains(t, err, want+filepath.Join(dir, name))
		assert.NotContains(t, err.Error(), "llama2.c")
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}

	require.NoError(t, safetensors.Write(filepath.Join(dir, "one.safetensors"), []safetensors.Entry{{Name: "a", DType: "U8", Shape: []int64{1}, Data: []byte{7}}}, nil))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), []byte(`{"weight_map": {"a": "one.safetensors"}}`), 0o600))
	f, err := Open(dir)
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, f.Names())
	require.NoError(t, f.Close())
}

// A model loads from any of them, and lazy tensors read only what is used.
func TestLoadFrom(t *testing.T) {
	ctx := context.Background()
	_, err := engine.Use("INTERP")
	require.NoError(t, err)
	f, err := Open(need.Data(t, "models", "gguf", "quant-common.gguf"))
	require.NoError(t, err)
	defer f.Close()
	model := &struct{ A, B *tensor.Tensor }{tensor.Zeros(3, 1024).Own(), tensor.Zeros(3, 1024).Own()}
	report, err := nn.LoadFrom(ctx, f, model, nn.LoadOptions{Partial: true, Convert: true, Rename: func(name string) string {
		return map[string]string{"a": "t.q6_K", "b": "t.f16"}[name]
	}})
	require.NoError(t, err)
	require.Len(t, report.Loaded, 2)
	got, err := model.A.Bytes(ctx)
	require.NoError(t, err)
	want, err := weights.Bytes(f, "t.q6_K")
	require.NoError(t, err)
	assert.Equal(t, want, got)

	lazy, err := (&nn.Tensors{File: f}).Lazy("t.q6_K")
	require.NoError(t, err)
	row, err := lazy.Narrow(0, 1, 1).Bytes(ctx)
	require.NoError(t, err)
	assert.Equal(t, want[4096:8192], row)
	_, err = (&nn.Tensors{File: f}).Lazy("none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

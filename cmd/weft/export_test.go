package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/tensor"
)

// A file of functions becomes a folder, of which Go reads the same functions.
func TestExportFile(t *testing.T) {
	closeAfter(t, "INTERP")
	ctx := context.Background()
	_, err := engine.Use("INTERP")
	require.NoError(t, err)
	w := tensor.NewGenerator(1).Rand(20, 30).On("INTERP")
	x := tensor.NewGenerator(2).Rand(2, 20).On("INTERP")
	require.NoError(t, tensor.Realize(ctx, w, x))
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].MatMul(w)} }, x)
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, tensor.SaveFunctions(ctx, &file, map[string]*tensor.Captured{"product": c}))
	path, dir := filepath.Join(t.TempDir(), "product.weft"), filepath.Join(t.TempDir(), "new", "folder")
	require.NoError(t, os.WriteFile(path, file.Bytes(), 0o666))
	code, out, log := weft(nil, "export", path, dir, "--device", "INTERP", "--for", "wasm", "--weights", "float16", "--title", "A & B")
	require.Zero(t, code, log)
	assert.Contains(t, out, "wasm.plan")
	assert.NotContains(t, out, "webgpu.plan")
	assert.Contains(t, out, "are the player")
	html, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	assert.Contains(t, string(html), "<title>A &amp; B</title>")
	fs, err := export.Open(ctx, dir, "INTERP")
	require.NoError(t, err)
	want, err := c.Run(ctx, x)
	require.NoError(t, err)
	got, err := fs["product"].Run(ctx, x)
	require.NoError(t, err)
	a, err := tensor.Data[float32](ctx, want[0])
	require.NoError(t, err)
	b, err := tensor.Data[float32](ctx, got[0])
	require.NoError(t, err)
	for i := range a {
		require.InDelta(t, a[i], b[i], 0.01)
	}
	code, _, log = weft(nil, "export", path, dir, "--device", "INTERP", "--for", "wasm")
	require.Zero(t, code, log) // over an older one
	require.NoError(t, os.Remove(filepath.Join(dir, "model.json")))
	code, _, log = weft(nil, "export", path, dir, "--device", "INTERP", "--for", "wasm")
	require.Zero(t, code, log) // over one that was interrupted
	for _, name := range []string{"index.html", "model.json", "weights.bin"} {
		mine := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(mine, name), []byte("{}"), 0o666))
		code, _, log = weft(nil, "export", path, mine, "--device", "INTERP", "--for", "wasm")
		assert.Equal(t, 1, code)
		assert.Contains(t, log, name+" is there and not of an export; name another folder, or remove it")
		entries, err := os.ReadDir(mine)
		require.NoError(t, err)
		assert.Len(t, entries, 1)
		kept, err := os.ReadFile(filepath.Join(mine, name))
		require.NoError(t, err)
		assert.Equal(t, "{}", string(kept))
	}
	require.NoError(t, os.WriteFile(path, file.Bytes()[:100], 0o666))
	code, _, log = weft(nil, "export", path, dir, "--device", "INTERP")
	assert.Equal(t, 1, code)
	assert.Contains(t, log, "it ends too early")
}

package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/viz"
)

// A file of saved functions is compiled and told, and so is what a page saved of that.
func TestVizFiles(t *testing.T) {
	ctx := context.Background()
	p := &program{getenv: func(string) string { return "" }, out: io.Discard, log: io.Discard}
	_, err := p.open(ctx, "INTERP")
	require.NoError(t, err)
	x := tensor.From([][]float32{{1, 2}, {3, 4}})
	f, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].MatMul(in[0]).Softmax(-1)} }, x)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "functions.weft")
	w, err := os.Create(file)
	require.NoError(t, err)
	require.NoError(t, tensor.SaveFunctions(ctx, w, map[string]*tensor.Captured{"f": f}))
	require.NoError(t, w.Close())

	of, err := p.plansOf(ctx, file, "WASM") // an engine that has not made the plan yet
	require.NoError(t, err)
	titles, _ := of.Titles()
	require.NotEmpty(t, titles)
	d, err := viz.DumpOf(of)
	require.NoError(t, err)
	data, err := json.Marshal(d)
	require.NoError(t, err)
	dump := filepath.Join(t.TempDir(), "plans.json")
	require.NoError(t, os.WriteFile(dump, data, 0o666))
	again, err := p.plansOf(ctx, dump, "")
	require.NoError(t, err)
	same, _ := again.Titles()
	assert.Equal(t, titles, same)

	_, err = p.plansOf(ctx, filepath.Join(t.TempDir(), "none"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
	wrong := filepath.Join(t.TempDir(), "wrong")
	require.NoError(t, os.WriteFile(wrong, []byte("{}"), 0o666))
	_, err = p.plansOf(ctx, wrong, "")
	require.ErrorContains(t, err, "no dump of plans: it has the version 0")
	require.NoError(t, os.WriteFile(wrong, []byte("nothing of the kind"), 0o666))
	_, err = p.plansOf(ctx, wrong, "INTERP")
	require.Error(t, err)
}

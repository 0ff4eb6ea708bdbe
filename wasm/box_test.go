package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// Messages of the letter box and posted ones arrive in the order in which they were sent, each once, and the page looks out for answers that come soon, but does not
// forget everything else for that.
func TestBothEndsOfTheBox(t *testing.T) {
	var got struct {
		Right, Looked int
		Posted        int
		Most          float64
		Ordered       bool
	}
	inNode(t, &got, "testdata/box.mjs", "js/box.js", "../runtime/wasm/page/lent.js")
	assert.Equal(t, 1000, got.Right)
	assert.True(t, got.Ordered)
	assert.Zero(t, got.Posted, "of 300 short ones at once")
	assert.Positive(t, got.Looked, "of 1000 answers; most of them where nothing else runs")
	assert.Less(t, got.Most, 60., "ms before the page sees to everything else: 15 or 16, and what others take from it")
}

// inNode runs a script in Node, with others beside it in one folder, and reads the JSON that it prints.
func inNode(t *testing.T, into any, script string, others ...string) {
	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	dir := t.TempDir()
	for _, from := range append(others, script) {
		text, err := os.ReadFile(filepath.FromSlash(from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(from)), text, 0o666))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o666))
	out, err := exec.Command(node, filepath.Join(dir, filepath.Base(script))).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, json.Unmarshal(out, into), "%s", out)
}

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

// The worker carries out what it is handed, all of a batch or nothing, and tells what the engine has to know.
func TestWorkersEndOfErrands(t *testing.T) {
	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	dir := t.TempDir()
	for from, to := range map[string]string{"js/errands.js": "errands.js", "js/wire.js": "wire.js", "testdata/errands.mjs": "errands.mjs"} {
		text, err := os.ReadFile(filepath.FromSlash(from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o666))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o666))
	out, err := exec.Command(node, filepath.Join(dir, "errands.mjs")).CombinedOutput()
	require.NoError(t, err, "%s", out)
	var wrong []string
	require.NoError(t, json.Unmarshal(out, &wrong), "%s", out)
	assert.Empty(t, wrong)
}

package browser_test

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

// TestInside builds package inside for js and runs its tests in a worker: the cases that native devices pass.
// WEFT_INSIDE names the tests to run.
func TestInside(t *testing.T) {
	p := open(t)
	root := need.Root(t)
	cmd := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-o", filepath.Join(shared.folder, "inside.wasm"), "./tests/browser/inside")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	files := map[string]string{}
	data := need.Data(t, "torch-ops")
	for _, name := range []string{"cases.jsonl", "tensors.bin", "ops.tsv"} {
		raw, err := os.ReadFile(filepath.Join(data, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(shared.folder, name), raw, 0o666))
		files["/torch-ops/"+name] = name
	}
	run := os.Getenv("WEFT_INSIDE")
	if run == "" {
		run = "."
	}
	options, err := json.Marshal(map[string]any{
		"wasm": "inside.wasm", "argv": []string{"inside", "-test.v", "-test.run=" + run}, "data": files,
		"env": map[string]string{"WEFT_TORCH_OPS": "/torch-ops", "WEFT_REQUIRE": "WEBGPU,REF", "WEFT_CASE": os.Getenv("WEFT_CASE"), "WEFT_SEED": os.Getenv("WEFT_SEED")},
	})
	require.NoError(t, err)
	var code any
	require.NoError(t, p.Run("return await runInside("+string(options)+")", &code))
	var printed string
	require.NoError(t, p.Run("return printed", &printed))
	t.Log(printed)
	assert.EqualValues(t, 0, code)
}

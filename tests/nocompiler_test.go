package tests

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// Without a C compiler in PATH, a program built without cgo trains on WASM by itself and says so.
func TestTrainingWithoutCompiler(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program and trains two steps")
	}
	program := filepath.Join(t.TempDir(), "weft.exe")
	build := exec.Command("go", "build", "-o", program, "./cmd/weft")
	build.Dir = need.Root(t)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)

	train := exec.Command(program, "train", "mnist", "--steps", "2", "--batch", "16", "--test", "16", "--json")
	train.Env = slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return name == "PATH" || name == "CC" || name == "DEV"
	})
	train.Env = append(train.Env, "PATH="+t.TempDir(), "WEFT_CACHE="+t.TempDir())
	var words strings.Builder
	train.Stderr = &words
	out, err := train.Output()
	require.NoError(t, err, words.String())
	var result struct {
		Device string
		Losses []float64
	}
	require.NoError(t, json.Unmarshal(out, &result), "%s", out)
	assert.Equal(t, "WASM", result.Device)
	require.Len(t, result.Losses, 2)
	assert.Less(t, result.Losses[1], 10.0)
	assert.Contains(t, words.String(), "using WASM (CPU: no C compiler")
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// The command says the recorded story, and lines of standard input are texts of their own.
func TestChat(t *testing.T) {
	model := need.Data(t, "models", "stories260k", "stories260K.bin")
	words := need.Data(t, "models", "stories260k", "tok512.bin")
	story, err := os.ReadFile(need.Data(t, "models", "stories260k", "greedy_text.txt"))
	require.NoError(t, err)
	code, out, log := weft(nil, "chat", model, "--tokenizer", words, "--device", "INTERP", "--prompt", "", "-n", "60")
	require.Zero(t, code, log)
	assert.Contains(t, string(story), strings.TrimSpace(out))
	assert.Greater(t, len(out), 100)
	assert.Contains(t, log, "tokens a second")

	code, _, log = weft(nil, "chat", model, "--device", "INTERP", "-p", "x")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, log, "has no tokenizer; name one with --tokenizer")
	code, _, log = weft(nil, "chat", filepath.Join(t.TempDir(), "none"), "--device", "INTERP")
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, log, "no such file")
	code, _, _ = weft(nil, "chat")
	assert.Equal(t, exitUsage, code)
}

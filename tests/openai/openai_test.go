// Package openai has a client that others wrote, OpenAI's own for Node.js, ask the server of language models.
package openai

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/llm/chat"
	"github.com/weft-ml/weft/llm/serve"
	"github.com/weft-ml/weft/tests/npm"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tokenizer"
)

var (
	//go:embed tools/package.json
	manifest []byte
	//go:embed tools/package-lock.json
	lock []byte
	//go:embed client.mjs
	program []byte
)

// The client's calls come back as it understands them: models, an answer, a stream, one that is cut off, vectors, an error with its status.
func TestClient(t *testing.T) {
	home, err := npm.Tools("BUNDLERS", manifest, lock)
	need.Device(t, "BUNDLERS", err)
	ctx := context.Background()
	m, err := llm.Open(ctx, need.Data(t, "models", "stories260k", "stories260K.bin"), llm.Options{Device: "CPU"})
	require.NoError(t, err)
	raw, err := os.ReadFile(need.Data(t, "models", "stories260k", "tok512.bin"))
	require.NoError(t, err)
	m.Tokenizer, err = tokenizer.FromLlama2c("tok512.bin", raw)
	require.NoError(t, err)
	template, err := chat.Parse("template", "{{ bos_token }}{{ messages[-1].content }}")
	require.NoError(t, err)
	m.SetTemplate(template)
	s, err := serve.New(ctx, m, serve.Options{Name: "stories", Key: "secret", Texts: 2})
	require.NoError(t, err)
	defer s.Close()
	h := httptest.NewServer(s)
	defer h.Close()

	script := filepath.Join(home, "client.mjs") // beside node_modules, where the import is looked for
	require.NoError(t, os.WriteFile(script, program, 0o600))
	limited, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	c := exec.CommandContext(limited, "node", script, h.URL+"/v1")
	c.Stderr = os.Stderr
	out, err := c.Output()
	require.NoError(t, err)
	var got struct {
		Models             []string
		Text, Streamed     string
		Finish, Role       string
		Usage              map[string]int
		Pieces, Cut        int
		Vector, Dimensions int
		Wrong, Missing     struct {
			Status  int
			Message string
		}
		Completion string
	}
	require.NoError(t, json.Unmarshal(out, &got), "%s", out)
	assert.Equal(t, []string{"stories"}, got.Models)
	assert.NotEmpty(t, got.Text)
	assert.Equal(t, got.Text, got.Streamed)
	assert.Equal(t, got.Text, got.Completion)
	assert.Equal(t, "length", got.Finish)
	assert.Equal(t, "assistant", got.Role)
	assert.Equal(t, 24, got.Usage["completion_tokens"])
	assert.Greater(t, got.Pieces, 5)
	assert.Equal(t, 3, got.Cut)
	assert.Equal(t, 2, got.Vector)
	assert.Equal(t, 64, got.Dimensions)
	assert.Equal(t, 400, got.Wrong.Status)
	assert.Contains(t, got.Wrong.Message, "temperature is 500")
	assert.Equal(t, 404, got.Missing.Status)
}

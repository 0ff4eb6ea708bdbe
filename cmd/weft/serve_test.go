//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// The command serves, on the loopback only; a process that is killed and begun again serves again, and Ctrl-C ends it with a stream under
// way.
func TestServe(t *testing.T) {
	model := need.Data(t, "models", "stories260k", "stories260K.bin")
	words := need.Data(t, "models", "stories260k", "tok512.bin")
	begin := func() (*exec.Cmd, string) {
		self, err := os.Executable()
		require.NoError(t, err)
		c := exec.Command(self, "serve", model, "--tokenizer", words, "--device", "INTERP", "--port", "0", "--parallel", "2")
		c.Env = append(os.Environ(), "WEFT_TEST_COMMAND=1")
		out := &spoken{}
		c.Stdout, c.Stderr = out, out
		require.NoError(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill() })
		at := regexp.MustCompile(`answers at (http://127\.0\.0\.1:\d+/v1)\n`)
		require.Eventually(t, func() bool { return at.MatchString(out.String()) }, time.Minute, 10*time.Millisecond, "%s", out)
		return c, at.FindStringSubmatch(out.String())[1]
	}
	ask := func(url, more string) *http.Response {
		r, err := http.Post(url+"/completions", "application/json", strings.NewReader(`{"model": "stories260K", "prompt": "Once upon a time", "temperature": 0`+more+`}`))
		require.NoError(t, err)
		require.Equal(t, 200, r.StatusCode)
		return r
	}
	text := func(url string) string {
		r := ask(url, `, "max_tokens": 8`)
		defer r.Body.Close()
		var v struct{ Choices []struct{ Text string } }
		require.NoError(t, json.NewDecoder(r.Body).Decode(&v))
		require.Len(t, v.Choices, 1)
		return v.Choices[0].Text
	}
	c, url := begin()
	want := text(url)
	require.NotEmpty(t, want)
	require.NoError(t, c.Process.Signal(syscall.SIGKILL))
	_ = c.Wait()
	c, url = begin()
	assert.Equal(t, want, text(url))
	stream := ask(url, `, "max_tokens": 400, "stream": true`)
	defer stream.Body.Close()
	_, err := stream.Body.Read(make([]byte, 10))
	require.NoError(t, err)
	require.NoError(t, c.Process.Signal(os.Interrupt))
	rest, err := io.ReadAll(stream.Body)
	assert.NoError(t, err, "the stream ends, and does not break")
	assert.Contains(t, string(rest), "the server is closing")
	_ = c.Wait()
	assert.Equal(t, exitInterrupted, c.ProcessState.ExitCode())

	code, _, log := weft(nil, "serve", model, "--host", "0.0.0.0")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, log, "name a file with a key by --key-file")
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(" \n"), 0o600))
	code, _, log = weft(nil, "serve", model, "--key-file", key)
	assert.Equal(t, exitFailure, code)
	assert.Contains(t, log, "the key is empty")
	code, _, log = weft(nil, "serve", model, "--port", "70000")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, log, "0 to 65535 is possible")
}

// A folder keeps the dots of its name, which is what requests have to say.
func TestModelName(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "Llama-3.2-1B")
	require.NoError(t, os.Mkdir(folder, 0o777))
	t.Chdir(folder)
	require.NoError(t, os.WriteFile("a.Q4_0.gguf", nil, 0o666))
	for path, want := range map[string]string{folder: "Llama-3.2-1B", folder + "/": "Llama-3.2-1B", ".": "Llama-3.2-1B", "a.Q4_0.gguf": "a.Q4_0", "none.bin": "none"} {
		o := serveOptions{Host: "localhost"}
		require.NoError(t, o.prepare(path))
		assert.Equal(t, want, o.Name, path)
	}
}

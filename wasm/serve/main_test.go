package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// folder is a site with a page in a sub-folder and an engine that is there compressed, too.
func folder(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index.html":       `<script type="module" src="a.js"></script>`,
		"train/index.html": `<link rel="stylesheet" href="../s.css"><script src="../a.js"></script>`,
		"a.js":             `import './b.js'; new URL('weft.wasm', here); say('no-file.js')`,
		"b.js":             `import './a.js'`,
		"s.css":            `p { color: red }`,
		"weft.wasm":        "engine engine engine",
		"weft.wasm.br":     "small",
		"other.js":         "nobody names it",
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
	}
	return dir
}

func opened(t *testing.T, dir string) *os.Root {
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	return root
}

func TestHandler(t *testing.T) {
	h := handler(opened(t, folder(t)), "localhost")
	get := func(path, accept string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "localhost:8080"
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	page := get("/train/", "gzip, br")
	assert.Equal(t, http.StatusOK, page.Code)
	assert.Equal(t, "same-origin", page.Header().Get("Cross-Origin-Opener-Policy"))
	assert.Equal(t, "require-corp", page.Header().Get("Cross-Origin-Embedder-Policy"))
	assert.Contains(t, page.Header().Get("Content-Security-Policy"), "default-src 'none'")
	packed := get("/weft.wasm", "gzip, br")
	assert.Equal(t, "br", packed.Header().Get("Content-Encoding"))
	assert.Equal(t, "application/wasm", packed.Header().Get("Content-Type"))
	assert.Equal(t, "small", packed.Body.String())
	whole := get("/weft.wasm", "gzip")
	assert.Empty(t, whole.Header().Get("Content-Encoding"))
	assert.Equal(t, "application/wasm", whole.Header().Get("Content-Type"))
	assert.Equal(t, "engine engine engine", whole.Body.String())
	assert.Equal(t, http.StatusNotFound, get("/nothing", "").Code)
}

// Pipes, files and the null device are no terminals: make run must end there.
func TestNoTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close()
	assert.False(t, isTerminal(null))
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	defer w.Close()
	assert.False(t, isTerminal(r))
	assert.False(t, isTerminal(w))
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer file.Close()
	assert.False(t, isTerminal(file))
}

// A port that is taken is an error with a remedy, or another port where any will do. Serving ends with its context.
func TestServe(t *testing.T) {
	taken, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	assert.ErrorContains(t, serve(t.Context(), folder(t), "localhost", port, false), "make serve PORT=")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	assert.NoError(t, serve(ctx, folder(t), "localhost", port, true))
}

func TestWeigh(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, weigh(&out, folder(t)))
	assert.Regexp(t, `(?m)^/ +4 +\d+ +\d+$`, out.String())
	assert.Regexp(t, `(?m)^/train/ +5 +\d+ +\d+$`, out.String())
	assert.Contains(t, out.String(), "the engine brotli")
}

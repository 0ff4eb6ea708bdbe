package browser_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// between is a server that lets f see each request first; f may answer it.
func between(t *testing.T, f func(w http.ResponseWriter, r *http.Request) (answered bool)) *browser.Page {
	return openFrom(t, func(folders ...string) *httptest.Server {
		site := browser.Serve(folders...)
		t.Cleanup(site.Close)
		return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !f(w, r) {
				site.Config.Handler.ServeHTTP(w, r)
			}
		}))
	})
}

// A page waits for no more than three rows of files: itself, weft.js, and then the worker's script and the module, which are asked for at
// the same time. Here each of these two comes only when the other was asked for.
func TestFilesAreAskedForAtOnce(t *testing.T) {
	var mu sync.Mutex
	asked := []string{}
	both := map[string]chan struct{}{"/worker.js": make(chan struct{}), "/weft.wasm": make(chan struct{})}
	p := between(t, func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		again := slices.Contains(asked, r.URL.Path)
		asked = append(asked, r.URL.Path)
		mu.Unlock()
		if own := both[r.URL.Path]; own != nil && !again {
			close(own)
			for _, other := range both {
				select {
				case <-other:
				case <-time.After(time.Minute):
					http.Error(w, "the other file is not asked for", http.StatusInternalServerError)
					return true
				}
			}
		}
		return false
	})
	var sum float64
	require.NoError(t, p.Run(`
		const w = await weft.open()
		const x = w.tensor([[1, 2], [3, 4]])
		const sum = await x.matmul(x).sum().item()
		w.close()
		return sum`, &sum))
	assert.Equal(t, 54.0, sum)
	mu.Lock()
	defer mu.Unlock()
	var own []string
	for _, path := range asked {
		if path == "/rest.wasm" { // comes whenever it wants: see TestFirstResultNeedsNoRest
			continue
		}
		if strings.HasSuffix(path, ".wasm") || strings.HasSuffix(path, ".js") {
			own = append(own, path)
		}
	}
	slices.Sort(own)
	assert.Equal(t, []string{"/test.js", "/weft.js", "/weft.wasm", "/worker.js"}, own)
}

// Hosts that do not know what a module is, or do not have it, or only a part.
func TestModuleFromPlainHosts(t *testing.T) {
	var kind atomic.Value
	kind.Store("")
	p := between(t, func(w http.ResponseWriter, r *http.Request) bool {
		k := kind.Load().(string)
		if r.URL.Path != "/weft.wasm" || k == "" {
			return false
		}
		w.Header().Set("Cache-Control", "no-store")
		switch k {
		case "missing":
			http.NotFound(w, r)
		case "cut":
			w.Header().Set("Content-Type", "application/wasm")
			_, _ = w.Write([]byte("\x00asm\x01\x00\x00\x00\x01"))
		default:
			w.Header().Set("Content-Type", k)
			http.ServeFile(w, r, filepath.Join(shared.folder, "weft.wasm"))
		}
		return true
	})
	for _, c := range []struct{ kind, want string }{
		{"", "^3$"}, {"application/wasm", "^3$"}, {"application/octet-stream", "^3$"}, {"text/plain", "^3$"},
		{"missing", `^open: http://.*/weft\.wasm cannot be loaded: 404`}, {"cut", `^open: WebAssembly`},
	} {
		kind.Store(c.kind)
		var said string
		require.NoError(t, p.Run(`
			const told = []
			try {
				const w = await weft.open({device: 'wasm', onprogress: (p) => told.push(p)})
				const sum = await w.ones([3]).sum().item()
				w.close()
				const last = told.at(-1)
				return String(sum) + (last?.loaded === last?.total && last?.total > 1e6 ? '' : ', and progress ' + JSON.stringify(last))
			} catch (e) {
				return e.message
			}`, &said))
		assert.Regexp(t, c.want, said, c.kind)
	}
	assert.Len(t, p.Problems(), 1, "the file that is missing")
}

package browser_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	"github.com/weft-ml/weft/wasm/policy"
)

// elsewhere serves the engine as a content delivery network does: to pages of any origin.
func elsewhere(t *testing.T) string {
	open(t) // builds
	return server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cross-Origin-Resource-Policy", "cross-origin")
		http.FileServer(http.Dir(shared.folder)).ServeHTTP(w, r)
	})
}

func server(t *testing.T, f http.HandlerFunc) string {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

// blank opens an empty page that is served with headers.
func blank(t *testing.T, headers map[string]string) *browser.Page {
	at := server(t, func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Empty</title>"))
	})
	p, err := shared.browser.Open(at)
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	return p
}

// complaints are the problems of a page but for the icon that browsers ask every host for.
func complaints(p *browser.Page) []string {
	return slices.DeleteFunc(p.Problems(), func(s string) bool { return strings.Contains(s, "favicon.ico") })
}

const product = `
	const w = await open({device: 'wasm'})
	const x = w.tensor([[1, 2], [3, 4]])
	const list = await x.matmul(x).add(1).relu().list()
	const detail = w.deviceDetail
	const whole = (await w.inspect('relu(x[4])')).kernels.length
	w.close()
	return {list, detail, whole}`

type produced struct {
	List   [][]float64
	Detail string
	Whole  int
}

// A page takes the engine from another origin, with its policy and without one, and with threads where it is isolated.
func TestFromAnotherOrigin(t *testing.T) {
	from := elsewhere(t)
	for name, headers := range map[string]map[string]string{
		"no policy": {},
		"policy":    {"Content-Security-Policy": "default-src 'self'; require-trusted-types-for 'script'; " + policy.Elsewhere(from)},
		"isolated":  {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"},
	} {
		t.Run(name, func(t *testing.T) {
			p := blank(t, headers)
			var got produced
			require.NoError(t, p.Run(`const { open } = await import('`+from+`/weft.js')`+product, &got))
			assert.Equal(t, [][]float64{{8, 11}, {16, 23}}, got.List)
			assert.Positive(t, got.Whole)
			if name == "isolated" {
				assert.Contains(t, got.Detail, "threads")
			}
			assert.Empty(t, p.Problems())
		})
	}
}

// Where a policy does not let the worker start, or the worker is not there, the error says which line is missing.
func TestWorkerThatDoesNotStart(t *testing.T) {
	from := elsewhere(t)
	lonely := t.TempDir() // what a bundler leaves that does not follow addresses
	entries, err := os.ReadDir(shared.folder)
	require.NoError(t, err)
	for _, e := range entries {
		if name := e.Name(); name != "worker.js" {
			require.NoError(t, os.Symlink(filepath.Join(shared.folder, name), filepath.Join(lonely, name)))
		}
	}
	missing := server(t, http.FileServer(http.Dir(lonely)).ServeHTTP)
	single := server(t, func(w http.ResponseWriter, r *http.Request) { // a host that gives its page for every address it does not know
		if _, err := os.Stat(filepath.Join(lonely, r.URL.Path)); err == nil && r.URL.Path != "/" {
			http.FileServer(http.Dir(lonely)).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>One page</title>"))
	})
	bare := t.TempDir() // a worker without modules
	require.NoError(t, os.CopyFS(bare, os.DirFS(shared.folder)))
	require.NoError(t, os.Remove(filepath.Join(bare, "weft.wasm")))
	empty := server(t, http.FileServer(http.Dir(bare)).ServeHTTP)
	for _, c := range []struct{ name, policy, page, from, says string }{
		{"policy of another origin", "script-src " + from + " 'wasm-unsafe-eval'", "", from, "let that say " + policy.Elsewhere(from)},
		{"no worker", "", missing, missing, missing + "/worker.js cannot be loaded: 404 Not Found; where a bundler left it behind, copy worker.js"},
		{"a page instead", "", single, single, single + "/worker.js is no script, but text/html; where a bundler left it behind"},
		{"no module", "", empty, empty, empty + "/weft.wasm cannot be loaded: 404 Not Found; weft.wasm belongs where worker.js lies"},
		{"no compiling", "default-src 'none'; script-src 'unsafe-inline' " + from + "; worker-src blob:; connect-src " + from, "", from, from + "/weft.wasm is there, but the page may not run it: if the page has a content security policy, let that say " + policy.Elsewhere(from)},
		{"no fetching", "default-src 'none'; worker-src blob:; script-src " + from + " 'wasm-unsafe-eval'", "", from, "cannot be reached: Failed to fetch; if the page has a content security policy, let that say " + policy.Elsewhere(from)},
		{"no policy of that name", "require-trusted-types-for 'script'; trusted-types mine", "", from, "let it say trusted-types weft"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p *browser.Page
			if c.page != "" {
				p, err = shared.browser.Open(c.page + "/worker-less.html")
				require.NoError(t, err)
				t.Cleanup(func() { p.Close() })
			} else {
				p = blank(t, map[string]string{"Content-Security-Policy": c.policy})
			}
			var said string
			require.NoError(t, p.Run(`const { open } = await import('`+c.from+`/weft.js')
				try { await open({device: 'wasm'}) } catch (e) { return e.message }
				return 'it works'`, &said))
			assert.Contains(t, said, c.says)
		})
	}
}

// The folder of the worker and the modules can be named.
func TestNamedFolder(t *testing.T) {
	from := elsewhere(t)
	lonely := t.TempDir()
	for _, name := range []string{"worker.js", "weft.wasm", "rest.wasm", "whole.wasm", "models.wasm"} {
		data, err := os.ReadFile(filepath.Join(shared.folder, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(lonely, name), data, 0o666))
	}
	entries, err := os.ReadDir(shared.folder)
	require.NoError(t, err)
	for _, e := range entries { // what worker.js imports
		if name := e.Name(); strings.HasSuffix(name, ".js") && name != "weft.js" && name != "worker.js" {
			require.NoError(t, os.Symlink(filepath.Join(shared.folder, name), filepath.Join(lonely, name)))
		}
	}
	p, err := shared.browser.Open(server(t, func(w http.ResponseWriter, r *http.Request) {
		http.StripPrefix("/engine", http.FileServer(http.Dir(lonely))).ServeHTTP(w, r)
	}) + "/engine/")
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	var got produced
	require.NoError(t, p.Run(`const weft = await import('`+from+`/weft.js')
		const open = (options) => weft.open({...options, folder: '/engine'})`+product, &got))
	assert.Equal(t, [][]float64{{8, 11}, {16, 23}}, got.List)
	assert.Empty(t, complaints(p))
}

// Under the strictest policy that lets scripts of the page's own run, everything runs.
func TestStrictPolicy(t *testing.T) {
	open(t) // builds
	at := server(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy.Strict+policy.Trusted(policy.Engine))
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		http.FileServer(http.Dir(shared.folder)).ServeHTTP(w, r)
	})
	b, err := browser.Start(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	p, err := b.Open(at + "/weft.js") // any file: its page is empty
	require.NoError(t, err)
	var got produced
	require.NoError(t, p.Run(`const { open } = await import('/weft.js')`+product, &got))
	assert.Equal(t, [][]float64{{8, 11}, {16, 23}}, got.List)
	assert.Contains(t, got.Detail, "threads")
	assert.Empty(t, complaints(p))
}

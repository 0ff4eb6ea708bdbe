package webkit

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// What a page throws and returns comes back, and clicks and the mouse reach it: without that the tests of pages would find nothing.
func TestPage(t *testing.T) {
	b, err := Start(context.Background(), Options{})
	need.Device(t, "WEBKIT", err)
	defer b.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		_, _ = w.Write([]byte(`<!doctype html><title>Page</title><button>Press</button><script>
			addEventListener('click', (e) => { globalThis.pressed = e.target.textContent })
			globalThis.moved = 0
			addEventListener('mousemove', (e) => { globalThis.moved += e.buttons })</script>`))
	}))
	defer s.Close()
	p, err := b.Open(s.URL)
	require.NoError(t, err)
	assert.Contains(t, b.Version, "WebKitGTK 2.")
	require.NoError(t, p.Click("button"))
	require.NoError(t, p.Eventually(`globalThis.pressed === 'Press'`, 10*time.Second))
	require.NoError(t, p.Mouse([2]float64{100, 100}, [2]float64{150, 150}, [2]float64{200, 100}))
	require.NoError(t, p.Eventually(`globalThis.moved > 0`, 10*time.Second))
	assert.ErrorContains(t, p.Eventually(`false`, 0), "not within")
	var got struct {
		Title  string
		Shared bool
	}
	require.NoError(t, p.Run(`return { title: document.title, shared: typeof SharedArrayBuffer === 'function' }`, &got))
	assert.Equal(t, "Page", got.Title)
	assert.True(t, got.Shared, "an isolated page shares memory")
	assert.ErrorContains(t, p.Run(`throw new RangeError('refused')`, nil), "the page threw: RangeError: refused")
	assert.Error(t, p.Run(`what is this`, nil))
	require.NoError(t, p.Close())
	require.NoError(t, p.Close(), "closed before")
}

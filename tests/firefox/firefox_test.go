package firefox

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// What a page complains about is heard, and what it throws and returns comes back: without that the tests of pages would find nothing.
func TestPage(t *testing.T) {
	b, err := Start(context.Background(), nil)
	need.Device(t, "FIREFOX", err)
	defer b.Close()
	assert.Contains(t, strings.ToLower(b.Version), "firefox")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(`<!doctype html><title>Page</title><script src="page.js"></script><script>document.title = 'inline'</script><img src="none.png" alt=""><button>Press</button>`))
		case "/page.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(`console.error('said', 1); console.log('no problem'); setTimeout(() => { throw new Error('thrown') })
				addEventListener('click', (e) => { globalThis.pressed = e.target.textContent })`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	p, err := b.Open(s.URL)
	require.NoError(t, err)
	require.NoError(t, p.Click("button"))
	require.NoError(t, p.Eventually(`globalThis.pressed === 'Press'`, 10*time.Second))
	assert.ErrorContains(t, p.Eventually(`false`, 0), "not within")
	var got struct{ Title string }
	require.NoError(t, p.Run(`return { title: document.title }`, &got))
	assert.Equal(t, "Page", got.Title)
	assert.ErrorContains(t, p.Run(`class Own extends Error {} throw new Own('refused')`, nil), "the page threw: Error: refused")
	assert.ErrorContains(t, p.Run(`what is this`, nil), "unexpected token")
	problems := strings.Join(p.Problems(), "\n")
	for _, heard := range []string{"said 1", "thrown", "none.png: 404", "forbids inline"} {
		assert.Contains(t, problems, heard)
	}
	assert.NotContains(t, problems, "no problem")
	require.NoError(t, p.Close())
}

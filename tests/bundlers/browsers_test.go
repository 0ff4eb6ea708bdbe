package bundlers

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	"github.com/weft-ml/weft/tests/firefox"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/webkit"
)

// A page without tools has the package in Firefox, from its own origin and from another one.
func TestFirefox(t *testing.T) {
	b, err := firefox.Start(context.Background(), nil)
	need.Device(t, "FIREFOX", err)
	defer b.Close()
	withoutTools(t, func(url string) (browser.Tab, error) { return b.Open(url) })
}

// And in WebKit.
func TestWebKit(t *testing.T) {
	b, err := webkit.Start(context.Background(), webkit.Options{})
	need.Device(t, "WEBKIT", err)
	defer b.Close()
	withoutTools(t, func(url string) (browser.Tab, error) { return b.Open(url) })
}

func withoutTools(t *testing.T, open func(url string) (browser.Tab, error)) {
	at := project(t)
	here := serve(t, at)
	page(t, filepath.Join(at, "index.html"), `<script type="importmap">{"imports": {"@weft-ml/weft": "./node_modules/@weft-ml/weft/weft.js"}}</script><script type="module" src="page.js"></script>`)
	elsewhere := serve(t, filepath.Join(at, "node_modules/@weft-ml/weft"))
	page(t, filepath.Join(at, "elsewhere.html"), `<script type="importmap">{"imports": {"@weft-ml/weft": "`+elsewhere+`/weft.js"}}</script><script type="module" src="page.js"></script>`)
	for _, name := range []string{"/", "/elsewhere.html"} {
		p, err := open(here + name)
		require.NoError(t, err)
		require.NoError(t, p.Eventually(`globalThis.result`, time.Minute), "%s %v", name, browser.Problems(p))
		var got result
		require.NoError(t, p.Run(`return globalThis.result`, &got))
		got.check(t)
		assert.Contains(t, got.Detail, "WebAssembly", name)
		assert.Empty(t, browser.Problems(p), name)
		require.NoError(t, p.Close())
	}
}

package site

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	"github.com/weft-ml/weft/tests/firefox"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/webkit"
)

// reader is who uses a page there.
type reader struct {
	browser.Tab
	devices bool // has a camera and a microphone
}

// visit is a page of the site, and what a reader does with it.
type visit struct {
	name, path string
	ready      string // an expression that is true when the page is
	use        func(t *testing.T, p reader)
}

// said is what an element of a page says.
func said(t *testing.T, p reader, id string) (s string) {
	require.NoError(t, p.Run(`return document.getElementById('`+id+`')?.textContent ?? ''`, &s))
	return s
}

// says waits until an element's text matches.
func says(t *testing.T, p reader, id, pattern string) {
	require.NoError(t, p.Eventually(`/`+pattern+`/.test(document.getElementById('`+id+`').textContent)`, slow), "%s: %q %q %q", id, said(t, p, id), said(t, p, "problem"), said(t, p, "status"))
}

// into has an input of a page get a file.
func into(t *testing.T, p reader, input, name string, raw []byte) {
	require.NoError(t, p.Run(fmt.Sprintf(`const files = new DataTransfer()
		files.items.add(new File([Uint8Array.from(atob(%q), (c) => c.charCodeAt(0))], %q))
		const at = document.getElementById(%q)
		at.files = files.files
		at.dispatchEvent(new Event('change', {bubbles: true}))`, base64.StdEncoding.EncodeToString(raw), name, input), nil))
}

// number is the number that an element says; 0 where it says none yet.
func number(t *testing.T, p reader, id string) float64 {
	n, _ := strconv.ParseFloat(strings.ReplaceAll(said(t, p, id), ",", ""), 64)
	return n
}

const (
	modelReady = `document.getElementById('status').textContent.startsWith('Ready') || document.getElementById('status').classList.contains('bad')`
	hasKernels = `document.querySelectorAll('#kernels .launch').length > 0`
)

var visits = []visit{
	{"start", "", `/ms from call/.test(document.getElementById('told').textContent)`, func(t *testing.T, p reader) {
		says(t, p, "here", `WebAssembly.*thread`)
		says(t, p, "kernel", `\(func `)
		require.NoError(t, p.Click("#tieup [role=gridcell]"))
		require.NoError(t, p.Click("#measure"))
		says(t, p, "measured", `GFLOP\/s on .*WebAssembly`)
	}},
	{"train", "train/", ready, func(t *testing.T, p reader) {
		require.NoError(t, p.Click("#train"))
		require.NoError(t, p.Eventually(`parseFloat(document.getElementById('loss').textContent) > 0`, slow))
		first := number(t, p, "loss")
		require.NoError(t, p.Eventually(fmt.Sprintf(`parseFloat(document.getElementById('loss').textContent) < %g && parseFloat(document.getElementById('accuracy').textContent) > 50`, first/2), slow),
			"the loss began with %g; now %s, and %s %% of held-back digits", first, said(t, p, "loss"), said(t, p, "accuracy"))
		assert.Equal(t, "WASM", said(t, p, "device"))
		assert.Contains(t, said(t, p, "device-detail"), "threads")
		t.Logf("loss %g → %s, %s %%, %s steps, %s a second", first, said(t, p, "loss"), said(t, p, "accuracy"), said(t, p, "step"), said(t, p, "speed"))
		require.NoError(t, p.Click("#pause"))
		require.NoError(t, p.Eventually(`/^Paused/.test(document.getElementById('status').textContent)`, slow))
		var at browser.Box
		require.NoError(t, p.Run(`const e = document.getElementById('draw'); e.scrollIntoView({block: 'center', behavior: 'instant'}); const r = e.getBoundingClientRect()
			return {X: r.x, Y: r.y, Width: r.width, Height: r.height}`, &at))
		require.NoError(t, p.Mouse([2]float64{at.X + at.Width*.28, at.Y + at.Height*.2}, [2]float64{at.X + at.Width*.72, at.Y + at.Height*.2}, [2]float64{at.X + at.Width*.42, at.Y + at.Height*.82}))
		says(t, p, "answer", `^\d$`)
	}},
	{"inside", "inside/", hasKernels, func(t *testing.T, p reader) {
		require.NoError(t, p.Click("#run"))
		says(t, p, "run-text", `kernels? on .*WebAssembly`)
		says(t, p, "step-count", `^1 of \d`)
	}},
	{"reference", "reference/#losses", `document.querySelectorAll('.method').length > 5`, func(t *testing.T, p reader) {
		require.NoError(t, p.Click(".method button"))
		require.NoError(t, p.Eventually(`/^\w+Array \[/.test(document.querySelector('.method output').textContent)`, slow))
	}},
	{"see", "see/", modelReady, func(t *testing.T, p reader) {
		require.Contains(t, said(t, p, "status"), "WebAssembly")
		img := image.NewRGBA(image.Rect(0, 0, 400, 300))
		for i := range 400 {
			img.Set(i, i*3/4, color.RGBA{200, 100, 50, 255})
		}
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		into(t, p, "picture", "x.png", b.Bytes())
		says(t, p, "found", `^No face, found in \d+ ms$`)
		if !p.devices {
			return
		}
		require.NoError(t, p.Click("#camera"))
		says(t, p, "found", `pictures a second$`)
		require.NoError(t, p.Click("#camera"))
		assert.Equal(t, "Use the camera", said(t, p, "camera"))
	}},
	{"hear", "hear/", modelReady, func(t *testing.T, p reader) {
		require.Contains(t, said(t, p, "status"), "WebAssembly")
		raw, err := os.ReadFile(need.Data(t, "models", "silero-vad-op18-ifless", "audio.wav"))
		require.NoError(t, err)
		into(t, p, "recording", "audio.wav", raw)
		says(t, p, "found", `minutes heard in`)
		var parts []string
		require.NoError(t, p.Run(`return [...document.querySelectorAll('#parts li')].map((l) => l.textContent)`, &parts))
		assert.Equal(t, spoken(t), parts)
		if !p.devices {
			return
		}
		require.NoError(t, p.Click("#microphone"))
		const silent = `document.getElementById('status').textContent.includes('the browser does not start its sound')` // where nothing plays any
		require.NoError(t, p.Eventually(`/speaks$/.test(document.getElementById('found').textContent) || `+silent, slow), said(t, p, "status"))
	}},
	{"write", "write/", modelReady, func(t *testing.T, p reader) {
		require.Contains(t, said(t, p, "status"), "WebAssembly")
		story, err := os.ReadFile(need.Data(t, "models", "stories260k", "greedy_text.txt"))
		require.NoError(t, err)
		require.NoError(t, p.Run(`for (const [id, value] of [['prompt', ''], ['temperature', '0'], ['tokens', '60']]) document.getElementById(id).value = value`, nil))
		require.NoError(t, p.Click("#go"))
		says(t, p, "status", `^As many tokens`)
		written := strings.TrimSpace(said(t, p, "text"))
		assert.Greater(t, len(written), 80)
		assert.True(t, strings.HasPrefix(string(story), written), written)
	}},
	{"elements", "elements/", shownAll, func(t *testing.T, p reader) {
		var wrong []string
		require.NoError(t, p.Run(`return [...document.querySelectorAll('weft-model')].map((e) => e.shadowRoot.querySelector('[part=error]')?.textContent ?? '').filter(Boolean)`, &wrong))
		assert.Len(t, wrong, 1, "one of them shows an error")
	}},
	{"gallery", "gallery/", `document.querySelectorAll('main a').length > 2`, nil},
	{"wave", "gallery/wave/", `/^\d+ steps.*WebAssembly/.test(document.getElementById('status').textContent)`, nil},
	{"clusters", "gallery/clusters/", `/no point moves.*WebAssembly/.test(document.getElementById('status').textContent)`, nil},
	{"writer", "gallery/writer/", `/WebAssembly/.test(document.getElementById('status').textContent) && Number(document.getElementById('loss').textContent) > 0`, func(t *testing.T, p reader) {
		first := number(t, p, "loss")
		require.NoError(t, p.Eventually(fmt.Sprintf(`parseFloat(document.getElementById('loss').textContent) < %g`, max(first-0.05, 0.5)), slow)) // it may have learnt before it was asked
	}},
}

// Every page of the site does in Firefox what it does in Chromium, on WebAssembly and with threads, and complains of nothing.
func TestFirefox(t *testing.T) {
	devices := map[string]any{"media.navigator.streams.fake": true, "media.navigator.permission.disabled": true} // a camera and a microphone
	b, err := firefox.Start(context.Background(), devices)
	need.Device(t, "FIREFOX", err)
	defer b.Close()
	t.Log(b.Version)
	tour(t, "FIREFOX", true, func(t *testing.T, url, name string) (browser.Tab, func(), error) {
		p, err := b.Open(url)
		return p, func() {
			assert.Empty(t, p.Problems())
			require.NoError(t, p.Screenshot(filepath.Join(t.ArtifactDir(), "firefox-"+name+".png")))
		}, err
	})
}

// And so it does in WebKit.
func TestWebKit(t *testing.T) {
	b, err := webkit.Start(context.Background(), webkit.Options{})
	need.Device(t, "WEBKIT", err)
	defer b.Close()
	tour(t, "WEBKIT", false, func(_ *testing.T, url, _ string) (browser.Tab, func(), error) {
		p, err := b.Open(url)
		return p, func() {}, err
	})
	t.Log(b.Version)
}

// tour opens all pages and does what readers do.
func tour(t *testing.T, device string, devices bool, open func(t *testing.T, url, name string) (opened browser.Tab, done func(), err error)) {
	need.Device(t, device, build(need.Root(t)))
	server := browser.ServeIsolated(shared.folder)
	defer server.Close()
	var linked []string // whoever adds a page adds it here
	for path := range sources(t, ".html") {
		linked = append(linked, strings.TrimSuffix(path, "index.html"))
	}
	for _, c := range visits {
		path, _, _ := strings.Cut(c.path, "#")
		linked = slices.DeleteFunc(linked, func(s string) bool { return s == path })
		t.Run(c.name, func(t *testing.T) {
			wait := slow
			switch c.ready {
			case modelReady:
				need.Data(t, "models")
			case shownAll:
				elements(t)
				wait = 3 * slow // for six models, one after the other
			}
			opened, done, err := open(t, server.URL+"/"+sub+"/"+c.path, c.name)
			require.NoError(t, err)
			defer opened.Close()
			p := reader{opened, devices}
			require.NoError(t, p.Eventually(c.ready, wait), "%q %q", said(t, p, "status"), said(t, p, "problem"))
			if c.use != nil {
				c.use(t, p)
			}
			done()
		})
	}
	assert.Empty(t, linked, "pages that are not opened there")
}

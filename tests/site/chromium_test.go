package site

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/backends/page"
	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
)

// shared is one Chromium and one build of the site for all tests.
var shared struct {
	browsing sync.Once
	browser  *browser.Browser
	failed   error // to start

	building sync.Once
	folder   string
	err      error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.browser != nil {
		shared.browser.Close()
	}
	if shared.folder != "" {
		os.RemoveAll(shared.folder)
	}
	os.Exit(code)
}

// slow is how long a page may take to have an engine and the first kernels, where other tests have the machine as well.
const slow = 2 * time.Minute

// sub is the folder in which the site lies on the test's host: it must work in any.
const sub = "some/folder"

// host starts Chromium, builds the site and serves it; it gives the address.
func host(t *testing.T) string {
	shared.browsing.Do(func() {
		if shared.browser, shared.failed = browser.Start(context.Background()); shared.failed == nil {
			_, shared.failed = shared.browser.Version()
		}
	})
	need.Device(t, "CHROMIUM", shared.failed)
	need.Device(t, "CHROMIUM", build(need.Root(t)))
	server := browser.Serve(shared.folder)
	t.Cleanup(server.Close)
	return server.URL + "/" + sub + "/"
}

// build builds the site, once, below shared.folder.
func build(root string) error {
	shared.building.Do(func() {
		if shared.folder, shared.err = os.MkdirTemp("", "weft-site-"); shared.err != nil {
			return
		}
		at := filepath.Join(shared.folder, filepath.FromSlash(sub))
		if shared.err = browser.Build(root, at); shared.err == nil {
			shared.err = copySite(filepath.Join(root, "site"), at)
		}
		if shared.err == nil {
			shared.err = models(root, at)
		}
	})
	return shared.err
}

// models copies the models that the site begins with, as its build does.
func models(root, site string) error {
	data := os.Getenv("WEFT_DATA")
	if data == "" {
		data = filepath.Join(root, "..", "shared", "data")
	}
	cmd := exec.Command("sh", filepath.Join(root, ".ci", "models"), filepath.Join(data, "models"), filepath.Join(site, "models"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy the models of the site: %w\n%s", err, out)
	}
	return nil
}

// copySite copies the pages, but not what was built from them.
func copySite(from, to string) error {
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		if err != nil || e.Name() == "dist" || filepath.Ext(e.Name()) == ".go" {
			continue
		}
		if e.IsDir() {
			err = os.CopyFS(filepath.Join(to, e.Name()), os.DirFS(filepath.Join(from, e.Name())))
			continue
		}
		var text []byte
		if text, err = os.ReadFile(filepath.Join(from, e.Name())); err == nil {
			err = os.WriteFile(filepath.Join(to, e.Name()), text, 0o666)
		}
	}
	return err
}

// open opens a page of the site; at the end of the test its console must be empty. With flags it is opened in a Chromium
// of its own.
func open(t *testing.T, path string, flags ...string) *browser.Page {
	at := host(t) // starts the browser
	in := shared.browser
	if len(flags) > 0 {
		var err error
		in, err = browser.Start(context.Background(), flags...)
		require.NoError(t, err)
		t.Cleanup(func() { in.Close() })
	}
	p, err := in.Open(at + path)
	require.NoError(t, err)
	t.Cleanup(func() {
		problems := slices.DeleteFunc(p.Problems(), func(s string) bool {
			return strings.Contains(s, "No available adapters") // Chromium's own warning where there is no WebGPU
		})
		assert.Empty(t, problems)
		p.Close()
	})
	return p
}

// text is what an element says.
func text(t *testing.T, p *browser.Page, id string) string {
	var s string
	require.NoError(t, p.Run(fmt.Sprintf(`return document.getElementById(%q).textContent`, id), &s))
	return s
}

// narrow asserts that a page has no horizontal scroll bar on a small telephone.
func narrow(t *testing.T, p *browser.Page) {
	require.NoError(t, p.Size(360, 740))
	var over int
	require.NoError(t, p.Run(`await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))
		return document.documentElement.scrollWidth - document.documentElement.clientWidth`, &over))
	assert.LessOrEqual(t, over, 0, "pixels too wide at 360")
}

// shots takes pictures in light and dark, wide and narrow (go test -artifacts keeps them).
// Where an id is given, that is at the top of them.
func shots(t *testing.T, p *browser.Page, name string, at ...string) {
	top := func() {
		time.Sleep(300 * time.Millisecond) // plots are drawn anew a few times a second
		for _, id := range at {
			require.NoError(t, p.Run(fmt.Sprintf(`document.getElementById(%q).scrollIntoView({ behavior: 'instant' })
				await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))`, id), nil))
		}
	}
	folder := t.ArtifactDir()
	for _, scheme := range []string{"light", "dark"} {
		require.NoError(t, p.Scheme(scheme))
		require.NoError(t, p.Size(1280, 1000))
		top()
		require.NoError(t, p.Screenshot(filepath.Join(folder, name+"-"+scheme+".png")))
		narrow(t, p)
		require.NoError(t, p.Size(390, 844))
		top()
		require.NoError(t, p.Screenshot(filepath.Join(folder, name+"-"+scheme+"-narrow.png")))
	}
	require.NoError(t, p.Size(1280, 1000))
}

// more are shots of something on a page that has been taken whole elsewhere: go test -artifacts keeps them, and without it only the small telephone's
// scroll bar is looked for.
func more(t *testing.T, p *browser.Page, name string, at ...string) {
	if kept := flag.Lookup("test.artifacts"); kept != nil && kept.Value.String() == "true" {
		shots(t, p, name, at...)
		return
	}
	narrow(t, p)
	require.NoError(t, p.Size(1280, 1000))
}

func TestStartPage(t *testing.T) {
	p := open(t, "")
	require.NoError(t, p.Eventually(`/ms from call/.test(document.getElementById('told').textContent)`, slow))
	const cloth = `const c = document.getElementById('cloth'); return c.toDataURL()`
	var before, after string
	require.NoError(t, p.Run(cloth, &before))
	require.NoError(t, p.Click(`#tieup [role=gridcell]`))
	require.NoError(t, p.Eventually(`!/compiling/.test(document.getElementById('told').textContent)`, slow))
	require.NoError(t, p.Run(cloth, &after))
	assert.NotEqual(t, before, after, "the cloth after another tie-up")
	require.NoError(t, p.Eventually(`/@compute|\(func /.test(document.getElementById('kernel').textContent)`, slow))
	t.Log(text(t, p, "told"))
	shots(t, p, "start")
}

// The cloth is what the three matrices give, not something that looks like it.
func TestLoomIsTheProduct(t *testing.T) {
	p := open(t, "")
	var wrong int
	require.NoError(t, p.Run(`
		const { open } = await import('./weft.js')
		const { patterns, matrices, picks, ends, shafts, treadles } = await import('./assets/loom.js')
		const w = await open({device: 'wasm'})
		let wrong = 0
		for (const pattern of Object.values(patterns)) {
			const { treadling, threading } = matrices(pattern)
			const ties = Float32Array.from(pattern[2].flat())
			const cloth = await w.tensor(treadling, [picks, treadles]).matmul(w.tensor(ties, [treadles, shafts]))
				.matmul(w.tensor(threading, [shafts, ends])).data()
			const [order, steps, rows] = pattern
			for (let p = 0; p < picks; p++) for (let e = 0; e < ends; e++) {
				if (cloth[p * ends + e] !== rows[steps[p % steps.length]][order[e % order.length]]) wrong++
			}
		}
		w.close()
		return wrong`, &wrong))
	assert.Zero(t, wrong, "crossings that differ")
}

// What the pages say of devices is what there is.
func TestDevicesThatAreNamed(t *testing.T) {
	p := open(t, "train/")
	var offered []string
	require.NoError(t, p.Run(`return [...document.querySelectorAll('#device-choice option')].map((o) => o.value.toUpperCase())`, &offered))
	assert.Equal(t, append([]string{""}, page.Names...), offered)
	p = open(t, "")
	var here []string
	require.NoError(t, p.Run(`return [...document.querySelectorAll('#devices tbody tr')].filter((r) => !/^(no|not yet)$/.test(r.cells[2].textContent)).map((r) => r.cells[0].textContent)`, &here))
	assert.Equal(t, page.Names, here)
}

func TestLookInside(t *testing.T) {
	p := open(t, "inside/")
	require.NoError(t, p.Eventually(`document.querySelectorAll('#kernels .launch').length > 0`, slow))
	var sides []string
	require.NoError(t, p.Run(`await new Promise((f) => setTimeout(f, 300))
		return [...document.querySelectorAll('#kernels .launch:first-child .side > pre')].map((e) => e.textContent)`, &sides))
	require.Len(t, sides, 2, "WebAssembly is shown when it is asked for")
	assert.Contains(t, sides[0], "@compute")
	assert.Contains(t, sides[1], "char *const *buf")
	assert.NotEmpty(t, text(t, p, "graph-list"))
	shots(t, p, "inside")

	ask := func(expression string) {
		require.NoError(t, p.Run(fmt.Sprintf(`const e = document.getElementById('expression'); e.value = %q; e.form.requestSubmit()`, expression), nil))
	}
	// Every example of the page compiles, whatever else it does.
	var examples []string
	require.NoError(t, p.Run(`return [...document.querySelectorAll('#examples button')].map((e) => e.textContent)`, &examples))
	require.NotEmpty(t, examples)
	for _, x := range examples {
		ask(x)
		require.NoError(t, p.Eventually(`/became/.test(document.getElementById('status').textContent) || !document.getElementById('wrong').hidden`, slow))
		assert.Empty(t, text(t, p, "wrong"), x)
		require.NoError(t, p.Run(`document.getElementById('status').textContent = ''`, nil))
	}
	// What is wrong with an expression is said beside it, and what was shown stays.
	for expression, says := range map[string]string{
		"softmax(x[2, 3] @ y[4, 5], -1)":       "inner sizes 3 and 4 differ",
		"relu(x[2, 3)":                         "belongs",
		"x[2] + y":                             "y",
		"frobnicate(x[2])":                     "frobnicate",
		"conv2d(x[1, 3, 8, 8], w[4, 2, 3, 3])": "conv2d",
		"":                                     "the end comes where",
		strings.Repeat("(", 5000):              "an expression may have",
		"x[100000, 100000, 100000]":            "too large to look at",
	} {
		ask(expression)
		err := p.Eventually(fmt.Sprintf(`!document.getElementById('wrong').hidden && document.getElementById('wrong').textContent.includes(%q)`, says), slow)
		assert.NoError(t, err, "%s: %s", expression, text(t, p, "wrong"))
		t.Logf("%.60s → %s", expression, text(t, p, "wrong"))
		assert.NotEmpty(t, text(t, p, "kernels"))
	}
	ask("x[2, 3] + 1")
	require.NoError(t, p.Eventually(`document.getElementById('wrong').hidden`, slow))
}

// Pages that are isolated from other origins have threads; the others say that they have one.
func TestIsolatedPage(t *testing.T) {
	host(t)
	server := browser.ServeIsolated(shared.folder)
	defer server.Close()
	p, err := shared.browser.Open(server.URL + "/" + sub + "/train/")
	require.NoError(t, err)
	defer p.Close()
	var isolated bool
	require.NoError(t, p.Run(`return crossOriginIsolated`, &isolated))
	require.True(t, isolated)
	require.NoError(t, p.Run(`const e = document.getElementById('device-choice'); e.value = 'wasm'; e.dispatchEvent(new Event('change'))
		document.getElementById('train').click()`, nil))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > 3`, slow), text(t, p, "problem"))
	assert.Equal(t, "WASM", text(t, p, "device"))
	assert.Contains(t, text(t, p, "device-detail"), "threads")
	assert.Empty(t, p.Problems())
}

// Everything that can be used has a name that a screen reader tells.
func TestNames(t *testing.T) {
	for path, names := range map[string][]string{
		"": {"link Train a network here", "combobox Pattern", "button Measure it here", "gridcell Treadle 1, shaft 1"},
		"train/": {
			"button Train", "button Pause", "button Reset", "combobox Device", "combobox Model", "combobox Data", "combobox Batch", "combobox Rate",
			"button Clear", "image Drawing area for a digit", "image Loss: nothing measured yet",
		},
		"inside/": {"textbox Expression", "button Show", "checkbox Show movement and constants"},
	} {
		p := open(t, path)
		var tree struct {
			Nodes []struct {
				Ignored    bool
				Role, Name struct{ Value any }
			}
		}
		switch path {
		case "train/":
			require.NoError(t, p.Eventually(ready, slow))
			require.NoError(t, p.Run(`document.querySelector('.advanced').open = true`, nil))
		case "inside/":
			require.NoError(t, p.Eventually(`document.querySelectorAll('#kernels .launch').length > 0`, slow))
		}
		require.NoError(t, p.Call("Accessibility.getFullAXTree", nil, &tree))
		var all []string
		for _, n := range tree.Nodes {
			if n.Ignored {
				continue
			}
			all = append(all, fmt.Sprint(n.Role.Value, " ", n.Name.Value))
			switch n.Role.Value {
			case "button", "link", "combobox", "textbox", "checkbox", "gridcell", "image":
				assert.NotContains(t, []any{nil, ""}, n.Name.Value, "%s: a %v without a name", path, n.Role.Value)
			}
		}
		for _, name := range names {
			assert.Contains(t, all, name, path)
		}
	}
}

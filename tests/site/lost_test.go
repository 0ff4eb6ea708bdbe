package site

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
)

// ill opens a page whose graphics processor can be made to fail. Its first engine is opened on WebGPU, whether that is the
// fastest here or not. The worker of the engine that was opened last is in globalThis.worker.
func ill(t *testing.T, path string) *browser.Page {
	host(t) // builds
	folder := t.TempDir()
	at, built := filepath.Join(folder, filepath.FromSlash(sub)), filepath.Join(shared.folder, filepath.FromSlash(sub))
	require.NoError(t, browser.Ill(built, at))
	require.NoError(t, os.CopyFS(filepath.Join(at, "whole"), os.DirFS(built))) // modules are told apart by their addresses
	require.NoError(t, os.Rename(filepath.Join(at, "worker.js"), filepath.Join(at, "whole", "worker.js")))
	require.NoError(t, os.WriteFile(filepath.Join(at, "weft.js"), []byte(`
		const Plain = Worker
		globalThis.Worker = class extends Plain { constructor(...args) { super(...args); if (args[1]?.name === 'weft') globalThis.worker = this } }
		export * from './whole/weft.js'
		import { open as whole } from './whole/weft.js'
		let opened = 0
		export const open = (options) => whole(opened++ ? options : { ...options, device: 'webgpu' })`), 0o666))
	server := browser.Serve(folder, shared.folder)
	t.Cleanup(server.Close)
	p, err := shared.browser.Open(server.URL + "/" + sub + "/" + path)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Empty(t, slices.DeleteFunc(p.Problems(), func(s string) bool { // the whole engine is another file here
			return strings.Contains(s, "whole.wasm was preloaded using link preload but not used")
		}))
		p.Close()
	})
	return p
}

// fail has the page's graphics processor fail in some way.
func fail(t *testing.T, p *browser.Page, how string, lose bool) {
	require.NoError(t, p.Run(fmt.Sprintf(`worker.postMessage({ill: %q}); if (%v) worker.postMessage({lose: true})`, how, lose), nil))
}

// step is how far training is.
func step(t *testing.T, p *browser.Page) int {
	n, err := strconv.Atoi(strings.ReplaceAll(text(t, p, "step"), ",", ""))
	require.NoError(t, err)
	return n
}

// starts presses Train and waits until it has taken some steps on WebGPU.
func starts(t *testing.T, p *browser.Page) {
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > 5`, slow), text(t, p, "problem"))
	assert.Equal(t, "WEBGPU", text(t, p, "device"))
}

// A graphics processor that is lost while the page trains: the page says so and goes on where it was.
func TestLostWhileTraining(t *testing.T) {
	p := ill(t, "train/")
	starts(t, p)
	before := step(t, p)
	fail(t, p, "", true)
	require.NoError(t, p.Eventually(`/lost/.test(document.getElementById('note').textContent)`, slow))
	t.Log(text(t, p, "note"))
	err := p.Eventually(`/is there again, with the weights/.test(document.getElementById('note').textContent)`, slow)
	require.NoError(t, err, "step %d after %d, %s; %s", step(t, p), before, text(t, p, "status"), text(t, p, "problem"))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > `+strconv.Itoa(before+10), slow))
	assert.GreaterOrEqual(t, step(t, p), before, "steps are not begun again")
	var loss float64
	require.NoError(t, p.Run(`return Number(document.getElementById('loss').textContent)`, &loss))
	assert.Less(t, loss, 2., "with new weights it would be 2.5")
	assert.Empty(t, text(t, p, "problem"))
	assert.Equal(t, "WEBGPU", text(t, p, "device"))
}

// One that is lost and cannot be opened again: the page says so and begins again on what works.
func TestLostForGood(t *testing.T) {
	p := ill(t, "train/")
	starts(t, p)
	fail(t, p, "gone", true)
	require.NoError(t, p.Eventually(`/lost for good.*begins again on WebAssembly/.test(document.getElementById('note').textContent)`, slow),
		text(t, p, "problem"))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > 5`, slow), text(t, p, "problem"))
	assert.Equal(t, "WASM", text(t, p, "device"))
	assert.Empty(t, text(t, p, "problem"))
	t.Log(text(t, p, "note"))
}

// A shader that is refused while the page trains: it says which and why, stops, and trains on when asked.
func TestRefusedWhileTraining(t *testing.T) {
	p := ill(t, "train/")
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	fail(t, p, "refuse", false)
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`/kernel .* was refused: line \d+/.test(document.getElementById('problem').textContent)`, slow), text(t, p, "status"))
	assert.Contains(t, text(t, p, "status"), "Train tries again")
	more(t, p, "refused")
	fail(t, p, "", false)
	require.NoError(t, p.Click("#train"))
	require.NoError(t, p.Eventually(`Number(document.getElementById('step').textContent) > 2`, slow), text(t, p, "problem"))
	assert.Empty(t, text(t, p, "problem"))
}

// The start page says what became of a lost graphics processor, and weaves on.
func TestLostOnStartPage(t *testing.T) {
	p := ill(t, "")
	const told = `document.getElementById('told').textContent`
	require.NoError(t, p.Eventually(`/on WebGPU.* ms from call/.test(`+told+`)`, slow))
	fail(t, p, "", true)
	require.NoError(t, p.Eventually(`/on WebGPU.*lost and is there again/.test(`+told+`)`, slow), text(t, p, "told"))
	fail(t, p, "gone", true)
	require.NoError(t, p.Eventually(`/on WebAssembly.*lost for good/.test(`+told+`)`, slow), text(t, p, "told"))
	assert.Contains(t, text(t, p, "here"), "WebAssembly")
	t.Log(text(t, p, "told"))
}

// The page that looks inside says so where its engine ends, and starts another at the next question.
func TestEngineThatEnds(t *testing.T) {
	p := ill(t, "inside/")
	const shown = `document.querySelectorAll('#kernels .launch').length`
	require.NoError(t, p.Eventually(shown+` === 2`, slow))
	ask := func(expression string) {
		require.NoError(t, p.Run(fmt.Sprintf(`const e = document.getElementById('expression'); e.value = %q; e.form.requestSubmit()`, expression), nil))
	}
	require.NoError(t, p.Run(`worker.postMessage([new ArrayBuffer(3)]); await new Promise((done) => setTimeout(done, 300))`, nil)) // no batch of requests
	ask("x[8] + 1")
	require.NoError(t, p.Eventually(`!document.getElementById('wrong').hidden`, slow))
	t.Log(text(t, p, "wrong"))
	ask("x[8] + 2")
	require.NoError(t, p.Eventually(shown+` === 1`, slow), text(t, p, "wrong"))
	assert.Empty(t, text(t, p, "wrong"))
}

// A browser without WebGPU that is asked for it: the page says what is missing, and works on another device.
func TestAskedForWhatIsMissing(t *testing.T) {
	p := open(t, "train/", "!--enable-unsafe-webgpu")
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	choose := func(device string) {
		require.NoError(t, p.Run(fmt.Sprintf(`const e = document.getElementById('device-choice'); e.value = %q; e.dispatchEvent(new Event('change'))`, device), nil))
	}
	choose("webgpu")
	require.NoError(t, p.Eventually(`/WEBGPU cannot be used here.*no adapter|navigator.gpu is missing/.test(document.getElementById('problem').textContent)`, slow),
		text(t, p, "status"))
	assert.Contains(t, text(t, p, "status"), "Another device can be chosen")
	choose("wasm")
	require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
	assert.Empty(t, text(t, p, "problem"))
}

// A page that is not isolated says what it lacks and how to give it that; one that is says nothing of it.
func TestNotIsolated(t *testing.T) {
	host(t)
	for _, isolated := range []bool{false, true} {
		serve := browser.Serve
		if isolated {
			serve = browser.ServeIsolated
		}
		server := serve(shared.folder)
		t.Cleanup(server.Close)
		for path, id := range map[string]string{"": "here", "train/": "note"} {
			p, err := shared.browser.Open(server.URL + "/" + sub + "/" + path)
			require.NoError(t, err)
			if path != "" {
				require.NoError(t, p.Eventually(ready, slow), text(t, p, "problem"))
				require.NoError(t, p.Run(`const e = document.getElementById('device-choice'); e.value = 'wasm'; e.dispatchEvent(new Event('change'))`, nil))
				require.NoError(t, p.Eventually(`document.getElementById('device').textContent === 'WASM'`, slow))
			}
			require.NoError(t, p.Eventually(`/Here that is/.test(document.getElementById('here')?.textContent ?? 'Here that is')`, slow))
			if strings.Contains(text(t, p, id), "WebGPU") {
				need.Device(t, "CHROMIUM", errors.New("WebGPU is the fastest here: a browser without a graphics processor is needed"))
			}
			var cores int
			require.NoError(t, p.Run(`return navigator.hardwareConcurrency`, &cores))
			says := strings.Contains(text(t, p, id), "not cross-origin isolated, so WebAssembly has one thread")
			assert.Equal(t, !isolated && cores > 1, says, "%q isolated %v: %s", path, isolated, text(t, p, id))
			assert.Empty(t, p.Problems())
			p.Close()
		}
	}
}

package saved

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
)

// So it does in a page, on both devices, from any static host under a strict policy.
func TestFolderInPage(t *testing.T) {
	b, err := browser.Start(context.Background())
	need.Device(t, "CHROMIUM", err)
	defer b.Close()
	for _, name := range []string{"inference", "training", "variable"} {
		dir, script, want, _ := exported(t, name, export.Options{})
		drive, err := os.ReadFile(testdata(t, "drive.js"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "drive.js"), drive, 0o666))
		s := browser.Serve(dir)
		defer s.Close()
		for _, device := range []string{"wasm", "webgpu"} {
			t.Run(name+" "+device, func(t *testing.T) {
				p, err := b.Open(s.URL + "/?device=" + device)
				require.NoError(t, err)
				defer p.Close()
				var got []result
				require.NoError(t, p.Run(`
					const { load } = await import('/player/model.js'), { drive } = await import('/drive.js')
					let told = 0
					const model = await load('/', {device: '`+device+`', onprogress: (n, of) => { told = n / of }})
					if (model.device !== '`+device+`' || told !== 1) throw new Error(model.device + told)
					return drive(model, `+script+`)`, &got))
				alike(t, want, got)
				require.NoError(t, p.Eventually(`document.querySelector('button')`, 20e9))
				require.NoError(t, p.Run(`for (const b of document.querySelectorAll('button')) b.click()`, nil))
				require.NoError(t, p.Eventually(`[...document.querySelectorAll('output')].every(o => / ms$/.test(o.textContent))`, 20e9), "the page's own demonstration")
				assert.Empty(t, p.Problems())
			})
		}
	}
}

// In a worker it is the same, and on several threads, where the page is isolated.
func TestFolderInWorker(t *testing.T) {
	b, err := browser.Start(context.Background())
	need.Device(t, "CHROMIUM", err)
	defer b.Close()
	dir, script, want, _ := exported(t, "training", export.Options{})
	drive, err := os.ReadFile(testdata(t, "drive.js"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "drive.js"), drive, 0o666))
	s := browser.ServeIsolated(dir)
	defer s.Close()
	p, err := b.Open(s.URL)
	require.NoError(t, err)
	defer p.Close()
	for _, device := range []string{"wasm", "webgpu"} {
		var got struct {
			Results  []result
			Isolated bool
			Said     []string
			Started  int
		}
		require.NoError(t, p.Run(`
			const { load } = await import('/player/model.js'), { drive } = await import('/drive.js')
			const Said = [], says = async (f) => { try { await f(); Said.push('nothing') } catch (e) { Said.push(e.name + ' ' + e.message) } }
			let told = 0
			const { Worker } = globalThis
			let started = 0
			globalThis.Worker = class extends Worker {
				constructor(...all) {
					super(...all)
					started++
				}
			}
			const model = await load('/', {device: '`+device+`', worker: true, onprogress: (n, of) => { told = n / of }})
			if (model.device !== '`+device+`' || told !== 1) throw new Error(model.device + told)
			const Results = await drive(model, `+script+`)
			await model.restore(await model.save())
			globalThis.Worker = Worker
			await says(() => model.run('no'))
			await says(() => load('/no/', {worker: true}))
			await says(() => load('/', {worker: true, signal: AbortSignal.abort()}))
			await says(() => load('/', {worker: true, fetch}))
			await model.close()
			return {Results, Isolated: crossOriginIsolated, Said, Started: started}`, &got))
		alike(t, want, got.Results)
		assert.True(t, got.Isolated)
		assert.Equal(t, device == "wasm", got.Started > 1, "the page starts the threads of its worker")
		require.Len(t, got.Said, 4)
		for i, w := range []string{"ModelError there is no function no", "cannot be loaded: 404", "AbortError", "leave out one of the options"} {
			assert.Contains(t, got.Said[i], w)
		}
	}
}

// A page takes folder and player from another origin, whose scripts may be no workers of its own: in the page and in a worker.
func TestFolderOfAnotherOrigin(t *testing.T) {
	b, err := browser.Start(context.Background())
	need.Device(t, "CHROMIUM", err)
	defer b.Close()
	dir, script, want, _ := exported(t, "training", export.Options{})
	page := t.TempDir()
	drive, err := os.ReadFile(testdata(t, "drive.js"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(page, "drive.js"), drive, 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(page, "index.html"), []byte("<!doctype html><title>Page</title><link rel=icon href=data:,>"), 0o666))
	own := httptest.NewServer(http.FileServer(http.Dir(page)))
	defer own.Close()
	files := http.FileServer(http.Dir(dir))
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		files.ServeHTTP(w, r)
	}))
	defer other.Close()
	p, err := b.Open(own.URL)
	require.NoError(t, err)
	defer p.Close()
	for _, worker := range []string{"false", "true"} {
		var got []result
		require.NoError(t, p.Run(`
			const { load } = await import('`+other.URL+`/player/model.js'), { drive } = await import('/drive.js')
			const model = await load('`+other.URL+`/', {device: 'wasm', worker: `+worker+`})
			const out = await drive(model, `+script+`)
			await model.close()
			return out`, &got), "worker: %s", worker)
		alike(t, want, got)
	}
	assert.Empty(t, p.Problems())
}

// A graphics processor that is lost comes back by itself, unless runs had assigned something: then what was saved does.
func TestLostInPage(t *testing.T) {
	b, err := browser.Start(context.Background())
	need.Device(t, "CHROMIUM", err)
	defer b.Close()
	dir, script, want, _ := exported(t, "training", export.Options{Devices: []string{"WEBGPU"}})
	drive, err := os.ReadFile(testdata(t, "drive.js"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "drive.js"), drive, 0o666))
	s := browser.Serve(dir)
	defer s.Close()
	p, err := b.Open(s.URL)
	require.NoError(t, err)
	var got struct {
		Said   string
		Before []result
		After  []result
	}
	require.NoError(t, p.Run(`
		const { load } = await import('/player/model.js'), { drive } = await import('/drive.js')
		const runs = `+script+`
		const model = await load('/')
		await drive(model, runs.slice(1, 2)) // reads only
		model.lose()
		const Before = await drive(model, runs.slice(0, 2))
		const kept = await model.save()
		model.lose()
		let Said = ''
		try { await drive(model, runs.slice(2)) } catch (e) { Said = e.message }
		const again = await load('/')
		await again.restore(kept)
		return {Said, Before, After: await drive(again, runs.slice(2))}`, &got))
	assert.Contains(t, got.Said, "load the folder again, and restore what was saved")
	alike(t, want[:2], got.Before)
	alike(t, want[2:], got.After)
}

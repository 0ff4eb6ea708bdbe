package browser_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// A page that names no device begins on WebAssembly at once and is told so. Devices are measured when it is idle; it is told what came of
// it, and finds that the next time. Adapters that run on the processor, as in this browser, lose to WebAssembly.
func TestFasterDeviceIsChosen(t *testing.T) {
	p := open(t)
	var got struct {
		Devices, Notes, Later, Kept []string
		Moved                       []bool
		Sum                         float64
	}
	require.NoError(t, p.Run(`
		localStorage.removeItem('weft.devices')
		const got = {Devices: [], Notes: [], Later: [], Kept: [], Moved: []}
		for (const kept of ['', '', 'spoilt\n', null]) {
			if (kept) localStorage.setItem('weft.devices', kept)
			const w = await weft.open(kept === null ? {device: 'webgpu'} : {})
			const first = w.note
			const chosen = new Promise((resolve) => { w.onchosen = resolve })
			got.Devices.push(w.device)
			got.Notes.push(first)
			got.Sum = await w.tensor([1, 2, 3]).sum().item()
			if (first.startsWith('WASM is used at first')) {
				const { device, note, moved } = await chosen
				got.Later.push(note)
				got.Moved.push(moved)
				if (device !== w.device || note !== w.note) throw new Error('the engine says something else')
			}
			got.Kept.push(localStorage.getItem('weft.devices'))
			w.close()
		}
		return got`, &got))
	assert.Equal(t, []string{"WASM", "WASM", "WASM", "WEBGPU"}, got.Devices)
	t.Log(got.Notes, got.Later)
	const why = `^WASM is chosen for plans of about .* WASM [0-9.]+ m?s \(.*\), WEBGPU [0-9.]+ m?s \(`
	assert.Contains(t, got.Notes[0], "WASM is used at first; other devices are measured when")
	assert.Regexp(t, why, got.Notes[1], "measured once")
	assert.Equal(t, got.Notes[0], got.Notes[2])
	require.Len(t, got.Later, 2)
	assert.Equal(t, got.Notes[1], got.Later[0])
	assert.Regexp(t, why, got.Later[1])
	assert.Equal(t, []bool{false, false}, got.Moved)
	assert.Equal(t, got.Kept[0], got.Kept[1])
	assert.Contains(t, got.Kept[2], "weft choices 1\n", "what cannot be read is replaced")
	assert.Empty(t, got.Notes[3], "a device that is named is not compared")
	assert.Equal(t, got.Kept[2], got.Kept[3])
	assert.Equal(t, 6.0, got.Sum)
}

// fastGPU makes the page's graphics processor win: its worker sees a clock on which WASM's kernels take their time.
const fastGPU = `
{
	const real = performance.now.bind(performance)
	let added = 0
	performance.now = () => real() + added
	const { instantiate } = WebAssembly
	WebAssembly.instantiate = (engine, imports) => {
		const { play } = imports.kernels
		imports.kernels.play = (...args) => {
			added += 100
			return play(...args)
		}
		return instantiate.call(WebAssembly, engine, imports)
	}
}
`

// Work that goes on and on is not interrupted by a faster device that turns up: arrays, states that are assigned, captured functions
// and random numbers go there, and values are those of an engine that never moved. What that device cannot do brings all of it back.
func TestMovesToTheFasterDevice(t *testing.T) {
	open(t) // builds
	folder := t.TempDir()
	script, err := os.ReadFile(filepath.Join(shared.folder, "worker.js"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "worker.js"), append([]byte(fastGPU), script...), 0o600))
	p := openFrom(t, func(folders ...string) *httptest.Server { return browser.Serve(slices.Insert(folders, 1, folder)...) })
	var got struct {
		Devices []string
		News    []struct {
			Device, Note string
			Moved        bool
		}
		Values, Want [][]float64
		Wide         []float64
	}
	require.NoError(t, p.Run(`
		localStorage.removeItem('weft.devices')
		const got = {Devices: [], News: [], Values: [], Want: []}
		const program = async (w, pause) => {
			await w.seed(7)
			const out = []
			const weights = await w.arange(12).reshape([3, 4]).div(8).own().realize()
			const lazy = weights.add(1), kept = await weights.mul(3).realize()
			const step = w.capture((x) => {
				weights.assign(weights.mul(0.5).add(x.sum(0)))
				return [weights.sum(), w.rand([3]).add(x.sum())]
			})
			for (let i = 0; i < 4; i++) {
				const outs = await step.run(w.full([2, 3, 4], i))
				for (const t of outs) out.push([...await t.data()])
				if (i === 1) await pause()
			}
			for (const t of [weights, kept, kept.matmul(weights.transpose())]) out.push([...await t.data()])
			return out
		}
		const plain = await weft.open({device: 'wasm'})
		got.Want = await program(plain, () => {})
		plain.close()
		const w = await weft.open()
		const chosen = new Promise((resolve) => { // from now on, since devices are measured whenever there is peace
			w.onchosen = (news) => {
				got.News.push(news)
				resolve()
			}
		})
		got.Devices.push(w.device)
		got.Values = await program(w, () => chosen)
		got.Devices.push(w.device)
		const back = new Promise((resolve) => {
			w.onchosen = (news) => {
				got.News.push(news)
				resolve()
			}
		})
		got.Wide = [...await w.tensor(new Float64Array([1, 2, 3])).mul(2).data()]
		await back
		got.Devices.push(w.device)
		w.close()
		const next = await weft.open()
		got.Devices.push(next.device)
		next.close()
		localStorage.removeItem('weft.devices')
		return got`, &got))
	t.Log(got.News)
	assert.Equal(t, []string{"WASM", "WEBGPU", "WASM", "WEBGPU"}, got.Devices)
	require.Len(t, got.News, 2)
	assert.True(t, got.News[0].Moved)
	assert.Regexp(t, `^WEBGPU is chosen for plans of about`, got.News[0].Note)
	assert.Contains(t, got.News[1].Note, "WASM goes on, as the faster device cannot do what was asked for: ")
	require.Len(t, got.Values, len(got.Want))
	for i := range got.Want {
		assert.InDeltaSlice(t, got.Want[i], got.Values[i], 1e-4, "%d", i)
	}
	assert.Equal(t, []float64{2, 4, 6}, got.Wide)
}

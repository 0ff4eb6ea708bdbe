package browser_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// A buffer beyond the adapter's limits is refused in words, wherever it would be needed, and the engine goes on.
func TestBeyondTheLimits(t *testing.T) {
	p := open(t)
	var got struct {
		Result, Between, Captured, Within string
		After                             float64
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'webgpu'})
		const said = async (f) => { try { await f(); return '' } catch (e) { return e.message } }
		const x = w.ones([1 << 16, 1])
		const large = (x) => x.add(w.ones([1 << 15]))
		const result = await said(() => large(x).realize())
		const between = await said(() => large(x).contiguous().sum().item())
		const captured = await said(() => w.capture((x) => large(x)).run(x))
		const within = await said(() => w.capture((x) => large(x).contiguous().sum()).run(x))
		const after = await w.ones([3]).sum().item()
		w.close()
		return {result, between, captured, within, after}`, &got))
	for want, messages := range map[string][]string{
		"": {got.Result}, ` \(2147483648 × f32, a result\)`: {got.Captured}, ` \(2147483648 × f32, stored in between\)`: {got.Between, got.Within},
	} {
		for _, m := range messages {
			assert.Regexp(t, `WEBGPU: an array`+want+` of 8589934592 bytes is larger than the \d+ that this adapter can bind; use smaller batches`, m)
		}
	}
	assert.Equal(t, 3., got.After)
}

// A kernel that the browser refuses is told with its line, whatever the compiler of the browser says of it.
func TestRefusedShader(t *testing.T) {
	p := open(t)
	var message string
	require.NoError(t, p.Run(`
		const { Player, version } = await import('./player.js')
		const player = new Player()
		await player.open()
		const parts = []
		const u32 = (...n) => n.forEach((n) => parts.push(new Uint8Array(Uint32Array.of(n).buffer)))
		const text = (s) => { u32(s.length); parts.push(new TextEncoder().encode(s)) }
		u32(version, 0, 1) // variables, kernels
		text('bad'), text('main'), text('@compute @workgroup_size(1)\nfn main() {\n\tlet x: i32 = 1.5f;\n}\n')
		u32(1, 1, 1, 0, 0, 0, 0) // grid, bindings, memory, slots, steps
		u32(4, 1, 0) // the word of the first group, parts of the kernel
		const bytes = new Uint8Array(await new Blob(parts).arrayBuffer())
		try { await player.load(bytes) } catch (e) { return e.message }
		finally { player.close() }`, &message))
	assert.Contains(t, message, "line 3")
	assert.Contains(t, message, "let x: i32 = 1.5f;")
}

var servers = map[string]func(folders ...string) *httptest.Server{"isolated": browser.ServeIsolated, "not isolated": browser.Serve}

// A browser without WebGPU says so, and computes on WASM; so does a page that is not isolated.
func TestWithoutWebGPU(t *testing.T) {
	open(t) // builds
	b, err := browser.Start(context.Background(), "!--enable-unsafe-webgpu", "!--use-webgpu-adapter=swiftshader", "!--enable-features=Vulkan",
		"--disable-features=WebGPU,WebGPUService", "--disable-gpu")
	require.NoError(t, err)
	t.Cleanup(func() { b.Close() })
	for name, serve := range servers {
		p := openIn(t, b, serve)
		var got struct {
			Refused, Device, Note, Detail string
			Sum                           float64
			Isolated                      bool
			Processors                    int
		}
		require.NoError(t, p.Run(`
			let refused = ''
			try { await weft.open({device: 'webgpu'}) } catch (e) { refused = e.message }
			const w = await weft.open()
			const sum = await w.ones([100, 10]).sum().item()
			for (let i = 0; i < 400 && !w.note.includes('cannot'); i++) await new Promise((r) => setTimeout(r, 50)) // it is measured when the page is idle
			w.close()
			return {refused, device: w.device, note: w.note, detail: w.deviceDetail, sum, isolated: crossOriginIsolated, processors: navigator.hardwareConcurrency}`, &got))
		p.Problems() // the browser's own words about its GPU
		assert.Contains(t, got.Refused, "WebGPU", name)
		assert.Equal(t, "WASM", got.Device, name)
		assert.Contains(t, got.Note, "WEBGPU cannot be used", name)
		assert.Equal(t, 1000., got.Sum, name)
		assert.Equal(t, name == "isolated", got.Isolated)
		confined := strings.Contains(got.Detail, "one thread as the page is not cross-origin isolated")
		assert.Equal(t, !got.Isolated && got.Processors > 1, confined, "%s: %s", name, got.Detail)
		t.Logf("%s: %s; %s; %s", name, got.Refused, got.Note, got.Detail)
	}
}

// illPage is a page whose graphics processor can be made to fail.
func illPage(t *testing.T) *browser.Page {
	open(t) // builds
	folder := t.TempDir()
	require.NoError(t, browser.Ill(shared.folder, folder))
	return openFrom(t, func(folders ...string) *httptest.Server {
		return browser.Serve(slices.Insert(folders, 1, folder)...)
	})
}

// A shader that the browser refuses in the middle of a program: the error has its line and the page's stack, what was computed
// before is still there, and so is the engine.
func TestRefusedInTheMiddle(t *testing.T) {
	p := illPage(t)
	var got struct {
		Message, Stack string
		Before, After  []float64
		Lost           int
	}
	require.NoError(t, p.Run(losable+`
		const w = await opened()
		const x = await w.tensor([1, 2, 3]).mul(2).realize()
		worker.postMessage({ill: 'refuse'})
		const y = x.exp().add(1)
		let error
		try { await y.data() } catch (e) { error = e }
		const before = await x.list()
		worker.postMessage({ill: ''})
		const after = await y.log().list()
		w.close()
		return {message: error?.message, stack: error?.stack, before, after, lost: heard.length}`, &got))
	assert.Contains(t, got.Message, "WEBGPU")
	assert.Regexp(t, `kernel \S+ was refused: line \d+: `, got.Message)
	assert.Contains(t, got.Stack, got.Message)
	assert.Equal(t, []float64{2, 4, 6}, got.Before)
	assert.InDeltaSlice(t, []float64{2.126928, 4.018150, 6.002476}, got.After, 1e-4)
	assert.Zero(t, got.Lost)
	t.Log(got.Message)
}

// A device that is lost and cannot be opened again: calls say so in words, for as long as it lasts; then nothing is missing.
func TestLostForAWhile(t *testing.T) {
	p := illPage(t)
	var got struct {
		Messages []string
		After    []float64
	}
	require.NoError(t, p.Run(losable+`
		const w = await opened()
		const x = await w.tensor([1, 2, 3]).mul(2).realize()
		worker.postMessage({ill: 'gone'})
		await lose(200)
		const messages = []
		for (let i = 0; i < 2; i++) try { await x.add(1).data() } catch (e) { messages.push(e.message) }
		worker.postMessage({ill: ''})
		const after = await x.list()
		w.close()
		return {messages, after}`, &got))
	require.Len(t, got.Messages, 2)
	for _, m := range got.Messages {
		assert.Contains(t, m, "lost")
		assert.Contains(t, m, "no adapter")
	}
	assert.Equal(t, []float64{2, 4, 6}, got.After)
	t.Log(got.Messages[0])
}

package browser_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// A buffer beyond the adapter's limits is refused in words, and the engine goes on.
func TestBeyondTheLimits(t *testing.T) {
	p := open(t)
	var got struct {
		Message string
		After   float64
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'webgpu'})
		let message = ''
		try { await w.ones([1 << 16, 1 << 15]).realize() } catch (e) { message = e.message }
		const after = await w.ones([3]).sum().item()
		w.close()
		return {message, after}`, &got))
	assert.Contains(t, got.Message, "WEBGPU")
	assert.Contains(t, got.Message, "8589934592 bytes")
	assert.Equal(t, 3., got.After)
}

// A kernel that the browser refuses is told with its line, whatever the compiler of the browser says of it.
func TestRefusedShader(t *testing.T) {
	p := open(t)
	var message string
	require.NoError(t, p.Run(`
		const { Player } = await import('./player.js')
		const player = new Player()
		await player.open()
		const parts = []
		const u32 = (...n) => n.forEach((n) => parts.push(new Uint8Array(Uint32Array.of(n).buffer)))
		const text = (s) => { u32(s.length); parts.push(new TextEncoder().encode(s)) }
		u32(1, 0, 1) // version, variables, kernels
		text('bad'), text('main'), text('@compute @workgroup_size(1)\nfn main() {\n\tlet x: i32 = 1.5f;\n}\n')
		u32(1, 1, 1, 0, 0, 0, 0) // grid, bindings, memory, slots, steps
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
			Refused, Device, Note string
			Sum                   float64
			Isolated              bool
		}
		require.NoError(t, p.Run(`
			let refused = ''
			try { await weft.open({device: 'webgpu'}) } catch (e) { refused = e.message }
			const w = await weft.open()
			const sum = await w.ones([100, 10]).sum().item()
			w.close()
			return {refused, device: w.device, note: w.note, sum, isolated: crossOriginIsolated}`, &got))
		p.Problems() // the browser's own words about its GPU
		assert.Contains(t, got.Refused, "WebGPU", name)
		assert.Equal(t, "WASM", got.Device, name)
		assert.Contains(t, got.Note, "WEBGPU cannot be used", name)
		assert.Equal(t, 1000., got.Sum, name)
		assert.Equal(t, name == "isolated", got.Isolated)
		t.Logf("%s: %s; %s", name, got.Refused, got.Note)
	}
}

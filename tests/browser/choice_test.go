package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A page that names no device gets the faster one, is told why, and finds it at once the next time. Adapters that run
// on the processor, as in this browser, lose to WebAssembly.
func TestFasterDeviceIsChosen(t *testing.T) {
	p := open(t)
	var got struct {
		Devices, Notes, Kept []string
		Sum                  float64
	}
	require.NoError(t, p.Run(`
		localStorage.removeItem('weft.devices')
		const got = {Devices: [], Notes: [], Kept: []}
		for (const kept of ['', '', 'spoilt\n', null]) {
			if (kept) localStorage.setItem('weft.devices', kept)
			const w = await weft.open(kept === null ? {device: 'webgpu'} : {})
			got.Devices.push(w.device)
			got.Notes.push(w.note)
			got.Kept.push(localStorage.getItem('weft.devices'))
			got.Sum = await w.tensor([1, 2, 3]).sum().item()
			w.close()
		}
		return got`, &got))
	assert.Equal(t, []string{"WASM", "WASM", "WASM", "WEBGPU"}, got.Devices)
	t.Log(got.Notes[0])
	assert.Regexp(t, `^WASM is chosen for plans of about .* WASM [0-9.]+ m?s \(.*\), WEBGPU [0-9.]+ m?s \(`, got.Notes[0])
	assert.Equal(t, got.Notes[0], got.Notes[1], "measured once")
	assert.Equal(t, got.Kept[0], got.Kept[1])
	assert.Contains(t, got.Kept[2], "weft choices 1\n", "what cannot be read is replaced")
	assert.Empty(t, got.Notes[3], "a device that is named is not compared")
	assert.Equal(t, got.Kept[2], got.Kept[3])
	assert.Equal(t, 6.0, got.Sum)
}

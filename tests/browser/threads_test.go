package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page starts the threads of its engine: a worker that starts workers waits for ever in Firefox, now and then.
func TestWorkersStartNoWorkers(t *testing.T) {
	from := elsewhere(t)
	p := blank(t, map[string]string{"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"})
	var got struct {
		Names  []string
		Result float64
		After  int
		Detail string
	}
	require.NoError(t, p.Run(`
		const { Worker } = globalThis
		const script = (text) => URL.createObjectURL(new Blob([text], { type: 'text/javascript' }))
		const { open } = await import('`+from+`/weft.js')
		const names = [], ended = []
		globalThis.Worker = class extends Worker { // with one line before its script
			constructor(address, options) {
				super(script('import "' + script('globalThis.Worker = undefined') + '"; import "' + address + '"'), options)
				names.push(options.name)
			}
			terminate() {
				super.terminate()
				ended.push(this)
			}
		}
		const w = await open({ device: 'wasm' })
		const result = await w.ones([600, 600]).matmul(w.ones([600, 600])).sum().item()
		w.close()
		globalThis.Worker = Worker
		return { names, result, after: names.length - ended.length, detail: w.deviceDetail }`, &got))
	assert.EqualValues(t, 600*600*600, got.Result)
	require.Greater(t, len(got.Names), 1, "the page started no threads; on one processor there are none")
	assert.Equal(t, "weft", got.Names[0])
	for _, name := range got.Names[1:] {
		assert.Equal(t, "weft thread", name)
	}
	assert.Contains(t, got.Detail, "threads")
	assert.Zero(t, got.After, "workers that go on after close")
	assert.Empty(t, complaints(p))
}

package browser_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Large results go past the engine's bytes to the page; also such as do not fill whole words, and several under way.
func TestLargeResults(t *testing.T) {
	p := open(t)
	for _, device := range []string{"wasm", "webgpu"} {
		var got struct {
			First, Second, Wrong int
			Type                 string
			Truth                int
		}
		require.NoError(t, p.Run(fmt.Sprintf(`
			const w = await weft.open({device: %q})
			const x = w.arange(30001)
			const [a, b, truth] = await Promise.all([x.add(1).data(), x.mul(2).data(), x.lt(20000).data()])
			const small = await w.arange(5).data(), bits = await w.arange(5).lt(3).data()
			let wrong = small.length - 5 + bits.reduce((a, b) => a + b) - 3
			for (let i = 0; i < a.length; i++) if (a[i] !== i + 1 || b[i] !== 2 * i || truth[i] !== Number(i < 20000)) wrong++
			w.close()
			return {first: a.length, second: b.length, wrong, type: a.constructor.name, truth: truth.length}`, device), &got))
		assert.Equal(t, 30001, got.First, device)
		assert.Equal(t, 30001, got.Second, device)
		assert.Equal(t, 30001, got.Truth, device)
		assert.Zero(t, got.Wrong, device)
		assert.Equal(t, "Int32Array", got.Type, device)
	}
}

// Runs of a captured function need not be waited for. One that fails is told once: by its outputs, else by the next call.
func TestFailedRuns(t *testing.T) {
	p := open(t)
	var got struct {
		Sum             float64
		ByOutput, Later string
		Quiet           string
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const caught = async (f) => { try { return String(await f()) } catch (e) { return e.message } }
		const x = w.ones([3]), bad = w.ones([4]).maskedSelect(w.ones([4]).gt(0)), total = w.zeros([3]).own()
		await w.realize(x, total) // of bad the page does not know the shape, else run would refuse it
		const f = w.capture((x) => { total.assign(total.add(x)); return x.add(1) })
		for (let i = 0; i < 20; i++) await f.run(x)
		const sum = await total.sum().item()
		const out = await f.run(bad)
		const byOutput = await caught(() => out.data())
		const quiet = await caught(() => total.sum().item()) // it has been told
		await f.run(bad)
		await new Promise((done) => setTimeout(done, 200))
		const later = await caught(() => total.sum().item())
		w.close()
		return {sum, byOutput, later, quiet}`, &got))
	assert.Equal(t, 60., got.Sum)
	assert.Contains(t, got.ByOutput, "captured")
	assert.Equal(t, got.ByOutput, got.Later)
	assert.Equal(t, "60", got.Quiet)
}

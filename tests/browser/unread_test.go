package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// Runs of captured functions that nobody reads wait in the letter box for the worker: they are carried out in order, the page hears of those that fail, and of
// the loss of the worker. None is posted.
func TestUnreadRuns(t *testing.T) {
	var got struct {
		Posted, Errands, Runs int
		Wrong                 []string
		Errors                []string
		Isolated              bool
		Live, After           struct{ Tensors, LiveBytes int }
	}
	const program = `
		const out = { wrong: [], errors: [], isolated: crossOriginIsolated, posted: 0, runs: 0 }
		const is = (what, x, y) => { if (x + '' !== y + '') out.wrong.push(what + ': ' + x + ', not ' + y) }
		const refused = async (f) => { try { await f(); out.errors.push('nothing') } catch (e) { out.errors.push(e.message) } }
		let engine
		const post = Worker.prototype.postMessage
		Worker.prototype.postMessage = function (message, ...rest) {
			if (message instanceof Array) { out.posted++; engine = this }
			return post.call(this, message, ...rest)
		}
		const w = await weft.open({ device: 'wasm' })
		const x = await w.tensor([1, 2, 3, 4]).realize()
		const state = await w.zeros([1]).own().realize()
		const next = w.capture((x) => x.mul(0.5).add(1))
		const count = w.capture((x) => { state.assign(state.add(x.sum())); return state.add(0) })
		const twice = w.capture(() => { state.assign(state.mul(2)); return state.add(0) })
		const pick = w.capture((x, at) => x.at(at))
		const fine = await w.tensor(new Int32Array([3])).realize(), far = await w.tensor(new Int32Array([9])).realize()
		const once = async (f, ...given) => { const y = await f.run(...given), data = await y.data(); y.dispose(); return data }
		for (const end = performance.now() + 20000; performance.now() < end && !(await w.stats()).errands;) for (let i = 0; i < 20; i++) await once(next, x)
		await once(count, x)
		await once(twice)
		await once(pick, x, fine)

		// A row of runs of which each takes what the one before gave, and forgets it.
		const wanted = [1, 2, 3, 4].map((v) => { for (let i = 0; i < 9; i++) v = Math.fround(Math.fround(v * 0.5) + 1); return v })
		const row = async () => {
			let y = x
			for (let i = 0; i < 9; i++) { const before = y; y = await next.run(y); if (before !== x) before.dispose() }
			const data = await y.data()
			y.dispose()
			return data
		}
		for (let i = 0; i < 5; i++) await row()
		out.posted = 0
		out.live = await w.stats()
		for (let i = 0; i < 60; i++) is('row', await row(), wanted)
		out.after = await w.stats()
		out.errands = out.after.errands - out.live.errands
		out.runs = out.after.plays - out.live.plays

		// Runs that assign, one after the other and between others.
		for (let i = 0; i < 10; i++) {
			let sum = 0
			state.assign(state.mul(0))
			for (let k = 0; k < 12; k++) {
				for (const y of await Promise.all([count.run(x), next.run(x), twice.run()])) y.dispose()
				sum = (sum + 10) * 2
			}
			is('assigned', await state.item(), sum)
		}
		is('posted', out.posted, 0)

		// What is wrong with a run that nobody has read is told by what it gave, and to nobody else.
		for (let i = 0; i < 6; i++) {
			const y = await pick.run(x, i === 3 ? far : fine), z = await next.run(x)
			is('beside', await z.data(), '1.5,2,2.5,3')
			if (i === 3) await refused(() => y.data())
			else is('picked', await y.data(), 4)
			y.dispose()
			z.dispose()
		}
		const two = w.tensor([1, 2]), other = two.maskedSelect(two.gt(0)) // of which the page does not know the shape: run would refuse it
		for (let i = 0; i < 4; i++) (await next.run(x)).dispose()
		const y = await next.run(other)
		for (let i = 0; i < 4; i++) await next.run(x).catch(() => {})
		await refused(() => y.data())
		is('after that', await once(next, x), '1.5,2,2.5,3')

		// The worker is lost while runs wait for it.
		const last = []
		for (let i = 0; i < 3; i++) last.push(await next.run(x))
		const asked = last.map((y) => y.data())
		engine.dispatchEvent(new ErrorEvent('error', { message: 'lost' }))
		for (const a of asked) await refused(() => a)
		await refused(() => next.run(x))
		Worker.prototype.postMessage = post
		w.close()
		return out`
	p := openFrom(t, browser.ServeIsolated)
	require.NoError(t, p.Run(program, &got))
	assert.True(t, got.Isolated)
	assert.Empty(t, got.Wrong)
	assert.Equal(t, 540, got.Runs)
	assert.Greater(t, got.Errands, 100, "of 540 runs; how many depends on how long the worker waits for its turn")
	assert.Equal(t, got.Live.Tensors, got.After.Tensors)
	require.Len(t, got.Errors, 6)
	assert.Contains(t, got.Errors[0], "at: ")
	assert.Contains(t, got.Errors[1], "captured with")
	for _, e := range got.Errors[2:] {
		assert.Contains(t, e, "worker failed: lost")
	}
}

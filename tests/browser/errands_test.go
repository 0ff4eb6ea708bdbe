package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// Runs that the worker carries out by itself give what others give, whatever comes between them, and the engine knows of all that they leave.
func TestErrands(t *testing.T) {
	var got struct {
		Errands      int
		Wrong        []string
		Before, Then struct{ LiveBytes, Tensors, Plays, Launches, Errands int }
		Errors       []string
		Chained      int
		Kernels      int
		Frames       int
		Ticks        int
	}
	const program = `
		const out = { wrong: [], errors: [], frames: 0, ticks: 0 }
		const is = (what, x, y) => { if (x + '' !== y + '') out.wrong.push(what + ': ' + x + ', not ' + y) }
		const w = await weft.open({ device: 'wasm' })
		const x = await w.tensor([1, 2, 3, 4]).realize(), z = await w.tensor([5, 6, 7, 8]).realize()
		const weights = await w.tensor([[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 4]]).own().realize()
		const f = w.capture((x) => x.reshape([1, 4]).matmul(weights).reshape([4]).add(1))
		const once = async (x) => { const y = await f.run(x), data = await y.data(); y.dispose(); return data }
		// Until all of the engine is there.
		for (const end = performance.now() + 20000; performance.now() < end && !(await w.stats()).errands;) for (let i = 0; i < 20; i++) is('first', await once(x), '2,5,10,17')
		const loop = async (n) => { for (let i = 0; i < n; i++) is(i, await once(x), '2,5,10,17') }
		await loop(40)
		out.before = await w.stats()
		await loop(200)
		out.then = await w.stats()

		// The page goes on to draw, and to hear of time.
		let going = true
		const frame = () => { out.frames++; if (going) requestAnimationFrame(frame) }
		requestAnimationFrame(frame)
		const timer = setInterval(() => out.ticks++, 5)
		for (const end = performance.now() + 1000; performance.now() < end;) await once(x)
		going = false
		clearInterval(timer)

		// Other inputs between, also such as nobody has computed yet; results that stay, and are used afterwards.
		const kept = []
		for (let i = 0; i < 60; i++) {
			is('other', await once(i % 7 ? x : z), i % 7 ? '2,5,10,17' : '6,13,22,33')
			if (i % 5 === 0) kept.push(await f.run(x))
			if (i % 11 === 0) is('lazy', await once(x.add(i)), [2 + i, 5 + 2 * i, 10 + 3 * i, 17 + 4 * i])
		}
		is('kept', await w.stack(kept).sum({ axis: 0 }).list(), [2, 5, 10, 17].map((v) => v * kept.length))
		is('kept', await kept[3].data(), '2,5,10,17')
		kept.forEach((t) => t.dispose())

		// Results that are the next arguments: disposed of, kept, and read only at the end.
		const next = w.capture((x) => x.mul(0.5).add(1))
		const chain = async (n, each) => { let y = x; for (let i = 0; i < n; i++) { const before = y; y = await next.run(y); await each(y, before) } return y }
		const wanted = [1, 2, 3, 4].map((v) => { const list = [v]; for (let i = 0; i < 100; i++) list.push(Math.fround(Math.fround(list.at(-1) * 0.5) + 1)); return list })
		let y = await chain(100, async (y, before) => { if (before !== x) before.dispose(); await y.data() })
		is('chain', await y.data(), wanted.map((l) => l[100]))
		const sofar = (await w.stats()).errands
		await chain(400, async (y) => { await y.data() })
		out.chained = (await w.stats()).errands - sofar
		const all = []
		y = await chain(40, async (y) => { all.push(y); await y.data() })
		for (const i of [0, 7, 20, 39]) is('of chain ' + i, await all[i].data(), wanted.map((l) => l[i + 1]))
		await chain(40, async (y, before) => { if (before !== x) before.dispose() }).then(async (y) => is('unread', await y.data(), wanted.map((l) => l[40])))

		// Numbers of the page, anew for each run, disposed of or not.
		for (let i = 0; i < 60; i++) {
			const given = w.tensor(Float32Array.of(i, 1, 2, 3)), y = await next.run(given)
			is('numbers', await y.data(), [i / 2 + 1, 1.5, 2, 2.5])
			if (i % 3) given.dispose()
			if (i % 4) y.dispose()
			if (i % 12 === 0) is('numbers later', await y.add(given).data(), [1.5 * i + 1, 2.5, 4, 5.5])
		}

		// Several results, one of them not read, and other forms.
		const two = w.capture((x) => [x.add(1), x.mul(2)])
		for (let i = 0; i < 50; i++) {
			const [a, b] = await two.run(x)
			is('two', await b.data(), '2,4,6,8')
			b.dispose()
			if (i % 9 === 0) is('first of two', await a.data(), '2,3,4,5')
			a.dispose()
		}
		const any = w.jit((x) => x.sum({ keep: true }))
		const longer = await w.arange(1000).realize()
		for (let i = 0; i < 50; i++) is('forms', await (await any(i % 3 ? x : longer)).data(), i % 3 ? 10 : 499500)

		// Assignments change what is read, and what was computed of that once.
		const step = w.capture((by) => { weights.assign(weights.mul(by)) })
		const factor = await w.tensor([2]).realize()
		for (let k = 1; k <= 4; k++) {
			await step.run(factor)
			for (let i = 0; i < 20; i++) is('assigned', await once(x), [1, 4, 9, 16].map((v) => v * 2 ** k + 1))
		}
		const counting = w.capture((x) => { weights.assign(weights.add(x.sum())); return x.add(1) })
		for (let i = 0; i < 20; i++) is('counting', await (await counting.run(z)).data(), '6,7,8,9')
		is('counted', await weights.at(0, 1).item(), 26 * 20)

		// Random numbers are drawn anew, and wrong indices are told, each time.
		const draw = w.capture(() => w.rand([4]))
		const draws = new Set()
		for (let i = 0; i < 30; i++) draws.add(await (await draw.run()).data().then(String))
		is('draws', draws.size, 30)
		const pick = w.capture((x, at) => x.at(at))
		const fine = await w.tensor(new Int32Array([3])).realize(), far = await w.tensor(new Int32Array([9])).realize()
		for (let i = 0; i < 30; i++) {
			is('picked', await (await pick.run(x, fine)).data(), 4)
			if (i % 10 === 0) await (await pick.run(x, far)).data().then(() => out.errors.push('nothing'), (e) => out.errors.push(e.message))
		}

		// Gradients, profiles and the end of functions.
		const told = await w.profile(() => loopOf(next, 20))
		async function loopOf(g, n) { for (let i = 0; i < n; i++) { const y = await g.run(x); await y.data(); y.dispose() } }
		out.kernels = told.launches.length
		await loopOf(next, 20)
		const last = await next.run(x)
		await last.data()
		await last.sum().grad([x])[0].data().then((g) => out.errors.push('gradient ' + g), (e) => out.errors.push(e.message))
		next.dispose()
		is('after the end', await last.add(1).data(), '2.5,3,3.5,4')
		for (let i = 0; i < 20; i++) { const y = await two.run(x); await y[0].data(); if (i === 10) { two.dispose(); await y[0].data().then((d) => is('at the end', d, '2,3,4,5')); break } }
		out.errands = (await w.stats()).errands
		w.close()
		return out`
	p := openFrom(t, browser.ServeIsolated)
	require.NoError(t, p.Run(program, &got))
	assert.Empty(t, got.Wrong)
	assert.Greater(t, got.Then.Errands-got.Before.Errands, 100, "of 200 runs")
	assert.Greater(t, got.Chained, 100, "of 400 runs with results as arguments")
	assert.Equal(t, 200, got.Then.Plays-got.Before.Plays)
	assert.Equal(t, 200, got.Then.Launches-got.Before.Launches, "one kernel a run")
	assert.Equal(t, got.Before.LiveBytes, got.Then.LiveBytes)
	assert.Equal(t, got.Before.Tensors, got.Then.Tensors)
	assert.GreaterOrEqual(t, got.Kernels, 20)
	t.Log(got.Frames, got.Ticks, got.Chained, got.Then.Errands-got.Before.Errands, got.Errands)
	assert.Greater(t, got.Frames, 10, "in a second")
	assert.Greater(t, got.Ticks, 10)
	assert.Greater(t, got.Errands, 300)
	require.Len(t, got.Errors, 4)
	for _, e := range got.Errors[:3] {
		assert.Contains(t, e, "at: ")
	}
	assert.Contains(t, got.Errors[3], "grad: tensor 0 is not reached: what was computed from it has been realized since", "as after other runs")
}

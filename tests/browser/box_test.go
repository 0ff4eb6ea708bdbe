package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
)

// Where a page may share memory, short messages go through the letter box; with those that are posted they arrive in the order in which they were
// sent, and everything is as it is without one.
func TestLetterBox(t *testing.T) {
	var got struct {
		Posted, Looks int
		Right, Wrong  int
		State, Shared float64
		Errors        []string
		Isolated      bool
	}
	const program = `
		const out = { errors: [], isolated: crossOriginIsolated, right: 0, wrong: 0 }
		let posted = 0, looks = 0
		const post = Worker.prototype.postMessage
		Worker.prototype.postMessage = function (message, ...rest) {
			if (message instanceof Array) posted++
			if (message.look) looks++
			return post.call(this, message, ...rest)
		}
		const w = await weft.open({ device: 'wasm' })
		const is = (x, y) => { x === y ? out.right++ : out.wrong++ }
		const x = await w.tensor([1, 2, 3]).realize()
		for (let i = 0; i < 20; i++) await x.add(i).item().catch(() => {}) // until all is loaded
		posted = looks = 0
		for (let i = 0; i < 300; i++) is(await x.add(i).sum().item(), 6 + 3 * i)
		Object.assign(out, { posted, looks })
		// Short and long ones, answered and not, some of them at once.
		const state = await w.zeros([1]).own().realize()
		const step = w.capture((x) => { state.assign(state.add(x.sum())); return state.mul(2) })
		const long = new Float32Array(30000), middle = new Float32Array(2000)
		long[29999] = middle[0] = 1
		let sum = 0
		for (let i = 0; i < 120; i++) {
			const size = i % 3 === 0 ? long : i % 3 === 1 ? middle : null
			const y = size ? w.tensor(size).mul(i) : w.tensor([i])
			sum += i
			const made = step.run(y.sum().reshape([1]))
			if (i % 4 === 0) is(await (await made).item(), 2 * sum)
			if (i % 5 === 0) is((await y.data()).length, size?.length ?? 1)
			if (i % 7 === 0) is((await Promise.all([1, 2, 3].map((k) => x.mul(k).sum().item()))).join(), '6,12,18')
			if (i % 30 === 0) await new Promise((f) => setTimeout(f, 12)) // the worker waits no longer
			await made
		}
		out.state = await state.item()
		out.shared = sum
		is(await x.sum().item(), 6)
		for (const f of [() => x.matmul(w.ones([4])).list(), () => x.at(w.tensor(new Int32Array([7]))).list()]) try { await f(); out.errors.push('nothing') } catch (e) { out.errors.push(e.message) }
		is(await x.sum().item(), 6)
		const last = x.sum().item().catch((e) => out.errors.push(e.message))
		w.close()
		await last
		Worker.prototype.postMessage = post
		return out`
	p := openFrom(t, browser.ServeIsolated)
	require.NoError(t, p.Run(program, &got))
	assert.True(t, got.Isolated)
	assert.Less(t, got.Posted, 60, "of 300 messages")
	assert.Zero(t, got.Wrong)
	assert.Greater(t, got.Right, 300)
	assert.Equal(t, got.Shared, got.State)
	require.Len(t, got.Errors, 3)
	assert.Contains(t, got.Errors[0], "matmul: ")
	assert.Contains(t, got.Errors[1], "at: ")
	assert.Contains(t, got.Errors[2], "the engine was closed")
}

package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A captured function goes to bytes and comes back, in another engine, with all that it keeps and in the form that it gave.
func TestCapturedFunctionsAreSaved(t *testing.T) {
	p := open(t)
	var got map[string]any
	require.NoError(t, p.Run(`
		const out = {}
		const made = await weft.open({device: 'wasm', whole: true})
		const total = made.zeros([2]).own()
		await total.realize()
		const step = made.capture((x) => {
			total.addAssign(x)
			return { total: total.mul(1), 'odd.name': [x.mul(2)] }
		})
		const said = async (f) => { try { await f(); return 'nothing' } catch (e) { return e.message } }
		out.early = await said(() => step.save())
		await step.run(made.tensor([1, 2]))
		const one = await step.save()
		out.bytes = [one instanceof Uint8Array, one.length > 100]
		const read = made.capture(() => [total.mul(10), total.sum()])
		await read.run()
		const both = await made.saveFunctions({ step, read })
		out.wrong = [await said(() => made.saveFunctions({})), await said(() => made.saveFunctions({ a: 5 })), await said(() => made.saveFunctions(5))]
		made.close()

		const w = await weft.open({device: 'wasm', whole: true})
		const f = await w.loadCaptured(one)
		const a = await f.run(w.tensor([10, 20]))
		out.form = [Object.keys(a), Array.isArray(a['odd.name']), a.total.shape, a.total.dtype]
		out.values = [await a.total.list(), await a['odd.name'][0].list(), await f.states[0].list()]
		out.told = [f.inputs, f.results.map((r) => r.name), f.launches > 0]
		const again = await w.loadCaptured(new Blob([await f.save()]))
		out.again = await (await again.run(w.tensor([1, 1]))).total.list()

		const g = await w.loadFunctions(new Response(both))
		await g.step.run(w.tensor([100, 200]))
		out.shared = [await (await g.read.run())[0].list(), await (await g.read.run())[1].item(), g.step.states[0] === g.read.states?.[0]]
		out.url = await said(() => w.loadCaptured(new Response('', { status: 404 })))
		out.several = await said(() => w.loadCaptured(both))
		out.hostile = []
		for (const bad of [new Uint8Array(0), new TextEncoder().encode('<!doctype html>  a page of a server'), one.slice(0, 90), one.with(200, 255), one.with(30, 7)]) out.hostile.push(await said(() => w.loadCaptured(bad)))
		out.kind = await said(() => w.loadCaptured(5))
		g.read.dispose()
		out.disposed = await said(() => w.saveFunctions({ read: g.read }))
		w.close()

		const small = await weft.open({device: 'wasm'})
		const h = small.capture((x) => x.add(1))
		await h.run(small.tensor([1]))
		out.small = [await said(() => h.save()), await said(() => small.loadCaptured(one))]
		small.close()
		return out`, &got))
	list := func(v ...any) []any { return v }
	assert.Contains(t, got["early"], "has not run yet")
	assert.Equal(t, list(true, true), got["bytes"])
	assert.Equal(t, list(list("total", "odd.name"), true, list(2.), "f32"), got["form"])
	assert.Equal(t, list(list(11., 22.), list(20., 40.), list(11., 22.)), got["values"])
	assert.Equal(t, list(list(map[string]any{"name": "in0", "shape": list(2.), "dtype": "f32"}), list("total", `["odd.name"][0]`), true), got["told"])
	assert.Equal(t, list(12., 23.), got["again"])
	assert.Equal(t, list(list(1010., 2020.), 303., false), got["shared"])
	assert.Contains(t, got["url"], "404")
	assert.Contains(t, got["several"], "loadFunctions")
	for _, name := range []string{"wrong", "hostile", "small"} {
		for _, said := range got[name].([]any) {
			t.Log(said)
			assert.NotEqual(t, "nothing", said)
			assert.NotRegexp(t, `undefined|is not a function|Cannot|BUG|\.go|SaveFunctions|Captured\.`, said)
		}
	}
	assert.Contains(t, got["kind"], "an address, a File, a Blob")
	assert.Contains(t, got["disposed"], "disposed of")
}

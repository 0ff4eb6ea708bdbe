package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Functions of a page reach the engine: mapped over an axis, in a loop, differentiated forward and backward, computed again, named, as kernels.
func TestFunctionsOfFunctions(t *testing.T) {
	p := open(t)
	for _, device := range []string{"wasm", "webgpu"} {
		var got map[string]any
		require.NoError(t, p.Run(`
		const w = await weft.open({device: '`+device+`'})
		const out = {}
		const x = w.tensor([[1, 2, 3], [4, 5, 6]]), v = w.tensor([1, 10, 100])
		const dot = (a, b) => a.mul(b).sum()
		const rows = w.vmap(dot, { in: [0, null] })(x, v)
		out.rows = [rows.shape, await rows.list()]
		const columns = w.vmap((a) => ({ twice: a.mul(2), most: a.max() }), { in: 1, out: [1, 0] })(x)
		out.columns = [columns.twice.shape, columns.most.shape, await columns.twice.list(), await columns.most.list()]
		const m = w.tensor([2, 3, 5])
		const perExample = w.vmap((a) => dot(a.square(), m).grad([m])[0], { in: 0 })(x)
		out.perExample = [perExample.shape, await perExample.list()]
		out.nested = await w.vmap((a) => w.vmap((b) => b.mul(a.sum()))(a))(x).list()
		out.same = await w.vmap((a, b) => a.sub(b), { in: [0, 1] })(w.tensor([[1, 2], [3, 4]]), w.tensor([[1, 2], [3, 4]])).list()

		const entries = w.tensor([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]), half = w.tensor([0.5, 1]), start = w.zeros([2])
		const [states, sums] = w.scan((s, a) => { const next = s.mul(half).add(a); return [next, next.sum()] }, start, entries)
		out.scan = [states.shape, sums.shape, await states.list(), await sums.list()]
		const [{ h, c }, more] = w.scan(({ h, c }, [a, b]) => [{ c: c.add(b), h: h.add(a) }, { d: h.sub(c) }], { h: start, c: start }, [entries, entries.mul(2)], { back: true, steps: 5 })
		out.scanBack = [await h.list(), await c.at(0).list(), await more.d.at(0).list()]
		const [powers, none] = w.scan((s) => [s.mul(2)], half, null, { steps: 4 })
		out.scanSteps = [await powers.list(), none]
		out.scanFew = await w.scan((s, a) => [s.add(a)], start, entries.narrow(0, 0, 2))[0].list()
		out.scanGrad = await Promise.all(states.at(-1).sum().grad([half, entries, start]).map((g) => g.list()))
		out.scanOfRows = await w.vmap((a) => w.scan((s, b) => [s.add(b)], w.tensor(0), a)[0])(entries.t()).list()
		const within = (a) => w.scan((s, row) => [s.add(w.scan((u, b) => [u.add(b)], w.tensor(0), row)[0].at(-1))], w.tensor(0), a)[0]
		const looped = w.capture(within)
		await looped.run(entries)
		out.scanCaptured = [await (await looped.run(entries.add(1))).list(), await within(entries).list()]
		const told = entries.gt(2).nonZero().to('f32')
		out.scanTold = await w.scan((s, a) => [s.add(a)], start, told)[0].at(-1).list()

		const [y, dy] = w.jvp((a, b) => [a.mul(b).sum(), a.argMax()], [v, m], [w.tensor([1, 0, 0]), null])
		out.jvp = [await y[0].item(), await dy[0].item(), dy[1], dy[0].shape]
		const [z, pull] = w.vjp((a, i) => a.square().mul(i), m, w.tensor(new Int32Array([1, 2, 3])))
		out.vjp = [await z.list(), await Promise.all(pull(w.ones([3])).map((g) => g?.list() ?? null)), z.dtype]

		const deep = w.checkpoint((a) => a.sin().exp().sin())
		const plain = (a) => a.sin().exp().sin()
		const [g1] = deep(v).sum().grad([v]), [g2] = plain(v).sum().grad([v])
		out.checkpoint = (await g1.sub(g2).abs().sum().item()) < 1e-6

		const ste = w.function('round', (a) => a.round(), { gradient: (ins, outs, seeds) => [seeds[0].mul(3)] })
		const r = w.tensor([0.4, 1.6])
		out.function = [await ste(r).list(), await ste(r).sum().grad([r])[0].list()]
		const once = (() => { const k = w.tensor([7, 7]); return w.function('kept', (a) => a.mul(k), { gradient: (ins, outs, [s]) => [s.mul(k)] }) })()
		const kept = once(r)
		await new Promise((f) => setTimeout(f, 30))
		out.kept = await kept.sum().grad([r])[0].list()

		const blur = w.custom('blur', [4], (k) => {
			const j = k.range(3)
			return k.sum(k.load(0, k.at(0).add(j).sub(1)), j).div(3)
		}, [w.tensor([3, 6, 9, 12])])
		out.blur = [blur.shape, blur.dtype, await blur.list()]
		const a = w.tensor([[1, 2, 3], [4, 5, 6]])
		const product = w.custom('product', [2, 2], (k) => { const j = k.range(3); return k.sum(k.load(0, k.at(0), j).mul(k.load(1, j, k.at(1))), j) }, [a, a.t().contiguous()])
		out.product = await product.list()
		out.productGrad = await product.sum().grad([a])[0].list()
		out.stated = await w.custom('double', [2], (k) => k.load(0, k.at(0)).mul(2), [r], { gradient: (ins, outs, [s]) => [s.mul(-1)] }).sum().grad([r])[0].list()

		const f = w.capture((a) => [w.vmap(dot, { in: [0, null] })(a, v), w.custom('twice', [2, 3], (k) => k.load(0, k.at(0), k.at(1)).mul(2), [a])])
		await f.run(x)
		out.captured = await Promise.all((await f.run(x.add(1))).map((t) => t.list()))

		const wrong = []
		const tries = [
			() => w.vmap(dot)(x, v), () => w.vmap((a) => a, { in: null })(x), () => w.vmap((a) => 5)(x), () => w.vmap(async (a) => a), () => w.vmap((a) => a, { in: 3 })(x),
			() => w.jvp((a) => a, [v], []), () => w.vjp(dot, v, v)[1]([null, null]), () => w.function('f', (a) => a, { gradient: () => [] })(v), () => w.checkpoint((a) => [a, 1])(v),
			() => w.custom('c', [2], (k) => k.at(3), []), () => w.custom('c', [2], (k) => k.range(2), []).data(), () => w.custom('c', [2], (k) => k.load(1, 0), [v]),
			() => w.vmap((a) => w.capture((b) => b.add(1)).run(a))(x), () => { let s; w.vmap((a) => s = a)(x); return s.add(1) }, () => w.vmap((a) => a.and(1))(x).data(),
			() => w.scan((s) => s, v, x), () => w.scan((s) => Promise.resolve([s]), v, x), () => w.scan((s) => [s], v), () => w.scan((s) => [s, 5], v, x), () => w.scan((s) => [undefined], v, x),
			() => w.scan((s, a) => [a.sum()], v, x), () => w.scan((s) => [{ h: s.h }], { h: v, c: v }, x), () => w.scan((s) => [{ h: s.h, d: s.c }], { h: v, c: v }, x), () => w.scan((s) => [s.to('i32')], v, x),
			() => w.scan((s) => [s], v, [x, v]), () => w.scan((s) => [s], v, { a: x, b: w.tensor(1) }), () => w.scan((s) => [s], v, x, { steps: 4 }), () => w.scan((s) => [s], { h: 5 }, x), () => w.scan((s) => [s], v, { steps: 3 }),
			() => w.scan((s) => [s.and(1)], v, x)[0].data(),
		]
		for (const f of tries) {
			try { await f(); wrong.push('nothing') } catch (e) { wrong.push(e.message) }
		}
		out.wrong = wrong
		w.close()
		return out`, &got), device)
		list := func(v ...any) []any { return v }
		assert.Equal(t, list(list(2.), list(321., 654.)), got["rows"])
		assert.Equal(t, list(list(2., 3.), list(3.), list(list(2., 4., 6.), list(8., 10., 12.)), list(4., 5., 6.)), got["columns"])
		assert.Equal(t, list(list(2., 3.), list(list(1., 4., 9.), list(16., 25., 36.))), got["perExample"])
		assert.Equal(t, list(list(6., 12., 18.), list(60., 75., 90.)), got["nested"])
		assert.Equal(t, list(list(0., -1.), list(1., 0.)), got["same"])
		assert.Equal(t, list(list(5., 2.), list(5.), list(list(1., 2.), list(3.5, 6.), list(6.75, 12.), list(10.375, 20.), list(14.1875, 30.)), list(3., 9.5, 18.75, 30.375, 44.1875)), got["scan"])
		assert.Equal(t, list(list(list(25., 30.), list(24., 28.), list(21., 24.), list(16., 18.), list(9., 10.)), list(50., 60.), list(-24., -28.)), got["scanBack"])
		assert.Equal(t, list(list(list(1., 2.), list(2., 4.), list(4., 8.), list(8., 16.)), []any{}), got["scanSteps"])
		assert.Equal(t, list(list(1., 2.), list(4., 6.)), got["scanFew"])
		assert.Equal(t, list(list(14.75, 40.), list(list(0.0625, 1.), list(0.125, 1.), list(0.25, 1.), list(0.5, 1.), list(1., 1.)), list(0.03125, 1.)), got["scanGrad"])
		assert.Equal(t, list(list(1., 4., 9., 16., 25.), list(2., 6., 12., 20., 30.)), got["scanOfRows"])
		assert.Equal(t, list(list(5., 14., 27., 44., 65.), list(3., 10., 21., 36., 55.)), got["scanCaptured"])
		assert.Equal(t, list(20., 4.), got["scanTold"])
		assert.Equal(t, list(532., 2., nil, []any{}), got["jvp"])
		assert.Equal(t, list(list(4., 18., 75.), list(list(4., 12., 30.), nil), "f32"), got["vjp"])
		assert.Equal(t, true, got["checkpoint"])
		assert.Equal(t, list(list(0., 2.), list(3., 3.)), got["function"])
		assert.Equal(t, list(7., 7.), got["kept"])
		assert.Equal(t, list(list(4.), "f32", list(3., 6., 9., 7.)), got["blur"])
		assert.Equal(t, list(list(14., 32.), list(32., 77.)), got["product"])
		assert.Equal(t, list(list(10., 14., 18.), list(10., 14., 18.)), got["productGrad"], device)
		assert.Equal(t, list(-1., -1.), got["stated"])
		assert.Equal(t, list(list(432., 765.), list(list(4., 6., 8.), list(10., 12., 14.))), got["captured"])
		for i, said := range got["wrong"].([]any) {
			t.Log(i, said)
			assert.NotEqual(t, "nothing", said, "%d", i)
			assert.NotRegexp(t, `undefined|is not a function|not iterable|Cannot read`, said, "%d", i)
		}
	}
}

// Generators draw what follows from their seeds, whoever else draws; captured functions draw anew from them.
func TestGeneratorsOfAPage(t *testing.T) {
	p := open(t)
	var got map[string]any
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const out = {}
		const g = w.generator(5), h = w.generator(5), other = w.generator(6)
		const a = await g.rand([4]).list()
		await w.randn([100]).sum().item()
		const b = await h.rand([4]).list()
		out.same = String(a) === String(b)
		out.others = String(a) !== String(await other.rand([4]).list())
		out.goesOn = String(a) !== String(await g.rand([4]).list())
		g.seed(5)
		out.again = String(a) === String(await g.rand([4]).list())
		const all = {
			randn: g.randn([2, 3]), uniform: g.uniform([5], 2, 3), normal: g.normal([5], 100, 0), scaledUniform: g.scaledUniform([4]), glorotUniform: g.glorotUniform([2, 3]),
			kaimingUniform: g.kaimingUniform([2, 3], 0.1), kaimingNormal: g.kaimingNormal([2, 3]), randint: g.randint([6], 3, 5), typed: g.randint([6], 3, 5, {dtype: 'u8'}), randPerm: g.randPerm(5),
			randomBits: g.randomBits([3]), randLike: g.randLike(w.ones([2])), randnLike: g.randnLike(w.ones([2])), dropout: g.dropout(w.ones([8]), 1), channelDropout: g.channelDropout(w.ones([2, 2, 2]), 0),
			rrelu: g.rrelu(w.tensor([-1, 2])), bernoulli: g.bernoulli(w.rand([4])), gumbelSoftmax: g.gumbelSoftmax(w.zeros([3, 4]), 0, {hard: true}), alphaDropout: g.alphaDropout(w.ones([4])), categorical: g.categorical(w.zeros([3, 4])), multinomial: g.multinomial(w.ones([4]), 2), half: g.rand([3], {dtype: 'f16'}),
		}
		out.forms = Object.fromEntries(await Promise.all(Object.entries(all).map(async ([n, t]) => [n, [t.shape, t.dtype, (await t.data()).length]])))
		out.between = (await all.uniform.list()).every((v) => v >= 2 && v < 3)
		out.perm = (await all.randPerm.list()).sort()
		out.zeros = await all.dropout.sum().item()
		const one = w.generator(9), two = w.generator(9)
		const f = w.capture((x) => x.add(one.rand([2])))
		const z = w.zeros([2])
		const runs = []
		for (let i = 0; i < 3; i++) runs.push(await (await f.run(z)).list())
		const plain = []
		for (let i = 0; i < 3; i++) plain.push(await two.rand([2]).list())
		out.captured = [runs, plain]
		const wrong = []
		g.dispose()
		for (const f of [() => w.generator(-1), () => w.generator(1.5), () => h.rand(3), () => h.dropout([1]), () => h.rand([2], {axis: 1}), () => g.rand([2]).data()]) {
			try { await f(); wrong.push('nothing') } catch (e) { wrong.push(e.message) }
		}
		out.wrong = wrong
		w.close()
		return out`, &got))
	for _, name := range []string{"same", "others", "goesOn", "again", "between"} {
		assert.Equal(t, true, got[name], name)
	}
	assert.Equal(t, []any{0., 1., 2., 3., 4.}, got["perm"])
	assert.Equal(t, 0., got["zeros"])
	forms := got["forms"].(map[string]any)
	assert.Len(t, forms, 22)
	assert.Equal(t, []any{[]any{6.}, "u8", 6.}, forms["typed"])
	captured := got["captured"].([]any)
	runs := captured[0].([]any)
	assert.NotEqual(t, runs[0], runs[1])
	assert.Equal(t, captured[1], captured[0], "what a captured function draws is what the generator gives in turn")
	for i, said := range got["wrong"].([]any) {
		t.Log(i, said)
		assert.NotEqual(t, "nothing", said, "%d", i)
	}
}

package browser_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every method refuses every kind of wrong argument where it is called, in words that begin with its name; the engine goes on.
func TestWrongCalls(t *testing.T) {
	p := open(t)
	var got struct {
		Problems []string
		Count    int
	}
	require.NoError(t, p.Run(`return (await import('./calls.js')).report('wasm')`, &got))
	for _, problem := range got.Problems {
		t.Error(problem)
	}
	assert.Greater(t, got.Count, 1000)
	t.Logf("%d wrong calls", got.Count)
}

// What only shapes, types and values tell the engine says, in a page's words and with the stack of the call.
func TestErrorsOfTheEngine(t *testing.T) {
	p := open(t)
	var got struct {
		Problems []string
		Errors   map[string]string
	}
	require.NoError(t, p.Run(`return (await import('./calls.js')).reportLate('wasm')`, &got))
	for _, problem := range got.Problems {
		t.Error(problem)
	}
	for call, said := range got.Errors {
		t.Logf("%s: %s", call, said)
	}
	assert.Greater(t, len(got.Errors), 100)
}

// What was open when the engine is closed ends with an error, and is no unhandled rejection where nobody waits for it.
func TestClose(t *testing.T) {
	p := open(t)
	var got struct {
		Said      []string
		Unhandled []string
		After     []string
	}
	require.NoError(t, p.Run(`
		const unhandled = []
		const hear = (e) => { unhandled.push(e.reason.message); e.preventDefault() }
		addEventListener('unhandledrejection', hear)
		const out = {said: [], after: []}
		for (const busy of [true, false]) {
			const w = await weft.open({device: 'wasm'})
			const x = w.ones([200, 200])
			const f = w.capture((x) => x.matmul(x))
			if (busy) await f.run(x)
			const model = {v: w.ones([3]).own()}
			const opt = await w.optim.sgd(model), fast = w.jit((x) => x.add(1))
			if (busy) await fast(x)
			const begin = () => [fast(x), w.optim.adam(model), opt.setRate(0.5), opt.step(model.v.sum()), opt.realize(), w.save(model), x.matmul(x).data(), x.sum().item(), x.list(), x.shape, x.dtype, x.add(1).realize(), f.run(x), f.run(x), w.realize(x.mul(2)),
				w.profile(() => x.exp().data()), w.stats(), w.inspect('relu(x[4])'), w.seed(1), w.fetch('index.html', [4], {dtype: 'u8'})]
			begin() // nobody waits for these
			const waited = Promise.allSettled(begin())
			if (busy) await new Promise((done) => setTimeout(done, 1))
			begin()
			w.close()
			for (const r of await waited) out.said.push(r.status === 'rejected' ? r.reason.message : r.status)
			for (const late of [() => x.add(1), () => x.data(), () => w.ones([1]), () => w.stats(), () => f.run(x)]) {
				let error = 'nothing'
				try { await late() } catch (e) { error = e.message }
				out.after.push(error)
			}
			w.close()
			x.dispose()
		}
		await new Promise((done) => setTimeout(done, 100))
		removeEventListener('unhandledrejection', hear)
		return {...out, unhandled}`, &got))
	assert.Empty(t, got.Unhandled)
	assert.Len(t, got.Said, 40)
	closed := 0
	for _, said := range got.Said {
		if said != "fulfilled" {
			assert.Regexp(t, `^\w+: the engine was closed; open\(\) gives another$`, said)
			closed++
		}
	}
	assert.GreaterOrEqual(t, closed, 15, "nothing had been carried out at the second close")
	for i, name := range []string{"add", "data", "ones", "stats", "run", "add", "data", "ones", "stats", "run"} {
		assert.Equal(t, name+": the engine was closed; open() gives another", got.After[i])
	}
}

// Tensors of two engines do not meet; functions that are captured are functions that record tensors.
func TestWhatMayNotMeet(t *testing.T) {
	p := open(t)
	var got map[string]string
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'}), elsewhere = await weft.open({device: 'wasm'})
		const x = w.tensor([10, 20]), y = elsewhere.tensor([1, 1]), gone = w.ones([2])
		gone.dispose()
		const out = {}
		const say = async (name, f) => { try { const v = await f(); out[name] = v?.data ? String(await v.data()) : String(v) } catch (e) { out[name] = e.message } }
		await say('add', () => x.add(y))
		await say('cat', () => w.cat([x, y]))
		await say('at', () => x.at(y))
		await say('grad', () => x.sum().grad([y]))
		await say('run', () => w.capture((a) => a.add(1)).run(y))
		await say('mask', () => w.attention(x, x, x, {mask: y}))
		await say('inside', () => w.capture((a) => a.add(y)).run(x))
		await say('returned', () => w.capture((a) => y).run(x))
		await say('disposed', () => x.add(gone))
		await say('reshape', () => x.reshape(2, 1))
		await say('sum', () => x.sum(0, 1))
		await say('gradOf', () => x.sum().grad(x))
		await say('option', () => x.sum({axes: 0}))
		await say('async', () => w.capture(async (a) => a.add(1)).run(x))
		await say('promise', () => w.capture((a) => Promise.resolve(a)).run(x))
		await say('nested', async () => {
			class Pair { constructor(a, b) { Object.assign(this, {a, b}) } get sum() { return this.a.add(this.b) } }
			const f = w.capture((a) => ({sum: a.sum(), parts: [a.neg(), {twice: [a.mul(2)]}, []], pair: new Pair(a, a), none: {}}))
			let r
			for (let i = 0; i < 2; i++) r = await f.run(x)
			return JSON.stringify([Object.keys(r), await r.sum.item(), await r.parts[0].list(), await r.parts[1].twice[0].list(), r.parts.length, await r.pair.sum.list(), r.pair.a !== r.pair.b])
		})
		await say('deep', () => { const ring = {}; ring.ring = ring; return w.capture((a) => ({a, ring})).run(x) })
		await say('field', () => w.capture((a) => ({a, loss: {total: 3}})).run(x))
		await say('promised', () => w.capture((a) => ({a: Promise.resolve(a)})).run(x))
		await say('within elsewhere', () => w.capture((a) => [{a: y}]).run(x))
		await say('number', () => w.capture((a) => [a, 1]).run(x))
		await say('read', () => w.capture((a) => { try { a.data() } catch (e) { out.within = e.message }; return a.neg() }).run(x))
		let stolen
		await say('steal', () => w.capture((a) => { stolen = a.add(1); return stolen }).run(x))
		await say('stolen', () => stolen.data())
		const f = w.capture((a) => a.add(1))
		await f.run(x)
		await say('inputs', () => f.run(x, x))
		await say('shape', () => f.run(w.ones([3])))
		f.dispose()
		await say('disposedFunction', () => f.run(x))
		await say('nothing', () => w.capture((a) => {}).run(x))
		await say('huge', () => w.zeros([1e6, 1e6]))
		await say('await', () => w.zeros(x.list()))
		await say('unbound', () => { const { relu } = x; return relu() })
		await say('after', () => x.add(1))
		w.close()
		elsewhere.close()
		return out`, &got))
	another := "is a tensor of another engine, and tensors meet within one engine only; take its elements over with w.tensor(await t.data(), t.shape)"
	for name, want := range map[string]string{
		"add": "add: y " + another, "cat": "cat: tensors[1] " + another, "at": "at: index 0 " + another, "grad": "grad: ws[0] " + another, "run": "run: inputs 0 " + another,
		"mask": "attention: mask " + another, "inside": "add: y " + another, "returned": "capture: the function returned a tensor of another engine",
		"disposed": "add: y was disposed of; dispose of it after its last use",
		"reshape":  "reshape: shape is one array: .reshape([2, 1])", "sum": "sum: axes is one array: .sum([0, 1])", "gradOf": "grad: ws is a tensor; it must be an array of tensors: [ws]",
		"option":           `sum: there is no option "axes"; there are axis, keep, dtype`,
		"async":            "capture: the function is async; it only records, so write it without async and await, and read what it returned after run",
		"promise":          "capture: the function is async; it only records, so write it without async and await, and read what it returned after run",
		"nested":           `[["sum","parts","pair","none"],30,[-10,-20],[20,40],3,[20,40],true]`,
		"deep":             "capture: in what the function returned, .ring" + strings.Repeat(".ring", 8) + ".rin…: arrays and objects are nested too deep, or hold themselves",
		"field":            "capture: in what the function returned, .loss.total is the number 3; it must return a tensor, or arrays and objects of tensors",
		"number":           "capture: in what the function returned, [1] is the number 1; it must return a tensor, or arrays and objects of tensors",
		"promised":         "capture: in what the function returned, .a is a promise; it must return a tensor, or arrays and objects of tensors",
		"within elsewhere": "capture: in what the function returned, [0].a is a tensor of another engine",
		"within":           "data: a value is asked for inside a captured function; return the tensor and read it after run",
		"read":             "-10,-20", "steal": "11,21", "stolen": "data: this tensor belongs to a captured function, which has ended; have the function return it",
		"inputs": "run: the captured function takes 1 inputs, not 2", "shape": "run: [3]: input 0 was captured with shape [2]",
		"disposedFunction": "run: this captured function was disposed of; dispose of it after its last use", "nothing": "capture: the function computes nothing",
		"huge":    "zeros: shape [1000000, 1000000] has 1000000000000 elements; a tensor in a page has at most 2147483647",
		"await":   "zeros: shape is a promise; it must be an array of sizes; await it first",
		"unbound": "relu: it was called on nothing; it is a method of a Tensor: x.relu(…)", "after": "11,21",
	} {
		assert.Equal(t, want, got[name], name)
		delete(got, name)
	}
	assert.Empty(t, got)
}

// What a captured function assigns gets memory of its own when it is captured, as it does outside of one.
func TestCaptureOwnsWhatItAssigns(t *testing.T) {
	p := open(t)
	var got map[string]any
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		await w.seed(7)
		const count = w.zeros([]), start = w.randn([3]), mean = start.mul(2), row = start.at([0, 2]), owned = w.ones([2]).own()
		const f = w.capture((x) => {
			count.assign(count.add(1))
			mean.addAssign(x)
			row.setAt(5, 0)
			owned.mulAssign(2)
			const inner = x.mul(0)
			inner.assign(inner.add(1)) // the function's own
			return inner
		})
		const x = w.tensor([1, 2, 3]), before = await start.list()
		let inner
		for (let i = 0; i < 3; i++) inner = await f.run(x)
		const near = (a, b) => a.every((v, i) => Math.abs(v - b[i]) < 1e-5)
		const out = {count: await count.item(), mean: near(await mean.list(), before.map((v, i) => 2 * v + 3 * (i + 1))), row: near(await row.list(), [5, before[1]]),
			owned: await owned.list(), inner: await inner.list(), start: near(await start.list(), before), x: await x.list()}
		const bad = w.ones([2]).gather(0, w.ones([2]))
		try { await w.capture((x) => { bad.assign(x) }).run(x) } catch (e) { out.bad = e.message }
		w.close()
		return out`, &got))
	assert.Equal(t, map[string]any{"count": 3., "mean": true, "row": true, "owned": []any{8., 8.}, "inner": []any{1., 1., 1.}, "start": true, "x": []any{1., 2., 3.},
		"bad": "gather: f32: an index must be of an integer type"}, got)
}

// Strings and consoles tell what is known of a tensor.
func TestTensorsInWords(t *testing.T) {
	p := open(t)
	shown := make(chan string, 1)
	p.On("Runtime.consoleAPICalled", func(params json.RawMessage) {
		select {
		case shown <- string(params):
		default:
		}
	})
	var got []string
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const x = w.tensor([[1, 2, 3], [4, 5, 6]]), y = x.sum(1), z = x.to('f16')
		console.log(x)
		const out = [String(x), String(w.tensor([true])), String(w.tensor(new Int32Array(4), [2, 2], {dtype: 'u8'})), String(w.tensor([])), String(y)]
		await y.list()
		out.push(String(y))
		out.push(z + '', String(w.tensor([1, 0]).nonZero()))
		z.dispose()
		out.push(z.toString(), x[Symbol.for('nodejs.util.inspect.custom')]())
		const shape = x.shape
		shape[0] = 9 // is the page's own
		out.push(String(x))
		w.close()
		return out`, &got))
	assert.Equal(t, []string{"Tensor [2, 3] f32 on WASM", "Tensor [1] bool on WASM", "Tensor [2, 2] u8 on WASM", "Tensor [0] f32 on WASM",
		"Tensor [2] f32 on WASM", "Tensor [2] f32 on WASM", "Tensor [2, 3] f16 on WASM",
		"Tensor i64 on WASM; its shape depends on elements, which nonZero reads",
		"Tensor that was disposed of; dispose of it after its last use", "Tensor [2, 3] f32 on WASM", "Tensor [2, 3] f32 on WASM"}, got)
	select {
	case text := <-shown:
		assert.Contains(t, text, `{"name":"known","type":"string","value":"[2, 3] f32"}`, "what developers see")
	case <-time.After(time.Minute):
		t.Error("nothing was shown")
	}
}

// A run and the question for its output that follows at once are one message.
func TestRunAndOutputAreOneMessage(t *testing.T) {
	p := open(t)
	var sent float64
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const x = w.ones([4])
		const f = w.capture((a) => a.add(1))
		for (let i = 0; i < 5; i++) await (await f.run(x)).data()
		await new Promise((done) => setTimeout(done, 50))
		const post = Worker.prototype.postMessage
		let sent = 0
		Worker.prototype.postMessage = function (...args) { sent++; return post.apply(this, args) }
		try {
			for (let i = 0; i < 10; i++) await (await f.run(x)).data()
		} finally {
			Worker.prototype.postMessage = post
		}
		w.close()
		return sent`, &sent))
	assert.LessOrEqual(t, sent, 10.)
	assert.Positive(t, sent)
}

package browser_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// inNode runs the body of an async function in Node, where weft is the engine that pages load, and reads what it returns. What no page is needed for
// is tested there: it takes a second.
func inNode(t *testing.T, body string, into any) {
	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	require.NoError(t, building(t))
	require.NoError(t, os.WriteFile(filepath.Join(shared.folder, "package.json"), []byte(`{"type": "module"}`), 0o666))
	script := filepath.Join(t.TempDir(), "test.mjs")
	at, err := json.Marshal("file://" + filepath.ToSlash(filepath.Join(shared.folder, "weft.js")))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(script, []byte(`import * as weft from `+string(at)+`
const told = async (f) => { try { return await f() ?? 'nothing' } catch (e) { return e.name + ': ' + e.message } }
const pause = (ms) => new Promise((done) => setTimeout(done, ms))
const result = await (async () => {`+body+`
})()
process.stdout.write(JSON.stringify(result), () => process.exit())
`), 0o666))
	cmd := exec.Command(node, script)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", out)
	require.NoError(t, json.Unmarshal(out, into), "%s", out)
}

// A call that throws while its values are written leaves nothing of itself behind, also where part of it went into a piece of its own.
func TestWhatThrowsLeavesNothing(t *testing.T) {
	var got struct {
		Detached, Shaped, Symbol string
		Other, After, Large      []float64
	}
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const other = w.tensor([1, 2, 3])
		const gone = new Float32Array(4)
		structuredClone(gone, { transfer: [gone.buffer] })
		const out = { detached: await told(() => w.tensor(gone)), shaped: await told(() => w.tensor(gone, [4])) }
		const large = w.tensor(new Float32Array(40000).fill(2))
		out.symbol = await told(() => w.call('seed', [new Float32Array(40000), [Symbol()]]))
		return { ...out, other: await other.list(), after: await w.tensor([4]).list(), large: await large.narrow(0, 0, 2).list() }`, &got)
	want := "TypeError: tensor: the buffer of the array is detached, as it is after postMessage has transferred it; copy it before"
	assert.Equal(t, want, got.Detached)
	assert.Equal(t, want, got.Shaped)
	assert.Contains(t, got.Symbol, "a symbol cannot be handed to the engine")
	assert.Equal(t, []float64{1, 2, 3}, got.Other)
	assert.Equal(t, []float64{4}, got.After)
	assert.Equal(t, []float64{2, 2}, got.Large)
}

// Bytes that are fetched without a type are f32, for the page as for the engine.
func TestFetchedWithoutAType(t *testing.T) {
	var got struct {
		DType string
		Sum   float64
		Saved []float64
	}
	inNode(t, `
		const { writeFileSync } = await import('node:fs')
		const { fileURLToPath } = await import('node:url')
		const at = new URL('numbers.bin', import.meta.url)
		writeFileSync(fileURLToPath(at), new Float32Array([1.5, 2.25, -3, 4]))
		const w = await weft.open({ device: 'wasm' })
		const p = await w.fetch(at, [4])
		return { dtype: p.dtype, sum: await p.sum().item(), saved: await (await w.load(await w.save({ p }))).p.list() }`, &got)
	assert.Equal(t, "f32", got.DType)
	assert.Equal(t, 4.75, got.Sum)
	assert.Equal(t, []float64{1.5, 2.25, -3, 4}, got.Saved)
}

// Nested arrays become elements of their type at once, not by way of f32.
func TestNestedNumbersAreExact(t *testing.T) {
	var got struct {
		I32, F64, Cut, Truth []float64
		I64                  []string
		Scalar               float64
		Wrong                []string
	}
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const of = (v, dtype) => w.tensor(v, { dtype })
		return {
			i32: await of([16777217, -2147483648], 'i32').list(), f64: await of([0.1, 1 / 3], 'f64').list(),
			i64: (await of([[1735689600001], [-9007199254740991]], 'i64').list()).map(String), scalar: await of(123456789, 'u32').item(),
			cut: await of([1.9, -1.9, -0], 'i8').list(), truth: (await of([2, 0, NaN, true], 'bool').list()).map(Number),
			wrong: await Promise.all([[[256], 'u8'], [[-1], 'u64'], [[NaN], 'i32'], [[Infinity], 'i64'], [[2 ** 63], 'i64']].map((v) => told(() => of(...v)))),
		}`, &got)
	assert.Equal(t, []float64{16777217, -2147483648}, got.I32)
	assert.Equal(t, []float64{0.1, 1. / 3}, got.F64)
	assert.Equal(t, []string{"1735689600001", "-9007199254740991"}, got.I64)
	assert.Equal(t, 123456789., got.Scalar)
	assert.Equal(t, []float64{1, -1, 0}, got.Cut)
	assert.Equal(t, []float64{1, 0, 1, 1}, got.Truth)
	assert.Equal(t, []string{
		"RangeError: tensor: u8 does not hold the number 256", "RangeError: tensor: u64 does not hold the number -1", "RangeError: tensor: i32 does not hold NaN",
		"RangeError: tensor: i64 does not hold the number Infinity", "RangeError: tensor: i64 does not hold the number 9223372036854776000",
	}, got.Wrong)
}

// A run takes its inputs as they are when it is called, whether the function is recorded by then or not, and runs keep their order.
func TestRunsAreCalledInOrder(t *testing.T) {
	var got struct {
		Runs                           float64
		Assigned, Disposed, First, Jit float64
		Waiting                        []float64
		Known                          string
		Kept                           float64
		Wrong                          []string
	}
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const of = async (p) => (await p).item()
		const x = w.zeros([1]), out = {}
		const inc = w.capture(() => { x.addAssign(1); return x.mul(1) })
		inc.run(); inc.run(); inc.run()
		out.runs = await x.item()
		const add = w.capture((a) => a.add(1))
		await add.run(w.zeros([1]))
		const b = w.tensor([5]), p = add.run(b)
		b.assign(w.tensor([100]))
		out.assigned = await of(p)
		const c = w.tensor([7]), q = add.run(c)
		c.dispose()
		out.disposed = await of(q)
		const d = w.tensor([7]), r = w.capture((a) => a.add(2)).run(d)
		d.dispose()
		out.first = await of(r)
		const e = w.tensor([8]), s = w.jit((a) => a.add(2))(e)
		e.dispose()
		out.jit = await of(s)
		// The engine has to tell the shape of the first one's input.
		const open = w.tensor([0, 3, 0, 4]), later = w.capture((a) => a.add(1))
		const found = open.maskedSelect(open.gt(0)), one = later.run(found), two = later.run(w.tensor([1, 2]))
		found.dispose()
		out.waiting = [...await (await one).list(), ...await (await two).list()]
		out.known = await told(() => later.run(w.tensor([1, 2, 3])))
		out.wrong = await Promise.all([[w.zeros([3])], [w.zeros([1], { dtype: 'i32' })], [], [w.zeros([1]), w.zeros([1])]].map((v) => told(() => add.run(...v))))
		out.wrong.push(await told(() => w.capture(() => { throw new Error('mine') }).run()))
		out.kept = await w.ones([2]).sum().item()
		return out`, &got)
	assert.Equal(t, 3., got.Runs)
	assert.Equal(t, 6., got.Assigned)
	assert.Equal(t, 8., got.Disposed)
	assert.Equal(t, 9., got.First)
	assert.Equal(t, 10., got.Jit)
	assert.Equal(t, []float64{4, 5, 2, 3}, got.Waiting)
	assert.Equal(t, "RangeError: run: [3]: input 0 was captured with shape [2]", got.Known)
	assert.Equal(t, []string{
		"RangeError: run: [3]: input 0 was captured with shape [1]", "TypeError: run: i32: input 0 was captured as f32; use to()",
		"TypeError: run: the captured function takes 1 inputs, not 0", "TypeError: run: the captured function takes 1 inputs, not 2", "Error: mine",
	}, got.Wrong)
	assert.Equal(t, 2., got.Kept, "a run that was refused is not told elsewhere")
}

// A file has the tensors of one step, whatever training does meanwhile.
func TestSavingDuringTraining(t *testing.T) {
	var got []float64
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const model = Object.fromEntries(Array.from({ length: 12 }, (_, i) => ['p' + i, w.zeros([1000])]))
		model.half = w.zeros([3], { dtype: 'f16' })
		const step = w.capture(() => {
			for (const p of Object.values(model)) p.addAssign(1)
			return model.p0.sum()
		})
		await step.run()
		let on = true
		const training = (async () => { while (on) await (await step.run()).item() })()
		await pause(50)
		const file = await w.load(await w.save(model))
		on = false
		await training
		const steps = []
		for (const t of Object.values(file)) steps.push((await t.data())[0])
		return steps`, &got)
	require.Len(t, got, 13)
	for _, step := range got {
		assert.Equal(t, got[0], step)
	}
}

// Whoever waits for a file when the engine is closed hears of it, and nothing of the file comes any more.
func TestClosingEndsDownloads(t *testing.T) {
	var got struct {
		Told []string
		Open int
	}
	inNode(t, `
		const { createServer } = await import('node:http')
		let open = 0
		const server = createServer((request, answer) => {
			open++
			request.socket.on('close', () => open--)
			const more = setInterval(() => answer.write(new Uint8Array(1000)), 20)
			request.socket.on('close', () => clearInterval(more))
		}).listen(0)
		await new Promise((ready) => server.on('listening', ready))
		const at = 'http://127.0.0.1:' + server.address().port + '/model'
		const ways = [(w) => w.load(at), async (w) => w.load(await fetch(at)), (w) => w.loadFunctions(at), (w) => w.onnx(at), async (w) => w.onnx(await fetch(at)), (w) => w.llm(at)]
		const out = { told: [] }
		for (const way of ways) {
			const w = await weft.open({ device: 'wasm', models: true })
			const waiting = told(() => way(w))
			await pause(300)
			w.close()
			out.told.push(await Promise.race([waiting, pause(5000).then(() => 'never')]))
		}
		await pause(300)
		return { ...out, open }`, &got)
	for i, name := range []string{"load", "load", "loadFunctions", "onnx", "onnx", "llm"} {
		assert.Equal(t, "Error: "+name+": the engine was closed; open() gives another", got.Told[i])
	}
	assert.Zero(t, got.Open)
}

// Tensors that are only dropped are collected, also in a loop that waits for nothing else; and where memory ends before the collector has come, it is
// made to come.
func TestDroppedTensorsAreCollected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 GB for some seconds")
	}
	var got struct {
		Peak, Small, Large float64
		Told               string
	}
	inNode(t, `
		const peak = async (mb, n) => {
			const w = await weft.open({ device: 'wasm' }), f = w.capture((a) => a.mul(0.5).add(1))
			let y = w.ones([mb << 18])
			for (let i = 0; i < n; i++) y = await f.run(y)
			await y.narrow(0, 0, 1).item()
			const { peakBytes } = await w.stats()
			w.close()
			return peakBytes / (1 << 20)
		}
		const out = { peak: await peak(16, 100), small: await peak(1, 1500) }
		const w = await weft.open({ device: 'wasm' }), kept = []
		let y = w.ones([1 << 28])
		for (let i = 0; i < 6; i++) await (y = y.mul(0.5)).realize() // 1 GB each
		out.large = await y.narrow(0, 0, 1).item()
		out.told = await told(async () => { for (;;) kept.push(await w.ones([1 << 28]).mul(2).realize()) })
		return out`, &got)
	assert.Less(t, got.Peak, 1000., "MB of 1600")
	assert.Less(t, got.Small, 1000., "MB of 1500")
	assert.Equal(t, 1./64, got.Large)
	assert.Contains(t, got.Told, "out of memory")
	assert.NotContains(t, got.Told, "WEFT_MEM")
}

// Layers and optimisers say what they do not take, when they are made.
func TestOptionsOfLayersAndOptimisers(t *testing.T) {
	var got struct{ Wrong, Right []string }
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const { nn, optim } = w, x = [w.ones([1])]
		const all = async (...list) => { const out = []; for (const f of list) out.push(await told(async () => (await f()) && 'made')); return out }
		return {
			wrong: await all(
				() => nn.linear(3, 2, { biass: false }), () => nn.linear(3), () => nn.lstm(3, 4, { batch_first: true }), () => nn.transformerLayer(8, 2, 16, { activation: 'swish' }),
				() => nn.conv2d(1, 2, 3, { strides: 2 }), () => nn.dropout(2), () => optim.sgd(x, { rate: '0.1' }), () => optim.sgd(x, { rate: NaN }), () => optim.adam(x, { amsgrad: 1 }),
				() => optim.adam(x, { betas: [0.9, 0.99] }), () => optim.sgd(x).then((o) => o.setRate())),
			right: await all(
				() => nn.linear(3, 2, { bias: false, dtype: 'f16' }), () => nn.linear(3, 2, undefined), () => nn.conv1d(2, 2, [3], { stride: 2, groups: 2, bias: false }), () => nn.batchNorm(2, { momentum: null }),
				() => nn.layerNorm([2, 3], { eps: 1e-3 }), () => nn.embedding(3, 4, { padding: 1 }), () => nn.prelu(), () => nn.gru(2, 3, { layers: 2, bothWays: true }),
				() => nn.transformerLayer(8, 2, 16, { activation: 'silu', bias: false }), () => optim.muon([w.ones([2, 2])], { newton: [1, 2, 3], matchAdam: true }), () => optim.adam(x, { rate: 1e-3 })),
		}`, &got)
	assert.Equal(t, []string{
		`TypeError: linear: there is no option "biass"; there are bias, dtype`,
		"TypeError: linear: outputs is missing; it must be an integer from 0 to 2147483647",
		`TypeError: lstm: there is no option "batch_first"; there are layers, bothWays, batchFirst, dropout, bias, projection, dtype`,
		`TypeError: transformerLayer: activation is the string "swish"; it must be relu, gelu, geluTanh or silu`,
		`TypeError: conv2d: there is no option "strides"; there are bias, dtype, stride, padding, dilation, groups, outputPadding, same`,
		"RangeError: dropout: p is the number 2; it must be a number from 0 to 1",
		`TypeError: sgd: rate is "0.1"; it must be a number`, "RangeError: sgd: rate is NaN; it must be a finite number, not negative",
		"TypeError: adam: amsgrad is 1; it must be true or false", `TypeError: adam: there is no option "betas"; there are rate, beta1, beta2, eps, amsgrad, decay, maximize`,
		"TypeError: setRate: rate is undefined; it must be a number",
	}, got.Wrong)
	for i, made := range got.Right {
		assert.Equal(t, "made", made, "%d", i)
	}
}

// A step that could train nothing is an error, as are layers whose results would all be 0.
func TestWhatCannotTrain(t *testing.T) {
	var got struct {
		Wrong []string
		Loss  float64
	}
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const { nn, optim } = w, [mine, other] = [nn.linear(2, 1), nn.linear(2, 1)], x = w.ones([3, 2]), norm = nn.batchNorm(2)
		const opt = await optim.sgd(mine, { rate: 0.1 })
		const wrong = []
		for (const f of [() => norm.forward(w.ones([1, 2, 1]), { training: true }), () => nn.groupNorm(2, 2).forward(w.ones([1, 2])), () => nn.instanceNorm(2).forward(w.ones([3, 2, 1])),
			() => opt.step(other.forward(x).sum()), () => opt.step(mine.forward(x).detach().sum())]) wrong.push(await told(f))
		for (const s of [[2, 2], [1, 2, 2], [0, 2]]) norm.forward(w.ones(s), { training: true })
		norm.forward(w.ones([1, 2]))
		const good = nn.linear(2, 1), some = await optim.sgd([good.weight, other.bias], { rate: 0.1 }), loss = good.forward(x).sum() // without the other's bias
		await some.step(loss)
		return { wrong, loss: (await loss.item()) - (await good.forward(x).sum().item()) }`, &got)
	require.Len(t, got.Wrong, 5)
	assert.Equal(t, "RangeError: batchNorm: input [1, 2, 1] has one value for each mean, so that all results would be 0", got.Wrong[0])
	assert.Equal(t, "RangeError: groupNorm: input [1, 2] has one value for each mean, so that all results would be 0", got.Wrong[1])
	assert.Equal(t, "RangeError: instanceNorm: input [3, 2, 1] has one value for each mean, so that all results would be 0", got.Wrong[2])
	for _, w := range got.Wrong[3:] {
		assert.Contains(t, w, "the loss depends on none of the optimiser's 2 parameters, so nothing would be trained; make the optimiser for the model")
	}
	assert.InDelta(t, 0.1*3*3*2, got.Loss, 1e-5)
}

// Steps that are no integers give floats, as in NumPy.
func TestFractionsOfARange(t *testing.T) {
	var got struct {
		Lists [][]float64
		Types []string
	}
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const all = [w.arange(0, 1, 0.25), w.arange(0.5, 3), w.arange(2.5), w.arange(0, 1, { step: 0.5 }), w.arange(4), w.arange(1, 7, 3), w.arange(0, 3, { dtype: 'f64' }), w.arange(0, 1.5, 0.5, { dtype: 'f16' })]
		return { types: all.map((x) => x.dtype), lists: await Promise.all(all.map((x) => x.list())) }`, &got)
	assert.Equal(t, []string{"f32", "f32", "f32", "f32", "i32", "i32", "f64", "f16"}, got.Types)
	assert.Equal(t, [][]float64{{0, 0.25, 0.5, 0.75}, {0.5, 1.5, 2.5}, {0, 1, 2}, {0, 0.5}, {0, 1, 2, 3}, {1, 4}, {0, 1, 2}, {0, 0.5, 1}}, got.Lists)
}

// What jsdom and others give a program of Node, as test runners have them do, its workers have not.
func TestNodeWithAPagesNames(t *testing.T) {
	var got []float64
	inNode(t, `
		globalThis.XMLHttpRequest = class {}
		const w = await weft.open({ device: 'wasm' })
		return w.tensor([3, 1, 2]).sort()[0].cumSum().flip(0).list()`, &got)
	assert.Equal(t, []float64{6, 3, 1}, got)
}

// More elements than kernels count are refused, also where an array or a file says how many there are.
func TestTooManyElements(t *testing.T) {
	var got struct{ Told, Blob, Other string }
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		class Huge extends Blob { get size() { return 2 ** 31 } }
		return { told: await told(() => w.tensor(new Uint8Array(2 ** 31))), blob: await told(() => w.tensor(new Huge([]))), other: await told(() => w.ones([2]).sum().item().then(String)) }`, &got)
	assert.Equal(t, "RangeError: tensor: 2147483648 elements; a tensor in a page has at most 2147483647", got.Told)
	assert.Equal(t, got.Told, got.Blob)
	assert.Equal(t, "2", got.Other)
}

// Arrays of another realm, as programs have them in test runners and of frames, are arrays; and what somebody gave all objects is no option.
func TestOtherRealms(t *testing.T) {
	var got struct {
		Typed, Big, Clamped, Blob, Loaded []float64
		Types                             []string
		Linear                            string
		Shape                             []float64
	}
	inNode(t, `
		Object.prototype.everywhere = 1
		const vm = await import('node:vm')
		const foreign = vm.runInNewContext('({ f: new Float32Array([1, 2, 3]), big: new BigInt64Array([4n, 5n]), c: new Uint8ClampedArray([300]), bytes: new Uint8Array(8) })')
		const other = Object.setPrototypeOf(new Blob([new Uint8Array([7])]), { get [Symbol.toStringTag]() { return 'Blob' }, __proto__: Object.create(null, Object.getOwnPropertyDescriptors(Blob.prototype)) })
		const w = await weft.open({ device: 'wasm' })
		const all = [w.tensor(foreign.f), w.tensor(foreign.big), w.tensor(foreign.c), w.tensor(other)]
		const file = await w.save({ x: w.ones([2]) })
		const bytes = vm.runInNewContext('(list) => new Uint8Array(list).buffer')([...new Uint8Array(await file.arrayBuffer())])
		const out = { types: all.map((x) => x.dtype), linear: await told(() => w.nn.linear(2, 1) && w.optim.adam(w.nn.linear(2, 1), { rate: 1 }).then(() => 'made')) }
		;[out.typed, out.big, out.clamped, out.blob] = (await Promise.all(all.map((x) => x.list()))).map((l) => l.map(Number))
		out.loaded = await (await w.load(bytes)).x.list()
		const axis = vm.runInNewContext('({ axis: 1 })')
		out.shape = w.ones([2, 3]).sum(axis).shape
		delete Object.prototype.everywhere
		return out`, &got)
	assert.Equal(t, []string{"f32", "i64", "u8", "u8"}, got.Types)
	assert.Equal(t, []float64{1, 2, 3}, got.Typed)
	assert.Equal(t, []float64{4, 5}, got.Big)
	assert.Equal(t, []float64{255}, got.Clamped)
	assert.Equal(t, []float64{7}, got.Blob)
	assert.Equal(t, []float64{1, 1}, got.Loaded)
	assert.Equal(t, "made", got.Linear)
	assert.Equal(t, []float64{2}, got.Shape)
}

// What an ONNX model is fed becomes elements of the type that it reads at once, as it is when run is called; what is nothing is refused by name.
func TestFeedsOfOnnxModels(t *testing.T) {
	var got struct {
		I64, Wrong          []string
		F64, Typed, Crossed []float64
	}
	inNode(t, `
		const varint = (n) => n < 128 ? [n] : [n & 127 | 128, ...varint(n >> 7)]
		const field = (f, v) => typeof v === 'number' ? [f << 3, ...varint(v)] : (v = typeof v === 'string' ? [...new TextEncoder().encode(v)] : v, [f << 3 | 2, ...varint(v.length), ...v])
		const port = (name, type) => [...field(1, name), ...field(2, field(1, [...field(1, type), ...field(2, field(1, field(2, 'n')))]))]
		const same = (type) => new Uint8Array([...field(1, 8), ...field(7, [...field(1, [...field(1, 'x'), ...field(2, 'y'), ...field(4, 'Identity')]), ...field(2, 'g'), ...field(11, port('x', type)), ...field(12, port('y', type))]),
			...field(8, [...field(1, ''), ...field(2, 17)])])
		const w = await weft.open({ device: 'wasm', models: true }), far = await weft.open({ device: 'wasm' })
		const of = async (type) => { const m = await w.onnx(same(type)); return async (x) => [...await (await m.run({ x })).y.data()] }
		const f32 = await of(1), i64 = await of(7), f64 = await of(11)
		const t = w.tensor([1, 2]), u = far.tensor([3, 4])
		const typed = f32(t), crossed = f32(u)
		t.dispose()
		u.assign(far.zeros([2]))
		return {
			i64: (await i64([1, 16777217, 9007199254740991])).map(String), f64: await f64([0.1]), typed: await typed, crossed: await crossed,
			wrong: [await told(() => f32(null)), await told(() => f32(undefined))],
		}`, &got)
	assert.Equal(t, []string{"1", "16777217", "9007199254740991"}, got.I64)
	assert.Equal(t, []float64{0.1}, got.F64)
	assert.Equal(t, []float64{1, 2}, got.Typed)
	assert.Equal(t, []float64{3, 4}, got.Crossed)
	assert.Equal(t, []string{
		"TypeError: run: the input x is null; it must be a tensor, or numbers: nested arrays or a typed array",
		"TypeError: run: the input x is undefined; it must be a tensor, or numbers: nested arrays or a typed array",
	}, got.Wrong)
}

// What cannot be a step is refused where it is called, and a change in place that the engine refuses is told once: then all tensors are what they were.
func TestTrainingGoesOnAfterAMistake(t *testing.T) {
	var got struct {
		Wrong  []string
		Same   []bool
		Count  float64
		Told   []string
		Values []float64
	}
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const { nn, optim } = w, mine = nn.linear(2, 2), x = w.ones([3, 2])
		const opt = await optim.adam(mine), before = String(await mine.weight.list()), loss = () => mine.forward(x).sum()
		const wrong = [], same = []
		for (const f of [() => opt.step(mine.forward(x)), () => opt.step(loss().to('i32')), () => opt.step([loss()]), () => opt.update(), () => opt.apply(loss()),
			() => opt.apply([w.ones([2, 2]), undefined]), () => opt.apply([w.ones([2, 2]), w.ones([3])]), () => opt.setRate(NaN), () => opt.step(x.sum()),
			async () => { mine.bias.assign(w.tensor([true, false])); opt.update(loss()); await opt.realize() }]) {
			wrong.push(await told(async () => { await f() }))
			same.push(String(await mine.weight.list()) === before)
		}
		const count = await opt.count.item() - 1 // the loss that depends on nothing is told by the engine
		await opt.step(loss())
		const kept = w.zeros([2]).own(), bad = kept.reshape([2])
		kept.assign(w.ones([2]))
		kept.assign(w.tensor([true, false]))
		bad.own().assign(kept)
		const out = [await told(() => bad.list()), await told(() => bad.list()), await told(() => kept.list())].map(String)
		return { wrong, same, count, told: out, values: await kept.add(1).list() }`, &got)
	assert.Equal(t, []string{
		"RangeError: update: the loss has the shape [3, 2]; make it one number first: loss.mean()",
		"TypeError: update: i32: only floats have a gradient",
		"TypeError: update: the loss is an array; it must be a tensor of one number; apply takes gradients",
		"TypeError: update: the loss is missing; it must be a tensor of one number",
		"TypeError: apply: the gradients are a tensor; they must be an array of tensors",
		"TypeError: apply: gradient 1 is missing; it must be a tensor",
		"RangeError: apply: gradient 1 has the shape [3], and its parameter [2]",
		"RangeError: setRate: rate is NaN; it must be a finite number",
	}, got.Wrong[:8])
	assert.Contains(t, got.Wrong[8], "the loss depends on none")
	assert.Contains(t, got.Wrong[9], "assign: f32 and bool: the types differ")
	for i, same := range got.Same {
		assert.True(t, same, "the weight after %s", got.Wrong[i])
	}
	assert.Equal(t, []string{"Error: assign: f32 and bool: the types differ; use to()", "0,0", "1,1"}, got.Told)
	assert.Equal(t, []float64{2, 2}, got.Values)
}

// Windows of one size are over all axes after the second, for what undoes a pool as for the pool.
func TestUnpoolingBySize(t *testing.T) {
	var got struct {
		Shapes  [][]int
		Values  []float64
		Numbers [][]float64
		Beyond  string
	}
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const [v, at] = w.arange(16).to('f32').reshape([1, 1, 4, 4]).maxPoolIndex(2)
		const y = v.maxUnpool(at, 2), shapes = [y.shape, v.maxUnpool(at, 2, { sizes: [5, 4] }).shape, v.maxUnpool(at, 2, { axes: 2, stride: 3 }).shape]
		const numbers = Float64Array.of(1.5, -2, 3)
		return { shapes, values: await y.flatten().list(), beyond: await told(() => w.tensor(Float64Array.of(300), { dtype: 'u8' })),
			numbers: [await w.tensor(numbers, { dtype: 'f32' }).list(), await w.tensor(numbers, [3], { dtype: 'i32' }).list(), await w.tensor(numbers, { dtype: 'f16' }).list(), await w.tensor(numbers, { dtype: 'bool' }).list()] }`, &got)
	assert.Equal(t, [][]int{{1, 1, 4, 4}, {1, 1, 5, 4}, {1, 1, 5, 5}}, got.Shapes)
	assert.Equal(t, []float64{0, 0, 0, 0, 0, 5, 0, 7, 0, 0, 0, 0, 0, 13, 0, 15}, got.Values)
	assert.Equal(t, [][]float64{{1.5, -2, 3}, {1, -2, 3}, {1.5, -2, 3}, {1, 1, 1}}, got.Numbers)
	assert.Equal(t, "RangeError: tensor: u8 does not hold the number 300", got.Beyond)
}

// What loads files leaves nothing at the engine's signal or at the page's, hears one that has come before, and tells of a file that is not there at once.
func TestSignalsOfLoading(t *testing.T) {
	var got struct {
		Heard              int
		Aborted, None, Raw string
		Asked              int
	}
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		let heard = 0
		for (const s of [w.ending.signal]) {
			const [add, remove] = [s.addEventListener, s.removeEventListener]
			s.addEventListener = function (name, f, o) {
				heard++
				o.signal.addEventListener('abort', () => heard--)
				return add.call(this, name, f, o)
			}
		}
		const file = await w.save({ a: w.ones([2]) })
		for (let i = 0; i < 3; i++) await w.load(file)
		const left = heard, fs = process.getBuiltinModule('node:fs/promises'), open = fs.open
		let asked = 0
		fs.open = (...a) => { if (String(a[0]).endsWith('none.onnx')) asked++; return open(...a) }
		const none = await told(() => w.onnx('/nowhere/none.onnx'))
		fs.open = open
		return { heard: left, aborted: await told(() => w.load(file, undefined, { signal: AbortSignal.abort(new Error('enough')) })), none, raw: await told(() => w.load('/nowhere/none')), asked }`, &got)
	assert.Zero(t, got.Heard)
	assert.Equal(t, "Error: enough", got.Aborted)
	assert.Contains(t, got.None, "/nowhere/none.onnx cannot be loaded: 404 there is no such file")
	assert.Contains(t, got.Raw, "/nowhere/none cannot be loaded: 404 there is no such file")
	assert.Equal(t, 1, got.Asked, "it is not asked for again")
}

// What kernels look like on the page's own device is told also where the engine that is open cannot tell it.
func TestInspectingHere(t *testing.T) {
	var got struct{ Targets, Sources [][]string }
	inNode(t, `
		const targets = [], sources = []
		for (const whole of [false, true]) {
			const w = await weft.open({ device: 'wasm', whole })
			for (const target of [['c'], ['here'], ['wasm', 'here']]) {
				const { kernels: [k] } = await w.inspect('x[4, 4] + 1', { target })
				targets.push(Object.keys(k.targets).sort())
				sources.push(Object.values(k.source).map((s) => s ? 'text' : 'none'))
			}
			w.close()
		}
		return { targets, sources }`, &got)
	require.Len(t, got.Targets, 6)
	assert.Equal(t, got.Targets[3:], got.Targets[:3])
	assert.Equal(t, []string{"here"}, got.Targets[1])
	for _, s := range got.Sources {
		assert.NotContains(t, s, "none")
	}
}

// Where there are no pictures, that is told.
func TestPicturesInNode(t *testing.T) {
	var got []string
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		return [await told(() => w.ones([2, 2]).toImageData()), await told(() => w.fromImage(new Blob([]))) ]`, &got)
	for i, name := range []string{"toImageData", "fromImage"} {
		assert.Equal(t, "Error: "+name+": there is no ImageData here; pages and their workers have it", got[i])
	}
}

// A cut into at most n parts gives as many as there are.
func TestChunksOfAnAxis(t *testing.T) {
	var got struct{ Sizes, Known [][]int }
	inNode(t, `
		const w = await weft.open({ device: 'wasm' }), sizes = [], known = []
		for (const [n, parts] of [[4, 3], [4, 4], [3, 5], [7, 4], [0, 2], [6, 4]]) {
			const list = w.zeros([2, n]).chunk(1, parts)
			known.push(list.map((t) => t.shape[1]))
			sizes.push((await Promise.all(list.map((t) => t.list()))).map((l) => l[0].length))
		}
		const [u] = w.tensor([1, 2, 3, 4, 4]).unique() // of a size that is not known
		known.push((await Promise.all(u.chunk(0, 2).map((t) => t.list()))).map((l) => l.length))
		return { sizes, known }`, &got)
	want := [][]int{{2, 2}, {1, 1, 1, 1}, {1, 1, 1}, {2, 2, 2, 1}, {0, 0}, {2, 2, 2}}
	assert.Equal(t, want, got.Sizes)
	assert.Equal(t, append(want, []int{2, 2}), got.Known)
}

package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Layers, schedules and what clips gradients say what is wrong with their arguments, as methods of tensors do, and options that they do not know are
// no options that are passed over.
func TestLayersAndSchedulesCheckTheirArguments(t *testing.T) {
	var got struct {
		Wrong         [][2]string
		Train, Nested float64
		Own           string
	}
	inNode(t, `
		const w = await weft.open({ device: 'wasm' })
		const { nn, optim } = w, x = w.ones([2, 3]), norm = nn.batchNorm(3), decoder = nn.transformerLayer(4, 2, 8, { decoder: true })
		const wrong = []
		const say = async (f) => wrong.push([String(f).replace(/^(async )?\(\) => /, ''), await told(f)])
		await say(() => nn.linear(3, 2).forward())
		await say(() => nn.conv2d(1, 2, 3).forward([1]))
		await say(() => nn.groupNorm(1, 3).forward(3))
		await say(() => nn.lstm(3, 4).forward(Promise.resolve(x)))
		await say(() => nn.lstm(3, 4).forward(x, { state: x }))
		await say(() => nn.dropout().forward(x, null))
		await say(() => norm.forward(x, { train: true }))
		await say(() => norm.forward(x, true))
		await say(() => norm.forward(x, { training: 1 }))
		await say(() => nn.multiheadAttention(4, 2).forward(w.ones([2, 1, 4]), w.ones([2, 1, 4]), null))
		await say(() => decoder.forward(w.ones([2, 1, 4])))
		await say(() => nn.transformerLayer(4, 2, 8).forward(w.ones([2, 1, 4]), { memory: w.ones([2, 1, 4]) }))
		await say(() => nn.sequential(3))
		await say(() => nn.sequential(nn.linear(3, 2), [null]))
		await say(() => nn.sequential(async (x) => x))
		await say(() => nn.sequential((x) => x.relu(), norm).forward())
		await say(() => nn.sequential((x) => x.relu(), nn.sequential(norm)).forward(x, { train: true }))
		await say(() => nn.sequential((x) => 3, nn.linear(3, 2)).forward(x))
		await say(() => optim.norm())
		await say(() => optim.norm([3]))
		await say(() => optim.clipByNorm(x, 1))
		await say(() => optim.clipByNorm([x], -1))
		await say(() => optim.clipByValue([x]))
		await say(() => optim.constant())
		await say(() => optim.exponential({ rate: 1, gamma: 2 }))
		await say(() => optim.multiStep(1, 3))
		await say(() => optim.oneCycle())
		await say(() => optim.oneCycle({ max: 1, steps: 10, warmup: 0.2 }))
		await say(() => optim.cyclic({ base: 0, max: '1', up: 2 }))
		await say(() => optim.chain(optim.exponential(1, 0.9)))
		await say(() => optim.plateau(1, { patienc: 3 }))
		await say(() => optim.adam({ x }, 0.1))
		await say(() => optim.adam({ x }, null))
		await say(async () => { await (await optim.custom(nn.linear(3, 1), () => {})).step(x.sum()) })
		await say(() => w.vmap((a, b) => a.mul(b), { in: [0] })(x, x))
		await say(() => w.vmap((a) => a.neg(), { in: [0, 0] })(x))
		// What a sequence hands on is what each of its layers takes.
		const own = { told: '', forward(x, context) { this.told = JSON.stringify(context); return x } }
		nn.sequential(own, nn.linear(3, 3), norm).forward(x.mul(w.tensor([[1], [3]])), { training: true, epoch: 3 })
		const train = (await norm.runningMean.list()).reduce((a, b) => a + Math.abs(b), 0)
		const block = nn.transformerLayer(4, 2, 8), words = w.randn([3, 1, 4])
		const both = nn.sequential(block, nn.linear(4, 4, { bias: false })), causal = both.forward(words, { causal: true })
		const nested = await causal.sub(both.layers[1].forward(block.forward(words, { causal: true }))).abs().max().item()
		return { wrong, train, nested, own: own.told }`, &got)
	want := []string{
		"TypeError: linear.forward: x is missing; it must be a tensor",
		"TypeError: conv.forward: x is an array; it must be a tensor, which w.tensor makes of numbers",
		"TypeError: groupNorm.forward: x is the number 3; it must be a tensor, which w.tensor makes of numbers",
		"TypeError: recurrent.forward: x is a promise; it must be a tensor; await it first",
		`TypeError: recurrent.forward: there is no option "state"; there are training, h, c`,
		"TypeError: dropout.forward: context is null; it must be an object with any of training",
		`TypeError: batchNorm.forward: there is no option "train"; there is training`,
		"TypeError: batchNorm.forward: context is true; it must be an object with any of training",
		"TypeError: batchNorm.forward: training is the number 1; it must be true or false",
		"TypeError: multiheadAttention.forward: value is null; it must be a tensor",
		"TypeError: transformerLayer.forward: memory is missing; a decoder attends to it",
		"TypeError: transformerLayer.forward: memory is what a decoder attends to; make the layer with decoder: true",
		"TypeError: sequential: step 0 is the number 3; it must be a layer, or a function of a tensor",
		"TypeError: sequential: step 1 is null; it must be a layer, or a function of a tensor",
		"TypeError: sequential: the function is async; it only records, so write it without async and await, and read what it returned after it",
		"TypeError: sequential.forward: x is missing; it must be a tensor",
		`TypeError: sequential.forward: there is no option "train"; there is training`,
		"TypeError: linear.forward: x is the number 3; it must be a tensor, which w.tensor makes of numbers",
		"TypeError: norm: grads is missing; it must be an array of tensors",
		"TypeError: norm: grads[0] is the number 3; it must be a tensor, which w.tensor makes of numbers",
		"TypeError: clipByNorm: grads is a tensor; it must be an array of tensors: [grads]",
		"RangeError: clipByNorm: max is the number -1; it must be a number of at least 0",
		"TypeError: clipByValue: max is missing; it must be a number of at least 0",
		"TypeError: constant: rate is missing; it must be a number",
		"TypeError: exponential: rate is an object; it must be a number",
		"RangeError: multiStep: milestones is the number 3; it must be an array of integers: [3]",
		"TypeError: oneCycle: options is missing; it must be an object with any of max, steps, warm, linear, div, finalDiv, threePhase",
		`TypeError: oneCycle: there is no option "warmup"; there are max, steps, warm, linear, div, finalDiv, threePhase`,
		`TypeError: cyclic: max is the string "1"; it must be a number`,
		"TypeError: chain: it takes arrays, [schedule, steps]",
		`TypeError: plateau: there is no option "patienc"; there are factor, patience, threshold, absolute, rising, cooldown, least, smallest`,
		"TypeError: adam: the options are of type number; they must be an object with any of rate, beta1, beta2, eps, amsgrad, decay, maximize",
		"TypeError: adam: the options are null; they must be an object with any of rate, beta1, beta2, eps, amsgrad, decay, maximize",
		"TypeError: custom: the rule gave missing; it must give a tensor, the new value of the parameter",
		"RangeError: vmap: in names axes of 1 arguments, and 2 came; null is the axis of one that is the same for all",
		"RangeError: vmap: in names axes of 2 arguments, and 1 came; null is the axis of one that is the same for all",
	}
	require.Len(t, got.Wrong, len(want))
	for i, w := range want {
		assert.Equal(t, w, got.Wrong[i][1], got.Wrong[i][0])
	}
	assert.Positive(t, got.Train, "the batch norm in a sequence was in training")
	assert.Zero(t, got.Nested, "layers in a sequence get what they take")
	assert.Equal(t, `{"training":true,"epoch":3}`, got.Own)
}

// What clips gradients computes in f32 at least and leaves them their types, and of none it gives none, as package nn does.
func TestGradientsKeepTheirTypes(t *testing.T) {
	var got struct {
		None, Long float64
		Clipped    int
		Types      []string
		Values     [][]float64
	}
	inNode(t, `
		const { optim, tensor } = await weft.open({ device: 'wasm' }).then((w) => Object.assign(w, { tensor: w.tensor.bind(w) }))
		const grads = [tensor([300, 400], { dtype: 'f16' }), tensor([1200], { dtype: 'f64' }), tensor([0])]
		const clipped = optim.clipByNorm(grads, 13)
		return { none: await optim.norm([]).item(), long: await optim.norm(grads.slice(0, 1)).item(), clipped: optim.clipByNorm([], 1).length, types: clipped.map((g) => g.dtype),
			values: await Promise.all(clipped.map((g) => g.list())) }`, &got)
	assert.Zero(t, got.None)
	assert.Zero(t, got.Clipped)
	assert.InDelta(t, 500, got.Long, 1e-3, "300² is no f16")
	assert.Equal(t, []string{"f16", "f64", "f32"}, got.Types)
	require.Len(t, got.Values, 3)
	for i, want := range [][]float64{{3, 4}, {12}, {0}} {
		assert.InDeltaSlice(t, want, got.Values[i], 1e-2)
	}
}

// What a page does wrong while bytes come, or while a function is recorded, is told by what it awaits. It is no error of its own besides, which would end Node.
func TestMistakesInCallbacksAreTold(t *testing.T) {
	var got struct {
		Loud                       []string
		Progress, Later            string
		Item, Step, Run, Jit, Scan string
		News                       float64
		After                      []float64
	}
	inNode(t, `
		const loud = []
		process.on('uncaughtException', (e) => loud.push('uncaught: ' + e.message))
		process.on('unhandledRejection', (e) => loud.push('unhandled: ' + e.message))
		const { createServer } = await import('node:http')
		const server = createServer((_, r) => { r.writeHead(200, { 'content-length': 16 << 20 }); r.end(Buffer.alloc(16 << 20)) }).listen(0)
		const url = 'http://localhost:' + server.address().port
		const w = await weft.open({ device: 'wasm' }), x = w.tensor([1, 2, 3]), linear = w.nn.linear(3, 1), opt = await w.optim.sgd(linear)
		let news = 0
		const out = {
			progress: await told(() => w.fetch(url, [4 << 20], { onprogress() { news++; throw new Error('mine') } })),
			later: await told(() => w.fetch(url, [4 << 20], { onprogress({ loaded, total }) { if (loaded === total) throw new Error('at the end') } })),
			item: await told(() => w.capture((a) => { a.item(); return a.neg() }).run(x)),
			step: await told(() => w.capture((a) => { opt.step(linear.forward(a).sum()) }).run(x)),
			run: await told(() => w.capture((a) => { w.capture((b) => b.neg()).run(a); return a.neg() }).run(x)),
			jit: await told(() => w.capture((a) => { w.jit((b) => b.neg())(a); return a.neg() }).run(x)),
			scan: await told(() => w.scan((s, a) => { a.item(); return [s.add(a)] }, w.tensor(0), x)),
		}
		await pause(100)
		server.close()
		return { ...out, loud, news, after: await x.neg().list() }`, &got)
	assert.Empty(t, got.Loud)
	assert.Equal(t, "Error: mine", got.Progress)
	assert.Equal(t, 1., got.News)
	assert.Equal(t, "Error: at the end", got.Later)
	assert.Equal(t, "Error: item: a value is asked for inside a captured function; return the tensor and read it after run", got.Item)
	assert.Equal(t, "Error: step: it computes, and a captured function only records; update does so", got.Step)
	nested := ": a function is captured inside a captured function; capture the outer one only"
	assert.Equal(t, "Error: run"+nested, got.Run)
	assert.Equal(t, "Error: jit"+nested, got.Jit)
	assert.Equal(t, got.Item, got.Scan)
	assert.Equal(t, []float64{-1, -2, -3}, got.After)
}

// What is asked of the wrong engine, of a generator that is no more, or at the wrong time is refused under the name of what was called: numbers of
// tensors are those of one engine, and another has other tensors under them.
func TestWhatIsOfAnotherEngineOrGone(t *testing.T) {
	var got struct{ Saved, Kept, Gone, Seed, Within, Seeded, Load, Fetch string }
	inNode(t, `
		const [w, other] = [await weft.open({ device: 'wasm' }), await weft.open({ device: 'wasm' })]
		const x = w.tensor([1, 2, 3]), foreign = other.tensor([4, 5, 6]), dropped = w.tensor([1])
		const draws = w.generator(1), gone = w.generator(2)
		dropped.dispose()
		gone.dispose()
		const { createServer } = await import('node:http')
		const port = await new Promise((told) => { const s = createServer().listen(0, () => { const { port } = s.address(); s.close(() => told(port)) }) })
		return {
			saved: await told(() => w.save({ a: { weight: foreign } })), kept: await told(() => w.save([x, dropped])),
			gone: await told(() => gone.rand([2])), seed: await told(() => gone.seed(1)),
			within: await told(() => w.capture((a) => w.generator(4).rand([3]).add(a)).run(x)), seeded: await told(() => w.capture((a) => { draws.seed(4); return draws.rand([3]).add(a) }).run(x)),
			load: await told(() => w.load('http://localhost:' + port + '/x.safetensors')), fetch: await told(() => w.fetch('http://localhost:' + port + '/x.bin', [1])),
		}`, &got)
	assert.Equal(t, "TypeError: save: a.weight is a tensor of another engine", got.Saved)
	assert.Equal(t, "TypeError: save: 1 was disposed of; dispose of it after its last use", got.Kept)
	assert.Equal(t, "TypeError: rand: this generator was disposed of; dispose of it after its last use", got.Gone)
	assert.Equal(t, "TypeError: seed: this generator was disposed of; dispose of it after its last use", got.Seed)
	seed := "Error: seed: it is done at once, and a captured function only records; call it before run"
	assert.Equal(t, seed, got.Within)
	assert.Equal(t, seed, got.Seeded)
	assert.Regexp(t, `^Error: load: http://localhost:\d+/x.safetensors cannot be reached: `, got.Load)
	assert.Contains(t, got.Load, "ECONNREFUSED")
	assert.Contains(t, got.Fetch, "ECONNREFUSED")
}

// A model says what its run takes; and one that nobody waits for when the engine is closed, or that a captured function asks, ends no program.
func TestModelsCheckWhatTheyAreGiven(t *testing.T) {
	var got struct {
		Loud, Wrong []string
		Value       []float64
	}
	inNode(t, `
		const loud = []
		process.on('unhandledRejection', (e) => loud.push('unhandled: ' + e.message))
		const part = (field, ...bytes) => [field << 3 | 2, bytes.flat(9).length, ...bytes.flat(9)], text = (field, s) => part(field, ...Buffer.from(s))
		const value = (name) => [text(1, name), part(2, part(1, 8, 1, part(2, part(1, 8, 2))))]
		const file = Uint8Array.from([8, 8, part(8, 16, 13), part(7, part(1, text(1, 'x'), text(2, 'y'), text(4, 'Relu')), text(2, 'g'), part(11, value('x')), part(12, value('y')))].flat(9))
		const w = await weft.open({ device: 'wasm', models: true }), m = await w.onnx(file), x = w.tensor([-1, 2]), wrong = []
		for (const f of [() => m.run(), () => m.run(x), () => m.run([x]), () => m.run({ x }, null), () => m.run({ x }, { output: ['y'] }), () => m.run({ x }, { outputs: 'y' }), () => m.run({ x }, { read: [1] }),
			() => w.capture((a) => { m.run({ x: a }); return a.neg() }).run(x)]) wrong.push(await told(f))
		const y = await (await m.run({ x })).y.list()
		m.run({ x })
		w.close()
		await pause(50)
		return { loud, wrong, value: y }`, &got)
	assert.Empty(t, got.Loud)
	assert.Equal(t, []float64{0, 2}, got.Value)
	assert.Equal(t, []string{
		"TypeError: run: the inputs are missing; they must be an object of them by their names: { x }",
		"TypeError: run: the inputs are a tensor; they must be an object of them by their names: { x }",
		"TypeError: run: the inputs are an array; they must be an object of them by their names: { x }",
		"TypeError: run: the options are null; they must be an object with any of outputs, read",
		`TypeError: run: there is no option "output"; there are outputs, read`,
		"TypeError: run: outputs is of type string; it must be an array of names of outputs",
		"TypeError: run: read is an array; it must be an array of names of outputs",
		"Error: run: a model computes, and a captured function only records; run the model before, and the function on what it gave",
	}, got.Wrong)
}

// What beginners meet first says what to do.
func TestFirstMistakesNameTheRemedy(t *testing.T) {
	var got []string
	inNode(t, `
		const w = await weft.open({ device: 'wasm' }), x = w.tensor([1, 2, 3, 4]), wrong = []
		for (const f of [() => x.fft(), () => x.irfft(), () => w.ones([2, 3]).crossEntropy(w.tensor([0, 1])).item()]) wrong.push(await told(f))
		return wrong`, &got)
	complex := "[4]: a complex array is a float tensor with a last axis of 2; rfft takes a real one"
	assert.Equal(t, []string{"RangeError: fft: " + complex, "RangeError: irfft: " + complex, "Error: crossEntropy: f32: class indices are integers; use to()"}, got)
}

// What is no picture is told under the name of the method.
func TestWhatIsNoPicture(t *testing.T) {
	p := open(t)
	var got []string
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const out = []
		for (const v of [document.body, new Image(), new Blob(['x'])]) await w.fromImage(v).catch((e) => out.push(e.name + ': ' + e.message))
		w.close()
		return out`, &got))
	require.Len(t, got, 3)
	for i, name := range []string{"TypeError", "InvalidStateError", "InvalidStateError"} {
		assert.Contains(t, got[i], name+": fromImage: the browser makes no picture of it: ")
	}
}

// What programs in TypeScript write; it is checked by tsc, and run by nobody.
import { open, type Tensor } from '../js/weft.js'
import type { BatchNorm, ConvLayer, Linear, Optimizer, Schedule, States, Step } from '../js/weft.js'

const w = await open({ device: 'webgpu', onprogress: ({ loaded, total }) => console.log(loaded / total) })
const x: Tensor = w.tensor([[1, 2], [3, 4]])
const y = w.tensor(new Float32Array(4), [2, 2]).matmul(x).add(1).relu()
const values: number[][] = await y.list()
const sum: number = await y.sum({ axis: 1, keep: true }).mean().item()
const part = x.at(0, [1, -1], null, '...')
const [g] = x.mul(y).sum().grad([x])
const step = w.capture((a, b) => a.matmul(b))
const out: Tensor = await step.run(x, y)
const both = w.capture((a) => [a, a.neg()])
const [first] = await both.run(x)
const tree = w.capture((a) => ({ sum: a.sum(), parts: [a, { neg: a.neg() }] as const }))
const { sum: total, parts: [, { neg }] } = await tree.run(x)
console.log(await total.item(), neg)
const v = x.var({ axis: 0, correction: 0 })
const patches: Tensor = x.rearrange('a (b c) -> a b c', { sizes: { c: 2 } }).einReduce('a b c -> a b', 'max')
const [spread, middle]: [Tensor, Tensor] = w.uSum([x, 2, y]).varMean({ axis: 0, keep: true })
console.log(patches, spread.addAssign(middle), w.tensor([1, 2], { dtype: 'f8e4m3' }))
const view = await w.inspect('relu(x[4])', { target: ['wgsl'] })
const weights = await w.fetch(new URL('https://example.org/w.bin'), [2, 2], {
  dtype: 'f16', offset: 8, onprogress: ({ loaded, total }) => console.log(loaded / total), signal: new AbortController().signal,
})
const { clock, launches } = await w.profile(async () => { await weights.matmul(x).realize() })
console.log(clock === 'gpu', launches.map(({ kernel, seconds, flops }) => `${kernel} ${flops / seconds}`))
const picture = w.tensor(new Blob([]), [0, 28, 28])
{
  using shortLived = w.zeros([2, 3])
  console.log(shortLived.shape, await shortLived.shape, shortLived.dtype)
}
w.onlost = (e) => console.log(e.message)
w.onrecovered = ({ message, seconds }) => console.log(message, seconds)
console.log(picture, values, sum, part, g, out, first, v, view.kernels[0].source.wgsl)

const model = { conv: w.nn.conv2d(1, 8, 3, { padding: 1 }), norm: w.nn.batchNorm(8), out: w.nn.linear(8, 10) }
const forward = (m: typeof model, x: Tensor, training = false) => m.out.forward(m.norm.forward(m.conv.forward(x).relu(), { training }).mean([2, 3]))
const opt = await w.optim.adamW(model, { rate: 1e-3, decay: 0.1 })
await opt.step(forward(model, x, true).crossEntropy(y))
await opt.setRate(w.optim.cosineAnnealing(1e-3, 100)(5))
const dm: typeof model = w.grad((m: typeof model) => forward(m, x).sum())(model)
const fast = w.jit((m: typeof model, x: Tensor) => ({ scores: forward(m, x) }), { most: 4 })
const { scores } = await fast(model, x)
const file: Blob = await w.save(model, { metadata: { step: '5' } })
const { missing } = await w.load(file, model, { strict: false })
const byName: Record<string, Tensor> = await w.load('model.safetensors')
const pixels: ImageData = await (await w.fromImage(new ImageData(2, 2), { channels: 1 })).toImageData()
const [seq, { h }] = w.nn.lstm(8, 16, { layers: 2 }).forward(x)
const [q3, r3] = x.qr({ complete: true })
const parts: Tensor[] = x.unbind(0)
const mixed = [x.topK(2, { axis: 0, largest: false }), x.quantile(0.5, { axis: 1, interpolation: 'midpoint' }), x.pad([1], [1], { mode: 'reflect' }), x.huber(y, { delta: 2, reduction: 'none' })]
console.log(dm, scores, missing, byName, pixels, seq, h, q3, r3, parts, mixed)

const perRow: Tensor = w.vmap((a: Tensor, b: Tensor) => a.mul(b).sum(), { in: [0, null] })(x, y)
const [states, outs] = w.scan(({ h, c }, [a, b]) => [{ h: h.add(a), c: c.mul(b) }, h.mul(c)], { h: x, c: y }, [x, y], { back: true })
const last: Tensor[] = [states.h.at(-1), states.c.at(0), outs]
const [powers]: [Tensor, []] = w.scan((a) => [a.mul(2)], x, null, { steps: 8 })
const [, named] = w.scan((a, b) => [a, { sum: a.add(b) }], x, y)
const [value, tangent]: [Tensor, Tensor] = w.jvp((a) => a.sin(), [x], [null])
const [{ twice }, pullback] = w.vjp((a) => ({ twice: a.mul(2) }), x)
const gradients: (Tensor | null)[] = pullback([x])
const again = w.checkpoint((a: Tensor) => [a, a.neg()] as const)(x)[1]
const hard = w.function('hard', (a: Tensor) => a.round(), { gradient: (ins, outs, seeds) => [seeds[0], null] })(x)
const kernel = w.custom('twice', [2], (k) => k.load(0, k.at(0), 1).mul(k.range(1)), [x])
const generator = w.generator(5)
const noise = [generator.rand([2], { dtype: 'f16' }), generator.dropout(x, 0.1), generator.multinomial(x, 2, { replace: true })]
const size: number = x.shape[0]
const fixed = [2, 3] as const, rows: ReadonlyArray<readonly number[]> = [[1, 2]]
const frozen = [w.tensor(rows, fixed), w.zeros(fixed), x.reshape(fixed).sum(fixed), w.cat([x, y] as const), x.conv2d(x, null, { stride: fixed })]
w.nn.layerNorm(fixed)
x.sum().backward([x] as const)
console.log(last, powers, named.sum, frozen, perRow, value, tangent, twice, gradients, again, hard, kernel, noise, size)

// @ts-expect-error: shapes are read
x.shape = [1]
// @ts-expect-error: no such interpolation
x.quantile(0.5, { interpolation: 'cubic' })
// @ts-expect-error: these are options
x.qr(true)
// @ts-expect-error: a misspelt option of an optimiser
await w.optim.adam(model, { lr: 1 })
// @ts-expect-error: there is no such device
await open({ device: 'abacus' })
// @ts-expect-error: shapes are lists
x.reshape('2')
// @ts-expect-error: numbers of other byte order
await w.fetch('w.bin', [4], { dtype: '>f4' })
// @ts-expect-error: a misspelt option
x.conv2d(x, null, { strides: 2 })
// @ts-expect-error: sizes are one array
x.reshape(4, 1)
// @ts-expect-error: axes are one array
x.sum(0, 1)
// @ts-expect-error: gradients are of an array of tensors
x.sum().grad(x)
// @ts-expect-error: a captured function only records
w.capture(async (a) => a)
w.capture((a) => { x.assign(a) })
x.var({ axis: [0], correction: 0 })

// Layers, optimisers and schedules have names where programs keep them.
const kept: { linear: Linear; conv: ConvLayer; norm: BatchNorm; steps: Step[] } = { linear: w.nn.linear(2, 2), conv: w.nn.conv2d(1, 1, 3), norm: w.nn.batchNorm(2), steps: [(x) => x.relu()] }
const descent: Optimizer = await w.optim.sgd(kept)
const slower: Schedule = w.optim.exponential(1e-3, 0.9)
const end: States = w.nn.gru(2, 2).forward(x)[1]
const draws = w.generator(1)
console.log(descent.rate, slower(3), end.h, draws.alphaDropout(x), draws.bernoulli(x), draws.gumbelSoftmax(x, -1, { hard: true }))

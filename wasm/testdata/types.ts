// What programs in TypeScript write; it is checked by tsc, and run by nobody.
import { open, type Tensor } from '../js/weft.js'

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
const v = x.var({ axis: 0, correction: 0 })
const d = await w.digits({ channels: [8, 16], data: 'synthetic' })
await d.train(10, ({ step, loss }) => console.log(step, loss))
const p: Float32Array = await d.predict(new Uint8Array(784))
const view = await w.inspect('relu(x[4])', { target: ['wgsl'] })
const weights = await w.fetch(new URL('https://example.org/w.bin'), [2, 2], {
  dtype: 'f16', offset: 8, onprogress: ({ loaded, total }) => console.log(loaded / total), signal: new AbortController().signal,
})
const { clock, launches } = await w.profile(async () => { await weights.matmul(x).realize() })
console.log(clock === 'gpu', launches.map(({ kernel, seconds, flops }) => `${kernel} ${flops / seconds}`))
const picture = w.tensor(new Blob([]), [0, 28, 28])
{
  using shortLived = w.zeros([2, 3])
  console.log(await shortLived.shape())
}
w.onlost = (e) => console.log(e.message)
w.onrecovered = ({ message, seconds }) => console.log(message, seconds)
console.log(picture, values, sum, part, g, out, first, v, p, view.kernels[0].source.wgsl)

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

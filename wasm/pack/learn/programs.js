// What pages begin with. The functions of the engine that these programs call are in weft.wasm, which a page loads first; what is not among
// them is a file later, and nothing worse. Run by Node.

import { open } from './weft.js'

// What a browser keeps.
const storage = {}
Object.defineProperty(globalThis, 'localStorage', { value: { getItem: (name) => storage[name] ?? null, setItem: (name, text) => { storage[name] = text } }, configurable: true })

const w = await open()

// A first product, and the ways to see it.
const x = w.tensor([[1, 2], [3, 4]])
await x.matmul(x).data()
await x.list()
await x.sum().item()
await x.shape
await x.dtype

const { ok } = await import('node:assert')
const near = (a, b) => ok(Math.abs(a - b) < 1e-3, `${a} is not ${b}`)
near(await x.matmul(x).sum().item(), 54)

// Arithmetic, reductions, shapes.
const v = w.tensor(new Float32Array([1, -2, 3, -4, 5, -6]), [2, 3])
await w.realize(
  v.add(1).mul(2).sub(v).div(3).neg(), v.exp().log().sqrt().square().abs(), v.relu(), v.sigmoid(), v.tanh(), v.maximum(0), v.minimum(1), v.softmax(), v.gt(0).where(v, 0), v.eq(1),
  v.sum(0), v.mean(1), v.max(1), v.argMax(1), v.sum({ axis: 1, keep: true }), v.reshape([3, 2]), v.transpose(), v.expand([2, 3]), v.unsqueeze(0), v.flatten(), v.at(0), v.narrow(1, 0, 2),
  w.cat([v, v], 1), w.stack([v, v]), v.to('i32'))
await w.arange(10).to('f32').mean().item()
await w.zeros([2, 2]).add(w.ones([2, 2])).list()
await w.seed(7)
await w.realize(w.rand([4, 4]), w.randn([4, 4]))
await w.tensor(new Int32Array([1, 2, 3])).add(1).list()
await w.rand([300, 300]).matmul(w.rand([300, 300])).data() // in threads, and large enough to be handed over

// A small network, trained; once with a captured step.
async function train(model, x, y, make, captured) {
  const o = await make(model)
  const loss = (x, y) => model.forward(x, { training: true }).crossEntropy(y)
  if (!captured) {
    for (let i = 0; i < 3; i++) await o.step(loss(x, y))
    return
  }
  const step = w.capture((x, y) => {
    const l = loss(x, y)
    o.update(l)
    return l
  })
  let last
  for (let i = 0; i < 5; i++) last = await step.run(x, y)
  ok(Number.isFinite(await last.item()))
  await o.setRate(0.001)
  await step.run(x, y)
  step.dispose()
}

const labels = w.tensor(new Int32Array([0, 1, 2, 0, 1, 2, 0, 1]))
const mlp = () => w.nn.sequential(w.nn.linear(10, 16), (x) => x.relu(), w.nn.dropout(0.1), w.nn.linear(16, 3))
const rows = w.randn([8, 10]).own()
await train(mlp(), rows, labels, (m) => w.optim.sgd(m, { rate: 0.1, momentum: 0.9 }), false)
await train(mlp(), rows, labels, (m) => w.optim.adam(m), true)
await train(mlp(), rows, labels, (m) => w.optim.adam(m), true)

// Nothing to do for a while: the rest is loaded and devices are measured, unless there is something to do.
for (const ms of [600, 2500]) {
  await new Promise((then) => setTimeout(then, ms))
  await x.matmul(x).data()
}
await w.stats()
v.dispose()
await x.matmul(x).data()

// A page that names its device, and one that knows which is fastest.
for (const options of [{ device: 'wasm' }, {}]) {
  const w = await open(options)
  const x = w.tensor([[1, 2], [3, 4]])
  near(await x.matmul(x).sum().item(), 54)
}

const seen = new Set()
const channel = new BroadcastChannel('weft learnt')
let engines = 3
channel.onmessage = ({ data }) => {
  for (const i of data) seen.add(i)
  if (--engines) return
  console.log(JSON.stringify([...seen].sort((a, b) => a - b)))
  process.exit()
}
channel.postMessage('tell')

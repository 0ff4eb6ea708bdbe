// What pages begin with. The functions of the engine that these programs call are in weft.wasm, which a page loads first; what is not among
// them is a file later, and nothing worse. Run by Node.

import { open } from './weft.js'

const w = await open()

// A first product, and the ways to see it.
const x = w.tensor([[1, 2], [3, 4]])
await x.matmul(x).data()
await x.list()
await x.sum().item()
await x.shape()
await x.dtype()

const { ok } = await import('node:assert')
const near = (a, b) => ok(Math.abs(a - b) < 1e-3, `${a} is not ${b}`)
near(await x.matmul(x).sum().item(), 54)

// Arithmetic, reductions, shapes.
const v = w.tensor(new Float32Array([1, -2, 3, -4, 5, -6]), [2, 3])
await w.realize(
  v.add(1).mul(2).sub(v).div(3).neg(), v.exp().log().sqrt().square().abs(), v.relu(), v.sigmoid(), v.tanh(), v.gelu(), v.silu(), v.maximum(0), v.minimum(1), v.clamp(-1, 1),
  v.pow(2), v.sin(), v.cos(), v.softmax(), v.logSoftmax(1), v.gt(0).where(v, 0), v.eq(1), v.lt(1), v.not(),
  v.sum(0), v.mean(1), v.max(1), v.min(), v.argMax(1), v.var(1), v.std(), v.sum({ axis: 1, keep: true }),
  v.reshape([3, 2]), v.transpose(), v.permute([1, 0]), v.expand([2, 3]), v.unsqueeze(0), v.squeeze(), v.flatten(), v.at(0), v.at(0, 1), v.narrow(1, 0, 2), v.pad([0, 1], [0, 1]), v.flip(0),
  w.cat([v, v], 1), w.stack([v, v]), v.to('i32'), v.to('f16').to('f32'), w.einsum('ij,kj->ik', v, v), v.cumSum(1), v.gather(1, w.tensor([[0, 1], [1, 2]]).to('i32')), v.oneHot ? v.argMax(1).oneHot(3) : v,
)
await w.arange(10).to('f32').mean().item()
await w.zeros([2, 2]).add(w.ones([2, 2])).add(w.full([2, 2], 3)).add(w.eye(2)).list()
await w.seed(7)
await w.realize(w.rand([4, 4]), w.randn([4, 4]), w.randint([4], 0, 9))
await w.tensor([true, false]).list()
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
await train(mlp(), rows, labels, (m) => w.optim.adamW(m), true)

const convolutions = w.nn.sequential(
  w.nn.conv2d(1, 4, 3, { padding: 1 }), w.nn.batchNorm(4), (x) => x.relu().maxPool2d(2), w.nn.conv2d(4, 8, 3), (x) => x.relu().avgPool2d(2).flatten([1, -1]), w.nn.linear(72, 3))
await train(convolutions, w.randn([8, 1, 16, 16]).own(), labels, (m) => w.optim.adam(m), true)

// What a transformer is made of.
const block = w.nn.transformerLayer(16, 2, 32, { batchFirst: true, normFirst: true })
const words = w.nn.embedding(11, 16)
await block.forward(words.forward(w.tensor(new Int32Array([1, 2, 3, 4, 5, 6])).reshape([2, 3])), { causal: true }).data()
await train({ forward: (x) => block.forward(x).mean(1), block }, w.randn([8, 3, 16]).own(), labels.mod(3), (m) => w.optim.adamW(m), true)

// Gradients of a function, one that is captured by shape, states.
const f = w.valueAndGrad((x) => x.square().sum())
await w.realize(...[f(v)].flat(2))
const g = w.jit((x) => x.mul(2).add(1))
await (await g(v)).data()
const state = w.zeros([3]).own()
state.assign(state.add(1))
state.addAssign(2)
near(await state.sum().item(), 9)

// Nothing to do for a while: devices are measured.
await new Promise((then) => setTimeout(then, 1500))
await w.stats()
v.dispose()
await x.matmul(x).data()

const channel = new BroadcastChannel('weft learnt')
channel.onmessage = ({ data }) => {
  console.log(JSON.stringify(data))
  process.exit()
}
channel.postMessage('tell')

// What pages begin with. The functions of the engine that these programs call are in weft.wasm, which a page loads first; what is not among
// them is a file later, and nothing worse. Run by Node.

import { open } from './weft.js'

// What a browser keeps.
const storage = {}
Object.defineProperty(globalThis, 'localStorage', { value: { getItem: (name) => storage[name] ?? null, setItem: (name, text) => { storage[name] = text } }, configurable: true })

// What the engines tell, and how many there are.
const channel = new BroadcastChannel('weft learnt')
let engines = 0
const started = (options) => {
  engines++
  return open(options)
}

// Has time pass for the engines (rest.js).
const pass = (ms) => new Promise((then) => {
  let left = engines
  channel.onmessage = () => { if (!--left) then() }
  channel.postMessage({ pass: ms })
})

const w = await started()

// A first product, and the ways to see it.
const x = w.tensor([[1, 2], [3, 4]])
await x.matmul(x).data()
for (let i = 0; i < 2; i++) { // nothing to do for a while: devices would be measured, unless there is something to do
  for (let k = 0; k < 2; k++) await pass(400)
  await x.matmul(x).data()
}
await x.list()
await x.sum().item()
await x.shape
await x.dtype

const { ok } = await import('node:assert')
const near = (a, b) => ok(Math.abs(a - b) < 1e-3, `${a} is not ${b}`)
near(await x.matmul(x).sum().item(), 54)
near(await x.matmul(x).relu().sum().item(), 54)

// Arithmetic, reductions, shapes.
const v = w.tensor(new Float32Array([1, -2, 3, -4, 5, -6]), [2, 3])
await w.realize(
  v.add(1).mul(2).sub(v).div(3).neg(), v.exp(), v.relu(), v.sigmoid(), v.maximum(0), v.softmax(),
  v.sum(0), v.mean(1), v.max(1), v.reshape([3, 2]), v.transpose(), v.expand([2, 3]), v.unsqueeze(0), v.flatten(),
  v.mean())
await w.zeros([2, 2]).add(w.ones([2, 2])).list()
await w.rand([4, 4]).data()
await w.rand([300, 300]).matmul(w.rand([300, 300])).data() // in threads, and large enough to be handed over

// Small networks as they are, captured. What the compiler simplifies depends on the sizes.
for (const [n, inputs, hidden, outs] of [[8, 10, 16, 3], [2, 2, 2, 2], [1, 3, 1, 5]]) {
  const model = w.nn.sequential(w.nn.linear(inputs, hidden), (x) => x.relu(), w.nn.linear(hidden, outs))
  const f = w.capture((x) => model.forward(x).softmax())
  const rows = w.randn([n, inputs]).own()
  for (let i = 0; i < 3; i++) near(await (await f.run(rows)).sum().item(), n)
  const one = w.nn.linear(inputs, outs)
  near(await w.capture((x) => one.forward(x).softmax()).run(rows).then((y) => y.sum().item()), n)
}

v.dispose()
await x.matmul(x).data()

// A page that names its device, and one that has measured before and knows that this one is the fastest.
const [machine, detail, now] = [`WASM ${w.deviceDetail} | WEBGPU`, w.deviceDetail, Math.floor(Date.now() / 1000)]
storage['weft.devices'] = ['weft choices 1', ['speed', machine, 'WASM', now, 4e-06, 4e+10, 2e+10, detail, ''], ['speed', machine, 'WEBGPU', now, 6e-05, 6e+09, 2e+09, 'another', ''],
  ['choice', machine, '6/29/27', 'WASM', 'WASM=13.9ms WEBGPU=122ms'], ''].map((line) => [line].flat().join('\t')).join('\n')
for (const options of [{ device: 'wasm' }, {}]) {
  const w = await started(options)
  const x = w.tensor([[1, 2], [3, 4]])
  near(await x.matmul(x).sum().item(), 54)
  ok(options.device || w.note.includes('chosen'), w.note)
}

const seen = new Set()
channel.onmessage = ({ data }) => {
  for (const i of data) seen.add(i)
  if (--engines) return
  console.log(JSON.stringify([...seen].sort((a, b) => a - b)))
  process.exit()
}
channel.postMessage('tell')

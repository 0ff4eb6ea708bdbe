// Weft; every program is captured.

import { open as engine } from '/weft/weft.js'
import { rate } from './cases.js'
import { epsilon } from './networks.js'

export async function open(threads, device, options) {
  const w = await engine({ device, ...options })
  return {
    detail: w.deviceDetail,
    threads: () => Number(/(\d+) threads/.exec(w.deviceDetail)?.[1] ?? (device === 'wasm' ? 1 : threads)),
    prepare: (c) => (c.kind === 'train' ? training(w, c) : prepare(w, c, device)),
    prepareModel: (bytes, inputs, outputs) => prepareModel(w, bytes, inputs, outputs),
    engine: w,
  }
}

const programs = {
  matmul: ({ n }) => [{ a: [n, n], b: [n, n] }, (a, b) => a.matmul(b)],
  conv: ({ size, from, to, each, window, groups, border }) => [
    { x: [1, from, size, size], w: [to, each, window, window] }, (x, w) => x.conv2d(w, null, { padding: border, groups }),
  ],
  softmax: ({ n }) => [{ x: [n, n] }, (x) => x.softmax(-1)],
  layernorm: ({ n }) => [{ x: [n, n], w: [n], b: [n] }, (x, w, b) => x.layerNorm(n, w, b, 1e-5)],
  chain: ({ n }) => [{ x: [n], y: [n] }, (x, y) => {
    const t = x.mul(y).add(x).relu().sqrt().sub(y).abs().mul(0.5).add(1)
    return t.mul(t)
  }],
  attention: ({ heads, length, size }) => [
    { q: [heads, length, size], k: [heads, length, size], v: [heads, length, size] }, (q, k, v) => attended(q, k, v, size),
  ],
  token: ({ w, heads, size, width, shapes }) => [shapes, (x, k, v, w1, b1, qkv, back, w2, b2, up, down) => {
    const now = x.layerNorm(width, w1, b1, epsilon).matmul(qkv).reshape([3, heads, 1, size])
    const [q, row, value] = [0, 1, 2].map((i) => now.at(i))
    const seen = attended(q, w.cat([k, row], 1), w.cat([v, value], 1), size)
    const y = seen.reshape([1, width]).matmul(back).add(x)
    return y.layerNorm(width, w2, b2, epsilon).matmul(up).relu().matmul(down).add(y)
  }, 3],
  convnet: ({ batch, flat, shapes }) => [shapes, (x, w1, w2, w3, b3) => {
    const layer = (x, w) => x.conv2d(w, null, { padding: 1 }).relu().maxPool2d(2)
    return layer(layer(x, w1), w2).reshape([batch, flat]).matmul(w3).add(b3)
  }, 1],
  sort: ({ n }) => [{ x: [n] }, (x) => x.sort()[0]],
  topk: ({ n, k }) => [{ x: [n] }, (x) => x.topK(k)[0]],
  cumsum: ({ n }) => [{ x: [n] }, (x) => x.cumSum(0)],
}

const attended = (q, k, v, size) => q.matmul(k.transpose(1, 2)).mul(1 / Math.sqrt(size)).softmax(-1).matmul(v)

async function prepare(w, c, device) {
  const [shapes, f, own = Infinity] = programs[c.kind]({ ...c, w }) // the first so many are inputs, the others the network's weights
  const inputs = Object.entries(shapes).map(([k, shape]) => w.tensor(c.inputs[k], shape))
  await w.realize(...inputs)
  const given = inputs.slice(0, own), weights = inputs.slice(own)
  const program = w.capture((...given) => f(...given, ...weights))
  const run = async () => {
    const y = await program.run(...given)
    const data = await y.data()
    y.dispose()
    return data
  }
  const kept = async () => { // what of it is not the way to the page; on WebGPU it would only be queued
    const y = await program.run(...given)
    y.dispose()
  }
  return { run, kept: device === 'wasm' ? kept : undefined, end: () => [program, ...inputs].forEach((x) => x.dispose()) }
}

async function training(w, { inputs, shapes, batch, size, classes }) {
  const x = w.tensor(inputs.x, [batch, size]), y = w.tensor(inputs.y, [batch, classes])
  const ps = Object.keys(shapes).map((k) => w.tensor(inputs[k], shapes[k]).own())
  const [w1, b1, w2, b2] = ps
  await w.realize(x, y, ...ps)
  const program = w.capture((x, y) => {
    const z = x.matmul(w1).add(b1).relu().matmul(w2).add(b2)
    const loss = z.logSoftmax(-1).mul(y).sum().mul(-1 / batch)
    const grads = loss.grad(ps)
    ps.forEach((p, i) => p.assign(p.sub(grads[i].mul(rate))))
    return loss
  })
  const run = async () => {
    const loss = await program.run(x, y)
    const data = await loss.data()
    loss.dispose()
    return data
  }
  return { run, end: () => [program, x, y, ...ps].forEach((t) => t.dispose()) }
}

async function prepareModel(w, bytes, inputs, outputs) {
  const m = await w.onnx(bytes)
  const feeds = Object.fromEntries(inputs.map(({ name, shape, data }) => [name, w.tensor(data, shape)]))
  await w.realize(...Object.values(feeds))
  const run = async () => {
    const { [outputs[0]]: data, ...rest } = await m.run(feeds, { read: [outputs[0]] })
    for (const t of Object.values(rest)) t.dispose()
    return data
  }
  return { run, end: () => { m.close(); Object.values(feeds).forEach((t) => t.dispose()) } }
}

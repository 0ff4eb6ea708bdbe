// jax-js on its wasm or webgpu device; every program is jitted. Arrays that are used again are passed as x.ref.

import { defaultDevice, init, jit, lax, nn, numpy as np, valueAndGrad } from '/peers/@jax-js/jax/dist/index.js'
import { rate } from './cases.js'
import { epsilon } from './networks.js'

export async function open(threads, device) {
  const devices = await init(device)
  if (!devices.includes(device)) throw new Error(`jax-js has no ${device} here`)
  defaultDevice(device)
  return { prepare, threads: () => navigator.hardwareConcurrency } // it takes as many as there are
}

export const array = (data, shape) => np.array(data, { shape })
export const product = jit((a, b) => np.matmul(a, b))

const programs = {
  matmul: ({ n, inputs: { a, b } }) => [[array(a, [n, n]), array(b, [n, n])], (a, b) => np.matmul(a, b)],
  conv: ({ size, from, to, each, window, groups, border, inputs: { x, w } }) => [
    [array(x, [1, from, size, size]), array(w, [to, each, window, window])],
    (x, w) => lax.convGeneralDilated(x, w, [1, 1], [[border, border], [border, border]], { featureGroupCount: groups }),
  ],
  softmax: ({ n, inputs: { x } }) => [[array(x, [n, n])], (x) => nn.softmax(x, -1)],
  layernorm: ({ n, inputs: { x, w, b } }) => [
    [array(x, [n, n]), array(w, [n]), array(b, [n])], normed,
  ],
  chain: ({ n, inputs: { x, y } }) => [[array(x, [n]), array(y, [n])], (x, y) => {
    const t = np.abs(np.sqrt(nn.relu(x.ref.mul(y.ref).add(x))).sub(y))
    return np.square(t.mul(0.5).add(1))
  }],
  attention: ({ heads, length, size, inputs: { q, k, v } }) => [
    [q, k, v].map((a) => array(a, [heads, length, size])), (q, k, v) => attended(q, k, v, size),
  ],
  token: (c) => [inOrder(c), (x, k, v, w1, b1, qkv, back, w2, b2, up, down) => {
    const now = np.matmul(normed(x.ref, w1, b1), qkv), width = c.width
    const [q, row, value] = np.split(now, 3, 1).map((t) => t.reshape([c.heads, 1, c.size]))
    const seen = attended(q, np.concatenate([k, row], 1), np.concatenate([v, value], 1), c.size)
    const y = np.matmul(seen.reshape([1, width]), back).add(x)
    return np.matmul(nn.relu(np.matmul(normed(y.ref, w2, b2), up)), down).add(y)
  }],
  convnet: (c) => [inOrder(c), (x, w1, w2, w3, b3) => {
    const layer = (x, w) => lax.reduceWindow(nn.relu(lax.convGeneralDilated(x, w, [1, 1], [[1, 1], [1, 1]])), np.max, [1, 1, 2, 2], [1, 1, 2, 2])
    return np.matmul(layer(layer(x, w1), w2).reshape([c.batch, c.flat]), w3).add(b3)
  }],
  sort: ({ n, inputs: { x } }) => [[array(x, [n])], (x) => np.sort(x)],
  topk: ({ n, k, inputs: { x } }) => [[array(x, [n])], (x) => lax.topK(x, k)[0]],
  cumsum: ({ n, inputs: { x } }) => [[array(x, [n])], (x) => np.cumsum(x)],
}

function normed(x, w, b) {
  return nn.standardize(x, -1, { epsilon }).mul(w).add(b)
}

const attended = (q, k, v, size) => np.matmul(nn.softmax(np.matmul(q, np.swapaxes(k, 1, 2)).mul(1 / Math.sqrt(size)), -1), v)

const inOrder = (c) => Object.entries(c.shapes).map(([name, shape]) => array(c.inputs[name], shape))

async function prepare(c) {
  if (c.kind === 'train') return training(c)
  const [inputs, f] = programs[c.kind](c)
  const program = jit(f)
  return {
    run: () => program(...inputs.map((x) => x.ref)).data(),
    end: () => inputs.forEach((x) => x.dispose()),
  }
}

function training({ inputs, shapes, batch, size, classes }) {
  const x = array(inputs.x, [batch, size]), y = array(inputs.y, [batch, classes])
  let ps = Object.keys(shapes).map((k) => array(inputs[k], shapes[k]))
  const loss = ([w1, b1, w2, b2], x, y) => {
    const z = np.matmul(nn.relu(np.matmul(x, w1).add(b1)), w2).add(b2)
    return nn.logSoftmax(z, -1).mul(y).sum().mul(-1 / batch)
  }
  const step = jit((ps, x, y) => {
    const [value, grads] = valueAndGrad(loss)(ps.map((p) => p.ref), x, y)
    return [value, ps.map((p, i) => p.sub(grads[i].mul(rate)))]
  })
  return {
    run: () => {
      const [value, next] = step(ps, x.ref, y.ref)
      ps = next
      return value.data()
    },
    end: () => [x, y, ...ps].forEach((p) => p.dispose()),
  }
}

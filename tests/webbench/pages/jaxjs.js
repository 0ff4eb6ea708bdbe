// jax-js on its wasm or webgpu device; every program is jitted. Arrays that are used again are passed as x.ref.

import { defaultDevice, init, jit, lax, nn, numpy as np, valueAndGrad } from '/peers/@jax-js/jax/dist/index.js'
import { rate } from './cases.js'

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
  conv: ({ size, channels: c, inputs: { x, w } }) => [
    [array(x, [1, c, size, size]), array(w, [c, c, 3, 3])], (x, w) => lax.convGeneralDilated(x, w, [1, 1], [[1, 1], [1, 1]]),
  ],
  softmax: ({ n, inputs: { x } }) => [[array(x, [n, n])], (x) => nn.softmax(x, -1)],
  layernorm: ({ n, inputs: { x, w, b } }) => [
    [array(x, [n, n]), array(w, [n]), array(b, [n])], (x, w, b) => nn.standardize(x, -1, { epsilon: 1e-5 }).mul(w).add(b),
  ],
  chain: ({ n, inputs: { x, y } }) => [[array(x, [n]), array(y, [n])], (x, y) => {
    const t = np.abs(np.sqrt(nn.relu(x.ref.mul(y.ref).add(x))).sub(y))
    return np.square(t.mul(0.5).add(1))
  }],
}

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

// TensorFlow.js with its WebAssembly backend. Pictures lie with their channels last, as it wants them.

import { epsilon } from './networks.js'
import { permuted } from './numbers.js'

async function script(src) {
  const s = document.createElement('script')
  s.src = src
  await new Promise((resolve, reject) => {
    s.onload = resolve
    s.onerror = () => reject(new Error(`${src} cannot be loaded`))
    document.head.append(s)
  })
}

let tf

export async function open(threads) {
  await script('/peers/@tensorflow/tfjs-core/dist/tf-core.min.js')
  await script('/peers/@tensorflow/tfjs-backend-cpu/dist/tf-backend-cpu.min.js')
  await script('/peers/@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.min.js')
  tf = globalThis.tf
  tf.wasm.setWasmPaths('/peers/@tensorflow/tfjs-backend-wasm/dist/')
  tf.wasm.setThreadsCount(threads)
  // It takes at most half of the processors, whatever it is told; here it is to have as many threads as the others.
  Object.defineProperty(navigator, 'hardwareConcurrency', { value: 2 * threads, configurable: true })
  await tf.setBackend('wasm')
  await tf.ready()
  delete navigator.hardwareConcurrency
  if (tf.getBackend() !== 'wasm') throw new Error('TensorFlow.js did not take its wasm backend')
  return { prepare, threads: () => tf.wasm.getThreadsCount() }
}

const programs = {
  matmul: ({ n, inputs: { a, b } }) => [[tf.tensor2d(a, [n, n]), tf.tensor2d(b, [n, n])], (a, b) => tf.matMul(a, b)],
  conv: ({ size, from, to, each, window, groups, inputs: { x, w } }) => {
    const picture = tf.tensor4d(permuted(x, [1, from, size, size], [0, 2, 3, 1]), [1, size, size, from])
    if (groups === 1) {
      const filters = tf.tensor4d(permuted(w, [to, from, window, window], [2, 3, 1, 0]), [window, window, from, to])
      return [[picture, filters], (x, w) => tf.conv2d(x, w, 1, 'same')]
    }
    return [[picture, tf.tensor4d(permuted(w, [to, each, window, window], [2, 3, 0, 1]), [window, window, to, each])], (x, w) => tf.depthwiseConv2d(x, w, 1, 'same')]
  },
  softmax: ({ n, inputs: { x } }) => [[tf.tensor2d(x, [n, n])], (x) => tf.softmax(x)],
  layernorm: ({ n, inputs: { x, w, b } }) => [[tf.tensor2d(x, [n, n]), tf.tensor1d(w), tf.tensor1d(b)], normed],
  chain: ({ inputs: { x, y } }) => [[tf.tensor1d(x), tf.tensor1d(y)], (x, y) => {
    const t = tf.abs(tf.sub(tf.sqrt(tf.relu(tf.add(tf.mul(x, y), x))), y))
    return tf.square(tf.add(tf.mul(t, 0.5), 1))
  }],
  attention: ({ heads, length, size, inputs: { q, k, v } }) => [
    [q, k, v].map((a) => tf.tensor3d(a, [heads, length, size])), (q, k, v) => attended(q, k, v, size),
  ],
  token: (c) => [inOrder(c), (x, k, v, w1, b1, qkv, back, w2, b2, up, down) => {
    const [q, row, value] = tf.split(tf.matMul(normed(x, w1, b1), qkv), 3, 1).map((t) => tf.reshape(t, [c.heads, 1, c.size]))
    const seen = attended(q, tf.concat([k, row], 1), tf.concat([v, value], 1), c.size)
    const y = tf.add(tf.matMul(tf.reshape(seen, [1, c.width]), back), x)
    return tf.add(tf.matMul(tf.relu(tf.matMul(normed(y, w2, b2), up)), down), y)
  }],
  convnet: ({ batch, c2, flat, classes, inputs: { x, w1, w2, w3, b3 } }) => [[
    tf.tensor4d(x, [batch, 28, 28, 1]), tf.tensor4d(permuted(w1, [32, 1, 3, 3], [2, 3, 1, 0]), [3, 3, 1, 32]), tf.tensor4d(permuted(w2, [c2, 32, 3, 3], [2, 3, 1, 0]), [3, 3, 32, c2]),
    tf.tensor2d(permuted(w3, [c2, 7, 7, classes], [1, 2, 0, 3]), [flat, classes]), tf.tensor1d(b3),
  ], (x, w1, w2, w3, b3) => {
    const layer = (x, w) => tf.maxPool(tf.relu(tf.conv2d(x, w, 1, 'same')), 2, 2, 'valid')
    return tf.add(tf.matMul(tf.reshape(layer(layer(x, w1), w2), [batch, flat]), w3), b3)
  }],
  sort: ({ n, inputs: { x } }) => [[tf.tensor1d(x)], (x) => tf.reverse(tf.topk(x, n).values, 0)],
  topk: ({ k, inputs: { x } }) => [[tf.tensor1d(x)], (x) => tf.topk(x, k).values],
  cumsum: ({ inputs: { x } }) => [[tf.tensor1d(x)], (x) => tf.cumsum(x)],
}

function normed(x, w, b) {
  const centred = tf.sub(x, tf.mean(x, 1, true))
  const variance = tf.mean(tf.square(centred), 1, true)
  return tf.add(tf.mul(tf.mul(centred, tf.rsqrt(tf.add(variance, epsilon))), w), b)
}

const attended = (q, k, v, size) => tf.matMul(tf.softmax(tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(size))), v)

const inOrder = (c) => Object.entries(c.shapes).map(([name, shape]) => tf.tensor(c.inputs[name], shape))

async function prepare(c) {
  if (!programs[c.kind]) return null // its gradients are not in the bundle that pages load
  const [inputs, f] = programs[c.kind](c)
  const read = async (y) => {
    const data = await y.data()
    y.dispose()
    return data
  }
  return {
    run: () => read(tf.tidy(() => f(...inputs))),
    form: c.kind === 'conv' ? (data) => permuted(data, [1, c.size, c.size, c.to], [0, 3, 1, 2]) : undefined,
    end: () => tf.dispose(inputs),
  }
}

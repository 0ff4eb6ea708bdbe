// TensorFlow.js with its WebAssembly backend. Pictures lie with their channels last, as it wants them.

import { permuted } from './cases.js'

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
  conv: ({ size, channels: c, inputs: { x, w } }) => [
    [tf.tensor4d(permuted(x, [1, c, size, size], [0, 2, 3, 1]), [1, size, size, c]), tf.tensor4d(permuted(w, [c, c, 3, 3], [2, 3, 1, 0]), [3, 3, c, c])],
    (x, w) => tf.conv2d(x, w, 1, 'same'),
  ],
  softmax: ({ n, inputs: { x } }) => [[tf.tensor2d(x, [n, n])], (x) => tf.softmax(x)],
  layernorm: ({ n, inputs: { x, w, b } }) => [[tf.tensor2d(x, [n, n]), tf.tensor1d(w), tf.tensor1d(b)], (x, w, b) => {
    const mean = tf.mean(x, 1, true), centred = tf.sub(x, mean)
    const variance = tf.mean(tf.square(centred), 1, true)
    return tf.add(tf.mul(tf.mul(centred, tf.rsqrt(tf.add(variance, 1e-5))), w), b)
  }],
  chain: ({ inputs: { x, y } }) => [[tf.tensor1d(x), tf.tensor1d(y)], (x, y) => {
    const t = tf.abs(tf.sub(tf.sqrt(tf.relu(tf.add(tf.mul(x, y), x))), y))
    return tf.square(tf.add(tf.mul(t, 0.5), 1))
  }],
}

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
    form: c.kind === 'conv' ? (data) => permuted(data, [1, c.size, c.size, c.channels], [0, 3, 1, 2]) : undefined,
    end: () => tf.dispose(inputs),
  }
}

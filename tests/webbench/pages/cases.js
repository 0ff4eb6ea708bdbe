// What is measured: inputs, and what must come out, computed here in float64.

import { attention, convnet, token } from './networks.js'
import { product, random, turned } from './numbers.js'
import { cumsum, sort, topk } from './order.js'
import { conv } from './windows.js'

function matmul(n) {
  const normal = random(n)
  const a = normal(n * n), b = normal(n * n)
  return { kind: 'matmul', n, inputs: { a, b }, want: () => product(a, b, n, n, n), scale: Math.sqrt(n) }
}

function rows(kind, f) {
  const n = 1024, normal = random(5)
  const x = normal(n * n, 2), w = normal(n), b = normal(n)
  const want = () => {
    const y = new Float64Array(n * n)
    for (let i = 0; i < n; i++) f(x.subarray(i * n, i * n + n), y.subarray(i * n, i * n + n), w, b)
    return y
  }
  return { kind, n, inputs: kind === 'softmax' ? { x } : { x, w, b }, want, scale: kind === 'softmax' ? 1e-3 : 1 }
}

const softmax = () => rows('softmax', (x, y) => {
  const top = x.reduce((a, b) => Math.max(a, b))
  let sum = 0
  for (let j = 0; j < x.length; j++) sum += y[j] = Math.exp(x[j] - top)
  for (let j = 0; j < x.length; j++) y[j] /= sum
})

const layerNorm = () => rows('layernorm', (x, y, w, b) => {
  let mean = 0, variance = 0
  for (const v of x) mean += v / x.length
  for (const v of x) variance += (v - mean) ** 2 / x.length
  for (let j = 0; j < x.length; j++) y[j] = (x[j] - mean) / Math.sqrt(variance + 1e-5) * w[j] + b[j]
})

// Nine operations: x·y, + x, ReLU, √, − y, |·|, · 0.5, + 1, squared.
function chain() {
  const n = 1 << 20, normal = random(7)
  const x = normal(n), y = normal(n)
  const want = () => Float64Array.from(x, (v, i) => (0.5 * Math.abs(Math.sqrt(Math.max(v * y[i] + v, 0)) - y[i]) + 1) ** 2)
  return { kind: 'chain', n, inputs: { x, y }, want, scale: 1 }
}

export const rate = 0.1

// One step of gradient descent on 784-256-10 with a batch of 64. What comes out is the loss before the step; the check
// looks at those of the first steps, which tell whether the gradients are right.
function train() {
  const normal = random(11), [batch, size, hidden, classes] = [64, 784, 256, 10]
  const x = normal(batch * size, 0.5), y = new Float32Array(batch * classes)
  for (let i = 0; i < batch; i++) y[i * classes + (i * 7) % classes] = 1
  const w1 = normal(size * hidden, 0.05), b1 = new Float32Array(hidden), w2 = normal(hidden * classes, 0.1), b2 = new Float32Array(classes)
  const shapes = { w1: [size, hidden], b1: [hidden], w2: [hidden, classes], b2: [classes] }
  return { kind: 'train', batch, size, hidden, classes, shapes, checked: 5, inputs: { x, y, w1, b1, w2, b2 }, want, scale: 1 }

  function want() {
    const p = [w1, b1, w2, b2].map((a) => Float64Array.from(a)), losses = []
    for (let step = 0; step < 5; step++) losses.push(descend(...p))
    return Float64Array.from(losses)
  }
  function descend(w1, b1, w2, b2) {
    const h = product(x, w1, batch, size, hidden).map((v, i) => Math.max(0, v + b1[i % hidden]))
    const g = product(h, w2, batch, hidden, classes).map((v, i) => v + b2[i % classes])
    let loss = 0
    for (let i = 0; i < batch; i++) {
      const z = g.subarray(i * classes, i * classes + classes)
      const sum = Math.log(z.reduce((a, v) => a + Math.exp(v), 0))
      for (let j = 0; j < classes; j++) {
        loss -= (z[j] - sum) * y[i * classes + j] / batch
        z[j] = (Math.exp(z[j] - sum) - y[i * classes + j]) / batch
      }
    }
    const back = product(g, turned(w2, hidden, classes), batch, classes, hidden).map((v, i) => (h[i] > 0 ? v : 0))
    const down = (p, d) => d.forEach((v, i) => { p[i] -= rate * v })
    down(w2, product(turned(h, batch, hidden), g, hidden, batch, classes))
    down(w1, product(turned(x, batch, size), back, size, batch, hidden))
    for (let i = 0; i < batch; i++) {
      for (let j = 0; j < classes; j++) b2[j] -= rate * g[i * classes + j]
      for (let j = 0; j < hidden; j++) b1[j] -= rate * back[i * hidden + j]
    }
    return loss
  }
}

const makers = {
  'matmul 256': () => matmul(256), 'matmul 512': () => matmul(512), 'matmul 1024': () => matmul(1024),
  'conv2d 1x64x56x56, 64 of 3x3': () => conv(), 'conv2d 1x512x7x7, 512 of 3x3': () => conv({ from: 512, size: 7 }),
  'conv2d 1x256x56x56, 64 of 1x1': () => conv({ from: 256, to: 64, window: 1 }),
  'depthwise 1x128x56x56, 3x3': () => conv({ from: 128, groups: 128 }),
  'softmax 1024x1024': softmax, 'layer norm 1024x1024': layerNorm,
  'training step 784-256-10, batch 64': train, 'nine elementwise ops on 1M': chain,
  'attention 8x512x64': attention, 'a token of a block of 512, 255 before': token, 'convnet 8x1x28x28': convnet,
  'sort 1M': sort, 'ten largest of 1M': topk, 'running sum of 1M': cumsum,
}

/** Makes a case. */
export function make(name) {
  if (!makers[name]) throw new Error(`there is no case ${name}`)
  return makers[name]()
}

// What is measured: inputs, and what must come out, computed here in float64.

// Numbers that look normal, the same on every machine.
function random(seed) {
  let s = seed >>> 0
  const uniform = () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0
    return (s + 0.5) / 2 ** 32
  }
  return (n, scale = 1) => Float32Array.from({ length: n }, () => scale * Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()))
}

function product(a, b, n, k, m) {
  const c = new Float64Array(n * m)
  for (let i = 0; i < n; i++) {
    for (let l = 0; l < k; l++) {
      const x = a[i * k + l]
      for (let j = 0, at = i * m, from = l * m; j < m; j++) c[at++] += x * b[from++]
    }
  }
  return c
}

function matmul(n) {
  const normal = random(n)
  const a = normal(n * n), b = normal(n * n)
  return { kind: 'matmul', n, inputs: { a, b }, want: () => product(a, b, n, n, n), scale: Math.sqrt(n) }
}

// Channels first: 1×64×56×56 by 64×64×3×3, a border of one zero.
function conv() {
  const normal = random(3), size = 56, channels = 64
  const x = normal(channels * size * size), w = normal(channels * channels * 9)
  const want = () => {
    const y = new Float64Array(channels * size * size)
    for (let o = 0; o < channels; o++) {
      for (let c = 0; c < channels; c++) {
        for (let dy = -1; dy <= 1; dy++) {
          for (let dx = -1; dx <= 1; dx++) {
            const f = w[((o * channels + c) * 3 + dy + 1) * 3 + dx + 1]
            for (let i = Math.max(0, -dy); i < Math.min(size, size - dy); i++) {
              const to = (o * size + i) * size, from = (c * size + i + dy) * size + dx
              for (let j = Math.max(0, -dx); j < Math.min(size, size - dx); j++) y[to + j] += f * x[from + j]
            }
          }
        }
      }
    }
    return y
  }
  return { kind: 'conv', size, channels, inputs: { x, w }, want, scale: 24 }
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

export function turned(a, n, m) {
  const t = new a.constructor(a.length)
  for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) t[j * n + i] = a[i * m + j]
  return t
}

/** Reorders axes: the new axis k is the old axis order[k]. */
export function permuted(a, shape, order) {
  const out = new a.constructor(a.length)
  const strides = shape.map((_, i) => shape.slice(i + 1).reduce((p, n) => p * n, 1))
  const index = order.map(() => 0)
  for (let at = 0; at < a.length; at++) {
    out[at] = a[order.reduce((s, axis, k) => s + strides[axis] * index[k], 0)]
    for (let k = order.length - 1; k >= 0 && ++index[k] === shape[order[k]]; k--) index[k] = 0
  }
  return out
}

const makers = {
  'matmul 256': () => matmul(256), 'matmul 512': () => matmul(512), 'matmul 1024': () => matmul(1024),
  'conv2d 1x64x56x56, 64 of 3x3': conv, 'softmax 1024x1024': softmax, 'layer norm 1024x1024': layerNorm,
  'training step 784-256-10, batch 64': train, 'nine elementwise ops on 1M': chain,
}

/** Makes a case. */
export function make(name) {
  if (!makers[name]) throw new Error(`there is no case ${name}`)
  return makers[name]()
}

/** How far values are from those of float64: the largest difference, in units of the case's scale. */
export function distance(got, want, scale) {
  if (got.length !== want.length) return Infinity
  let worst = 0
  for (let i = 0; i < want.length; i++) {
    const d = Math.abs(got[i] - want[i]) / (scale + Math.abs(want[i]))
    if (!(d <= worst)) worst = Number.isNaN(d) ? Infinity : d
  }
  return worst
}

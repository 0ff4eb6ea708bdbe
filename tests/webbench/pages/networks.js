// Parts of networks.

import { product, random, turned } from './numbers.js'
import { convolved } from './windows.js'

// softmax(q·kᵀ/√size)·v for each head.
function attended(q, k, v, heads, queries, keys, size) {
  const out = new Float64Array(heads * queries * size)
  for (let h = 0; h < heads; h++) {
    const part = (a, n) => a.subarray(h * n * size, (h + 1) * n * size)
    const scores = product(part(q, queries), turned(part(k, keys), keys, size), queries, size, keys)
    for (let i = 0; i < queries; i++) {
      const row = scores.subarray(i * keys, (i + 1) * keys)
      const top = row.reduce((a, b) => Math.max(a, b))
      row.forEach((s, j) => { row[j] = Math.exp((s - top) / Math.sqrt(size)) })
      const sum = row.reduce((a, b) => a + b)
      row.forEach((s, j) => { row[j] = s / sum })
    }
    out.set(product(scores, part(v, keys), queries, keys, size), h * queries * size)
  }
  return out
}

export function attention() {
  const normal = random(23), [heads, length, size] = [8, 512, 64], n = heads * length * size
  const q = normal(n), k = normal(n), v = normal(n)
  return { kind: 'attention', heads, length, size, inputs: { q, k, v }, want: () => attended(q, k, v, heads, length, length, size), scale: 0.1 }
}

export const epsilon = 1e-5

function normed(x, w, b) {
  let mean = 0, variance = 0
  for (const v of x) mean += v / x.length
  for (const v of x) variance += (v - mean) ** 2 / x.length
  return Float64Array.from(x, (v, i) => (v - mean) / Math.sqrt(variance + epsilon) * w[i] + b[i])
}

/**
 * A token through a block of a decoder: norm, attention to its own key and value behind those of the tokens before, norm, two layers
 * with ReLU. Keys and values of one token lie together: heads×before×size.
 */
export function token() {
  const normal = random(29), [heads, before, size] = [8, 255, 64], width = heads * size, hidden = 4 * width
  const x = normal(width), k = normal(heads * before * size), v = normal(heads * before * size)
  const w1 = normal(width), b1 = normal(width), w2 = normal(width), b2 = normal(width)
  const qkv = normal(width * 3 * width, 0.04), back = normal(width * width, 0.04), up = normal(width * hidden, 0.04), down = normal(hidden * width, 0.02)
  const shapes = {
    x: [1, width], k: [heads, before, size], v: [heads, before, size], w1: [width], b1: [width], qkv: [width, 3 * width], back: [width, width],
    w2: [width], b2: [width], up: [width, hidden], down: [hidden, width],
  }
  const longer = (old, row) => { // the new row behind those of each head
    const out = new Float64Array(heads * (before + 1) * size)
    for (let h = 0; h < heads; h++) {
      out.set(old.subarray(h * before * size, (h + 1) * before * size), h * (before + 1) * size)
      out.set(row.subarray(h * size, (h + 1) * size), ((h + 1) * (before + 1) - 1) * size)
    }
    return out
  }
  const want = () => {
    const now = product(normed(x, w1, b1), qkv, 1, width, 3 * width), part = (i) => now.subarray(i * width, (i + 1) * width)
    const seen = attended(part(0), longer(k, part(1)), longer(v, part(2)), heads, 1, before + 1, size)
    const y = product(seen, back, 1, width, width).map((t, i) => t + x[i])
    const inner = product(normed(y, w2, b2), up, 1, width, hidden).map((t) => Math.max(t, 0))
    return product(inner, down, 1, hidden, width).map((t, i) => t + y[i])
  }
  return { kind: 'token', heads, before, size, width, hidden, shapes, inputs: { x, k, v, w1, b1, qkv, back, w2, b2, up, down }, want, scale: 1 }
}

// The greatest of each 2×2 window of pictures.
function halved(x, pictures, size) {
  const half = size / 2, y = new Float64Array(pictures * half * half)
  for (let p = 0; p < pictures; p++) {
    for (let i = 0; i < half; i++) {
      for (let j = 0; j < half; j++) {
        const at = (p * size + 2 * i) * size + 2 * j
        y[(p * half + i) * half + j] = Math.max(x[at], x[at + 1], x[at + size], x[at + size + 1])
      }
    }
  }
  return y
}

/** Two convolutions 3×3 with ReLU and pools, and a layer: what reads digits. */
export function convnet() {
  const normal = random(31), batch = 8, [c1, c2] = [32, 64], flat = c2 * 7 * 7, classes = 10
  const x = normal(batch * 28 * 28), w1 = normal(c1 * 9, 0.3), w2 = normal(c2 * c1 * 9, 0.06), w3 = normal(flat * classes, 0.02), b3 = normal(classes)
  const shapes = { x: [batch, 1, 28, 28], w1: [c1, 1, 3, 3], w2: [c2, c1, 3, 3], w3: [flat, classes], b3: [classes] }
  const layer = (x, w, from, to, size) => halved(convolved(x, w, { batch, from, to, size, window: 3 }).map((v) => Math.max(v, 0)), batch * to, size)
  const want = () => {
    const last = layer(layer(x, w1, 1, c1, 28), w2, c1, c2, 14)
    return product(last, w3, batch, flat, classes).map((v, i) => v + b3[i % classes])
  }
  return { kind: 'convnet', batch, c2, flat, classes, shapes, inputs: { x, w1, w2, w3, b3 }, want, scale: 1 }
}

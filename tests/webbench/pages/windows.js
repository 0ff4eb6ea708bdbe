// Convolutions.

import { random } from './numbers.js'

/** The convolution of a picture, channels first, with a border of zeros that keeps its size. */
export function convolved(x, w, { batch = 1, from, to, size, window, groups = 1 }) {
  const y = new Float64Array(batch * to * size * size), reach = (window - 1) / 2, each = from / groups
  for (let n = 0; n < batch; n++) {
    for (let o = 0; o < to; o++) {
      const first = Math.floor(o * groups / to) * each
      for (let c = 0; c < each; c++) {
        const picture = (n * from + first + c) * size, filter = (o * each + c) * window * window, out = (n * to + o) * size
        for (let dy = -reach; dy <= reach; dy++) {
          for (let dx = -reach; dx <= reach; dx++) {
            const f = w[filter + (dy + reach) * window + dx + reach]
            for (let i = Math.max(0, -dy); i < Math.min(size, size - dy); i++) {
              const at = (out + i) * size, seen = (picture + i + dy) * size + dx
              for (let j = Math.max(0, -dx); j < Math.min(size, size - dx); j++) y[at + j] += f * x[seen + j]
            }
          }
        }
      }
    }
  }
  return y
}

/** 1×from×size×size by to×(from/groups)×window×window. */
export function conv({ from = 64, to = from, size = 56, window = 3, groups = 1 } = {}) {
  const normal = random(3), each = from / groups
  const x = normal(from * size * size), w = normal(to * each * window * window)
  const shape = { from, to, size, window, groups }
  return { kind: 'conv', ...shape, each, border: (window - 1) / 2, inputs: { x, w }, want: () => convolved(x, w, shape), scale: window * Math.sqrt(each) }
}

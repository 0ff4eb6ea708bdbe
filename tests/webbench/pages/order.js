// Order and running sums of a million numbers.

import { random } from './numbers.js'

const n = 1 << 20

/** All in order, the least first; where they were is computed too by whoever offers both at once only. */
export function sort() {
  const x = random(13)(n)
  return { kind: 'sort', n, inputs: { x }, want: () => Float64Array.from(x).sort(), scale: 1 }
}

export function topk() {
  const x = random(17)(n), k = 10
  return { kind: 'topk', n, k, inputs: { x }, want: () => Float64Array.from(x).sort().reverse().slice(0, k), scale: 1 }
}

/** Sums of a random walk, which reaches a thousand or two, and adds up the roundings of a million sums on the way. */
export function cumsum() {
  const x = random(19)(n)
  const want = () => {
    let sum = 0
    return Float64Array.from(x, (v) => (sum += v))
  }
  return { kind: 'cumsum', n, inputs: { x }, want, scale: 4000 }
}

// What cases are made of: random numbers, products and moves in float64, and how far results are from them.

/** Numbers that look normal, the same on every machine. */
export function random(seed) {
  let s = seed >>> 0
  const uniform = () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0
    return (s + 0.5) / 2 ** 32
  }
  return (n, scale = 1) => Float32Array.from({ length: n }, () => scale * Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()))
}

/** The product of a n×k and a k×m matrix. */
export function product(a, b, n, k, m) {
  const c = new Float64Array(n * m)
  for (let i = 0; i < n; i++) {
    for (let l = 0; l < k; l++) {
      const x = a[i * k + l]
      for (let j = 0, at = i * m, from = l * m; j < m; j++) c[at++] += x * b[from++]
    }
  }
  return c
}

/** The transpose of a n×m matrix. */
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

// Rules of shapes: what shapes the results of a method have, by the names that methods.txt gives the rules, of the shape of the tensor that the
// method is of, the arguments by name, and the call of infer.js.

import {
  Unknown, at, atLeast, batch, conv, diagonal, each, einsum, elementwise, formula, high, joined, list, loss, matmul, places, pool, product, put, reduced, rows, shapeOf, sizes, strips, transformed, value,
} from './axes.js'

/** What queries share of keys or values: with heads in groups, as many as they have. */
const heads = (o, s) => o.grouped && s.length > 2 && shapeOf(o.q).length > 2 ? s.with(-3, shapeOf(o.q).at(-3)) : s

const shares = (o, c) => {
  const s = matmul(shapeOf(o.q), c.swap(heads(o, shapeOf(o.k)), -2, -1), c)
  return o.mask ? c.broadcast(s, shapeOf(o.mask)) : s
}

// How many choices of r out of n there are.
function chosen(n, r) {
  let all = r > n ? 0 : 1
  for (let i = 0; i < Math.min(r, n - r); i++) all = all * (n - i) / (i + 1)
  return all
}

const hop = (o) => o.hop || Math.floor(o.n / 4)
const margin = (o) => o.uncentred ? 0 : 2 * Math.floor(o.n / 2)

/** The rules. */
export const shapes = {
  as: (x) => x,
  of: (x, o) => shapeOf(o.x),
  wide: elementwise,
  one: () => [],
  hash: () => [32],
  given: (x, o) => o.shape,
  list: (x, o) => [value(o.n)],
  fold: (x, o, c) => c.fold(x, o.axis, o.keep),
  along: (x, o, c) => x.length ? c.fold(x, o.axis ?? -1, o.keep) : [],
  quantile: (x, o, c) => [...Array.isArray(o.q) ? [o.q.length] : [], ...c.fold(x, o.axis ?? -1, o.keep)],
  trapezoid: (x, o, c) => {
    const [s, a] = strips(x, o, c)
    return s.toSpliced(a, 1)
  },
  strips: (x, o, c) => strips(x, o, c)[0],
  diff: (x, o, c) => {
    const a = c.axis(o.axis ?? -1, x)
    return put(x, a, Math.max(x[a] - (o.n ?? 1), 0))
  },
  half: (x, o, c) => {
    const a = c.axis(o.axis ?? -1, x)
    return put(x, a, x[a] / 2)
  },
  channels: (x) => [x[1]],
  cov: (x) => x.length < 2 || x[0] === 1 ? [] : [x[0], x[0]],
  edges: (x, o) => [shapeOf(o.edges)[0] - 1],
  bins: (x, o) => [o.n + 1],
  told: (x, o, c) => { throw new Unknown(`depends on elements, which ${c.name} reads`) },
  inverse: (x, o, c) => o.axis === undefined ? x : [x[c.axis(list(o.axis)[0], x)]],
  reshape: (x, o, c) => {
    const want = o.shape.map(value)
    const s = c.filled(want, product(x))
    if (product(s) !== product(x)) {
      if (want.includes(-1)) c.fail(`${product(x)} elements do not divide into ${product(want.filter((n) => n >= 0))}`, x, want)
      c.fail(`${product(x)} elements do not become ${product(s)}`, x, want)
    }
    return s
  },
  expand: (x, o, c) => {
    const s = o.shape.map(value)
    const more = s.length - x.length
    if (more < 0) c.fail('the result has fewer axes', x, s)
    return s.map((n, i) => {
      const have = x[i - more]
      if (n === -1 && i >= more) return have
      if (i >= more && have !== 1 && have !== n) c.fail(`size ${have} does not become ${n}`, x, s)
      return n
    })
  },
  to: (x, o) => o.shape.map((n, i) => n === -1 ? x[i] : n),
  like: (x, o) => shapeOf(o.y),
  permute: (x, o, c) => {
    const order = o.order.map((a) => c.axis(a, x))
    if (new Set(order).size !== x.length || order.length !== x.length) c.fail(`order ${written(o.order)} does not name each axis once`, x)
    return order.map((a) => x[a])
  },
  transpose: (x, o, c) => c.swap(x, o.a ?? -2, o.b ?? -1),
  moveAxis: (x, o, c) => {
    const [from, to] = [c.axis(o.from, x), c.axis(o.to, x)]
    return x.toSpliced(from, 1).toSpliced(to, 0, x[from])
  },
  squeeze: (x, o, c) => {
    const axes = list(o.axis).map((a) => c.axis(a, x))
    return x.filter((n, i) => n !== 1 || axes.length && !axes.includes(i))
  },
  unsqueeze: (x, o, c) => x.toSpliced(c.axis(o.axis, [...x, 1]), 0, 1),
  flatten: (x, o, c) => {
    const [from = 0, to = -1] = list(o.span)
    if (!x.length) return [1]
    const [a, b] = [c.axis(from, x), c.axis(to, x)]
    return x.toSpliced(a, b - a + 1, product(x.slice(a, b + 1)))
  },
  unflatten: (x, o, c) => {
    const a = c.axis(o.axis, x)
    return put(x, a, ...c.filled(o.sizes.map(value), x[a]))
  },
  atLeast: (x, o) => atLeast(x, o.rank),
  shrink: (x, o) => o.high.map((h, i) => h - o.low[i]),
  narrow: (x, o, c) => {
    const a = c.axis(o.axis, x)
    const n = value(o.n)
    const start = typeof o.start === 'number' && o.start < 0 ? o.start + x[a] : o.start
    if (typeof start === 'number' && typeof o.n === 'number' && (start < 0 || start + n > x[a])) c.fail(`${n} elements from ${start} of axis ${a}`, x)
    return put(x, a, n)
  },
  pad: (x, o) => x.map((n, i) => {
    const k = i - x.length + o.before.length
    return k < 0 ? n : n + o.before[k] + o.after[k]
  }),
  rot90: (x, o, c) => (o.k ?? 1) % 2 ? c.swap(x, o.first ?? 0, o.second ?? 1) : x,
  repeat: (x, o) => o.counts.map((n, i) => n * (x[i - o.counts.length + x.length] ?? 1)),
  formula,
  times: (x, o, c) => {
    const a = c.axis(o.axis ?? -1, x)
    return put(x, a, x[a] * o.n)
  },
  diagonal,
  diag: (x) => x.length === 1 ? [x[0], x[0]] : [Math.min(...x)],
  diagEmbed: (x) => [...x, x.at(-1)],
  diagMatrix: (x, o, c) => {
    const n = x.at(-1) + Math.abs(o.offset ?? 0)
    const [a, b] = [o.first ?? -2, o.second ?? -1].map((v) => c.axis(v, [...x, 1]))
    return x.slice(0, -1).toSpliced(Math.min(a, b), 0, n).toSpliced(Math.max(a, b), 0, n)
  },
  split: (x, o, c) => {
    const a = c.axis(o.axis, x)
    if (o.sizes.reduce((n, k) => n + k, 0) !== x[a]) c.fail(`sizes ${written(o.sizes)} do not add up to ${x[a]}`, x)
    return o.sizes.map((n) => put(x, a, n))
  },
  splitAt: (x, o, c) => {
    const a = c.axis(o.axis, x)
    let from = 0
    return [...o.indices, x[a]].map((to) => {
      to = Math.min(Math.max(to < 0 ? to + x[a] : to, 0), x[a])
      const n = Math.max(to - from, 0)
      from = to
      return put(x, a, n)
    })
  },
  evenly: (x, o, c) => {
    const a = c.axis(o.axis, x)
    return Array.from({ length: o.n }, (_, i) => put(x, a, Math.floor(x[a] / o.n) + (i < x[a] % o.n ? 1 : 0)))
  },
  chunk: (x, o, c) => {
    const a = c.axis(o.axis, x)
    const k = Math.max(1, Math.ceil(x[a] / o.n))
    return Array.from({ length: o.n }, (_, i) => put(x, a, Math.max(0, Math.min(k, x[a] - i * k))))
  },
  every: (x, o, c) => {
    const a = c.axis(o.axis, x)
    return Array.from({ length: Math.max(1, Math.ceil(x[a] / o.n)) }, (_, i) => put(x, a, Math.min(o.n, x[a] - i * o.n)))
  },
  unbind: (x, o, c) => {
    const a = c.axis(o.axis ?? 0, x)
    return Array.from({ length: x[a] }, () => put(x, a))
  },
  unfold: (x, o, c) => {
    const a = c.axis(o.axis, x)
    return [...put(x, a, Math.floor((x[a] - o.size) / (o.step ?? 1)) + 1), o.size]
  },
  shuffle: (x, { r }) => [...x.slice(0, -3), x.at(-3) / r / r, x.at(-2) * r, x.at(-1) * r],
  unshuffle: (x, { r }) => [...x.slice(0, -3), x.at(-3) * r * r, x.at(-2) / r, x.at(-1) / r],
  vander: (x, o) => [x[0], o.n],
  at: (x, o, c) => at(x, o.index, c),
  select: (x, o, c) => {
    const a = c.axis(o.axis, x)
    if (o.index < -x[a] || o.index >= x[a]) c.fail(`index ${o.index} of axis ${a}`, x)
    return put(x, a)
  },
  index: (x, o) => shapeOf(o.index),
  picked: (x, o, c) => put(x, c.axis(o.axis, x), product(shapeOf(o.index))),
  takeAlong: (x, o, c) => {
    const a = c.axis(o.axis, x)
    const i = shapeOf(o.index)
    return c.broadcast(x.with(a, 1), i.with(a, 1)).with(a, i[a])
  },
  some: (x, o, c) => o.size === undefined ? shapes.told(x, o, c) : [o.size],
  nonZero: (x, o, c) => [...shapes.some(x, o, c), x.length],
  draws: (x, o) => [...x.slice(0, -1), o.n],
  oneHot: (x, o, c) => o.n === undefined || o.n === -1 ? shapes.told(x, o, c) : [...x, o.n],
  masked: (x, o, c) => c.broadcast(x, shapeOf(o.mask)),
  topK: (x, o, c) => !x.length ? [] : put(x, c.axis(o.axis ?? -1, x), o.k),
  values: (x, o) => shapeOf(o.values),
  matmul: (x, o, c) => matmul(x, shapeOf(o.w), c),
  outer: (x, o) => [x[0], shapeOf(o.w)[0]],
  kron: (x, o) => {
    const y = shapeOf(o.w)
    return Array.from({ length: Math.max(x.length, y.length) }, (_, i, n = Math.max(x.length, y.length)) => (x[i + x.length - n] ?? 1) * (y[i + y.length - n] ?? 1))
  },
  linear: (x, o, c) => {
    const w = shapeOf(o.w)
    if (!x.length || !w.length || w.length > 2) c.fail('needs a weight of shape out, in and an input of at least one axis', x, w)
    if (x.at(-1) !== w.at(-1)) c.fail(`inner sizes ${x.at(-1)} and ${w.at(-1)} differ`, x, w)
    return [...x.slice(0, -1), ...w.slice(0, -1)]
  },
  tensorDot: (x, o, c) => {
    const w = shapeOf(o.w)
    const [a, b] = [list(o.axes).map((k) => c.axis(k, x)), list(o.others).map((k) => c.axis(k, w))]
    return [...x.filter((_, i) => !a.includes(i)), ...w.filter((_, i) => !b.includes(i))]
  },
  batch,
  least: (x) => [...batch(x), Math.min(...x.slice(-2))],
  solve: (x, o, c) => {
    const b = shapeOf(o.b)
    const vector = b.length === 1 || b.length === x.length - 1 && `${b}` === `${x.slice(0, -1)}`
    const full = vector ? [...b, 1] : b
    const out = [...c.broadcast(batch(x), batch(full)), x.at(-1), full.at(-1)]
    return vector ? out.slice(0, -1) : out
  },
  solved: (x, o, c) => {
    const b = shapeOf(o.b)
    return b.length === 1 ? [...batch(x), ...b] : [...c.broadcast(batch(x), batch(b)), ...b.slice(-2)]
  },
  lstsq: (x, o) => [...batch(x), x.at(-1), ...shapeOf(o.b).slice(x.length - 1)],
  tensorSolve: (x, o) => x.slice(shapeOf(o.b).length),
  tensorInv: (x, o) => [...x.slice(o.rows), ...x.slice(0, o.rows)],
  rowsSquare: (x) => [...x.slice(0, -1), x.at(-2)],
  q: (x, o) => [...x.slice(0, -1), o.complete ? x.at(-2) : Math.min(...x.slice(-2))],
  r: (x, o) => [...batch(x), o.complete ? x.at(-2) : Math.min(...x.slice(-2)), x.at(-1)],
  left: (x, o) => [...x.slice(0, -1), o.full ? x.at(-2) : Math.min(...x.slice(-2))],
  right: (x, o) => [...batch(x), o.full ? x.at(-1) : Math.min(...x.slice(-2)), x.at(-1)],
  row: (x) => x.slice(0, -1),
  turned: (x) => [...batch(x), x.at(-1), x.at(-2)],
  matrixNorm: (x, o, c) => c.fold(x, [o.row ?? -2, o.column ?? -1]),
  cdist: (x, o, c) => {
    const y = shapeOf(o.y)
    return c.broadcast([...x.slice(0, -1), 1], [...batch(y), 1, y.at(-2)])
  },
  pdist: (x) => [x[0] * Math.max(x[0] - 1, 0) / 2],
  bilinear: (x, o, c) => {
    const w = shapeOf(o.w)
    return [...c.broadcast(x.slice(0, -1), shapeOf(o.y).slice(0, -1)), w[0]]
  },
  combinations: (x, o) => [chosen(x[0] + (o.repeat && x[0] ? (o.r ?? 2) - 1 : 0), o.r ?? 2), o.r ?? 2],
  unravelled: (x, o) => o.shape.map(() => x),
  pairs: (x, o, c) => elementwise(x, o, c).slice(0, -1),
  cosine: (x, o, c) => c.fold(elementwise(x, o, c), o.axis ?? -1),
  fft: (x, o, c) => transformed(x, o, false, false, c),
  rfft: (x, o, c) => transformed(x, o, true, false, c),
  irfft: (x, o, c) => transformed(x, o, false, true, c),
  stft: (x, o) => [...x.slice(0, -1), o.twoSided ? o.n : Math.floor(o.n / 2) + 1, Math.floor((x.at(-1) + margin(o) - o.n) / hop(o)) + 1, 2],
  istft: (x, o) => [...x.slice(0, -3), o.length || o.n + hop(o) * (x.at(-2) - 1) - margin(o)],
  conv,
  spread: (x, o, c) => conv(x, o, c, true),
  pool,
  plane: (x, o, c) => pool(x, o, c, o.axes || 2),
  columns: (x, o) => {
    const n = o.axes || x.length - 2
    const k = each(o.size, n)
    const outs = places(x.slice(x.length - n), k, { ...o, ceil: false })
    const lead = x.slice(0, x.length - n)
    return [...lead.slice(0, -1), lead.at(-1) * product(k), product(outs)]
  },
  fold2: (x, o) => {
    const sizes = list(o.sizes)
    return [...batch(x), x.at(-2) / product(each(o.size, sizes.length)), ...sizes]
  },
  unpool: (x, o) => {
    const n = o.axes || (list(o.size).length === 1 ? x.length - 2 : o.size.length)
    const [size, s] = [each(o.size, n), x.slice(x.length - n)]
    const stride = each(o.stride, n, size)
    const padding = list(o.padding).length === 2 * n ? o.padding : each(o.padding, n, 0)
    return [...x.slice(0, x.length - n), ...o.sizes ? list(o.sizes) : s.map((k, i) => (k - 1) * stride[i] + size[i] - padding[i] - padding[padding.length - n + i])]
  },
  sized: (x, o) => [...x.slice(0, x.length - list(o.sizes).length), ...list(o.sizes)],
  rowsOf: (x, o) => [...shapeOf(o.ids), x[1]],
  bags: (x, o) => [shapeOf(o.offsets ?? o.ids)[0], x[1]],
  grid: (x, o) => [x[0], x[1], ...shapeOf(o.grid).slice(1, -1)],
  loss,
  classes: (x, o, c) => reduced(o, put(x, o.classAxis ? c.axis(o.classAxis, x) : Math.min(1, x.length - 1))),
  rows,
  triplet: (x, o, c) => reduced(o, elementwise(x, o, c).slice(0, -1)),
  gaussian: (x, o, c) => reduced(o, c.broadcast(x, shapeOf(o.target))),
  ctc: (x, o) => reduced(o, x.length === 2 ? [] : [x[1]]),
  bytes: (x, o, c) => [...x.slice(0, -1), { sha3_224: 28, sha3_384: 48, sha3_512: 64, shake128: 16, shake256: 32 }[o.kind] ?? 32],
  bitcast: (x, o, c) => {
    const [from, to] = [c.self.form.dtype, o.dtype].map(bits)
    return from === to ? x : [...x.slice(0, -1), x.at(-1) * from / to]
  },
  doubled: (x) => [...x.slice(0, -1), x.at(-1) * 2],
  halved: (x) => [...x.slice(0, -1), x.at(-1) / 2],
  eye: (x, o) => [o.n, o.m ?? o.n],
  arange: (x, o) => [o.stop?.terms ? value(o.stop) : Math.max(0, Math.ceil((o.stop - o.start) / o.step))],
  half1: (x, o) => [Math.floor(o.n / 2) + 1],
  triangle: (x, { rows, columns, diagonal = 0, lower = true }) => {
    let n = 0
    for (let r = 0; r < rows; r++) n += Math.min(Math.max(lower ? r + diagonal + 1 : columns - r - diagonal, 0), columns)
    return [2, n]
  },
  affine: (x, o) => [o.sizes[0], ...o.sizes.slice(2), o.sizes.length - 2],
  complex: (x, o) => [...shapeOf(o.re), 2],
  cat: (x, o, c) => joined(o.tensors.map(shapeOf), o.axis ?? 0, c),
  stack: (x, o, c) => {
    const all = o.tensors.map(shapeOf)
    if (all.some((s) => `${s}` !== `${all[0]}`)) c.fail('the shapes differ', ...all)
    return all[0].toSpliced(c.axis(o.axis ?? 0, [...all[0], 1]), 0, all.length)
  },
  hstack: (x, o, c) => {
    const all = high(o.tensors.map(shapeOf), 1)
    return joined(all, all[0].length > 1 ? 1 : 0, c)
  },
  vstack: (x, o, c) => joined(high(o.tensors.map(shapeOf), 2), 0, c),
  dstack: (x, o, c) => joined(high(o.tensors.map(shapeOf), 3), 2, c),
  blocks: (x, o) => high(o.tensors.map(shapeOf), 2).reduce(([n, m], [a, b]) => [n + a, m + b], [0, 0]),
  cartesian: (x, o) => {
    const n = product(o.tensors.map((t) => shapeOf(t)[0]))
    return o.tensors.length === 1 ? [n] : [n, o.tensors.length]
  },
  merged: (x, o, c) => c.broadcast(...sizes(o.values)),
  broadcast: (x, o, c) => {
    const s = c.broadcast(...o.tensors.map(shapeOf))
    return o.tensors.map(() => s)
  },
  mesh: (x, o, c) => {
    const s = o.tensors.map((t) => product(shapeOf(t)))
    const out = c.name === 'meshgridXY' && s.length > 1 ? [s[1], s[0], ...s.slice(2)] : s
    return o.tensors.map(() => out)
  },
  einsum,
  attention: (x, o, c) => matmul(shares(o, c), heads(o, shapeOf(o.v)), c),
  attentionWeights: (x, o, c) => shares(o, c),
  recurrent: (x, o) => {
    const s = shapeOf(o.x)
    const { kind = 'lstm', layers = 1, bothWays, batchFirst, biases = true } = o
    const [ways, each] = [bothWays ? 2 : 1, o.weights.length / layers / (bothWays ? 2 : 1)]
    const n = shapeOf(o.weights[1])[1]
    const cell = each > (biases ? 4 : 2) ? shapeOf(o.weights[1])[0] / { lstm: 4, gru: 3, tanh: 1, relu: 1 }[kind] : n
    const middle = s.length > 2 ? [s.at(batchFirst ? 0 : 1)] : []
    const last = (size) => [layers * ways, ...middle, size]
    return [[...s.slice(0, -1), n * ways], last(n), ...kind === 'lstm' ? [last(cell)] : []]
  },
  grad: (x, o) => o.ws.map(shapeOf),
}

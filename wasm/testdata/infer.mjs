// Random calls of every method of the table, each printed with the request that the engine gets and what the page knows of its results.
//
//	node infer.mjs SEED TRIES

import { methods } from './methods.js'
import { Weft } from './weft.js'
import { Writer } from './wire.js'

const [seed, tries] = process.argv.slice(2).map(Number)
let state = seed >>> 0
const random = () => {
  state = state + 0x6d2b79f5 >>> 0
  let t = Math.imul(state ^ state >>> 15, state | 1)
  t ^= t + Math.imul(t ^ t >>> 7, t | 61)
  return (t ^ t >>> 14) >>> 0
}
const below = (n) => random() % n
const between = (lo, hi) => lo + below(hi - lo + 1)
const one = (...list) => list[below(list.length)]
const odds = (n) => below(n) === 0

const types = ['bool', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64', 'f8e4m3', 'f8e5m2', 'f16', 'bf16', 'f32', 'f32', 'f32', 'f64']
const floats = types.filter((d) => /f/.test(d))
const ints = types.filter((d) => /^[iu]/.test(d))

const print = (line) => process.stdout.write(line + '\n')

const w = new Weft({ postMessage() {}, terminate() {} }, 'nowhere')
const record = w.record
let number = 0
let seen = 0 // of what was recorded
const bytesOf = (request) => {
  const writer = new Writer()
  writer.write(request)
  return Buffer.concat(writer.finish().map((p) => Buffer.from(p))).toString('base64')
}
const said = (v) => v?.form ? `${JSON.stringify(v.form.shape)}${v.form.dtype}` : Array.isArray(v) ? `[${v.map(said)}]` : v && typeof v === 'object' ? v.terms ? `${v}` : `{${Object.entries(v).map(([k, x]) => `${k}: ${said(x)}`)}}` : `${v}`

w.record = function (name, count, args, outs) {
  seen++
  const told = { number: ++number, name, text: `${name}(${args.map(said).join(', ')})` }
  let made = []
  try {
    made = record.call(this, name, count, args, outs)
    told.outs = made.map((t) => t.ref)
    told.forms = made.map((t) => Array.isArray(t.form.shape) ? t.form : { dtype: t.form.dtype, why: t.form.shape })
    return made
  } catch (e) {
    told.error = e.message
    told.outs = Array.from({ length: count }, () => w.number())
    throw e
  } finally {
    print(JSON.stringify({ ...told, batch: bytesOf([told.number, name, told.outs.map((ref) => ({ ref })), ...args]) }))
  }
}

const shapes = [[], [1], [2], [3], [4], [0], [6], [1, 1], [2, 3], [3, 2], [3, 3], [2, 2], [1, 3], [4, 4], [0, 2], [2, 3, 2], [3, 2, 4], [2, 2, 2], [1, 4, 3], [2, 4, 4], [2, 3, 4, 4], [1, 2, 5, 3], [2, 4, 3, 3], [2, 1, 3, 1, 2]]
const leaf = (shape, dtype) => w.full(shape, 1, { dtype })
const pool = [...shapes.flatMap((s) => [leaf(s, one(...types)), leaf(s, one(...floats)), leaf(s, one(...ints)), leaf(s, 'bool')])]
const known = (t) => Array.isArray(t.form.shape)
const where = (f) => one(...pool.filter((t) => known(t) && f(t)))
const shaped = (shape, ...kinds) => leaf(shape, one(...kinds.length ? kinds : types))
const rank = (lo, hi = 9, kinds = types) => where((t) => t.shape.length >= lo && t.shape.length <= hi && kinds.includes(t.dtype))
const near = (x) => {
  if (!x || !known(x) || odds(6)) return one(...pool)
  if (odds(2)) return where((t) => `${t.shape}` === `${x.shape}`)
  return shaped(x.shape.map((n) => odds(3) ? 1 : n).slice(odds(4) ? 1 : 0))
}
const scalar = () => one(0, 1, 2, -3, 0.5, true, false, 2 ** 40, Infinity, -0)
const put = (s, a, n) => s.map((v, i) => i === (a < 0 ? a + s.length : a) ? n : v)
const axis = (x) => x && known(x) && x.shape.length ? between(-x.shape.length, x.shape.length - (odds(20) ? 0 : 1)) : between(-1, 0)
const divide = (n, most = 3) => {
  const out = []
  for (const k of [2, 3, 2]) if (n && n % k === 0 && odds(2) && out.length < most) (out.push(k), n /= k)
  return [...out, n]
}

const square = (kinds = floats) => where((t) => t.shape.length >= 2 && t.shape.at(-1) === t.shape.at(-2) && kinds.includes(t.dtype))
const batched = (x, ...last) => shaped([...odds(3) ? [] : x.shape.slice(0, -2).map((n) => odds(3) ? 1 : n), ...last], x.dtype)
const options = (o) => Object.fromEntries(Object.entries(o).filter(() => odds(2)))
const window = (x, n) => options({ stride: one(1, 2, Array(n).fill(2)), padding: one(0, 1, Array(n).fill(1)), dilation: one(1, 1, 2), ceil: odds(2), excludePadding: odds(2), same: odds(3) })
const windows = (x) => {
  const n = between(1, Math.max(1, Math.min(3, x.shape.length)))
  const size = n === 1 || odds(2) ? between(1, 3) : Array.from({ length: n }, () => between(1, 3))
  return [size, { ...window(x, n), ...Array.isArray(size) ? {} : { axes: n } }]
}
const loss = (x, o = {}) => options({ reduction: one('mean', 'sum', 'none', 'batchMean'), ...o })
const same = (x, kinds) => shaped(x.shape, one(x.dtype, ...kinds ?? types))
const convolution = (turned) => {
  const x = rank(3, 4, floats)
  const [n, c, ...s] = x.shape
  const groups = odds(3) && c % 2 === 0 ? 2 : 1
  const out = groups * between(1, 3)
  const k = s.map(() => between(1, 3))
  const weight = shaped(turned ? [c, out / groups, ...k] : [out, c / groups, ...k], x.dtype, 'f32')
  const o = turned ? options({ stride: 2, padding: one(0, 1), outputPadding: one(0, 1), dilation: one(1, 2) })
    : options({ stride: one(1, 2), padding: one(0, 1, s.map(() => 1), [...s, ...s].map(() => below(2))), dilation: one(1, 2), same: odds(3) })
  return [odds(4) && n === 1 ? x.select(0, 0) : x, weight, odds(2) ? null : shaped([out], x.dtype), { ...o, ...groups > 1 ? { groups } : {} }]
}
const classes = () => {
  const x = rank(1, 4, floats)
  const last = odds(3)
  const a = last ? x.shape.length - 1 : Math.min(1, x.shape.length - 1)
  return [x, odds(4) ? same(x, ['f32']) : shaped(x.shape.toSpliced(a, 1), 'i32', 'u8', 'i64'), loss(x, { smoothing: 0.1, ...last ? {} : { classAxis: 0 } }), last]
}
const transform = (complex, x = rank(1, 3, floats)) => complex ? shaped([...x.shape.map((n) => n || 1), 2], x.dtype) : x

// What is not told by the kinds of parameters alone: the tensor and the arguments.
const special = {
  reshape: (x) => [x, one(divide(x.shape.reduce((a, b) => a * b, 1)), [...divide(x.shape.reduce((a, b) => a * b, 1)).slice(0, -1), -1], [3, 2])],
  expand: (x) => [x, [...odds(3) ? [2] : [], ...x.shape.map((n) => n === 1 ? between(1, 3) : one(n, -1))]],
  shrinkTo: (x) => [x, x.shape.map((n) => one(-1, n, Math.max(n - 1, 0)))],
  padTo: (x) => [x, x.shape.map((n) => one(-1, n, n + 2))],
  expandAs: (x) => [x, shaped([...odds(2) ? [2] : [], ...x.shape.map((n) => n === 1 ? between(1, 3) : n)])],
  permute: (x) => [x, x.shape.map((_, i) => i).sort(() => between(-1, 1)).map((a) => odds(3) ? a - x.shape.length : a)],
  unflatten: (x) => { const a = axis(x); return [x, a, one(divide(x.shape.at(a) ?? 1), [-1, 1], [-1])] },
  shrink: (x) => { const low = x.shape.map((n) => below(n + 1)); return [x, low, x.shape.map((n, i) => between(low[i], n))] },
  narrow: (x) => { const a = axis(x); const n = x.shape.at(a) ?? 1; const from = below(n + 1); return [x, a, one(from, -1), between(0, Math.max(n - from, 0))] },
  pad: (x) => { const n = between(0, x.shape.length); return [x, Array.from({ length: n }, () => between(-1, 2)), Array.from({ length: n }, () => between(0, 2)), ...odds(3) ? [{ mode: one('reflect', 'replicate', 'circular') }] : []] },
  roll: (x) => odds(2) ? [x, 1] : [x, [1], [axis(x)]],
  rot90: (x) => [rank(2), options({ k: between(-2, 5), first: 1, second: 0 })],
  repeat: (x) => [x, [...odds(3) ? [2] : [], ...x.shape.map(() => below(3))]],
  rearrange: () => { const x = shaped([4, 6, 2]); return [x, ...one(['a b c -> c (a b)'], ['(a two) b c -> a two c b', { sizes: { two: 2 } }], ['... c -> c ...'], ['a (b 3) c -> (a b) 3 c'], ['a ... -> (...) a'], ['a b c -> a b c 1'])] },
  einRepeat: () => [shaped([2, 3]), ...one(['h w -> h w c', { sizes: { c: 4 } }], ['h w -> (h 2) (w 3)'], ['... -> ... 2'])],
  einReduce: () => [shaped([2, 4, 6]), ...one(['c (h 2) (w 2) -> c h w', one('max', 'sum', 'mean', 'any', 'logSumExp', 'prod')], ['a b c -> b', one('all', 'min', 'sum')], ['a ... -> ...'], ['a b c ->', 'mean'])],
  repeatEach: () => [shaped([3, 2]), shaped([3], 'i32'), 0],
  tril: () => [rank(2), between(-3, 3)], triu: () => [rank(2), between(-3, 3)],
  diagonal: () => { const x = rank(2); const a = axis(x); return [x, between(-2, 2), ...odds(2) ? [a, axis(x)] : []] },
  diag: () => [rank(1, 2)], trace: () => [rank(2, 2)], t: () => [rank(2)],
  diagMatrix: (x) => [rank(1), options({ offset: between(-2, 2), first: one(0, -2), second: one(1, -1) })],
  split: (x) => { const a = axis(x); const n = x.shape.at(a) ?? 1; const k = below(n + 1); return [x, a, odds(9) ? [1, 1] : [k, n - k]] },
  splitAt: (x) => [x, axis(x), [between(-2, 2), between(0, 4)]],
  chunk: (x) => [x, axis(x), between(1, 3)], splitEvenly: (x) => [x, axis(x), between(1, 3)], splitEvery: (x) => [x, axis(x), between(1, 3)],
  unfold: (x) => { const a = axis(x); return [x, a, between(0, x.shape.at(a) ?? 1), between(1, 3)] },
  pixelShuffle: () => [shaped([...odds(2) ? [3] : [], 4, 2, 3]), one(1, 2)], pixelUnshuffle: () => [shaped([...odds(2) ? [3] : [], 3, 2, 4]), one(1, 2)],
  channelShuffle: () => [shaped([1, 4, 2]), 2], vander: () => [rank(1, 1), below(4), odds(2)], combinations: () => [rank(1, 1), between(1, 3), { repeat: odds(2) }], unravelIndex: () => [rank(0, 2, ints), one([2, 3], [4])],
  at: (x) => [x, ...index(x)], withAt: (x) => [x, scalar(), ...index(x)],
  gather: (x) => [x, axis(x), shaped(x.shape.map((n) => between(0, n)), ...ints)], takeAlong: (x) => [x, axis(x), shaped(x.shape.map((n) => one(1, n)), ...ints)],
  indexSelect: (x) => [x, axis(x), rank(0, 1, ints)], take: (x) => [x, rank(0, 3, ints)],
  scatter: (x) => { const s = x.shape.map((n) => between(0, n)); return [x, axis(x), shaped(s, ...ints), odds(2) ? 1 : shaped(s, x.dtype)] },
  scatterAdd: (x) => special.scatter(x), scatterReduce: (x) => special.scatter(x),
  indexReduce: (x) => { const a = axis(x); return [x, a, shaped([2], ...ints), shaped(x.shape.length ? put(x.shape, a, 2) : [2], x.dtype)] },
  indexCopy: (x) => special.indexReduce(x), indexAdd: (x) => special.indexReduce(x), indexFill: (x) => [x, axis(x), rank(0, 1, ints), scalar()],
  indexPut: () => [shaped([3, 2]), [shaped([2], ...ints)], shaped([2, 2])],
  maskedFill: (x) => [x, where((t) => t.dtype === 'bool' && (odds(4) || `${t.shape}` === `${x.shape}`)), scalar()],
  maskedScatter: (x) => [x, shaped(x.shape, 'bool'), shaped([between(1, 8)], x.dtype)],
  maskedSelect: (x) => [x, shaped(x.shape, 'bool'), ...odds(2) ? [{ size: below(4) }] : []], where: (x) => [shaped(x.shape, 'bool'), odds(3) ? scalar() : near(x), odds(3) ? scalar() : near(x)],
  multinomial: () => [rank(1, 2, floats), between(1, 3), { replace: odds(2) }], oneHot: () => [rank(0, 3, ints), ...odds(3) ? [] : [between(0, 4)]],
  binCount: () => [rank(1, 1, ints), ...odds(2) ? [] : [{ least: 3 }]], repeatInterleave: (x) => [x, below(4), axis(x)],
  histogram: (x) => [x, shaped([3], x.dtype, 'f32'), ...odds(2) ? [] : [shaped(x.shape, x.dtype)]], histogramEdges: () => [rank(0, 3, floats), between(1, 4)],
  searchSorted: (x) => odds(2) ? [rank(1, 1), x] : [x, shaped([...x.shape.slice(0, -1), 2])],
  topK: (x) => { const a = axis(x); return [x, between(0, x.shape.at(a) ?? 1), { axis: a }] },
  matmul: (x) => { const y = rank(1); return odds(4) ? [y, shaped([y.shape.at(-1)])] : [y, batched(y, y.shape.at(-1) + (odds(9) ? 1 : 0), 2)] }, dot: (x) => special.matmul(x),
  outer: () => [rank(1, 1), rank(1, 1)], linear: () => { const x = rank(1); return [x, shaped([...odds(4) ? [] : [3], x.shape.at(-1)]), ...odds(2) ? [] : [shaped([1])]] },
  tensorDot: () => { const x = rank(1); const a = below(x.shape.length); return [x, shaped([2, x.shape[a]]), a, 1] },
  cross: () => { const x = where((t) => t.shape.at(-1) === 3); return [x, near(x)] },
  inv: () => [square()], det: () => [square()], logDet: () => [square()], slogDet: () => [square()], cholesky: () => [square()], matrixExp: () => [square()], eigh: () => [square()], eigvalsh: () => [square()], cond: () => [square(), one(...methods.Words.matrixNorm)],
  matrixPower: () => [square(), between(-2, 3)], solve: () => { const x = square(); return [x, odds(3) ? shaped(x.shape.slice(0, -1), x.dtype) : batched(x, x.shape.at(-1), 2)] },
  choleskySolve: () => { const x = square(); return [x, batched(x, x.shape.at(-1), 2)] }, solveTriangular: () => special.choleskySolve(),
  qr: () => [rank(2, 3, floats), { complete: odds(2) }], svd: () => [rank(2, 3, floats), { full: odds(2) }], singularValues: () => [rank(2, 3, floats)], pinv: () => [rank(2, 3, floats)], matrixRank: () => [rank(2, 3, floats)],
  lu: () => [rank(2, 3, floats)], lstsq: () => { const x = rank(2, 3, floats); return [x, shaped([...x.shape.slice(0, -1), ...odds(2) ? [] : [2]], x.dtype)] }, pdist: () => [rank(2, 2)],
  tensorSolve: () => { const d = one(...floats); return [shaped([2, 3, 6], d), shaped([2, 3], d)] }, tensorInv: () => [shaped([2, 3, 6], ...floats), one(1, 2)], renorm: (x) => [rank(1), one(1, 2, Infinity), 0, 2],
  bilinear: () => { const d = one(...floats); const lead = one([], [2], [3, 2]); return [shaped([...lead, 3], d), shaped([...lead, 4], d), shaped([2, 3, 4], d), ...odds(2) ? [] : [shaped([2], d)]] },
  newtonSchulz: () => [rank(2, 3, floats), between(0, 2)], cdist: () => { const x = rank(2, 3); return [x, batched(x, 2, x.shape.at(-1))] },
  cov: () => { const x = rank(0, 2); return [x, ...odds(2) ? [] : [options({ counts: shaped([x.shape.at(-1) ?? 1], 'i32'), weights: shaped([x.shape.at(-1) ?? 1], ...floats) })]] }, corrCoef: () => [rank(0, 2)],
  matrixNorm: () => [rank(2, 4, odds(3) ? types : floats), options({ kind: one('frobenius', 'rowSum', 'spectral', 'nuclear'), row: 0, column: 1 })],
  quantile: () => { const x = rank(1, 3, floats); return [x, one(0.5, [0.25, 0.75], []), options({ axis: axis(x), keep: odds(2) })] },
  categorical: () => [rank(1, 3, floats)], glu: () => { const x = where((t) => t.shape.at(-1) % 2 === 0 && t.shape.length); return [x] },
  prelu: () => { const x = rank(2, 4); return [x, shaped([one(1, x.shape[1])])] },
  trapezoid: () => { const x = rank(1, 3); const a = axis(x); return [x, options({ axis: a, x: odds(2) ? shaped([x.shape.at(a) ?? 1]) : same(x) })] }, cumulativeTrapezoid: () => special.trapezoid(),
  conv2d: () => convolution(), convTranspose2d: () => convolution(true), maxUnpool: () => { const x = shaped([1, 2, 2, 3], ...floats); return [x, shaped(x.shape, 'i32'), 2, { axes: 2, ...options({ stride: one(1, 2), padding: 1, sizes: [4, 6] }) }] },
  lpPool: (x) => { const y = rank(1, 4); return [y, one(1, 2, 3), ...windows(y)] }, fold: () => { const k = one(1, 2); return [shaped([...odds(2) ? [2] : [], 3 * k * k, (5 - k) * (5 - k)]), [4, 4], k] },
  im2col: () => { const x = rank(3, 4); return [x, between(1, 2), window(x, x.shape.length - 2)] },
  adaptiveAvgPool: () => [rank(2, 4), [2, 3]], adaptiveMaxPool: () => [rank(2, 4), one([2], [2, 3])], resize: () => [rank(2, 4), one([2], [3, 3]), options({ mode: one('linear', 'nearest') })],
  layerNorm: () => { const x = rank(1, 4); return [x, null, null, null, ...odds(2) ? [] : [1e-5, { axes: [axis(x)] }]] },
  batchNorm: () => { const x = rank(2, 4); const v = () => shaped([x.shape[1]], 'f32', 'f64', x.dtype); return [x, v(), v(), odds(2) ? v() : null, odds(2) ? v() : null] },
  groupNorm: () => { const x = rank(2, 4); return [x, one(1, x.shape[1])] }, instanceNorm: () => [rank(3, 4)], localResponseNorm: () => [rank(2, 4, floats), 2],
  embedding: () => [shaped([4, 3], ...floats), rank(0, 3, ints)], embeddingBag: () => odds(2) ? [shaped([4, 3], ...floats), shaped([2, 3], ...ints), options({ mode: one('sum', 'mean', 'max') })] : [shaped([4, 3], ...floats), shaped([5], 'i32'), { offsets: shaped([2], 'i32') }],
  gridSample: () => [shaped([2, 3, 4, 4], ...floats), shaped([2, 3, 5, 2], 'f32'), options({ mode: 'nearest' })],
  crossEntropy: () => { const [x, y, o, last] = classes(); return [x, y, last ? { ...o, classAxis: -1 } : o] }, nll: () => special.crossEntropy(),
  multiLabelMargin: () => { const x = rank(1, 2, floats); return [x, shaped(x.shape, 'i32', 'i64'), loss(x)] },
  multiMargin: () => { const x = rank(1, 2); return [x, shaped(x.shape.slice(0, -1), 'i32'), loss(x)] }, cosineEmbedding: () => { const x = rank(1, 3); return [x, same(x), shaped(x.shape.slice(0, -1)), loss(x)] },
  tripletMargin: () => { const x = rank(1, 3); return [x, same(x), same(x), loss(x, { swap: true })] }, gaussianNll: () => { const x = rank(1, 3); return [x, same(x), shaped(one(x.shape, x.shape.slice(0, -1), put(x.shape, -1, 1))), loss(x)] },
  ctc: () => odds(2) ? [shaped([4, 2, 3], ...floats), shaped([2, 2], 'i32'), shaped([2], 'i32'), shaped([2], 'i32'), loss()] : [shaped([4, 3], ...floats), shaped([2], 'i32'), shaped([], 'i32'), shaped([], 'i32'), loss()],
  grad: () => { const x = rank(1, 3, ['f32', 'f16', 'f64']); const y = x.mul(2); return [y.sum(), [x, y]] },
  unpack4: () => [shaped([2, 3], 'u8'), one('u8', 'i8', 'f32')], pack4: () => [shaped([2, 4], ...ints)], threefry: () => [shaped([3], 'u64'), shaped([3], 'u64')], bitcast: () => [rank(1, 3), one(...types)], keccak: (x) => [x, one(...methods.Words.keccak)],
  isIn: (x) => [x, rank(1, 1)], neg: (x) => [x], takeAlongAxis: (x) => [x],
  einsum: () => one(['ij,jk->ik', shaped([2, 3]), shaped([3, 4])], ['ii->i', shaped([3, 3])], ['bij,bjk', shaped([2, 3, 2]), shaped([2, 2, 1])], ['...i,i->...', shaped([2, 3, 4]), shaped([4])], ['ij->', shaped([2, 3])], ['i,j->ji', shaped([2]), shaped([3])], ['...ij->...ji', shaped([2, 3, 4])]),
  attention: () => { const d = one(...floats); const q = shaped([...odds(2) ? [2] : [], ...odds(2) ? [4] : [], 3, 2], d); const lead = q.shape.slice(0, -2); const grouped = lead.length > 0 && lead.at(-1) % 2 === 0 && odds(2); const kv = grouped ? put(lead, -1, lead.at(-1) / 2) : lead; return [q, shaped([...kv, 5, 2], d), shaped([...kv, 5, 4], d), { grouped, ...options({ causal: true, ...grouped ? {} : { mask: shaped([3, 5], 'bool', 'f32') } }) }] },
  recurrent: () => {
    const kind = one('lstm', 'gru', 'tanh', 'relu'); const gates = { lstm: 4, gru: 3, tanh: 1, relu: 1 }[kind]; const [layers, bothWays, biases] = [between(1, 2), odds(2), odds(2)]
    const projection = kind === 'lstm' && odds(2); const n = projection ? 2 : 3
    const weights = []
    for (let l = 0; l < layers; l++) for (let d = 0; d < (bothWays ? 2 : 1); d++) weights.push(shaped([gates * 3, l ? n * (bothWays ? 2 : 1) : 4], 'f32'), shaped([gates * 3, n], 'f32'), ...biases ? [shaped([gates * 3], 'f32'), shaped([gates * 3], 'f32')] : [], ...projection ? [shaped([2, 3], 'f32')] : [])
    return [shaped(odds(3) ? [5, 4] : [5, 2, 4], 'f32'), weights, { kind, layers, bothWays, biases, batchFirst: odds(2) }]
  },
  cat: (x) => { const a = axis(x); return [[x, shaped(x.shape.length ? put(x.shape, a, between(0, 3)) : [1]), ...odds(3) ? [shaped([0])] : []], a] }, stack: (x) => [[x, same(x)], axis(x)], hstack: (x) => [[x, same(x)]], vstack: (x) => [[x, same(x)]], dstack: (x) => [[x, same(x)]],
  blockDiag: () => [[rank(0, 2), rank(0, 2)]], cartesianProduct: () => [Array.from({ length: between(1, 3) }, () => shaped([between(0, 3)], 'f32'))], meshgrid: () => [[rank(0, 1), rank(0, 1), rank(1, 1)]], meshgridXY: () => [[rank(0, 1), rank(0, 1)]],
  broadcast: (x) => [[x, near(x)]], uSum: (x) => [[scalar(), x, near(x)]], uProd: (x) => [[x, scalar()]], complex: (x) => [x, same(x)],
  arange: () => one([between(0, 6)], [1, 5], [0, 2, 0.5], [5, 1, -2], [0, 1, 0.1], [3, 1]), eye: () => [below(4), ...odds(2) ? [] : [below(4)]],
  affineGrid: () => odds(2) ? [shaped([2, 2, 3], ...floats), [2, 1, 3, 4]] : [shaped([1, 3, 4], 'f32'), [1, 1, 2, 3, 2]], randint: () => [[2, 3], -2, 9, ...odds(2) ? [] : [{ dtype: one('u8', 'i64') }]], tensor: () => [one(5, [1, 2], [[true], [false]], new Int16Array(4)), ...odds(2) ? [] : [{ dtype: one(...types) }]],
  on: (x) => [x, 'interp'], shard: (x) => [x, ['interp'], one(null, 0)], shardLike: (x) => [x, w.tensor([1, 2])],
  scalar: () => [scalar()], linspace: () => [0, 1, below(5)], randPerm: () => [below(5)],
}
for (const n of ['rfft', 'ihfft']) special[n] = () => { const x = transform(false); return [x, options({ n: between(1, 5), axis: axis(x) })] }
for (const n of ['fft', 'ifft', 'irfft', 'hfft']) special[n] = () => { const x = transform(true); return [x, options({ n: between(1, 5), axis: below(x.shape.length - 1) })] }
for (const n of ['fftn', 'ifftn', 'irfftn']) special[n] = () => { const x = transform(true); return [x, options({ sizes: [between(1, 4)], axes: [below(x.shape.length - 1)] })] }
special.istft = () => { const n = between(4, 7); return [shaped([...odds(2) ? [2] : [], (n >> 1) + 1, between(2, 4), 2], ...floats), n, options({ hop: between(1, n), uncentred: true, normalized: true, length: between(1, 9) })] }
special.rfftn = () => { const x = transform(false); return [x, options({ sizes: [between(1, 4)], axes: [axis(x)] })] }
for (const n of ['mse', 'l1', 'bce', 'bceWithLogits', 'softMargin', 'multiLabelSoftMargin', 'huber', 'smoothL1', 'klDiv', 'poissonNll', 'hingeEmbedding']) special[n] = (x) => [x, odds(4) ? near(x) : same(x), ...n === 'huber' ? [1] : [], loss(x, { weight: shaped(x.shape) })]
special.marginRanking = (x) => [x, same(x), same(x), loss(x)]
for (const n of ['maxPool', 'avgPool', 'sumPool', 'maxPoolIndex', 'maxPool2d', 'avgPool2d']) special[n] = () => { const x = rank(1, 4); return [x, ...windows(x)] }

function index(x) {
  const out = []
  for (const n of x.shape) {
    switch (below(9)) {
      case 0: out.push(null); break
      case 1: out.push([below(n + 1), null]); break
      case 2: out.push([null, null, one(-1, 2, -2)]); break
      case 3: out.push([between(-4, 4), between(-4, 4), one(1, 2, -1)]); break
      case 4: return [...out, '...']
      case 5: out.push('new', null); break
      case 6: out.push(rank(0, 2, ints)); break
      default: out.push(between(-n, n))
    }
  }
  return out
}

function argument(p, x) {
  const words = methods.Words[p.kind]
  if (words) return one(...words)
  const set = methods.Options[p.kind]
  if (set) return set.params[0].kind.startsWith('int') && odds(2) ? axis(x) : options(Object.fromEntries(set.params.map((q) => [q.name, q.name === 'axis' ? axis(x) : argument(q, x)])))
  switch (p.kind) {
    case 'tensor': return near(x)
    case 'operand': return odds(3) ? scalar() : near(x)
    case 'scalar': return scalar()
    case 'int': case 'size': case 'position': return /axis|from|to|^[ab]$|first|second/.test(p.name) ? axis(x) : between(Math.max(p.low, p.kind === 'size' ? 0 : -2), Math.min(p.high, 4))
    case 'number': return Math.max(p.low, Math.min(p.high, one(0, 0.5, 1, 2)))
    case 'real': return one(0, 1, 2, 3, Infinity)
    case 'flag': return odds(2)
    case 'dtype': return one(...types)
    case 'ints': case 'list': return odds(2) || p.kind === 'list' ? [axis(x)] : axis(x)
    case 'sizes': return one([2, 3], [], [4])
    case 'tensors': return [near(x), near(x)]
  }
  throw new Error(`infer.mjs: ${p.name}:${p.kind} needs a case of its own`)
}

function call(kind, row) {
  const x = one(...pool)
  let args
  if (special[row.name]) args = special[row.name](known(x) ? x : pool[0])
  else {
    const params = row.params.filter((p) => !p.named)
    const last = params.findIndex((p) => p.free && odds(2))
    args = [...kind === 'Tensor' ? [x] : [], ...params.slice(0, last < 0 ? undefined : last).map((p) => argument(p, x))]
    const named = row.params.filter((p) => p.named)
    if (named.length && last < 0 && odds(2)) args.push(options(Object.fromEntries(named.flatMap((p) => p.set ? methods.Options[p.kind].params : [p]).map((q) => [q.name, argument(q, x)]))))
  }
  const from = row.params.findIndex((p) => p.free && !p.named && !methods.Options[p.kind]) // what may be given by name
  const first = kind === 'Tensor' ? 1 : 0
  if (from >= 0 && odds(3) && args.length > first + from && row.params.every((p) => p.kind !== 'made' && !p.rest)) {
    const rest = args.splice(first + from)
    const more = rest.length && Object.getPrototypeOf(rest.at(-1) ?? 0) === Object.prototype ? rest.pop() : {}
    args.push({ ...Object.fromEntries(rest.map((v, i) => [row.params[from + i].name, v])), ...more })
  }
  if (kind === 'Tensor') args[0][row.name](...args.slice(1))
  else w[row.name](...args)
}

// What a page knows only after the engine read elements.
pool.push(leaf([3, 2], 'f32').nonZero(), leaf([4], 'i32').unique()[0])

for (const kind of ['Tensor', 'Weft']) {
  for (const row of Object.values(methods[kind])) {
    if (!/[123n]/.test(row.gives)) continue
    if (process.stdout.writableNeedDrain) await new Promise((f) => process.stdout.once('drain', f))
    for (let i = 0; i < tries; i++) {
      const before = seen
      try {
        call(kind, row)
      } catch (e) {
        if (!(e instanceof RangeError || e instanceof TypeError || /shape of this tensor/.test(e.message)) || !/^\w+: /.test(e.message)) throw new Error(`${row.name}: ${e.stack}`)
        if (seen === before && !/shape of this tensor/.test(e.message)) print(JSON.stringify({ refused: row.name, error: e.message }))
      }
    }
  }
}
await new Promise((f) => process.stdout.write('\n', f))
process.exit() // the engine's timers would go on

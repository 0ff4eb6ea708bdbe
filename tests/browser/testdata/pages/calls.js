// Calls that are wrong, for every method of the face in each way that its row of the table allows. report gives what did not
// go as it must, in words.
import { open } from './weft.js'
import { methods } from './methods.js'

const wrong = {
  number: ['one', null, [1], {}, () => 0, 1n, NaN, Infinity, true, Symbol('s')],
  real: ['one', null, [1], {}, () => 0, 1n, true],
  int: ['1', null, [1], 1.5, NaN, Infinity, 1n, 2 ** 40, true],
  size: ['1', null, [1], 1.5, NaN, -1, 2 ** 31], position: ['1', null, [1], {}, 1.5, NaN, 2 ** 31, true], stop: ['1', null, [1], () => 0, NaN, Infinity, true],
  place: ['one', null, [1], {}, 1n],
  list: [1, 'no', null, [1.5], ['1'], [NaN], [, 1], [1n], [[1]], new Int32Array([1]), {}, Promise.resolve([1])],
  flag: [1, 'true', null, {}],
  text: [1, null, {}, ['a']],
  dtype: ['f23', 'float32', 1, null, {}],
  function: [1, 'f', null, {}],
}
const kinds = {
  ...wrong,
  scalar: ['one', null, [1], {}, 1n],
  parts: [...wrong.list, [-1]], sizes: [...wrong.list, [-1], [2 ** 31], [2 ** 20, 2 ** 20]], lengths: [...wrong.list, [-2], [2 ** 20, 2 ** 20]],
  ints: ['no', null, 1.5, NaN, [1.5], ['0'], {}, 1n, new Int32Array([0])],
  Axes: ['no', null, 1.5, [0.5], { axes: 0 }, { axis: 'x' }, { keep: 1 }, { correction: 1 }, () => 0],
  Spread: ['no', null, 1.5, { axes: 0 }, { correction: '1' }],
  Axis: ['no', null, 1.5, [0], { axes: 0 }, { axis: [0] }, { keep: 1 }], Sums: ['no', null, 1.5, { axes: 0 }, { dtype: 'x' }, { keep: 1 }],
  fractions: ['no', null, -1, 2, [0.5, 2], ['0'], NaN, {}], reals: ['no', null, [NaN], ['0'], {}], image: [1, null, 'x'], model: [1, null, 'x', () => 0], file: [1, null, {}, [1]], functions: [1, null, 'x', [1], () => 0], files: [1, null, {}, [1], [null]],
  Made: ['f32', 1, { type: 'f32' }, { dtype: 'float32' }],
  Conv: [1, 'x', { strides: 1 }, { stride: 1.5 }, { groups: '1' }, { padding: [0.5] }],
  Pool: [1, { groups: 1 }, { stride: 'x' }],
  Loss: ['sum', { reduction: 'average' }, { weights: null }, { weight: 1 }, { smoothing: 'x' }],
  named: [1, 'x', null, [1], { a: 'x' }, { a: 1.5 }, { a: -1 }, { a: null }, { a: undefined }],
  url: [1, null, {}, 'http://'], signal: [1, {}],
  index: ['..', undefined, [], [0, 1, 1, 1], [0, 1, 0], 1.5, {}, 1n, NaN, ['0', 1], new Int32Array([0])],
  values: ['1', null, undefined, 1n, () => 0, ['1'], [[1, 2], [3]], [1, [2]], [[1], 2], [1, null], [, 1], [1n], [NaN, 'x'], new DataView(new ArrayBuffer(8)), { length: 1 }],
  made: ['x', 3, [1.5], { type: 'f32' }],
  texts: [1, null, {}, 'wasm', ['wasm:0', 1], [null], [['wasm:0']]], results: [1, null, 'x', {}, [1], [null], [{ size: [2] }], [{ shape: 'x' }], [{ shape: [2], dtype: 'x' }]],
}
// What a kind is that no test may leave out, and those that are another's.
const byTensor = (other, gone, t) => ({
  tensor: [1, NaN, null, 'x', [1], new Float32Array(1), true, 1n, () => 0, {}, { ref: 1 }, { w: t.w, ref: t.ref }, Promise.resolve(t), other, gone],
  operand: ['x', null, [1], new Float32Array(1), 1n, () => 0, {}, { ref: 1 }, Promise.resolve(t), other, gone],
  tensors: [t, null, 1, 'x', [1], [t, 1], [t, other], [gone], [, t], [[t]]],
  operands: [t, null, 1, 'x', ['x'], [t, 'x'], [t, other], [gone], [, t], [[t]], [null]],
  index: [...kinds.index, other, gone],
  input: [1, NaN, null, 'x', [1], new Float32Array(1), true, {}, { ref: 1 }, Promise.resolve(t), other, gone, t.w.variable('n', 1, 2), t.w.variable('n', 1, 2).bind(1).plus(1)],
})

/** Calls every method wrongly, on engines that are open. */
export async function report(device) {
  const w = await open({ device })
  const elsewhere = await open({ device: 'wasm' })
  const t = w.tensor([[1, 2], [3, 4]]), gone = w.ones([2]), other = elsewhere.tensor([[1, 1], [1, 1]])
  gone.dispose()
  const words = Object.fromEntries(Object.entries(methods.Words).map(([kind, [first]]) => [kind, ['no', 1, null, {}, [first], first.toUpperCase()]]))
  const bad = { ...kinds, ...words, ...byTensor(other, gone, t) }
  const right = {
    tensor: t, operand: 1, scalar: 1, real: 1, number: 0.5, int: 1, size: 2, position: 1, stop: 2, place: 1, input: t, list: [0, 0], parts: [1, 1], sizes: [2, 2], lengths: [2, 2], ints: 0, flag: true, text: 'ij->ji', texts: ['wasm:0'], results: [{ shape: [1] }],
    dtype: 'f32', tensors: [t], operands: [t, 1], named: { a: 1 }, index: 0, function: () => {}, values: [1], url: 'x.bin', made: undefined, fractions: 0.5, reals: 1, image: new ImageData(1, 1), file: new Blob([]), files: new Blob([]), model: [],
  }
  const captured = w.capture((x) => x.add(1))
  await captured.run(t)
  const on = { Tensor: t, Weft: w, Captured: captured }
  const problems = []
  let count = 0
  const shown = (v) => { try { return typeof v === 'bigint' ? `${v}n` : JSON.stringify(v, (k, x) => k === 'w' ? undefined : x) ?? String(v) } catch { return String(v) } }
  const expect = (place, name, f) => {
    count++
    let e
    try { f()?.catch?.(() => {}) } catch (err) { e = err }
    if (!e) return problems.push(`${place}: nothing was thrown`)
    if (!(e instanceof TypeError || e instanceof RangeError)) problems.push(`${place}: ${e}`)
    if (!e.message.startsWith(`${name}: `)) problems.push(`${place}: "${e.message}" does not begin with the method`)
    if (/undefined|object Object|\[native|Cannot read|is not a function|not iterable|weft: |tensor: tensor/.test(e.message)) problems.push(`${place}: "${e.message}"`)
    if (!/calls\.js/.test(e.stack)) problems.push(`${place}: the stack has not the caller`)
  }
  for (const kind in on) {
    for (const { name, params, gives } of Object.values(methods[kind])) {
      const call = (args) => on[kind][name](...args)
      const first = params.findIndex((p) => p.named) // of those that are given by name only
      const good = params.filter((p) => !p.rest && !p.named).map((p) => p.free ? undefined : right[p.kind])
      const rest = params.at(-1)?.rest
      if (!rest) expect(`${kind}.${name} with one more`, name, () => call([...good, ...first < 0 ? Array(params.length - good.length).fill(undefined) : [{}], { more: 1 }]))
      expect(`${kind}.${name} of nothing`, name, () => on[kind][name].call(undefined))
      params.forEach((p, i) => {
        const place = p.set ? `...${p.kind}` : p.name
        const given = (v) => p.set ? [...good, v] : p.named ? [...good, { [p.name]: v }] : [...good.slice(0, i), v]
        const byName = p.free && !p.named && !p.rest && /[123np]/.test(gives) && !methods.Options[p.kind] // an object may stand here
        const set = bad[p.kind] ?? (methods.Options[p.kind] ? [1, 'x', null, { nosuch: 1 }, t] : undefined)
        if (!set && p.kind !== 'any') problems.push(`${kind}.${name}: nothing is known to be wrong for ${p.kind}`)
        for (const v of set ?? []) {
          if (v === null && p.nil || v === undefined && p.free) continue
          if (byName && Object.prototype.toString.call(v) === '[object Object]' && Object.keys(v).length === 0) continue
          expect(`${kind}.${name} ${place} = ${shown(v)}`, name, () => call(given(v)))
        }
        if (p.low > -Infinity) expect(`${kind}.${name} ${p.name} below`, name, () => call(given(p.low - 1)))
        if (p.high < Infinity) expect(`${kind}.${name} ${p.name} above`, name, () => call(given(p.high + 1)))
        if (!p.free && !p.rest) expect(`${kind}.${name} without ${p.name}`, name, () => call(good.slice(0, i)))
      })
    }
  }
  for (const name of ['sum', 'neg', 'item', 'data', 'realize']) expect(`${name} of what was disposed of`, name, () => gone[name]())
  await Promise.resolve()
  const alive = await t.add(1).sum().item()
  if (alive !== 14) problems.push(`the engine gives ${alive} afterwards`)
  w.close()
  elsewhere.close()
  return { problems, count }
}

// Calls that no argument alone shows to be wrong: the engine says so. x is f32 [2, 3], i i32 [3], b bool [3], s a scalar.
const late = [
  ['x', 'rearrange', 'a b -> b c'], ['x', 'rearrange', 'a (b c) -> a b c', { sizes: { b: 2 } }], ['x', 'rearrange', 'a b -> b a', { sizes: { z: 2 } }], ['x', 'einReduce', 'a b c -> a'],
  ['x', 'einRepeat', 'a b -> a b c'], ['x', 'padTo', [1, 1]], ['x', 'shrinkTo', [9, 9]], ['x', 'pack4'], ['x', 'unpack4', 'i32'], ['x', 'addAssign', 'y'], ['i', 'divAssign', 2], ['x', 'replace', 'y'],
  ['x', 'layerNorm', [3], null, null, { axes: [0] }], ['x', 'rmsNorm', null, 'y', { axes: [1] }], ['x', 'batchNorm', 'y', 'y', { axes: [5] }], ['x', 'multinomial', 9], ['x', 'categorical', 5],
  ['x', 'newtonSchulz', 1, { coefficients: [1] }], ['x', 'threefry', 1], ['x', 'varMean', 5], ['x', 'maskedSelect', 'i', { size: 2 }], ['x', 'allClose', 'y'],
  ['p', 'conv2d', 'f', null, { same: true, padding: 1 }], ['p', 'maxPool2d', 2, { same: true, padding: 1 }], ['x', 'crossEntropy', 'i', { classAxis: 4 }], ['w', 'uSum', ['x', 'y']], ['w', 'uProd', []],
  ['w', 'meshgridXY', ['x', 'i']],
  ['x', 'add', 'y'], ['x', 'sub', 'y'], ['x', 'mul', 'y'], ['x', 'div', 'y'], ['x', 'floorDiv', 'y'], ['x', 'mod', 'y'], ['x', 'pow', 'y'], ['x', 'maximum', 'y'],
  ['x', 'minimum', 'y'], ['x', 'atan2', 'y'], ['x', 'eq', 'y'], ['x', 'ne', 'y'], ['x', 'lt', 'y'], ['x', 'gt', 'y'], ['x', 'le', 'y'], ['x', 'ge', 'y'],
  ['x', 'and', 1], ['x', 'or', 1], ['x', 'xor', 1], ['x', 'logicalAnd', 'y'], ['x', 'logicalOr', 'y'], ['b', 'neg'], ['b', 'sub', true], ['i', 'pow', -1],
  ['x', 'sum', 2], ['x', 'prod', [0, 0]], ['x', 'mean', -3], ['x', 'max', { axis: 2 }], ['x', 'min', [0, -2]], ['x', 'var', 5], ['x', 'std', 5], ['x', 'norm', 2, 5],
  ['x', 'any', 5], ['x', 'all', 5], ['x', 'logSumExp', 5], ['x', 'argMax', 5], ['x', 'argMin', 5], ['x', 'softmax', 5], ['x', 'logSoftmax', -3], ['x', 'cumSum', 2], ['x', 'cumProd', 2],
  ['x', 'reshape', [4]], ['x', 'reshape', [-1, -1]], ['x', 'reshape', [4, -1]], ['x', 'permute', [0]], ['x', 'permute', [0, 0]], ['x', 'transpose', 0, 2], ['x', 'moveAxis', 0, 2],
  ['x', 'expand', [3]], ['x', 'expand', [2, 4]], ['x', 'flip', 2], ['x', 'squeeze', 2], ['x', 'unsqueeze', 4], ['x', 'flatten', [1, 0]], ['i', 't'],
  ['x', 'shrink', [0], [1]], ['x', 'shrink', [0, 0], [3, 1]], ['x', 'pad', [1, 1], [1]], ['x', 'pad', [-3, 0], [0, 0]], ['x', 'roll', [1, 1], [0]], ['x', 'roll', 1, 2], ['x', 'repeat', [2]],
  ['i', 'tril'], ['i', 'triu'], ['i', 'diagonal'], ['x', 'split', 0, [1, 2]], ['x', 'split', 2, [1]], ['x', 'chunk', 5, 2], ['x', 'at', 2], ['x', 'at', 0, 0, 0], ['x', 'at', 'b'], ['x', 'at', '...', '...'],
  ['x', 'withAt', 1, 2], ['x', 'withAt', 'i', 0, 0, 0], ['x', 'setAt', 1, 5], ['x', 'gather', 0, 'i'], ['x', 'gather', 2, 'x'], ['x', 'indexSelect', 0, 'x'], ['x', 'indexSelect', 2, 'i'],
  ['x', 'scatter', 0, 'i', 1], ['x', 'scatterAdd', 0, 'x', 1], ['x', 'take', 'x'], ['x', 'sort', 2], ['x', 'argSort', 2], ['x', 'topK', 4], ['x', 'topK', 1, 2], ['x', 'where', 1, 0], ['b', 'where', 'x', 'y'],
  ['x', 'maskedFill', 'x', 1], ['x', 'matmul', 'x'], ['x', 'matmul', 's'], ['x', 'dot', 'x'], ['x', 'outer', 'x'], ['x', 'linear', 'y'], ['x', 'linear', 'x', 'x'],
  ['x', 'conv2d', 'x'], ['p', 'conv2d', 'f', 'y'], ['p', 'conv2d', 'f', null, { stride: 0 }], ['p', 'conv2d', 'f', null, { padding: [1, 1, 1] }], ['p', 'conv2d', 'f', null, { groups: 2 }],
  ['x', 'convTranspose2d', 'x'], ['p', 'convTranspose2d', 'f', null, { outputPadding: 3 }], ['i', 'maxPool2d', 2], ['p', 'maxPool2d', 9], ['p', 'avgPool2d', [1, 2, 3]], ['p', 'avgPool2d', 2, { stride: 0 }],
  ['x', 'layerNorm', [2]], ['x', 'layerNorm', null, 'y'], ['x', 'rmsNorm', 4], ['x', 'batchNorm', 'x', 'x'], ['x', 'embedding', 'x'], ['i', 'embedding', 'i'],
  ['x', 'crossEntropy', 'y'], ['x', 'crossEntropy', 'i'], ['x', 'nll', 'i'], ['x', 'mse', 'y'], ['x', 'l1', 'y'], ['x', 'bce', 'y'], ['x', 'bceWithLogits', 'y'], ['x', 'huber', 'y'],
  ['x', 'bitcast', 'f64'], ['b', 'bitcast', 'u8'], ['x', 'clamp'], ['x', 'lerp', 'y', 0.5], ['x', 'grad', ['x']], ['i', 'grad', ['x']], ['s', 'grad', ['i']], ['x', 'assign', 'y'], ['x', 'assign', 'i'],
  ['w', 'linspace', 0, 1, 3, 'never'], ['w', 'arange', 0, 5, -1], ['w', 'cat', []], ['w', 'cat', ['x', 'i']], ['w', 'cat', ['x', 'y'], 3], ['w', 'stack', []], ['w', 'stack', ['x', 'y']],
  ['w', 'einsum', 'ij,jk->ik', 'x'], ['w', 'einsum', 'ij,jk->ik', 'x', 'x'], ['w', 'einsum', '??', 'x'], ['w', 'attention', 'x', 'y', 'x'], ['w', 'attention', 'i', 'i', 'i'], ['w', 'randint', [2], 5, 5],
  ['w', 'kaimingUniform', [2]], ['w', 'eye', 4, 2, 'never'],
].filter((row) => row.at(-1) !== 'never')

/** Makes each of those calls, and gives the errors by call, and what is not right with them. */
export async function reportLate(device) {
  const w = await open({ device })
  const t = {
    w, x: w.tensor([[1, 2, 3], [4, 5, 6]]), y: w.ones([4, 5]), i: w.tensor(new Int32Array([0, 1, 0])), b: w.tensor([true, false, true]), s: w.tensor(2),
    p: w.ones([1, 2, 5, 5]), f: w.ones([3, 2, 2, 2]),
  }
  const formulas = new Set(['einsum'])
  const problems = [], errors = {}
  let unhandled = 0
  const count = () => unhandled++
  addEventListener('unhandledrejection', count)
  for (const [on, name, ...args] of late) {
    const real = args.map((a, i) => Array.isArray(a) && typeof a[0] === 'string' ? a.map((n) => t[n]) : typeof a === 'string' && t[a] && !(i === 0 && formulas.has(name)) ? t[a] : a)
    const place = `${on}.${name}(${args.map((a) => JSON.stringify(a)).join(', ')})`
    function culprit() { return t[on][name](...real) }
    let e
    try {
      const out = culprit()
      const first = Array.isArray(out) ? out[0] : out
      if (first) await first.data()
    } catch (err) { e = err }
    if (!e) { problems.push(`${place}: no error`); continue }
    errors[place] = e.message
    if (!e.message.startsWith(`${name}: `)) problems.push(`${place}: "${e.message}" does not begin with the method`)
    if (/tensor: |weft: |\.go\b|\*?\b(Tensor|Shape|Index|MatMul|Conv2D|Reshape)\b|goroutine|runtime error|BUG|%!|float32|int32|\[\d+ \d/.test(e.message)) problems.push(`${place}: "${e.message}"`)
    if (!/culprit/.test(e.stack)) problems.push(`${place}: the stack is not of the call: ${e.stack}`)
    if (/assign|setAt|replace/i.test(name)) [t.x, t.i] = [w.tensor([[1, 2, 3], [4, 5, 6]]), w.tensor(new Int32Array([0, 1, 0]))] // it stays failed
  }
  const alive = await w.tensor([1, 2]).sum().item()
  if (alive !== 3) problems.push(`the engine gives ${alive} afterwards`)
  await new Promise((done) => setTimeout(done, 50))
  removeEventListener('unhandledrejection', count)
  if (unhandled) problems.push(`${unhandled} unhandled rejections`)
  w.close()
  return { problems, errors }
}

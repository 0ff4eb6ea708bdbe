// What rules of shapes are made of: windows, formulas, indices.

export class Unknown { constructor(why) { this.why = why } }

export const product = (s) => s.reduce((n, k) => n * k, 1)
export const put = (s, axis, ...n) => s.toSpliced(axis, 1, ...n)
export const each = (v, n, otherwise) => {
  const list = v === undefined || v?.length === 0 ? otherwise : v
  return !Array.isArray(list) ? Array(n).fill(list) : list.length === 1 ? Array(n).fill(list[0]) : list
}
export const batch = (s) => s.slice(0, -2)
export const list = (v) => v === undefined || v === null ? [] : [v].flat()
// Of a size that varies the value, where it has one.
export function value(v) {
  if (typeof v === 'number') return v
  return v.terms.reduce((n, t) => {
    if (t.value === null) throw new Unknown(`varies with ${t.name}`)
    return n + t.value * t.times
  }, v.base)
}

export const shapeOf = (t) => {
  const { shape } = t.form
  if (!Array.isArray(shape)) throw new Unknown(shape)
  return shape
}

export const sizes = (list) => list.filter((v) => v.w).map(shapeOf)
export const elementwise = (x, o, c) => c.broadcast(...sizes(c.operands))
export const matmul = (x, y, c) => {
  if (!x.length || !y.length) c.fail('needs at least one axis each', x, y)
  const [a, b] = [x.length > 1 ? x : [1, ...x], y.length > 1 ? y : [...y, 1]]
  if (a.at(-1) !== b.at(-2)) c.fail(`inner sizes ${a.at(-1)} and ${b.at(-2)} differ`, x, y)
  return [...c.broadcast(batch(a), batch(b)), ...x.length > 1 ? [a.at(-2)] : [], ...y.length > 1 ? [b.at(-1)] : []]
}
export const joined = (shapes, axis, c) => {
  const full = shapes.filter((s) => s.length !== 1 || s[0])
  if (!full.length) return shapes[0]
  const a = c.axis(axis, full[0])
  for (const s of full) {
    if (s.length !== full[0].length) c.fail('the ranks differ', ...shapes)
    const k = s.findIndex((n, i) => i !== a && n !== full[0][i])
    if (k >= 0) c.fail(`sizes of axis ${k} differ`, ...shapes)
  }
  return put(full[0], a, full.reduce((n, s) => n + s[a], 0))
}
export const atLeast = (s, rank) => s.length >= rank ? s : s.length === 2 ? [...s, 1] : s.length === 0 ? Array(rank).fill(1) : rank === 3 ? [1, ...s, 1] : [1, ...s]
export const high = (shapes, rank) => shapes.map((s) => atLeast(s, rank))
export const diagonal = (x, o, c) => {
  const { offset = 0, first = -2, second = -1 } = o
  const [a, b] = [c.axis(first, x), c.axis(second, x)]
  return [...x.filter((_, i) => i !== a && i !== b), Math.max(0, Math.min(x[a] + Math.min(offset, 0), x[b] - Math.max(offset, 0)))]
}
export const strips = (x, o, c) => {
  const a = c.axis(o.axis ?? -1, x)
  const s = put(x, a, Math.max(x[a] - 1, 0))
  const at = o.x && shapeOf(o.x)
  return [!at || at.length < 2 ? s : c.broadcast(s, at.with(Math.max(a - x.length, -at.length), Math.max(at.at(a - x.length) - 1, 0))), a - x.length]
}

// How many places windows over n axes of the sizes in have.
export function places(sizes, k, o) {
  const n = sizes.length
  const [stride, dilation] = [each(o.stride, n, o.strides ?? 1), each(o.dilation, n, 1)]
  const padding = list(o.padding).length === 2 * n && n > 0 ? o.padding : each(o.padding, n, 0)
  return sizes.map((size, i) => {
    if (o.same) return Math.ceil(size / stride[i])
    const [lo, hi] = [padding[i], padding[padding.length - n + i]]
    const free = size + lo + hi - dilation[i] * (k[i] - 1) - 1
    const out = Math.floor((free + (o.ceil ? stride[i] - 1 : 0)) / stride[i]) + 1
    return o.ceil && (out - 1) * stride[i] >= size + lo ? out - 1 : out
  })
}
export const pool = (x, o, c, axes = o.axes) => {
  const size = list(o.size)
  const n = axes || (size.length === 1 ? x.length - 2 : size.length)
  const k = each(size, n)
  return [...x.slice(0, x.length - n), ...places(x.slice(x.length - n), k, { ...o, strides: k })]
}
export const conv = (x, o, c, spread) => {
  const w = shapeOf(o.w)
  const full = x.length < w.length ? [1, ...x] : x
  if (w.length < 3 || full.length !== w.length) c.fail('needs filters [out, in, k…] and an input [n, in, s…] of as many axes', x, w)
  const [of, by] = [spread ? w[0] : w[1] * (o.groups || 1), full[1]]
  if (of !== by) c.fail(`the input has ${by} channels, the filters take ${of}`, x, w)
  const s = full.slice(2)
  const k = w.slice(2)
  let sizes
  if (spread) {
    const n = s.length
    const [stride, dilation, more] = [each(o.stride, n, 1), each(o.dilation, n, 1), each(o.outputPadding, n, 0)]
    const padding = list(o.padding).length === 2 * n ? o.padding : each(o.padding, n, 0)
    sizes = s.map((size, i) => (size - 1) * stride[i] - padding[i] - padding[padding.length - n + i] + dilation[i] * (k[i] - 1) + more[i] + 1)
  } else {
    sizes = places(s, k, o)
  }
  const out = [full[0], spread ? w[1] * (o.groups || 1) : w[0], ...sizes]
  return full === x ? out : out.slice(1)
}

// A formula of einops: the axes of a side, each the names of what is merged in it.
function side(text, free) {
  const axes = []
  let group = null
  for (const [word] of text.matchAll(/\(|\)|\.\.\.|…|\w+/g)) {
    if (word === '(') axes.push(group = [])
    else if (word === ')') group = null
    else {
      const names = /^(\.\.\.|…)$/.test(word) ? Array.from({ length: free }, (_, i) => `.${i}`) : [word]
      if (group) group.push(...names)
      else axes.push(...names.map((n) => [n]))
    }
  }
  return axes
}
export const formula = (x, o) => {
  const [left, right] = o.formula.split('->')
  const dotted = /\.\.\.|…/.test(left)
  const axes = side(left, dotted ? x.length - side(left, 0).length : 0)
  const sizes = { ...o.sizes }
  const size = (n) => /^\d/.test(n) ? +n : sizes[n]
  for (const [i, names] of axes.entries()) {
    const open = names.find((n) => size(n) === undefined)
    if (open) sizes[open] = x[i] / product(names.filter((n) => n !== open).map(size))
  }
  return side(right, dotted ? axes.filter(([n]) => n?.[0] === '.').length : 0).map((names) => product(names.map(size)))
}
export const einsum = (x, { formula, tensors }, c) => {
  const shapes = tensors.flat().map(shapeOf)
  const [left, right] = formula.replaceAll(' ', '').split('->')
  const terms = left.split(',')
  if (terms.length !== shapes.length) c.fail(`"${formula.replaceAll(' ', '')}" names ${terms.length} operands, not ${shapes.length}`, ...shapes)
  const sizes = {}
  let dots = []
  for (const [i, term] of terms.entries()) {
    const [before, after] = term.split('...')
    const s = shapes[i]
    const end = s.length - (after?.length ?? 0)
    for (const [k, l] of [...before].entries()) if (!(sizes[l] > 1)) sizes[l] = s[k]
    for (const [k, l] of [...after ?? ''].entries()) if (!(sizes[l] > 1)) sizes[l] = s[end + k]
    if (after !== undefined) dots = c.broadcast(dots, s.slice(before.length, end))
  }
  const letters = [...left.replace(/[,.]/g, '')]
  const once = letters.filter((l) => letters.indexOf(l) === letters.lastIndexOf(l)).sort().join('')
  const target = right ?? (left.includes('...') ? `...${once}` : once)
  return target.split('...').flatMap((part, i) => [...i ? dots : [], ...[...part].map((l) => sizes[l])])
}

// Elements of an array by an index for each axis.
export function at(x, index, c) {
  const used = index.filter((v) => v !== 'new' && v !== '...' && v !== true && v !== false).length
  if (used > x.length) c.fail(`${used} indices for ${x.length} axes`, x)
  const out = []
  const places = [] // of the results of tensors
  let picked = null
  let axis = 0
  for (const v of index.includes('...') ? index : [...index, '...']) {
    if (v === 'new') out.push(1)
    else if (v === '...') for (let n = x.length - used; n > 0; n--) out.push(x[axis++])
    else if (v === null || v === undefined) out.push(x[axis++])
    else if (v.terms) axis++
    else if (v.ref !== undefined || v === true || v === false) {
      const s = v.ref === undefined ? [+v] : shapeOf(v)
      if (v.ref !== undefined) axis++
      if (!s.length) continue // takes one element, as a number does
      places.push(out.length)
      picked = c.broadcast(picked ?? [], s)
      out.push(null)
    } else if (Array.isArray(v)) {
      out.push(part(v, x[axis++]))
    } else {
      if (v < -x[axis] || v >= x[axis]) c.fail(`index ${v} is outside axis ${axis}`, x)
      axis++
    }
  }
  if (!picked) return out
  const together = places.every((p, i) => p === places[0] + i)
  const kept = out.filter((n) => n !== null)
  return kept.toSpliced(together ? places[0] : 0, 0, ...picked)
}

function part([from, to, step], n) {
  if (from?.terms || to?.terms) return value(to) - value(from)
  step ??= 1
  const bound = (v, lo, hi, otherwise) => v === null || v === undefined ? otherwise : Math.min(Math.max(v < 0 ? v + n : v, lo), hi)
  if (step > 0) return Math.max(0, Math.ceil((bound(to, 0, n, n) - bound(from, 0, n, 0)) / step))
  return Math.max(0, Math.ceil((bound(from, -1, n - 1, n - 1) - bound(to, -1, n - 1, -1)) / -step))
}

// The axes of a Fourier transform and their sizes.
export function transformed(x, o, half, back, c) {
  const several = /n$/.test(c.name)
  const complex = back || /^i?fft/.test(c.name)
  if (complex && x.at(-1) !== 2) c.fail('a complex array is a float tensor with a last axis of 2; rfft takes a real one', x)
  const s = complex ? x.slice(0, -1) : x
  const sizes = list(several ? o.sizes : o.n ?? -1)
  const axes = (several ? list(o.axes) : [o.axis ?? -1]).map((a) => c.axis(a, s))
  if (!axes.length) for (let n = sizes.length || s.length, i = 0; i < n; i++) axes.push(s.length - n + i)
  const out = [...s]
  for (const [i, a] of axes.entries()) {
    const given = sizes[i] >= 0 ? sizes[i] : undefined
    const last = i === axes.length - 1
    if (last && half) out[a] = Math.floor((given ?? s[a]) / 2) + 1
    else out[a] = given ?? (last && back && (!several || !sizes.length) ? 2 * (s[a] - 1) : s[a])
  }
  return back ? out : [...out, 2]
}

export const reduced = (o, s) => o.reduction === 'none' || o.reduction === 'batchMean' && !s.length ? s : []
export const loss = (x, o, c) => reduced(o, c.broadcast(...sizes([...c.operands, ...o.weight ? [o.weight] : []])))
export const rows = (x, o) => reduced(o, x.slice(0, -1))

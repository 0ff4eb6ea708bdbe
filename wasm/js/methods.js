// What every method takes, in one table, and the check that every call goes through: a call that cannot be right throws
// where it stands, in words that name the method, what came, what belongs there and what to do. weft.d.ts says the same in
// types (a test compares them); what only shapes and values tell, the engine says at the next await.
//
// A row of the table (table.js) is what its methods give (1, 2, 3 or n tensors; 0: the tensor itself, changed;
// =: a tensor, of other methods; a: another promise; –: something else), their names, and their parameters as name:kind(least..most), with ? where one may
// be left out, ~ where it may be null besides, * where it is any number of arguments. What may be left out may also be given as one
// object at the end, by name; what stands in braces, only so. ...Set are the parameters of a set of options. Last comes the rule for the
// shape and type of the results (infer.js).

import { layers } from './layers.js'
import { table } from './table.js'
import { isBlob, tagOf } from './wire.js'

/** The rows by class and method: {gives, name, params}; those of Options give the fields of an object, those of Words a list. */
export const methods = {}
let rows
let of
for (const line of (table + layers).split('\n').filter(Boolean)) {
  const [head, tail, rule] = line.split(' |')
  if (tail === undefined) {
    rows = methods[of = line] ??= {}
    continue
  }
  if (rows === methods.Words) {
    rows[head] = tail.trim().split(' ')
    continue
  }
  let named = false
  const params = tail.split(' ').filter(Boolean).map((text) => {
    const [, open, set, name, kind, low, high, mark, close] = /^(\{?)(?:\.\.\.(\w+)|(\w+):(\w+))(?:\((.*)\.\.(.*)\))?([?~*]?)(\}?)$/.exec(text)
    named ||= open !== ''
    const p = { name, kind: kind ?? set, set, low: low ? +low : -Infinity, high: high ? +high : Infinity, free: named || /[?~]/.test(mark), nil: mark === '~', rest: mark === '*', named }
    if (close) named = false
    return p
  })
  const names = head.split(' ')
  const gives = rows === methods.Options ? '' : names.shift()
  for (const name of names) rows[name] = { gives, name, params, of, rule: rule?.trim() || 'as' }
}

/** How many tensors the methods give that give n: a function of their arguments. */
export const several = {
  split: (axis, sizes) => sizes.length, splitAt: (axis, indices) => indices.length + 1, splitEvenly: (axis, n) => n,
  grad: (ws) => ws.length, broadcast: (tensors) => tensors.length, meshgrid: (tensors) => tensors.length,
  meshgridXY: (tensors) => tensors.length,
  unravelIndex(shape) { return shape.length },
  unbind(axis = 0) { return this.shape.at(axis.axis ?? axis) ?? 1 },
  chunk(axis, n) {
    const size = Array.isArray(this.form.shape) && this.form.shape.at(axis)
    return size ? Math.ceil(size / Math.ceil(size / n)) : n
  },
  splitEvery(axis, n) { return Math.max(1, Math.ceil((this.shape.at(axis) ?? 0) / n)) },
  recurrent: (x, weights, options) => (options?.kind ?? 'lstm') === 'lstm' ? 3 : 2,
}

export const most = 2 ** 31 - 1 // of elements: kernels count them in 32 bits
const dtypes = ['bool', 'i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'i64', 'u64', 'f8e4m3', 'f8e5m2', 'f16', 'bf16', 'f32', 'f64']

let Tensor // the classes, which guard tells
let Size

/** What a value is, in words. */
export function describe(v) {
  switch (typeof v) {
    case 'undefined': return 'missing'
    case 'number': return Number.isNaN(v) ? 'NaN' : `the number ${v}`
    case 'boolean': return `${v}`
    case 'string': return `the string ${JSON.stringify(v.length > 40 ? v.slice(0, 40) + '…' : v)}`
    case 'bigint': return `the BigInt ${v}n`
    case 'function': return 'a function'
    case 'symbol': return 'a symbol'
  }
  if (v === null) return 'null'
  if (v instanceof Tensor) return 'a tensor'
  if (v instanceof Size) return `the size ${v}`
  if (Array.isArray(v)) return 'an array'
  if (v instanceof Promise) return 'a promise'
  const name = v.constructor?.name
  return !name || name === 'Object' ? 'an object' : `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}

/** A shape as programs write it; a long one is cut. */
export const written = (list) => `[${list.length > 16 ? [...list.slice(0, 16), '…'].join(', ') : list.join(', ')}]`

// One call being checked: at is what it is about, 'reshape'; w the engine.
export class Call {
  constructor(at, w) {
    this.at = at
    this.w = w
  }

  fail(text, Kind = TypeError) { throw new Kind(`${this.at}: ${text}`) }

  // Refuses v, which stands under a name.
  refuse(name, v, wanted, remedy = '') {
    if (v instanceof Promise) remedy = '; await it first'
    this.fail(`${name} is ${describe(v)}; it must be ${wanted}${remedy}`, typeof v === 'number' && /number|integer/.test(wanted) ? RangeError : TypeError)
  }

  usable(name, v) {
    if (v.w !== this.w) {
      if (v instanceof Size) this.fail(`${name} is a size of another engine`)
      this.fail(`${name} is a tensor of another engine, and tensors meet within one engine only; take its elements over with w.tensor(await t.data(), t.shape)`)
    }
    if (v.gone) this.fail(`${name} ${v.gone}`)
    return true
  }

  param({ name, kind, low, high }, v) {
    const options = methods.Options[kind]
    if (options) return this.options(name, v, options)
    const words = methods.Words[kind]
    if (!words) kinds[kind].call(this, name, v, low, high)
    else if (!words.includes(v)) this.refuse(name, v, `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`)
  }

  number(name, v, low = -Infinity, high = Infinity, what = 'a number') {
    const range = low === -Infinity ? what : high === Infinity ? `${what} of at least ${low}` : `${what} from ${low} to ${high}`
    if (typeof v !== 'number' || !(v >= low && v <= high)) this.refuse(name, v, range)
    return range
  }

  integer(name, v, low = -most - 1, high = most) {
    if (!Number.isInteger(v) || v < low || v > high) this.refuse(name, v, `an integer from ${low} to ${high}`)
  }

  // An array, each element of which is checked by each(name, element).
  array(name, v, what, each) {
    if (!Array.isArray(v)) this.refuse(name, v, `an array of ${what}`, v instanceof Tensor || typeof v === 'number' ? `: [${v instanceof Tensor ? name : v}]` : '')
    for (let i = 0; i < v.length; i++) each(`${name}[${i}]`, v[i])
  }

  options(name, v, { name: set, params }) {
    const short = params[0].kind.startsWith('int') && ['Axes', 'Axis', 'Sums', 'Spread'].includes(set)
    if (short && (typeof v === 'number' || Array.isArray(v))) return this.param({ ...params[0], name }, v)
    const fields = flat(params)
    if (!plain(v)) {
      const names = fields.map((p) => p.name).join(', ')
      this.refuse(name, v, `${short ? `an axis${params[0].kind === 'ints' ? ', an array of axes,' : ''} or ` : ''}an object with any of ${names}`)
    }
    this.named(v, fields)
  }

  // Checks what is given by name.
  named(v, fields) {
    for (const key of Object.keys(v)) {
      const p = fields.find((p) => p.name === key)
      if (!p) this.fail(`there is no option "${key}"; there ${fields.length > 1 ? 'are' : 'is'} ${fields.map((p) => p.name).join(', ')}`)
      if (v[key] !== undefined && !(v[key] === null && p.nil)) this.param(p, v[key])
    }
  }

  // Refuses arguments beyond those that a method takes.
  count(row, args) {
    const [p] = row.params
    const list = p && ['lengths', 'sizes', 'parts', 'list', 'ints', 'Axes', 'Axis', 'Sums', 'Spread'].includes(p.kind) && args.every((v) => typeof v === 'number')
    if (list || (p?.kind === 'tensors' && args.every((v) => v instanceof Tensor))) {
      this.fail(`${p.name} is one array: .${row.name}(${list ? written(args) : `[${args.map(() => 't').join(', ')}]`})`)
    }
    const names = row.params.filter((p) => !p.named).map((p) => p.name + (p.free ? '?' : ''))
    if (row.params.at(-1)?.named) names.push('options?')
    const takes = names.length ? `${row.name}(${names.join(', ')})` : `no arguments`
    this.fail(`takes ${takes}, and ${args.length} argument${args.length > 1 ? 's' : ''} came: ${args.map(describe).join(', ')}`)
  }

  check(row, args) {
    const params = row.params.filter((p, i) => !p.named || !row.params[i - 1]?.named) // the first of those in braces stands for all
    const rest = params.at(-1)?.rest
    let n = args.length
    while (!rest && n > 0 && args[n - 1] === undefined) n-- // as if it were not there
    if (n > params.length && !rest) this.count(row, args.slice(0, n))
    for (let i = 0; i < Math.max(n, params.length); i++) {
      const p = params[Math.min(i, params.length - 1)]
      if (p.rest && i >= n) return
      if (args[i] === undefined && p.free || args[i] === null && p.nil) continue
      if (p.named || i === n - 1 && byName(row, p, args[i])) this.options('options', args[i], { params: row.params.slice(i) })
      else this.param(p.rest ? { ...p, name: `${p.name} ${i - params.length + 1}` } : p, args[i])
    }
  }
}

/** Whether a value is an object as programs write options. */
const plain = (v) => Object.prototype.toString.call(v) === '[object Object]' && !(v instanceof Tensor) && !(v instanceof Size)

// Parameters with those of sets in their place.
const flat = (params) => params.flatMap(fields)

/** A parameter, or those of the set that it stands for. */
export const fields = (p) => p.set || methods.Options[p.kind] ? flat(methods.Options[p.kind].params) : [p]

// Whether v stands for p and the parameters after it, by their names.
const byName = (row, p, v) => p.free && !p.rest && /[123n]/.test(row.gives) && !methods.Options[p.kind] && p.kind !== 'made' && plain(v)

function shape(name, v, low) {
  this.array(name, v, 'sizes', (name, v) => low < 0 && v instanceof Size ? this.usable(name, v) : this.integer(name, v, low))
  if (v.some((size) => size instanceof Size)) return
  const n = v.reduce((n, size) => n * Math.abs(size), 1)
  if (n > most) this.fail(`${name} ${written(v)} has ${n} elements; a tensor in a page has at most ${most}`, RangeError)
}

// How each kind of parameter is checked, with the call as this.
const kinds = {
  any() {},
  tensor(name, v) { v instanceof Tensor ? this.usable(name, v) : this.refuse(name, v, 'a tensor', typeof v === 'number' || Array.isArray(v) ? ', which w.tensor makes of numbers' : '') },
  operand(name, v) {
    if (v instanceof Tensor) this.usable(name, v)
    else if (typeof v !== 'number' && typeof v !== 'boolean') this.refuse(name, v, 'a tensor or a number', Array.isArray(v) || ArrayBuffer.isView(v) ? '; w.tensor makes a tensor of it' : '')
  },
  scalar(name, v) { if (typeof v !== 'number' && typeof v !== 'boolean') this.refuse(name, v, 'a number or a truth value') },
  real(name, v, low) { if (typeof v !== 'number' || v < low) this.refuse(name, v, low < 0 ? 'a number' : `a number of at least ${low}`) },
  number(name, v, low, high) {
    const range = this.number(name, v, low, high)
    if (!Number.isFinite(v)) this.refuse(name, v, `${range}, and finite`)
  },
  int(name, v, low, high) { this.integer(name, v, low === -Infinity ? undefined : low, high === Infinity ? undefined : high) },
  size(name, v) { this.integer(name, v, 0) },
  position(name, v) { v instanceof Size ? this.usable(name, v) : this.integer(name, v) },
  stop(name, v) { v instanceof Size ? this.usable(name, v) : kinds.number.call(this, name, v, -Infinity, Infinity) },
  place(name, v) { v instanceof Size ? this.usable(name, v) : kinds.scalar.call(this, name, v) },
  input(name, v) {
    if (!(v instanceof Size)) return kinds.tensor.call(this, name, v)
    const [t] = v.terms
    if (v.base !== 0 || v.terms.length !== 1 || t.times !== 1 || t.value === null) this.refuse(name, v, 'a variable with a value', ': n.bind(17)')
    this.usable(name, v)
  },
  list(name, v) { this.array(name, v, 'integers', (name, v) => this.integer(name, v)) },
  ints(name, v) {
    if (typeof v === 'number') this.integer(name, v)
    else if (Array.isArray(v)) kinds.list.call(this, name, v)
    else this.refuse(name, v, 'an integer or an array of integers')
  },
  reals(name, v) { typeof v === 'number' ? kinds.number.call(this, name, v) : this.array(name, v, 'numbers', (name, v) => kinds.number.call(this, name, v)) },
  fractions(name, v) { typeof v === 'number' ? kinds.number.call(this, name, v, 0, 1) : this.array(name, v, 'numbers', (name, v) => kinds.number.call(this, name, v, 0, 1)) },
  parts(name, v) { this.array(name, v, 'integers', (name, v) => this.integer(name, v, 0)) },
  sizes(name, v) { shape.call(this, name, v, 0) },
  lengths(name, v) { shape.call(this, name, v, -1) },
  flag(name, v) { if (typeof v !== 'boolean') this.refuse(name, v, 'true or false') },
  text(name, v) { if (typeof v !== 'string') this.refuse(name, v, 'a string') },
  texts(name, v) { this.array(name, v, 'names', (name, v) => kinds.text.call(this, name, v)) },
  results(name, v) { this.array(name, v, '{ shape, dtype? }', (name, v) => this.options(name, v, methods.Options.UnsafeResult)) },
  dtype(name, v) {
    if (!dtypes.includes(v)) this.refuse(name, v, `one of ${dtypes.join(', ')}`, typeof v === 'string' && v.startsWith('>') ? '; elements are little-endian, so turn their bytes beforehand' : '')
  },
  tensors(name, v) { this.array(name, v, 'tensors', (name, v) => kinds.tensor.call(this, name, v)) },
  operands(name, v) { this.array(name, v, 'tensors and numbers', (name, v) => kinds.operand.call(this, name, v)) },
  named(name, v) {
    if (!plain(v)) this.refuse(name, v, 'an object of sizes by the names of axes')
    for (const axis of Object.keys(v)) this.integer(`${name}.${axis}`, v[axis], 0)
  },
  function(name, v) { if (typeof v !== 'function') this.refuse(name, v, 'a function') },
  image(name, v) { if (typeof v !== 'object' || v === null || v instanceof Tensor) this.refuse(name, v, 'a picture: ImageData, an ImageBitmap, a canvas, an HTMLImageElement, a VideoFrame or a Blob') },
  model(name, v) { if (typeof v !== 'object' || v === null) this.refuse(name, v, 'a model: an object or an array of tensors and layers') },
  functions(name, v) { if (!plain(v)) this.refuse(name, v, 'an object of captured functions by their names') },
  file(name, v) {
    const holds = typeof v === 'string' || isBlob(v) || /^(URL|Response|ArrayBuffer)$/.test(tagOf(v)) || ArrayBuffer.isView(v)
    if (!holds) this.refuse(name, v, 'an address, a File, a Blob, a Response or an ArrayBuffer')
  },
  files(name, v) {
    if (!Array.isArray(v)) return kinds.file.call(this, name, v)
    v.forEach((one, i) => kinds.file.call(this, `${name}[${i}]`, one))
  },
  url(name, v) { if (!(typeof v === 'string' || tagOf(v) === 'URL') || !URL.canParse(v, globalThis.location?.href ?? 'file:///')) this.refuse(name, v, 'an address: a string or a URL') },
  signal(name, v) { if (tagOf(v) !== 'AbortSignal') this.refuse(name, v, 'an AbortSignal') },
  targets(name, v) {
    this.array(name, v, 'wgsl, c, wasm and here', (name, v) => { if (!['wgsl', 'c', 'wasm', 'here'].includes(v)) this.refuse(name, v, 'wgsl, c, wasm or here') })
  },
  values(name, v) { if (typeof v !== 'number' && typeof v !== 'boolean' && (typeof v !== 'object' || v === null)) this.refuse(name, v, 'numbers: nested arrays, a typed array or a Blob') },
  made(name, v) { // a shape, or the options in its place
    if (plain(v)) this.options('options', v, methods.Options.Made)
    else kinds.sizes.call(this, name, v)
  },
  index(name, v) {
    if (v === null || v === '...' || v === 'new' || typeof v === 'boolean') return
    if (v instanceof Tensor || v instanceof Size) this.usable(name, v)
    else if (typeof v === 'number') this.integer(name, v)
    else if (!Array.isArray(v)) this.refuse(name, v, 'an integer, a size, [from, to], [from, to, step], a tensor of integers, a bool, null, "..." or "new"')
    else {
      if (v.length < 1 || v.length > 3) this.fail(`${name} is an array of ${v.length}; a part of an axis is [from, to] or [from, to, step], and numbers to pick are a tensor`)
      for (let i = 0; i < v.length; i++) {
        const end = i < 2 && v[i] === null || i > 0 && v[i] === undefined // of the axis, or as if it were not there
        if (!end) kinds.position.call(this, `${name}[${i}]`, v[i])
      }
      if (v[2] === 0) this.fail(`${name} is ${written(v)}, and no step is 0`, RangeError)
    }
  },
}

/** Gives an error, or a new object, the stack that ends where a function was called. Only some browsers can leave out what is below that. */
export function stackFrom(f, e) {
  if (Error.captureStackTrace) Error.captureStackTrace(e ??= {}, f)
  return e ?? new Error()
}

/** Has every method of the classes check its arguments before it does anything. What gives a promise the engine knows of until it is settled. */
export function guard(classes) {
  Tensor = classes.Tensor
  Size = classes.Size
  const things = { Tensor: 'tensor', Size: 'size', Captured: 'captured function' }
  for (const kind of Object.keys(classes)) {
    const { prototype } = classes[kind]
    for (const [name, row] of Object.entries(methods[kind])) {
      const inner = prototype[name]
      const outer = function (...args) {
        const w = kind === 'Weft' ? this : this?.w
        const call = new Call(name, w)
        const before = w?.from
        try {
          if (!(this instanceof classes[kind])) call.fail(`it was called on ${this === undefined ? 'nothing' : describe(this)}; it is a method of a ${kind}: x.${name}(…)`)
          if (row.gives !== '–' && this.gone) call.fail(`this ${things[kind]} ${this.gone}`)
          call.check(row, args)
          if (!/[a–]/.test(row.gives)) w.alive(name)
          w.from = outer
          return row.gives === 'a' ? w.watch(name, () => inner.apply(this, args)) : inner.apply(this, args)
        } catch (e) {
          throw stackFrom(outer, e)
        } finally {
          if (w instanceof classes.Weft) w.from = before
        }
      }
      Object.defineProperty(prototype, name, { value: outer, writable: true, configurable: true })
    }
  }
}

/** Checks what open was given. */
export const checkOpen = (options) => new Call('open').options('options', options, methods.Options.OpenOptions)

// Functions of functions that the engine carries out: vmap, scan, jvp, vjp, checkpoint, functions with a name, kernels of one's own. The function is called
// once, with tensors that stand for its arguments, and what it records goes to the engine. And generators of random numbers.

import { infer } from './infer.js'
import { Call, describe, methods, written } from './methods.js'
import { filled, isTensor, leaves, longest, mapTree, visit } from './tree.js'

/** What an async function is told by the method that was to record it. */
export const asynchronous = (name) => `${name}: the function is async; it only records, so write it without async and await, and read what it returned after ${name === 'capture' ? 'run' : 'it'}`

/** Throws where f is async. */
export function plain(name, f) {
  if (Object.prototype.toString.call(f) === '[object AsyncFunction]') throw new TypeError(asynchronous(name))
  return f
}

/** The tensors of what a function returned, in order: one, or arrays and objects of them; none where it only assigns. */
export function outputs(w, name, result, nil = false) {
  if (typeof result?.then === 'function') {
    Promise.resolve(result).catch(() => {}) // it is told here
    throw new TypeError(asynchronous(name))
  }
  const outs = []
  if (result !== undefined) visit(result, (t, path) => {
    const what = path ? `in what the function returned, ${path} is` : 'the function returned'
    if (path.length > longest) throw new RangeError(`${name}: ${what.slice(0, 80)}…: arrays and objects are nested too deep, or hold themselves`)
    if (t === null && nil) return outs.push(null)
    if (!isTensor(t)) throw new TypeError(`${name}: ${what} ${describe(t)}; it must return a tensor, or arrays and objects of tensors`)
    if (t.w !== w) throw new TypeError(`${name}: ${what} a tensor of another engine`)
    if (t.gone) throw new TypeError(`${name}: ${what} a tensor that ${t.gone}`)
    outs.push(t)
  })
  return outs
}

// What f records of tensors of these forms: how the engine gets it, and what comes out. call calls it with the stand-ins.
function traced(w, name, forms, call, nil) {
  const stands = forms.map((form) => w.stand(form))
  const { list, result } = w.recording(name, stands, () => {
    const returned = call(stands)
    return { returned, outs: outputs(w, name, returned, nil) }
  })
  return { wire: [stands, list, result.outs], outs: result.outs, form: filled(result.returned, () => null) }
}

// Arguments that are tensors or trees of them, each taken apart: what stands for them is put in their place.
function taken(args) {
  const parts = args.map((a) => leaves([a]).map((l) => l.tensor))
  const inputs = parts.flat()
  const within = (stands) => {
    let at = 0
    return args.map((a, i) => {
      const own = new Map(parts[i].map((t) => [t, stands[at++]]))
      return mapTree(a, (t) => own.get(t))
    })
  }
  return { inputs, within, of: parts.flatMap((list, i) => list.map(() => i)) }
}

function checked(name, inputs, w) {
  inputs.forEach((t, i) => new Call(name, w).param({ name: `argument ${i}`, kind: 'tensor' }, t))
}

const given = (w, how, forms, args) => w.record(how, forms.length, args, undefined, forms)

// Tensors in the form of what a function returned.
function returned(form, tensors) {
  const list = tensors.values()
  return filled(form, () => list.next().value)
}

const shaped = (form, f) => Array.isArray(form.shape) ? { ...form, shape: f(form.shape) } : form

/** f for each element of an axis of its arguments, all in one graph. */
export function vmap(w, f, { in: axes = 0, out = 0 } = {}) {
  plain('vmap', f)
  return (...args) => {
    const { inputs, within, of } = taken(args)
    checked('vmap', inputs, w)
    const fail = (why) => { throw new RangeError(`vmap: ${why}`) }
    const most = (of.at(-1) ?? -1) + 1 // the arguments up to the last that holds tensors
    if (Array.isArray(axes) && (axes.length < most || axes.length > args.length)) fail(`in names axes of ${axes.length} arguments, and ${args.length} came; null is the axis of one that is the same for all`)
    const at = of.map((i) => Array.isArray(axes) ? axes[i] === undefined ? 0 : axes[i] : axes)
    let n
    let open // why a shape is not known
    for (const [i, t] of inputs.entries()) {
      if (at[i] === null) continue
      if (!Array.isArray(t.form.shape)) {
        open = t.form.shape
        continue
      }
      const size = t.shape.at(at[i])
      if (!Number.isInteger(at[i]) || size === undefined || at[i] < -t.shape.length) fail(`argument ${of[i]} has no axis ${at[i]}: its shape is [${t.shape.join(', ')}]`)
      if (n !== undefined && size !== n) fail(`axis ${at[i]} of argument ${of[i]} has ${size} elements, others have ${n}`)
      n = size
    }
    if (n === undefined && !open) fail('no argument has an axis to go along; in names one')
    const forms = inputs.map((t, i) => at[i] === null ? t.form : shaped(t.form, (s) => s.toSpliced(at[i], 1)))
    const { wire, outs, form } = traced(w, 'vmap', forms, (stands) => f(...within(stands)))
    const to = outs.map((_, i) => Array.isArray(out) ? out[i] ?? 0 : out)
    return returned(form, given(w, 'vmap', outs.map((t, i) => n === undefined ? { ...t.form, shape: open } : shaped(t.form, (s) => s.toSpliced(to[i] < 0 ? s.length + 1 + to[i] : to[i], 0, n))), [inputs, ...wire, at, to]))
  }
}

/** f for each entry of the first axis of arrays, and for what it gave to carry the time before: all states, and all else that it gave. */
export function scan(w, f, carried, inputs, { back = false, steps = 0 } = {}) {
  plain('scan', f)
  const fail = (why) => { throw new RangeError(`scan: ${why}`) }
  const all = []
  const names = []
  const take = (name, v) => visit(v, (t, path) => {
    new Call('scan', w).param({ name: name + path, kind: 'tensor' }, t)
    all.push(t)
    names.push(name + path)
  })
  take('carried', carried)
  const m = all.length
  take('inputs', inputs ?? [])
  let n = steps || undefined
  let open // why a shape is not known
  const forms = all.map(({ form }, i) => {
    if (i < m) return form
    if (!Array.isArray(form.shape)) open = form.shape
    return shaped(form, ([size, ...rest]) => {
      if (size === undefined) fail(`${names[i]} has no axis to go along`)
      n ??= size
      if (size !== n) fail(`${names[i]} has ${size} entries for ${n} steps`)
      return rest
    })
  })
  if (n === undefined && !open) fail('inputs has no tensors, and the options no number of steps')
  const { wire, outs, form } = traced(w, 'scan', forms, (stands) => {
    const list = stands.values()
    const entry = (v) => filled(v, () => list.next().value)
    const gave = f(entry(carried), entry(inputs))
    if (!Array.isArray(gave)) throw new TypeError(`scan: f gave ${describe(gave)}; it must give [next, out]`)
    const next = {}
    visit(gave[0], (t, path) => { next['carried' + path] = t })
    if (Object.keys(next).length !== m) fail(`f gave ${Object.keys(next).length} tensors to carry for ${m}`)
    const name = names.values()
    return [filled(carried, () => next[name.next().value]), gave[1] ?? []]
  })
  for (let i = 0; i < m; i++) {
    const list = [outs[i].form, forms[i]]
    const [now, was] = list.map(({ shape, dtype }) => `${list.some((v) => !Array.isArray(v.shape)) ? '' : written(shape)} ${dtype}`)
    if (now !== was) fail(`f gave ${now} for ${names[i]}, which is ${was}`)
  }
  return returned(form, given(w, 'scan', outs.map((t) => n === undefined ? { ...t.form, shape: open } : shaped(t.form, (s) => [n, ...s])), [all, ...wire, m, steps, back]))
}

const float = (t) => /f/.test(t.dtype)

/** What f gives, and how that changes while the inputs change along tangents. */
export function jvp(w, f, inputs, tangents) {
  plain('jvp', f)
  if (!Array.isArray(tangents) || tangents.length !== inputs.length) throw new TypeError(`jvp: tangents is ${describe(tangents)}; it must be an array with a tensor or null for each of ${inputs.length} inputs`)
  checked('jvp', tangents.filter((t) => t !== null), w)
  const { wire, outs, form } = traced(w, 'jvp', inputs.map((t) => t.form), (stands) => f(...stands))
  const changes = outs.filter(float)
  const all = given(w, 'jvp', [...outs, ...changes].map((t) => t.form), [inputs, ...wire, tangents])
  const rest = all.slice(outs.length).values()
  return [returned(form, all.slice(0, outs.length)), returned(form, outs.map((t) => float(t) ? rest.next().value : null))]
}

/** What f gives, and a function from gradients of that to gradients of the inputs. */
export function vjp(w, f, ...inputs) {
  plain('vjp', f)
  const forms = inputs.map((t) => t.form)
  const run = traced(w, 'vjp', forms, (stands) => f(...stands))
  const value = returned(run.form, given(w, 'vjp', run.outs.map((t) => t.form), [inputs, ...run.wire]))
  const pullback = (seeds) => {
    const again = traced(w, 'vjp', forms, (stands) => f(...stands))
    const list = outputs(w, 'vjp', seeds, true)
    if (list.length !== again.outs.length) throw new TypeError(`vjp: ${list.length} gradients came for ${again.outs.length} results`)
    const grads = given(w, 'vjp', inputs.filter(float).map((t) => t.form), [inputs, ...again.wire, list]).values()
    return inputs.map((t) => float(t) ? grads.next().value : null)
  }
  return [value, pullback]
}

// f, carried out in a way of the engine's.
const wrapped = (w, name, f, more) => (...args) => {
  const { inputs, within } = taken(args)
  checked(name, inputs, w)
  const { wire, outs, form } = traced(w, name, inputs.map((t) => t.form), (stands) => f(...within(stands)))
  return returned(form, given(w, name, outs.map((t) => t.form), [inputs, ...wire, ...more(inputs, outs)]))
}

/** f, whose results inside are computed again when a gradient needs them instead of being kept. */
export const checkpoint = (w, f) => wrapped(w, 'checkpoint', plain('checkpoint', f), () => [])

// A gradient that a page states, as the engine gets it; nothing where it states none.
function stated(w, name, gradient, inputs, outs) {
  if (!gradient) return []
  const forms = [...inputs, ...outs, ...outs].map((t) => t.form)
  const [n, m] = [inputs.length, outs.length]
  return traced(w, name, forms, (stands) => {
    const grads = gradient(stands.slice(0, n), stands.slice(n, n + m), stands.slice(n + m))
    if (!Array.isArray(grads) || grads.length !== n) throw new TypeError(`${name}: gradient gave ${describe(grads)}; it must give an array with a tensor or null for each of ${n} arguments`)
    return grads
  }, true).wire
}

/** f as a node with a name, and perhaps with a gradient of its own. */
export const named = (w, name, f, { gradient } = {}) => wrapped(w, 'function', plain('function', f), (inputs, outs) => [name, ...stated(w, 'function', gradient, inputs, outs)])

const ones = (n) => Array(n).fill(1)

// What the body of a kernel is written with: numbers are tensors, whose last axes are those of the result.
class Kernel {
  #w
  #shape
  #inputs
  #next

  constructor(w, shape, inputs) {
    this.#w = w
    this.#shape = shape
    this.#inputs = inputs
    this.#next = shape.length + 1
  }

  #make(name, args, form) { return this.#w.record(name, 1, args, undefined, [form])[0] }

  /** The index of the result's element on an axis. */
  at(axis) {
    if (!(axis in this.#shape)) throw new RangeError(`at: axis is ${describe(axis)}; the result has ${this.#shape.length} axes`)
    return this.#make('kernelAt', [axis], { shape: [this.#shape[axis], ...ones(this.#shape.length - axis - 1)], dtype: 'i32' })
  }

  /** A new index 0 … n−1, to be reduced over. */
  range(n) {
    if (!Number.isInteger(n) || n < 0) throw new RangeError(`range: n is ${describe(n)}; it must be an integer of at least 0`)
    return this.#make('kernelRange', [n], { shape: [n, ...ones(this.#next++ - 1)], dtype: 'i32' })
  }

  /** The element of an argument at an index, 0 outside. */
  load(argument, ...index) {
    const x = this.#inputs[argument]
    if (!x) throw new RangeError(`load: argument is ${describe(argument)}; the kernel has ${this.#inputs.length} arguments`)
    index.forEach((v, i) => new Call('load', this.#w).param({ name: `index ${i}`, kind: 'operand' }, v))
    const all = index.filter(isTensor)
    const shape = all.length ? all.reduce((a, b) => ({ form: infer('add', [a, b], 1)[0], w: this.#w })).form.shape : []
    return this.#make('kernelLoad', [argument, index], { shape, dtype: x.dtype })
  }

  #reduce(how, v, ranges) {
    checked(how, [v, ...ranges], this.#w)
    const shape = v.shape
    for (const r of ranges) {
      while (shape.length < r.shape.length) shape.unshift(1)
      shape[shape.length - r.shape.length] = 1
    }
    const [{ dtype }] = infer(how, [v], 1)
    return this.#make('kernelReduce', [how, v, ranges], { shape, dtype })
  }

  /** Adds over ranges. */
  sum(v, ...ranges) { return this.#reduce('sum', v, ranges) }

  /** The largest over ranges. */
  max(v, ...ranges) { return this.#reduce('max', v, ranges) }

  /** Multiplies over ranges. */
  prod(v, ...ranges) { return this.#reduce('prod', v, ranges) }
}

/** A kernel of one's own: body says what one element of the result is. */
export function custom(w, name, shape, body, inputs, { gradient } = {}) {
  plain('custom', body)
  const { wire, outs } = traced(w, 'custom', [], () => body(new Kernel(w, shape, inputs)))
  if (outs.length !== 1) throw new TypeError(`custom: the body gave ${outs.length} tensors; it must give one`)
  const form = { shape: [...shape], dtype: outs[0].dtype }
  return given(w, 'custom', [form], [inputs, ...wire, name, shape, ...stated(w, 'custom', gradient, inputs, [{ form }])])[0]
}

/** A kernel of one's own as text in WGSL; same is what it computes in operations of tensors. */
export function customUnsafe(w, name, results, inputs, { wgsl, threads, group = 0, same, gradient } = {}) {
  if (!wgsl || !threads) throw new TypeError('customUnsafe: the options lack wgsl, the text of the kernel, or threads, how many workgroups run it')
  const forms = results.map(({ shape = [], dtype = 'f32' }) => ({ shape: [...shape], dtype }))
  const own = same ? traced(w, 'customUnsafe', inputs.map((t) => t.form), (stands) => plain('customUnsafe', same)(...stands)).wire : []
  return given(w, 'customUnsafe', forms, [inputs, name, forms.map((f) => f.shape), forms.map((f) => f.dtype), wgsl, threads, group, !!same, ...own,
    ...stated(w, 'customUnsafe', gradient, inputs, forms.map((form) => ({ form })))])
}

/** Random numbers that follow from a seed of their own. */
export class Generator {
  constructor(w, seed) {
    this.w = w
    this.ref = w.number()
    this.seed(seed)
  }

  /** Restarts the numbers. */
  seed(n) {
    there(this, 'seed').param({ name: 'n', kind: 'int', low: 0, high: 2 ** 32 - 1 }, n)
    this.w.watch('seed', () => this.w.call('generator', [n], { outs: [this], as: 'seed' })).catch(() => {})
  }

  dispose() { this.w.forget(this) }
}

for (const name of ['attention', 'rand', 'randn', 'uniform', 'normal', 'scaledUniform', 'glorotUniform', 'kaimingUniform', 'kaimingNormal', 'randint', 'randPerm', 'randomBits', 'randLike', 'randnLike']) {
  Generator.prototype[name] = function (...args) { return drawn(this, name, methods.Weft[name], args, args) }
}
for (const name of ['dropout', 'channelDropout', 'alphaDropout', 'rrelu', 'bernoulli', 'gumbelSoftmax', 'categorical', 'multinomial']) {
  Generator.prototype[name] = function (x, ...args) {
    checked(name, [x], this.w)
    return drawn(this, name, methods.Tensor[name], args, [x, ...args])
  }
}

// A call of a method of a generator that was not disposed of.
function there(g, name) {
  const call = new Call(name, g.w)
  if (g.gone) call.fail(`this generator ${g.gone}`)
  return call
}

function drawn(g, name, row, args, all) {
  there(g, name).check(row, args)
  return g.w.record('from', 1, [g, name, all], undefined, infer(name, all, 1))[0]
}

// Functions of functions: gradients, and captured functions that are recorded anew for each form of their arguments.

import { isTensor, leaves, mapTree } from './tree.js'

const asynchronous = (f) => Object.prototype.toString.call(f) === '[object AsyncFunction]'

/** The values and gradients of f, a function of tensors or trees of them that gives a scalar, by the arguments whose places are named. */
export function valueAndGrad(f, { argnums = 0 } = {}, name = 'valueAndGrad') {
  return (...args) => {
    const places = [argnums].flat()
    const ws = places.map((n) => leaves(args[n]).map((l) => l.tensor))
    const missing = ws.findIndex((list) => list.length === 0)
    if (missing >= 0) throw new TypeError(`${name}: argument ${places[missing]} holds no tensors to differentiate by`)
    const value = f(...args)
    if (!isTensor(value)) throw new TypeError(`${name}: the function must give a tensor${value instanceof Promise ? '; it may not be async' : ''}`)
    const all = ws.flat()
    const grads = new Map(value.grad(all).map((g, i) => [all[i], g]))
    const trees = places.map((n) => mapTree(args[n], (t) => grads.get(t)))
    return [value, Array.isArray(argnums) ? trees : trees[0]]
  }
}

/** The gradients alone. */
export function grad(f, options) {
  const both = valueAndGrad(f, options, 'grad')
  return (...args) => both(...args)[1]
}

const usual = 16 // recorded forms that are kept

/** f, captured for each combination of shapes, types and of what else its arguments hold; those that were used longest ago are
 *  forgotten. f may take and give trees of tensors. */
export function jit(w, f, { most = usual } = {}) {
  if (asynchronous(f)) throw new TypeError('jit: the function is async; it only records, so write it without async and await')
  const kept = new Map()
  const run = async (...args) => {
    const inputs = leaves(args).map((l) => l.tensor)
    const forms = await Promise.all(inputs.map(formOf))
    const key = JSON.stringify([args, forms], (_, v) => isTensor(v) ? `#${inputs.indexOf(v)}` : typeof v === 'number' ? { number: `${v}` } : typeof v === 'function' ? refuse() : v)
    let one = kept.get(key)
    if (one) kept.delete(key) // and comes last again
    else one = recorded(args, inputs)
    kept.set(key, one)
    for (const [k, old] of kept) {
      if (kept.size <= most) break
      kept.delete(k)
      old.captured.dispose()
    }
    let out
    try {
      out = await one.captured.run(...inputs)
    } catch (e) {
      if (kept.get(key) === one) kept.delete(key) // it may not have been recorded
      throw e
    }
    const tensors = [out ?? []].flat()
    return mapTree(one.result, (t) => tensors[one.places.get(t)])
  }
  const recorded = (args, inputs) => {
    const one = {}
    one.captured = w.capture((...stands) => {
      one.result = f(...mapTree(args, (t) => stands[inputs.indexOf(t)]))
      const outs = leaves([one.result]).map((l) => l.tensor)
      one.places = new Map(outs.map((t, i) => [t, i]))
      return outs.length ? outs : undefined
    })
    return one
  }
  const refuse = () => { throw new TypeError('jit: a function is among the arguments; close over it instead') }
  return Object.assign(run, {
    /** Forgets all that was recorded. */
    dispose() {
      for (const { captured } of kept.values()) captured.dispose()
      kept.clear()
    },
    /** How many forms are kept. */
    get size() { return kept.size },
  })
}

const forms = new WeakMap() // of tensors whose shape and type were asked for; assignments change neither

function formOf(t) {
  let form = forms.get(t)
  if (!form) forms.set(t, form = Promise.all([t.shape(), t.dtype()]).catch((e) => { forms.delete(t); throw e }))
  return form
}

// Captured functions that are recorded anew for each form of their arguments.

import { isSize, isTensor, leaves, mapTree } from './tree.js'

const usual = 16 // recorded forms that are kept

/** f, captured for each combination of shapes, types and of what else its arguments hold; those that were used longest ago are
 *  forgotten. f may take and give trees of tensors. */
export function forms(w, f, { most = usual } = {}) {
  const kept = new Map()
  const run = async (args) => {
    let inputs = leaves(args).map((l) => l.tensor)
    if (inputs.some((t) => !Array.isArray(t.form.shape))) {
      args = mapTree(args, (t) => t.detach()) // as they are now, and not when the engine has told their shapes
      inputs = leaves(args).map((l) => l.tensor)
      await Promise.all(inputs.map((t) => t.told('jit')))
    }
    const shapes = inputs.map((t) => t.form)
    const key = JSON.stringify([args, shapes], (_, v) => isSize(v) ? { size: v.plus(0).terms.map((t) => [t.name, t.low, t.high, t.times]), base: v.base } : isTensor(v) ? `#${inputs.indexOf(v)}` : typeof v === 'number' ? { number: `${v}` } : typeof v === 'function' ? { f: nameOf(v) } : v)
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
      out = await one.captured.run(...inputs, ...args.filter((v) => isSize(v)))
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
  const dispose = () => {
    for (const { captured } of kept.values()) captured.dispose()
    kept.clear()
  }
  return { run, dispose, kept }
}

const names = new WeakMap() // of functions among arguments, such as those between layers
let last = 0

function nameOf(f) {
  if (!names.has(f)) names.set(f, ++last)
  return names.get(f)
}

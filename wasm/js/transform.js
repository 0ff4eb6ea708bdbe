// Functions of functions: gradients. Captures by the form of arguments are in jit.js, which is loaded at their first call.

import { isTensor, leaves, mapTree } from './tree.js'

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

/** f, captured for each form of its arguments. */
export function jit(w, f, options) {
  if (Object.prototype.toString.call(f) === '[object AsyncFunction]') throw new TypeError('jit: the function is async; it only records, so write it without async and await')
  let forms
  const loaded = async () => forms ??= (await import('./jit.js')).forms(w, f, options)
  const run = (...args) => w.watch('jit', async () => {
    if (!forms) args = mapTree(args, (t) => t.detach()) // as they are now, and not when that is loaded
    return (forms ?? await loaded()).run(args)
  })
  run.dispose = () => forms?.dispose()
  Object.defineProperty(run, 'size', { get: () => forms?.kept.size ?? 0 })
  return run
}

// Files of captured functions, written and read. Loaded on demand.

import { blobOf } from './files.js'
import { Elements } from './wire.js'

// The engine that pages open at first cannot read and write files of functions, so that it stays small.
function able(w, as) {
  if (w.module === 'weft.wasm') throw new Error(`${as}: the engine that is open is the small one, which knows no files of functions; open({ whole: true }) opens one that does`)
}

const only = 'main' // the name of a function that was saved by itself
const usual = (names) => names.every((n, i) => n === `out${i}`)

// Where tensors stand in what a function returned, as names in a file: "loss", "layers[0].w".
function places(form, path = '', out = []) {
  if (form === null) out.push(path)
  else if (Array.isArray(form)) form.forEach((v, i) => places(v, `${path}[${i}]`, out))
  else for (const [key, v] of Object.entries(form)) places(v, path + (/^[^.[\]"]+$/.test(key) && !/^out\d+$/.test(key) ? `${path && '.'}${key}` : `[${JSON.stringify(key)}]`), out)
  return out
}

// What places made names of. A name is not believed: of one that leads nowhere there is an error.
function formOf(names) {
  if (usual(names)) return names.length === 0 ? undefined : names.length === 1 ? null : names.map(() => null)
  const top = {}
  for (const name of names) {
    const fail = () => { throw new Error(`loadFunctions: a result is called ${JSON.stringify(name)}, which is no place among the others`) }
    const steps = [...name.matchAll(/\.?([^.[\]"]+)|\[(\d+|"(?:[^"\\]|\\.)*")\]/gy)]
    if (steps.reduce((n, [all]) => n + all.length, 0) !== name.length || steps.length > 64) fail()
    let [at, key] = [top, 'all']
    for (const [, word, index] of steps) {
      const next = index?.[0] !== '"' ? index : undefined
      const there = at[key] ?? (at[key] = next !== undefined ? [] : {})
      if (there === null || Array.isArray(there) !== (next !== undefined) || next !== undefined && +next > there.length) fail()
      const k = next !== undefined ? +next : word ?? JSON.parse(index)
      if (!Object.hasOwn(there, k)) Object.defineProperty(there, k, { value: undefined, writable: true, enumerable: true, configurable: true })
      ;[at, key] = [there, k]
    }
    if (at[key] !== undefined) fail()
    at[key] = null
  }
  return top.all
}

/** The bytes of a file with captured functions by their names. */
export async function save(w, functions, as) {
  able(w, as)
  const list = []
  for (const [name, f] of Object.entries(functions)) {
    const fail = (why) => { throw new TypeError(`${as}: ${as === 'save' ? 'the function' : JSON.stringify(name)} ${why}`) }
    if (typeof f?.run !== 'function' || !('launches' in f || 'f' in f)) fail('is no captured function; w.capture makes one')
    if (f.w !== w) fail('is of another engine')
    if (f.gone) fail(f.gone)
    if (!f.ready) fail('has not run yet, so nothing is recorded of it; let it run once before')
    await f.ready
    const names = places(f.form ?? [])
    const flat = f.form === null || Array.isArray(f.form) && f.form.length !== 1 && f.form.every((v) => v === null)
    const given = f.names ?? (flat ? undefined : [f.takes.map((_, i) => `in${i}`), names])
    list.push(given ? [name, f, ...given] : [name, f])
  }
  if (!list.length) throw new TypeError(`${as}: there is no function to save`)
  return (await w.call('saveFunctions', [list], { as })).data
}

/** The captured functions of a file by their names. */
export async function load(w, from, { signal } = {}, as = 'loadFunctions') {
  able(w, as)
  const blob = await blobOf(w, from, signal, as)
  const holder = { ref: w.number() }
  const { functions, states } = await w.call('loadFunctions', [new Elements('u8', blob)], { outs: [holder], as })
  const assigned = states.map((form) => w.own(form))
  const out = {}
  for (const { name, inputs, results, states, launches } of functions) {
    const f = w.capture(() => {})
    f.ref = w.number()
    f.ready = Promise.resolve()
    f.forms = results.map(({ shape, dtype }) => ({ shape: shape ?? 'varies with its variables', dtype }))
    f.form = formOf(results.map((r) => r.name))
    f.names = [inputs, results].map((list) => list.map((one) => one.name))
    Object.assign(f, { inputs, results, launches, takes: inputs, captured: true, states: states.map((i) => assigned[i]) })
    Object.defineProperty(out, name, { value: f, writable: true, enumerable: true, configurable: true })
  }
  await w.call('takeFunctions', [holder], { outs: [...functions.map(({ name }) => out[name]), ...assigned], as })
  return out
}

/** The captured function of a file that has one. */
export async function loadOne(w, from, options) {
  const all = await load(w, from, options, 'loadCaptured')
  const names = Object.keys(all)
  if (names.length === 1 && names[0] === only) return all[only]
  for (const f of Object.values(all)) f.dispose()
  throw new Error(`loadCaptured: the file has the functions ${names.join(', ')}; load it with loadFunctions`)
}

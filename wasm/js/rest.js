// The rest of the engine. weft.wasm has the functions that a first result needs; rest.wasm has the others, which share its memory, table and
// globals. Whoever calls the first of these has the rest put in place, and a worker that waits for nothing loads it before. A worker may wait for
// a file without letting go of what it does, so the engine notices nothing but the time.

import { anew, load, other } from './module.js'

const name = 'rest.wasm'

let first // what the engine's first part shares
let address
let module // the rest, compiled
let arriving
let told // what hears that the rest is in place

/** Says what the rest belongs to, where it lies, what of it is there already, and what is called when it is in place. Gives whether there is a rest: the
 *  engine of another build may be whole. */
export function begin(exports, where, compiled, placed) {
  first = exports
  told = placed
  address = where
  module = compiled
  return !!first.table
}

const missing = () => first.table && !module

/** Loads the rest beside what goes on, and says whether it is there. */
export async function ahead() {
  try {
    if (missing()) module = await (arriving ??= load(address, name))
    return true
  } catch { // whoever needs it asks again, and is told
    arriving = null
    return false
  }
}

function loaded() {
  const asked = new XMLHttpRequest()
  asked.open('GET', address, false)
  asked.responseType = 'arraybuffer'
  asked.send()
  if (asked.status !== 200) throw new Error(`${asked.status} ${asked.statusText}`.trim())
  return new WebAssembly.Module(asked.response)
}

/** Puts the rest in place. The engine calls it, in place of a function that is there. */
export function rest() {
  if (!first.table) return
  try {
    if (missing()) {
      postMessage({ waited: true })
      module = loaded()
    }
    new WebAssembly.Instance(module, { first }) // which fills the table, and says that it did
    told()
  } catch (e) {
    const dead = `${address} ${e instanceof WebAssembly.LinkError ? `${other} weft.wasm; ${anew}` : `cannot be loaded: ${e.message}`}`
    postMessage({ dead })
    throw new Error(dead) // which Node tells first
  }
}

// The module of the engine: from its address to one that is compiled, while it arrives. The page asks for it when it starts the worker,
// so that neither waits for the other.

import { reach } from './start.js'

const sizes = {} // bytes of the modules by their names, which the build writes here: a compressed answer does not say

const builds = {} // what a section of each says, which the build writes here too

/** Whether a module is of the build of this script. */
export function fits(module) {
  const ids = Object.values(builds)
  const [section] = WebAssembly.Module.customSections(module, 'build')
  return !ids.length || !!section && ids.includes(String.fromCharCode(...new Uint8Array(section)))
}

/** Whether there is a module of this name: without Node the build makes an engine of one part. */
export const isThere = (name) => name in sizes

// Tells how much of an answer has arrived. The browser keeps compiled code only of the answer itself, so this reads a copy.
async function told(response, name, progress) {
  const total = sizes[name] || Number(response.headers.get('content-length') ?? 0)
  let loaded = 0
  for (const reader = response.clone().body.getReader(); ;) {
    const { done, value } = await reader.read()
    if (done) return
    loaded += value.length
    progress({ loaded, total })
  }
}

export const other = 'is of another build than'
export const anew = 'load the page anew, and see to it that all come from one build'

/** The module of a name at an address, compiled. progress hears of {loaded, total}, in bytes. */
export async function load(address, name, progress) {
  let response
  try {
    response = await reach(address)
    const type = response.headers.get('content-type') ?? ''
    if (!response.ok || type.startsWith('text/html')) throw null
    if (progress) told(response, name, progress).catch(() => {}) // what fails is told below
    const module = type.split(';')[0].trim() === 'application/wasm' ? await WebAssembly.compileStreaming(response)
      : await WebAssembly.compile(await response.arrayBuffer()) // hosts that do not know what it is
    if (!fits(module)) throw new Error(`${address} ${other} weft.js and worker.js; ${anew}`)
    return module
  } catch (e) {
    throw new Error((await import('./explain.js')).unloaded(address, name, response, e))
  }
}

// Captured functions as folders of files that run in any page without the engine, as package export of Go writes them. The page's engine says what the
// functions are; the engine of models, which is loaded for that, writes the files. Loaded on demand.
//
//   import { exportFunctions, write } from '@weft-ml/weft/export'
//   const files = await exportFunctions({ predict, train }, { weights: 'f16' })   // Uint8Arrays by names: 'model.json', 'player/model.js', …
//   await write(files, await showDirectoryPicker({ mode: 'readwrite' }))              // in Node: write(files, 'folder')

import { save } from './saved.js'
import { visit } from './tree.js'

const described = (v) => (v === null ? 'null' : typeof v)

// The names of results that a function returned in an object: 'loss', 'parts.0'. What it returned in an array, or alone, keeps the names out0, out1, …
function named(form) {
  const names = []
  if (form === null || form === undefined || Array.isArray(form)) return null
  visit(form, (_, path) => names.push(path.slice(1).replace(/\[(\d+)\]/g, '.$1')))
  return new Set(names).size === names.length ? names : null
}

/**
 * The files of a folder with captured functions by their names; each has run once, or is {function, inputs, results} with names for its inputs and
 * results. Tensors that several of them use are one there too.
 */
export async function exportFunctions(functions, options = {}) {
  if (typeof functions !== 'object' || functions === null) throw new TypeError(`exportFunctions: functions is ${described(functions)}; it must be an object of captured functions by their names`)
  const all = Object.entries(functions).map(([name, f]) => [name, f?.function ? f : { function: f }])
  const w = all[0]?.[1].function?.w
  if (!w?.writer) throw new TypeError('exportFunctions: there is no captured function; w.capture makes one')
  const file = await save(w, Object.fromEntries(all.map(([name, f]) => [name, f.function])), 'export')
  const names = all.map(([name, f]) => [name, f.inputs ?? null, f.results ?? named(f.function.form)])
  const writer = w.writer('export')
  const set = Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)) // the engine refuses what it does not know
  const { files } = await writer.call('export', [file, { ...set, names }], { as: 'export' })
  return files
}

/** The files of a folder with one captured function, called main or options.name. */
export function one(f, { name = 'main', inputs, results, ...options } = {}) {
  return exportFunctions({ [name]: { function: f, inputs, results } }, options)
}

/** Writes files to a folder: to a FileSystemDirectoryHandle, or in Node to a path. */
export async function write(files, folder) {
  if (typeof folder?.getDirectoryHandle === 'function') {
    for (const [name, bytes] of Object.entries(files)) {
      const parts = name.split('/')
      let at = folder
      for (const part of parts.slice(0, -1)) at = await at.getDirectoryHandle(part, { create: true })
      const to = await (await at.getFileHandle(parts.at(-1), { create: true })).createWritable()
      await to.write(bytes)
      await to.close()
    }
    return
  }
  const fs = globalThis.process?.getBuiltinModule?.('node:fs/promises')
  if (!fs || typeof folder !== 'string' && !(folder instanceof URL)) throw new TypeError(`write: folder is ${described(folder)}; it must be the handle of a folder, or in Node a path`)
  const path = globalThis.process.getBuiltinModule('node:path')
  const root = folder instanceof URL ? globalThis.process.getBuiltinModule('node:url').fileURLToPath(folder) : folder
  for (const [name, bytes] of Object.entries(files)) {
    const to = path.join(root, name)
    await fs.mkdir(path.dirname(to), { recursive: true })
    await fs.writeFile(to, bytes)
  }
}

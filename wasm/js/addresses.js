// Where the files of the engine lie, and what addresses are relative to.

// Bundlers look for these words: they take the files along and write their new addresses here. They do not look into worker.js, which
// in the package is one file for this reason.
const beside = {
  'worker.js': () => new URL('./worker.js', import.meta.url),
  'weft.wasm': () => new URL('./weft.wasm', import.meta.url),
  'rest.wasm': () => new URL('./rest.wasm', import.meta.url),
  'whole.wasm': () => new URL('./whole.wasm', import.meta.url),
  'models.wasm': () => new URL('./models.wasm', import.meta.url),
}

/** What relative addresses are relative to. */
export function base() {
  const { document, location, process } = globalThis // bundlers put something else in the place of a bare process
  return document?.baseURI ?? location?.href ?? process.getBuiltinModule('node:url').pathToFileURL(`${process.cwd()}/`).href
}

/** The address of a file of the engine; folder is where they lie if not beside this script. */
export function addressOf(name, folder) {
  if (folder === undefined) return beside[name]().href
  return new URL(name, new URL(`${folder}`.replace(/\/?$/, '/'), base())).href
}

// What keeps a worker from starting, in words. It is loaded when one did not start.

import { foreign, reach } from './start.js'

const hint = "copy worker.js, weft.wasm, rest.wasm, whole.wasm and models.wasm of the package into a folder of your site and name it: open({ folder: '/weft/' })"

/** Why a worker did not start whose browser does not say it, and what to do. */
export async function explain(address) {
  let type
  try {
    const response = await reach(address)
    response.body?.cancel()
    type = response.headers.get('content-type') ?? ''
    if (!response.ok) return left(address, `cannot be loaded: ${response.status} ${response.statusText}`.trim())
  } catch (e) {
    return left(address, `cannot be reached: ${e.message}`)
  }
  if (!/(java|ecma)script/.test(type)) return left(address, `is no script, but ${type || 'something without a type'}`)
  const from = new URL(address).origin
  return foreign(address)
    ? `${address} is there, but the page may not run it: if it has a content security policy, let that say worker-src blob: ${from}; script-src ${from} 'wasm-unsafe-eval'; connect-src ${from}; or ${hint}`
    : `${address} is there, but the page may not run it: if it has a content security policy, let that say worker-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'`
}

function left(address, why) {
  const remedy = /\/\.vite\/deps\//.test(address) ? "let vite.config.js say optimizeDeps: { exclude: ['@weft-ml/weft'] }" : `where a bundler left it behind, ${hint}`
  return `${address} ${why}; ${remedy}`
}

// What keeps a worker from starting, or a module from being loaded, in words. It is loaded when that happened.

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
    return left(address, `cannot be reached: ${e.message}; ${policy(address)}`)
  }
  if (!/(java|ecma)script/.test(type)) return left(address, `is no script, but ${type || 'something without a type'}`)
  return foreign(address) ? `${address} is there, but the page may not run it: ${policy(address)}; or ${hint}` : `${address} is there, but the page may not run it: ${policy(address)}`
}

// What a policy has to say.
function policy(address) {
  const from = new URL(address).origin
  const says = foreign(address) ? `worker-src blob: ${from}; script-src ${from} 'wasm-unsafe-eval'; connect-src ${from}` : "worker-src 'self'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'"
  return `if the page has a content security policy, let that say ${says}`
}

/** Why the module of a name did not come: response is what came, or undefined, and e what was thrown. */
export function unloaded(address, name, response, e) {
  if (!response) return `${address} cannot be reached: ${e.message}; ${policy(address)}`
  if (e) return /unsafe-eval|security policy|\bCSP\b/i.test(e.message) ? `${address} is there, but the page may not run it: ${policy(address)} (${e.message})` : e.message
  const why = response.ok ? `is no module, but ${response.headers.get('content-type')}` : `cannot be loaded: ${response.status} ${response.statusText}`.trim()
  return `${address} ${why}; ${name} belongs where worker.js lies: copy it there, or name the folder that has both: open({ folder: '/weft/' })`
}

function left(address, why) {
  const remedy = /\/\.vite\/deps\//.test(address) ? "let vite.config.js say optimizeDeps: { exclude: ['@weft-ml/weft'] }" : `where a bundler left it behind, ${hint}`
  return `${address} ${why}; ${remedy}`
}

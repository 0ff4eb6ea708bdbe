// How workers are started: in a page of their own origin or of another one, under a policy of trusted types, in Node. It knows
// addresses and workers; it refuses to know the engine.

import { base } from './addresses.js'

const hint = "copy worker.js, weft.wasm and whole.wasm of the package into a folder of your site and name it: open({ folder: '/weft/' })"

let node = null // what Node lacks: node.js

/** Sees to it that there are workers. */
export async function prepare() {
  if (globalThis.Worker || node) return
  if (!globalThis.process?.getBuiltinModule) throw new Error('open: there are no workers here; Weft runs in pages, workers, Deno, Bun, and Node from 20.16 on')
  node = (await import('./node.js')).node()
}

/** fetch, which in Node reads files as well. */
export const reach = (address, init) => (node?.fetch ?? fetch)(new URL(address, base()), init)

let policy

// An address as pages with trusted types want it. Where the policy may not be made, plain words may do.
function trusted(address) {
  try {
    policy ??= globalThis.trustedTypes?.createPolicy('weft', { createScriptURL: (s) => s })
  } catch { /* startWorker tells it, if it matters */ }
  return policy?.createScriptURL(address) ?? address
}

const foreign = (address) => typeof globalThis.origin === 'string' && /^https?:/.test(address) && new URL(address).origin !== globalThis.origin

/** Starts a worker. A script of another origin may not be one, but a script of ours may import it. */
export function startWorker(address, name) {
  const { Worker } = node ?? globalThis
  const own = foreign(address) ? URL.createObjectURL(new Blob([`import ${JSON.stringify(address)}`], { type: 'text/javascript' })) : address
  try {
    return new Worker(trusted(own), { type: 'module', name })
  } catch (e) {
    if (!/TrustedScriptURL/.test(e.message)) throw e
    throw new Error(`the page's content security policy keeps the worker from being started; let it say trusted-types weft 'allow-duplicates' (${e.message})`)
  }
}

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

// How workers are started: in a page of their own origin or of another one, under a policy of trusted types, in Node. It knows
// addresses and workers; it refuses to know the engine.

import { base } from './addresses.js'

let node = null // what Node lacks: node.js

/** Sees to it that there are workers. */
export async function prepare() {
  if (globalThis.Worker || node) return
  if (!globalThis.process?.getBuiltinModule) throw new Error('open: there are no workers here, as in shared and service workers of Chromium; Weft runs in pages, dedicated workers, Deno, Bun, and Node from 20.16 on')
  node = (await import('./node.js')).node()
}

/** Whether the workers are those of Node, which cannot wait for a file, whatever the page has. */
export const isNode = () => !!node

/** fetch, which in Node reads files as well. */
export async function reach(address, init) {
  await prepare()
  return (node?.fetch ?? fetch)(new URL(address, base()), init)
}

let policy

// An address as pages with trusted types want it. Where the policy may not be made, plain words may do.
function trusted(address) {
  try {
    policy ??= globalThis.trustedTypes?.createPolicy('weft', { createScriptURL: (s) => s })
  } catch { /* startWorker tells it, if it matters */ }
  return policy?.createScriptURL(address) ?? address
}

/** Whether an address is of another origin than the page. */
export const foreign = (address) => typeof globalThis.origin === 'string' && /^https?:/.test(address) && new URL(address).origin !== globalThis.origin

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

// What Node lacks of what pages and workers have: workers with a page's face, and fetch for files. Only Node loads it.

/**
 * Gives { Worker, fetch }. The text of this function is also what each worker begins with, so it uses nothing from around it; there
 * enter gives the worker the names that it would have in a page, and imports its script by what it is given: bundlers would look into an import here.
 */
export function node() {
  const { process } = globalThis // bundlers put something else in the place of a bare one
  const threads = process.getBuiltinModule('node:worker_threads')
  const web = globalThis.fetch

  class Worker {
    onmessage = null
    onerror = null
    #thread

    constructor(address, { name } = {}) {
      this.#thread = new threads.Worker(`(${node})().enter((address) => import(address))`, { eval: true, name, workerData: { address: `${address}`, name } })
      this.#thread.on('message', (data) => this.onmessage?.({ data }))
      for (const event of ['error', 'messageerror']) this.#thread.on(event, (e) => this.onerror?.(e))
      this.#thread.unref()
    }

    postMessage(message, transfer) { this.#thread.postMessage(message, transfer) }

    // Only a program that waits for the worker waits for its end.
    ref() { this.#thread.ref() }
    unref() { this.#thread.unref() }
    terminate() { this.#thread.terminate() }
  }

  // A file, or the part of it that is asked for, as a server would give it.
  async function fetch(address, init = {}) {
    const url = new URL(address.url ?? address)
    if (url.protocol !== 'file:') return web(address, init)
    init.signal?.throwIfAborted()
    const { open } = process.getBuiltinModule('node:fs/promises')
    const { Readable } = process.getBuiltinModule('node:stream')
    const file = await open(url).catch((e) => { if (e.code !== 'ENOENT') throw e })
    if (!file) return new Response(null, { status: 404, statusText: 'there is no such file' })
    const { size } = await file.stat()
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(new Headers(init.headers).get('range')) ?? []
    const [start, end] = [Number(from ?? 0), Math.min(to ? Number(to) + 1 : size, size)]
    const type = { js: 'text/javascript', wasm: 'application/wasm' }[url.pathname.split('.').at(-1)] ?? 'application/octet-stream'
    const headers = { 'content-type': type, 'content-length': Math.max(end - start, 0), ...from && { 'content-range': `bytes ${start}-${end - 1}/${size}` } }
    if (from && start >= size || size === 0) {
      await file.close()
      return new Response(null, { status: from ? 416 : 200, headers: { 'content-type': type } })
    }
    const stream = file.createReadStream({ start, end: end - 1, signal: init.signal })
    return new Response(Readable.toWeb(stream), { status: from ? 206 : 200, headers })
  }

  async function enter(script) {
    const { parentPort, workerData: { address, name } } = threads
    Object.assign(globalThis, { self: globalThis, name, Worker, fetch, onmessage: null })
    globalThis.postMessage = (message, transfer) => parentPort.postMessage(message, transfer)
    globalThis.navigator ??= { userAgent: `Node.js/${process.versions.node}`, hardwareConcurrency: process.getBuiltinModule('node:os').availableParallelism() }
    await script(address)
    parentPort.on('message', (data) => globalThis.onmessage?.({ data }))
  }

  return { Worker, fetch, enter }
}

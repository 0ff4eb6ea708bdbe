// The player of exported functions: it loads a folder that weft export wrote and runs what is in it, without the engine. It knows
// files, arrays and plans; what plays plans on a device is imported when it is needed: processor.js (WebAssembly) or player.js (WebGPU).
//
//   import { load } from './folder/player/model.js'
//   const model = await load('./folder/')
//   const { probabilities } = await model.run('predict', { images })   // { data, shape, dtype }

import { ModelError, TYPES, count, counted, elements, fail, lengthen, own, sizeOf, sum, threefry, variable } from './elements.js'

export { ModelError }

/** The newest version of folders that this player plays; it plays all before it. */
export const version = 2

const SAVED = 1 // the version of what save gives

const SLOT = 0 // kinds of arguments of a plan, as in package engine
const KEPT = 1
const CONSTANT = 3

// The bytes at an address, with how many of them came told to progress. Node fetches no files, so there they are read.
async function bytesAt(url, { fetch = globalThis.fetch, signal, progress }) {
  if (url.protocol === 'file:') {
    const name = 'node:fs/promises' // not looked for by bundlers
    const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ name)
    return new Uint8Array(await readFile(url))
  }
  const response = await fetch(url, { signal })
  if (!response.ok) fail(`${url} cannot be loaded: ${response.status} ${response.statusText}`)
  if (!progress || !response.body) return new Uint8Array(await response.arrayBuffer())
  const parts = []
  let n = 0
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read()
    if (done) break
    parts.push(value)
    progress(n += value.length)
  }
  const all = new Uint8Array(n)
  n = 0
  for (const p of parts) {
    all.set(p, n)
    n += p.length
  }
  return all
}

const scripts = {
  wasm: () => import('./processor.js'),
  webgpu: () => import('./player.js').catch((e) => fail(`the player for WebGPU cannot be loaded: ${e.message}`)), // bundlers need not find it
}

const devices = {
  async wasm({ threads, start, kernels }) { // start makes the worker of a thread
    const { Processor } = await scripts.wasm()
    if (kernels) threads = 1 // they were compiled for a memory that is not shared
    const p = new Processor({ trusted, ...threads && { threads }, ...start && { start } })
    return {
      add: (module) => p.add(module),
      alloc: (n) => p.alloc(n), write: (at, bytes) => p.write(at, 0, bytes), read: async (at, n) => p.read(at, 0, n),
      load: async (plan) => p.load(plan), play: (plan, args, vars) => p.play(plan, args, vars), close: () => p.close(),
    }
  },
  async webgpu() {
    const { Player } = await scripts.webgpu()
    const p = new Player()
    const { name, software } = await p.open()
    const words = (n) => Math.max(4, Math.ceil(n / 4) * 4)
    return {
      name, software, alloc: (n) => p.alloc(words(n)),
      write(at, bytes) { // whole words
        const w = bytes.length % 4 ? new Uint8Array(words(bytes.length)) : bytes
        if (w !== bytes) w.set(bytes)
        if (w.length) p.write(at, 0, w)
      },
      read: async (at, n) => (await p.read(at, 0, words(n))).slice(0, n),
      load: (plan) => p.load(plan), play: (plan, args, vars) => p.play(plan, args, vars), close: () => p.close(), lose: () => p.lose(),
    }
  },
}

/**
 * Loads the folder at an address. Options: device ('wasm' or 'webgpu'; without it WebGPU where the browser has a graphics processor for
 * it and the folder has kernels for it), worker (true: it runs in a worker, beside the page, and where the page is cross-origin isolated on several
 * threads), threads (of WebAssembly, at most), onprogress(loaded, total) in bytes, signal, fetch in place of the global one, and kernels: the compiled
 * module of a folder whose kernels are a file of their own, where none may be compiled at run time, as in Cloudflare Workers.
 */
export async function load(folder, options = {}) {
  const path = String(folder).replace(/\/?$/, '/')
  // A whole address needs no other: an edge runtime has no place of its own, and what stands for process there may refuse to name one.
  const base = /^[a-z][a-z\d+.-]*:/i.test(path) ? new URL(path) : new URL(path, globalThis.document?.baseURI ?? globalThis.location?.href ?? `file://${globalThis.process?.cwd?.() ?? ''}/`)
  if (options.worker) return new Remote().load(base, options)
  const file = (name, progress) => bytesAt(new URL(name, base), { ...options, progress })
  scripts[options.device ?? (globalThis.navigator?.gpu ? 'webgpu' : 'wasm')]?.().catch(() => {}) // beside what follows; whoever needs it is told
  let info
  try {
    info = JSON.parse(new TextDecoder().decode(await file('model.json')))
  } catch (e) {
    if (e instanceof SyntaxError) fail(`${base}model.json is no JSON; give the folder that weft export wrote`)
    throw e
  }
  if (info?.format !== 'weft-export') fail(`${base}model.json is no exported function; give the folder that weft export wrote`)
  if (!(info.version >= 1 && info.version <= version)) fail(`this player plays folders up to version ${version}, and ${base} has version ${info.version}; take folder and player from one export`)
  const total = info.weights.bytes
  const fetched = async () => {
    const bytes = await file(info.weights.file, options.onprogress && ((n) => options.onprogress(n, total)))
    if (bytes.length !== total) fail(`${base}${info.weights.file} has ${bytes.length} bytes, not ${total}; copy the folder again`)
    return bytes
  }
  let first = fetched() // while the device is opened
  first.catch(() => {}) // told below
  const weights = () => {
    const now = first ?? fetched()
    first = null
    return now
  }
  const [device, kind] = await open(info, options)
  try {
    const of = info.devices[kind]
    const whole = async (f) => {
      const bytes = await file(f.file)
      if (bytes.length !== f.bytes || sum(bytes) !== f.sum) fail(`${base}${f.file} is damaged: its checksum differs; copy the folder again`)
      return bytes
    }
    const [plans, kernels] = await Promise.all([whole(of), of.kernels && (options.kernels ?? whole(of.kernels))])
    if (kernels) device.add(kernels)
    const model = new Model(info, kind, plans, weights, () => devices[kind](options))
    await model.start(device)
    return model
  } catch (e) {
    device.close()
    throw e
  }
}

// Opens a device that there are kernels for.
async function open(info, options) {
  const wanted = options.device ?? (options.kernels && 'wasm')
  if (wanted && !devices[wanted]) fail(`there is no device ${wanted}; name wasm or webgpu`)
  if (options.kernels && !(options.kernels instanceof WebAssembly.Module)) fail('the option kernels is a WebAssembly.Module; without it the folder\'s file is compiled')
  if (options.kernels && !info.devices[wanted]?.kernels) fail('the folder has no kernels in a file of their own for the option kernels; export it for WASM with its kernels apart')
  if (wanted && !info.devices[wanted]) fail(`the folder has no kernels for ${wanted}, but for ${Object.keys(info.devices)}; export it for that device`)
  if (info.devices.webgpu && wanted !== 'wasm' && (wanted || globalThis.navigator?.gpu || !info.devices.wasm)) {
    try {
      const gpu = await devices.webgpu(options)
      if (!gpu.software || wanted || !info.devices.wasm) return [gpu, 'webgpu']
      gpu.close() // a program on the processor, which WebAssembly uses better
    } catch (e) {
      if (wanted || !info.devices.wasm) throw e
    }
  }
  return [await devices.wasm(options), 'wasm']
}

/** A folder that was loaded. Runs take their turns. */
export class Model {
  #info
  #kind
  #plans
  #weights
  #reopen
  #device
  #arrays
  #functions
  #changed = false // an array was assigned since it was loaded or restored
  #generators
  #turn = Promise.resolve()

  constructor(info, kind, plans, weights, reopen) {
    this.#info = info
    this.#kind = kind
    this.#plans = plans
    this.#weights = weights
    this.#reopen = reopen
  }

  /** 'wasm' or 'webgpu'. */
  get device() { return this.#kind }

  /** The functions by name, with the names, types and shapes of their inputs and results, and their variables. */
  get functions() { return this.#info.functions }

  /** Puts everything onto a device; load does it. */
  async start(device) {
    this.#device = device
    const info = this.#info
    const weights = await this.#weights()
    this.#arrays = info.arrays.map((a, i) => {
      const bytes = weights.subarray(a.at, a.at + a.bytes)
      if (bytes.length !== a.bytes || sum(bytes) !== a.sum) fail(`array ${i} of ${info.weights.file} is damaged: its checksum differs; copy the folder again`)
      const at = device.alloc(a.n * sizeOf(a.dtype))
      device.write(at, a.form === 'exact' ? bytes : lengthen(bytes, a.n, a.form))
      return { ...a, where: at, version: 0 }
    })
    this.#generators ??= info.generators.map((g) => ({ ...g }))
    const before = this.#functions
    this.#functions = Object.create(null) // a name may be one that every object has
    for (const [name, f] of Object.entries(info.functions)) {
      const of = f[this.#kind]
      const room = (bytes) => device.alloc(bytes)
      const constant = ([at, bytes]) => {
        const where = room(bytes)
        device.write(where, this.#plans.slice(at, at + bytes))
        return where
      }
      const play = async (p) =>
        p && { args: p.args, vars: p.vars, constants: (p.constants ?? []).map(constant), plan: await device.load(this.#plans.slice(p.at, p.at + p.bytes)), seen: null }
      this.#functions[name] = {
        ...f, inputsAt: f.inputs.map((x) => room(count(x.shape) * sizeOf(x.dtype))), kept: of.kept.map(room),
        targetsAt: f.targets.map((t) => (t.dest < 0 ? room(t.n * sizeOf(t.dtype)) : 0)), run: await play(of.run), once: await play(of.once), ran: before?.[name].ran ?? f.ran,
      }
    }
    this.#changed = false
  }

  /**
   * Runs a function. inputs are typed arrays, (nested) arrays or numbers by name; options: vars (values of variables by name) and read (names of
   * the results that are wanted; all without it). Gives { data, shape, dtype } by name. What it assigns is assigned for later runs.
   */
  run(name, inputs = {}, options = {}) { return this.#next(() => this.#safely(() => this.#run(name, inputs, options))) }

  /** What functions have assigned, and where their random numbers stand, to be kept for restore. */
  save() {
    return this.#next(async () => {
      const head = Uint32Array.from([SAVED, this.#info.weights.sum, ...this.#generators.flatMap((g) => g.drawn), ...Object.values(this.#functions).map((f) => +f.ran)])
      const parts = [new Uint8Array(head.buffer)]
      for (const a of this.#assigned()) parts.push(await this.#device.read(a.where, a.n * sizeOf(a.dtype)))
      const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0))
      parts.reduce((at, p) => (out.set(p, at), at + p.length), 0)
      return out
    })
  }

  /** Goes on from what save gave. */
  restore(bytes) {
    return this.#next(async () => {
      const list = this.#assigned()
      const functions = Object.values(this.#functions)
      let at = 4 * (2 + 2 * this.#generators.length + functions.length)
      const size = list.reduce((n, a) => n + a.n * sizeOf(a.dtype), at)
      const head = bytes?.length === size ? new Uint32Array(bytes.slice(0, at).buffer) : []
      if (head[0] !== SAVED || head[1] !== this.#info.weights.sum) fail('restore: these bytes were not saved by this model')
      this.#generators.forEach((g, i) => { g.drawn = [head[2 + 2 * i], head[3 + 2 * i]] })
      functions.forEach((f, i) => { f.ran = head[2 + 2 * this.#generators.length + i] === 1 })
      for (const a of list) {
        this.#device.write(a.where, bytes.slice(at, at += a.n * sizeOf(a.dtype)))
        a.version++
      }
      this.#changed = true
    })
  }

  /** Gives the device back. */
  close() { return this.#next(async () => this.#device.close()) }

  /** Destroys a graphics device as a driver's reset would: for tests. */
  lose() { this.#device.lose?.() }

  #next(f) {
    const done = this.#turn.then(f)
    this.#turn = done.catch(() => {})
    return done
  }

  // What is assigned by a function, in the order of arrays.
  #assigned() {
    const list = new Set()
    for (const f of Object.values(this.#info.functions)) for (const t of f.targets) if (t.dest >= 0) list.add(f.arrays[t.dest - f.inputs.length])
    return this.#arrays.filter((_, i) => list.has(i))
  }

  // Opens a graphics processor again that was lost, and repeats what nobody saw.
  async #safely(f) {
    const drawn = this.#generators.map((g) => g.drawn)
    const ran = Object.values(this.#functions).map((f) => f.ran)
    const changed = this.#changed
    try {
      return await f()
    } catch (e) {
      if (e.kind !== 'lost') throw e
      if (changed) fail(`the graphics processor was lost (${e.message}), and with it what runs had assigned; load the folder again, and restore what was saved`)
      drawn.forEach((d, i) => { this.#generators[i].drawn = d })
      Object.values(this.#functions).forEach((f, i) => { f.ran = ran[i] })
      await this.start(await this.#reopen())
      return f()
    }
  }

  async #run(name, inputs, { vars = {}, read }) {
    const f = this.#functions[name] ?? fail(`there is no function ${name}; there are ${Object.keys(this.#functions).join(', ')}`)
    for (const key of Object.keys(inputs)) if (!f.inputs.some((x) => x.name === key)) fail(`${name} has no input ${key}; its inputs are ${f.inputs.map((x) => x.name).join(', ')}`)
    for (const key of read ?? []) if (!f.results.some((x) => x.name === key)) fail(`${name} has no result ${key}; its results are ${f.results.map((x) => x.name).join(', ')}`)
    const values = f.vars.map((v) => variable(name, v, vars))
    const device = this.#device
    f.inputs.forEach((x, i) => device.write(f.inputsAt[i], elements(name, x, own(inputs, x.name))))
    const array = (slot) => this.#arrays[f.arrays[slot - f.inputs.length]]
    const where = (slot) => (slot < f.inputs.length ? f.inputsAt[slot] : array(slot).where)
    if (f.ran) for (const d of f.draws) device.write(where(d.slot), this.#key(d))
    const at = (p) => ([kind, n]) => (kind === SLOT ? where(n) : kind === KEPT ? f.kept[n] : kind === CONSTANT ? p.constants[n] : f.targetsAt[n])
    const play = (p) => device.play(p.plan, p.args.map(at(p)), p.vars.map((i) => values[i]))
    if (f.once) { // what is the same in all runs, unless another function assigned what it comes from
      const now = f.once.args.map(([kind, n]) => (kind === SLOT ? array(n).version : 0)).join()
      if (f.once.seen !== now) play(f.once)
      f.once.seen = now
    }
    play(f.run)
    f.ran = true
    for (const t of f.targets) {
      if (t.dest < 0) continue
      array(t.dest).version++
      this.#changed = true
    }
    await this.#checks(f)
    const out = []
    for (const r of f.results) {
      if (read && !read.includes(r.name)) continue
      const bytes = await device.read(r.target < 0 ? where(r.slot) : f.targetsAt[r.target], count(r.shape) * sizeOf(r.dtype))
      const data = new TYPES[r.dtype](bytes.buffer, bytes.byteOffset, count(r.shape))
      const shape = r.sizes ? r.sizes.map((s) => s.terms.reduce((n, [k, v]) => n + k * values[v], s.c)) : r.shape
      out.push([r.name, { data: counted(data, r.shape, shape), shape, dtype: r.dtype }])
    }
    return Object.fromEntries(out)
  }

  // The key of a draw, as tensor.Generator makes it.
  #key({ generator, words }) {
    const g = this.#generators[generator]
    const key = threefry(g.drawn, [g.seed[1] ^ 0x14b81119, g.seed[0]])
    const low = g.drawn[0] + words
    g.drawn = [low % 2 ** 32, (g.drawn[1] + Math.floor(low / 2 ** 32)) % 2 ** 32]
    return new Uint8Array(key.buffer)
  }

  // Tells what only values could tell, as an index that lies outside.
  async #checks(f) {
    for (let i = 0; i < f.targets.length; i++) {
      const { checks } = f.targets[i]
      if (!checks.length) continue
      const bytes = await this.#device.read(f.targetsAt[i], 4 * checks.length)
      new Int32Array(bytes.buffer, bytes.byteOffset, checks.length).forEach((code, k) => {
        const c = checks[k]
        if (code > 0) fail(`${c.op}: ${c.reason.replace('%d', numberOf(c, code))}${c.at && ` (${c.at})`}`)
      })
    }
  }
}

// The number that a code of a check stands for, as uop.CheckArg.Number tells it.
function numberOf({ lo, n }, code) {
  const below = 2 ** 30
  if (code === 2 * below - 1) return `below ${lo - below + 2}`
  if (code > below) return lo - (code - below)
  return code === below - 1 ? `above ${n + below - 3}` : n - 1 + code
}

let policy // of pages that require trusted types

/** The address of a worker's script as such pages want it. */
export function trusted(address) {
  try {
    policy ??= globalThis.trustedTypes?.createPolicy('weft-model', { createScriptURL: (s) => s })
  } catch (e) {
    fail(`the page's content security policy keeps the worker from being started; let it say trusted-types weft-model 'allow-duplicates', or leave out the option worker (${e.message})`)
  }
  return policy?.createScriptURL(address) ?? address
}

// A script of another origin may be no worker, but one of this page may import it.
function started(url) {
  const foreign = /^http/.test(url) && url.origin !== globalThis.origin
  const own = foreign ? URL.createObjectURL(new Blob([`import ${JSON.stringify(url.href)}`], { type: 'text/javascript' })) : url.href
  return new Worker(trusted(own), { type: 'module' })
}

// A Model in a worker.
class Remote {
  #worker
  #lent // the promise of what starts its threads
  #waiting = new Map()
  #last = 0

  async load(base, { worker, fetch, signal, onprogress, ...options }) {
    if (typeof Worker === 'undefined') fail('there are no workers here; leave out the option worker')
    if (fetch) fail('a worker fetches by itself; leave out one of the options fetch and worker')
    this.#worker = started(new URL('./worker.js', import.meta.url))
    this.#lent = import('./lent.js').then(({ lend }) => lend(() => started(new URL('./thread.js', import.meta.url)), (message, transfer) => this.#worker.postMessage(message, transfer)))
    const end = (error) => {
      this.#stop()
      for (const { reject } of this.#waiting.values()) reject(error)
      this.#waiting.clear()
    }
    this.#worker.onerror = (e) => end(new ModelError(`the worker of the model does not run: ${e.message ?? 'worker.js was not loaded; it lies beside model.js'}`))
    this.#worker.onmessage = ({ data }) => {
      const { id, result, error, known, progress } = data
      if (progress) return onprogress?.(...progress)
      if (data.thread !== undefined) return this.#lent.then((threads) => threads.take(data))
      const { resolve, reject } = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) resolve(result)
      else reject(known === 'ModelError' ? new ModelError(error) : new Error(error))
    }
    const stop = () => end(signal.reason)
    signal?.throwIfAborted()
    signal?.addEventListener('abort', stop)
    try {
      const [known] = await Promise.all([this.#call('load', base.href, options), this.#lent])
      Object.assign(this, known)
    } catch (e) {
      this.#stop()
      throw e
    } finally {
      signal?.removeEventListener('abort', stop)
    }
    return this
  }

  #stop() {
    this.#worker.terminate()
    this.#lent.then((threads) => threads.close(), () => {})
  }

  #call(call, ...args) {
    return new Promise((resolve, reject) => {
      this.#waiting.set(++this.#last, { resolve, reject })
      this.#worker.postMessage({ id: this.#last, call, args })
    })
  }

  run(...args) { return this.#call('run', ...args) }
  save() { return this.#call('save') }
  restore(bytes) { return this.#call('restore', bytes) }
  async close() {
    await this.#call('close')
    this.#stop()
  }
}

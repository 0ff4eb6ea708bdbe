// Weft in a page: tensors whose operations are recorded here and carried out by the engine in a worker.
//
//   import { open } from './weft.js'
//   const w = await open()
//   const x = w.tensor([[1, 2], [3, 4]])
//   console.log(await x.matmul(x).add(1).relu().list())
//
// Operations are synchronous: they note what is to be done and post it in batches. Shapes and types are known at once: infer.js. A call
// whose arguments are wrong throws at once: methods.js. What only the engine finds wrong arrives at the next await, with the stack of the call.

import { addressOf, base } from './addresses.js'
import { product } from './axes.js'
import { PageBox } from './box.js'
import { Generator, checkpoint, custom, customUnsafe, jvp, named, outputs, plain, scan, vjp, vmap } from './functions.js'
import { Guest } from './guest.js'
import { checkOpen, describe, guard, methods, most, several, stackFrom, written } from './methods.js'
import { infer } from './infer.js'
import { lend } from './lent.js'
import { isThere, load } from './module.js'
import { nn } from './nn.js'
import { optim } from './optim.js'
import { formed, shown } from './shown.js'
import { isNode, prepare, startWorker } from './start.js'
import { grad, jit, valueAndGrad } from './transform.js'
import { Size } from './size.js'
import { filled, isPlain } from './tree.js'
import { Elements, Writer, arrayOf, isBitmap, isBlob, read, typeOf } from './wire.js'

/** A tensor of the engine. It holds a number; the elements are in the worker. */
export class Tensor {
  #form // {shape, dtype}; a shape that is not known is the words that say why

  constructor(w, ref, form) {
    this.form = form
    this.w = w
    this.ref = ref
    this.gone = undefined // why it is of no use any more
    this.weighs = undefined // see #weigh
  }

  get form() { return this.#form }

  set form(form) {
    this.#form = form
    this.known = formed(form) // for developers' tools
  }

  /** The elements, row-major. */
  async data() { return (await this.#read('data')).data }

  /** The only element. */
  async item() {
    const { data, shape } = await this.#read('item')
    if (data.length !== 1) throw new RangeError(`item: a tensor of shape ${written(shape)} has ${data.length} elements, not one; read it with data() or list()`)
    return Number(data[0])
  }

  /** The elements as nested arrays. */
  async list() {
    const { data, shape } = await this.#read('list')
    let at = 0
    const level = (axis) => axis === shape.length ? data[at++] : Array.from({ length: shape[axis] }, () => level(axis + 1))
    return level(0)
  }

  /** The sizes of the axes. */
  get shape() {
    const { shape } = this.form
    if (!Array.isArray(shape)) throw new Error(`shape: the shape of this tensor ${shape}; it is there after await realize()`)
    return [...shape]
  }

  /** The short name of the elements' type, 'f32'. */
  get dtype() { return this.form.dtype }

  /** Computes the tensor now. */
  async realize() {
    await this.w.realize(this)
    return this
  }

  #gradient = null // what backward has collected

  #wants = false // a gradient

  leaf = null // what stands for the tensor in sets below, if it wants a gradient: another one after each assignment

  /** Says that the tensor wants a gradient, so that backward finds it below what is computed of it from now on. */
  requireGrad() {
    if (!/f/.test(this.dtype)) throw new TypeError(`requireGrad: ${this.dtype}: only floats have a gradient`)
    this.#wants = true
    if (!this.leaf) this.anew(this.below)
    return this
  }

  /** Is another leaf from now on: what was computed before does not depend on that. */
  anew(below) { this.below = new Set(below).add(this.leaf = { of: this }) }

  /** Takes requireGrad back. */
  freeze() {
    this.#wants = false
    return this
  }

  requiresGrad() { return this.#wants }

  /** Adds the gradient of this tensor, or of its product with a seed, to that of each of these, or of those below it that want one. */
  backward(ws, seed) {
    ws ??= [...this.below ?? []].filter((l) => l.of.leaf === l && l.of.#wants && !l.of.gone).map((l) => l.of)
    if (!ws.length) throw new Error('backward: the tensor depends on none that wants a gradient; mark those that do by requireGrad, or name them')
    const gs = this.grad(ws, seed)
    ws.forEach((t, i) => { t.#gradient = t.gradient()?.add(gs[i]) ?? gs[i] })
  }

  /** What backward has collected, or null: also where that was disposed of. */
  gradient() { return this.#gradient?.gone ? null : this.#gradient }

  /** Forgets what backward has collected. */
  clearGradient() { this.#gradient = null }

  /** The picture that the tensor is. */
  async toImageData() { return (await pictures()).toImageData(this) }

  /** The devices that it lies on. */
  devices() { return this.w.call('devices', [this]) }

  /** The axis along which it is cut, or null. */
  cutAxis() { return this.w.call('cutAxis', [this]) }

  /** Forgets the tensor in the engine now, not when the collector finds it. */
  dispose() { this.w.forget(this) }

  /** Has the engine say the shape where that is not known yet. */
  async told(as = 'realize') {
    if (!Array.isArray(this.form.shape)) this.form = await this.w.call('shape', [this], { as })
    return this
  }

  async #read(as) {
    const read = await this.w.call('data', [this], { as })
    this.form = { ...this.form, shape: read.shape }
    return read
  }
}

for (const { name, gives } of Object.values(methods.Tensor)) {
  if (gives === '0') {
    Tensor.prototype[name] = function (...args) {
      this.w.record(name, 0, [this, ...args], [this])
      return this
    }
  } else if (gives === '1') {
    Tensor.prototype[name] = function (...args) { return this.w.record(name, 1, [this, ...args])[0] }
  } else if (/[23n]/.test(gives)) {
    Tensor.prototype[name] = function (...args) { return this.w.record(name, several[name]?.apply(this, args) ?? +gives, [this, ...args]) }
  }
}

const lean = 'weft.wasm' // the engine that pages open, without what few of them need
const rest = 'rest.wasm' // what a first result does not need of it
const whole = 'whole.wasm' // the engine that can also look inside, search, and train the network of the site
const models = 'models.wasm' // the engine that can also read models of others

// What few pages need is loaded when it is asked for.
const files = () => import('./files.js')
const pictures = () => import('./picture.js')
const strangers = () => import('./models.js')
const captures = () => import('./saved.js')
const folders = () => import('./export.js')

// Calls what the page wants to be told by. What that throws is the page's affair, and keeps no other news back.
function tell(f) {
  try { f() } catch (e) { queueMicrotask(() => { throw e }) }
}

// The leaves of tensors that want a gradient and that some of these arguments are, or are computed from. Sets are shared, and never changed.
function wanting(args, all) {
  for (const v of args) {
    if (v?.below) {
      const more = [...v.below].filter((t) => !all?.has(t))
      if (more.length) all = all ? new Set([...all, ...more]) : v.below
    } else if (Array.isArray(v) || isPlain(v)) all = wanting(Object.values(v), all)
  }
  return all
}

const look = { look: true } // there is something in the box

// What is done at once and is no value.
const within = 'a function is captured inside a captured function; capture the outer one only'
const apart = {
  capture: within,
  run: within,
  jit: within,
  step: 'it computes, and a captured function only records; update does so',
  seed: 'it is done at once, and a captured function only records; call it before run',
}

const ahead = 4 // runs of a captured function that may be under way

export { Size }

const isOpen = (t) => !Array.isArray(t.form.shape)

// The tensors from outside that a captured function assigns.
function states(list) {
  const made = new Set(list.made)
  return [...new Set(list.flatMap(([, , outs]) => outs).filter((t) => !made.has(t)))]
}

/** A captured function: it is recorded at its first run and only played from then on. */
export class Captured {
  #under = new Set() // runs that have not ended

  constructor(w, f) {
    this.w = w
    this.f = f
  }

  /** Has the function run with these inputs and gives new tensors in the form that it returned. The next run need not wait for this
   *  one's end; whoever reads a tensor does, and run itself for shapes that vary. */
  async run(...args) {
    const { w } = this
    const values = args.filter((v) => v instanceof Size)
    let inputs = args.filter((v) => !values.includes(v))
    if (!this.forms && (this.ready || inputs.some(isOpen))) inputs = inputs.map((t) => t.detach()) // as they are now: this waits
    this.ready ??= this.#capture(inputs)
    if (!this.forms) await this.ready
    this.#fits(inputs)
    const outs = this.forms.map((form) => w.own(form))
    const request = [this, inputs, values]
    if (this.captured) {
      const end = w.start('run', request, outs).then(() => this.#under.delete(end))
      if (this.#under.add(end).size > ahead) await this.#under.values().next().value
    } else {
      await Promise.all([this.ready, w.call('run', request, { outs })])
      outs.forEach((t, i) => { t.form = this.forms[i] })
    }
    const open = outs.filter(isOpen)
    if (open.length) await Promise.all(open.map((t) => t.told('run'))) // what nobody waits for goes along with a question for its output, see #settle
    const list = outs.values()
    return filled(this.form, () => list.next().value)
  }

  // Refuses what the function was not captured for, in the engine's words.
  #fits(inputs) {
    const n = this.takes.length
    if (inputs.length !== n) throw new TypeError(`run: the captured function takes ${n} inputs, not ${inputs.length}`)
    this.takes.forEach(({ shape, dtype }, i) => {
      const { form } = inputs[i]
      if (Array.isArray(shape) && Array.isArray(form.shape) && `${shape}` !== `${form.shape}`) throw new RangeError(`run: ${written(form.shape)}: input ${i} was captured with shape ${written(shape)}`)
      if (dtype !== form.dtype) throw new TypeError(`run: ${form.dtype}: input ${i} was captured as ${dtype}; use to()`)
    })
  }

  // Asks for all at once where shapes are known, so that what comes after the call that it is of comes after it in the engine.
  async #capture(inputs) {
    const { w } = this
    const open = inputs.filter(isOpen)
    if (open.length) await Promise.all(open.map((t) => t.told('capture').catch(() => {}))) // what is wrong the engine tells below
    const stands = inputs.map((t) => w.stand(t.form))
    const { list, result } = w.recording('capture', stands, () => {
      const returned = this.f(...stands)
      return { outs: outputs(w, 'capture', returned), returned }
    })
    const { outs, returned } = result
    this.form = filled(returned, () => null)
    this.takes = inputs.map((t) => t.form)
    this.ref = w.number()
    const kept = w.keep(states(list))
    const told = w.call('capture', [inputs, stands, list, outs], { outs: [this] })
    this.forms = outs.map((t) => t.form)
    const [{ launches, shapes }] = await Promise.all([told, kept])
    this.launches = launches
    this.forms = this.forms.map((form, i) => ({ ...form, shape: shapes[i] ?? form.shape }))
    this.captured = true
  }

  /** The bytes of a file with the function. */
  async save() { return (await captures()).save(this.w, { main: this }, 'save') }

  /** The files of a folder that runs the function without the engine, by their names. */
  async export(options) { return (await folders()).one(this, options) }

  dispose() { this.w.forget(this) }
}

/** The engine. */
export class Weft {
  #worker
  #pending = new Writer()
  #numbers = 0 // of requests
  #refs = 0
  #calls = new Map()
  #standing // the stack of all requests, while standing calls a function
  #made = new Map() // by number: what has the stack of the call that made the request
  #list = null // what a captured function records
  #posted = false
  #awaited = false // there is something in #pending that somebody waits for
  #gone = new FinalizationRegistry((ref) => this.#drop(ref))
  #dropped = []
  #drops = 0 // so far
  #soonest = null // the timer that has them sent
  #dead = null
  #guest = new Guest()
  #box = PageBox.open((pieces) => this.#take(pieces), this.#guest)
  #lent // threads of the worker's
  #unheard = null // the error of something that was started, which nobody has been told
  #open = new Set() // of promises that the page has: {promise}

  constructor(worker, address) {
    this.#worker = worker
    this.#lent = lend(() => startWorker(address, 'weft thread'), (message, transfer) => this.#post(message, transfer))
    worker.onmessage = ({ data }) => {
      this.#box?.arrives()
      if (Array.isArray(data)) this.#take(data)
      else if (data.thread !== undefined) this.#lent.take(data)
      else if (data.guest !== undefined) this.#guest.take(data.guest)
      else if (data.progress) this.#calls.get(data.call)?.progress?.(data.progress)
      else if (data.lost) this.onlost?.(new Error(data.lost))
      else if (data.dead) this.#die(data.dead)
      else if (data.waited) kept('weft.rest', '1')
    }
    worker.onerror = async (e) => {
      e.preventDefault?.()
      this.#die(`the engine's worker failed: ${e.message || await (await import('./explain.js')).explain(address)}`)
    }
  }

  /** Called with an Error when the graphics processor is lost: the next call opens it again, with all that was on it. */
  onlost = null

  from = undefined // the method that the page called, while it runs: stacks begin above it

  /** Called with {message, writes, plays, seconds} when it is there again. */
  onrecovered = null

  /** Called with {kernel, modelMs, bestMs, complete} when a search for a kernel ended. */
  onfound = null

  /** Called with {device, note, moved} when devices were measured after open, or the engine went on with another one. */
  onchosen = null

  #chosen({ device, detail, note, moved, choices }) {
    Object.assign(this, { device, deviceDetail: detail, note })
    if (this.settings) this.settings[0] = device.toLowerCase()
    kept('weft.devices', choices)
    tell(() => this.onchosen?.({ device, note, moved }))
  }

  /** What searches found so far, as text: for the option directives of open, in this browser or in others like it. */
  directives = ''

  #found({ directives, ...news }) {
    this.directives = directives
    kept('weft.directives', directives)
    tell(() => this.onfound?.(news))
  }

  /** Loads the engine for the worker, which starts meanwhile. */
  boot(module, folder, onprogress) {
    this.module = module
    this.folder = folder
    const address = addressOf(rest, folder)
    const parts = [load(addressOf(module, folder), module, onprogress)]
    // A worker that can wait for a file loads the rest when it is needed, unless it was the last time.
    if (module === lean && isThere(rest) && (isNode() || !globalThis.XMLHttpRequest || kept('weft.rest'))) parts.push(load(address, rest))
    Promise.all(parts).then(([engine, rest]) => this.#worker.postMessage({ engine, rest, address, box: this.#box?.buffer }), (e) => this.#die(e.message))
  }

  /** Ends what is on its way for the engine when that ends. */
  ending = new AbortController()

  #die(why) {
    this.#dead ??= why
    this.ending.abort(new Error(this.#dead))
    for (const { reject, as } of this.#calls.values()) reject(new Error(`${as}: ${this.#dead}`))
    this.#calls.clear()
    this.#worker.unref?.()
  }

  /** Throws where the engine is no more. */
  alive(name) { if (this.#dead) throw new Error(`${name}: ${this.#dead}`) }

  /** Throws, and says why, where a function is recorded: nothing is computed then, and a promise of it would be one that nobody awaits. */
  outside(name, why = apart[name] ?? 'a value is asked for inside a captured function; return the tensor and read it after run') {
    if (this.#list) throw new Error(`${name}: ${why}`)
  }

  /** Calls f for a promise that the page gets, which close() knows of until it is settled. */
  watch(name, f) {
    this.outside(name)
    const at = {}
    this.#open.add(at)
    at.promise = (async () => {
      try {
        this.alive(name)
        return await f()
      } finally {
        this.#open.delete(at)
      }
    })()
    return at.promise
  }

  // Takes answers, and says whether somebody awaited one of them.
  #take(message) {
    let awaited = false
    for (const answer of read(...message)) {
      const call = answer[0] !== 2 && this.#calls.get(answer[1])
      if (call && !call.started) awaited = true
      this.#hear(answer)
    }
    return awaited
  }

  #hear([kind, number, value]) {
    const call = this.#calls.get(number)
    if (kind === 2 && number) return call?.progress?.(value)
    if (kind === 2 && value.choices !== undefined) return this.#chosen(value)
    if (kind === 2) return value.directives === undefined ? tell(() => this.onrecovered?.(value)) : this.#found(value)
    if (number === 0) {
      if (kind === 1) return this.#die(value.message)
      for (const [n] of this.#made) {
        if (n > value.done) break
        if (!value.failed.includes(n)) this.#made.delete(n)
      }
      return
    }
    this.#calls.delete(number)
    if (!this.#calls.size) this.#worker.unref?.() // a program that awaits nothing may end
    if (kind === 0) {
      this.#made.delete(number)
      return call?.resolve(value)
    }
    if (this.#unheard?.number === value.number) this.#unheard = null // this tells it
    const error = this.#error(value, number, call?.as)
    if (call?.started) this.#unheard = { number, error }
    call?.reject(error)
  }

  // An error of the engine, with the name of the method and the stack of the call in the page that caused it.
  #error({ message, name, number }, own, as) {
    name ??= as
    if (!message.startsWith(`${name} `)) message = `${name}: ${message}`
    const error = new Error(message)
    const made = this.#made.get(number ?? own) ?? this.#made.get(own)
    const stack = made?.stack
    if (stack) error.stack = `Error: ${message}\n${stack.replace(/^.*\n(?=\s+at )/, '')}`
    return error
  }

  /** A number for something that the engine will hold. */
  number() { return ++this.#refs }

  /** A tensor that the engine will make. */
  own(form, ref = this.number()) {
    const t = new Tensor(this, ref, form)
    this.#gone.register(t, t.ref, t)
    return t
  }

  #light = 0 // elements of tensors that weigh nothing

  // The page's collector comes by what it knows to be held, and a tensor's elements are in the worker. So of those that have memory there some get an array that nobody
  // writes to, which takes addresses and no memory: a byte for each element of the tensor and of those before it is enough.
  #weigh(list) {
    for (const t of list) {
      if (!Array.isArray(t?.form?.shape) || t.weighs !== undefined) continue
      t.weighs = null
      this.#light += product(t.form.shape)
      if (this.#light < 1 << 20) continue
      try { t.weighs = new ArrayBuffer(this.#light) } catch { /* there are few addresses */ }
      this.#light = 0
    }
  }

  // Goes along with the next request; alone, where none follows soon.
  #drop(ref) {
    this.#drops++
    this.#dropped.push({ ref })
    this.#soonest ??= setTimeout(() => {
      this.#soonest = null
      this.#flush()
    }, 10)
  }

  /** Forgets something that the engine holds. */
  forget(x) {
    if (x.gone) return
    x.gone = 'was disposed of; dispose of it after its last use'
    x.weighs = null
    this.#gone.unregister(x)
    if (x.ref !== undefined) this.#drop(x.ref)
  }

  // A request as it is sent; the stack of its caller is kept until the engine has carried it out.
  #request(name, outs, args) {
    const number = ++this.#numbers
    this.#made.set(number, this.#standing ?? stackFrom(this.from))
    return [number, name, outs, ...args]
  }

  /** Calls f, whose requests have one stack: it ends where a method that makes many of them was called. */
  standing(method, f) {
    const before = this.#standing
    this.#standing ??= stackFrom(method)
    try { return f() } finally { this.#standing = before }
  }

  /** Records an operation and gives the tensors that it will make. */
  record(name, count, args, outs, forms = outs ?? infer(name, args, count)) {
    const below = name === 'replace' ? args[1].below : outs || name === 'detach' ? null : wanting(args)
    if (this.#list) outs ??= forms.map((form) => this.#within(new Tensor(this, this.number(), form)))
    outs ??= forms.map((form) => this.own(form))
    if (name === 'tensor') this.#weigh(outs)
    for (const t of outs) t.leaf ? name !== 'own' && t.anew(below) : below && (t.below = below)
    const request = this.#request(name, outs, args)
    if (this.#list) this.#list.push(request)
    else this.#write(request)
    return outs
  }

  #within(t) {
    this.#list.made.push(t)
    return t
  }

  /** Calls f and gives what it recorded, which is not carried out. */
  recording(name, stands, f) {
    const outer = this.#list
    if (name === 'capture') this.outside(name)
    const list = this.#list = Object.assign([], { made: [...stands] })
    try {
      return { result: f(), list }
    } finally {
      const what = name === 'capture' ? 'a captured function' : `a function that ${name} called`
      for (const t of list.made) t.gone ??= `belongs to ${what}, which has ended; have the function return it`
      this.#list = outer
    }
  }

  /** What stands for an argument of a function that is recorded. */
  stand(form) { return new Tensor(this, this.number(), form) }

  /** Gives tensors memory of their own, and computes them. */
  async keep(tensors) {
    if (!tensors.length) return
    for (const t of tensors) this.record('own', 0, [t], [t])
    await this.call('realize', [tensors], { as: 'capture' })
  }

  // Throws what stands against asking the engine now.
  #check(as) {
    this.alive(as)
    this.outside(as)
    const unheard = this.#unheard
    this.#unheard = null
    if (unheard) throw unheard.error
  }

  #ask(name, args, outs, more) {
    if (/^(data|fetch|realize|run)$/.test(name)) this.#weigh([...args, ...outs].flat())
    return new Promise((resolve, reject) => {
      this.#write(this.#request(name, outs, args))
      this.#calls.set(this.#numbers, { resolve, reject, ...more })
      this.#awaited ||= !more.started
      this.#worker.ref?.()
    })
  }

  /** Calls the engine; outs are what it will hold afterwards. */
  async call(name, args, { outs = [], progress, as = name } = {}) {
    this.#check(as)
    const ask = () => this.#ask(name, args, outs, { progress, as })
    if (!/^(data|realize|run)$/.test(name)) return ask()
    return ask().catch(async (e) => {
      if (!/out of memory/.test(e.message)) throw e
      const before = this.#drops
      await (await import('./pressure.js')).collect(() => this.#drops > before)
      return ask().catch(() => { throw e })
    })
  }

  /** Starts something and gives a promise of its end. If it fails, its outputs tell, else the next call. */
  start(name, args, outs) {
    this.#check(name)
    return this.#ask(name, args, outs, { started: true, as: name }).catch(() => {})
  }

  #write(request) {
    this.#dispose()
    this.#pending.write(request)
    if (this.#pending.length > 1 << 16) this.#flush()
    else this.#soon()
  }

  #soon() {
    if (this.#posted) return
    this.#posted = true
    this.#settle()
  }

  // Posts once no more comes: whoever awaited a run may go on and read its output, and that goes along.
  #settle() {
    const seen = this.#numbers
    const then = (n) => queueMicrotask(() => n ? then(n - 1) : this.#numbers === seen ? this.#flush() : this.#settle())
    then(2)
  }

  // Of what was dropped no later request knows.
  #dispose() {
    if (!this.#dropped.length) return
    this.#pending.write([0, 'dispose', [], this.#dropped])
    this.#dropped = []
  }

  #flush() {
    if (this.#awaited && this.#box?.rests(() => this.#flush())) return // what comes meanwhile goes along
    this.#posted = false
    if (this.#dead) return
    this.#dispose()
    if (!this.#pending.length) return
    const pieces = this.#pending.finish()
    const awaited = this.#awaited
    this.#awaited = false
    if (pieces.length === 1 && pieces[0] instanceof ArrayBuffer && this.#box?.send(pieces[0], () => this.#worker.postMessage(look), awaited)) return
    this.#post(pieces, pieces.filter((p) => p instanceof ArrayBuffer || isBitmap(p)))
  }

  #post(message, transfer) {
    this.#box?.posts()
    this.#worker.postMessage(message, transfer)
  }

  /** Ends the engine. What is awaited ends with an error; what nobody awaits is no unhandled one. */
  close() {
    this.#worker.terminate()
    this.#lent.close()
    this.#box?.close()
    for (const w of Object.values(this.#rest)) w.close()
    for (const { promise } of this.#open) promise.catch(() => {})
    this.#die('the engine was closed; open() gives another')
  }

  /** A tensor of numbers, nested arrays of them, a typed array and its shape, or the bytes of a Blob, which the page never holds. */
  tensor(values, shape, options) {
    if (shape !== undefined && !Array.isArray(shape)) {
      if (options !== undefined) throw new TypeError('tensor: the shape is an object of options, and options follow; take tensor(values, shape, options)')
      ;[shape, options] = [undefined, shape]
    }
    let elements = values
    let n = values.size
    if (!isBlob(values)) {
      if (!ArrayBuffer.isView(values)) {
        const nested = flatten(values, options?.dtype)
        elements = nested.elements
        shape ??= nested.shape
        n = nested.n
      } else if (typeOf(values) === undefined) {
        throw new TypeError(`tensor: a ${values.constructor.name} cannot become a tensor; take one of the arrays that weft.d.ts lists as Elements`)
      } else {
        n = values.length
        const to = options?.dtype
        if (to && to !== 'f64' && typeOf(values) === 'f64') elements = elementsOf(values, to) // numbers as a page has them: no device need know f64
        try {
          if (!n) new Uint8Array(values.buffer)
        } catch {
          throw new TypeError('tensor: the buffer of the array is detached, as it is after postMessage has transferred it; copy it before')
        }
      }
    }
    if (n > most) throw new RangeError(`tensor: ${n} elements; a tensor in a page has at most ${most}`)
    shape ??= [n]
    const takes = shape.reduce((n, size) => n * size, 1)
    if (takes !== n) throw new RangeError(`tensor: ${n} elements do not fill the shape ${written(shape)}, which takes ${takes}`)
    return this.record('tensor', 1, [elements, shape, options])[0]
  }

  /** A tensor of the bytes at an address, which go from there to the device's memory as they arrive. */
  async fetch(url, shape, { onprogress, signal, ...options } = {}) {
    signal?.throwIfAborted()
    const t = this.own({ shape, dtype: options.dtype ?? 'f32' })
    if (!URL.canParse(url, base())) throw new TypeError(`fetch: ${JSON.stringify(url)} is no address`)
    const address = new URL(url, base()).href
    let failed // onprogress, with this error
    const progress = onprogress && ((p) => {
      try {
        if (!failed) onprogress(p)
      } catch (error) {
        failed = { error }
        stop()
      }
    })
    const arrived = this.call('fetch', [address, shape, options], { outs: [t], progress })
    const number = this.#numbers
    const stop = () => this.#post({ abort: number })
    signal?.addEventListener('abort', stop)
    try {
      await arrived.catch((e) => { throw failed || !signal?.aborted ? e : signal.reason })
      return t
    } finally {
      if (failed) throw failed.error
      signal?.removeEventListener('abort', stop)
    }
  }

  zeros(shape, options) { return this.full(shape, 0, options) }
  ones(shape, options) { return this.full(shape, 1, options) }
  einsum(formula, ...tensors) { return this.record('einsum', 1, [formula, tensors])[0] }

  /** start, start + step, … before stop; with one number 0, 1, … before it. */
  arange(start, stop, step = 1, options) {
    if (stop === undefined) [start, stop] = [0, start]
    const o = typeof step === 'object' ? step : { ...options, step }
    if (o.step === 0) throw new RangeError('arange: step is the number 0; it must lead from start to stop')
    const dtype = o.dtype ?? ([start, stop, o.step].some((v) => v % 1) ? 'f32' : undefined)
    return this.record('arange', 1, [start, stop, o.step ?? 1, dtype && { dtype }])[0]
  }

  /** An integer of low … high that a captured function is built with and gets when it runs. */
  variable(name, low, high) {
    if (!name || low > high) throw new RangeError(`variable: ${JSON.stringify(name)} from ${low} to ${high}; it needs a name, and bounds in order`)
    return new Size(this, 0, [{ name, low, high, value: null, times: 1 }])
  }

  /** Restarts the random numbers. */
  seed(n) { return this.call('seed', [n]) }

  /** Computes tensors together, so that what they share is computed once. */
  async realize(...tensors) {
    await this.call('realize', [tensors])
    await Promise.all(tensors.map((t) => t.told()))
  }

  /** Records a function of tensors, to be played without being built anew. */
  capture(f) {
    return new Captured(this, plain('capture', f))
  }

  /** f, captured anew for each combination of shapes of its arguments. */
  jit(f, options) { return jit(this, f, options) }

  /** The gradient of f, a function that gives a scalar. */
  grad(f, options) { return grad(f, options) }

  /** The value of f and its gradient. */
  valueAndGrad(f, options) { return valueAndGrad(f, options) }

  /** f for each element of an axis of its arguments. */
  vmap(f, options) { return vmap(this, f, options) }

  /** f for each entry of the first axis of arrays, from what it gave to carry before. */
  scan(f, carried, inputs, options) { return scan(this, f, carried, inputs, options) }

  /** What f gives, and how that changes while its inputs change along tangents. */
  jvp(f, inputs, tangents) { return jvp(this, f, inputs, tangents) }

  /** What f gives, and a function from gradients of that to gradients of the inputs. */
  vjp(f, ...inputs) { return vjp(this, f, ...inputs) }

  /** f, whose results inside are computed again for gradients. */
  checkpoint(f) { return checkpoint(this, f) }

  /** f as a node with a name, and perhaps a gradient of its own. */
  function(name, f, options) { return named(this, name, f, options) }

  /** A kernel of one's own. */
  custom(name, shape, body, inputs, options) { return custom(this, name, shape, body, inputs, options) }

  /** A kernel as text. */
  customUnsafe(name, results, inputs, options) { return customUnsafe(this, name, results, inputs, options) }

  /** A generator of random numbers with a seed of its own. */
  generator(seed) { return new Generator(this, seed) }

  #nn
  #optim

  /** Layers. */
  get nn() { return this.#nn ??= nn(this) }

  /** Optimisers, schedules, clipping. */
  get optim() { return this.#optim ??= optim(this) }

  /** A Blob, safetensors, with the tensors of a model. */
  async save(model, options) { return (await files()).save(this, model, options) }

  /** The tensors of a safetensors file by their names, or what of them did not fit a model, which got the rest. */
  async load(from, model, options) { return (await files()).load(this, from, model, options) }

  /** The bytes of a file with captured functions. */
  async saveFunctions(functions) { return (await captures()).save(this, functions, 'saveFunctions') }

  /** The captured functions of a file. */
  async loadFunctions(from, options) { return (await captures()).load(this, from, options) }

  /** The captured function of a file. */
  async loadCaptured(from, options) { return (await captures()).loadOne(this, from, options) }

  /** A picture as a tensor. */
  async fromImage(source, options) { return (await pictures()).fromImage(this, source, options) }

  /** Calls f, and tells how long each kernel took that was launched until it ended. */
  async profile(f) {
    await this.call('profile', [])
    let told
    try {
      await f()
    } finally {
      told = await this.call('profiled', [], { as: 'profile' })
    }
    return told
  }

  /** What the engine did so far. */
  async stats() { return this.call('stats', []) }

  #rest = {} // engines that can do what this one cannot, by their modules, where that was asked for

  // The engine of a module: this one, or another, which is loaded now.
  #engine(module, name) {
    if (this.module === module) return this
    this.alive(name)
    return this.#rest[module] ??= Object.assign(start(module, this.folder), { onlost: (e) => this.onlost?.(e), onrecovered: (news) => this.onrecovered?.(news) })
  }

  // That engine, opened as this one was.
  async #opened(module, name, device = this.asked) {
    const w = this.#engine(module, name)
    if (w !== this) await (w.opened ??= w.call('open', [device, ...this.settings.slice(1)], { as: name }).then(({ device }) => { w.device = device }))
    return w
  }

  // The engine that reads models of others.
  #models(name) { return this.#opened(models, name) }

  /** The engine that writes folders of functions; nothing is computed there. */
  writer(name) { return this.#engine(models, name) }

  /** A model in the ONNX format. */
  onnx(source, options) { return this.watch('onnx', async () => (await strangers()).onnx(this, await this.#models('onnx'), source, options)) }

  /** A language model. */
  llm(source, options) { return this.watch('llm', async () => (await strangers()).llm(await this.#models('llm'), source, options)) }

  /** What the browser keeps of models. */
  async kept() { return (await strangers()).kept() }

  /** Forgets what it keeps. */
  async clearKept(address) { return (await strangers()).clearKept(address) }

  /** What the engine would make of an expression. */
  async inspect(text, options = {}) {
    const w = options.target?.includes('here') ? await this.#opened(whole, 'inspect', this.settings[0]) : this.#engine(whole, 'inspect')
    return w.call('inspect', [text, options])
  }
}

for (const { name, gives } of Object.values(methods.Weft)) {
  if (gives === '1') Weft.prototype[name] ??= function (...args) { return this.record(name, 1, args)[0] }
  if (gives === 'n') Weft.prototype[name] ??= function (...args) { return this.record(name, several[name](...args), args) }
}

shown(Tensor)
guard({ Tensor, Weft, Captured, Size })

// So that `using` works where the language has it.
if (Symbol.dispose) {
  for (const { prototype: p } of [Tensor, Captured, Weft]) p[Symbol.dispose] = p.dispose ?? p.close
}

const deepest = 32 // lists within each other

// The elements and the shape of nested arrays of numbers or truth values, and how many they are.
function flatten(values, dtype) {
  const shape = []
  for (let v = values; Array.isArray(v); v = v[0]) {
    if (shape.push(v.length) > deepest) throw new RangeError(`tensor: the arrays are nested more than ${deepest} deep`)
  }
  const flat = []
  const leaf = (v, place) => {
    if (typeof v === 'number' || typeof v === 'boolean') return flat.push(v)
    if (Array.isArray(v)) throw new RangeError(`tensor: ragged arrays: ${place} is an array, where numbers stand elsewhere`)
    const remedy = v instanceof Tensor ? '; w.stack joins tensors' : typeof v === 'bigint' ? '; a BigInt64Array holds such' : ''
    throw new TypeError(`tensor: ${place} is ${describe(v)}; it must be a number or a truth value${remedy}`)
  }
  const walk = (v, axis, place) => {
    if (axis === shape.length) return leaf(v, place)
    if (!Array.isArray(v)) throw new RangeError(`tensor: ragged arrays: ${place} is ${describe(v)}, where arrays of ${shape[axis]} stand elsewhere`)
    if (v.length !== shape[axis]) throw new RangeError(`tensor: ragged arrays: ${place} has the length ${v.length}, and others ${shape[axis]}`)
    for (let i = 0; i < v.length; i++) {
      if (axis + 1 === shape.length && typeof v[i] === 'number') flat.push(v[i])
      else walk(v[i], axis + 1, `${place}[${i}]`)
    }
  }
  walk(values, 0, 'values')
  dtype ??= flat.length && flat.every((v) => typeof v === 'boolean') ? 'bool' : 'f32'
  return { elements: elementsOf(flat, dtype), shape, n: flat.length }
}

// Numbers and truth values as elements of a type. Integers lose what is behind the point.
function elementsOf(flat, dtype) {
  if (dtype === 'bool') return new Elements(dtype, Uint8Array.from(flat, (v) => v != 0))
  const array = arrayOf(dtype).from(flat, /[iu]64/.test(dtype) ? (v) => BigInt(Number.isFinite(v) ? Math.trunc(v) : 0) : Number)
  if (!/f/.test(dtype)) {
    for (let i = 0; i < flat.length; i++) if (Number(array[i]) !== Math.trunc(flat[i])) throw new RangeError(`tensor: ${dtype} does not hold ${describe(flat[i])}`)
  }
  return array
}

// What is known of how fast the devices of this browser are, and its kernels. A page that may keep nothing measures each time.
function kept(name, text) {
  try {
    if (text === undefined) return localStorage.getItem(name) ?? ''
    localStorage.setItem(name, text)
  } catch { /* no storage here, or none left */ }
  return ''
}

function start(module, folder, onprogress) {
  const address = addressOf('worker.js', folder)
  const w = new Weft(startWorker(address, 'weft'), address)
  w.boot(module, folder, onprogress)
  return w
}

/** Starts the engine in a worker and opens a device: the one that is named, else the one that is fastest here. */
export async function open(options = {}) {
  checkOpen(options)
  const { device, onprogress, checks = true, search = 0, directives, folder, whole: all = false, models: others = false } = options
  await prepare()
  const w = start(others ? models : all || search || directives !== undefined ? whole : lean, folder, onprogress)
  const known = search ? kept('weft.directives') : ''
  const choose = (device) => [device, kept('weft.devices'), checks, search, directives, known]
  w.directives = known
  const { device: name, detail, note, choices } = await w.call('open', choose(device))
  if (!device) kept('weft.devices', choices)
  return Object.assign(w, { asked: device, device: name, deviceDetail: detail, note, settings: choose(name.toLowerCase()) })
}

// Models of others, ONNX and language models: their files go to the engine that knows them, which is loaded when a page first asks for one,
// and what it computes comes back. Loaded on demand.

import { hashOf, Loading, verified } from './kept.js'
import { until } from './files.js'
import { isPlain, isTensor } from './tree.js'
import { isBlob, isNarrow, tagOf } from './wire.js'

export { clearKept, kept } from './kept.js'

const nameOf = (from, address) => from.name ?? (String(address ?? 'model').split(/[?#]/)[0].split('/').pop() || 'model')

const kindOf = (v) => isTensor(v) ? 'a tensor' : Array.isArray(v) ? 'an array' : v === undefined ? 'missing' : v === null ? 'null' : `of type ${typeof v}`

// Refuses options of other names, and what are none.
function allowed(as, options, names) {
  if (!isPlain(options)) throw new TypeError(`${as}: the options are ${kindOf(options)}; they must be an object with any of ${names.join(', ')}`)
  for (const key of Object.keys(options)) if (!names.includes(key)) throw new TypeError(`${as}: there is no option "${key}"; there are ${names.join(', ')}`)
}

// One file: its name and its bytes.
async function fileOf(from, options, as) {
  options.signal?.throwIfAborted()
  const load = async (address, first) => {
    const name = nameOf({}, address)
    return [name, await new Loading(address, { ...options, as, name, first, want: hashOf(name, options, as) }).bytes()]
  }
  const named = async (name, bytes) => [name, await verified(await bytes, name, hashOf(name, options, as), as)]
  if (typeof from === 'string' || tagOf(from) === 'URL') return load(from)
  if (options.cache) throw new TypeError(`${as}: what is kept comes from an address; leave out cache for other sources`)
  if (tagOf(from) === 'Response') return load(from.url, from)
  if (isBlob(from)) return named(nameOf(from), from.arrayBuffer().then((b) => new Uint8Array(b)))
  if (tagOf(from) === 'ArrayBuffer') return named('model', new Uint8Array(from))
  if (ArrayBuffer.isView(from)) return named('model', new Uint8Array(from.buffer, from.byteOffset, from.byteLength))
  throw new TypeError(`${as}: a model comes from an address, a File, a Blob, a Response or bytes, not ${typeof from}`)
}

// Several files by their names; the first is the model.
const filesOf = (w, source, options, as) => until(w, options.signal, as, (signal) => listed(source, { ...options, signal }, as))

async function listed(source, options, as) {
  const list = Array.isArray(source) ? source : [source]
  if (!list.length) throw new TypeError(`${as}: no file is given`)
  if (typeof options.sha256 === 'string' && list.length > 1) throw new TypeError(`${as}: ${list.length} files have a sha256 each: { 'name': '…' }`)
  const files = {}
  for (const from of list) {
    const [name, bytes] = await fileOf(from, options, as)
    if (name in files) throw new Error(`${as}: two files are called ${name}`)
    files[name] = bytes
  }
  return files
}

const mostWays = 64 // in which a model is run, that the engine knows

/** A model in the ONNX format. */
export class OnnxModel {
  #ways = new Map() // by the names that make them: {number, forms} of what is given and asked for

  constructor(w, engine, ref, told) {
    Object.assign(this, told) // inputs, outputs, parameters, producer
    this.w = w
    this.engine = engine
    this.ref = ref
  }

  /** Gives the outputs by their names, tensors or lists of texts, of inputs by their names: tensors, or what w.tensor takes. Those that read
   *  names come as their elements. */
  run(feeds, options) {
    this.w.outside('run', 'a model computes, and a captured function only records; run the model before, and the function on what it gave')
    return this.w.watch('run', () => this.#run(feeds, options))
  }

  async #run(feeds, options = {}) {
    if (this.gone) throw new Error(`run: the model ${this.gone}`)
    const takes = () => `{ ${this.inputs.map((p) => p.name).join(', ')} }`
    if (typeof feeds !== 'object' || feeds === null || Array.isArray(feeds) || isTensor(feeds) || ArrayBuffer.isView(feeds)) throw new TypeError(`run: the inputs are ${kindOf(feeds)}; they must be an object of them by their names: ${takes()}`)
    allowed('run', options, ['outputs', 'read'])
    const { outputs = this.outputs.map((o) => o.name), read = [] } = options
    for (const [name, v] of Object.entries({ outputs, read })) {
      if (!Array.isArray(v) || !v.every((name) => typeof name === 'string')) throw new TypeError(`run: ${name} is ${kindOf(v)}; it must be an array of names of outputs`)
    }
    const { w, engine } = this
    const inputs = Object.keys(feeds)
    const given = []
    const own = [] // tensors that this call made
    const far = inputs.some((name) => isTensor(feeds[name]) && feeds[name].w !== engine) // what comes of another engine is waited for; the others stay as they are now
    for (const name of inputs) given.push(this.#feed(name, feeds[name], own, far))
    if (far) given.splice(0, given.length, ...await Promise.all(given))
    const names = [inputs, outputs, read]
    const key = JSON.stringify(names)
    let way = this.#ways.get(key)
    const known = way?.forms // else the engine is told once more, as the first time may have failed
    if (!way) {
      if (this.#ways.size === mostWays) this.#ways.clear() // the engine goes by the last one of a number
      this.#ways.set(key, way = { number: this.#ways.size })
    }
    const refs = outputs.map(() => ({ ref: engine.number() }))
    const [forms, ...items] = await engine.call('onnxRun', [this, way.number, known ? [] : names, given], { outs: refs, as: 'run' })
    if (forms) way.forms = forms
    for (const t of own) t.dispose()
    const result = {}
    for (let i = 0; i < outputs.length; i++) {
      result[outputs[i]] = items[i] ?? engine.own(way.forms[i], refs[i].ref)
      if (engine !== w && !items[i]) result[outputs[i]] = await crossed(result[outputs[i]], w)
    }
    return result
  }

  #feed(name, v, own, far) {
    const { engine } = this
    const keep = (t) => own[own.push(t) - 1]
    if (isTensor(v)) return v.w !== engine ? crossed(v, engine, false).then(keep) : far ? keep(v.detach()) : v
    if (v === null || v === undefined) throw new TypeError(`run: the input ${name} is ${v}; it must be a tensor, or numbers: nested arrays or a typed array`)
    const port = this.inputs.find((p) => p.name === name)
    const values = v.data ?? v, view = ArrayBuffer.isView(values)
    const shape = v.shape ?? (view && port?.shape?.every((n) => typeof n === 'number') ? port.shape : undefined)
    return keep(engine.tensor(values, shape, view || !port?.dtype ? undefined : { dtype: port.dtype }))
  }

  /** Forgets the model in the engine. */
  close() { this.engine.forget(this) }
}

// A tensor of one engine in another.
async function crossed(t, to, away = true) {
  const [{ dtype, shape }, { data }] = await Promise.all([t.w.call('shape', [t], { as: 'run' }), t.w.call('data', [t], { as: 'run' })])
  if (away) t.dispose()
  return to.tensor(data, shape, dtype === 'bool' || isNarrow(dtype) ? { dtype } : undefined)
}

/** Reads a model in the ONNX format. */
export async function onnx(w, engine, source, options = {}) {
  const files = await filesOf(w, source, options, 'onnx')
  const holder = { ref: engine.number() }
  const told = await engine.call('onnx', [Object.keys(files)[0], files], { outs: [holder], as: 'onnx' })
  return new OnnxModel(w, engine, holder.ref, told)
}

/** A language model and the text that it makes. */
export class LanguageModel {
  #busy = false

  constructor(engine, ref, told) {
    Object.assign(this, told) // vocab, length, layers, dim, talks
    this.engine = engine
    this.ref = ref
  }

  /** The tokens of a text. */
  async encode(text) {
    if (typeof text !== 'string') throw new TypeError(`encode: the text is ${kindOf(text)}; it must be a string`)
    return this.engine.call('llmTokens', [this, text], { as: 'encode' })
  }

  /** The text of tokens. */
  async decode(tokens) {
    if (typeof tokens === 'string' || typeof tokens?.[Symbol.iterator] !== 'function') throw new TypeError(`decode: the tokens are ${kindOf(tokens)}; they must be an array of numbers`)
    return this.engine.call('llmTokens', [this, [...tokens]], { as: 'decode' })
  }

  /** The text that follows a prompt, or that answers messages, in pieces as they are made. */
  async* generate(prompt, options) {
    for await (const { text } of this.tokens(prompt, options)) if (text) yield text
  }

  /** The tokens that follow: {token, piece, text, finish, likely}, likely being the options.top likeliest with their probabilities. */
  async* tokens(prompt, { signal, onprogress, top = 0, ...how } = {}) {
    if (this.gone) throw new Error(`generate: the language model ${this.gone}`)
    if (this.#busy) throw new Error('generate: the model makes another text; wait for its end, or stop it by its signal')
    const talk = typeof prompt !== 'string'
    if (talk && !Array.isArray(prompt)) throw new TypeError(`generate: the prompt is ${kindOf(prompt)}; it must be a text or an array of messages`)
    if (how.tokens === 0) return // which the engine takes for no limit
    if (typeof how.stop === 'string') how.stop = [how.stop]
    if (how.schema !== undefined) how.schema = JSON.stringify(how.schema)
    this.#busy = true
    try {
      signal?.throwIfAborted()
      const { prompt: total } = await this.engine.call('llmBegin', [this, talk ? JSON.stringify(prompt) : prompt, talk, how], { as: 'generate' })
      for (;;) {
        signal?.throwIfAborted()
        const told = await this.engine.call('llmNext', [this, top], { as: 'generate' })
        if (told.read !== undefined) onprogress?.({ read: told.read, total })
        else yield told
        if (told.finish) return
      }
    } finally {
      this.#busy = false
    }
  }

  /** Forgets the model in the engine. */
  close() { this.engine.forget(this) }
}

/** Reads a language model. */
export async function llm(engine, source, { length, chunk, ...options } = {}) {
  const files = await filesOf(engine, source, options, 'llm')
  const holder = { ref: engine.number() }
  const told = await engine.call('llm', [files, { length, chunk }], { outs: [holder], as: 'llm' })
  return new LanguageModel(engine, holder.ref, told)
}

// Errands: batches that the worker carries out by itself while the engine waits for the next one, as it takes longer to know of tensors than a small plan
// takes to be played. They make tensors of numbers, run captured functions again, read results and forget them. Before it waits, the engine says which plans these are and where
// tensors lie (wasm/errands.go), and when it goes on it is told first what was done. In between nothing else happens to tensors, so there is nothing to know
// of them but that. A batch that asks for anything else is the engine's, as a whole.

import { BOXED } from './box.js'
import { Elements, Parcel, Writer, read, typeOf } from './wire.js'

const ANSWERED = 0 // the kind of answers
const LEAST = 4 // bytes of memory
const LARGE = 1 << 12 // bytes of an array that is not copied among answers, if it is the first

export class Errands {
  #playerOf
  #player
  #room // bytes for results
  #functions = new Map() // by number
  #tensors = new Map() // by number: {at, form, shape, type, reads}. Those that the engine does not know have {bytes}; {used} says that runs read them
  #counts = new Map() // of runs by function
  #made = [] // tensors that were made of numbers
  #runs = [] // [function, results, inputs]
  #gone = [] // what was disposed of and is not only known here
  #live = 0 // bytes of results
  #most = 0 // of these at the same time
  #ms = 0
  #parcel // bytes of the array that goes beside the answers, or null
  #writer = new Writer()

  /** playerOf gives a player by its number. */
  constructor(playerOf) { this.#playerOf = playerOf }

  /** Takes what the engine says before it waits. */
  take(bytes) {
    const [[player, room, functions, tensors]] = read(bytes.buffer)
    this.#player = this.#playerOf(player)
    this.#room = room
    for (const [{ ref }, plan, args, places, forms, results] of functions) {
      this.#functions.set(ref, { plan, args, places, forms, results: results.map(([arg, bytes, form, shape, type, reads]) => ({ arg, bytes, form, shape, type, reads })) })
    }
    for (const [{ ref }, at, form, shape, type, reads] of tensors) this.#tensors.set(ref, { at, form, shape, type, reads })
  }

  /** Carries out a batch and gives the bytes of its answers, and perhaps those of an array beside it, which last until the next batch or are the page's own; null, and nothing
   *  has happened, where it is the engine's. */
  serve(batch) {
    if (!this.#functions.size) return null
    const begun = performance.now()
    const requests = read(batch.buffer)
    const fresh = []
    this.#parcel = null
    try {
      if (!requests.every((q) => this.#can(q, fresh))) return this.#undo(fresh)
      let last = 0
      for (const q of requests) {
        this.#do(q)
        if (q[1] === 'tensor') last = q[0]
      }
      if (last) this.#writer.write([ANSWERED, 0, { done: last, failed: [] }])
    } catch { // the engine meets it too, and tells it
      return this.#undo(fresh)
    }
    for (const q of requests) this.#done(q)
    this.#ms += performance.now() - begun
    const bytes = new Uint8Array(this.#writer.finish()[0])
    return this.#parcel ? [bytes, this.#parcel] : [bytes]
  }

  // Whether a request is one of these. Its results are known from then on.
  #can([, name, outs, x, inputs, values], fresh) {
    if (name === 'dispose') return true
    if (name === 'data') return !!this.#tensors.get(x.ref)?.reads
    if (name === 'tensor') {
      const type = typeOf(x), n = inputs.reduce((n, size) => n * size, 1)
      if (type === 'u8' || values || n !== x.length) return false // u8 may be truth values
      return this.#known(outs[0], { bytes: Math.max(x.byteLength, LEAST), form: [type, ...inputs].join(' '), shape: inputs, type, leaf: true }, fresh)
    }
    const f = name === 'run' && this.#functions.get(x.ref)
    if (!f || values?.length || outs.length !== f.results.length || inputs.length !== f.forms.length || inputs.some(({ ref }, i) => this.#tensors.get(ref)?.form !== f.forms[i])) return false
    return outs.every((out, i) => this.#known(out, f.results[i], fresh))
  }

  #known({ ref }, t, fresh) {
    this.#tensors.set(ref, { ...t, at: 0 })
    fresh.push(ref)
    return (this.#live += t.bytes) <= this.#room
  }

  // Gives a tensor that is known its memory.
  #place({ ref }) {
    const t = this.#tensors.get(ref)
    return t.at = this.#player.alloc(t.bytes)
  }

  #do([number, name, outs, x, inputs]) {
    if (name === 'tensor') this.#player.write(this.#place(outs[0]), 0, new Uint8Array(x.buffer, x.byteOffset, x.byteLength))
    else if (name === 'run') {
      const { plan, args, places, results } = this.#functions.get(x.ref)
      inputs.forEach(({ ref }, i) => { if (places[i] >= 0) args[places[i]] = this.#tensors.get(ref).at })
      outs.forEach((out, i) => { args[results[i].arg] = this.#place(out) })
      this.#player.play(plan, args, [])
      this.#writer.write([ANSWERED, number, null])
    } else if (name === 'data') {
      const { at, reads: n, shape, type } = this.#tensors.get(x.ref)
      const apart = n > LARGE && !this.#parcel
      const bytes = apart && n > BOXED ? this.#player.read(at, 0, n) : this.#player.bytes(at, n)
      if (apart) this.#parcel = bytes
      this.#writer.write([ANSWERED, number, { data: new (apart ? Parcel : Elements)(type, bytes), shape }])
    }
  }

  #undo(fresh) {
    this.#writer.finish()
    for (const ref of fresh) this.#free(ref)
    return null
  }

  // Notes what the engine will be told.
  #done([, name, outs, x, inputs]) {
    if (name === 'run') {
      this.#counts.set(x.ref, (this.#counts.get(x.ref) ?? 0) + 1)
      this.#runs.push([x, outs, inputs])
      for (const { ref } of inputs) this.#tensors.get(ref).used = true
      this.#most = Math.max(this.#most, this.#live)
    } else if (name === 'tensor') {
      this.#made.push(outs[0])
    } else if (name === 'dispose') {
      for (const { ref } of x) {
        const t = this.#tensors.get(ref)
        if (t?.bytes && (t.leaf || !t.used)) this.#free(ref)
        else this.#gone.push({ ref })
        this.#functions.delete(ref)
      }
    }
  }

  #free(ref) {
    const { at, bytes } = this.#tensors.get(ref)
    if (at) this.#player.free(at)
    this.#live -= bytes
    this.#tensors.delete(ref)
  }

  /** Gives a request that tells the engine what was done; null where that is nothing. From then on tensors are the engine's. */
  report() {
    let told = null
    if (this.#counts.size + this.#made.length + this.#gone.length) {
      const of = ({ ref }) => this.#tensors.get(ref)
      const counts = [...this.#counts].map(([ref, n]) => [{ ref }, n])
      const made = this.#made.filter(of).map((t) => [t, of(t).at, of(t).bytes, of(t).type, of(t).shape])
      const runs = this.#runs.filter(([, outs]) => outs.some(of)).map(([f, outs, inputs]) => [f, outs, outs.map((t) => of(t)?.at ?? 0), inputs.map((t) => of(t) && t)])
      this.#writer.write([0, 'ran', [], this.#ms, this.#most, counts, made, runs, this.#gone])
      told = new Uint8Array(this.#writer.finish()[0])
    }
    for (const list of [this.#functions, this.#tensors, this.#counts]) list.clear()
    this.#made = []
    this.#runs = []
    this.#gone = []
    this.#live = this.#most = this.#ms = 0
    return told
  }
}

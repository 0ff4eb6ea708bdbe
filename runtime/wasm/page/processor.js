// The player of plans whose kernels are WebAssembly: it plays packed plans on the processor. It knows memory, kernels
// and steps; it refuses to know tensors, and what kernels do. With threads.js and thread.js, which lie beside it, it
// is all that a page needs to play plans without the engine, best in a worker.
//
//   const player = new Processor()
//   const plan = player.load(bytes)               // written by Pack (pack.go)
//   const x = player.alloc(64)                    // an address
//   player.play(plan, [x, y, out], [])            // returns when all is done
//   const bytes = player.read(out, 0, 64)
//
// All buffers lie in one WebAssembly memory. Where the page is cross-origin isolated, threads share it and take part in
// long kernels.

import { shares } from './lent.js'
import { FEW, Spares } from './spares.js'
import { Threads, alone, kernelsOf, reserved } from './threads.js'

/** The version of packed plans that this player plays. */
export const version = 1

const PAGE = 1 << 16
const MOST = 1 << 16 // pages; kernels import at most so many (package wasmmod)
const FLAGS = 35 // where a module says of which kind its memory is
const SHARED = 3
const ALIGN = 64
const SMALL = 1 << 16 // bytes of the largest block that lies in an area of small ones,
const AREA = 1 << 20 // and of that
const BORDER = 64 // kernels may read up to two vectors before and behind a buffer
const POISON = 0xa7
// How long kernels take that threads share, in ns. To wake a thread takes 65 µs; so for shorter ones than LONG threads have to be awake, as they may be while a
// plan is played that has as much of them together. Of plans with few results it is enough to have more than WORTH: a page that looks out for these helps, and nobody
// need be woken up.
const LONG = 5e5
const SHORT = 2e4
const WORTH = 1e5
const AGAIN = 32 // plays after which what was slower is tried once more

// The kinds of memory and of steps, as in package plan.
const ARENA = 0
const OUTPUT = 2
const COPY = 1

// Two functions, of one f32x4.relaxed_madd and of one f64x2.relaxed_madd: what validates, runs.
const madd = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0,
  1, 15, 2, 96, 3, 125, 125, 125, 1, 125, 96, 3, 124, 124, 124, 1, 124, 3, 3, 2, 0, 1, 7, 9, 2, 1, 102, 0, 0, 1, 103, 0, 1, 10, 43, 2,
  20, 0, 32, 0, 253, 19, 32, 1, 253, 19, 32, 2, 253, 19, 253, 133, 2, 253, 31, 0, 11,
  20, 0, 32, 0, 253, 20, 32, 1, 253, 20, 32, 2, 253, 20, 253, 135, 2, 253, 33, 0, 11)

/** Whether kernels may have relaxed-simd multiply-adds. */
export const relaxed = () => WebAssembly.validate(madd)

/** Whether they round once. An engine has one way for all of them, wherever they stand. */
export function fused() {
  if (!relaxed()) return false
  const { f, g } = new WebAssembly.Instance(new WebAssembly.Module(madd)).exports
  const lost = (f, a) => f(a, a, 1 - 2 * a) // of a² what is less than its last digit
  return lost(f, 1 + 2 ** -12) !== 0 && lost(g, 1 + 2 ** -27) !== 0
}

/** There is no room for what is asked. */
export class OutOfMemory extends Error {
  constructor(asked, limit) {
    super(`no room for ${asked} bytes: all buffers together may have ${limit}`)
    this.asked = asked
  }
}

/** Reads a packed plan. */
export function unpack(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const decoder = new TextDecoder()
  let at = 0
  const u32 = () => view.getUint32((at += 4) - 4, true)
  const f64 = () => view.getFloat64((at += 8) - 8, true)
  const part = () => {
    const n = u32()
    return bytes.slice(at, (at += n))
  }
  const text = () => decoder.decode(part())
  const list = (f) => Array.from({ length: u32() }, f)
  const v = u32()
  if (v !== version) throw new Error(`this player plays plans of version ${version}, and this one has version ${v}; take engine and player from one build`)
  const plan = {
    vars: u32(),
    module: part(),
    kernels: list(() => ({ name: text(), entry: text(), threads: u32(), scratch: f64(), cost: f64() })),
    memory: list(() => ({ kind: u32(), arg: u32(), bytes: f64() })),
    slots: list(() => ({ memory: u32(), offset: f64(), bytes: f64() })),
    steps: list(() => ({ kind: u32(), kernel: u32(), slots: list(u32) })),
  }
  for (const { kind } of plan.steps) if (kind > COPY) throw new Error(`this player knows no step of kind ${kind}; take engine and player from one build`)
  return plan
}

// Whether threads should be awake while a plan is played. Where processors are busy otherwise, whoever looks out takes one from those that are waited for; so
// that is decided by how long plays take. What was slower is tried once more after 2, 4, 8, 16 plays, while code becomes fast, and then again and again.
class Pace {
  #plays = 0
  #times = [0, 0] // of plays without and with
  #awake

  /** What is faster. */
  get better() { return this.#times[1] <= this.#times[0] }

  awake() {
    const n = this.#plays++
    const other = n > 1 && (n % AGAIN === 0 || (n & n - 1) === 0)
    this.#awake = this.better !== other
    return this.#awake
  }

  took(ms) {
    const before = this.#times[+this.#awake] || ms
    this.#times[+this.#awake] = Math.min(ms, before + Math.min(ms - before, before) / 8) // what interrupts one play says nothing of the next
  }
}

export class Processor {
  #memory
  #threads = null
  #spares = new Spares((bytes) => this.#threads?.order(bytes))
  #poison
  #pace // of the last play, if it came when one was expected
  #free = [] // { at, size } by address, never touching
  #freeSmall = [] // in areas of their own: plans' tables live long, and each would keep two large blocks apart
  #end = reserved
  #sizes = new Map() // of what is handed out, by address
  #kernels = [] // of all modules
  #numbers = new Map() // in #kernels, by entry
  #scratch = 0 // bytes
  #places // of each thread's scratch
  #plans = new Map()
  #last = 0

  /**
   * At most so many threads, where isolated says that workers may share memory; start makes a worker, of an address as trusted gives it, for pages
   * that require trusted types; in a worker, borrow of lent.js has the page make them, as one that makes workers may wait for ever in Firefox. A window may not
   * wait for others, so there it is one. poison fills fresh memory, for tests. guest gives what stands for a
   * guest of the threads (guest.js).
   */
  constructor({ threads = Math.min(globalThis.navigator?.hardwareConcurrency ?? 1, 8), isolated = shares(), trusted = (address) => address,
    start = () => new Worker(trusted(new URL('thread.js', import.meta.url)), { type: 'module' }), poison = false, guest = null } = {}) {
    const shared = !!isolated && threads > 1 && !globalThis.document
    for (let maximum = MOST; !this.#memory; maximum /= 2) {
      try {
        this.#memory = new WebAssembly.Memory({ initial: 1, maximum, shared })
        this.limit = maximum * PAGE
      } catch (e) {
        if (maximum < MOST / 32) throw e // small devices have few addresses
      }
    }
    this.#poison = poison
    this.threads = shared ? threads : 1
    this.#places = Array(this.threads + !!guest).fill(0) // and the guest's
    if (shared) this.#threads = new Threads(this.#memory, threads - 1, start, (made) => this.#spares.put(made), guest)
  }

  /** A view of bytes, good until memory is handed out. */
  bytes(at, n) { return new Uint8Array(this.#memory.buffer, at, n) }

  /** Gives the address of a buffer of undefined contents. */
  alloc(bytes) {
    const size = Math.max(Math.ceil(bytes / ALIGN), 1) * ALIGN
    const small = size <= SMALL
    const at = this.#take(small ? this.#freeSmall : this.#free, size, () => {
      const area = small && this.#take(this.#free, AREA, () => this.#grow(AREA))
      if (area) this.#release(this.#freeSmall, area, AREA)
      return small ? area : this.#whole() || this.#grow(size)
    }) || this.#take(this.#free, size)
    if (!at) throw new OutOfMemory(bytes, this.limit)
    this.#sizes.set(at, size)
    if (this.#poison) this.bytes(at, size).fill(POISON)
    return at
  }

  // Takes bytes of a free block, the smallest that has as many; where there is none, after more has got some. Gives 0 where it got none.
  #take(list, size, more) {
    let best
    do {
      for (const f of list) if (f.size >= size && !(best?.size <= f.size)) best = f
    } while (!best && more?.())
    if (!best) return 0
    const { at } = best
    best.at += size
    best.size -= size
    if (!best.size) list.splice(list.indexOf(best), 1)
    return at
  }

  // Takes areas back of which nothing is used, and says whether there were any.
  #whole() {
    const all = this.#freeSmall
    this.#freeSmall = all.filter((f) => f.size < AREA)
    for (const { at, size } of all) if (size >= AREA) this.#release(this.#free, at, size)
    return this.#freeSmall.length < all.length
  }

  // Adds bytes at the end, behind those that are free there, and a share of what there is, so that it seldom has to.
  #grow(size) {
    const have = this.#memory.buffer.byteLength
    const last = this.#free.at(-1)
    const from = last?.at + last?.size === this.#end ? last.at : this.#end
    const least = Math.max(from + size + BORDER - have, 0)
    for (const more of [Math.max(least, have / 4), least]) {
      try {
        this.#memory.grow(Math.ceil(more / PAGE))
        const end = this.#memory.buffer.byteLength - BORDER
        this.#release(this.#free, this.#end, end - this.#end)
        this.#end = end
        return true
      } catch { /* then less */ }
    }
    return false
  }

  free(at) {
    const size = this.#sizes.get(at)
    this.#release(size <= SMALL ? this.#freeSmall : this.#free, at, size)
    this.#sizes.delete(at)
  }

  #release(list, at, size) {
    const i = list.findIndex((f) => f.at > at)
    const k = i < 0 ? list.length : i
    list.splice(k, 0, { at, size })
    for (const j of [k, k - 1]) { // joins what touches
      if (list[j] && list[j].at + list[j].size === list[j + 1]?.at) list[j].size += list.splice(j + 1, 1)[0].size
    }
  }

  write(at, offset, bytes) { this.bytes(at + offset, bytes.length).set(bytes) }

  read(at, offset, n) {
    const out = new Uint8Array(this.#spares.take(n)) // slice would copy shared memory byte by byte
    out.set(this.bytes(at + offset, n))
    return out
  }

  /** Compiles the kernels of a packed plan that are new, and gives the plan's number. */
  load(bytes) {
    const plan = unpack(bytes)
    if (plan.module.length) this.add(plan.module)
    let words = plan.vars
    for (const k of plan.kernels) {
      k.number = this.#numbers.get(k.entry)
      if (k.number === undefined) throw new Error(`kernel ${k.name} is in no module that was loaded`)
      this.#grant(k.scratch)
    }
    let shared = 0
    for (const s of plan.steps) {
      s.at = words
      words += s.slots.length
      const { threads, cost } = plan.kernels[s.kernel] ?? {}
      if (s.kind !== COPY && threads > 1 && cost > SHORT) shared += cost
    }
    const few = plan.memory.every((m) => m.kind !== OUTPUT || m.bytes <= FEW)
    plan.pace = this.#threads && shared > (few ? WORTH : LONG) ? new Pace() : null
    plan.table = this.alloc(4 * words)
    plan.words = words
    plan.at = Array(plan.memory.length).fill(0)
    this.#plans.set(++this.#last, plan)
    return this.#last
  }

  /** Takes kernels for plans that come without their code: a module's bytes, or a compiled one where the player has one thread. */
  add(module) {
    const made = module instanceof WebAssembly.Module
    if (this.#threads && made) throw new Error('kernels that are compiled already run on one thread; open the player with threads: 1')
    if (this.#threads) module[FLAGS] = SHARED
    const compiled = made ? module : new WebAssembly.Module(module)
    for (const [entry, f] of kernelsOf(compiled, this.#memory)) this.#numbers.set(entry, this.#kernels.push(f) - 1)
    this.#threads?.send(compiled)
  }

  // Makes each thread's scratch at least so large.
  #grant(scratch) {
    if (scratch <= this.#scratch) return
    for (const at of this.#places) if (at) this.free(at)
    this.#places = this.#places.map(() => this.alloc(scratch))
    this.#scratch = scratch
  }

  drop(number) {
    this.free(this.#plans.get(number).table)
    this.#plans.delete(number)
  }

  /** Does the steps of a plan in order. args are the addresses of its inputs, states and outputs. Where seconds is given, it
   *  gets how long each step took. */
  play(number, args, vars, seconds) {
    const plan = this.#plans.get(number)
    const own = []
    const awake = (this.#pace = plan.pace)?.awake()
    const begun = plan.pace && performance.now()
    if (awake) this.#threads.awake()
    else this.#threads?.rest()
    try {
      const at = plan.memory.map((m) => (m.kind === ARENA ? own[own.push(this.alloc(m.bytes)) - 1] : args[m.arg]))
      const address = (s) => at[plan.slots[s].memory] + plan.slots[s].offset
      const table = new Uint32Array(this.#memory.buffer, plan.table, plan.words)
      table.set(vars)
      if (at.some((a, i) => a !== plan.at[i])) for (const s of plan.steps) s.slots.forEach((slot, i) => { table[s.at + i] = address(slot) })
      plan.at = at
      let took = 0
      let last = seconds && performance.now()
      for (const s of plan.steps) {
        if (s.kind === COPY) this.bytes(0, this.#memory.buffer.byteLength).copyWithin(address(s.slots[0]), address(s.slots[1]), address(s.slots[1]) + plan.slots[s.slots[0]].bytes)
        else this.#launch(plan.kernels[s.kernel], plan.table + 4 * s.at, plan.table, awake)
        if (seconds) {
          const now = performance.now() // of coarse steps; so no time is lost between them
          seconds[took++] = (now - last) * 1e-3
          last = now
        }
      }
    } finally {
      if (awake) this.#threads.rest()
      plan.pace?.took(performance.now() - begun)
      for (const a of own) this.free(a)
    }
  }

  /** Is told that a play may come: if one came the last time, and had the threads awake, they are woken now. */
  expect() {
    if (this.#pace?.better) this.#threads.awake()
    this.#pace = null
  }

  #launch({ name, number, threads, cost }, table, vars, awake) {
    if (this.#poison) for (const at of this.#places) this.bytes(at, this.#scratch).fill(POISON)
    const kernel = this.#kernels[number]
    try {
      if (this.#threads && threads > 1 && cost > (awake ? SHORT : LONG)) this.#threads.run(kernel, number, threads, cost, table, vars, this.#places)
      else alone(kernel, threads, cost, table, vars, this.#places[0])
    } catch (e) {
      throw new Error(`kernel ${name}: ${e.message}`)
    }
  }

  /** Ends the threads. */
  close() { this.#threads?.close() }
}

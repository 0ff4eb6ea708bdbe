// Threads that share a WebAssembly memory: workers that run thread.js sleep until there is a job, which is a kernel and
// a number of iterations, take iterations until none is left, and sleep again. Whoever gives the job takes part.
// Each iteration writes what no other one does, so it does not matter who does which. But what a thread wrote lies in its processor's caches: so each has
// the same part of the iterations in every run, and takes of the others' when it has done its own. While a plan is played that is worth it, threads
// look out for the next job before they sleep. A thread without a job makes the arrays that are ordered (spares.js).
// A guest (guest.js) may take part for a moment.

// Words at the begin of the memory.
export const EPOCH = 0 // counts jobs and messages; threads sleep here
const SENT = 1 // messages to each thread; these two are its bell (lent.js)
const OPEN = 2 // 1 while a job may be entered
const ACTIVE = 3 // threads within the job
const SPLIT = 4 // into how many parts its iterations are
const COUNT = 5 // these iterations
const KERNEL = 6
const TABLE = 7
const VARS = 8
const FAILED = 9 // bytes of the text that says why an iteration failed, at TEXT
const ORDERS = 10 // arrays that somebody is to make,
const ORDER = 11 // each of so many bytes
const LOOKING = 12 // 1 while threads look out for a job before they sleep
const MOST = 13 // iterations that a thread takes at once
export const GUESTS = 14 // 1 while the guest is there
const LONG = 15 // 1 where these may take longer than a guest stays
const SCRATCH = 16 // of each thread, and of the guest
const TEXT = 512
const PARTS = 256 // of each part the first iteration that nobody has taken, in a cache line of its own
const LINE = 16
const MOST_PARTS = 16

/** Bytes at the begin of a memory that are not for buffers. */
export const reserved = 2048

// A function becomes fast while it is called often: browsers compile it anew in the background, and a call that has
// begun keeps the slow code.
const SHARES = 16
const SHARE = 2e4 // ns of one, at least: with each a kernel begins anew, with copies of what all iterations need

/** The kernels of a module, in order: [entry, function]. */
export function kernelsOf(module, memory) {
  const { exports } = new WebAssembly.Instance(module, { weft: { memory } })
  return WebAssembly.Module.exports(module).map(({ name }) => [name, exports[name]])
}

/** How many of n iterations are a share of a kernel which takes about so many ns; 0: nobody knows. */
export const shareOf = (n, cost) => Math.ceil(n / (cost ? Math.min(SHARES, Math.ceil(cost / SHARE)) : SHARES))

/** Does all iterations of a kernel alone. */
export function alone(kernel, n, cost, table, vars, scratch) {
  const share = shareOf(n, cost)
  for (let lo = 0; lo < n; lo += share) kernel(table, vars, scratch, lo, Math.min(lo + share, n))
}

// Where part i of n iterations begins.
const beginOf = (i, n, parts) => Math.floor(n * i / parts)

// Takes iterations until none is left, or until a time: again and again half of what is left of its part, and then of the others'.
function take(control, kernel, thread, until = Infinity) {
  const n = control[COUNT]
  const most = control[MOST]
  const parts = control[SPLIT]
  try {
    for (let i = 0; i < parts; i++) {
      const part = (thread + i) % parts
      const next = PARTS + LINE * part
      const end = beginOf(part + 1, n, parts)
      for (let lo; (lo = Atomics.load(control, next)) < end && performance.now() < until;) {
        const hi = lo + Math.min(most, Math.ceil((end - lo) / 2))
        if (Atomics.compareExchange(control, next, lo, hi) === lo) kernel(control[TABLE], control[VARS], control[SCRATCH + thread], lo, hi)
      }
    }
  } catch (e) {
    for (let i = 0; i < parts; i++) Atomics.store(control, PARTS + LINE * i, n)
    if (Atomics.compareExchange(control, FAILED, 0, 1)) return
    const text = new TextEncoder().encode(e.message).subarray(0, reserved - TEXT)
    new Uint8Array(control.buffer, TEXT).set(text)
    Atomics.store(control, FAILED, text.length)
  }
}

/** Takes part in the job, if there is one. */
export function help(control, kernels, thread, until) {
  Atomics.add(control, ACTIVE, 1) // from here on the job stays as it is
  const kernel = Atomics.load(control, OPEN) ? kernels[control[KERNEL]] : null
  if (kernel && !(until && control[LONG])) take(control, kernel, thread, until)
  if (Atomics.sub(control, ACTIVE, 1) === 1) Atomics.notify(control, ACTIVE)
}

// Looks out until done() or for about so many ms, and says whether it is done.
function lookOut(done, ms) {
  const { pause } = Atomics // of new browsers
  for (const end = performance.now() + ms; performance.now() < end;) {
    for (let i = 0; i < 20; i++) {
      if (done()) return true
      pause?.()
    }
  }
  return done()
}

const AWAKE = 0.3 // ms that a thread looks out for the next job before it sleeps
const LAST = 0.1 // ms that whoever gave a job looks out for the last of it
const GUEST = 1e6 // ns that a job takes at most which a guest takes part in

const PAGE = 4096 // bytes of memory that a system gives at once; some give more
const PART = 16 * PAGE // that a thread fills before it looks for a job

/** What a worker does: gives the function that takes its messages. give takes an array that was ordered. */
export function thread(give) {
  let control, memory, number
  let received = 0
  let seen = 0
  let spare = null
  let filled = 0 // bytes of it
  const kernels = []
  const fill = () => {
    const end = Math.min(filled + PART, spare.length)
    for (; filled < end; filled += PAGE) spare[filled] = 0
    if (filled < spare.length) return
    give(spare.buffer)
    spare = null
  }
  const begin = () => {
    filled = 0
    try {
      spare = new Uint8Array(Atomics.load(control, ORDER))
    } catch {
      give(new ArrayBuffer(0)) // there is no room
    }
  }
  // Makes what is ordered, as long as nothing else happens.
  const make = () => {
    for (let orders; Atomics.load(control, EPOCH) === seen;) {
      if (spare) fill()
      else if (!(orders = Atomics.load(control, ORDERS))) return
      else if (Atomics.compareExchange(control, ORDERS, orders, orders - 1) === orders) begin()
    }
  }
  const changed = () => Atomics.load(control, EPOCH) !== seen || !Atomics.load(control, LOOKING)
  return ({ data }) => {
    received++
    if (data.module) for (const [, f] of kernelsOf(data.module, memory)) kernels.push(f)
    else {
      ({ memory, number } = data)
      control = new Int32Array(memory.buffer, 0, reserved / 4)
    }
    // Messages arrive only when this function returns.
    while (Atomics.load(control, SENT) <= received) {
      make()
      if (Atomics.load(control, LOOKING)) lookOut(changed, AWAKE)
      Atomics.wait(control, EPOCH, seen)
      seen = Atomics.load(control, EPOCH)
      help(control, kernels, number)
    }
  }
}

export class Threads {
  #control
  #workers = []
  #guest

  /** Starts n threads besides this one. One that does not start takes no part, and nobody waits for it. made takes arrays that
   *  were ordered. guest gives what stands for one, if there is any. */
  constructor(memory, n, start, made, guest) {
    this.#control = new Int32Array(memory.buffer, 0, reserved / 4)
    for (let number = 1; number <= n; number++) {
      const failed = (e) => console.warn(`weft: thread ${number + 1} of ${n + 1} does not start, the others do its work: ${e.message ?? 'thread.js was not loaded; it lies beside threads.js and needs the headers of the page'}`)
      try {
        const worker = start()
        worker.onerror = failed
        worker.onmessage = ({ data }) => made(data)
        worker.postMessage({ memory, number, bell: this.#control.subarray(EPOCH, SENT + 1) })
        this.#workers.push(worker)
      } catch (e) {
        failed(e)
      }
    }
    this.#guest = guest?.()
    this.#guest?.postMessage({ memory, number: n + 1 })
    this.#control[SENT] = 1
  }

  /** Gives all threads a module. */
  send(module) {
    for (const w of this.#workers) w.postMessage({ module })
    this.#guest?.postMessage({ module })
    Atomics.add(this.#control, SENT, 1)
    this.#wake(this.#workers.length)
  }

  #wake(n = this.#workers.length - Atomics.load(this.#control, GUESTS)) {
    Atomics.add(this.#control, EPOCH, 1)
    Atomics.notify(this.#control, EPOCH, n)
  }

  /** Has a thread make an array of so many bytes; says whether one will. */
  order(bytes) {
    if (!this.#workers.length) return false
    Atomics.store(this.#control, ORDER, bytes)
    Atomics.add(this.#control, ORDERS, 1)
    this.#wake(1)
    return true
  }

  /** Wakes all threads, which then look out for jobs until rest. */
  awake() {
    Atomics.store(this.#control, LOOKING, 1)
    this.#wake()
  }

  rest() { Atomics.store(this.#control, LOOKING, 0) }

  /** Has all iterations of kernel number i done, which takes about so many ns. scratch is that of each thread. */
  run(kernel, i, n, cost, table, vars, scratch) {
    const control = this.#control
    const parts = Math.min(this.#workers.length + 1, MOST_PARTS)
    for (let part = 0; part < parts; part++) control[PARTS + LINE * part] = beginOf(part, n, parts)
    control.set([parts, n, i, table, vars, 0], SPLIT)
    control[MOST] = shareOf(n, cost)
    control[LONG] = cost > GUEST
    control.set(scratch, SCRATCH)
    Atomics.store(control, OPEN, 1)
    this.#wake()
    take(control, kernel, 0)
    Atomics.store(control, OPEN, 0)
    lookOut(() => !Atomics.load(control, ACTIVE), LAST)
    for (let active; (active = Atomics.load(control, ACTIVE));) Atomics.wait(control, ACTIVE, active)
    if (control[FAILED]) throw new Error(new TextDecoder().decode(new Uint8Array(control.buffer, TEXT, control[FAILED]).slice()))
  }

  close() {
    for (const w of this.#workers) w.terminate()
    this.#guest?.terminate()
  }
}

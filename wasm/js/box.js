// A letter box between the page and the engine's worker, for short messages: memory that both share, where a page may have that. A message that is
// posted to a thread goes through queues and wakes it up for the next turn of its loop of events; one in the box only wakes it up. A worker waits at
// the box for a moment after each batch, as whoever was answered often goes on at once; everything else that it is there for waits as long.
// It refuses to know what messages say. What is posted and what lies in the box arrives in the order in which it was sent.

import { shares } from './lent.js'

const HEAD = 64 // bytes before the room for messages to the worker, which that to the page follows
const ROOM = 1 << 17 // bytes of each

// Words at the begin.
const IN = 0 // one of the states below
const LENGTH_IN = 1
const SENT = 2 // messages that were posted to the worker,
const GOT = 3 // and of which it knows
const OUT = 4 // EMPTY, FULL or CLOSED
const LENGTH_OUT = 5
const HEARD = 6 // messages that were posted to the page and arrived
const EYES = 7 // of the page: ASLEEP, LOOKING, WAITING or WAKING

const EMPTY = 0 // the worker does something else
const WAITS = 1
const FULL = 2
const CALLED = 3 // away: something was posted
const CLOSED = 4 // nobody is there yet, or any more
const BUSY = 5 // and looks into the box afterwards

const ASLEEP = 0 // has to be woken up
const LOOKING = 1 // out for what is in the box, so that nobody need wake it up
const WAITING = 2 // asleep, but wants to be woken up shortly before there is something
const WAKING = 3 // was called, and is going to look

const LOOKS = 5000 // of a worker before it sleeps: about 0.1 ms, as waking it takes as long as a short run
const LINGER = 4 // ms that a worker waits at most
const OFTEN = 15 // ms after which it sees to everything else; and for which a page looks out, again and again, before it does so
const MANY = 16 // batches of the engine's after which the worker does so in any case: Go's collector goes on then, which otherwise takes its time from batches
// To wake a page up takes the worker 0.03 ms, and the page 0.05. So it looks out for an answer, and takes part in the work meanwhile, where the last one came
// soon. A page that sleeps is called when the work is done, so that it wakes up while the answer is written. Where processors are busy otherwise, whoever looks
// out takes one from the worker: what was in vain weighs as much as so many times that were not.
const QUICK = 2 // ms within which an answer came soon,
const GLANCE = 1 // and that a page looks out at most
const WAKES = 0.1 // of these the most that a worker takes to wake up
const VAIN = 8

class Box {
  constructor(buffer) {
    this.buffer = buffer
    this.words = new Int32Array(buffer, 0, HEAD / 4)
    this.in = new Uint8Array(buffer, HEAD, ROOM)
    this.out = new Uint8Array(buffer, HEAD + ROOM, ROOM)
  }

  // Puts a message into a place that is free.
  put(bytes, into, length) {
    into.set(bytes)
    this.words[length] = bytes.length
  }

  taken(from, length) {
    const bytes = new Uint8Array(this.words[length]) // slice would copy shared memory byte by byte
    bytes.set(from.subarray(0, bytes.length))
    return bytes
  }
}

/** The page's end. */
export class PageBox extends Box {
  #sent = 0
  #asked = 0 // when the page began to wait for an answer; 0: it does not
  #boxed = false // the last one lay in the box,
  #quick = false // and came soon
  #credit = 0 // below 0 the page does not look out
  #begun // when it first looked out in this turn of its loop of events
  #turn = null // the timer that tells of the next

  /** Gives a box where there can be one. hear takes the bytes of messages; guest is the page among threads. */
  static open(hear, guest) {
    if (!shares() || !Atomics.waitAsync) return null
    const box = new PageBox(new SharedArrayBuffer(HEAD + 2 * ROOM))
    box.hear = hear
    box.guest = guest
    box.words[IN] = CLOSED
    box.#listen()
    return box
  }

  /** Puts a message into the box, if there is room and all that was posted has arrived. A worker that will not look there by itself is told to
   *  by a message; it may have found the other one before. Where somebody awaits an answer, the page looks out for it. */
  send(buffer, look, awaited) {
    const { words } = this
    const state = Atomics.load(words, IN)
    if (buffer.byteLength > ROOM || state === FULL || state === CLOSED || Atomics.load(words, GOT) !== this.#sent) return false
    let looks = awaited && this.#waits()
    this.put(new Uint8Array(buffer), this.in, LENGTH_IN)
    const before = Atomics.exchange(words, IN, FULL)
    if (before === WAITS) Atomics.notify(words, IN)
    else if (before !== BUSY) {
      look()
      if (looks) this.#rests() // as what is posted may arrive only then
      looks = false
    }
    if (looks) this.#look()
    return true
  }

  // Says how the page waits for an answer to what is going to be put in the box, and whether it looks out.
  #waits() {
    this.#asked = performance.now()
    if (!this.#boxed) return
    if (this.#credit < 0) return void this.#credit++
    if (!this.#turn) this.#begun = this.#asked
    this.#turn ??= setTimeout(() => { this.#turn = null })
    if (this.#quick) this.guest.comes()
    Atomics.store(this.words, EYES, this.#quick ? LOOKING : WAITING)
    return this.#quick
  }

  /** Where the page has looked out for long, has it see to everything else that came meanwhile before it sends more, and calls f then. Says whether it does. */
  rests(f) {
    if (!this.#turn || performance.now() - this.#begun < OFTEN) return false
    clearTimeout(this.#turn)
    this.#turn = null
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      f()
    }
    port2.postMessage(0)
    return true
  }

  // Looks out no longer, but wants to be called.
  #rests() {
    this.guest.goes()
    Atomics.compareExchange(this.words, EYES, LOOKING, WAITING)
    this.#see() // of what came before, nobody tells
  }

  // Looks out for an answer, and takes part in the work meanwhile.
  #look() {
    const { words } = this
    const begun = performance.now(), end = begun + GLANCE
    const done = () => Atomics.load(words, OUT) === FULL || !Atomics.load(words, EYES)
    for (let now = begun; !done() && now < end; now = performance.now()) {
      if (now - begun > WAKES && Atomics.load(words, IN) === FULL) return this.#rests() // perhaps it waits for this processor
      this.guest.help(end)
      for (let i = 0; i < 20 && !done(); i++) Atomics.pause?.()
    }
    Atomics.store(words, EYES, ASLEEP)
    this.guest.goes()
    this.#credit = Math.min(this.#credit + (Atomics.load(words, OUT) === FULL ? 1 : -VAIN), 2 * VAIN)
    this.#see()
  }

  /** Is told before a message is posted. */
  posts() {
    const { words } = this
    this.#sent = Atomics.add(words, SENT, 1) + 1
    if (Atomics.compareExchange(words, IN, WAITS, CALLED) === WAITS) Atomics.notify(words, IN)
  }

  /** Is told when a message has arrived that was posted: what lies in the box came before. */
  arrives() {
    this.#see()
    if (this.#asked) this.#boxed = false
    Atomics.add(this.words, HEARD, 1)
  }

  #take() {
    const { words } = this
    if (Atomics.load(words, OUT) !== FULL) return
    const bytes = this.taken(this.out, LENGTH_OUT)
    Atomics.compareExchange(words, OUT, FULL, EMPTY)
    Atomics.store(words, EYES, ASLEEP)
    if (this.#asked) {
      this.#boxed = true
      this.#quick = performance.now() - this.#asked < QUICK
      this.#asked = 0
    }
    this.hear(bytes.buffer)
  }

  #see() {
    try {
      this.#take()
    } catch (e) {
      setTimeout(() => { throw e }) // of somebody's own function that was told something
    }
  }

  #listen() {
    for (;;) {
      this.#see()
      if (Atomics.compareExchange(this.words, EYES, WAKING, LOOKING) === WAKING) this.#look()
      const { async, value } = Atomics.waitAsync(this.words, OUT, EMPTY)
      if (async) return void value.then(() => this.#listen())
      if (Atomics.load(this.words, OUT) === CLOSED) return
    }
  }

  close() {
    Atomics.store(this.words, OUT, CLOSED)
    Atomics.notify(this.words, OUT)
  }
}

/** The worker's end. */
export class WorkerBox extends Box {
  #got
  #told = 0
  #turned = 0 // when it saw to everything else
  #batches = 0 // that the engine was given since

  /** A box that comes after so many messages. */
  constructor(buffer, got) {
    super(buffer)
    Atomics.store(this.words, GOT, this.#got = got)
  }

  /** Takes messages from now on. */
  open() { Atomics.store(this.words, IN, EMPTY) }

  /** Is told when a message has arrived that was posted. */
  arrives() { Atomics.store(this.words, GOT, ++this.#got) }

  /** Gives the message in the box, or null: where the worker has nothing else to do, it waits a moment for one, or now and then sees to everything
   *  else, and has turn call it back for the box. */
  next(idle, turn) {
    const { words } = this
    if (idle && (++this.#batches > MANY || performance.now() - this.#turned > OFTEN)) {
      Atomics.compareExchange(words, IN, EMPTY, BUSY)
      turn()
      return null
    }
    if (idle) {
      Atomics.compareExchange(words, IN, EMPTY, BUSY)
      for (let looks = 0; looks < LOOKS && Atomics.load(words, IN) === BUSY && Atomics.load(words, SENT) === this.#got; looks++) Atomics.pause?.()
      if (Atomics.compareExchange(words, IN, BUSY, WAITS) === BUSY && Atomics.load(words, SENT) === this.#got) Atomics.wait(words, IN, WAITS, LINGER)
    }
    return this.#take()
  }

  /** Gives the message in the box after a turn of the worker's loop of events; null where there is none, and whoever puts one in has to tell. */
  look() {
    this.#turned = performance.now()
    this.#batches = 0
    return this.#take()
  }

  /** Is told that the last batch was none for the engine. */
  spared() { this.#batches-- }

  #take() {
    const { words } = this
    for (let state; (state = Atomics.load(words, IN)) !== FULL;) if (Atomics.compareExchange(words, IN, state, EMPTY) === state) return null
    const bytes = this.taken(this.in, LENGTH_IN)
    Atomics.store(words, IN, BUSY)
    return bytes
  }

  /** Puts a message into the box, if that is empty and all that was posted has arrived. */
  send(bytes) {
    const { words } = this
    if (bytes.length > ROOM || Atomics.load(words, HEARD) !== this.#told || Atomics.load(words, OUT) !== EMPTY) return false
    this.put(bytes, this.out, LENGTH_OUT)
    Atomics.store(words, OUT, FULL)
    if (Atomics.load(words, EYES) !== LOOKING) Atomics.notify(words, OUT)
    return true
  }

  /** Is told that there will soon be an answer. */
  call() {
    if (Atomics.compareExchange(this.words, EYES, WAITING, WAKING) === WAITING) Atomics.notify(this.words, OUT)
  }

  /** Is told before a message is posted, for which nobody need look out. */
  posts() {
    this.#told++
    Atomics.store(this.words, EYES, ASLEEP)
  }
}

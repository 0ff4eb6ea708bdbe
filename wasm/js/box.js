// A letter box between the page and the engine's worker, for short messages: memory that both share, where a page may have that. A message that is
// posted to a thread goes through queues and wakes it up for the next turn of its loop of events; one in the box only wakes it up. A worker waits at
// the box for a moment after each batch, as whoever was answered often goes on at once; everything else that it is there for waits as long.
// It refuses to know what messages say. What is posted and what lies in the box arrives in the order in which it was sent.

import { shares } from './lent.js'

const HEAD = 64 // bytes before the room for messages to the worker, which that to the page follows
const ROOM = 1 << 14 // bytes of each

// Words at the begin.
const IN = 0 // one of the states below
const LENGTH_IN = 1
const SENT = 2 // messages that were posted to the worker,
const GOT = 3 // and of which it knows
const OUT = 4 // EMPTY, FULL or CLOSED
const LENGTH_OUT = 5
const HEARD = 6 // messages that were posted to the page and arrived

const EMPTY = 0 // the worker does something else
const WAITS = 1
const FULL = 2
const CALLED = 3 // away: something was posted
const CLOSED = 4 // nobody is there yet, or any more

const LOOKS = 5000 // of a worker before it sleeps: about 0.1 ms, as waking it takes as long as a short run
const LINGER = 4 // ms that a worker waits at most
const OFTEN = 16 // batches after which it sees to everything else

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

  /** Gives a box where there can be one. hear takes the bytes of messages. */
  static open(hear) {
    if (!shares() || !Atomics.waitAsync) return null
    const box = new PageBox(new SharedArrayBuffer(HEAD + 2 * ROOM))
    box.hear = hear
    box.words[IN] = CLOSED
    box.#listen()
    return box
  }

  /** Puts a message into the box, if there is room and all that was posted has arrived. A worker that does not wait there is told to look
   *  by a message; it may have found the other one before. */
  send(buffer, look) {
    const { words } = this
    const state = Atomics.load(words, IN)
    if (buffer.byteLength > ROOM || state === FULL || state === CLOSED || Atomics.load(words, GOT) !== this.#sent) return false
    this.put(new Uint8Array(buffer), this.in, LENGTH_IN)
    if (Atomics.exchange(words, IN, FULL) === WAITS) Atomics.notify(words, IN)
    else look()
    return true
  }

  /** Is told before a message is posted. */
  posts() {
    const { words } = this
    this.#sent = Atomics.add(words, SENT, 1) + 1
    if (Atomics.compareExchange(words, IN, WAITS, CALLED) === WAITS) Atomics.notify(words, IN)
  }

  /** Is told when a message has arrived that was posted: what lies in the box came before. */
  arrives() {
    this.#take()
    Atomics.add(this.words, HEARD, 1)
  }

  #take() {
    const { words } = this
    if (Atomics.load(words, OUT) !== FULL) return
    const bytes = this.taken(this.out, LENGTH_OUT)
    Atomics.compareExchange(words, OUT, FULL, EMPTY)
    this.hear(bytes.buffer)
  }

  #listen() {
    for (;;) {
      try {
        this.#take()
      } catch (e) {
        setTimeout(() => { throw e }) // of somebody's own function that was told something
      }
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
  #turns = 0

  /** A box that comes after so many messages. */
  constructor(buffer, got) {
    super(buffer)
    Atomics.store(this.words, GOT, this.#got = got)
  }

  /** Takes messages from now on. */
  open() { Atomics.store(this.words, IN, EMPTY) }

  /** Is told when a message has arrived that was posted. */
  arrives() { Atomics.store(this.words, GOT, ++this.#got) }

  /** Waits a moment for a message in the box and gives it, or null. */
  next() {
    const { words } = this
    if (++this.#turns % OFTEN === 0) return null
    if (Atomics.compareExchange(words, IN, EMPTY, WAITS) === EMPTY && Atomics.load(words, SENT) === this.#got) {
      for (let looks = 0; looks < LOOKS && Atomics.load(words, IN) === WAITS; looks++) Atomics.pause?.()
      Atomics.wait(words, IN, WAITS, LINGER)
    }
    return this.look()
  }

  /** Gives the message in the box, or null. */
  look() {
    const { words } = this
    if (Atomics.compareExchange(words, IN, WAITS, EMPTY) !== FULL) {
      Atomics.compareExchange(words, IN, CALLED, EMPTY)
      return null
    }
    const bytes = this.taken(this.in, LENGTH_IN)
    Atomics.store(words, IN, EMPTY)
    return bytes
  }

  /** Puts a message into the box, if that is empty and all that was posted has arrived. */
  send(bytes) {
    const { words } = this
    if (bytes.length > ROOM || Atomics.load(words, HEARD) !== this.#told || Atomics.load(words, OUT) !== EMPTY) return false
    this.put(bytes, this.out, LENGTH_OUT)
    Atomics.store(words, OUT, FULL)
    Atomics.notify(words, OUT)
    return true
  }

  /** Is told before a message is posted. */
  posts() { this.#told++ }
}

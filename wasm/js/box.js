// A letter box between the page and the engine's worker, for short messages: memory that both share, where a page may have that. A message that is
// posted to a thread goes through queues and wakes it up for the next turn of its loop of events; one in the box only wakes it up. A worker waits at
// the box for a moment after each batch, as whoever was answered often goes on at once; everything else that it is there for waits as long.
// It refuses to know what messages say. What is posted and what lies in the box arrives in the order in which it was sent.

import { shares } from './lent.js'

const HEAD = 64 // bytes before the room for messages to the worker, which that to the page follows
const ROOM_IN = 1 << 17 // bytes of each, powers of two
const ROOM_OUT = 1 << 20
export const BOXED = 1 << 19 // bytes of a piece to the page: what is copied twice takes longer than a message from there on

// Words at the begin.
const IN = 0 // one of the states below
const SENT = 1 // messages that were posted to the worker,
const GOT = 2 // and of which it knows
const OUT = 3 // EMPTY, FULL or CLOSED
const HEARD = 4 // messages that were posted to the page and arrived
const EYES = 5 // of the page: ASLEEP, LOOKING, WAITING or WAKING
const LANE_IN = 6 // the two words of the lane to the worker,
const LANE_OUT = 8 // and those of the one to the page

const EMPTY = 0 // the worker does something else
const WAITS = 1
const FULL = 2 // there is something, or was a moment ago
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

const aligned = (n) => n + 7 & -8 // V8 copies shared memory byte by byte, in eight times the time, unless both places begin at words of 64 bits

// Messages in a ring, from one thread to another: pieces, each a Uint8Array, one after the other, and before them how many there are and how long each is. A word
// counts the bytes that were put in, modulo 2³², and the next one those that were taken.
class Lane {
  #counts
  #put // the first of the two
  #words
  #bytes

  constructor(buffer, counts, put, at, room) {
    this.#counts = counts
    this.#put = put
    this.#words = new Int32Array(buffer, at, room / 4)
    this.#bytes = new Uint8Array(buffer, at, room)
  }

  get empty() { return Atomics.load(this.#counts, this.#put) === Atomics.load(this.#counts, this.#put + 1) }

  /** Whether there is room for a message. */
  fits(pieces) {
    const full = this.#counts[this.#put] - Atomics.load(this.#counts, this.#put + 1) | 0
    return pieces.reduce((n, p) => n + aligned(p.length), full + aligned(4 + 4 * pieces.length)) <= this.#bytes.length
  }

  put(pieces) {
    let at = this.#counts[this.#put]
    for (const n of [pieces.length, ...pieces.map((p) => p.length)]) {
      this.#words[(at & this.#bytes.length - 1) / 4] = n
      at += 4
    }
    at = aligned(at)
    for (const p of pieces) {
      const begin = at & this.#bytes.length - 1, first = this.#bytes.length - begin
      this.#bytes.set(p.length > first ? p.subarray(0, first) : p, begin)
      if (p.length > first) this.#bytes.set(p.subarray(first), 0)
      at += aligned(p.length)
    }
    Atomics.store(this.#counts, this.#put, at | 0)
  }

  /** Takes the oldest message; null where there is none. */
  take() {
    if (this.empty) return null
    let at = this.#counts[this.#put + 1]
    const word = () => this.#words[((at += 4) - 4 & this.#bytes.length - 1) / 4]
    const pieces = Array.from({ length: word() }, () => new Uint8Array(word())) // slice would copy shared memory byte by byte
    at = aligned(at)
    for (const p of pieces) {
      const begin = at & this.#bytes.length - 1, first = this.#bytes.length - begin
      p.set(this.#bytes.subarray(begin, begin + Math.min(p.length, first)))
      if (p.length > first) p.set(this.#bytes.subarray(0, p.length - first), first)
      at += aligned(p.length)
    }
    Atomics.store(this.#counts, this.#put + 1, at | 0)
    return pieces
  }
}

class Box {
  constructor(buffer) {
    this.buffer = buffer
    this.words = new Int32Array(buffer, 0, HEAD / 4)
    this.in = new Lane(buffer, this.words, LANE_IN, HEAD, ROOM_IN)
    this.out = new Lane(buffer, this.words, LANE_OUT, HEAD + ROOM_IN, ROOM_OUT)
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

  /** Gives a box where there can be one. hear takes messages, lists of ArrayBuffers, and says whether somebody awaited one of them; guest is the page among threads. */
  static open(hear, guest) {
    if (!shares() || !Atomics.waitAsync) return null
    const box = new PageBox(new SharedArrayBuffer(HEAD + ROOM_IN + ROOM_OUT))
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
    const message = [new Uint8Array(buffer)]
    if (!this.in.fits(message) || Atomics.load(words, IN) === CLOSED || Atomics.load(words, GOT) !== this.#sent) return false
    let looks = awaited && this.#waits()
    this.in.put(message)
    const before = Atomics.exchange(words, IN, FULL)
    if (before === WAITS) Atomics.notify(words, IN)
    else if (before !== BUSY && before !== FULL) {
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

  // Looks out for the answer that is awaited, and takes part in the work meanwhile.
  #look() {
    const { words } = this
    const begun = performance.now(), end = begun + GLANCE
    const done = () => Atomics.load(words, OUT) === FULL || !Atomics.load(words, EYES)
    let came = false
    for (let now = begun; !came && Atomics.load(words, EYES) && now < end; now = performance.now()) {
      if (now - begun > WAKES && Atomics.load(words, IN) === FULL) return this.#rests() // perhaps it waits for this processor
      this.guest.help(end)
      for (let i = 0; i < 20 && !done(); i++) Atomics.pause?.()
      came = this.#see()
    }
    Atomics.store(words, EYES, ASLEEP)
    this.guest.goes()
    came = this.#see() || came
    this.#credit = Math.min(this.#credit + (came ? 1 : -VAIN), 2 * VAIN)
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

  // Hears what lies in the box, and says whether somebody awaited any of it.
  #see() {
    const { words } = this
    if (Atomics.compareExchange(words, OUT, FULL, EMPTY) !== FULL) return false
    let came = false
    for (let pieces; (pieces = this.out.take());) {
      try {
        came = this.hear(pieces.map((p) => p.buffer)) || came
      } catch (e) {
        setTimeout(() => { throw e }) // of somebody's own function that was told something
      }
    }
    if (!came || !this.#asked) return came
    Atomics.store(words, EYES, ASLEEP)
    this.#boxed = true
    this.#quick = performance.now() - this.#asked < QUICK
    this.#asked = 0
    return true
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

  /** Gives the next message in the box, or null: where the worker has nothing else to do, it waits a moment for one, or now and then sees to everything
   *  else, and has turn call it back for the box. */
  next(idle, turn) {
    const { words } = this
    if (idle && (++this.#batches > MANY || performance.now() - this.#turned > OFTEN)) {
      Atomics.compareExchange(words, IN, EMPTY, BUSY)
      turn()
      return null
    }
    if (idle && this.in.empty) {
      Atomics.store(words, IN, BUSY)
      if (this.in.empty) {
        for (let looks = 0; looks < LOOKS && Atomics.load(words, IN) === BUSY && Atomics.load(words, SENT) === this.#got; looks++) Atomics.pause?.()
        if (Atomics.compareExchange(words, IN, BUSY, WAITS) === BUSY && this.in.empty && Atomics.load(words, SENT) === this.#got) Atomics.wait(words, IN, WAITS, LINGER)
      }
    }
    return this.#take()
  }

  /** Gives all messages in the box after a turn of the worker's loop of events; where there is none, whoever puts one in has to tell. */
  look() {
    this.#turned = performance.now()
    this.#batches = 0
    const all = []
    for (let message = this.#take(); message; message = this.in.take()?.[0]) all.push(message)
    return all
  }

  /** Is told that the last batch was none for the engine. */
  spared() { this.#batches-- }

  // Gives a message and says that the worker is going to look again; null where there is none, and the worker does something else from now on.
  #take() {
    const { words } = this
    for (;;) {
      let state = Atomics.load(words, IN)
      if (state === FULL) Atomics.store(words, IN, state = BUSY) // before it is seen whether there is something, so that more makes it FULL again
      const message = this.in.take()
      if (message) Atomics.store(words, IN, BUSY)
      if (message || Atomics.compareExchange(words, IN, state, EMPTY) === state) return message?.[0] ?? null
    }
  }

  /** Puts a message, pieces, into the box, if there is room and all that was posted has arrived. */
  send(...pieces) {
    const { words } = this
    if (pieces.some((p) => p.length > BOXED) || !this.out.fits(pieces) || Atomics.load(words, HEARD) !== this.#told) return false
    this.out.put(pieces)
    if (Atomics.compareExchange(words, OUT, EMPTY, FULL) === EMPTY && Atomics.load(words, EYES) !== LOOKING) Atomics.notify(words, OUT)
    return true
  }

  /** Is told that there will soon be an answer, after which there are no more. */
  call() {
    if (this.in.empty && Atomics.compareExchange(this.words, EYES, WAITING, WAKING) === WAITING) Atomics.notify(this.words, OUT)
  }

  /** Is told before a message is posted, for which nobody need look out. */
  posts() {
    this.#told++
    Atomics.store(this.words, EYES, ASLEEP)
  }
}

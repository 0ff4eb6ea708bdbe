// Spare arrays for what is read: fresh memory that the system has given already. Of a fresh array the system gives each page
// when it is first written to, which for 4 MB takes some 2 ms, several times as long as to copy so much. Whoever reads as
// much again and again gets arrays that an idle thread wrote to beforehand. It refuses to know who that is.

export const FEW = 1 << 19 // bytes: these are fresh soon, and each spare is a message for a worker that may have better things to do
const MOST = 1 << 24
const SIZES = 2 // that are remembered
const AHEAD = 2 // spares of a size
const KEPT = 3000 // ms that nobody reads until spares are let go

export class Spares {
  #order
  #ordered = 0 // that are on their way
  #ready = new Map() // by size, the last used one last: spares, or null after the first reading
  #used = 0 // when
  #timer = null

  /** order(bytes) has a spare made, which put gets some time later, or says that it cannot be. */
  constructor(order) { this.#order = order }

  /** Gives an array of so many bytes. */
  take(bytes) {
    if (bytes <= FEW || bytes > MOST) return new ArrayBuffer(bytes)
    const known = this.#ready.get(bytes)
    const ready = known === undefined ? null : known ?? []
    this.#ready.delete(bytes)
    this.#ready.set(bytes, ready)
    if (this.#ready.size > SIZES) this.#ready.delete(this.#ready.keys().next().value)
    const spare = ready?.pop()
    while (ready && ready.length + this.#ordered < AHEAD && this.#order(bytes)) this.#ordered++
    this.#used = Date.now()
    if (ready && !this.#timer) this.#rest()
    return spare ?? new ArrayBuffer(bytes)
  }

  /** Takes a spare that was ordered. */
  put(buffer) {
    this.#ordered--
    this.#ready.get(buffer.byteLength)?.push(buffer) // else it was let go meanwhile
  }

  #rest() {
    this.#timer = setTimeout(() => {
      this.#timer = null
      if (Date.now() - this.#used < KEPT) this.#rest()
      else this.#ready.clear()
    }, KEPT)
    this.#timer.unref?.() // Node would wait for it
  }
}

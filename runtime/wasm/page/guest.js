// A guest is whoever may not wait, but takes part in the work of threads while it would otherwise only look out for its end: the page.

import { EPOCH, GUESTS, help, reserved } from './threads.js'

/** A guest among threads: it takes their messages, but part in jobs only while it has nothing else to do. Meanwhile one thread less is woken up. */
export class Guest {
  #control = null
  #memory
  #about
  #seen = 0
  #kernels = []
  #coming = 0 // modules

  take(message) {
    if (message?.module) return void (this.#control && this.#add(message.module))
    this.goes()
    this.#kernels = []
    this.#control = null
    if (message) {
      this.#about = message
      this.#memory = message.memory
      this.#control = new Int32Array(message.memory.buffer, 0, reserved / 4)
    }
  }

  async #add(module) {
    const kernels = this.#kernels
    const at = kernels.length
    const names = WebAssembly.Module.exports(module)
    kernels.length += names.length
    this.#coming++
    try {
      const { exports } = await WebAssembly.instantiate(module, { weft: { memory: this.#memory } })
      names.forEach(({ name }, i) => { kernels[at + i] = exports[name] })
    } catch (e) {
      console.warn(`weft: the page cannot help the engine's threads: ${e.message}`)
      this.#control = null
    } finally {
      this.#coming--
    }
  }

  /** Says that it is there from now on, or is not. */
  comes() { if (this.#control && !this.#coming) Atomics.store(this.#control, GUESTS, 1) }
  goes() { if (this.#control) Atomics.store(this.#control, GUESTS, 0) }

  /** Takes part in a job that there may be, until a time. */
  help(until) {
    const control = this.#control
    if (!control || Atomics.load(control, EPOCH) === this.#seen) return
    this.#seen = Atomics.load(control, EPOCH)
    help(control, this.#kernels, this.#about.number, until)
  }
}
